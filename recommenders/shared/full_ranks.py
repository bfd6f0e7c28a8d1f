"""Full ranks: where a system puts the held-out relevant items among all candidates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qrels import FullRanks, Ratings
from qrels.ranks.full_ranks import CandidateRanks
from recommenders.shared.scorers import BatchScorer, allowed_items, hide, row_blocks
from runs.shared.arrays import Ints, Longs, Masks, Singles, Sparse
from runs.shared.fields import place_in_group
from runs.shared.parallel import single_threaded


def full_ranks(
    scorer: BatchScorer, train: Ratings, relevant: Ratings, *, candidates: Masks | None = None
) -> FullRanks:
    """Rank held-out relevant items among all candidates of their users.

    Candidates are the items with training ratings that the user has not rated, as in
    :func:`recommenders.recommend`. Those that the system cannot score come last, equal to each
    other, so that every candidate has a rank. Scores are compared as float32; of equal ones the
    lower item number is first.

    Parameters
    ----------
    scorer, train, candidates
        As of :func:`recommenders.recommend`.
    relevant
        The held-out relevant items, over the same numbering. Those that are no candidates, such as
        cold ones, count as candidates that their users are shown last: nothing but another of them
        is below.

    Returns
    -------
    One row for each relevant item, by user and item number.
    """
    ranked = rankable(train, relevant, candidates=candidates)
    users, rated = np.unique(relevant.user), train.matrix()
    found = [np.empty((0, 3), dtype=np.int64)]
    with single_threaded():
        for block in row_blocks(len(users), row_bytes=4 * len(train.items)):
            found.append(_ranks_of(users[block], scorer, rated, ranked))
    every, user = np.concatenate(found), relevant.user.astype(np.int64)
    return FullRanks(every[:, 0], ranked.n_candidates, user, relevant.item, every[:, 1:])


def candidate_ranks(
    scorer: BatchScorer, train: Ratings, users: Ints, *, topic: Longs, candidates: Masks | None
) -> CandidateRanks:
    """Rank all candidates of some users, as :func:`full_ranks` does.

    Parameters
    ----------
    scorer, train, candidates
        As of :func:`full_ranks`.
    users
        Numbers of the users.
    topic
        What they are called in what is given back.
    """
    allowed = allowed_items(train, candidates)
    kind = np.uint16 if len(allowed) <= np.iinfo(np.uint16).max else np.int32
    ranks, rated = np.zeros((len(users), len(allowed)), dtype=kind), train.matrix()
    with single_threaded():
        for block in row_blocks(len(users), row_bytes=4 * len(allowed)):
            scores = _comparable(scorer, users[block])
            hide(scores, allowed, rated[users[block]])
            order = np.argsort(-scores, axis=1, kind="stable")
            places = np.arange(1, len(allowed) + 1, dtype=kind)[np.newaxis]
            np.put_along_axis(ranks[block], order, places, axis=1)
            ranks[block][np.isnan(scores)] = 0
    return CandidateRanks(topic, ranks)


def _comparable(scorer: BatchScorer, users: Ints) -> Singles:
    """Score all items; those that cannot be scored are below all others."""
    scores = scorer.score_batch(users).astype(np.float32, copy=False)
    return np.nan_to_num(scores, copy=False, nan=-np.inf, posinf=np.inf, neginf=-np.inf)


class Rankable(NamedTuple):
    """Held-out relevant items, and which items are candidates of some user: (n_items,).

    Beside them is the number of candidates of the user of each, the relevant items among them
    whether they can be ranked or not, int64 of shape (n_relevant,).
    """

    allowed: Masks
    relevant: Ratings
    n_candidates: Longs

    def best_ranks(self) -> FullRanks:
        """Give the ranks that a perfect system would give them."""
        users = self.relevant.user.astype(np.int64)
        return FullRanks(place_in_group(users), self.n_candidates, users, self.relevant.item)


def rankable(train: Ratings, relevant: Ratings, *, candidates: Masks | None = None) -> Rankable:
    """Say which relevant items :func:`full_ranks` ranks, given the same, and among how many."""
    allowed = allowed_items(train, candidates)
    rated = np.bincount(train.user[allowed[train.item]], minlength=len(train.users))
    cold = np.bincount(relevant.user[~allowed[relevant.item]], minlength=len(train.users))
    n_candidates = np.asarray(np.count_nonzero(allowed) - rated + cold, dtype=np.int64)
    return Rankable(allowed, relevant, n_candidates[relevant.user])


def _ranks_of(users: Ints, scorer: BatchScorer, rated: Sparse, ranked: Rankable) -> Longs:
    """Add up irrelevant items above, and place among the relevant, of these users' items.

    Beside this rank are the irrelevant items of equal score above it, and those below.
    """
    from recommenders.shared.full_ranks_loop import count_above

    allowed, relevant, n_candidates = ranked
    rows = slice(*np.searchsorted(relevant.user, [users[0], users[-1] + 1]))
    row, item = np.searchsorted(users, relevant.user[rows]), relevant.item[rows]
    scores = _comparable(scorer, users)
    own = np.where(allowed[item], scores[row, item], np.nan)
    hide(scores, allowed, rated[users])
    scores[row, item] = np.nan
    counts = count_above(scores, row, item, own)
    # Above what cannot be ranked are all irrelevant candidates.
    n_irrelevant = n_candidates[rows] - np.bincount(row)[row]
    # Relevant items of each row by falling score, from 1; those without one last.
    order, places = np.lexsort((item, -own, row)), np.empty(len(row), dtype=np.int64)
    places[order] = place_in_group(row[order])
    counts[:, 0] = np.where(allowed[item], counts[:, :2].sum(axis=1), n_irrelevant) + places
    return counts
