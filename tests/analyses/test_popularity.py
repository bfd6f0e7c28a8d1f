from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyses.popularity import Popularity, Settings, keep_items, popularity
from analyses.shared.measure import Measure, Measures
from qrels import Qrels, qrels_from_columns
from tests.analyses.blocks import sums_of
from tests.analyses.made import JudgedWork, unrelated

COUNTS = np.array([9, 1, 5, 5])
LEVELS = [1.0, 0.75, 0.5, 0.25]

counts = st.lists(st.integers(0, 3), min_size=4, max_size=4).map(np.array)


def judgements() -> Qrels:
    """Two users judged all four items; items 0 and 2 are relevant."""
    users, items = np.divmod(np.arange(8), 4)
    grades = np.array([5, 1, 5, 1] * 2)
    return qrels_from_columns(users, items, grades, n_users=2, relevance_level=4)


@sums_of
def sum_samples(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """System a finds item 0, system b item 2, for both users."""
    by_user = kept.reshape(2, 4, -1)
    return np.stack([2.0 * by_user[:, 0], 1.0 * by_user[:, 2]])[None]


def work_of(counts: NDArray[np.intp] = COUNTS) -> JudgedWork:
    """Let a recommend item 0 first, then 1; b item 2, then 3."""
    return JudgedWork(
        sum_samples,
        judgements(),
        Measures([Measure("P", 5)]),
        n_systems=2,
        popularity_counts={"train": counts, "test": counts, "all": counts},
        recommended={
            "0": np.tile(np.array([0, 1], np.int32), (2, 1)),
            "1": np.tile(np.array([2, 3], np.int32), (2, 1)),
        },
    )


def study(*, counts: NDArray[np.intp] = COUNTS, **changes: Any) -> Popularity:
    settings: dict[str, Any] = {"levels": (1.0, 0.75, 0.25), "replicates": 0}
    return popularity(work_of(counts), Settings(**(settings | changes)))


def test_the_most_popular_items_are_lost_first() -> None:
    kept = keep_items(judgements(), COUNTS, levels=LEVELS)
    assert kept[:4].T.tolist() == [
        [True, True, True, True],
        [False, True, True, True],
        [False, True, True, False],
        [False, True, False, False],
    ]


def test_the_share_of_items_that_is_kept_is_rounded() -> None:
    """.29 times 100 is a little less than 29."""
    qrels = qrels_from_columns(
        np.zeros(100, int), np.arange(100), np.ones(100, int), n_users=1, relevance_level=1
    )
    assert keep_items(qrels, np.arange(100), levels=[0.29, 0.57]).sum(axis=0).tolist() == [29, 57]


def test_the_head_that_has_the_ratings_is_lost() -> None:
    # Of 20 ratings items 0, 3, 2, 1 have 9, 5, 5, 1.
    kept = keep_items(judgements(), COUNTS, levels=[1.0, 0.99, 0.55, 0.54, 0.05], cut="ratings")
    assert kept[:4].T.tolist() == [
        [True, True, True, True],
        [False, True, True, True],
        [False, True, True, True],
        [False, True, True, False],
        [False, True, False, False],
    ]


@given(counts=counts)
def test_the_control_keeps_the_complement(counts: NDArray[np.int64]) -> None:
    least = keep_items(judgements(), counts, levels=LEVELS)
    most = keep_items(judgements(), counts, levels=LEVELS, removed="least popular")
    np.testing.assert_array_equal(most[:, 1:], ~least[:, :0:-1])


@given(counts=counts.filter(np.any), level=st.floats(0.01, 1.0))
def test_no_more_items_are_lost_than_their_ratings_ask_for(
    counts: NDArray[np.int64], level: float
) -> None:
    kept = keep_items(judgements(), counts, levels=[level], cut="ratings")[:4, 0]
    lost = np.sort(counts[~kept])
    assert lost.sum() >= (1 - level) * counts.sum() - 1e-6
    assert lost[1:].sum() <= (1 - level) * counts.sum()


def test_the_order_turns_when_the_popular_item_is_lost() -> None:
    result = study()
    np.testing.assert_array_equal(result.chosen.taus[0, :2], [1.0, -1.0])
    assert result.chosen.n_kept.tolist() == [8, 6, 2]


def test_the_order_stays_when_the_least_popular_items_are_lost() -> None:
    result = study(levels=(0.75, 0.5, 0.25))
    (control,) = (
        check
        for check in result.checks
        if (check.cut, check.removed, check.counted_in) == ("items", "least popular", "train")
    )
    np.testing.assert_array_equal(control.taus[0], [1.0, 1.0, 1.0])


def test_a_level_without_relevant_judgements_is_empty() -> None:
    result = study(levels=(0.25,), replicates=5)
    assert np.isnan(result.chosen.taus).all()
    assert np.isnan(result.chosen.replicates).all()
    assert np.isnan([*result.chosen.coefficients.values()]).all()


def test_every_other_choice_is_checked() -> None:
    frame = study().frames()["popularity_checks"]
    assert len(frame.groupby(["cut", "removed", "counted_in"])) == 2 * 2 * 3 - 1


def test_equally_popular_items_go_in_random_orders() -> None:
    # Without item 0 the order turns, without item 2 it stays; both have five ratings.
    result = study(counts=np.array([5, 1, 5, 1]), levels=(1.0, 0.75), orders=200).chosen
    assert abs(result.taus[0, 1]) < 4 / np.sqrt(200)
    np.testing.assert_allclose(result.deviations[0], [0.0, 1.0], atol=0.05)


def test_areas_within_subsets_are_those_of_a_study_of_these_systems_alone() -> None:
    shares = np.random.default_rng(3).random((9, 4))
    counts = np.array([5, 9, 5, 5])

    def study_of(some: NDArray[np.intp]) -> Popularity:
        @sums_of
        def sum_samples(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
            return np.einsum("si,uik->suk", shares[some], kept.reshape(2, 4, -1))[None]

        work = replace(work_of(counts), sum_samples=sum_samples, n_systems=len(some), seed=7)
        levels = (1.0, 0.75, 0.5)
        return popularity(work, Settings(levels=levels, replicates=0, orders=3))

    found, subsets = study_of(np.arange(9)), unrelated(9).subsets(seed=7)
    assert found.chosen.within.values.shape == (1, len(subsets))
    assert all(check.within.values.shape == (1, 0) for check in found.checks)
    for number in (0, 57, 199):
        alone = study_of(np.flatnonzero(subsets[number])).estimates().values
        np.testing.assert_allclose(found.chosen.within.values[:, number], alone, rtol=1e-12)
