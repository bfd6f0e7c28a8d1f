"""Simulated experiments: their worlds, arms, logs and truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, softmax
from scipy.stats import chisquare

from analyses.online.clicks import Question, count_clicks
from harness.online import (
    NOW,
    Arm,
    SimulatedExperiment,
    SimulationSettings,
    SystemModel,
    make_click_world,
    simulate,
    write_history,
)
from harness.online.click_world import DAY, MINUTE
from harness.online.simulation import VIEWS_PER_LIST, _plan_period, assign, profiles_before
from qrels.interactions.held_out_users import draw_test_users
from qrels.interactions.interaction_file import read_interactions
from qrels.interactions.interactions import TYPE_VALUES, Interactions
from runs import InputError, Numbering
from runs.shared.progress import SilentProgress
from tests.harness.online.worlds import ARMS, small_experiment, small_world

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def experiment() -> SimulatedExperiment:
    return small_experiment(lists=6.0)


def lists_of(experiment: SimulatedExperiment) -> pd.DataFrame:
    return experiment.tables["recommendations"].to_pandas()


def test_items_are_chosen_by_taste_quality_and_exposure() -> None:
    world = small_world(n_items=8, exposure=0.7)
    user = np.zeros(20_000, dtype=np.int64)
    odds = 6 * world.tastes(user[:1])[0] @ world.vectors.T + world.quality
    expected = softmax(odds + 0.7 * world.log_exposure)
    found = np.bincount(world.choose(world.tastes(user), np.random.default_rng(1)), minlength=8)
    assert chisquare(found, expected * found.sum()).pvalue > 0.001


def test_a_chance_is_the_formula_by_hand() -> None:
    world = small_world(familiarity=0.7, position=2.0)
    user, item = np.array([5]), 11
    inner = world.tastes(user)[0] @ world.vectors[item]
    odds = 6 * inner + world.quality[item] - 4.5 - 0.7 * world.familiarity[item]
    chances = world.click_chance(user, np.full((1, 3), item))[0]
    np.testing.assert_allclose(chances, expit(odds) / np.array([1, 4, 9]), rtol=1e-12)


def test_histories_end_now_and_have_as_many_events_as_said() -> None:
    history = small_world(most_events=20).history()
    counts = np.bincount(history["user"], minlength=400)
    assert (counts.min(), counts.max()) == (2, 20)
    assert history["time"].between(NOW - 90 * DAY, NOW - 1).all()


def test_equal_settings_give_equal_experiments_whatever_the_workers() -> None:
    world, settings = small_world(), SimulationSettings(periods=2)
    one, two = (simulate(world, ARMS, settings, n_jobs=n_jobs).files() for n_jobs in (1, 2))
    assert one == two
    other = simulate(world, ARMS, SimulationSettings(periods=2, seed=2)).files()
    assert other["recommendations.parquet"] != one["recommendations.parquet"]


def test_what_is_known_is_never_shown_and_nothing_twice(experiment: SimulatedExperiment) -> None:
    lists = lists_of(experiment)
    done = experiment.tables["interactions"].to_pandas()
    assert all(len({*items}) == 5 for items in lists["items"])
    places = lists.explode("items").rename(columns={"items": "item"})
    both = places.merge(done, on=["user", "item"], suffixes=("", "_done"))
    assert (both["time_done"] >= both["time"]).all()


def test_clicks_come_within_a_minute_of_their_list(experiment: SimulatedExperiment) -> None:
    lists = lists_of(experiment).set_index("rec_id")
    done = experiment.tables["interactions"].to_pandas().dropna(subset="rec_id")
    assert len(done) == lists["clicked"].map(sum).sum()
    later = done["time"].to_numpy() - lists["time"].loc[done["rec_id"]].to_numpy()
    assert ((later > 0) & (later < MINUTE)).all()


def test_a_user_keeps_the_arm_and_arms_get_their_shares(experiment: SimulatedExperiment) -> None:
    assert (lists_of(experiment).groupby("user")["arm"].nunique() == 1).all()
    users = Numbering.of([f"u{n}" for n in range(20_000)])
    assert chisquare(np.bincount(assign(users, 3))).pvalue > 0.001


class Recorded(SystemModel):
    """Keeps what it learns from."""

    def __init__(self) -> None:
        super().__init__("popularity", {}, 1)
        self.learnt: list[Interactions] = []

    def fit(self, history: Interactions) -> Any:
        self.learnt.append(history)
        return super().fit(history)


def test_models_learn_anew_from_all_but_test_users() -> None:
    world, model = small_world(), Recorded()
    tested = draw_test_users(world.interactions(world.history()), share=0.5, seed=1)
    simulate(world, [Arm("top", model)], SimulationSettings(periods=2), test_users=tested)
    learnt = model.learnt
    assert [history.time.max() < NOW + 3 * DAY * n for n, history in enumerate(learnt)] == [1, 1]
    assert len(learnt[0]) < len(learnt[1])
    for history in learnt:
        assert (tested.numbers(world.users.ids)[np.unique(history.user)] < 0).all()


def test_models_learn_from_all_that_was_before_their_period_and_from_nothing_later() -> None:
    """Periods are of two minutes, so that many clicks on lists come in the next period."""
    world, model = small_world(), Recorded()
    settings = SimulationSettings(periods=3, period_days=2 * MINUTE / DAY)
    log = simulate(world, [Arm("top", model)], settings).tables["interactions"].to_pandas()
    n_before = [int((log["time"] < NOW + 2 * MINUTE * period).sum()) for period in range(3)]
    assert [len(history) for history in model.learnt] == n_before


def test_a_profile_holds_each_item_that_a_user_had_before_the_moment_once() -> None:
    """Users 1 and 4 ask at 100 and 50; what happens at that millisecond is not before it."""
    events = [
        *[(1, 2, 99), (1, 3, 100), (1, 0, 101), (1, 2, 5), (1, 4, 0)],
        *[(4, 1, 50), (4, 3, 49), (2, 1, 0), (5, 0, 0)],
    ]
    log = pd.DataFrame(events, columns=["user", "item", "time"])
    profiles = profiles_before(log, np.array([1, 4]), np.array([100, 50]), n_items=5)
    assert profiles.toarray().tolist() == [[0, 0, 1, 0, 1], [0, 0, 0, 1, 0]]


def test_the_log_estimates_the_truth(tmp_path: Path) -> None:
    experiment = small_experiment(small_world(n_users=1500), lists=6.0)
    for name, content in experiment.files().items():
        (tmp_path / name).write_bytes(content)
    files = {
        name: tmp_path / f"{name}.parquet" for name in ("recommendations", "interactions", "models")
    }
    for over_time in ("pooled", "thesis"):
        question = Question(**files, explicit=True, over_time=over_time)
        found = count_clicks(question, progress=SilentProgress(), truth=experiment.truth)
        arms = found.tables["arms"]
        assert (((arms["rate"] - arms["expected"]) / arms["error"]).abs() < 4).all()
        assert not any("do not count" in caution for caution in found.cautions())


class Fixed:
    """Shows the same list to everybody."""

    def __init__(self, items: list[int]) -> None:
        self.items = items

    def fit(self, history: Interactions) -> Fixed:
        return self

    def recommend(self, profiles: csr_array[Any], *, depth: int) -> Any:
        return np.tile(np.array(self.items, dtype=np.int32), (profiles.shape[0], 1))


@pytest.mark.parametrize("items", [[0, 1], [0, 1, 2, 3, 300], [0, 1, 2, 3, 3], [0, 1, 2, 3, 4]])
def test_models_must_list_new_items(items: list[int]) -> None:
    with pytest.raises(InputError, match="the model of arm 'same' must list 5 items from 0 to 299"):
        simulate(small_world(), [Arm("same", Fixed(items))])


@pytest.mark.parametrize(
    ("arms", "message"),
    [([], "needs arms of different names"), ([ARMS[0], ARMS[0]], "needs arms of different names")],
)
def test_arms_have_names_and_weights(arms: list[Arm], message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate(small_world(), arms)


def test_a_history_is_written_as_interactions(tmp_path: Path) -> None:
    world = small_world()
    assert write_history(tmp_path / "h.parquet", world.settings) == len(world.history())
    events = read_interactions(tmp_path / "h.parquet")
    expected = world.interactions(make_click_world(world.settings).history())
    assert events.time.tolist() == expected.time.tolist()
    assert events.value.tolist() == expected.value.tolist()


def test_profiles_need_a_time_for_each_user() -> None:
    log = small_world().history()
    with pytest.raises(ValueError, match="times of shape \\(1,\\) do not fit 2 users"):
        profiles_before(log, np.array([1, 4]), np.array([100]), n_items=300)


def test_users_ask_for_three_lists_in_three_days_and_look_at_half_as_many_items() -> None:
    world, settings = small_world(n_users=2000), SimulationSettings()
    assert VIEWS_PER_LIST == 0.5
    assert settings.boundaries == tuple(NOW + 3 * DAY * n for n in range(5))
    for period in (0, 3):
        (user, time), views = _plan_period(world, settings, period)
        assert len(user) / 2000 == pytest.approx(3, abs=0.15)
        assert len(views) / 2000 == pytest.approx(1.5, abs=0.15)
        for moments in (time, views["time"].to_numpy()):
            assert moments.min() >= NOW + 3 * DAY * period
            assert moments.max() < NOW + 3 * DAY * (period + 1)
        assert (np.diff(user) >= 0).all()
        assert (np.diff(time)[np.diff(user) == 0] >= 0).all()
        assert (views["led_by"] == -1).all()
        assert {*views["type"]} == {0, 1, 2}


def test_users_come_at_the_same_times_whatever_the_arms_are() -> None:
    world, settings = small_world(), SimulationSettings(periods=2)
    logs = [
        simulate(world, arms, settings).tables["recommendations"].to_pandas()
        for arms in (ARMS, ARMS[:1])
    ]
    moments = [sorted(zip(log["user"], log["time"], strict=True)) for log in logs]
    assert moments[0] == moments[1]


def test_the_truth_counts_users_and_lists_of_each_arm_and_period(
    experiment: SimulatedExperiment,
) -> None:
    lists, truth = lists_of(experiment), experiment.truth
    assert truth["arm"].tolist() == ["few"] * 3 + ["many"] * 3
    assert truth["period"].tolist() == [1, 2, 3] * 2
    by_place = lists.groupby(["arm", "model_version"])["user"]
    assert truth["lists"].tolist() == by_place.size().tolist()
    assert truth["users"].tolist() == by_place.nunique().tolist()
    clicked = lists["clicked"].map(any).groupby([lists["arm"], lists["model_version"]])
    error = np.sqrt(truth["expected_rate"] / truth["lists"])
    assert ((truth["expected_rate"] - clicked.mean().to_numpy()).abs() < 4 * error).all()


def test_the_expected_rate_is_the_mean_chance_of_a_click_or_more() -> None:
    """All see items 0 and 1, in the order of their numbers."""
    world = small_world(n_items=40, most_events=2)
    settings = SimulationSettings(periods=1, depth=2, lists=0.2)
    experiment = simulate(world, [Arm("top", Unknown())], settings)
    lists = lists_of(experiment)
    users = world.users.numbers(lists["user"].to_numpy().astype(str))
    items = np.stack([world.items.numbers(np.array(row).astype(str)) for row in lists["items"]])
    chances = world.click_chance(users, items)
    expected = 1 - (1 - chances[:, 0]) * (1 - chances[:, 1])
    assert experiment.truth["expected_rate"][0] == pytest.approx(expected.mean())


class Unknown:
    """Shows the first two items that a profile does not hold."""

    def fit(self, history: Interactions) -> Unknown:
        return self

    def recommend(self, profiles: csr_array[Any], *, depth: int) -> Any:
        return np.argsort(profiles.toarray(), axis=1, kind="stable")[:, :depth].astype(np.int32)


def test_lists_and_models_have_versions_from_1_and_times_of_their_periods(
    experiment: SimulatedExperiment,
) -> None:
    models = experiment.tables["models"].to_pandas()
    assert models["arm"].tolist() == ["few"] * 3 + ["many"] * 3
    assert models["model_version"].tolist() == ["v001", "v002", "v003"] * 2
    assert models["valid_from"].tolist() == [NOW + 3 * DAY * n for n in range(3)] * 2
    assert models["valid_to"].tolist() == [NOW + 3 * DAY * (n + 1) for n in range(3)] * 2
    lists = lists_of(experiment)
    assert lists["rec_id"].tolist() == [f"r{number:09}" for number in range(len(lists))]
    period = (lists["time"] - NOW) // (3 * DAY)
    assert (lists["model_version"] == "v00" + (period + 1).astype(str)).all()
    assert {name: len(models) for name, models in experiment.recommenders.items()} == {
        "few": 3,
        "many": 3,
    }


def test_a_log_has_what_users_did_in_order_and_which_list_led_to_it(
    experiment: SimulatedExperiment,
) -> None:
    done = experiment.tables["interactions"].to_pandas()
    expected = done.sort_values(["user", "time"], kind="stable")
    assert done["user"].tolist() == expected["user"].tolist()
    assert (done.groupby("user")["time"].diff().dropna() >= 0).all()
    led = done.dropna(subset="rec_id").merge(lists_of(experiment), on="rec_id")
    assert (led["user_x"] == led["user_y"]).all()
    taken = zip(led["item"], led["items"], led["clicked"], strict=True)
    assert all(clicked[list(items).index(item)] for item, items, clicked in taken)
    values = done.groupby("type")["value"].unique().map(list).to_dict()
    assert values == {name: [TYPE_VALUES[name]] for name in ("view", "cart", "purchase")}


def test_users_are_put_into_arms_by_their_id_whoever_else_there_is() -> None:
    users = Numbering.of([f"u{n}" for n in range(1000)])
    assigned = assign(users, 4)
    assert {*assigned.tolist()} == {0, 1, 2, 3}
    assert assign(Numbering(users.ids[500:]), 4).tolist() == assigned[500:].tolist()
    assert assign(users, 1).tolist() == [0] * 1000


def test_an_experiment_that_nobody_comes_to_is_refused() -> None:
    with pytest.raises(InputError, match="no user came to the experiment; it needs more users"):
        simulate(small_world(n_users=2), ARMS, SimulationSettings(periods=1, lists=1e-9))
