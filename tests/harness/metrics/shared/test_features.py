"""Directions and categories of items, and the loops over them, against plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.metrics.shared import features
from harness.metrics.shared.features_loop import _best_place, count_greedily
from qrels import Catalogue, Judged, Qrels, judge
from runs import InputError, Run
from tests.lists import random_case

HAS = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 1, 1.0]])
SHIRTS = Catalogue(5, features=HAS)
LISTS = [[1, 0, 4, 2, 3], [3, 2, -1, -1, -1]]


@pytest.fixture
def judged() -> Judged:
    """The first user likes items 0, 1 and 4 and not item 2, the second likes 2 and 3."""
    run = Run("s", np.array(LISTS, dtype=np.int32))
    qrels = Qrels(
        np.array([0, 4, 6]),
        np.array([0, 1, 2, 4, 2, 3], dtype=np.int32),
        np.array([1, 1, 0, 1, 1, 1], dtype=np.int32),
        relevance_level=1,
    )
    return judge(run, qrels, SHIRTS)


def test_directions_have_length_1_and_nothing_points_nowhere() -> None:
    found = features.directions(Catalogue(3, features=np.array([[3.0, 4.0], [0, 0], [-2, 0]])))
    assert found.tolist() == [[0.6, 0.8], [0, 0], [-1, 0], [0, 0]]


def test_categories_are_0_or_1_and_no_item_has_none() -> None:
    assert features.categories(SHIRTS).tolist() == [*HAS.tolist(), [0, 0, 0]]


@pytest.mark.parametrize(("names", "said"), [(("red", "blue"), "'blue'"), ((), "1")])
def test_features_that_are_no_categories_are_refused_with_the_first_of_them(
    names: tuple[str, ...], said: str
) -> None:
    others = np.array([[1.0, 0.0], [1.0, 0.25], [-3.0, 1.0]])
    with pytest.raises(InputError, match=rf"0 or 1: {said} is 0\.25 of an item; name columns"):
        features.categories(Catalogue(3, features=others, feature_names=names))


def test_a_category_gains_less_each_time_it_comes_again(judged: Judged) -> None:
    # Ranked: {red, blue}, {red}, {red, blue, green}, then an item that is not relevant, and one
    # without a category.
    first: list[float] = [1 + 1, 0.75, 0.75**2 + 0.75 + 1, 0, 0]
    second: list[float] = [0, 1, 0, 0, 0]
    np.testing.assert_allclose(features.new_aspects(judged, alpha=0.25), [first, second])


def test_the_greedy_list_takes_first_what_earns_most(judged: Judged) -> None:
    # Of all three categories, then red and blue again, then red.
    first: list[float] = [3, 0.5 + 0.5, 0.25, 0]
    np.testing.assert_allclose(features.greedy_aspects(judged, alpha=0.5), [first, [1.0, 0, 0, 0]])


def test_the_categories_of_relevant_items_count_wherever_they_are(judged: Judged) -> None:
    assert features.n_aspects(judged).tolist() == [3, 1]


def test_cosines_add_up_over_the_items_above(judged: Judged) -> None:
    root = math.sqrt
    first: list[float] = [
        0,
        1 / root(2),
        1 / root(3) + 2 / root(6),
        1 / root(3) + 1 / root(2),  # to item 0 it is at a right angle
        0,
    ]
    np.testing.assert_allclose(features.similarities(judged), [first, [0.0] * 5], atol=1e-15)


def mean_distances_by_hand(
    items: list[int], values: list[float], weights: list[float], length: int
) -> float:
    directions = features.directions(SHIRTS)
    total = 0.0
    for k in range(length):
        norm = found = 0.0
        for m in range(length):
            if m == k or not values[m] > 0:
                continue
            weight = values[m] * weights[m - k - 1 if m > k else 0]
            norm += weight
            found += weight * (1 - float(directions[items[k]] @ directions[items[m]]))
        if values[k] > 0 and norm > 0:
            total += weights[k] * values[k] * found / norm
    return total


def test_distances_from_the_others_are_weighed_from_each_item_on(judged: Judged) -> None:
    values = np.array([[0.5, 0.25, 0.0, 1.0, 0.75], [1.0, 0.3, 0.0, 0.0, 0.0]])
    weights = np.array([1.0, 0.7, 0.4, 0.2, 0.1])
    found = features.mean_distances(judged, values=values, weights=weights)
    expected = [
        [mean_distances_by_hand(items, worth, weights.tolist(), length) for length in range(1, 6)]
        for items, worth in zip(LISTS, values.tolist(), strict=True)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def numbered(has: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], int]:
    items, numbers = np.nonzero(has)
    return np.searchsorted(items, np.arange(len(has) + 1)), numbers, has.shape[1]


def greedy_by_hand(items: list[int], alpha: float, decimals: int) -> list[float]:
    left, gains = list(items), []
    times = [0] * HAS.shape[1]
    while left:
        earned = {
            item: sum((1 - alpha) ** times[c] for c in np.flatnonzero(HAS[item])) for item in left
        }
        best = max(left, key=lambda item: (round(earned[item], decimals), item))
        gains.append(float(earned[best]))
        left.remove(best)
        for c in np.flatnonzero(HAS[best]):
            times[c] += 1
    return gains


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1]])
def test_greedy_lists_are_found_one_item_after_the_other(alpha: float, order: list[int]) -> None:
    items = np.array([order], dtype=np.int32).T
    counts = np.ones_like(items, dtype=bool)
    found = count_greedily(items, counts, numbered(HAS), alpha, features.DECIMALS)
    np.testing.assert_allclose(found[:, 0], greedy_by_hand(order, alpha, features.DECIMALS))


@pytest.mark.parametrize(
    ("left", "best"),
    [([0.1, 0.2, 0.3], 1), ([0.1, 0.2 + 1e-13, 0.3], 1), ([0.1, 0.2 + 1e-11, 0.3], 0)],
)
def test_gains_that_agree_to_12_decimals_are_alike(left: list[float], best: int) -> None:
    """Item 0 earns two categories, item 1 the third, which comes to the same but for rounding."""
    _, numbers, _ = numbered(np.array([[1, 1, 0], [0, 0, 1.0]]))
    for items in ([0, 1], [1, 0]):
        numbers_of = np.array(items, dtype=np.int32), np.array([0, 2, 3]), numbers
        place = _best_place(*numbers_of, np.array(left), features.DECIMALS)
        assert items[place] == best


@pytest.mark.parametrize("seed", [1, 2])
def test_loops_say_the_same_of_lists_at_random(seed: int) -> None:
    run, qrels = random_case(seed, n_users=12, n_items=5, depth=4, n_judged=4)
    judged = judge(run, qrels, SHIRTS)
    gains, cosines = features.new_aspects(judged, alpha=0.3), features.similarities(judged)
    toward = features.directions(SHIRTS)
    for user, row in enumerate(run.items.tolist()):
        times = np.zeros(3)
        for rank, item in enumerate(row):
            relevant = bool(judged.relevant[user, rank])
            assert gains[user, rank] == pytest.approx(relevant * (HAS[item] @ 0.7**times))
            times += relevant * HAS[item]
            above = sum(float(toward[item] @ toward[other]) for other in row[:rank])
            assert cosines[user, rank] == pytest.approx(above)
