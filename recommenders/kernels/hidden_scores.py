"""Ranks of hidden items by any model that scores profiles: one profile for every hidden item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from qrels import Ratings, Split
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import MISS, HiddenRanks, Ranks
from qrels.ranks.judged_ranks import VALIDATIONS, JudgedRanks, Validation
from recommenders.shared.scorers import (
    HistoriesScorer,
    allowed_items,
    require_shape,
    row_blocks,
    row_of_entry,
)
from runs import InputError
from runs.shared.arrays import Floats, Ints, Longs, Masks, Singles, Sparse
from runs.shared.parallel import delayed, run_in_threads, single_threaded

BLOCK_BYTES = 16 * 2**20
"""Size of the scores of a block of hidden items, in bytes."""

ProfileScorer: TypeAlias = Callable[[Sparse], NDArray[np.floating]]
"""Scores profiles, of shape (n_rows, n_items), as an array of this shape, NaN for items that cannot
be scored; a row must not depend on the others. So does ``score_histories`` of a system."""


def rank_hidden_by_scores(
    score: ProfileScorer,
    hidden: Interactions,
    *,
    histories: Interactions | None = None,
    values: NDArray[np.floating] | None = None,
    validations: Sequence[Validation] = VALIDATIONS,
    deepest: int = MISS - 1,
    n_jobs: int,
) -> HiddenRanks:
    """Rank the hidden items of test users by the scores of each profile without them.

    Ranks are by falling score and then item number, among the items that are not in the profile and
    have a score. The time is that of the model for as many users as there are hidden items, for
    each validation.

    Parameters
    ----------
    score
        The model: a function that scores all items for profiles, both of shape (n_rows, n_items).
    hidden
        The hidden items, distinct for each user.
    histories
        The distinct items of the same users, of which profiles are made; by default ``hidden``.
    values
        Value of each item of the histories in the profiles, (n_histories,); 1 by default.
    validations
        Leave one out ("loo"), leave last one out ("lloo"), or both. Under others all are misses.
    deepest
        Deepest rank that is kept under leave last one out.
    n_jobs
        Number of threads.

    Returns
    -------
    Two ranks of each hidden item, from 1; 65535 for a miss: an item without a score, one whose
    profile is empty, or under leave last one out one beyond ``deepest``.

    Raises
    ------
    InputError
        If the values are not as many as the items of the histories, or the scores are not of the
        shape of the profiles.
    """
    histories = hidden if histories is None else histories
    values = np.ones(len(histories)) if values is None else values
    require_shape("values of the histories", values, (len(histories),))
    rank_block = partial(_rank_block, score, hidden, histories, values)
    row_bytes = 8 * len(hidden.items)
    blocks = [*row_blocks(len(hidden), row_bytes=row_bytes, block_bytes=BLOCK_BYTES)]
    cases = [(validation, rows) for validation in validations for rows in blocks]
    tasks = (delayed(rank_block)(validation, rows) for validation, rows in cases)
    block_ranks = run_in_threads(tasks, n_jobs=n_jobs)
    columns = {name: np.full(len(hidden), MISS, dtype=np.uint16) for name in VALIDATIONS}
    for (validation, rows), ranks in zip(cases, block_ranks, strict=True):
        columns[validation][rows] = ranks
    columns["lloo"][columns["lloo"] > deepest] = MISS
    return HiddenRanks(hidden, columns["loo"], columns["lloo"], deepest)


def _profiles_without_hidden(
    hidden: Interactions,
    histories: Interactions,
    values: NDArray[np.floating],
    validation: Validation,
    rows: slice,
) -> Sparse:
    """Make the profile that the model is shown for each hidden item of a slice of rows.

    Under leave one out ("loo") it is the history of the user without the hidden item; under leave
    last one out ("lloo"), the part of the history before its time. ``rows`` are rows of ``hidden``;
    ``values``, (n_histories,), are those of the items of the histories in the profiles. The result
    is of shape (rows of the slice, n_items).
    """
    from scipy.sparse import csr_array

    hidden_items = hidden.item[rows]
    hidden_times = hidden.time[rows]
    users = hidden.user[rows]
    starts = histories.starts
    sizes = starts[users + 1] - starts[users]
    # Profile and history row of every item in the histories of these users, one after the other.
    profile = np.repeat(np.arange(len(users)), sizes)
    first_of_profile = np.cumsum(sizes) - sizes
    offsets = starts[users] - first_of_profile
    history_row = np.arange(len(profile)) + offsets[profile]
    if validation == "loo":
        is_shown = histories.item[history_row] != hidden_items[profile]
    else:
        is_shown = histories.time[history_row] < hidden_times[profile]
    shown_rows = history_row[is_shown]
    places = (profile[is_shown], histories.item[shown_rows])
    shape = (len(hidden_items), len(hidden.items))
    return csr_array((values[shown_rows], places), shape=shape)


def _rank_block(
    score: ProfileScorer,
    hidden: Interactions,
    histories: Interactions,
    values: NDArray[np.floating],
    validation: Validation,
    rows: slice,
) -> Ranks:
    """Rank the hidden items of a slice of rows by the scores of the users' profiles without them.

    ``score`` is the model: it scores all items for profiles, both of shape (n_rows, n_items).
    ``histories`` are the items of which profiles are made, and ``values`` their values,
    (n_histories,). Candidates are the items that are not in the profile; of equal scores, compared
    as float32, the lower item number is first.

    Returns ranks from 1, (rows of the slice,): 65535 for an item without a score (NaN), or whose
    profile is empty. Raises InputError if the scores are not of the shape of the profiles.
    """
    from recommenders.shared.full_ranks_loop import count_above

    profiles = _profiles_without_hidden(hidden, histories, values, validation, rows)
    scores = score(profiles)
    if scores.shape != profiles.shape:
        raise InputError(
            f"scores of {profiles.shape[0]} profiles and {profiles.shape[1]} items must be of "
            f"this shape, got {scores.shape}."
        )
    scores = scores.astype(np.float32)
    scores[row_of_entry(profiles), profiles.indices] = np.nan
    hidden_items = hidden.item[rows]
    row = np.arange(len(hidden_items))
    hidden_scores = scores[row, hidden_items]
    # Items of higher score, of equal score with a lower number, and with a higher number.
    counts = count_above(scores, row, hidden_items, hidden_scores)
    n_above = counts[:, :2].sum(axis=1)
    ranks = np.minimum(n_above + 1, MISS)
    has_profile = np.diff(profiles.indptr) > 0
    is_ranked = has_profile & ~np.isnan(hidden_scores)
    return np.where(is_ranked, ranks, MISS).astype(np.uint16)


def rank_held_out(
    scorer: HistoriesScorer,
    split: Split,
    relevant: Masks,
    *,
    validations: Sequence[Validation],
    candidates: Masks | None = None,
    min_rating: float | None = None,
) -> JudgedRanks:
    """Rank every relevant test item with a profile of all other items that its user rated.

    Profiles hold ratings of both parts, training and test, with their values. Under leave last one
    out they are those before the item. Candidates are the items with training ratings that are not
    in the profile. An item that the system cannot score is a miss, and so is one beyond rank 65534.

    Parameters
    ----------
    scorer
        A trained system.
    split
        Training and test ratings; without times, all ratings are of one time.
    relevant
        Mask over the test ratings, (n_test,): the items that are ranked.
    validations
        Leave one out ("loo"), leave last one out ("lloo"), or both.
    candidates
        Mask over the items, (n_items,): those that may be recommended; all by default.
    min_rating
        Lowest rating that profiles hold; all ratings by default.

    Returns
    -------
    Ranks of all test ratings, (n_test,), under these validations; misses where not relevant.

    Raises
    ------
    InputError
        If one of the masks is of another shape.
    """
    require_shape("the mask of test ratings", relevant, (len(split.test),))
    allowed = allowed_items(split.train, candidates)

    def score(profiles: Sparse) -> Singles:
        """Score all items for profiles, (n_rows, n_items); NaN for items that are not allowed."""
        if min_rating is not None:
            profiles = _with_least_rating(profiles, min_rating)
        scores = scorer.score_histories(profiles).astype(np.float32)
        scores[:, ~allowed] = np.nan
        return scores

    histories, values = _histories_of_test_users(split)
    relevant_ratings = split.test.select(relevant)
    hidden, order = _sorted_interactions(
        relevant_ratings,
        user=relevant_ratings.user,
        item=relevant_ratings.item,
        time=_times(relevant_ratings),
    )
    with single_threaded():
        ranks = rank_hidden_by_scores(
            score, hidden, histories=histories, values=values, validations=validations, n_jobs=1
        )
    # Row of the hidden items for each test rating; -1, a miss, where it is not relevant.
    rows = np.full(len(relevant), -1)
    test_rows = np.flatnonzero(relevant)[order]
    rows[test_rows] = np.arange(len(order))
    rank_loo = ranks.rank_loo if "loo" in validations else None
    rank_lloo = ranks.rank_lloo if "lloo" in validations else None
    return JudgedRanks(loo=rank_loo, lloo=rank_lloo).select(rows)


def _with_least_rating(profiles: Sparse, min_rating: float) -> Sparse:
    """Return profiles, (n_rows, n_items), without the ratings below ``min_rating``."""
    is_high = profiles.data >= min_rating
    places = (row_of_entry(profiles)[is_high], profiles.indices[is_high])
    return type(profiles)((profiles.data[is_high], places), shape=profiles.shape)


def _histories_of_test_users(split: Split) -> tuple[Interactions, Floats]:
    """Join the training and test ratings of the users with test ratings, by user, time and item.

    Returns them as interactions, whose own values are 1, and the ratings, (n_histories,), in the
    same order.
    """
    is_of_test_user = np.isin(split.train.user, split.test_users)
    train = split.train.select(is_of_test_user)
    test = split.test
    user = np.concatenate([train.user, test.user])
    item = np.concatenate([train.item, test.item])
    time = np.concatenate([_times(train), _times(test)])
    rating = np.concatenate([train.rating, test.rating])
    histories, order = _sorted_interactions(train, user=user, item=item, time=time)
    return histories, rating[order]


def _sorted_interactions(
    numbering: Ratings, *, user: Ints, item: Ints, time: Longs
) -> tuple[Interactions, Longs]:
    """Sort columns of shape (n_rows,) by user, time and item, and make interactions of value 1.

    The numbers are those of the users and items of ``numbering``. Also returns the order: the
    former row of each interaction, of shape (n_rows,).
    """
    order = np.lexsort((item, time, user))
    values = np.ones(len(order))
    interactions = Interactions(
        numbering.users,
        numbering.items,
        user=user[order],
        item=item[order],
        time=time[order],
        value=values,
    )
    return interactions, order


def _times(ratings: Ratings) -> Longs:
    """Return the times of ratings, (n_ratings,); 0 for all if they have none."""
    if ratings.time is None:
        return np.zeros(len(ratings), dtype=np.int64)
    return ratings.time
