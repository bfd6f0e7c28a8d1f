from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.exposure import (
    ASPECTS,
    Exposure,
    Settings,
    exposure,
    gini,
    popularity_groups,
    shannon_entropy,
)
from analyses.shared.analysis import SettingError, StudyFacts
from analyses.shared.measure import Measure, Measures
from qrels import qrels_from_columns
from tests.analyses.blocks import sums_of
from tests.analyses.made import JudgedWork

COUNTS = np.array([4, 2, 1, 1])
LISTS = {
    "spread": np.array([[0, 1], [2, 3]], dtype=np.int32),
    "one": np.array([[0, -1], [0, -1]], dtype=np.int32),
}

counts = st.lists(st.integers(0, 5), min_size=2, max_size=6).filter(any)


@sums_of
def unscored(kept: np.ndarray) -> np.ndarray:
    raise AssertionError("nothing is scored anew")


def study(**settings: Any) -> Exposure:
    """Two users: items 0 and 2 are relevant to the first, item 0 to the second."""
    qrels = qrels_from_columns(
        np.array([0, 0, 1, 1]),
        np.array([0, 2, 0, 3]),
        np.array([1, 1, 1, 0]),
        n_users=2,
        relevance_level=1,
    )
    work = JudgedWork(
        unscored,
        qrels,
        Measures([Measure("P", 1), Measure("P", 2)]),
        n_systems=2,
        popularity_counts={"train": COUNTS},
        recommended=LISTS,
    )
    return exposure(work, Settings(**({"groups": 2, "replicates": 0} | settings)))


def test_the_aspects_are_those_found_by_hand() -> None:
    # At 1 "spread" shows items 0 and 2 once each, of four; at 2 all four. Of the popular item 0,
    # half of the hits are found; of the rare item 2, none.
    assert dict(zip(ASPECTS, study().values[:, :, 0].tolist(), strict=True)) == {
        "coverage": [0.5, 1.0],
        "Gini index": [0.5, 0.0],
        "Shannon entropy": [1.0, 2.0],
        "PopREO": [1.0, 1.0],
    }


def test_no_interval_of_exposure_goes_below_0() -> None:
    found = replace(study(), replicates=np.tile([0.0, 3.0], (4, 2, 2, 10)))
    assert found.frames()["exposure"]["low"].min() == 0


@given(counts=counts)
def test_the_gini_index_is_half_the_relative_mean_difference(counts: list[int]) -> None:
    pairs = [abs(a - b) for a in counts for b in counts]
    expected = sum(pairs) / (2 * len(counts) * sum(counts))
    assert gini(np.array(counts, dtype=np.float64)) == pytest.approx(expected)


@given(counts=counts)
def test_entropy_is_the_mean_surprise(counts: list[int]) -> None:
    shares = [count / sum(counts) for count in counts if count]
    expected = -sum(share * np.log2(share) for share in shares)
    assert shannon_entropy(np.array(counts, dtype=np.float64)) == pytest.approx(expected)


def test_groups_have_equally_many_ratings() -> None:
    # In a row 1, 2, 3, 4, 5, 9 have their middles at .5, 2, 4.5, 8, 12.5 and 19.5; thirds end at 8
    # and 16.
    ratings = np.array([1, 9, 2, 4, 3, 5])
    groups = popularity_groups(ratings, 3)
    assert np.bincount(groups, ratings).tolist() == [6, 9, 9]
    assert groups[np.argsort(ratings)].tolist() == sorted(groups)


def test_systems_are_compared_over_the_same_users() -> None:
    found = study(replicates=20)
    (row,) = (
        found.frames()["exposure_differences"]
        .query("aspect == 'coverage' and cutoff == 1")[["system_a", "system_b", "difference"]]
        .values.tolist()
    )
    assert row == ["spread", "one", 0.25]


def test_a_cutoff_beyond_the_metrics_is_refused_before_any_work() -> None:
    measures = Measures([Measure("P", 5)])
    given = StudyFacts(("a", "b"), measures, has_training=True, best_ranks=lambda: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(SettingError, match="not be deeper than those of the metrics, 5, got 6"):
        Settings(cutoffs=(6, 1)).check(given)
