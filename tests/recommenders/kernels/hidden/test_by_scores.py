"""Hidden ranks of models that score profiles."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from recommenders.kernels.hidden import Hiding, rank_hidden, rank_hidden_by_scores

from qrels.ranks.hidden_ranks import MISS
from recommenders.shared.scorers import LinearItemScorer
from runs import InputError
from tests.hidden_example import (
    RANK_LLOO,
    RANK_LOO,
    events_of,
    golden_events,
    histories,
    similarities,
    similarity,
)
from tests.recommenders.kernels.hidden.plain_ranks import rank_hidden_plainly


def test_ranks_found_by_hand() -> None:
    ranks = rank_hidden_by_scores(
        lambda profiles, _: (profiles @ similarity()).toarray(), golden_events(), n_jobs=1
    )
    assert (ranks.rank_loo.tolist(), ranks.rank_lloo.tolist()) == (RANK_LOO, RANK_LLOO)


@given(
    table=similarities(lowest=-3),
    repeats=st.booleans(),
    lists=st.sampled_from([None, "loo", "lloo"]),
    reachable=st.sampled_from(["positive", "all"]),
    data=st.data(),
)
def test_a_sum_of_similarities_is_ranked_as_by_definition(
    table: NDArray[np.float64],
    repeats: bool,
    lists: Any,
    reachable: Any,
    data: st.DataObject,
) -> None:
    # The definition takes negative votes for none where scores must be positive.
    table = np.maximum(table, 0) if reachable == "positive" else table
    np.fill_diagonal(table, 0)
    events = data.draw(histories(n_items=len(table)))
    hiding = Hiding("all" if repeats else "first", not repeats, reachable, lists=lists, deepest=4)
    ranks = rank_hidden_by_scores(lambda profiles, _: profiles @ table, events, hiding, n_jobs=1)
    plain = rank_hidden_plainly(table, events, hiding)
    np.testing.assert_array_equal(ranks.rank_loo, plain.rank_loo)
    np.testing.assert_array_equal(ranks.rank_lloo, plain.rank_lloo)
    np.testing.assert_array_equal(ranks.best, plain.best)


def test_what_cannot_be_scored_is_a_miss() -> None:
    scores = np.array([np.nan, 1.0, 2.0])
    ranks = rank_hidden_by_scores(
        lambda profiles, owners: np.tile(scores, (len(owners), 1)),
        events_of([(0, 1)], n_items=3),
        Hiding(reachable="all"),
        n_jobs=1,
    )
    assert ranks.rank_loo.tolist() == [MISS, 2]


def test_scores_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"9 profiles and 6 items .* got \(9, 2\)"):
        rank_hidden_by_scores(
            lambda profiles, owners: np.ones((len(owners), 2)), golden_events(), n_jobs=1
        )


def test_coverage_of_whole_profiles_is_refused() -> None:
    with pytest.raises(InputError, match="`lists` must be loo or lloo"):
        rank_hidden_by_scores(
            lambda profiles, _: profiles.toarray(),
            golden_events(),
            Hiding(lists="profile"),
            n_jobs=1,
        )


def test_a_linear_system_of_this_package_ranks_on_either_road() -> None:
    system = LinearItemScorer(golden_events().totals(), similarity())
    slow = rank_hidden_by_scores(system.score_histories, golden_events(), n_jobs=1)
    fast = rank_hidden(similarity(), golden_events(), n_jobs=1)
    np.testing.assert_array_equal(slow.rank_loo, fast.rank_loo)
    np.testing.assert_array_equal(slow.rank_lloo, fast.rank_lloo)


def test_random_scores_find_an_item_as_often_as_chance() -> None:
    rng = np.random.default_rng(1)
    n_items, size, cutoff = 50, 5, 10
    profiles = [rng.choice(n_items, size, replace=False).tolist() for _ in range(1000)]
    events = events_of(profiles, n_items=n_items)
    hiding = Hiding(reachable="all")
    ranks = rank_hidden_by_scores(
        lambda shown, _: rng.random(shown.shape), events, hiding, n_jobs=1
    )
    expected = cutoff / (n_items - size + 1)
    deviation = np.sqrt(expected * (1 - expected) / len(ranks))
    assert abs((ranks.rank_loo <= cutoff).mean() - expected) < 4 * deviation
