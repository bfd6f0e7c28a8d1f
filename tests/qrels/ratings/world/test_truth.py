import numpy as np
import pytest

from qrels.ratings.world import WorldSettings, make_world
from qrels.ratings.world.truth import inclusion, item_propensities

SETTINGS = WorldSettings(n_users=400, n_items=60, n_ratings=6000, min_ratings=3, gini=0.4)


def test_chances_add_up_to_what_is_drawn() -> None:
    logits = np.random.default_rng(1).normal(scale=3, size=(5, 40))
    counts = np.array([1, 3, 20, 39, 40])
    assert inclusion(logits, counts).sum(axis=1) == pytest.approx(counts, abs=1e-6)


def test_of_two_items_one_is_drawn_about_as_often_as_its_weight_says() -> None:
    # The first of two clocks of rates 3 and 1 is the first in three of four cases; the moment by
    # which one item is expected makes it 0.75 within the error that the docstring admits.
    assert inclusion(np.log([[3.0, 1.0]]), np.array([1]))[0, 0] == pytest.approx(0.75, abs=0.07)


@pytest.mark.validity
def test_chances_are_those_of_drawing_without_replacement() -> None:
    rng = np.random.default_rng(7)
    logits, n_drawn, n_times = rng.normal(scale=1.5, size=80), 15, 20_000
    keys = logits + rng.gumbel(size=(n_times, 80))
    drawn = np.zeros(80)
    np.add.at(drawn, np.argpartition(-keys, n_drawn, axis=1)[:, :n_drawn].ravel(), 1)
    found = inclusion(logits[np.newaxis], np.array([n_drawn]))[0]
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
