"""Full ranks: where a system puts the held-out relevant items among all candidates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qrels import FullRanks, Ratings
from qrels.ranks.full_ranks import CandidateRanks
from recommenders.shared.scorers import (
    BatchScorer,
    allowed_items,
    exclude_items,
    require_shape,
    row_blocks,
)
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
    scorer
        A trained system.
    train
        The ratings that it was trained on.
    relevant
        The held-out relevant items, over the same numbering, sorted by user and item; none is
        rated by its user in training. Those that are no candidates, such as cold items, count as
        candidates at the end of the list: only other items of this kind are below them.
    candidates
        Mask over the items, of shape (n_items,): those that may be candidates; all by default.

    Returns
    -------
    One row for each relevant item, by user and item number, with the irrelevant candidates of equal
    score.
    """
    held_out = held_out_items(train, relevant, candidates=candidates)
    users = np.unique(relevant.user)
    rated = train.matrix()
    ranks_and_ties = [np.empty((0, 3), dtype=np.int64)]
    with single_threaded():
        for block in row_blocks(len(users), row_bytes=4 * len(train.items)):
            ranks_and_ties.append(_ranks_and_ties(users[block], scorer, rated, held_out))
    # Rank, and tied irrelevant candidates above and below, by relevant item.
    columns = np.concatenate(ranks_and_ties)
    rank = columns[:, 0]
    ties = columns[:, 1:]
    user = relevant.user.astype(np.int64)
    return FullRanks(
        rank=rank,
        n_candidates=held_out.n_candidates,
        user=user,
        item=relevant.item,
        ties=ties,
    )


def candidate_ranks(
    scorer: BatchScorer, train: Ratings, users: Ints, *, topic: Longs, candidates: Masks | None
) -> CandidateRanks:
    """Rank all candidates of some users, as :func:`full_ranks` does.

    Parameters
    ----------
    scorer
        A trained system.
    train
        The ratings that it was trained on.
    users
        Numbers of the users, of shape (n_rows,).
    topic
        Numbers that the users have in the result, of shape (n_rows,).
    candidates
        Mask over the items, of shape (n_items,): those that may be candidates; None for all.

    Returns
    -------
    Ranks from 1 of shape (n_rows, n_items), and 0 for items that are no candidates: uint16 if there
    are at most 65,535 items, else int32.

    Raises
    ------
    InputError
        If the mask of candidates or the numbers are of another shape.
    """
    require_shape("numbers of users in the result", topic, users.shape)
    allowed = allowed_items(train, candidates)
    n_items = len(allowed)
    fits_uint16 = n_items <= np.iinfo(np.uint16).max
    dtype = np.uint16 if fits_uint16 else np.int32
    ranks = np.zeros((len(users), n_items), dtype=dtype)
    rated = train.matrix()
    from_one = np.arange(1, n_items + 1, dtype=dtype)[np.newaxis]
    with single_threaded():
        for block in row_blocks(len(users), row_bytes=4 * len(allowed)):
            # Minus infinity where the system has no score.
            scores = _comparable_scores(scorer, users[block])
            exclude_items(scores, allowed, rated[users[block]])
            # Items that are no candidates have NaN, which comes last.
            order = np.argsort(-scores, axis=1, kind="stable")
            np.put_along_axis(ranks[block], order, from_one, axis=1)
            ranks[block][np.isnan(scores)] = 0
    return CandidateRanks(topic, ranks)


def _comparable_scores(scorer: BatchScorer, users: Ints) -> Singles:
    """Score all items for these users: float32 of shape (n_rows, n_items), -inf in place of NaN."""
    scores = scorer.score_batch(users).astype(np.float32, copy=False)
    return np.nan_to_num(scores, copy=False, nan=-np.inf, posinf=np.inf, neginf=-np.inf)


class HeldOutItems(NamedTuple):
    """Held-out relevant items, and the candidates that they are ranked among.

    ``allowed`` marks the items that are candidates of some user, (n_items,). ``n_candidates`` is
    the number of candidates of the user of each relevant item, int64 of shape (n_relevant,). All
    relevant items count as candidates of their users, those that are not allowed too.
    """

    allowed: Masks
    relevant: Ratings
    n_candidates: Longs

    def ideal_ranks(self) -> FullRanks:
        """Rank the relevant items of each user first, as a perfect system would."""
        users = self.relevant.user.astype(np.int64)
        return FullRanks(
            rank=place_in_group(users),
            n_candidates=self.n_candidates,
            user=users,
            item=self.relevant.item,
        )


def held_out_items(
    train: Ratings, relevant: Ratings, *, candidates: Masks | None = None
) -> HeldOutItems:
    """Count the candidates that :func:`full_ranks`, with the same arguments, ranks items among.

    A user's candidates are the allowed items that the user has not rated in training, and the
    user's relevant items that are not allowed, such as cold items. Allowed are the items with
    training ratings that ``candidates``, a mask of shape (n_items,), marks; by default all of them.

    Returns the mask of allowed items, (n_items,), the relevant ratings, and for each of these the
    number of candidates of its user, int64.
    """
    allowed = allowed_items(train, candidates)
    n_users = len(train.users)
    users_of_allowed = train.user[allowed[train.item]]
    users_of_not_allowed = relevant.user[~allowed[relevant.item]]
    n_rated = np.bincount(users_of_allowed, minlength=n_users)
    n_not_allowed = np.bincount(users_of_not_allowed, minlength=n_users)
    n_candidates = np.count_nonzero(allowed) - n_rated + n_not_allowed
    candidates_by_user = np.asarray(n_candidates, dtype=np.int64)
    return HeldOutItems(allowed, relevant, candidates_by_user[relevant.user])


def _ranks_and_ties(
    users: Ints, scorer: BatchScorer, rated: Sparse, held_out: HeldOutItems
) -> Longs:
    """Rank the held-out relevant items of a block of users, with a row for each of these items.

    Parameters
    ----------
    users
        Rising numbers of the users; all users with relevant items between the first and the last.
    scorer
        The trained system.
    rated
        Training ratings, of shape (n_users, n_items).
    held_out
        The relevant items of all users, sorted by user and item.

    Returns
    -------
    Array of shape (n_relevant_of_block, 3): the rank from 1 among the candidates of the user, then
    the irrelevant candidates of equal score above the item, and those below it.
    """
    from recommenders.shared.full_ranks_loop import count_above

    allowed, relevant, n_candidates = held_out
    first, last = np.searchsorted(relevant.user, [users[0], users[-1] + 1])
    row = np.searchsorted(users, relevant.user[first:last])
    item = relevant.item[first:last]
    is_allowed = allowed[item]

    # Minus infinity where the system has no score.
    scores = _comparable_scores(scorer, users)
    relevant_scores = np.where(is_allowed, scores[row, item], np.nan)
    exclude_items(scores, allowed, rated[users])
    scores[row, item] = np.nan  # Only irrelevant candidates are counted.
    counts = count_above(scores, row, item, relevant_scores)

    n_irrelevant_above = counts[:, :2].sum(axis=1)
    n_relevant = np.bincount(row)[row]
    n_irrelevant = n_candidates[first:last] - n_relevant
    # Places among the relevant items of the user, from 1, by falling score; NaN comes last.
    order = np.lexsort((item, -relevant_scores, row))
    relevant_places = np.empty(len(row), dtype=np.int64)
    relevant_places[order] = place_in_group(row[order])
    # An item that is not allowed is below all irrelevant candidates.
    n_above = np.where(is_allowed, n_irrelevant_above, n_irrelevant)
    counts[:, 0] = n_above + relevant_places
    return counts
