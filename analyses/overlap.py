"""Overlap: how much the lists of two systems have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.correlation import order_by_likeness
from analyses.shared.analysis import AnalysisSettings, Need, analysis
from analyses.shared.drawing import draw_matrix
from analyses.shared.measure import pair_labels, tidy
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import listed
from analyses.shared.table import Table, frame_table
from analyses.significance.permutation import pair_indices
from runs.shared.arrays import Floats
from runs.shared.errors import counted
from runs.shared.settings import Depth

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

NEARLY_THE_SAME = 0.9
"""Share of the items in common from which two systems are named as nearly the same."""


class Settings(AnalysisSettings):
    """Lists that are compared."""

    cutoff: Depth = Field(10, description="Number of first items that are compared.")
    persistence: float = Field(
        0.9, gt=0, lt=1, description="Parameter p of RBO: the weight of deeper ranks."
    )


@analysis(
    "overlap",
    source="Webber, Moffat & Zobel (2010)",
    needs=(Need.SINGLE_LISTS,),
    on_request=True,
    question="Which systems recommend nearly the same items?",
)
def overlap(work: Work, settings: Settings) -> Overlap:
    """Compare the lists of every two systems: items in common, and rank-biased overlap."""
    systems, lists = tuple(work.recommended), [*work.recommended.values()]
    shared, rbo = np.eye(len(systems)), np.eye(len(systems))
    pairs = [*zip(*pair_indices(len(systems)), strict=True)]
    for first, second in work.steps("Comparing lists", len(pairs), pairs):
        two = (lists[n][:, : settings.cutoff] for n in (first, second))
        common, agreement = overlap_of(*two, persistence=settings.persistence)
        shared[first, second] = shared[second, first] = np.nanmean(common)
        rbo[first, second] = rbo[second, first] = np.nanmean(agreement)
    return Overlap(
        systems=systems,
        shared=shared,
        rbo=rbo,
        cutoff=settings.cutoff,
        persistence=settings.persistence,
        n_users=len(lists[0]),
    )


def overlap_of(
    one: NDArray[np.int32], other: NDArray[np.int32], *, persistence: float
) -> tuple[Floats, Floats]:
    r"""Give the share of items in common, and the extrapolated rank-biased overlap.

    .. math:: \mathrm{RBO} = \frac{1 - p}{p} \sum_{d=1}^{k} p^d A_d + p^k A_k

    The agreement :math:`A_d` is the number of items in common among the first d of both lists,
    divided by d, or by the length of the longer list if that is less.

    Parameters
    ----------
    one, other
        Items, of shape (n_users, k), -1 at the end of a row.

    Returns
    -------
    Shares in common and rank-biased overlaps, each of shape (n_users,); NaN where both lists are
    empty.

    Webber, Moffat & Zobel (2010), A similarity measure for indefinite rankings, eq. 23.

    Examples
    --------
    The same two items, in another order:

    >>> lists = np.array([[3, 5]], dtype=np.int32), np.array([[5, 3]], dtype=np.int32)
    >>> [found.round(2).tolist() for found in overlap_of(*lists, persistence=0.5)]
    [[1.0], [0.5]]
    """
    n_users, k = one.shape
    same = (one[:, :, None] == other[:, None, :]) & (one[:, :, None] >= 0)
    user, row, column = np.nonzero(same)
    joins = np.bincount(user * k + np.maximum(row, column), minlength=n_users * k)
    in_common = joins.reshape(n_users, k).cumsum(axis=1)
    longer = np.maximum((one >= 0).sum(axis=1), (other >= 0).sum(axis=1))[:, None]
    depths = np.arange(1, k + 1)
    with np.errstate(invalid="ignore"):
        agreement = in_common / np.minimum(depths, longer)
    weights = (1 - persistence) * persistence ** (depths - 1.0)
    weights[-1] += persistence**k
    return agreement[:, -1], (agreement * weights).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Overlap(Result):
    """What the lists of every two systems have in common, in the mean over users.

    Parameters
    ----------
    systems
        Label of both axes.
    shared, rbo
        Share of the first items in common, and rank-biased overlap, float64 in [0, 1] of shape
        (n_systems, n_systems).
    cutoff, persistence, n_users
        Facts for the caption.
    """

    systems: tuple[str, ...]
    shared: Floats
    rbo: Floats
    cutoff: int
    persistence: float
    n_users: int

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``overlap``: columns first, second, shared and rbo, a row for each pair."""
        first, second = pair_indices(len(self.systems))
        numbers = {"shared": self.shared[first, second], "rbo": self.rbo[first, second]}
        return {"overlap": tidy(pair_labels(self.systems, "first", "second"), **numbers)}

    def caption(self) -> str:
        """Say what is compared."""
        return (
            f"Share of the first {self.cutoff} items that two systems have in common, and "
            f"rank-biased overlap (RBO, p = {self.persistence:g}): mean over {self.n_users:,} "
            f"{self.units}."
        )

    def findings(self) -> Sequence[str]:
        """Name the systems that recommend nearly the same items, or the most similar two."""
        frame = self.frame().sort_values("shared", ascending=False, kind="stable")
        same = frame[frame["shared"] >= NEARLY_THE_SAME]
        some = same if len(same) else frame[:1]
        pairs = [
            f"{first} and {second} ({share:.0%})".replace("%", " %")
            for first, second, share, _ in some.itertuples(index=False)
        ]
        what = "Nearly the same lists" if len(same) else "The most similar lists"
        return (
            f"{what}, by the share of the first {counted(self.cutoff, 'item')}: {listed(pairs)}.",
        )

    @table("overlap", "items in common and rank-biased overlap of every two systems")
    def table(self) -> Table:
        """Tabulate the pairs, the most similar first."""
        frame = self.frame().sort_values("shared", ascending=False, kind="stable")
        frame.columns = ["first", "second", f"in common at {self.cutoff}", "RBO"]
        return frame_table("overlap", "Overlap of the lists", frame, self.caption(), decimals=3)

    @figure("overlap", "Overlap of the lists of every two systems", wide=True)
    def plot(self, ax: Axes) -> None:
        """Draw the matrix of shares in common, similar systems beside each other."""
        order = order_by_likeness(self.shared, range(len(self.systems)))
        names = [self.systems[number] for number in order]
        shared = self.shared[np.ix_(order, order)]
        draw_matrix(ax, shared, names, label=f"items in common at {self.cutoff}", lowest=0.0)
