"""How the ranks of the relevant items are distributed, for each system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.samples.designs import round_numbers
from analyses.sampled.shared.facts import Ranked, best_in_colour, tidy
from analyses.sampled.shared.settings import RankSettings
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
from qrels import FullRanks

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
    """Count the relevant items in bins of ranks: equal ones, and narrow ones at the top.

    Examples
    --------
    Ranks 1, 2 and 4 in bins that end at 1, 2, 5 and 8:

    >>> from analyses.shared.work import RanksAlone
    >>> found = ranks(RanksAlone({"one": FullRanks.of([1, 2, 4, 4], n_candidates=8)}))
    >>> found.top_ends.tolist(), found.top_shares.tolist(), found.medians.tolist()
    ([1, 2, 5, 8], [[0.25, 0.25, 0.5, 0.0]], [3.0])
    """
    systems, first = work.full_ranks, first_of(work.full_ranks)
    last = int(first.n_candidates.max())
    n_bins = min(N_BINS, last)
    equal = np.arange(1, n_bins + 1) * last // n_bins
    top = np.unique([*round_numbers(last), last])
    return RankDistributions(
        systems=tuple(systems),
        equal_ends=equal,
        equal_shares=np.array([_shares(each, equal) for each in systems.values()]),
        top_ends=top,
        top_shares=np.array([_shares(each, top) for each in systems.values()]),
        medians=np.array([np.median(each.rank) for each in systems.values()]),
        ranked=Ranked.of(first),
    )


def _shares(full: FullRanks, ends: Integers) -> Floats:
    bins = np.searchsorted(ends, full.rank)
    return np.bincount(bins, minlength=len(ends)) / len(full)


@dataclass(frozen=True, eq=False)
class RankDistributions(Result):
    """Shares of the relevant items in bins of ranks: equal ones, and narrow ones at the top.

    Parameters
    ----------
    equal_ends, top_ends
        Last rank of each bin, which begins after the one before: bins of equal width (to a rank),
        and those that end at 1, 2, 5, 10, 20, 50, ... and the last rank; of shapes (n_bins,).
    equal_shares, top_shares
        Of shapes (n_systems, n_bins).
    medians
        Median rank of each system, of shape (n_systems,).
    systems, ranked
        Label of an axis, and of whom the ranks are.
    """

    systems: tuple[str, ...]
    equal_ends: Integers
    equal_shares: Floats
    top_ends: Integers
    top_shares: Floats
    medians: Floats
    ranked: Ranked

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the one table."""
        return {"sampled_ranks": self.to_frame()}

    @property
    def views(self) -> tuple[str, ...]:
        """The panels of the figure."""
        return (SHARE, CUMULATIVE)

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each system and bin.

        Returns
        -------
        Columns system; bins, ``equal`` or ``top``; first and last rank of the bin; share of the
        items in it; cumulative, the share of those up to its last rank.
        """
        import pandas as pd

        equal, top = (self.equal_ends, self.equal_shares), (self.top_ends, self.top_shares)
        parts = [
            tidy(
                {"system": self.systems, "bins": [name], "last": ends},
                first=np.concatenate([[1], ends[:-1] + 1]),
                share=shares[:, np.newaxis],
                cumulative=shares.cumsum(axis=1)[:, np.newaxis],
            )
            for name, (ends, shares) in (("equal", equal), ("top", top))
        ]
        columns = ["system", "bins", "first", "last", "share", "cumulative"]
        return pd.concat(parts, ignore_index=True)[columns]

    @table("sampled_ranks", "where the relevant items stand")
    def at_the_top(self) -> Table:
        """Tabulate where the relevant items stand, by system."""
        tops = (1, 10, 100)
        shares = [self.top_shares[:, self.top_ends <= k].sum(axis=1).tolist() for k in tops]
        medians = (f"{median:,g}" for median in self.medians)
        return Table(
            name="sampled_ranks",
            title="Ranks of the relevant items: median, and shares of them",
            note=self.caption(),
            headings=["system", "median rank", *(f"in the first {k:,}" for k in tops)],
            rows=[*zip(self.systems, medians, *shares, strict=True)],
            best=dict.fromkeys((2, 3, 4), max),
        )

    @figure(
        "sampled_ranks",
        "Ranks of the relevant items among all candidates",
        number=12,
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
        edges = np.append(0.5, self.equal_ends + 0.5)
        for place, label, style in best_in_colour(self.systems, order, most=MOST_CURVES):
            if chosen == SHARE:
                # Outlines cover each other less than bars do.
                line = {name: style[name] for name in ("color", "linestyle")}
                shares = self.equal_shares[place]
                ax.stairs(shares, edges, baseline=None, label=label, linewidth=1.1, **line)
            else:
                ax.plot(self.top_ends, self.top_shares[place].cumsum(), label=label, **style)
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
            f"{len(self.equal_ends)} bins of equal width, and "
            "cumulative shares up to ranks on a logarithmic axis, which shows the top; up to rank "
            f"K they are Recall@K where users have one relevant item each. {grey}Median "
            f"ranks: {'; '.join(f'{system} {median:,.10g}' for system, median in medians)}."
        )
