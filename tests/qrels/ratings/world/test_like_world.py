"""Worlds like real ratings: what is met, and how strengths are moved to meet it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qrels import Ratings
from qrels.ratings.world import (
    FittedWorld,
    LikeSettings,
    WorldSettings,
    fit_world,
    like_world,
    make_world,
)
from qrels.ratings.world.drawn_world import Exposure, PopularityBands
from qrels.ratings.world.like_world import Strengths, _check, _Deviates, _Draft, _neighbourhoods
from qrels.ratings.world.moments import Moments, popularity_terms
from qrels.ratings.world.truth import item_propensities
from runs import InputError, Numbering

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
    bands = PopularityBands.of(real)
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
        reached, wanted = getattr(fitted.reached, name), getattr(fitted.target, name)
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


def test_strengths_begin_with_those_of_movielens() -> None:
    assert vars(Strengths()) == {
        "interest": 3.8,
        "decay": 1.0,
        "tails": 1.7,
        "neighbours": 1.6,
        "generosity": 0.3,
        "quality": 0.4,
        "trend": 0.2,
        "bend": 0.0,
        "taste": 0.45,
        "affinity": 0.02,
        "agreement": 0.2,
    }


def moments_of(**values: float) -> Moments:
    return Moments(**{name: values.get(name, 1.0) for name in vars(Strengths())})


def test_strengths_are_moved_by_a_power_of_the_ratio_or_by_what_is_missing() -> None:
    wanted = moments_of(interest=1.2, quality=1.5, taste=1.1, tails=1.3, agreement=0.8, trend=1.1)
    wanted = replace(wanted, bend=0.8, decay=1.2, affinity=1.05, generosity=0.9)
    moved = vars(Strengths().updated(wanted, moments_of()))
    assert moved == pytest.approx(
        {
            "interest": 3.8 * 1.2**1.5,
            "decay": 1.0 + 1.5 * 0.2,
            "tails": 1.7 * 1.3**0.65,
            "neighbours": 1.6,
            "generosity": 0.3 * 0.9,
            "quality": 0.4 * 1.5,
            "trend": 0.2 + 0.1,
            "bend": -0.2,
            "taste": 0.45 * 1.1**0.7,
            "affinity": 0.02 + 2 * 0.05,
            "agreement": 0.2 * 0.8**0.5,
        }
    )


@pytest.mark.parametrize(
    ("goal", "now", "ratio"),
    [
        (3.0, 1.0, 2.0),
        (1.0, 3.0, 0.5),
        (1.0, 0.0, 2.0),
        (1.0, -1.0, 2.0),
        (0.0, 0.0, 1.0),
        (0.0, 1.0, 0.5),
        (-1.0, 1.0, 0.5),
        (-1.0, 0.0, 1.0),
    ],
)
def test_a_strength_is_doubled_or_halved_at_the_most(goal: float, now: float, ratio: float) -> None:
    moved = Strengths().updated(moments_of(quality=goal), moments_of(quality=now))
    assert moved.quality == pytest.approx(0.4 * ratio)


def test_dimensions_weigh_less_the_more_they_decay() -> None:
    weights = replace(Strengths(), decay=2.0).weights
    assert (weights**2).sum() == pytest.approx(1)
    np.testing.assert_allclose(weights[0] / weights, np.arange(1, 9.0) ** 2)
    places = replace(Strengths(), tails=2.0).heavy_tailed(np.array([1.0, -3.0]))
    np.testing.assert_allclose(places, np.array([1.0, -9.0]) / np.sqrt(41))


def sized(n_users: int, n_items: int, *, n_values: int = 2) -> Ratings:
    """Everybody rates every item."""
    user, item = np.divmod(np.arange(n_users * n_items), n_items)
    users, items = (Numbering.of(f"{n:05}" for n in range(size)) for size in (n_users, n_items))
    rating = (np.arange(n_users * n_items) % n_values).astype(np.float64)
    return Ratings(users, items, user.astype(np.int32), item.astype(np.int32), rating)


def test_worlds_need_20_users_11_items_and_2_to_100_values(monkeypatch: pytest.MonkeyPatch) -> None:
    assert like_world.MAX_PAIRS == 150_000_000
    for fitting in (sized(20, 11), sized(20, 11, n_values=100)):
        _check(fitting)
    few = sized(20, 11)
    few = few.select((few.item > 0) | (few.user < 9))
    for wrong, rule in (
        (sized(19, 11), "got 19 users and 11 such items"),
        (sized(20, 10), "got 20 users and 10 such items"),
        (few, "got 20 users and 10 such items"),
        (sized(20, 11, n_values=1), "2 to 100 different values, got 1"),
        (sized(20, 11, n_values=101), "2 to 100 different values, got 101"),
    ):
        with pytest.raises(InputError, match=rule):
            _check(wrong)
    monkeypatch.setattr(like_world, "MAX_PAIRS", 220)
    _check(sized(20, 11))
    with pytest.raises(InputError, match=r"to 220 pairs of user and item .* got 231"):
        _check(sized(21, 11))


def test_neighbourhoods_have_25_items_of_about_the_same_popularity() -> None:
    counts = np.exp(np.linspace(0, 8, 60)).astype(int)
    found = _neighbourhoods(counts, np.random.default_rng(1))
    assert np.bincount(found).tolist() == [25, 25, 10]
    noise = np.random.default_rng(1).standard_normal(60)
    order = np.argsort(np.log(counts) + 0.7 * noise)
    assert found[order].tolist() == sorted(found.tolist())


@pytest.fixture
def draft(real: Ratings) -> Any:
    return _Draft(real, LikeSettings(liking=2.0), _Deviates(real, seed=1))


STRENGTHS = Strengths(2.0, 1.5, 1.2, 0.7, 0.3, 0.4, 0.2, 0.1, 0.45, 0.05, 0.6)


def test_preferences_are_made_of_deviates_by_strengths(draft: Any) -> None:
    drawn, counts = draft.deviates, draft.ratings.item_counts()
    weights = np.arange(1, 9.0) ** -1.5
    weights /= np.sqrt((weights**2).sum())

    def places(deviates: Any) -> Any:
        raised = np.sign(deviates) * np.abs(deviates) ** 1.2
        return raised / np.sqrt((raised**2).mean())

    logs, squares = popularity_terms(counts)
    preferences = draft._preferences(STRENGTHS)
    tastes = 0.45 * drawn.tastes + 0.05 * places(drawn.interests)
    quality = 0.4 * drawn.quality + 0.2 * logs + 0.1 * squares
    np.testing.assert_allclose(preferences.user_factors, weights * tastes)
    np.testing.assert_allclose(preferences.item_factors, places(drawn.items))
    np.testing.assert_allclose(preferences.generosity, 0.3 * drawn.generosity)
    np.testing.assert_allclose(preferences.quality, quality)
    np.testing.assert_allclose(preferences.local, 0.6 * drawn.local)
    rng = np.random.default_rng(1)
    leaning = rng.normal(size=PopularityBands.of(draft.ratings).rated.shape)
    exposure = Exposure(rng.normal(size=len(counts)), leaning)
    observation = draft._observation(STRENGTHS, exposure, familiarity=0.5)
    assert observation.liking == 2.0
    known = observation.familiarity
    np.testing.assert_allclose(
        known.user_factors[:, :8], 0.5 * 2.0 * weights * places(drawn.interests)
    )
    np.testing.assert_allclose(known.local, 0.5 * 0.7 * drawn.familiarity)
    leanings = known.user_factors[:, 8:] @ known.item_factors[:, 8:].T
    np.testing.assert_allclose(leanings, 0.5 * leaning[:, PopularityBands.of(draft.ratings).band])
    assert not known.generosity.any()


def test_noise_is_what_is_left_of_the_variance_of_ratings(fitted: FittedWorld) -> None:
    """Of logistic noise of scale s the variance is (pi s)^2 / 3; a tenth is left at least."""
    world = fitted.world
    liked = world.truth.preferences.pairs(world.ratings.user, world.ratings.item)
    left = max(1 - float(liked.var()), 0.1)
    assert (np.pi * world.truth.noise) ** 2 / 3 == pytest.approx(left)


def test_a_world_is_drawn_five_times_with_fewer_sweeps_after_the_first(
    real: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweeps: list[int] = []
    fit = Exposure.fit

    def noted(*args: Any, **options: int) -> Exposure:
        sweeps.append(options["sweeps"])
        return fit(*args, sweeps=1)

    monkeypatch.setattr(Exposure, "fit", noted)
    found = fit_world(real, LikeSettings())
    assert sweeps == [8, 5, 5, 5, 5]
    assert found.strengths != Strengths()


def test_familiarity_and_exposure_are_observed_as_they_are_told(
    real: Ratings, fitted: FittedWorld
) -> None:
    told = LikeSettings(strength=3.0, exposure=0.5, familiarity=2.0, liking=1.0)
    other = fit_world(real, told).world.observation
    usual = fitted.world.observation
    assert other.liking == 3.0
    np.testing.assert_allclose(other.familiarity.quality, 3.0 * 0.5 * usual.familiarity.quality)
    np.testing.assert_allclose(other.familiarity.user_factors, 6.0 * usual.familiarity.user_factors)
    assert other.familiarity.local is not None
    assert usual.familiarity.local is not None
    np.testing.assert_allclose(other.familiarity.local, 6.0 * usual.familiarity.local)
