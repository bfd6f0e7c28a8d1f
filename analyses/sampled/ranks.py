"""How the ranks of the relevant items are distributed, for each system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimates import RankSettings
from analyses.sampled.expectation import first_of
from analyses.sampled.labels import Ranked, round_numbers, tidy
from analyses.shared.analysis import analysis
from analyses.shared.drawing import axes_or_new, categories, label_curves
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

N_BINS = 50
"""Equal bins of the histogram."""


class Settings(RankSettings):
    """Distribution of the full ranks."""


@analysis("ranks", source="Krichene & Rendle (2020), figure 5", needs=("full_ranks",))
def ranks(work: Work, settings: Settings) -> RankDistributions:
    """Count the relevant items up to the ends of equal bins, and to round ranks at the top."""
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


def equal_bins(last: int) -> NDArray[np.int64]:
    """Give the last ranks of bins of equal width, to a rank: (n_bins,)."""
    n_bins = min(N_BINS, last)
    return np.arange(1, n_bins + 1) * last // n_bins


@dataclass(frozen=True, eq=False)
class RankDistributions(Result):
    """Shares of the relevant items up to some ranks.

    Parameters
    ----------
    systems
        Label of an axis.
    ends
        Last ranks of bins of equal width, and 1, 2, 5, 10, 20, 50, ...: (n_ends,).
    cumulative
        Shares of the items up to them, of shape (n_systems, n_ends).
    medians
        Median rank of each system, of shape (n_systems,).
    ranked
        Of whom the ranks are.
    """

    systems: tuple[str, ...]
    ends: NDArray[np.int64]
    cumulative: NDArray[np.float64]
    medians: NDArray[np.float64]
    ranked: Ranked

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give rows of system, last (a rank) and cumulative, the share of the items up to it."""
        axes = {"system": self.systems, "last": self.ends}
        return {"sampled_ranks": tidy(axes, cumulative=self.cumulative)}

    def _up_to(self, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.cumulative[:, np.searchsorted(self.ends, ranks)]

    @table("sampled_ranks", "distribution of the ranks of relevant items")
    def at_the_top(self) -> Table:
        """Tabulate median ranks, and shares of the items in the first ranks, by system."""
        tops = [k for k in (1, 10, 100) if k <= self.ends[-1]]
        shares = self._up_to(np.array(tops)).T.tolist()
        medians = (f"{median:,g}" for median in self.medians)
        return Table(
            name="sampled_ranks",
            title="Ranks of the relevant items: median, and shares of them",
            note=self.caption(),
            headings=["system", "median rank", *(f"in the first {k:,}" for k in tops)],
            rows=[*zip(self.systems, medians, *shares, strict=True)],
            best=dict.fromkeys(range(2, 2 + len(tops)), max),
        )

    @figure("kdd2020-figure5", "Ranks of the relevant items among all candidates")
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of the items in each bin, by system."""
        ax, bins = axes_or_new(ax), equal_bins(int(self.ends[-1]))
        edges, shares = np.append(0.5, bins + 0.5), np.diff(self._up_to(bins), axis=1, prepend=0)
        for (label, style), own in zip(categories(self.systems), shares, strict=True):
            # Outlines cover each other less than bars do.
            line = {name: style[name] for name in ("color", "linestyle")}
            ax.stairs(own, edges, baseline=None, label=label, linewidth=1.1, **line)
        ax.set(yscale="log", xlabel="rank of the relevant item", ylabel="share of the items")
        ax.yaxis.set_major_formatter("{x:g}")
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        medians = zip(self.systems, self.medians, strict=True)
        return (
            f"Full ranks of {self.ranked} among n = {self.ranked.n} candidates: shares in "
            f"{min(N_BINS, int(self.ends[-1]))} bins of equal width. Median "
            f"ranks: {'; '.join(f'{system} {median:,.10g}' for system, median in medians)}."
        )
