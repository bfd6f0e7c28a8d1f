import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyses.measure import Measure
from analyses.popularity import keep_least_popular, popularity
from qrels import Qrels, qrels_from_columns

COUNTS = np.array([9, 1, 5, 5])


def judgements() -> Qrels:
    """Two users judged all four items; items 0 and 2 are relevant."""
    users, items = np.divmod(np.arange(8), 4)
    grades = np.array([5, 1, 5, 1] * 2)
    return qrels_from_columns(users, items, grades, n_users=2, relevance_level=4)


def score_samples(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """System a finds item 0, system b item 2, for both users."""
    by_item = kept.reshape(2, 4, -1).sum(axis=0)
    return np.stack([2 * by_item[0], by_item[2]]).astype(float)[None]


def test_the_most_popular_items_are_lost_first() -> None:
    kept = keep_least_popular(judgements(), COUNTS, levels=[1.0, 0.75, 0.5, 0.25])
    assert kept[:4].T.tolist() == [
        [True, True, True, True],
        [False, True, True, True],
        [False, True, True, False],
        [False, True, False, False],
    ]


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_levels_are_nested(counts: list[int]) -> None:
    kept = keep_least_popular(judgements(), np.array(counts), levels=[1.0, 0.7, 0.4, 0.1])
    assert (kept[:, 1:] <= kept[:, :-1]).all()


def test_the_order_turns_when_the_popular_item_is_lost() -> None:
    result = popularity(
        score_samples,
        judgements(),
        measures=[Measure("P", 5)],
        levels=[1.0, 0.75, 0.25],
        counts=COUNTS,
        counted_in="train",
    )
    np.testing.assert_array_equal(result.taus[0, :2], [1.0, -1.0])
    assert result.n_kept.tolist() == [8, 6, 2]


def test_a_level_without_relevant_judgements_is_empty() -> None:
    result = popularity(
        score_samples,
        judgements(),
        measures=[Measure("P", 5)],
        levels=[0.25],
        counts=COUNTS,
        counted_in="test",
    )
    assert np.isnan(result.taus).all()


@pytest.mark.parametrize("counted_in", ["train", "test", "all"])
def test_the_setting_is_printed(counted_in: str) -> None:
    result = popularity(
        score_samples,
        judgements(),
        measures=[Measure("P", 5)],
        levels=[1.0, 0.5],
        counts=COUNTS,
        counted_in=counted_in,  # type: ignore[arg-type]
    )
    frame = result.to_frame()
    assert list(frame.columns[:4]) == ["metric", "cutoff", "level", "tau"]
    assert (frame.popularity == counted_in).all()
    assert {"train": "training ratings", "test": "judgements", "all": "ratings"}[
        counted_in
    ] in result.caption()
