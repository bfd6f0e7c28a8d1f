import numpy as np
import pytest
from harness.online.simulation.click_world import DAY, interactions_of
from numpy.typing import NDArray
from pydantic import ValidationError
from scipy.stats import chisquare, spearmanr

from harness.online.simulation import NOW, ClickWorld, ClickWorldSettings
from tests.harness.online.simulation.worlds import small_world


def columns(world: ClickWorld, users: slice) -> list[NDArray[np.integer]]:
    events = world.history(users)
    return [events.user, events.item, events.time, events.type]


def popularity(world: ClickWorld) -> NDArray[np.intp]:
    return np.bincount(world.history().item, minlength=len(world.items))


def mean_chances(world: ClickWorld) -> NDArray[np.float64]:
    """Mean chance of a click on each item at the first rank."""
    users = np.arange(world.settings.n_users)
    items = np.arange(len(world.items))
    return np.mean([world.click_chance(users, np.full((len(users), 1), i)) for i in items], (1, 2))


def test_equal_settings_give_equal_histories() -> None:
    first, second = (columns(small_world(), slice(None)) for _ in range(2))
    assert all(np.array_equal(*pair) for pair in zip(first, second, strict=True))


def test_a_users_history_does_not_depend_on_who_else_is_asked_for() -> None:
    world = small_world()
    everybody, some = columns(world, slice(None)), columns(world, slice(100, 130))
    chosen = (everybody[0] >= 100) & (everybody[0] < 130)
    assert all(np.array_equal(a[chosen], b) for a, b in zip(everybody, some, strict=True))


def test_a_larger_world_has_the_same_first_users() -> None:
    small, large = small_world(), small_world(n_users=1000)
    pairs = zip(columns(small, slice(0, 50)), columns(large, slice(0, 50)), strict=True)
    assert all(np.array_equal(*pair) for pair in pairs)


def test_a_history_ends_before_now() -> None:
    time = small_world().history().time
    assert NOW - 90 * DAY <= time.min() <= time.max() < NOW


def test_a_history_is_in_the_order_of_users_and_time() -> None:
    events = small_world().history()
    sorted_events = interactions_of(events)
    assert np.array_equal(sorted_events.time, events.time)


def test_users_have_as_many_events_as_the_limits_let_them() -> None:
    world = small_world(least_events=4, most_events=20)
    counts = np.bincount(world.history().user)
    assert (counts.min(), counts.max()) == (4, 20)


def test_a_session_has_no_item_twice() -> None:
    world = small_world(sessions=1, most_events=30)
    events = world.history()
    pairs = events.user * np.int64(300) + events.item
    assert len(np.unique(pairs)) == len(pairs)


def test_items_are_chosen_by_the_odds_of_taste_quality_and_exposure() -> None:
    world = small_world(n_users=2, n_items=20, most_events=2, sessions=2)
    taste = world.tastes(np.array([0]))
    n_draws = 50_000
    items, _ = world.choose(
        np.repeat(taste, n_draws, axis=0),
        np.ones(n_draws, dtype=np.int64),
        places=np.arange(n_draws),
        key="test",
    )
    odds = np.exp(world.likings(taste, np.arange(20)[None])[0] + world.log_exposure)
    assert chisquare(np.bincount(items, minlength=20), n_draws * odds / odds.sum()).pvalue > 0.001


def test_the_second_item_is_chosen_from_what_is_left() -> None:
    world = small_world(n_users=2, n_items=20, most_events=2, sessions=2, selectivity=1.0)
    taste = world.tastes(np.array([0]))
    n_draws = 50_000
    items, _ = world.choose(
        np.repeat(taste, n_draws, axis=0), np.full(n_draws, 2), places=np.arange(n_draws), key="two"
    )
    odds = np.exp(world.likings(taste, np.arange(20)[None])[0] + world.log_exposure)
    shares = odds / odds.sum()
    second = (shares[:, None] * shares / (1 - shares[:, None]) * (1 - np.eye(20))).sum(axis=0)
    assert chisquare(np.bincount(items[1::2], minlength=20), n_draws * second).pvalue > 0.001


def test_chances_fall_with_rank_by_its_power() -> None:
    world = small_world(position=2.0)
    users, one = np.array([3]), np.array([[7]])
    chances = world.click_chance(users, np.full((1, 4), 7))[0]
    assert np.allclose(chances, world.click_chance(users, one)[0] / np.array([1, 4, 9, 16]))


def test_a_chance_is_the_formula_by_hand() -> None:
    world = small_world(familiarity=0.7)
    user, item = np.array([5]), 11
    inner = world.tastes(user)[0] @ world.vectors[item]
    odds = 6 * inner + world.quality[item] - 4.5 - 0.7 * world.familiarity[item]
    chance = world.click_chance(user, np.array([[item]]))[0, 0]
    assert chance == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-12)


def test_preference_is_what_clicks_follow_but_for_familiarity() -> None:
    world = small_world(familiarity=0.0)
    items = np.arange(300)[None]
    preference = world.likings(world.tastes(np.array([9])), items)[0]
    chances = world.click_odds(np.array([9]), items)[0]
    assert np.allclose(preference - 4.5, chances)


def test_tastes_move_from_the_first_topic_towards_the_second() -> None:
    world = small_world()
    users = np.arange(100)
    start, now = world.tastes(users, moment=0.0), world.tastes(users)
    drift = (start * now).sum(axis=1)
    assert drift.mean() < 0.6
    assert np.allclose((now**2).sum(axis=1), 1)


def test_popularity_follows_exposure_when_exposure_decides() -> None:
    exposed, unexposed = small_world(exposure=1.0), small_world(exposure=0.0)
    assert float(spearmanr(popularity(exposed), exposed.log_exposure).statistic) > 0.6
    assert abs(float(spearmanr(popularity(unexposed), unexposed.log_exposure).statistic)) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("familiarity", "sign"), [(-1.5, 1), (1.5, -1)])
def test_familiarity_decides_whether_clicks_follow_popularity(
    familiarity: float, sign: int
) -> None:
    world = small_world(familiarity=familiarity)
    assert sign * float(spearmanr(popularity(world), mean_chances(world)).statistic) > 0.3


def test_types_occur_in_their_shares() -> None:
    types = small_world().history().type
    observed = np.bincount(types)
    assert chisquare(observed, observed.sum() * np.array([0.91, 0.06, 0.03])).pvalue > 0.001


def test_too_few_items_for_a_session_are_refused() -> None:
    with pytest.raises(ValidationError, match="`n_items` must be at least 600, ten times"):
        ClickWorldSettings(n_items=100)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match="gamma"):
        ClickWorldSettings(gamma=1.0)  # type: ignore[call-arg]
