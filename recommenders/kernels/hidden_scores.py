"""Ranks of hidden items by any model that scores profiles: one profile for every hidden item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from qrels import Ratings, Split
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import MISS, HiddenRanks, Ranks
from qrels.ranks.judged_ranks import VALIDATIONS, JudgedRanks, Validation
from recommenders.shared.scorers import HistoriesScorer, allowed_items, row_blocks, row_of_entry
from runs import InputError
from runs.shared.arrays import Floats, Longs, Masks, Singles, Sparse
from runs.shared.parallel import delayed, run_in_threads, single_threaded

BLOCK_BYTES = 16 * 2**20

ProfileScorer: TypeAlias = Callable[[Sparse], NDArray[np.floating]]
"""Scores profiles, of shape (rows, n_items), as an array of this shape, NaN for what cannot be
scored; a row must not depend on the others. So does ``score_histories`` of a system."""


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

    Histories, of which profiles are made, hold the distinct items of every user, each with a value;
    they are the hidden items by default, with the value 1. Ranks are by falling score and then item
    number, among what is not in the profile and has a score. A rank under leave last one out beyond
    the deepest is a miss. The time is that of the model for as many users as there are hidden
    items, for each validation.
    """
    histories = hidden if histories is None else histories
    values = np.ones(len(histories)) if values is None else values

    def profiles_of(validation: Validation, rows: slice) -> Sparse:
        """Give what the model is shown for each hidden item, a row each."""
        from scipy.sparse import csr_array

        item, time = hidden.item[rows], hidden.time[rows]
        users, starts = hidden.user[rows], histories.starts
        sizes = starts[users + 1] - starts[users]
        owner = np.repeat(np.arange(len(users)), sizes)
        of_user = np.arange(len(owner)) + (starts[users] - np.cumsum(sizes) + sizes)[owner]
        if validation == "loo":
            shown = histories.item[of_user] != item[owner]
        else:
            shown = histories.time[of_user] < time[owner]
        events = of_user[shown]
        places = (owner[shown], histories.item[events])
        return csr_array((values[events], places), shape=(len(item), len(hidden.items)))

    def rank(validation: Validation, rows: slice) -> Ranks:
        from recommenders.shared.full_ranks_loop import count_above

        profiles = profiles_of(validation, rows)
        scores, item = score(profiles), hidden.item[rows]
        if scores.shape != profiles.shape:
            raise InputError(
                f"scores of {profiles.shape[0]} profiles and {profiles.shape[1]} items must be of "
                f"this shape, got {scores.shape}."
            )
        scores = scores.astype(np.float32)
        scores[row_of_entry(profiles), profiles.indices] = np.nan
        row = np.arange(len(item))
        own = scores[row, item]
        above = count_above(scores, row, item, own)[:, :2].sum(axis=1)
        # Without a profile, or a score, an item is a miss.
        is_ranked = (np.diff(profiles.indptr) > 0) & ~np.isnan(own)
        return np.where(is_ranked, np.minimum(above + 1, MISS), MISS).astype(np.uint16)

    row_bytes = 8 * len(hidden.items)
    blocks = [*row_blocks(len(hidden), row_bytes=row_bytes, block_bytes=BLOCK_BYTES)]
    wanted = [(name, rows) for name in validations for rows in blocks]
    tasks = (delayed(rank)(name, rows) for name, rows in wanted)
    ranked = run_in_threads(tasks, n_jobs=n_jobs)
    columns = {name: np.full(len(hidden), MISS, dtype=np.uint16) for name in VALIDATIONS}
    for (name, rows), ranks in zip(wanted, ranked, strict=True):
        columns[name][rows] = ranks
    columns["lloo"][columns["lloo"] > deepest] = MISS
    return HiddenRanks(hidden, columns["loo"], columns["lloo"], deepest)


def rank_held_out(
    scorer: HistoriesScorer,
    split: Split,
    relevant: Masks,
    *,
    validations: Sequence[Validation],
    candidates: Masks | None = None,
    positives: float | None = None,
) -> JudgedRanks:
    """Rank every relevant test item with a profile of all else that its user rated.

    Profiles hold ratings of either part, training and test, with their values. Under leave last one
    out they are those before the item. Candidates are the items with training ratings that are not
    in the profile; what the system cannot score is a miss, and so is what is beyond rank 65534.
    """

    def score(profiles: Sparse) -> Singles:
        if positives is not None:
            kept = profiles.data >= positives
            places = (row_of_entry(profiles)[kept], profiles.indices[kept])
            profiles = type(profiles)((profiles.data[kept], places), shape=profiles.shape)
        scores = scorer.score_histories(profiles).astype(np.float32)
        scores[:, ~allowed] = np.nan
        return scores

    allowed = allowed_items(split.train, candidates)
    everything, values = _everything(split)
    tested = split.test.select(relevant)
    order = np.lexsort((tested.item, _times(tested), tested.user))
    columns = tested.user[order], tested.item[order], _times(tested)[order], np.ones(len(order))
    hidden = Interactions(tested.users, tested.items, *columns)
    with single_threaded():
        ranks = rank_hidden_by_scores(
            score, hidden, histories=everything, values=values, validations=validations, n_jobs=1
        )
    rows = np.full(len(relevant), -1)
    rows[np.flatnonzero(relevant)[order]] = np.arange(len(order))
    found = {"loo": ranks.rank_loo, "lloo": ranks.rank_lloo}
    return JudgedRanks(**{name: found[name] for name in validations}).select(rows)


def _everything(split: Split) -> tuple[Interactions, Floats]:
    """Put the ratings of the test users together, by user and time; and give their values."""
    tested = np.isin(split.train.user, split.test_users)
    parts = (split.train.select(tested), split.test)
    user, item, value = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("user", "item", "rating")
    )
    time = np.concatenate([_times(part) for part in parts])
    order = np.lexsort((item, time, user))
    users, items = split.train.users, split.train.items
    columns = user[order], item[order], time[order], np.ones(len(order))
    return Interactions(users, items, *columns), value[order]


def _times(ratings: Ratings) -> Longs:
    """Give the times of ratings; one for all if there is none."""
    return np.zeros(len(ratings), dtype=np.int64) if ratings.time is None else ratings.time
