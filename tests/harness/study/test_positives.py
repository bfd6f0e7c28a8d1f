"""Systems that learn from positive ratings alone."""

from pathlib import Path

import numpy as np
import pytest

from harness.study.workers import RUN, train_and_rank
from qrels import Ratings
from runs import InputError, Numbering
from tests.harness.small import METRICS, SYSTEMS, WORLD, run_text

RATINGS = 'name = "x"\n[ratings]\npath = "ratings.csv"\n'


def ranked(ratings: Ratings, *, positives: float | None) -> list[list[int]]:
    trained = train_and_rank(
        "popularity",
        {},
        ratings,
        np.array([0], dtype=np.int32),
        seed=1,
        depth=4,
        candidates=None,
        positives=positives,
    )
    return trained[RUN].value.items.tolist()


@pytest.fixture
def ratings() -> Ratings:
    """The first user rates item 0 low; others rate 1 low and often, 2 high, 3 low once."""
    user, item = np.array([[0, 1, 1, 2, 2, 3, 3], [0, 1, 2, 1, 3, 1, 2]], dtype=np.int32)
    rating = np.array([1.0, 2.0, 5.0, 2.0, 1.0, 2.0, 5.0])
    ids = Numbering.of(["a", "b", "c", "d"])
    return Ratings(ids, ids, user, item, rating)


def test_what_is_rated_low_is_not_learnt_and_no_candidate_for_who_rated_it(
    ratings: Ratings,
) -> None:
    assert ranked(ratings, positives=None) == [[1, 2, 3, -1]]
    assert ranked(ratings, positives=4.0) == [[2, 1, 3, -1]]


@pytest.mark.parametrize(
    ("positives", "sentence"),
    [
        ("[systems.positives]\nsvd = 4.0\n", "line 19: the study has no system 'svd' to set."),
        ("[systems.positives]\npuresvd = 6\n", "no training rating reaches 6: puresvd cannot"),
        ("[systems.positives]\npuresvd = nan\n", "no training rating reaches nan"),
    ],
)
def test_positives_that_cannot_be_are_answered(
    tmp_path: Path, positives: str, sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        run_text(WORLD + SYSTEMS + positives + METRICS, tmp_path, output=tmp_path / "study")
    assert sentence in str(caught.value)
