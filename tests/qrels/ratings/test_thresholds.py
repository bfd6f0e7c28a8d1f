import numpy as np
import pytest

from qrels import Ratings
from qrels.ratings.statistics import (
    Threshold,
    candidate_thresholds,
    distribution,
    proposed_threshold,
    usual_threshold,
)
from runs import Numbering

USERS, ITEMS = Numbering.of("abc"), Numbering.of("wxyz")


def rated(*rows: tuple[int, float]) -> Ratings:
    """Ratings of users, who rate one item after another."""
    user = np.array([user for user, _ in rows], dtype=np.int32)
    item = np.concatenate([np.arange(n, dtype=np.int32) for n in np.bincount(user)])
    return Ratings(USERS, ITEMS, user, item, np.array([value for _, value in rows]))


@pytest.mark.parametrize(
    ("low", "high", "usual"),
    [(1, 5, 4.0), (0.5, 5, 4.0), (0, 5, 4.0), (1, 10, None), (-5, 5, None), (1, 4, None)],
)
def test_only_scales_that_end_at_5_have_a_usual_threshold(
    low: float, high: float, usual: float | None
) -> None:
    assert usual_threshold(rated((0, low), (0, high))) == usual


def test_fives_alone_are_no_scale() -> None:
    assert usual_threshold(rated((0, 5.0), (1, 5.0))) is None


def test_users_without_ratings_do_not_count() -> None:
    effect = Threshold.over(rated((0, 1.0), (0, 9.0), (2, 9.0)), 9.0)
    assert (effect.without_relevant, effect.without_nonrelevant) == (0.0, 0.5)


def test_the_threshold_that_leaves_fewest_users_without_a_kind_is_proposed() -> None:
    tested = rated((0, 3.0), (0, 7.0), (1, 6.0), (1, 9.0))
    assert proposed_threshold(tested, (9.0, 7.0, 6.0)) == 7.0


def test_the_lowest_rating_is_no_candidate() -> None:
    assert candidate_thresholds(np.array([1.0] * 6 + [2.0, 3.0])) == (2.0,)


def test_few_ratings_are_counted_and_many_are_quartered() -> None:
    assert distribution(np.array([-1.0, 1.0])) == "-1 (50 %), 1 (50 %)"
    assert distribution(np.arange(12.0)).startswith("from 0 to 11; a quarter up to 2.75, ")
