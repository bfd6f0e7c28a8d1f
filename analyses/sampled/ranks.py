"""How the ranks of the relevant items are distributed, for each system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.expectation.designs import round_numbers
from analyses.sampled.shared.facts import Ranked, tidy
from analyses.sampled.shared.settings import RankSettings
from analyses.shared.analysis import analysis
from analyses.shared.drawing import (
    axes_or_new,
    categories,
    chosen_panel,
    legend_beside,
    scale_by_factors,
)
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Cell, Table
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

MOST_CURVES = 12
"""More systems than these are drawn as rows of shades, since their curves cover each other."""

HEIGHT = 150
"""Points that the names of all rows have above each other."""


class Settings(RankSettings):
    """Where the relevant items stand."""


@analysis("ranks", source="Krichene & Rendle (2020), figure 5", needs=("full_ranks",))
def ranks(work: Work, settings: Settings) -> RankDistributions:
    """Count the relevant items in bins of ranks.

    Raises
    ------
    InputError
        If systems have different users, or there are no ranks.

    Examples
    --------
    Ranks 1, 2 and 4 in bins that end at 1, 2, 5 and 8:

    >>> from analyses.shared.work import RanksAlone
    >>> found = ranks(RanksAlone({"one": FullRanks.of([1, 2, 4, 4], n_candidates=8)}))
    >>> found.top_ends.tolist(), found.top_shares.tolist(), found.medians.tolist()
    ([1, 2, 5, 8], [[0.25, 0.25, 0.5, 0.0]], [3.0])
    """
    systems = work.full_ranks
    first = first_of(systems)
    last = int(first.n_candidates.max())
    equal, top = _equal_ends(last), np.unique([*round_numbers(last), last])
    return RankDistributions(
        systems=tuple(systems),
        equal_ends=equal,
        equal_shares=np.array([_shares(each, equal) for each in systems.values()]),
        top_ends=top,
        top_shares=np.array([_shares(each, top) for each in systems.values()]),
        medians=np.array([np.median(each.rank) for each in systems.values()]),
        ranked=Ranked.of(first),
    )


def _equal_ends(last: int) -> Integers:
    """Give the last ranks of equal bins, each of one rank at least.

    Examples
    --------
    >>> _equal_ends(3), _equal_ends(5000)[:3]
    (array([1, 2, 3]), array([100, 200, 300]))
    """
    n_bins = min(N_BINS, last)
    return np.arange(1, n_bins + 1) * last // n_bins


def _edges(ends: Integers) -> Floats:
    """Give the places between the last rank of each bin and the first of the next."""
    return np.concatenate([[0.5], ends + 0.5])


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

        bins = {
            "equal": (self.equal_ends, self.equal_shares),
            "top": (self.top_ends, self.top_shares),
        }
        return pd.concat(
            [
                tidy(
                    {"system": self.systems, "bins": [name], "last": ends},
                    first=np.concatenate([[1], ends[:-1] + 1]),
                    share=shares[:, np.newaxis],
                    cumulative=shares.cumsum(axis=1)[:, np.newaxis],
                )
                for name, (ends, shares) in bins.items()
            ],
            ignore_index=True,
        )[["system", "bins", "first", "last", "share", "cumulative"]]

    @table("sampled_ranks", "where the relevant items stand")
    def at_the_top(self) -> Table:
        """Tabulate where the relevant items stand, by system."""
        shares = {
            f"in the first {k:,}": self.top_shares[:, self.top_ends <= k].sum(axis=1)
            for k in (1, 10, 100)
        }
        rows: list[list[Cell]] = [
            [system, f"{self.medians[place]:,g}", *(float(of[place]) for of in shares.values())]
            for place, system in enumerate(self.systems)
        ]
        return Table(
            name="sampled_ranks",
            title="Ranks of the relevant items: median, and shares of them",
            note=self.caption(),
            headings=["system", "median rank", *shares],
            rows=rows,
            best=dict.fromkeys(range(2, 2 + len(shares)), max),
        )

    @figure(
        "sampled_ranks",
        "Ranks of the relevant items among all candidates",
        number=12,
        panels="view",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, view: str | None = None) -> Axes:
        """Draw one of the views, a curve for each system, or a row of shades if they are many.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        view
            ``"share of the items"`` in equal bins, the default, or ``"cumulative share"`` against
            ranks on a logarithmic axis, where the top is wide.
        """
        chosen = self.views[chosen_panel(self.views, view)]
        ax = axes_or_new(ax)
        if len(self.systems) > MOST_CURVES:
            self._draw_rows(ax, chosen)
        else:
            self._draw_curves(ax, chosen)
        ax.set_xlabel("rank of the relevant item")
        return ax

    def _draw_curves(self, ax: Axes, view: str) -> None:
        for place, (label, style) in enumerate(categories(self.systems)):
            if view == SHARE:
                # Outlines cover each other less than bars do.
                line = {"color": style["color"], "linestyle": style["linestyle"]}
                edges, shares = _edges(self.equal_ends), self.equal_shares[place]
                ax.stairs(shares, edges, baseline=None, label=label, linewidth=1.1, **line)
            else:
                ax.plot(self.top_ends, self.top_shares[place].cumsum(), label=label, **style)
        if view == SHARE:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")
        else:
            scale_by_factors(ax, along="x")
            ax.set_ylim(0, 1.02)
        ax.set_ylabel(view)
        legend_beside(ax)

    def _draw_rows(self, ax: Axes, view: str) -> None:
        """Draw many systems as rows of shades, those with the better median above."""
        from matplotlib.colors import LogNorm, Normalize, PowerNorm

        order = self.medians.argsort(kind="stable")
        rows = np.arange(len(order) + 1)
        if view == SHARE:
            ends, shares = self.equal_ends, self.equal_shares
            norm: Normalize = LogNorm(vmin=shares[shares > 0].min(), vmax=shares.max())
        else:
            ends, shares = self.top_ends, self.top_shares.cumsum(axis=1)
            # The small shares of the top are told apart.
            norm = PowerNorm(0.5, vmin=0, vmax=1)
        shades = np.ma.masked_equal(shares[order], 0)
        mesh = ax.pcolormesh(_edges(ends), rows, shades, norm=norm, cmap="viridis_r")
        if view == CUMULATIVE:
            scale_by_factors(ax, along="x")
        ax.set_yticks(rows[:-1] + 0.5, [self.systems[place] for place in order])
        ax.tick_params(axis="y", length=0, labelsize=min(8.0, HEIGHT / len(order)))
        ax.invert_yaxis()
        ax.figure.colorbar(mesh, ax=ax, label=view)

    def caption(self) -> str:
        """Say what is shown."""
        medians = zip(self.systems, self.medians, strict=True)
        return (
            f"Full ranks of {self.ranked} among n = {self.ranked.n} candidates: shares in "
            f"{len(self.equal_ends)} bins of equal width, and "
            "cumulative shares up to ranks on a logarithmic axis, which shows the top; up to rank "
            f"K they are Recall@K where users have one relevant item each. {self._of_rows()}Median "
            f"ranks: {'; '.join(f'{system} {median:,.10g}' for system, median in medians)}."
        )

    def _of_rows(self) -> str:
        if len(self.systems) <= MOST_CURVES:
            return ""
        return "Systems are rows, the better median above; where a row is white there are none. "
