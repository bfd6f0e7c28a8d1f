"""How the ranks of the relevant items are distributed, for each system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimates import RankSettings
from analyses.sampled.expectation import first_of
from analyses.sampled.labels import Ranked, best_in_colour, round_numbers, tidy
from analyses.shared.analysis import analysis
from analyses.shared.drawing import (
    COLOURS,
    axes_or_new,
    chosen_panel,
    label_curves,
    scale_by_factors,
)
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SHARE, CUMULATIVE = "share of the items", "cumulative share"
N_BINS = 50
"""Equal bins of the histogram."""

MOST_CURVES = len(COLOURS)
"""Systems that are told apart in a figure; the others are grey."""


class Settings(RankSettings):
    """Where the relevant items stand."""


@analysis("ranks", source="Krichene & Rendle (2020), figure 5", needs=("full_ranks",))
def ranks(work: Work, settings: Settings) -> RankDistributions:
    """Count the relevant items up to the ends of equal bins, and to round ranks at the top.

    Examples
    --------
    Ranks 1, 2 and 4 of eight, which are few enough to be bins of their own:

    >>> from analyses.shared.work import RanksAlone
    >>> from qrels import FullRanks
    >>> found = ranks(RanksAlone({"one": FullRanks.of([1, 2, 4, 4], n_candidates=8)}))
    >>> found.ends[:4].tolist(), found.cumulative[:, :4].tolist(), found.medians.tolist()
    ([1, 2, 3, 4], [[0.25, 0.5, 0.5, 1.0]], [3.0])
    """
    systems, first = work.full_ranks, first_of(work.full_ranks)
    last = int(first.n_candidates.max())
    ends = np.union1d(equal_bins(last), round_numbers(last))
    below = [np.searchsorted(np.sort(one.rank), ends, side="right") for one in systems.values()]
    return RankDistributions(
        systems=tuple(systems),
        ends=ends,
        cumulative=np.array(below) / len(first),
        medians=np.array([np.median(each.rank) for each in systems.values()]),
        ranked=Ranked.of(first),
    )


def equal_bins(last: int) -> Integers:
    """Give the last ranks of bins of equal width, to a rank: (n_bins,)."""
    n_bins = min(N_BINS, last)
    return np.arange(1, n_bins + 1) * last // n_bins


@dataclass(frozen=True, eq=False)
class RankDistributions(Result):
    """Shares of the relevant items up to some ranks.

    Parameters
    ----------
    ends
        Last ranks of bins of equal width, and 1, 2, 5, 10, 20, 50, ...: (n_ends,).
    cumulative
        Shares of the items up to them, of shape (n_systems, n_ends).
    medians
        Median rank of each system, of shape (n_systems,).
    systems, ranked
        Label of an axis, and of whom the ranks are.
    """

    systems: tuple[str, ...]
    ends: Integers
    cumulative: Floats
    medians: Floats
    ranked: Ranked

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give rows of system, last (a rank) and cumulative, the share of the items up to it."""
        axes = {"system": self.systems, "last": self.ends}
        return {"sampled_ranks": tidy(axes, cumulative=self.cumulative)}

    @property
    def views(self) -> tuple[str, ...]:
        """The panels of the figure."""
        return (SHARE, CUMULATIVE)

    def up_to(self, ranks: Integers) -> Floats:
        """Give the shares up to some of the ends: (n_systems, n_ranks)."""
        return self.cumulative[:, np.searchsorted(self.ends, ranks)]

    @table("sampled_ranks", "where the relevant items stand")
    def at_the_top(self) -> Table:
        """Tabulate where the relevant items stand, by system."""
        tops = [k for k in (1, 10, 100) if k <= self.ends[-1]]
        shares = self.up_to(np.array(tops)).T.tolist()
        medians = (f"{median:,g}" for median in self.medians)
        return Table(
            name="sampled_ranks",
            title="Ranks of the relevant items: median, and shares of them",
            note=self.caption(),
            headings=["system", "median rank", *(f"in the first {k:,}" for k in tops)],
            rows=[*zip(self.systems, medians, *shares, strict=True)],
            best=dict.fromkeys(range(2, 2 + len(tops)), max),
        )

    @figure(
        "kdd2020-figure5",
        "Ranks of the relevant items among all candidates",
        panels="view",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, view: str | None = None) -> Axes:
        """Draw one of the views, a curve for each system; of many the best by median in colour.

        The view is ``"share of the items"`` in equal bins, the default, or ``"cumulative share"``
        against ranks on a logarithmic axis, where the top is wide.
        """
        chosen = self.views[chosen_panel(self.views, view)]
        ax, order = axes_or_new(ax), self.medians.argsort(kind="stable").tolist()
        bins = equal_bins(int(self.ends[-1]))
        edges, shares = np.append(0.5, bins + 0.5), np.diff(self.up_to(bins), axis=1, prepend=0)
        for place, label, style in best_in_colour(self.systems, order, most=MOST_CURVES):
            if chosen == SHARE:
                # Outlines cover each other less than bars do.
                line = {name: style[name] for name in ("color", "linestyle")}
                ax.stairs(shares[place], edges, baseline=None, label=label, linewidth=1.1, **line)
            else:
                ax.plot(self.ends, self.cumulative[place], label=label, **style | {"marker": ""})
        if chosen == SHARE:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")
        else:
            scale_by_factors(ax, along="x")
            ax.set_ylim(0, 1.02)
        ax.set(xlabel="rank of the relevant item", ylabel=chosen)
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        medians = zip(self.systems, self.medians, strict=True)
        many = len(self.systems) > MOST_CURVES
        grey = f"The {MOST_CURVES} systems of the best medians are in colour. " if many else ""
        return (
            f"Full ranks of {self.ranked} among n = {self.ranked.n} candidates: shares in "
            f"{len(equal_bins(int(self.ends[-1])))} bins of equal width, and "
            "cumulative shares up to ranks on a logarithmic axis, which shows the top; up to rank "
            f"K they are Recall@K where users have one relevant item each. {grey}Median "
            f"ranks: {'; '.join(f'{system} {median:,.10g}' for system, median in medians)}."
        )
