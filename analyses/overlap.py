"""Overlap: how much the lists of two systems have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.shared.analysis import AnalysisSettings, Need, analysis
from analyses.shared.drawing import draw_matrix
from analyses.shared.measure import pair_labels, tidy
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import listed
from analyses.shared.table import Table, frame_table
from analyses.significance.permutation import pair_indices
from runs import NO_ITEM
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
    """Compare the lists of every two systems: items in common, and rank-biased overlap.

    Lists end at ``settings.cutoff``. Values are means over the users of whom one of the two lists
    at least has an item; NaN, with a warning of numpy, if there is no such user.
    """
    systems = tuple(work.recommended)
    # By system: items of shape (n_users, depth).
    top_lists = [items[:, : settings.cutoff] for items in work.recommended.values()]
    n_systems = len(systems)
    shared = np.eye(n_systems)
    rbo = np.eye(n_systems)
    first_systems, second_systems = pair_indices(n_systems)
    pairs = list(zip(first_systems, second_systems, strict=True))
    for first, second in work.steps("Comparing lists", len(pairs), pairs):
        shares, overlaps = list_overlap(
            top_lists[first], top_lists[second], persistence=settings.persistence
        )
        mean_share = np.nanmean(shares)
        mean_overlap = np.nanmean(overlaps)
        shared[first, second] = mean_share
        shared[second, first] = mean_share
        rbo[first, second] = mean_overlap
        rbo[second, first] = mean_overlap
    return Overlap(
        systems=systems,
        shared=shared,
        rbo=rbo,
        cutoff=settings.cutoff,
        persistence=settings.persistence,
        n_users=len(top_lists[0]),
    )


def list_overlap(
    first: NDArray[np.int32], second: NDArray[np.int32], *, persistence: float
) -> tuple[Floats, Floats]:
    r"""Compute the share of items in common, and the extrapolated rank-biased overlap, by user.

    .. math:: \mathrm{RBO} = \frac{1 - p}{p} \sum_{d=1}^{k} p^d A_d + p^k A_k

    The agreement :math:`A_d` is the number of items in common among the first d of both lists,
    divided by d, or by the length of the longer list if that is less. The share in common is
    :math:`A_k`.

    Parameters
    ----------
    first, second
        Items of both systems, of shape (n_users, depth) each, -1 at the end of a row. If one is
        less deep, its lists end there; k is the larger depth.
    persistence
        The parameter p, between 0 and 1: the weight of deeper ranks.

    Returns
    -------
    Shares in common and rank-biased overlaps, each of shape (n_users,); NaN where both lists are
    empty.

    Raises
    ------
    ValueError
        If the lists are of different numbers of users.

    References
    ----------
    Webber, Moffat & Zobel (2010), A similarity measure for indefinite rankings, eq. 23.

    Examples
    --------
    The same two items, in another order:

    >>> first = np.array([[3, 5]], dtype=np.int32)
    >>> second = np.array([[5, 3]], dtype=np.int32)
    >>> shares, overlaps = list_overlap(first, second, persistence=0.5)
    >>> shares.tolist(), overlaps.round(2).tolist()
    ([1.0], [0.5])
    """
    if len(first) != len(second):
        raise ValueError(f"lists of {len(first):,} and of {len(second):,} users do not match.")
    length = max(first.shape[1], second.shape[1])
    first = _widened(first, length)
    second = _widened(second, length)
    n_users = len(first)
    first_items = first[:, :, np.newaxis]
    second_items = second[:, np.newaxis, :]
    is_same = (first_items == second_items) & (first_items >= 0)
    user, first_column, second_column = np.nonzero(is_same)
    # An item is in common from the deeper of its two ranks on.
    deeper_column = np.maximum(first_column, second_column)
    cells = user * length + deeper_column
    n_new = np.bincount(cells, minlength=n_users * length)
    n_in_common = n_new.reshape(n_users, length).cumsum(axis=1)
    first_lengths = (first >= 0).sum(axis=1)
    second_lengths = (second >= 0).sum(axis=1)
    longer_lengths = np.maximum(first_lengths, second_lengths)[:, np.newaxis]
    depths = np.arange(1, length + 1)
    agreement_depths = np.minimum(depths, longer_lengths)
    with np.errstate(invalid="ignore"):
        agreement = n_in_common / agreement_depths
    weights = (1 - persistence) * persistence ** (depths - 1.0)
    # The term beyond the last depth, p^k A_k.
    weights[-1] += persistence**length
    overlaps = (agreement * weights).sum(axis=1)
    return agreement[:, -1], overlaps


def _widened(items: NDArray[np.int32], length: int) -> NDArray[np.int32]:
    """Fill lists (n_users, depth) with -1 to a length of at least their depth."""
    n_missing = length - items.shape[1]
    return np.pad(items, ((0, 0), (0, n_missing)), constant_values=NO_ITEM)


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
        """Tabulate the pairs i < j of systems in ``overlap``: columns first, second, shared, rbo.

        The first two are names; the others are looked up in ``self.shared`` (the share of the first
        items in common) and ``self.rbo``, (n_systems, n_systems).
        """
        first, second = pair_indices(len(self.systems))
        pairs = pair_labels(self.systems, "first", "second")
        shared = self.shared[first, second]
        rbo = self.rbo[first, second]
        frame = tidy(pairs, shared=shared, rbo=rbo)
        return {"overlap": frame}

    def caption(self) -> str:
        """Write what is compared, over how many users."""
        users = f"{self.n_users:,} {self.units}"
        return (
            f"Share of the first {self.cutoff} items that two systems have in common, and "
            f"rank-biased overlap (RBO, p = {self.persistence:g}): mean over {users}."
        )

    def findings(self) -> Sequence[str]:
        """Name the pairs of systems with nearly the same lists, or the most similar pair.

        Lists are nearly the same if they share `NEARLY_THE_SAME` of their first items, in the mean
        over users. One sentence; each pair has its share in per cent.
        """
        frame = self._pairs_by_similarity()
        nearly_same = frame[frame["shared"] >= NEARLY_THE_SAME]
        subject = "Nearly the same lists"
        chosen = nearly_same
        if nearly_same.empty:
            subject = "The most similar lists"
            chosen = frame[:1]
        pairs = []
        for first, second, share, _ in chosen.itertuples(index=False):
            percent = 100 * share
            pairs.append(f"{first} and {second} ({percent:.0f} %)")
        depth = counted(self.cutoff, "item")
        return (f"{subject}, by the share of the first {depth}: {listed(pairs)}.",)

    def _pairs_by_similarity(self) -> pd.DataFrame:
        """Tabulate the pairs of systems as `frames` does, those with the most in common first."""
        return self.frame().sort_values("shared", ascending=False, kind="stable")

    @table("overlap", "items in common and rank-biased overlap of every two systems")
    def table(self) -> Table:
        """Tabulate the pairs, the most similar first."""
        frame = self._pairs_by_similarity()
        frame.columns = ["first", "second", f"in common at {self.cutoff}", "RBO"]
        return frame_table("overlap", "Overlap of the lists", frame, self.caption(), decimals=3)

    @figure("overlap", "Overlap of the lists of every two systems", wide=True)
    def plot(self, ax: Axes) -> None:
        """Draw the matrix of shares in common, similar systems beside each other.

        ``self.shared`` has the shares, of shape (n_systems, n_systems).
        """
        systems = range(len(self.systems))
        order = order_by_similarity(self.shared, systems)
        names = [self.systems[number] for number in order]
        shared = self.shared[np.ix_(order, order)]
        draw_matrix(ax, shared, names, label=f"items in common at {self.cutoff}", lowest=0.0)


def order_by_similarity(similarities: Floats, indices: Sequence[int]) -> list[int]:
    """Order some rows of a matrix so that neighbours are similar.

    It is the best order of the leaves of the tree that joins the most similar by their average.

    Parameters
    ----------
    similarities
        Of shape (n, n), 1 for the same; NaN counts as 0.
    indices
        The rows to order; of an order and its reverse, the one is taken whose first row stands
        before its last row in ``indices``.

    Returns
    -------
    The same rows in the new order; fewer than three stay as they are.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(indices) < 3:
        return list(indices)
    chosen = np.nan_to_num(similarities[np.ix_(indices, indices)])
    symmetric = (chosen + chosen.T) / 2
    distances = squareform(1 - symmetric, checks=False)
    tree = linkage(distances, "average", optimal_ordering=True)
    order = leaves_list(tree).tolist()
    if order[0] > order[-1]:
        order.reverse()
    return [indices[position] for position in order]
