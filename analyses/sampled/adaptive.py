"""Where adaptive samples end, and what it costs to have a user end there: expected, not drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimates import first_of
from analyses.sampled.expectation.candidates import in_words
from analyses.sampled.expectation.designs import Adaptive, first_size
from analyses.shared.drawing import axes_or_new, categories, legend_beside, scale_by_factors
from analyses.shared.measure import Measure
from qrels import FullRanks
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

COST = "scores for a user who ends at the size"


@dataclass(frozen=True, eq=False)
class AdaptiveSizes:
    """Expected shares of the users whose samples grow to each size.

    Parameters
    ----------
    systems
        Names, label of the first axis of ``reached``.
    sizes
        Sizes of samples, the relevant item included, each twice the one before.
    reached
        Share of the users with samples of at least this size, of shape (n_systems, n_sizes).
    n_users
        Users.
    candidates
        Smallest and largest number of candidates of a user.
    """

    systems: tuple[str, ...]
    sizes: tuple[int, ...]
    reached: Floats
    n_users: int
    candidates: tuple[int, int]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is drawn: one panel."""
        return (Measure(COST),)

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
        """Mean size of the samples, of shape (n_systems,)."""
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
        import pandas as pd

        frame = pd.DataFrame(product(self.systems, self.sizes), columns=["system", "size"])
        return frame.assign(
            reached=self.reached.ravel(), ended=self.ended.ravel(), cost=self.costs.ravel()
        )

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw costs against sizes, a curve for each system.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric, cutoff
            None, or the one name among the measures: there is one panel.
        """
        if cutoff is not None or metric not in (None, COST):
            raise InputError(f"there is only {COST} to draw, got {metric}.")
        ax = axes_or_new(ax)
        for (label, style), costs in zip(categories(self.systems), self.costs, strict=True):
            ax.plot(self.sizes[:-1], costs[:-1], label=label, **style)
        scale_by_factors(ax, along="y")
        ax.set_xscale("log", base=2)
        ax.set_xticks(self.sizes[:-1], [f"{size:,}" for size in self.sizes[:-1]], minor=False)
        ax.set_xlabel("size that adaptive samples end at")
        ax.set_ylabel(COST)
        legend_beside(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        n = in_words(self.candidates)
        means = zip(self.systems, self.mean_sizes, strict=True)
        return (
            f"Scores that are computed for each user whose adaptive sample ends at a size: those "
            f"of all who grow to it, over the users who end there. Where the curve climbs, larger "
            f"samples do not pay. Samples of {self.n_users:,} users with one relevant item each "
            f"among n = {n} candidates, drawn with replacement, double from {self.sizes[0]:,} to "
            f"{self.sizes[-1]:,} items while the relevant item is the first. Expected from the "
            "full ranks, not simulated. Mean sizes: "
            f"{'; '.join(f'{system} {size:,.1f}' for system, size in means)}."
        )


def study_adaptive_sizes(
    systems: Mapping[str, FullRanks], *, n0: int | None = None, n_max: int | None = None
) -> AdaptiveSizes:
    r"""Expect where the adaptive samples of each system end, without simulation.

    With a share :math:`\theta` of the irrelevant candidates above the relevant item, a sample
    grows to :math:`n_j` with probability :math:`(1 - \theta)^{n_{j-1} - 1}`.

    Parameters
    ----------
    systems
        Full ranks by system, of the same users, with one relevant item each.
    n0, n_max
        Size of the first and the largest sample, the relevant item included. By default 100, if
        candidates are three times as many, and 32 times as much, or a third of the candidates.

    Raises
    ------
    InputError
        If users have several relevant items or differ between systems, there are none, or no
        doubling joins the sizes.

    References
    ----------
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation, Algorithm 1,
    eq. 13.

    Examples
    --------
    One of two users ends with 2 items, which 2 * 2 scores were computed for, as nothing but the
    relevant item and those below it is drawn for the other:

    >>> systems = {"one": FullRanks.of([1, 9], n_candidates=9)}
    >>> found = study_adaptive_sizes(systems, n0=2, n_max=4)
    >>> found.ended.tolist(), found.costs.tolist(), found.mean_sizes.tolist()
    ([[0.5, 0.5]], [[4.0, nan]], [3.0])
    """
    first = first_of(systems)
    design = Adaptive.suited(first, n0=first_size(first) if n0 is None else n0, n_max=n_max)
    design.check(first)
    sizes = tuple(each.n_max for each in design.on_the_way())
    return AdaptiveSizes(
        systems=tuple(systems),
        sizes=sizes,
        reached=np.array([_shares_reaching(ranks, sizes) for ranks in systems.values()]),
        n_users=len(first),
        candidates=(int(first.n_candidates.min()), int(first.n_candidates.max())),
    )


def _shares_reaching(ranks: FullRanks, sizes: tuple[int, ...]) -> list[float]:
    """Expect the share of the users whose samples grow to each size; all have the first."""
    below = 1 - ranks.above / ranks.n_irrelevant
    return [1.0, *(float((below ** (size - 1)).mean()) for size in sizes[:-1])]
