"""Full ranks: where the relevant items stand among all candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qrels.qrels import Qrels
from runs import InputError
from runs.shared.arrays import Floats, Ints, Longs
from runs.shared.fields import as_integers, integers_by_row, place_in_group


@dataclass(frozen=True, eq=False)
class FullRanks:
    """Ranks of relevant items, one row for each pair of a user and such an item.

    Parameters
    ----------
    rank
        Rank among all candidates, from 1, int64 of shape (n_rows,), as the next two.
    n_candidates
        Candidates of the user, n, with the relevant items, without training items.
    user
        Number of the user.
    item
        Number of the item, int32 of shape (n_rows,), or None if it is not known.
    ties
        Irrelevant candidates of equal score that are above the item, and those that are below, of
        shape (n_rows, 2); None if they are not known.

    Examples
    --------
    A user with relevant items at ranks 2 and 5, and one at rank 1:

    >>> ranks = FullRanks.of([5, 2, 1], n_candidates=7, user=[0, 0, 1])
    >>> ranks.order.tolist(), ranks.n_relevant.tolist(), ranks.above.tolist()
    ([2, 1, 1], [2, 2, 1], [3, 1, 0])
    """

    rank: Longs
    n_candidates: Longs
    user: Longs
    item: Ints | None = None
    ties: Longs | None = None

    @classmethod
    def of(
        cls, rank: ArrayLike, *, n_candidates: ArrayLike, user: ArrayLike | None = None
    ) -> FullRanks:
        """Make full ranks from columns with a row for each relevant item of a user.

        ``rank``: rank of the item among the user's candidates, from 1, of shape (n_rows,);
        ``n_candidates``: number of these candidates, and ``user``: number of the user, one for all
        rows or one for each. By default each row is of another user, numbered as the rows. ``item``
        and ``ties`` of the result are None. Raises InputError if a number is not whole or out of
        range, columns differ in length, or two rows of a user have the same rank.
        """
        ranks = np.atleast_1d(as_integers(rank, name="rank"))
        n_rows = len(ranks)
        candidate_counts = integers_by_row(n_candidates, n_rows, name="number of candidates")
        users = np.arange(n_rows) if user is None else integers_by_row(user, n_rows, name="user")
        return cls(ranks, candidate_counts, users)

    def __post_init__(self) -> None:
        """Raise InputError for a rank or user out of range, or two items at one rank of a user.

        Ranks, numbers of candidates and users are of shape (n_rows,); ``self.by_user`` orders the
        rows by user, then by rank.
        """
        is_out_of_range = (self.rank < 1) | (self.rank > self.n_candidates)
        if is_out_of_range.any():
            row = int(is_out_of_range.argmax())
            raise InputError(
                f"ranks must be from 1 to the number of candidates, {self.n_candidates[row]}, "
                f"got {self.rank[row]} in row {row} of the ranks."
            )
        if (self.user < 0).any():
            raise InputError(f"numbers of users must not be negative, got {self.user.min()}.")
        ranks = self.rank[self.by_user]
        users = self.user[self.by_user]
        same_rank = ranks[1:] == ranks[:-1]
        same_user = users[1:] == users[:-1]
        is_shared = same_rank & same_user
        if is_shared.any():
            first = int(is_shared.argmax())
            raise InputError(
                f"two relevant items of user number {users[first]} have rank {ranks[first]}."
            )

    def __len__(self) -> int:
        return len(self.rank)

    @cached_property
    def by_user(self) -> Longs:
        """Rows by user, and by rank within the user, of shape (n_rows,)."""
        return np.lexsort((self.rank, self.user))

    @cached_property
    def order(self) -> Longs:
        """Number each item among its user's relevant items by rank, from 1, of shape (n_rows,).

        ``self.by_user`` orders the rows by user, then by rank.
        """
        sorted_users = self.user[self.by_user]
        order = np.empty(len(self), dtype=np.int64)
        order[self.by_user] = place_in_group(sorted_users)
        return order

    @cached_property
    def n_relevant(self) -> Longs:
        """Relevant items q of the user of each row, of shape (n_rows,)."""
        _, user_number, counts = np.unique(self.user, return_inverse=True, return_counts=True)
        return counts[user_number].astype(np.int64)

    @property
    def above(self) -> Longs:
        """Irrelevant candidates above each item, a, of shape (n_rows,)."""
        return self.rank - self.order

    def with_ties_by(self, uniforms: Floats) -> FullRanks:
        """Draw new ranks of the relevant items among the candidates of equal score.

        ``uniforms``: a number in [0, 1) for each row, of shape (n_rows,). An item gets each of the
        ranks that it shares with the same probability. ``self.ties`` has the numbers of irrelevant
        candidates of equal score that are above and below the item, of shape (n_rows, 2).

        Raises
        ------
        InputError
            If ties are not known, or a user has several relevant items.
        """
        if self.ties is None or (self.n_relevant > 1).any():
            raise InputError(
                "ties in random order need systems that are trained, and users with one relevant "
                "item each."
            )
        n_shared_ranks = 1 + self.ties.sum(axis=1)
        n_tied_above = np.floor(uniforms * n_shared_ranks).astype(np.int64)
        best_ranks = self.rank - self.ties[:, 0]
        return replace(self, rank=best_ranks + n_tied_above)

    @property
    def n_irrelevant(self) -> Longs:
        """Irrelevant candidates of the user of each row, N, of shape (n_rows,)."""
        return self.n_candidates - self.n_relevant


@dataclass(frozen=True, eq=False)
class CandidateRanks:
    """Ranks of all candidates of some users.

    ``topic``: number of each user among those that are judged, int64 of shape (n_users,); ``rank``:
    ranks from 1, 0 for what is no candidate: uint16 or int32 of shape (n_users, n_items).
    """

    topic: Longs
    rank: NDArray[np.uint16] | Ints

    def relevant_ranks(self, qrels: Qrels) -> FullRanks:
        """Look up the ranks of the relevant items of these users.

        ``self.topic`` has the number in the qrels of each of these users; ``self.rank``, of shape
        (n_users, n_items), the rank of each item, 0 for items that are no candidates. Relevant
        items among the latter, such as cold ones, come last, by item number, and count as
        candidates. Judgements of other topics are left out. In the result users are numbered from
        0, by the rows of ``self.rank``.
        """
        row_of_topic = np.full(qrels.n_users, -1, dtype=np.int64)
        row_of_topic[self.topic] = np.arange(len(self.topic))
        user = row_of_topic[qrels.users[qrels.relevant]]
        item = qrels.items[qrels.relevant]
        has_ranks = user >= 0
        user = user[has_ranks]
        item = item[has_ranks]
        rank = self.rank[user, item].astype(np.int64)
        n_candidates = (self.rank > 0).sum(axis=1)
        is_cold = rank == 0
        cold_user = user[is_cold]
        rank[is_cold] = n_candidates[cold_user] + place_in_group(cold_user)
        n_candidates += np.bincount(cold_user, minlength=len(n_candidates))
        return FullRanks(rank, n_candidates[user], user, item)
