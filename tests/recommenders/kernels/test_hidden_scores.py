"""Ranks of hidden items by models that score profiles, and by systems trained on a split."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qrels import Ratings, Split
from qrels.ranks.hidden_ranks import MISS
from qrels.ranks.judged_ranks import VALIDATIONS, JudgedRanks
from recommenders import find_system, train
from recommenders.kernels.hidden_scores import rank_held_out, rank_hidden_by_scores
from recommenders.krichene_x import KricheneXScorer
from recommenders.shared.scorers import HistoriesScorer, LinearItemScorer
from runs import InputError
from tests.conftest import examples
from tests.hidden_example import (
    PROFILES,
    RANK_LLOO,
    RANK_LOO,
    events_of,
    golden_events,
    histories,
    numbered,
    similarities,
    similarity,
)
from tests.recommenders.kernels.plain_ranks import rank_hidden_plainly


def positive(table: Any) -> Any:
    """Score by sums of similarities, of which those above 0 count."""
    return lambda profiles: np.where((found := profiles @ table) > 0, found, np.nan)


def test_ranks_found_by_hand() -> None:
    dense = similarity().toarray()
    ranks = rank_hidden_by_scores(positive(dense), golden_events(), deepest=50, n_jobs=1)
    assert (ranks.rank_loo.tolist(), ranks.rank_lloo.tolist()) == (RANK_LOO, RANK_LLOO)


@examples(30)
@given(table=similarities(), data=st.data())
def test_a_sum_of_similarities_is_ranked_as_by_definition(
    table: NDArray[np.float64], data: st.DataObject
) -> None:
    np.fill_diagonal(table, 0)
    events = data.draw(histories(n_items=len(table)))
    hidden = events.select(events.is_first)
    ranks = rank_hidden_by_scores(positive(table), hidden, deepest=4, n_jobs=1)
    plain = rank_hidden_plainly(table, events, deepest=4)
    np.testing.assert_array_equal(ranks.rank_loo, plain.rank_loo)
    np.testing.assert_array_equal(ranks.rank_lloo, plain.rank_lloo)


def test_what_cannot_be_scored_is_a_miss() -> None:
    scores = np.array([np.nan, 1.0, 2.0])
    ranks = rank_hidden_by_scores(
        lambda profiles: np.tile(scores, (profiles.shape[0], 1)),
        events_of([(0, 1)], n_items=3),
        n_jobs=1,
    )
    assert ranks.rank_loo.tolist() == [MISS, 2]


Row = tuple[int, int, float, int]


def ratings_of(rows: Sequence[Row], *, n_users: int, n_items: int) -> Ratings:
    user, item, rating, time = (np.array(column) for column in zip(*sorted(rows), strict=True))
    users, items = numbered(n_users), numbered(n_items)
    return Ratings(
        users, items, user.astype(np.int32), item.astype(np.int32), rating.astype(float), time
    )


def split_of(train_rows: Sequence[Row], test_rows: Sequence[Row], *, n_items: int = 6) -> Split:
    n_users = 1 + max(row[0] for row in (*train_rows, *test_rows))
    every = ratings_of([*train_rows, *test_rows], n_users=n_users, n_items=n_items)
    tested = {row[:2] for row in test_rows}
    of_test = np.array([p in tested for p in zip(every.user, every.item, strict=True)])
    return Split(every.select(~of_test), every.select(of_test))


def ranks_of(scorer: Any, split: Split, **options: Any) -> JudgedRanks:
    relevant = split.test.rating >= 4
    return rank_held_out(scorer, split, relevant, validations=VALIDATIONS, **options)


def drawn_split(rng: np.random.Generator) -> Split:
    pairs = np.argwhere(rng.random((8, 12)) < 0.5)
    rows = [(int(u), int(i), float(rng.integers(1, 6)), int(rng.integers(5))) for u, i in pairs]
    chosen = rng.random(len(rows)) < 0.4
    train_rows = [row for row, tested in zip(rows, chosen, strict=True) if not tested]
    test_rows = [row for row, tested in zip(rows, chosen, strict=True) if tested]
    return split_of(train_rows, test_rows, n_items=12)


def plain_ranks(
    weights: NDArray[np.float64], split: Split, *, lowest: float, in_time: bool
) -> list[int]:
    """Rank every test item, one at a time, with scores that are ratings times weights."""
    parts = (split.train, split.test)
    rows = [
        row
        for p in parts
        for row in zip(p.user, p.item, p.rating, p.time, strict=True)  # type: ignore[arg-type]
    ]
    allowed = set(split.train.item.tolist())
    found = []
    test = split.test
    for user, item, rating, time in zip(test.user, test.item, test.rating, test.time, strict=True):  # type: ignore[arg-type]
        profile = {
            i: r for u, i, r, t in rows if u == user and i != item and (t < time or not in_time)
        }
        shown = {i: r for i, r in profile.items() if r >= lowest}
        scores = np.zeros(weights.shape[1])
        for i, r in shown.items():
            scores += r * weights[i]
        own = np.float32(scores[item])
        rivals = [j for j in allowed - set(profile) if (-np.float32(scores[j]), j) < (-own, item)]
        can_be = rating >= 4 and item in allowed and shown
        found.append(len(rivals) + 1 if can_be else MISS)
    return found


@pytest.mark.parametrize("lowest", [None, 3.0])
@pytest.mark.parametrize("in_time", [False, True])
def test_ranks_are_those_of_one_profile_after_the_other(
    lowest: float | None, in_time: bool
) -> None:
    rng = np.random.default_rng(7)
    split = drawn_split(rng)
    weights = rng.integers(-3, 4, (12, 12)).astype(np.float64)
    ranks = ranks_of(
        LinearItemScorer(split.train, weights, by_rating=True), split, min_rating=lowest
    )
    found = ranks.require("lloo" if in_time else "loo")
    expected = plain_ranks(weights, split, lowest=lowest or 0.0, in_time=in_time)
    assert found.tolist() == expected
    assert len(set(expected)) > 3


def test_users_who_were_held_out_are_those_of_the_recall_meter() -> None:
    events = golden_events()
    others = [(3, item, 5.0, 0) for item in range(6)]
    held_out = [
        (user, item, 5.0, time)
        for user, items in enumerate(PROFILES)
        for time, item in enumerate(items)
    ]
    split = split_of(others, held_out)
    scorer = LinearItemScorer(split.train, similarity(), unlinked_score=0.0)
    ranks = ranks_of(scorer, split)
    meter = rank_hidden_by_scores(scorer.score_histories, events, n_jobs=1)
    assert meter.deepest == MISS - 1
    order = np.lexsort((meter.hidden.item, meter.hidden.user))
    assert ranks.require("loo").tolist() == meter.rank_loo[order].tolist()
    assert ranks.require("lloo").tolist() == meter.rank_lloo[order].tolist()


def test_only_candidates_compete() -> None:
    split = split_of([(0, 0, 5.0, 0), (1, 1, 5.0, 0), (1, 2, 5.0, 0)], [(0, 2, 5.0, 1)])
    weights = np.zeros((6, 6))
    weights[0, 1:3] = 3.0, 1.0
    scorer = LinearItemScorer(split.train, weights)
    only_the_last = np.arange(6) == 2
    assert ranks_of(scorer, split).require("loo").tolist() == [2]
    assert ranks_of(scorer, split, candidates=only_the_last).require("loo").tolist() == [1]


@pytest.mark.parametrize("name", ["popularity", "random"])
def test_baselines_score_profiles(name: str) -> None:
    split = split_of([(u, i, 5.0, 0) for u in range(3) for i in range(u + 1)], [(0, 3, 5.0, 1)])
    scorer = train(name, {}, split.train, seed=1)
    assert isinstance(scorer, HistoriesScorer)
    profiles = csr_array(
        np.array([[1.0, 0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0, 0], [2.0, 0, 0, 0, 0, 0]])
    )
    one, other, same = scorer.score_histories(profiles)
    np.testing.assert_array_equal(one, same)
    assert (name == "popularity") == bool((one == other).all())


@pytest.mark.parametrize(
    ("name", "scores_profiles"),
    [("item-knn", True), ("ease", True), ("krichene-x", True), ("rw", False), ("ht", False)],
)
def test_systems_that_score_a_profile_by_themselves_are_known(
    name: str, scores_profiles: bool
) -> None:
    assert find_system(name).scores_histories == scores_profiles


def test_factors_of_a_profile_solve_the_weighted_least_squares() -> None:
    """Scores of krichene-x maximise nothing else than its loss with the items' factors fixed."""
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(6, 3))
    ratings = split_of([(0, 0, 5.0, 0)], [(0, 1, 5.0, 1)]).train
    scorer = KricheneXScorer(ratings, rng.normal(size=(1, 3)), factors, 0.0, 0.0, 2.0, 0.5)
    profile = np.array([1.0, 0, 1, 1, 0, 0])
    weights = 1 + 2.0 * profile
    normal = (factors.T * weights) @ factors + 0.5 * np.eye(3)
    expected = factors @ np.linalg.solve(normal, factors.T @ (weights * profile))
    found = scorer.score_histories(csr_array(profile[np.newaxis]))
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)


def test_a_history_has_a_value_for_each_item() -> None:
    with pytest.raises(InputError, match=r"values of the histories .* \(2,\), got \(3,\)"):
        rank_hidden_by_scores(
            lambda profiles: profiles.toarray(),
            events_of([(0, 1)], n_items=3),
            values=np.ones(3),
            n_jobs=1,
        )


def test_a_mask_of_relevant_items_is_over_the_test_ratings() -> None:
    split = split_of([(0, 0, 5.0, 0)], [(0, 1, 5.0, 1)])
    scorer = LinearItemScorer(split.train, np.zeros((6, 6)))
    with pytest.raises(InputError, match=r"mask of test ratings .* \(1,\), got \(2,\)"):
        rank_held_out(scorer, split, np.array([True, False]), validations=VALIDATIONS)
