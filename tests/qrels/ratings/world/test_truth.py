"""The truth of worlds, and the chance that a pair is rated."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qrels.ratings.world import Observation, Preferences, Truth, WorldSettings, make_world
from qrels.ratings.world import truth as truth_module
from qrels.ratings.world.truth import inclusion_probabilities, item_propensities
from runs import Numbering

SETTINGS = WorldSettings(n_users=400, n_items=60, n_ratings=6000, min_ratings=3, gini=0.4)


def test_chances_add_up_to_what_is_drawn() -> None:
    logits = np.random.default_rng(1).normal(scale=3, size=(5, 40))
    counts = np.array([1, 3, 20, 39, 40])
    assert inclusion_probabilities(logits, counts).sum(axis=1) == pytest.approx(counts, abs=1e-6)


def test_of_two_items_one_is_drawn_about_as_often_as_its_weight_says() -> None:
    # The first of two clocks of rates 3 and 1 is the first in three of four cases; the moment by
    # which one item is expected makes it 0.75 within the error that the docstring admits.
    assert inclusion_probabilities(np.log([[3.0, 1.0]]), np.array([1]))[0, 0] == pytest.approx(
        0.75, abs=0.07
    )


@pytest.mark.validity
def test_chances_are_those_of_drawing_without_replacement() -> None:
    rng = np.random.default_rng(7)
    logits, n_drawn, n_times = rng.normal(scale=1.5, size=80), 15, 20_000
    keys = logits + rng.gumbel(size=(n_times, 80))
    drawn = np.zeros(80)
    np.add.at(drawn, np.argpartition(-keys, n_drawn, axis=1)[:, :n_drawn].ravel(), 1)
    found = inclusion_probabilities(logits[np.newaxis], np.array([n_drawn]))[0]
    assert np.abs(found - drawn / n_times).max() < 0.02


def test_propensities_are_of_relevant_pairs() -> None:
    """In simulated logs of a world, relevant pairs of an item are rated as often as it says."""
    world = make_world(SETTINGS)
    truth, ratings = world.truth, world.ratings
    counts, ids = ratings.user_counts(), (ratings.users.ids, ratings.items.ids)
    found = item_propensities(truth, world.observation, *ids, counts, threshold=3.5)
    every = np.arange(SETTINGS.n_users)
    logits = SETTINGS.exposure * truth.popularity + SETTINGS.liking * truth.preferences.block(every)
    relevant = truth.ratings(every) >= 3.5
    rng, rated = np.random.default_rng(3), np.zeros((400, 60))
    for _ in range(100):
        keys = logits + rng.gumbel(size=logits.shape)
        rated += (-keys).argsort(axis=1).argsort(axis=1) < counts[:, np.newaxis]
    expected = (rated * relevant).sum(axis=0) / np.maximum(relevant.sum(axis=0), 1) / 100
    told = relevant.sum(axis=0) > 0
    assert told.sum() > 40
    assert np.abs(found - expected)[told].max() < 0.05


def test_propensities_follow_what_is_strengthened() -> None:
    """Without the strength of liking, users who like an item rate it as often as all do."""
    world = make_world(SETTINGS.model_copy(update={"strength": 0.0, "bias": "liking"}))
    popularity = SETTINGS.exposure * world.truth.popularity
    assert world.observation.block(np.arange(3)) == pytest.approx(np.tile(popularity, (3, 1)))


RNG = np.random.default_rng(3)
PREFERENCES = Preferences(
    user_factors=RNG.normal(size=(5, 2)),
    item_factors=RNG.normal(size=(4, 2)),
    generosity=RNG.normal(size=5),
    quality=RNG.normal(size=4),
    local=RNG.normal(size=(5, 2)),
    neighbourhood=np.array([0, 1, 1, 0]),
)
USERS, ITEMS = Numbering.of("abcde"), Numbering.of("wxyz")
SCALE = np.array([0.5, 1.0, 3.0])
TRUTH = Truth(USERS, ITEMS, PREFERENCES, np.zeros(4), np.array([-0.5, 0.7]), 0.4, SCALE)


def liked(user: int, item: int, *, local: bool = True) -> float:
    p = PREFERENCES
    assert p.local is not None
    assert p.neighbourhood is not None
    bias = p.generosity[user] + p.quality[item]
    taste = p.user_factors[user] @ p.item_factors[item]
    return float(bias + taste + local * p.local[user, p.neighbourhood[item]])


@pytest.mark.parametrize("local", [True, False])
def test_preferences_are_biases_tastes_and_thoughts_of_neighbourhoods(local: bool) -> None:
    preferences = PREFERENCES if local else replace(PREFERENCES, local=None, neighbourhood=None)
    users = np.array([4, 0])
    expected = [[liked(user, item, local=local) for item in range(4)] for user in users.tolist()]
    np.testing.assert_allclose(preferences.block(users), expected)
    np.testing.assert_allclose(preferences.block(slice(4, 5)), expected[:1])
    np.testing.assert_allclose(
        preferences.pairs(np.array([4, 0]), np.array([1, 3])), [expected[0][1], expected[1][3]]
    )


def test_true_ratings_are_expected_ones_on_any_scale() -> None:
    """The lowest rating, and each step of the scale times the chance to reach its cut."""
    for user in range(5):
        for item in range(4):
            chances = [1 / (1 + np.exp((cut - liked(user, item)) / 0.4)) for cut in (-0.5, 0.7)]
            expected = 0.5 + 0.5 * chances[0] + 2.0 * chances[1]
            assert TRUTH.ratings(np.array([user]))[0, item] == pytest.approx(expected)


def test_scales_are_from_1_to_5_if_nothing_is_said(tmp_path: Path) -> None:
    usual = Truth(USERS, ITEMS, PREFERENCES, np.zeros(4), np.arange(4.0), 0.4)
    assert usual.scale.tolist() == [1, 2, 3, 4, 5]
    for truth in (usual, TRUTH):
        (tmp_path / "truth.npz").write_bytes(truth.to_bytes())
        loaded = Truth.load(tmp_path / "truth.npz")
        assert loaded.scale.tolist() == truth.scale.tolist()
        assert loaded.noise == 0.4
        assert loaded.preferences.neighbourhood is not None
        assert loaded.preferences.neighbourhood.tolist() == [0, 1, 1, 0]
        np.testing.assert_array_equal(loaded.ratings(np.arange(5)), truth.ratings(np.arange(5)))


def test_items_are_observed_by_how_well_they_are_known_and_liked() -> None:
    known = replace(PREFERENCES, generosity=np.zeros(5), local=None)
    observation = Observation(PREFERENCES, 0.5, known)
    users = np.array([3])
    expected = known.block(users) + PREFERENCES.block(users) / 2
    np.testing.assert_allclose(observation.block(users), expected)


def test_equal_weights_have_equal_chances() -> None:
    found = inclusion_probabilities(np.full((2, 8), 700.0), np.array([2, 5]))
    np.testing.assert_allclose(found, [[0.25] * 8, [0.625] * 8], rtol=1e-9)


def test_chances_are_of_one_moment_for_all_items() -> None:
    """Minus the logarithm of 1 less the chance is the moment times the weight."""
    logits = np.array([[0.0, 1.0, -2.0, 3.0]])
    hazard = -np.log1p(-inclusion_probabilities(logits, np.array([2])))[0]
    np.testing.assert_allclose(hazard / np.exp(logits[0]), np.full(4, hazard[0]), rtol=1e-6)


@pytest.mark.parametrize("at_once", [1, 2, 256])
def test_propensities_are_means_over_users_to_whom_the_item_is_relevant(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an item that is relevant to nobody, the mean over all users."""
    monkeypatch.setattr(truth_module, "USERS_AT_ONCE", at_once)
    observation = Observation(PREFERENCES, 1.0, replace(PREFERENCES, local=None))
    users, items = np.array(["a", "c", "e"]), np.array(["x", "w", "z"])
    counts, rows, columns = np.array([1, 2, 1]), np.array([0, 2, 4]), np.array([1, 0, 3])
    true = TRUTH.ratings(rows)[:, columns]
    threshold = float(np.median(true.max(axis=0)))
    found = item_propensities(TRUTH, observation, users, items, counts, threshold=threshold)
    chances = inclusion_probabilities(observation.block(rows)[:, columns], counts)
    relevant = true >= threshold
    expected = [
        chances[relevant[:, item], item].mean()
        if relevant[:, item].any()
        else chances[:, item].mean()
        for item in range(3)
    ]
    np.testing.assert_allclose(found, expected)
    assert relevant.any(axis=0).sum() == 2


def test_counts_are_of_the_users_that_are_asked_for() -> None:
    world = make_world(SETTINGS)
    users, items = world.ratings.users.ids, world.ratings.items.ids
    with pytest.raises(ValueError, match=r"for each of the 2 users, got 400\."):
        item_propensities(
            world.truth,
            world.observation,
            users[:2],
            items,
            world.ratings.user_counts(),
            threshold=3.5,
        )
