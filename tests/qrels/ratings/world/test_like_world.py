from dataclasses import replace

import numpy as np
import pytest

from qrels import Ratings
from qrels.ratings.world import FittedWorld, LikeSettings, WorldSettings, fit_world, make_world
from qrels.ratings.world.drawn_world import Bands
from qrels.ratings.world.truth import item_propensities
from runs import InputError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def real() -> Ratings:
    """Ratings in half stars, of users of whom some are far more active than others."""
    settings = WorldSettings(n_users=120, n_items=150, n_ratings=4000, min_ratings=10, gini=0.5)
    made = make_world(settings).ratings
    return replace(made, rating=made.rating - 0.5 * (made.item % 2))


@pytest.fixture(scope="module")
def fitted(real: Ratings) -> FittedWorld:
    return fit_world(real, LikeSettings())


def test_every_user_rates_as_many_items_of_each_band_of_popularity(
    real: Ratings, fitted: FittedWorld
) -> None:
    bands = Bands.of(real)
    made, found = fitted.world.ratings, np.zeros_like(bands.rated)
    np.add.at(found, (made.user, bands.band[made.item]), 1)
    assert found.tolist() == bands.rated.tolist()


def test_items_are_as_popular_but_for_a_few_ratings_in_a_hundred(
    real: Ratings, fitted: FittedWorld
) -> None:
    differences = np.abs(fitted.world.ratings.item_counts() - real.item_counts())
    assert differences.sum() < 0.02 * len(real)


def test_every_rating_is_as_frequent_as_in_the_real_ratings(
    real: Ratings, fitted: FittedWorld
) -> None:
    assert np.sort(fitted.world.ratings.rating).tolist() == np.sort(real.rating).tolist()


def test_the_spread_of_the_biases_is_met(fitted: FittedWorld) -> None:
    for name in ("generosity", "quality"):
        reached, wanted = getattr(fitted.reached, name), getattr(fitted.wanted, name)
        assert reached == pytest.approx(wanted, rel=0.1)


def test_the_truth_knows_what_users_think_of_neighbourhoods(fitted: FittedWorld) -> None:
    truth = fitted.world.truth
    preferences = truth.preferences
    assert preferences.local is not None
    assert preferences.neighbourhood is not None
    without = replace(preferences, local=None, neighbourhood=None)
    users = np.array([3, 7])
    local = preferences.local[users][:, preferences.neighbourhood]
    np.testing.assert_allclose(preferences.block(users) - without.block(users), local, atol=1e-12)
    user, item = np.array([3, 7]), np.array([0, 9])
    pairs = preferences.pairs(user, item)
    np.testing.assert_array_equal(pairs, preferences.block(user)[[0, 1], item])


def test_true_ratings_are_expectations_of_those_observed(fitted: FittedWorld) -> None:
    truth, ratings = fitted.world.truth, fitted.world.ratings
    expected = truth.ratings(np.arange(len(truth.users)))[ratings.user, ratings.item]
    assert truth.scale.tolist() == np.unique(ratings.rating).tolist()
    error = (ratings.rating - expected).std() / np.sqrt(len(ratings))
    assert abs(ratings.rating.mean() - expected.mean()) < 4 * error


def test_equal_seeds_give_equal_worlds(real: Ratings, fitted: FittedWorld) -> None:
    again = fit_world(real, LikeSettings()).world
    assert again.truth.to_bytes() == fitted.world.truth.to_bytes()
    assert again.ratings.rating.tolist() == fitted.world.ratings.rating.tolist()
    assert again.ratings.time is not None
    assert fitted.world.ratings.time is not None
    assert again.ratings.time.tolist() == fitted.world.ratings.time.tolist()


def test_stronger_liking_rates_what_is_liked_and_popularity_is_still_met(real: Ratings) -> None:
    surplus = []
    for liking in (0.0, 3.0):
        world = fit_world(real, LikeSettings(liking=liking)).world
        everything = world.truth.preferences.block(slice(None))
        own = everything - everything.mean(axis=0)
        own -= own.mean(axis=1)[:, None]
        surplus.append(own[world.ratings.user, world.ratings.item].mean() / own.std())
        missed = np.abs(world.ratings.item_counts() - real.item_counts()).sum()
        assert missed < 0.03 * len(real)
    assert surplus[1] > surplus[0] + 0.05


@pytest.mark.parametrize(
    "settings",
    [LikeSettings(strength=0.0), LikeSettings(liking=0.0, exposure=0.0, familiarity=0.0)],
)
def test_without_exposure_liking_and_familiarity_ratings_are_missing_at_random(
    real: Ratings, settings: LikeSettings
) -> None:
    counts = fit_world(real, settings).world.ratings.item_counts()
    chance = real.user_counts() / len(real.items)
    variance = float((chance * (1 - chance)).sum())
    assert counts.var() == pytest.approx(variance, rel=0.5)


def test_the_same_is_true_however_much_of_it_is_observed_and_how(
    real: Ratings, fitted: FittedWorld
) -> None:
    other = fit_world(real, LikeSettings(strength=0.5, fill=2.0, familiarity=0.0)).world
    assert other.truth.to_bytes() == fitted.world.truth.to_bytes()
    assert other.ratings.item.tolist() != fitted.world.ratings.item.tolist()
    wanted = np.minimum(2 * real.user_counts(), len(real.items))
    assert other.ratings.user_counts().tolist() == wanted.tolist()


def test_strength_may_be_of_liking_alone(real: Ratings, fitted: FittedWorld) -> None:
    """Without liking, what is rated is liked less than before, and as popular."""
    world = fit_world(real, LikeSettings(strength=0.0, bias="liking")).world
    liked = [
        world.truth.preferences.pairs(made.user, made.item).mean()
        for made in (world.ratings, fitted.world.ratings)
    ]
    assert liked[0] < liked[1] - 0.05
    popular = world.ratings.item_counts(), real.item_counts()
    assert np.corrcoef(*popular)[0, 1] > 0.8


def test_propensities_add_up_to_the_ratings_and_follow_popularity(fitted: FittedWorld) -> None:
    world = fitted.world
    ids, counts = (world.truth.users.ids, world.truth.items.ids), world.ratings.user_counts()
    found = item_propensities(world.truth, world.observation, *ids, counts, threshold=9.0)
    assert found.sum() * len(counts) == pytest.approx(counts.sum())
    assert np.corrcoef(found, world.ratings.item_counts())[0, 1] > 0.9


def test_too_few_ratings_are_refused(real: Ratings) -> None:
    with pytest.raises(InputError, match=r"20 users and 11 items of 10 ratings .* got 15 users"):
        fit_world(real.select(real.user < 15), LikeSettings())


def test_ratings_that_are_all_alike_are_refused(real: Ratings) -> None:
    with pytest.raises(InputError, match="ratings of 2 to 100 different values, got 1"):
        fit_world(replace(real, rating=np.ones(len(real))), LikeSettings())
