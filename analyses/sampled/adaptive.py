"""Where adaptive samples end, and what it costs to have a user end there: expected, not drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.samples.designs import SampleDesign
from analyses.sampled.shared.facts import Ranked, tidy
from analyses.sampled.shared.settings import Largest, Negatives, RankSettings
from analyses.shared.analysis import analysis
from analyses.shared.drawing import (
    axes_or_new,
    categories,
    has_positive,
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


class Settings(RankSettings):
    """Sizes of adaptive samples, which start with the relevant item and some negatives."""

    negatives: Negatives = 100
    n_max: Largest = None

    def designs(self, ranks: FullRanks) -> SampleDesign:
        """Give the largest samples."""
        design = SampleDesign.suited(ranks, n0=self.negatives + 1, n_max=self.n_max)
        design.check(ranks)
        return design


@analysis(
    "adaptive",
    source="Li et al. (2023), Towards reliable item sampling for recommendation evaluation, "
    "Algorithm 1, eq. 13",
    needs=("full_ranks",),
    on_request=True,
)
def adaptive(work: Work, settings: Settings) -> AdaptiveSizes:
    r"""Expect where the adaptive samples of each system end, without simulation.

    With a share :math:`\theta` of the irrelevant candidates above the relevant item, a sample
    grows to :math:`n_j` with probability :math:`(1 - \theta)^{n_{j-1} - 1}`.

    Examples
    --------
    One of two users ends with 2 items, which 2 * 2 scores were computed for, as nothing but the
    relevant item and those below it is drawn for the other:

    >>> from analyses.shared.work import RanksAlone
    >>> work = RanksAlone({"one": FullRanks.of([1, 9], n_candidates=9)})
    >>> found = adaptive(work, Settings(negatives=1, n_max=4))
    >>> found.ended.tolist(), found.costs.tolist(), found.mean_sizes.tolist()
    ([[0.5, 0.5]], [[4.0, nan]], [3.0])
    """
    first = first_of(work.full_ranks)
    sizes = tuple(m + 1 for m in settings.designs(first).sizes)
    below = [1 - ranks.above / ranks.n_irrelevant for ranks in work.full_ranks.values()]
    reached = [[1.0, *((each ** (n - 1)).mean() for n in sizes[:-1])] for each in below]
    return AdaptiveSizes(tuple(work.full_ranks), sizes, np.array(reached), Ranked.of(first))


@dataclass(frozen=True, eq=False)
class AdaptiveSizes(Result):
    """Expected shares of the users whose samples grow to each size.

    Parameters
    ----------
    systems
        Label of an axis.
    sizes
        Sizes of samples, the relevant item included, each twice the one before.
    reached
        Share of the users with samples of at least this size, of shape (n_systems, n_sizes).
    ranked
        Of whom the ranks are.
    """

    systems: tuple[str, ...]
    sizes: tuple[int, ...]
    reached: Floats
    ranked: Ranked

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the one table."""
        return {"sampled_adaptive": self.to_frame()}

    @property
    def ended(self) -> Floats:
        """Share of the users whose samples end at each size, of shape (n_systems, n_sizes)."""
        return self.reached - np.pad(self.reached[:, 1:], ((0, 0), (0, 1)))

    @property
    def added(self) -> NDArray[np.int64]:
        """Items that are scored to grow to each size, of shape (n_sizes,)."""
        return np.diff(self.sizes, prepend=0)

    @property
    def mean_sizes(self) -> Floats:
        """Expected mean size of the samples, of shape (n_systems,)."""
        return np.asarray((self.reached * self.added).sum(axis=1))

    @property
    def costs(self) -> Floats:
        r"""Scores computed for each user who ends at a size, of shape (n_systems, n_sizes).

        .. math:: C_0 = U n_0 / m_0, \quad
            C_j = (U - \sum_{i<j} m_i)(n_j - n_{j-1}) / m_j

        with :math:`m_j` of the U users expected to end at :math:`n_j`. NaN at the last size, which
        users do not end at by themselves; infinite where nobody ends.
        """
        spent, ended = self.reached * self.added, self.ended
        costs = np.divide(spent, ended, out=np.full(spent.shape, np.inf), where=ended > 0)
        costs[:, -1] = np.nan
        return costs

    def to_frame(self) -> pd.DataFrame:
        """Give rows of system, size, reached, ended (shares of the users) and cost."""
        columns = {"reached": self.reached, "ended": self.ended, "cost": self.costs}
        return tidy({"system": self.systems, "size": self.sizes}, **columns)

    @table("sampled_adaptive", "mean size of adaptive samples, and what larger ones cost")
    def by_system(self) -> Table:
        """Tabulate the mean size of samples, and what it costs to have a user end at each."""
        numbers = np.column_stack([self.mean_sizes, self.costs[:, :-1]]).tolist()
        return Table(
            name="sampled_adaptive",
            title="Mean size of adaptive samples, and scores for a user who ends at a size",
            note=self.caption(),
            headings=["system", "mean size", *(f"ends at {size:,}" for size in self.sizes[:-1])],
            rows=[[system, *row] for system, row in zip(self.systems, numbers, strict=True)],
        )

    @figure("sampled_adaptive", "Adaptive samples: what larger ones cost", number=15)
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw costs against sizes, a curve for each system; on new axes by default."""
        ax, sizes = axes_or_new(ax), self.sizes[:-1]
        for (label, style), costs in zip(categories(self.systems), self.costs, strict=True):
            ax.plot(sizes, costs[:-1], label=label, **style)
        scale_by_factors(ax, along="y")
        if has_positive(ax, along="x"):
            ax.set_xscale("log", base=2)
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes], minor=False)
        ax.set_xlabel("size that adaptive samples end at")
        ax.set_ylabel("scores for a user who ends at the size")
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        means = zip(self.systems, self.mean_sizes, strict=True)
        return (
            f"Scores that are computed for each user whose adaptive sample ends at a size: those "
            f"of all who grow to it, over the users who end there. Where the curve climbs, larger "
            f"samples do not pay. Samples of {self.ranked.n_users:,} users with one relevant item "
            f"each among n = {self.ranked.n} candidates, drawn with replacement, double from "
            f"{self.sizes[0]:,} to {self.sizes[-1]:,} items while the relevant item is the "
            "first. Expected from the full ranks, not simulated. Mean sizes: "
            f"{'; '.join(f'{system} {size:,.1f}' for system, size in means)}."
        )
