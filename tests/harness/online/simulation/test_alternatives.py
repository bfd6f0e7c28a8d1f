import numpy as np
import pytest

from analyses.online.clicks.off_policy import off_policy
from analyses.online.logs.slates import Slates
from harness.online.simulation import (
    Arm,
    Lottery,
    SimulatedExperiment,
    SimulationSettings,
    lists_of_arm,
    simulate,
)
from runs import InputError
from tests.harness.online.simulation.worlds import MANY, small_experiment, small_world

WORLD = small_world(n_users=1500, n_items=120, most_events=40)


@pytest.fixture(scope="module")
def logged() -> SimulatedExperiment:
    arms = [Arm("logging", Lottery(), weight=20.0), Arm("many", MANY)]
    settings = SimulationSettings(periods=2, visits=4.0, odds_daily=0.0, odds_weekly=0.0)
    return simulate(WORLD, arms, settings)


def of_arm(experiment: SimulatedExperiment, arm: str) -> Slates:
    return experiment.slates.select(np.array(experiment.arms)[experiment.slates.arm] == arm)


@pytest.mark.slow
def test_an_arms_lists_for_its_own_users_are_those_that_it_showed() -> None:
    experiment = small_experiment()
    slates = of_arm(experiment, "many")
    assert np.array_equal(lists_of_arm(experiment, "many", slates), slates.item)


@pytest.mark.slow
def test_expected_clicks_are_found_from_the_log_of_another_policy(
    logged: SimulatedExperiment,
) -> None:
    slates = of_arm(logged, "logging")
    shown = lists_of_arm(logged, "many", slates)
    found = off_policy(slates, shown)
    lists = shown.reshape(-1, 5)
    expected = WORLD.click_chance(slates.user, lists).sum(axis=1).mean()
    assert abs(found.values[0] - expected) < 4 * found.errors[0]
    assert found.errors[0] < expected / 3


def test_an_arm_that_draws_its_lists_has_no_alternatives(logged: SimulatedExperiment) -> None:
    with pytest.raises(InputError, match="'logging' draws its lists"):
        lists_of_arm(logged, "logging", logged.slates)


def test_unknown_arms_are_refused(logged: SimulatedExperiment) -> None:
    with pytest.raises(InputError, match="no arm 'none'; there are logging, many"):
        lists_of_arm(logged, "none", logged.slates)
