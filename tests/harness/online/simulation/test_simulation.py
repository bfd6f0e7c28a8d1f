from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from analyses.online.clicks.checks import stickiness
from analyses.online.clicks.rates import click_through
from analyses.online.clicks.sample_ratio import sample_ratio
from analyses.online.clicks.tallies import tally
from harness.online.simulation.arms import assign
from harness.online.simulation.click_world import MINUTE
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.online.simulation import (
    Arm,
    ItemCosines,
    Model,
    NeighbourModel,
    SimulatedExperiment,
    SimulationSettings,
    interactions_of,
    simulate,
)
from qrels.interactions.held_out_users import draw_test_users
from qrels.interactions.interactions import Interactions
from runs import InputError, Numbering
from tests.harness.online.simulation.worlds import ARMS, FEW, MANY, small_experiment, small_world


@dataclass
class Fixed:
    """Gives everybody the same kind of list, whatever it learns; notes what it learns from."""

    offset: int = 0
    seen: list[Interactions] = field(default_factory=list)

    def fit(self, history: Interactions) -> "Fixed":
        self.seen.append(history)
        return self

    def recommend(self, profiles: csr_array[Any], *, depth: int) -> NDArray[np.int32]:
        """List the items from the offset on that a profile does not hold."""
        n_items = profiles.shape[1]
        unknown = 1 - profiles.toarray()
        order = (np.arange(n_items) + self.offset) % n_items
        return order[np.argsort(-unknown[:, order], axis=1, kind="stable")][:, :depth].astype(
            np.int32
        )


@dataclass(frozen=True)
class Wrong:
    """Gives lists that are wrong."""

    lists: NDArray[np.int32]

    def fit(self, history: Interactions) -> "Wrong":
        return self

    def recommend(self, profiles: csr_array[Any], *, depth: int) -> NDArray[np.int32]:
        return np.tile(self.lists, (profiles.shape[0], 1))


@cache
def experiment() -> SimulatedExperiment:
    return small_experiment()


def columns(experiment: SimulatedExperiment) -> list[NDArray[Any]]:
    slates, events, truth = experiment.slates, experiment.events, experiment.truth
    assert slates.clicked is not None
    shown: list[NDArray[Any]] = [slates.user, slates.arm, slates.time, slates.item]
    done: list[NDArray[Any]] = [events.user, events.item, events.time, events.type]
    clicks: list[NDArray[Any]] = [slates.clicked, experiment.clicked_slates]
    return [*shown, *done, *clicks, experiment.chances, truth.users, truth.expected]


def clicked(experiment: SimulatedExperiment) -> NDArray[np.bool_]:
    assert experiment.slates.clicked is not None
    return experiment.slates.clicked


def same(first: SimulatedExperiment, second: SimulatedExperiment) -> bool:
    pairs = zip(columns(first), columns(second), strict=True)
    return all(np.array_equal(*pair, equal_nan=True) for pair in pairs)


@pytest.mark.slow
def test_workers_change_nothing() -> None:
    settings = SimulationSettings(periods=2)
    alone, together = (
        simulate(small_world(n_users=100), ARMS, settings, n_jobs=n_jobs) for n_jobs in (1, 3)
    )
    assert same(alone, together)


@pytest.mark.slow
def test_the_order_of_the_arms_changes_nothing() -> None:
    settings = SimulationSettings(periods=2)
    first, second = (
        simulate(small_world(n_users=100), arms, settings) for arms in (ARMS, ARMS[::-1])
    )
    assert same(first, second)


@pytest.mark.slow
def test_clicks_are_draws_from_their_chances() -> None:
    chances, found = experiment().chances, clicked(experiment())
    error = np.sqrt((chances * (1 - chances)).sum())
    assert abs(found.sum() - chances.sum()) < 4 * error


@pytest.mark.slow
def test_rates_of_what_was_shown_are_estimated_by_those_of_clicks() -> None:
    found = small_experiment(small_world(n_users=2000), periods=1)
    accepted = found.slates.any_place(clicked(found))
    for arm, expected in enumerate(found.truth.rates("pooled")):
        mine = accepted[found.slates.arm == arm]
        error = np.sqrt(expected * (1 - expected) / len(mine))
        assert abs(mine.mean() - expected) < 4 * error


@pytest.mark.slow
def test_arms_with_one_model_have_rates_whose_interval_covers_0() -> None:
    arms = [Arm("a", MANY), Arm("b", NeighbourModel(ItemCosines(50)))]
    found = simulate(small_world(n_users=2000), arms, SimulationSettings(periods=2))
    accepted = found.slates.any_place(clicked(found))
    counts = tally(accepted, user=found.slates.user, arm=found.slates.arm, arms=found.arms)
    difference = click_through(counts).differences().iloc[0]
    assert difference.low < 0 < difference.high


@pytest.mark.slow
def test_users_are_assigned_in_the_shares_that_were_planned() -> None:
    found = small_experiment(small_world(n_users=3000), periods=1)
    slates = found.slates
    first_arms = stickiness(slates.user, slates.arm, slates.time)
    shares = dict(zip(found.arms, found.shares.tolist(), strict=True))
    assert not first_arms.crossed.any()
    assert sample_ratio(first_arms, arms=found.arms, shares=shares).p > 0.001


@pytest.mark.slow
def test_lists_are_shown_by_the_arm_that_the_user_is_assigned_to() -> None:
    slates = experiment().slates
    assert np.array_equal(experiment().assigned[slates.user], slates.arm)


def test_another_salt_assigns_independently() -> None:
    users = Numbering.of([f"u{number}" for number in range(4000)])
    halves = np.array([0.5, 0.5])
    first, second = (assign(users, halves, salt=salt) for salt in ("a", "b"))
    assert abs((first == second).mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)


@pytest.mark.slow
def test_what_a_user_has_interacted_with_is_never_shown() -> None:
    slates, events = experiment().slates, experiment().events
    known: dict[tuple[int, int], int] = {}
    for user, item, time in zip(events.user, events.item, events.time, strict=True):
        known[user, item] = min(time, known.get((user, item), time))
    shown = [
        (slates.user[slate], item, slates.time[slate])
        for slate in range(len(slates))
        for item in slates.item[slates.first[slate] : slates.first[slate + 1]]
    ]
    assert not any(known.get((user, item), time) < time for user, item, time in shown)


def test_lists_are_in_the_order_of_time_within_the_experiment() -> None:
    time, boundaries = experiment().slates.time, experiment().boundaries
    assert (np.diff(time) >= 0).all()
    assert boundaries[0] <= time[0] <= time[-1] < boundaries[-1]


def test_clicks_follow_their_list_within_a_minute() -> None:
    events, slates = experiment().events, experiment().slates
    named = experiment().clicked_slates >= 0
    slate = experiment().clicked_slates[named]
    delay = events.time[named] - slates.time[slate]
    assert np.array_equal(events.user[named], slates.user[slate])
    assert 0 < delay.min() <= delay.max() <= MINUTE


def test_every_click_is_an_event_of_its_list() -> None:
    events, slates = experiment().events, experiment().slates
    named = experiment().clicked_slates >= 0
    done = {*zip(experiment().clicked_slates[named], events.item[named], strict=True)}
    shown = {
        *zip(slates.slate[clicked(experiment())], slates.item[clicked(experiment())], strict=True)
    }
    assert done == shown


@pytest.mark.slow
def test_models_learn_from_everything_before_their_period_and_nothing_after() -> None:
    model = Fixed()
    found = simulate(small_world(), [Arm("fixed", model)], SimulationSettings(periods=3))
    done = interactions_of(found.events)
    for period, learnt in enumerate(model.seen):
        before = done.select(done.time < found.boundaries[period])
        assert learnt.time.max() < found.boundaries[period]
        assert np.array_equal(learnt.time, before.time)
        assert np.array_equal(learnt.item, before.item)


@pytest.mark.slow
def test_what_happens_later_does_not_change_earlier_periods() -> None:
    short, long = small_experiment(periods=2), experiment()
    n_slates = len(short.slates)
    assert np.array_equal(short.slates.time, long.slates.time[:n_slates])
    assert np.array_equal(short.slates.item, long.slates.item[: 5 * n_slates])
    assert np.array_equal(short.truth.expected, long.truth.expected[:, :2])


def test_the_truth_is_of_the_users_and_lists_of_the_log() -> None:
    found = experiment()
    slates, period = found.slates, found.slates.time > found.boundaries[1]
    mine = (slates.arm == 0) & ~period
    chances = 1 - (1 - found.chances.reshape(-1, 5)[mine]).prod(axis=1)
    truth = found.truth
    assert (truth.slates[0, 0], truth.users[0, 0]) == (mine.sum(), len(set(slates.user[mine])))
    assert truth.expected[0, 0] == pytest.approx(chances.sum())
    by_period = truth.expected / truth.slates
    means = np.average(by_period, axis=1, weights=truth.users)
    np.testing.assert_allclose(truth.rates("thesis"), means)


@pytest.mark.slow
def test_nobody_learns_from_test_users() -> None:
    model, world = Fixed(), small_world()
    settings = SimulationSettings(periods=2)
    test_users = draw_test_users(interactions_of(world.history()), share=0.3, seed=1)
    simulate(world, [Arm("fixed", model)], settings, test_users=test_users)
    learnt = model.seen[1]
    assert not np.isin(learnt.users.ids[learnt.user], test_users.ids).any()


@pytest.mark.slow
def test_users_come_at_the_same_times_whatever_the_arms_show() -> None:
    first, second = (
        simulate(small_world(), [Arm("one", model)], SimulationSettings(periods=2))
        for model in (FEW, MANY)
    )
    assert np.array_equal(first.slates.time, second.slates.time)


def test_the_live_models_are_kept() -> None:
    assert [len(periods) for periods in experiment().recommenders] == [3, 3]


def test_versions_are_live_when_their_lists_are_shown() -> None:
    found = experiment()
    live = found.models.at(found.slates.arm, found.slates.time)
    assert found.slates.version is not None
    shown = np.array(found.slates.versions)[found.slates.version]
    assert np.array_equal(found.models.names[live], shown)


@pytest.mark.parametrize(
    "items",
    [[1, 2, 3], [1, 2, 3, 4, -1], [1, 2, 3, 4, 300], [1, 2, 3, 4, 1], [0, 1, 2, 3, 4]],
    ids=["too few", "below", "beyond", "twice", "known"],
)
def test_wrong_lists_are_refused_with_the_name_of_the_arm(items: list[int]) -> None:
    model = Wrong(np.array(items, dtype=np.int32))
    with pytest.raises(InputError, match="the model of arm 'mine' must list 5 items from 0 to 299"):
        simulate(small_world(), [Arm("mine", model)])


@pytest.mark.parametrize(
    ("arms", "finding"),
    [
        ([], "needs arms of different names"),
        ([Arm("a", FEW), Arm("a", MANY)], "arms of different names"),
        ([Arm("a", FEW, weight=0.0)], "must be positive"),
    ],
)
def test_impossible_arms_are_refused(arms: list[Arm], finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        simulate(small_world(), arms)


def test_an_experiment_without_visitors_is_refused() -> None:
    with pytest.raises(InputError, match="nobody came"):
        simulate(small_world(n_users=2), ARMS, SimulationSettings(periods=1, visits=1e-9))


@pytest.mark.slow
def test_any_model_can_be_an_arm() -> None:
    model: Model = Fixed(offset=5)
    assert len(simulate(small_world(), [Arm("mine", model)]).slates) > 0
