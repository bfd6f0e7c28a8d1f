"""Weights of hidden items."""

from typing import Any

import numpy as np
import pytest

from analyses.recall.stratification import Stratification, item_weights, popularity_counts
from runs import InputError
from tests.hidden_example import events_of


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"weights": "micro"}, "`weights` must be uniform or stratified, got 'micro'"),
        ({"first_item": "hit"}, "`first_item` must be miss or skip"),
        ({"smoothing": "none"}, "`smoothing` must be add-one or drop"),
        ({"metric": "AP"}, "`metric` must be Recall or RR or nDCG"),
        ({"clip": 0.0}, r"`clip` must be above 0, got 0\.0"),
        ({"min_items": 0}, "`min_items` must be at least 1, got 0"),
    ],
)
def test_what_is_no_choice_is_refused(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Stratification(**choices)


def test_a_weight_is_one_over_the_popularity_with_exponent_1() -> None:
    weights = item_weights(np.array([4, 3, 2, 1, 1, 0]), beta=1, stratification=Stratification())
    np.testing.assert_allclose(weights, 17 / np.array([5, 4, 3, 2, 2, 1]))


def test_an_item_never_seen_weighs_nothing_without_smoothing() -> None:
    dropping = Stratification(smoothing="drop")
    weights = item_weights(np.array([3, 1, 0]), beta=1, stratification=dropping)
    np.testing.assert_allclose(weights, [4 / 3, 4, 0])


def test_no_weight_is_above_the_clip() -> None:
    clipping = Stratification(clip=3.0)
    weights = item_weights(np.array([3, 1, 0]), beta=1, stratification=clipping)
    np.testing.assert_allclose(weights, [7 / 4, 3, 3])


def test_popularity_is_of_events_or_of_users() -> None:
    train = events_of([(0, 0, 1), (0,)], n_items=3)
    assert popularity_counts(train).tolist() == [3, 1, 0]
    assert popularity_counts(train, of="users").tolist() == [2, 1, 0]
