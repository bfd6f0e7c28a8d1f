"""Worlds of clicks and models of arms, part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness.online import NOW, ClickWorld, ClickWorldSettings, NeighbourModel, SystemModel
from harness.online import click_world as clicks
from harness.online.arm_models import recommended
from harness.online.click_world import DAY, MINUTE, TYPES, make_click_world
from harness.online.experiment import ranks_name
from harness.online.experiment_file import ArmSection, ExperimentStudy, UsersSection
from harness.online.simulation import SimulationSettings
from qrels.interactions.interactions import Interactions
from runs import InputError, Numbering
from tests.described import described
from tests.harness.online.worlds import small_world


def test_settings_of_worlds_and_experiments_have_these_bounds() -> None:
    assert described(ClickWorldSettings) == {
        "n_users": "10000; >= 2; <= 10000000",
        "n_items": "1500; >= 2; <= 100000",
        "topics": "40; >= 2",
        "selectivity": "6.0; >= 0.0; <= 12.0",
        "exposure": "1.0; >= 0.0; <= 2.0",
        "familiarity": "0.0; >= -5.0; <= 5.0",
        "position": "1.0; >= 0.0; <= 5.0",
        "reluctance": "4.5; >= -20.0; <= 20.0",
        "most_events": "300; >= 2",
        "seed": "1; >= 0",
    }
    assert described(SimulationSettings) == {
        "periods": "4; >= 1; <= 1000",
        "period_days": "3.0; > 0.0; <= 365.0",
        "depth": "5; >= 1; <= 100",
        "lists": "3.0; > 0.0; <= 100.0",
        "seed": "1; >= 0",
    }
    assert described(UsersSection) == {"share": "0.1; > 0; <= 1", "most": "100000; >= 1"}


def test_experiments_begin_on_a_monday_at_midnight() -> None:
    assert np.datetime64(NOW, "ms").astype("datetime64[s]") == np.datetime64("2026-01-05T00:00:00")
    assert (DAY, MINUTE) == (24 * 60 * MINUTE, 60 * 1000)
    assert SimulationSettings(periods=2, period_days=0.5).boundaries == (
        NOW,
        NOW + DAY // 2,
        NOW + DAY,
    )


@pytest.fixture(scope="module")
def large() -> ClickWorld:
    return make_click_world(ClickWorldSettings(n_users=4000, n_items=3000, topics=5, seed=3))


@pytest.mark.slow
def test_items_scatter_by_half_around_the_centres_of_topics(large: ClickWorld) -> None:
    """Noise of length 1/2 at a right angle to a centre of length 1 leaves a cosine of .89."""
    assert large.vectors.shape == (3000, 16)
    np.testing.assert_allclose(np.linalg.norm(large.vectors, axis=1), 1)
    cosines = large.vectors @ large.vectors.T
    alike = cosines[cosines > 0.6]  # Of one topic: the product of two such cosines.
    assert alike.size / cosines.size == pytest.approx(1 / 5, abs=0.05)
    assert alike.mean() == pytest.approx(1 / (1 + 0.5**2), abs=0.03)


def test_quality_and_exposure_are_normal_with_these_deviations(large: ClickWorld) -> None:
    for values, deviation in ((large.quality, 0.6), (large.log_exposure, 1.3)):
        assert values.mean() == pytest.approx(0, abs=0.1)
        assert values.std() == pytest.approx(deviation, rel=0.05)
    assert abs(np.corrcoef(large.quality, large.log_exposure)[0, 1]) < 0.06
    assert large.familiarity.mean() == pytest.approx(0, abs=1e-12)
    assert large.familiarity.std() == pytest.approx(1)


def test_the_second_topic_is_another_and_takes_four_fifths_of_the_place(large: ClickWorld) -> None:
    users = np.arange(4000)
    first, second = large.first_taste, large.second_taste
    assert (first * second).sum(axis=1).max() < 0.95
    np.testing.assert_allclose(large.tastes(users, moment=0.0), first)
    for moment, fading in ((1.0, 0.8), (0.25, 0.2)):
        mixed = (1 - fading) * first + fading * second
        expected = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        np.testing.assert_allclose(large.tastes(users, moment=moment), expected)
    np.testing.assert_allclose(large.tastes(users), large.tastes(users, moment=1.0))


def test_topics_are_drawn_from_all_of_them() -> None:
    world = small_world(topics=2, n_users=300)
    cosines = world.first_taste @ world.second_taste[0]
    # With two topics, the second of everybody is the other one.
    assert ((cosines > 0.5) == (world.first_taste @ world.first_taste[0] < 0.5)).all()


@pytest.mark.slow
def test_histories_have_18_events_in_the_mean_before_they_are_cut() -> None:
    history = small_world(n_users=4000, n_items=50, most_events=300, seed=3).history()
    counts = np.bincount(history["user"], minlength=4000)
    rng = np.random.default_rng([3, 1])
    drawn = rng.lognormal(np.log(18) - 0.9**2 / 2, 0.9, 4000)
    np.testing.assert_array_equal(counts, np.clip(np.rint(drawn), 2, 300))
    assert counts.mean() == pytest.approx(18, rel=0.05)
    moments = (history["time"] - NOW) / (90 * DAY)
    assert moments.between(-1, 0).all()
    assert moments.mean() == pytest.approx(-0.5, abs=0.01)
    shares = history["type"].value_counts(normalize=True)
    assert [shares[n] for n in range(3)] == pytest.approx([0.91, 0.06, 0.03], abs=0.005)
    assert TYPES == ("view", "cart", "purchase")
    assert (history["led_by"] == -1).all()


def test_ids_count_from_1() -> None:
    world = small_world()
    assert world.users.ids[[0, -1]].tolist() == ["u00000001", "u00000400"]
    assert world.items.ids[[0, -1]].tolist() == ["i000001", "i000300"]


def test_what_is_chosen_does_not_depend_on_how_many_choose_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = small_world()
    tastes = world.tastes(np.arange(50))
    whole = world.choose(tastes, np.random.default_rng(1))
    for cells in (1, 300, 1000):
        monkeypatch.setattr(clicks, "CELLS_AT_ONCE", cells)
        np.testing.assert_array_equal(world.choose(tastes, np.random.default_rng(1)), whole)


def test_what_is_chosen_is_where_the_luck_falls_among_the_odds() -> None:
    class Luck:
        def random(self, n: int) -> Any:
            return np.array([0.0, 0.999999999, 0.4])[:n]

    world = small_world(n_items=6, selectivity=0.0, exposure=0.0)
    luck: Any = Luck()
    found = world.choose(world.tastes(np.arange(3)), luck)
    shares = np.exp(world.quality).cumsum() / np.exp(world.quality).sum()
    assert found.tolist() == [0, 5, int(np.searchsorted(shares, 0.4, side="right"))]


def history_of(events: list[tuple[int, int]], n_items: int = 6) -> Interactions:
    users, items = (np.array(column) for column in zip(*events, strict=True))
    return Interactions.of(
        Numbering.of([f"u{n}" for n in range(users.max() + 1)]),
        Numbering.of([f"i{n}" for n in range(n_items)]),
        user=users,
        item=items,
        time=np.arange(len(events)),
        value=np.ones(len(events)),
    )


# Items 5, 4 and 3 are popular in this order; 0 is never there.
HISTORY = history_of(
    [(0, 5), (1, 5), (2, 5), (3, 5), (0, 4), (1, 4), (2, 4), (0, 3), (1, 3), (2, 2), (4, 1)]
)
PROFILES = csr_array(np.array([[0, 0, 0, 0, 0, 1.0], [0] * 6, [0, 0, 0, 1, 1, 1]]))


@pytest.mark.slow
def test_the_items_with_most_votes_come_first_and_popular_ones_after_them() -> None:
    votes = np.zeros((6, 6))
    votes[5, [1, 2]] = [0.5, 0.25]
    votes[4, 2] = 0.5
    model = NeighbourModel(lambda history: csr_array(votes)).fit(HISTORY)
    assert model.by_popularity.tolist() == [5, 4, 3, 1, 2, 0]
    lists = model.recommend(PROFILES, depth=4)
    assert lists.tolist() == [[1, 2, 4, 3], [5, 4, 3, 1], [2, 1, 0, -1]]


@pytest.mark.slow
def test_a_system_recommends_by_score_and_popular_items_that_have_none() -> None:
    class Scores:
        def score_histories(self, known: Any) -> Any:
            row = [np.nan, -3.0, np.nan, np.nan, -2.0, np.nan]
            return np.tile(np.array(row, dtype=np.float32), (known.shape[0], 1))

    model = SystemModel("popularity", {}, 1).fit(HISTORY)
    np.testing.assert_allclose(model.popularity_places, np.array([5, 3, 4, 2, 1, 0]) / 6)
    scorer: Any = Scores()
    mine = type(model)(scorer, model.popularity_places)
    assert mine.recommend(PROFILES[:2], depth=4).tolist() == [[4, 1, 3, 2], [4, 1, 5, 3]]
    assert model.recommend(PROFILES[:2], depth=2).tolist() == [[4, 3], [5, 4]]


class Lists:
    def __init__(self, lists: list[list[int]]) -> None:
        self.lists = np.array(lists)

    def recommend(self, profiles: Any, *, depth: int) -> Any:
        return self.lists


@pytest.mark.parametrize(
    "lists",
    [
        [[0, 1], [0, 1]],
        [[0], [0], [0]],
        [[0, 6], [0, 1], [0, 1]],
        [[0, -1], [0, 1], [0, 1]],
        [[0, 0], [0, 1], [0, 1]],
        [[0, 5], [0, 1], [0, 1]],
        [[0, 1], [0, 1], [0, 3]],
    ],
)
def test_lists_that_are_short_or_show_what_is_known_are_refused(lists: list[list[int]]) -> None:
    with pytest.raises(InputError, match=r"of arm 'x' must list 2 items from 0 to 5 for each user"):
        recommended(Lists(lists), PROFILES, depth=2, arm="x")


def test_lists_of_items_that_are_new_to_each_user_are_taken() -> None:
    lists = [[0, 4], [5, 0], [0, 1]]
    assert recommended(Lists(lists), PROFILES, depth=2, arm="x").tolist() == lists


def test_files_of_ranks_count_periods_from_1() -> None:
    assert ranks_name("few", 0) == "ranks/few-1.parquet"


def test_an_arm_is_a_model_of_neighbours_or_a_system() -> None:
    assert ArmSection().is_neighbours
    assert ArmSection(model="als-knn").is_neighbours
    arm = ArmSection(model="puresvd", settings={"factors": 3})
    assert arm.untrained(seed=7) == SystemModel("puresvd", {"factors": 3}, 7)
    assert isinstance(ArmSection().untrained(seed=7), NeighbourModel)
    with pytest.raises(InputError, match="svd can only score users that it was trained on"):
        ArmSection(model="svd").check()


THREE = "".join(f"[experiment.arms.a{n}]\nsettings = {{ neighbours = {n} }}\n" for n in "123")


def test_an_experiment_is_simulated_or_logged() -> None:
    with pytest.raises(InputError, match=r"needs .* or \[experiment\.logs\], and not both"):
        ExperimentStudy.parse(f'name = "x"\n{THREE}', source="o.toml")


def test_three_arms_are_enough_and_two_are_not() -> None:
    text = 'name = "x"\n[experiment.world]\n'
    study = ExperimentStudy.parse(text + THREE, source="o.toml")
    assert [*study.experiment.arms] == ["a1", "a2", "a3"]
    assert (study.experiment.periods, study.experiment.users.share) == (4, 0.1)
    two = THREE.rpartition("[experiment")[0]
    with pytest.raises(InputError, match="at least 3 models, got 2"):
        ExperimentStudy.parse(text + two, source="o.toml")
