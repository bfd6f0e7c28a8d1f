"""Off-policy estimates against the definitions of Open Bandit Pipeline, written out, and truths."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyses.online.clicks.off_policy import OffPolicy, Target, off_policy
from analyses.online.logs.slates import Slates
from runs import InputError, Numbering

Floats = NDArray[np.float64]
N_ITEMS = 6


def simulated(seed: int, *, n_slates: int = 60, depth: int = 3) -> tuple[Slates, NDArray[np.int32]]:
    """Uniform logs of users with tastes of their own; the target shows items 0, 1, 2 in order."""
    rng = np.random.default_rng(seed)
    items = np.array([rng.permutation(N_ITEMS)[:depth] for _ in range(n_slates)])
    user = np.sort(rng.integers(0, max(n_slates // 4, 2), n_slates)).astype(np.int32)
    keen = rng.beta(2, 2, user.max() + 1)[user]
    clicked = rng.random(items.shape) < keen[:, None] * attraction(items, np.arange(depth))
    slates = Slates(
        Numbering.of(np.arange(1000).astype(np.str_)),
        ("log",),
        user,
        np.zeros(n_slates, dtype=np.int32),
        np.zeros(n_slates, dtype=np.int64),
        items=Numbering.of([str(item) for item in range(N_ITEMS)]),
        ids=np.arange(n_slates).astype(np.str_),
        first=np.arange(n_slates + 1) * depth,
        item=items.ravel().astype(np.int32),
        clicked=clicked.ravel(),
        propensity=np.full(items.size, 1 / N_ITEMS),
    )
    return slates, np.tile(np.arange(depth), n_slates).astype(np.int32)


def attraction(items: NDArray[np.integer], columns: NDArray[np.integer]) -> Floats:
    """Chance of a click of the keenest user."""
    return 0.9 / (1 + items) / (1 + columns)


TRUTH = 0.5 * attraction(np.arange(3), np.arange(3)).sum()


def as_bandit(seed: int) -> tuple[Slates, NDArray[np.int32], Floats, Floats]:
    """Lists of one place: log, target, importance weights, rewards."""
    slates, shown = simulated(seed, depth=1)
    assert slates.propensity is not None
    assert slates.clicked is not None
    weights = (slates.item == shown) / slates.propensity
    return slates, shown, weights, slates.clicked.astype(np.float64)


def value(found: OffPolicy, estimator: str) -> float:
    return float(found.values[found.estimators.index(estimator)])


@given(st.integers(0, 50))
def test_ips_is_slate_independent_ips(seed: int) -> None:
    slates, shown = simulated(seed)
    assert slates.propensity is not None
    assert slates.clicked is not None
    reward, behaviour = slates.clicked, slates.propensity
    evaluation = (slates.item == shown).astype(np.float64)
    expected = (reward * evaluation / behaviour).sum() / len(np.unique(slates.slate))
    np.testing.assert_allclose(value(off_policy(slates, shown), "IPS"), expected)


@given(st.integers(0, 50))
def test_of_one_place_snips_is_self_normalized_inverse_probability_weighting(seed: int) -> None:
    slates, shown, weights, reward = as_bandit(seed)
    expected = (reward * weights / weights.mean()).mean()
    np.testing.assert_allclose(value(off_policy(slates, shown), "SNIPS"), expected)


@given(st.integers(0, 50))
def test_of_one_place_dr_is_doubly_robust(seed: int) -> None:
    slates, shown, weights, reward = as_bandit(seed)
    q = np.random.default_rng(seed).random((2, len(reward)))
    expected = (weights * (reward - q[0]) + q[1]).mean()
    found = off_policy(slates, Target((slates.item == shown).astype(float), *q))
    np.testing.assert_allclose(value(found, "DR"), expected)


@given(st.integers(0, 50))
def test_a_stochastic_target_has_the_estimates_of_open_bandit_pipeline(seed: int) -> None:
    """Of one place a list, with action distributions, written out as obp 0.4 has them."""
    slates, _ = simulated(seed, depth=1)
    assert slates.clicked is not None
    rng = np.random.default_rng(seed)
    reward, action, rounds = slates.clicked, slates.item, np.arange(len(slates))
    pscore = rng.uniform(0.05, 1.0, len(slates))
    action_dist = rng.dirichlet(np.ones(N_ITEMS), len(slates))
    rewards = rng.random((len(slates), N_ITEMS))
    iw = action_dist[rounds, action] / pscore
    baseline = (action_dist * rewards).sum(axis=1)
    expected = {
        "IPS": (reward * iw).mean(),
        "SNIPS": (reward * iw / iw.mean()).mean(),
        "DR": (iw * (reward - rewards[rounds, action]) + baseline).mean(),
    }
    target = Target(action_dist[rounds, action], rewards[rounds, action], baseline)
    found = off_policy(replace(slates, propensity=pscore), target)
    for name, one in expected.items():
        assert value(found, name) == pytest.approx(one, rel=1e-9, abs=1e-12)


def test_a_stochastic_target_by_hand() -> None:
    """Weights 2, 1/2, 0; clicks 1, 0, 1: IPS 2/3, SNIPS 2/2.5, DR with q of 1/2 throughout."""
    log = Slates.of([["a"], ["b"], ["a"]], user=["1", "2", "3"], arm=["A"] * 3, time=[0] * 3)
    clicked, propensity = np.array([True, False, True]), np.array([0.25, 0.5, 1.0])
    half = np.full(3, 0.5)
    found = off_policy(
        replace(log, clicked=clicked, propensity=propensity),
        Target(np.array([0.5, 0.25, 0.0]), half, half),
    )
    assert found.values.tolist() == pytest.approx([2 / 3, 2 / 2.5, (0.5 + 1.0 + 0.25 + 0.5) / 3])
    assert (found.n_matched, found.largest_weight) == (2, 2.0)


@pytest.mark.parametrize("chance", [-0.1, 1.1, np.nan])
def test_a_chance_of_a_target_is_in_0_to_1(chance: float) -> None:
    slates, _ = simulated(3)
    with pytest.raises(InputError, match=r"a chance in \[0, 1\] at each of 180 places"):
        off_policy(slates, Target(np.full(180, chance)))


def test_snips_adds_up_positions() -> None:
    slates, shown = simulated(3)
    assert slates.clicked is not None
    matches = slates.item == shown
    rates = [slates.clicked[matches & (slates.position == k)].mean() for k in (1, 2, 3)]
    np.testing.assert_allclose(value(off_policy(slates, shown), "SNIPS"), sum(rates))


def test_lists_of_different_length_count_where_they_have_a_place() -> None:
    log = Slates.of(
        [["a", "b"], ["a"], ["a"], ["a"]], user=["1", "2", "3", "4"], arm=["A"] * 4, time=[0] * 4
    )
    clicked = np.array([1, 1, 0, 0, 0], dtype=np.bool_)
    log = replace(log, clicked=clicked, propensity=np.ones(5))
    found = off_policy(log, log.item)
    np.testing.assert_allclose(found.values, [0.5, 0.5])


def test_without_a_model_of_anything_dr_is_ips() -> None:
    slates, shown = simulated(3)
    nothing = np.zeros(len(shown))
    found = off_policy(slates, Target((slates.item == shown).astype(float), nothing, nothing))
    assert value(found, "DR") == value(found, "IPS")


def test_the_own_log_gives_its_own_clicks() -> None:
    slates, _ = simulated(3)
    slates = replace(slates, propensity=np.ones(len(slates.item)))
    assert slates.clicked is not None
    found = off_policy(slates, slates.item)
    np.testing.assert_allclose(found.values, slates.clicked.sum() / len(slates))
    assert found.effective_size == len(slates.item)


@pytest.mark.validity
def test_intervals_cover_the_truth() -> None:
    covered, errors = [], []
    for seed in range(100):
        slates, shown = simulated(seed, n_slates=1_500)
        frame = off_policy(slates, shown).to_frame()
        covered.append((frame["low"] <= TRUTH) & (frame["high"] >= TRUTH))
        errors.append(frame["error"].to_numpy())
    # Of 100 intervals of 95 %, fewer than 88 cover with a chance of about 1 in 200.
    assert np.mean(covered, axis=0).min() > 0.875, np.mean(covered, axis=0)
    ips, snips = np.mean(errors, axis=0)
    assert snips < ips


def test_equal_weights_are_worth_their_number() -> None:
    found = off_policy(*simulated(3))
    assert found.effective_size == pytest.approx(found.n_matched)


def test_an_item_without_a_log_is_refused() -> None:
    slates, shown = simulated(3)
    items = Numbering.of([*slates.items.ids.tolist(), "new"])
    shown[4] = len(items) - 1
    with pytest.raises(InputError, match="the target shows 'new', which the log never showed"):
        off_policy(replace(slates, items=items), shown)


def test_a_target_that_matches_nothing_is_refused() -> None:
    log = Slates.of([["a", "b"]], user=["1"], arm=["A"], time=[0])
    log = replace(log, clicked=np.ones(2, dtype=np.bool_), propensity=np.ones(2))
    with pytest.raises(InputError, match="shows nothing that the log showed at the same place"):
        off_policy(log, np.array([1, 0], dtype=np.int32))


def test_a_log_without_propensities_is_refused() -> None:
    slates, shown = simulated(3)
    with pytest.raises(InputError, match="a log with clicks and propensities"):
        off_policy(replace(slates, propensity=None), shown)


def test_a_target_of_another_length_is_refused() -> None:
    slates, shown = simulated(3)
    with pytest.raises(InputError, match="an item at each of 180 places, got 179"):
        off_policy(slates, shown[1:])


def test_the_caption_says_what_estimates_rest_on() -> None:
    found = off_policy(*simulated(3))
    assert f"worth {found.effective_size:,.0f} equally weighted ones" in found.caption()
