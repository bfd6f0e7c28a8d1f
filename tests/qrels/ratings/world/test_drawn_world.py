from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from qrels import Split
from qrels.ratings.splits.user_random import user_random
from qrels.ratings.world import PRESETS, Truth, World, WorldSettings, make_world
from qrels.ratings.world.moments import Moments
from runs import InputError, top_items

TINY = WorldSettings(n_users=60, n_items=200, n_ratings=1200, min_ratings=5, gini=0.6)


@pytest.fixture(scope="module")
def small() -> World:
    return make_world(PRESETS["small"])


@pytest.fixture(scope="module")
def large() -> World:
    return make_world(PRESETS["ml-1m"])


def varied(settings: WorldSettings, **changes: float | str) -> WorldSettings:
    return WorldSettings(**{**settings.model_dump(), **changes})


def gini(counts: NDArray[np.integer]) -> float:
    differences = np.abs(counts[:, None] - counts)
    return float(differences.mean() / (2 * counts.mean()))


def observed(world: World) -> NDArray[np.float64]:
    """True ratings of the pairs that were rated."""
    everything = world.truth.ratings(np.arange(len(world.truth.users)))
    return everything[world.ratings.user, world.ratings.item]


def columns_of(world: World) -> list[NDArray[np.generic]]:
    ratings = world.ratings
    assert ratings.time is not None
    return [ratings.user, ratings.item, ratings.rating, ratings.time]


def test_the_truth_does_not_depend_on_how_selectively_and_how_much_is_rated() -> None:
    truth = make_world(TINY).truth.to_bytes()
    changed: list[dict[str, float | str]] = [
        {"strength": 0.0},
        {"strength": 2.0},
        {"fill": 0.5},
        {"fill": 2.0},
        {"strength": 0.0, "bias": "liking"},
    ]
    for changes in changed:
        assert make_world(varied(TINY, **changes)).truth.to_bytes() == truth


def test_the_stronger_the_bias_the_more_is_rated_of_what_is_liked_and_popular() -> None:
    worlds = [make_world(varied(TINY, strength=strength)) for strength in (0.0, 0.5, 1.0, 2.0)]
    liked = [float(observed(world).mean()) for world in worlds]
    unequal = [gini(world.ratings.item_counts()) for world in worlds]
    assert liked == sorted(liked)
    assert unequal == sorted(unequal)


def test_with_familiarity_users_share_items_unevenly_and_light_users_rate_famous_ones() -> None:
    def moments(familiarity: float) -> tuple[float, float]:
        ratings = make_world(varied(PRESETS["small"], familiarity=familiarity)).ratings
        fame = np.log(ratings.item_counts()[ratings.item])
        rated = ratings.user_counts()
        met = np.bincount(ratings.user, fame) / rated
        return Moments.of(ratings).interest, float(np.corrcoef(np.log(rated), met)[0, 1])

    (usual, falling), (uneven, steeper) = moments(0.0), moments(2.0)
    assert uneven > 1.2 * usual
    assert steeper < falling - 0.1


def test_liking_and_exposure_are_strengthened_apart() -> None:
    """A world without the one is rated as one that never had it, at the same popularity."""

    def moments(**changes: float | str) -> tuple[float, float]:
        world = make_world(varied(TINY, **changes))
        return float(observed(world).mean()), gini(world.ratings.item_counts())

    usual, neither = moments(), moments(strength=0.0)
    unliked, unexposed = (moments(strength=0.0, bias=bias) for bias in ("liking", "exposure"))
    assert neither[0] < usual[0]
    assert unliked[0] == pytest.approx(neither[0], abs=0.15)
    assert unliked[1] > neither[1] + 0.1
    assert unexposed[0] >= usual[0]
    assert unexposed[1] < usual[1] - 0.1


def test_without_strength_ratings_are_a_random_sample() -> None:
    world = make_world(varied(TINY, strength=0.0))
    everything = world.truth.ratings(np.arange(TINY.n_users))
    standard_error = everything.std() / np.sqrt(TINY.n_ratings)
    assert observed(world).mean() == pytest.approx(everything.mean(), abs=4 * standard_error)


@pytest.mark.parametrize(("fill", "n_ratings"), [(0.5, 600), (1.0, 1200), (2.5, 3000)])
def test_so_much_is_rated_as_is_asked_for(fill: float, n_ratings: int) -> None:
    assert len(make_world(varied(TINY, fill=fill)).ratings) == n_ratings


@pytest.mark.slow
def test_ml_1m_has_the_size_activity_popularity_and_stars_of_movielens(large: World) -> None:
    ratings, counts = large.ratings, large.ratings.item_counts()
    assert (len(ratings.users), len(ratings.items), len(ratings)) == (6040, 3706, 1_000_209)
    assert ratings.user_counts().min() == 20
    assert gini(counts) == pytest.approx(0.634, abs=0.002)
    np.testing.assert_allclose(np.percentile(counts, [25, 50, 75]), [33, 124, 350], rtol=0.15)
    assert np.count_nonzero(counts) > 0.98 * 3706
    shares = np.bincount(ratings.rating.astype(int), minlength=6) / len(ratings)
    np.testing.assert_allclose(shares, [0, 0.056, 0.108, 0.261, 0.349, 0.226], atol=1e-5)


@pytest.mark.slow
def test_the_gini_asked_for_is_met() -> None:
    for target in (0.55, 0.7):
        world = make_world(varied(PRESETS["small"], gini=target))
        assert gini(world.ratings.item_counts()) == pytest.approx(target, abs=0.002)


@pytest.mark.slow
def test_exposure_ties_being_rated_to_popularity() -> None:
    agreement = []
    for exposure in (0.0, 0.5, 1.0, 2.0):
        world = make_world(varied(PRESETS["small"], exposure=exposure))
        counts = world.ratings.item_counts()
        agreement.append(float(spearmanr(world.truth.popularity, counts).statistic))
    assert agreement == sorted(agreement)
    assert abs(agreement[0]) < 0.1 < 0.7 < agreement[-1]


@pytest.mark.slow
def test_a_true_rating_is_the_mean_of_the_ratings_given(large: World) -> None:
    first_users = large.ratings.user < 1000
    user, item = large.ratings.user[first_users], large.ratings.item[first_users]
    true = large.truth.ratings(np.arange(1000))[user, item]
    bins = np.digitize(true, np.linspace(1.0, 5.0, 17)) - 1
    sizes = np.bincount(bins)
    given = np.bincount(bins, large.ratings.rating[first_users]) / sizes
    np.testing.assert_allclose(given, np.bincount(bins, true) / sizes, atol=0.05)


def test_true_ratings_do_not_depend_on_the_block(small: World) -> None:
    everything = small.truth.ratings(np.arange(600))
    users = np.array([599, 3, 3, 70])
    np.testing.assert_array_equal(small.truth.ratings(users), everything[users])


def precision_at_10(scores: NDArray[np.float64], split: Split) -> float:
    candidates = np.where(split.train.matrix().toarray() > 0, -np.inf, scores)
    relevant = split.test.matrix().toarray() >= 4.0
    return float(np.take_along_axis(relevant, top_items(candidates, depth=10), axis=1).mean())


@pytest.mark.slow
def test_taste_beats_popularity_and_popularity_beats_chance(small: World) -> None:
    split = user_random(small.ratings, seed=1)
    train = split.train.matrix().toarray()
    directions = np.linalg.svd(train, full_matrices=False)[2][:10]
    chance = np.random.default_rng(1).random(train.shape)
    popularity = np.tile(split.train.item_counts().astype(np.float64), (600, 1))
    by_chance, by_popularity, by_taste = (
        precision_at_10(scores, split)
        for scores in (chance, popularity, train @ directions.T @ directions)
    )
    assert by_chance < 0.02
    assert 0.08 < by_popularity < 0.2
    assert by_taste > 1.4 * by_popularity


def test_equal_settings_give_equal_worlds_on_any_number_of_threads() -> None:
    with threadpool_limits(1):
        one = make_world(TINY)
    with threadpool_limits(2):
        other = make_world(TINY)
    for column, same in zip(columns_of(one), columns_of(other), strict=True):
        np.testing.assert_array_equal(column, same)


def test_users_rate_in_sessions(small: World) -> None:
    times, user = small.ratings.time, small.ratings.user
    assert times is not None
    ordered = np.lexsort((times, user))
    gaps = np.diff(times[ordered])[np.diff(user[ordered]) == 0]
    assert np.mean(gaps < 3600) > 0.7
    assert np.mean((gaps > 3600) & (gaps < 43_200)) < 0.01


def test_a_truth_that_was_saved_is_loaded_as_it_was(tmp_path: Path) -> None:
    truth = make_world(TINY).truth
    (tmp_path / "truth.npz").write_bytes(truth.to_bytes())
    loaded = Truth.load(tmp_path / "truth.npz")
    assert loaded.to_bytes() == truth.to_bytes()
    users = np.arange(60)
    np.testing.assert_array_equal(loaded.ratings(users), truth.ratings(users))
    np.testing.assert_array_equal(loaded.popularity, truth.popularity)
    assert loaded.items.ids.tolist() == truth.items.ids.tolist()


def test_a_file_that_holds_no_truth_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.npz").write_bytes(b"not a truth")
    with pytest.raises(InputError, match="does not hold the truth of a world"):
        Truth.load(tmp_path / "other.npz")


def test_a_gini_out_of_reach_is_refused_with_what_is_in_reach() -> None:
    with pytest.raises(InputError, match=r"`gini` must be between 0\.\d+ and 0\.\d+ .* got 0\.99"):
        make_world(varied(TINY, gini=0.99))


def test_the_number_of_ratings_must_fit() -> None:
    with pytest.raises(ValidationError, match=r"between 300 .* and 12,000 .* got"):
        varied(TINY, n_ratings=12_001)
