from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from analyses.design import TAIL, Design, Settings, design
from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import ScoresWork
from analyses.significance.power import needed_users
from runs import InputError

QUICK = {"replicates": 20}
N_USERS = 60


def scores_of(values: np.ndarray) -> Scores:
    measures = Measures(Measure(f"m{number}", 5) for number in range(len(values)))
    systems = tuple(f"s{number}" for number in range(values.shape[1]))
    return Scores(values, measures, systems, np.arange(values.shape[2]).astype(np.str_))


def designed(values: np.ndarray, **settings: Any) -> Design:
    return design(ScoresWork(scores_of(values), seed=3), Settings(**QUICK | settings))


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    """Five systems by a sharp measure and a blunt one, with three times the noise."""
    rng = np.random.default_rng(8)
    noise = rng.normal(size=(2, 5, N_USERS)) * np.array([0.1, 0.3])[:, None, None]
    return 0.5 + 0.05 * np.arange(5)[:, None] + noise


@pytest.fixture(scope="module")
def found(values: np.ndarray) -> Design:
    return designed(values)


def test_a_measure_with_three_times_the_noise_needs_about_nine_times_the_users(
    found: Design,
) -> None:
    ratio, low, high = found.ratio(1, 0)
    assert low < 9 < high
    assert ratio == found.needed[1] / found.needed[0]


def test_measures_that_differ_by_chance_alone_seldom_differ_beyond_noise() -> None:
    rng = np.random.default_rng(2)
    beyond = []
    for _ in range(20):
        alike = 0.1 * rng.normal(size=(6, 1)) + rng.normal(size=(5, 6, 100))
        found = designed(alike, replicates=100)
        fewest, most = int(found.needed.argmin()), int(found.needed.argmax())
        beyond.append(found.ratio(most, fewest)[1] > 1)
    assert sum(beyond) <= 3


def test_all_ratios_are_within_their_intervals_in_as_many_replicates_as_stated() -> None:
    rng = np.random.default_rng(4)
    found = designed(0.5 * rng.normal(size=(6, 1)) + rng.normal(size=(4, 6, 100)))
    found = replace(found, replicates=np.exp(rng.normal(size=(4, 4000))))
    inside = np.ones(4000, dtype=bool)
    for more, fewer in combinations(range(4), 2):
        ratios = found.replicates[more] / found.replicates[fewer]
        _, low, high = found.ratio(more, fewer)
        inside &= (low <= ratios) & (ratios <= high)
    assert inside.mean() == pytest.approx(1 - 2 * TAIL, abs=0.003)


def test_a_measure_that_may_never_reach_the_share_needs_any_multiple(found: Design) -> None:
    replicates = found.replicates.copy()
    replicates[1, :5] = np.inf
    _, low, high = replace(found, replicates=replicates).ratio(1, 0)
    assert 1 < low < 9
    assert np.isinf(high)


def test_no_number_may_be_enough_for_systems_of_which_half_are_equal() -> None:
    rng = np.random.default_rng(6)
    unlimited = []
    for _ in range(20):
        means = np.where(np.arange(12) < 7, 0.0, rng.normal(0, 0.3, 12))
        found = designed(means[:, None] + rng.normal(size=(1, 12, 100)), replicates=100)
        unlimited.append(bool(np.isinf(found.interval[1]).all()))
        assert ("(∞)" in "".join(found.cautions())) == unlimited[-1]
    assert sum(unlimited) >= 17


def test_users_of_a_pair_are_those_of_its_standardised_difference(
    found: Design, values: np.ndarray
) -> None:
    d = values[0, 0] - values[0, 1]
    effect = np.abs(d.mean()) / d.std(ddof=1)
    (users,) = needed_users(np.array([effect]), alpha=0.05, power=0.8)
    assert found.observed[0, 0] == users
    (users,) = needed_users(
        0.05 * values[:1].mean() / d.std(ddof=1, keepdims=True), alpha=0.05, power=0.8
    )
    assert found.relative[0, 0] == users


def test_pairs_that_are_alike_by_every_measure_are_left_out(values: np.ndarray) -> None:
    doubled = np.concatenate([values, values[:, :1]], axis=1)
    assert len(designed(doubled).pairs) == 15 - 1


def test_systems_that_never_differ_are_never_told_apart() -> None:
    nothing = designed(np.full((2, 3, 10), 0.5))
    assert np.isinf(nothing.needed).all()


def test_standardised_scores_know_no_scale_of_a_user(values: np.ndarray) -> None:
    scales = np.random.default_rng(1).integers(1, 9, size=N_USERS)
    one, other = (designed(v, standardised="normal") for v in (values, values * scales))
    assert one.needed.tolist() == other.needed.tolist()
    assert one.needed.tolist() != designed(values).needed.tolist()


def test_few_users_who_differ_give_no_interval(values: np.ndarray) -> None:
    seldom = np.where(np.arange(N_USERS) < 9, values, 0.5)
    found = designed(np.stack([values[0], seldom[0]]))
    assert np.isnan(found.interval[0]).tolist() == [False, True]
    assert np.isnan(found.ratio(1, 0)[1:]).all()
    assert any(each.startswith("By m1@5, fewer than 10 users") for each in found.cautions())


def test_a_pilot_has_two_systems_and_three_users() -> None:
    with pytest.raises(InputError, match="two systems and three users, got 2 and 2"):
        designed(np.ones((1, 2, 2)))
