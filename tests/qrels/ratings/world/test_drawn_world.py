"""Worlds that are drawn: who rates what, how, and when."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from qrels import Ratings, Split
from qrels.ratings.ratings import renumber
from qrels.ratings.splits.user_random import user_random
from qrels.ratings.world import (
    PRESETS,
    Preferences,
    Truth,
    World,
    WorldSettings,
    drawn_world,
    make_world,
)
from qrels.ratings.world.drawn_world import (
    Appeal,
    Exposure,
    PopularityBands,
    _activity,
    _bisect,
    _draw_familiarity,
    _draw_preferences,
    _selection_cuts,
    _standardised,
    mark_chosen_items,
    rate_pairs,
    rating_times,
    signed_power,
    unit_norm,
)
from qrels.ratings.world.moments import Moments
from runs import InputError, Numbering, top_items

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


class Luck:
    """A generator of numbers that are given, one array at a time."""

    def __init__(self, *shares: list[float]) -> None:
        self.shares = iter(shares)

    def random(self, n: int) -> NDArray[np.float64]:
        numbers = np.array(next(self.shares))
        assert len(numbers) == n
        return numbers

    def uniform(self, low: float, high: float, n: int) -> NDArray[np.float64]:
        return low + (high - low) * self.random(n)


def test_times_are_of_sessions_at_an_interval_of_the_user() -> None:
    """User 0 joined in 2000, and comes back each day; user 1 in the middle, and after 60 days.

    User 0 has 31 ratings, so two sessions; items 1 and 2 were not there at first: item 1 appears
    in the middle of three years, and item 2 at nine tenths of thirty years before the end, which
    is before the opening.
    """
    year, day = 365 * 86_400, 86_400
    opening = 946_684_800
    user = np.repeat(np.array([0, 1], dtype=np.int32), [31, 1])
    item = np.zeros(32, dtype=np.int32)
    item[1], item[2] = 1, 2
    luck: Any = Luck(
        [0.0, 0.5],  # when users joined
        [0.0, 1.0],  # their intervals: 60 to the power of it, in days
        [0.0, 0.95, 0.9],  # when items appear, from 27 years before the opening on
        [0.4] * 30 + [0.6, 0.9],  # which session, as a share of them
        [0.5] * 31 + [0.25],  # when in the session
    )
    found = rating_times(user, item, np.array([31, 1]), 3, luck)
    released = opening + 1.5 * year
    late = np.ceil(1.5 * year / day)
    assert released == opening + 47_304_000
    first = opening + 30 * 29 * 0.5
    assert found[0] == int(first)
    assert found[1] == opening + late * day + 15
    assert found[2] == int(first)
    assert found[30] == opening + day + 15
    assert found[31] == int(opening + 1.5 * year + 30 * 0.25)


def test_a_user_has_no_session_after_the_end() -> None:
    """Joined 10 days before the end with an interval of 60 days: one session, however many."""
    luck: Any = Luck([1 - 10 / 1095], [1.0], [0.0], [0.99] * 100, [0.0] * 100)
    user, item = np.zeros((2, 100), dtype=np.int32)
    found = rating_times(user, item, np.array([100]), 1, luck)
    assert set(found.tolist()) == {946_684_800 + 1085 * 86_400}


def test_the_items_of_highest_appeal_are_chosen() -> None:
    rng = np.random.default_rng(1)
    appeal, exposure = rng.normal(size=(130, 9)), rng.normal(size=9)
    counts = rng.integers(1, 10, 130)
    for given in (0.0, exposure):
        ranks = np.argsort(np.argsort(-(appeal + given), axis=1), axis=1)
        expected = ranks < counts[:, np.newaxis]
        assert mark_chosen_items(appeal, counts, given).tolist() == expected.tolist()


def test_a_rating_is_a_step_higher_for_each_cut_that_is_reached() -> None:
    preferences = Preferences(*np.zeros((2, 1, 1)), *np.zeros((2, 1)))
    truth = Truth(
        Numbering.of("u"),
        Numbering.of("abcd"),
        preferences,
        np.zeros(4),
        np.array([0.0, 1.0]),
        1.0,
        scale=np.array([1.0, 2.5, 4.0]),
    )
    user, item = np.zeros(4, dtype=np.int32), np.arange(4, dtype=np.int32)
    ratings = rate_pairs(
        truth, user, item, np.array([-0.1, 0.0, 0.9, 1.0]), np.random.default_rng(1)
    )
    assert ratings.rating.tolist() == [1, 2.5, 2.5, 4]
    assert ratings.time is not None


def test_bands_hold_items_that_are_about_twice_as_often_rated() -> None:
    """Items of 1, 2, 3, 9 and 8 ratings: no item has 4 to 7."""
    counts = [1, 2, 3, 9, 8]
    user = np.concatenate([np.arange(n, dtype=np.int32) for n in counts])
    item = np.repeat(np.arange(5, dtype=np.int32), counts)
    order = np.lexsort((item, user))
    names, users = Numbering.of("vwxyz"), Numbering.of("abcdefghi")
    bands = PopularityBands.of(Ratings(users, names, user[order], item[order], np.ones(23)))
    assert bands.item_counts.tolist() == counts
    assert bands.band.tolist() == [0, 1, 1, 2, 2]
    assert bands.rated[[0, 1, 2, 8]].tolist() == [[1, 2, 2], [0, 2, 2], [0, 1, 2], [0, 0, 1]]


def test_cuts_are_in_the_middle_and_not_far_from_the_key_above() -> None:
    keys = np.array([[3.0, 1.0, 2.5, 9.0]] * 5)
    cuts = _selection_cuts(keys, np.array([2, 1, 0, 4, 3]))
    assert cuts.tolist() == [2.75, 8.0, 10.0, 0.0, 1.75]


@pytest.mark.parametrize("sweeps", [0, 1, 8])
def test_exposure_explains_how_many_items_of_each_band_users_rate(sweeps: int) -> None:
    """And, the more sweeps, by how many users items are rated."""
    real = make_world(TINY).ratings
    real = real.select((real.item_counts() > 0)[real.item])
    real = renumber(real)
    bands = PopularityBands.of(real)
    appeal = np.random.default_rng(2).gumbel(size=(len(real.users), len(real.items)))
    start = np.zeros(len(real.items))
    exposure = Exposure.fit(appeal, bands, start, sweeps=sweeps)
    keys = appeal + exposure.popularity + exposure.leaning[:, bands.band]
    chosen = mark_chosen_items(keys, real.user_counts())
    found = np.zeros_like(bands.rated)
    user, item = np.nonzero(chosen)
    np.add.at(found, (user, bands.band[item]), 1)
    assert found.tolist() == bands.rated.tolist()
    np.testing.assert_allclose(exposure.leaning.mean(axis=0), 0, atol=1e-12)
    missed = np.abs(chosen.sum(axis=0) - bands.item_counts).sum() / len(real)
    assert missed < {0: 1.0, 1: 0.5, 8: 0.06}[sweeps]


def test_deviates_are_scaled_and_raised() -> None:
    assert unit_norm(np.array([3.0, 4.0])).tolist() == [0.6, 0.8]
    np.testing.assert_allclose(
        signed_power(np.array([1.0, -2.0]), 2.0), np.array([1, -4]) / np.sqrt(17 / 2)
    )
    np.testing.assert_allclose(_standardised(np.array([1.0, 3.0])), [-1, 1])
    assert _standardised(np.array([2.0, 2.0])).tolist() == [0, 0]


def test_tastes_have_variance_1_and_the_first_dimensions_weigh_more() -> None:
    """Weights fall with the root of the dimension; biases spread by 0.5 and by 0.8."""
    settings = varied(TINY, n_users=4000, n_items=3000, n_ratings=20_000, dimensions=4)
    found = _draw_preferences(settings, np.random.default_rng(1))
    spread = found.user_factors.std(axis=0)
    np.testing.assert_allclose(spread**2, np.array([1, 1 / 2, 1 / 3, 1 / 4]) / (25 / 12), rtol=0.1)
    np.testing.assert_allclose(found.item_factors.std(axis=0), 1, rtol=0.05)
    assert found.generosity.std() == pytest.approx(0.5, rel=0.05)
    assert found.quality.std() == pytest.approx(0.8, rel=0.05)


def test_users_know_of_items_of_eight_kinds_and_light_users_of_famous_ones() -> None:
    settings = varied(TINY, n_users=3000, n_items=2000, n_ratings=15_000, familiarity=2.0)
    counts = np.tile(np.array([5, 20]), 1500)
    famous = np.linspace(-1, 1, 2000)
    known = _draw_familiarity(settings, counts, famous, np.random.default_rng(1))
    assert known.user_factors.shape == (3000, 9)
    assert known.item_factors.shape == (2000, 9)
    kinds = (known.user_factors[:, :8] ** 2).mean(axis=0)
    weights = np.arange(1, 9.0) ** -2
    np.testing.assert_allclose(kinds, 4 * weights / weights.sum(), rtol=0.15)
    leaning = known.user_factors[:, 8]
    assert leaning[:2].tolist() == pytest.approx([0.5, -0.5])
    np.testing.assert_allclose(known.item_factors[:, 8], famous / famous.std())
    places = known.item_factors[:, :8]
    assert (places**2).mean() == pytest.approx(1)
    drawn = np.random.default_rng(1)
    drawn.standard_normal((3000, 8))
    deviates = drawn.standard_normal((2000, 8))
    raised = np.sign(deviates) * np.abs(deviates) ** 1.7
    np.testing.assert_allclose(places, raised / np.sqrt((raised**2).mean()))
    nothing = _draw_familiarity(varied(TINY), counts, famous, np.random.default_rng(1))
    assert not nothing.user_factors.any()


@pytest.mark.parametrize("n_ratings", [300, 1200, 11_000, 12_000])
def test_activity_is_the_least_and_a_scaled_tail_up_to_all_items(n_ratings: int) -> None:
    tail = np.random.default_rng(1).standard_normal(60) ** 2
    counts = _activity(TINY, tail, n_ratings)
    assert counts.sum() == n_ratings
    assert counts.min() >= 5
    assert counts.max() <= 200
    within = (counts > 8) & (counts < 195)
    scales = (counts[within] - 5) / tail[within]
    errors = 1 / tail[within]
    middle = np.median(scales) if within.any() else 0.0
    assert (np.abs(scales - middle) <= 2 * errors).all()


def test_a_function_is_halved_to_its_zero() -> None:
    tried: list[float] = []

    def excess(at: float) -> float:
        tried.append(at)
        return at - 3.0

    assert _bisect(excess, 16.0, tolerance=0.5) == 3.0
    assert tried == [8.0, 4.0, 2.0, 3.0]
    assert _bisect(excess, 16.0, tolerance=1.0) == 4.0


def test_the_stars_of_a_usual_world_have_the_shares_of_movielens() -> None:
    """Of 1200: cut at 67.2, 196.8, 510 and 928.8 ratings, rounded."""
    stars = make_world(TINY).ratings.rating.astype(int)
    assert np.bincount(stars, minlength=6).tolist() == [0, 67, 130, 313, 419, 271]


def test_everything_that_is_observed_is_strengthened() -> None:
    users = np.arange(60)
    plain = varied(TINY, familiarity=1.0)
    usual = make_world(plain).observation
    assert usual.liking == 1.5
    both = make_world(varied(plain, strength=2.0)).observation
    np.testing.assert_allclose(both.block(users), 2 * usual.block(users))
    known = make_world(varied(plain, strength=2.0, bias="exposure")).observation
    np.testing.assert_allclose(known.familiarity.block(users), 2 * usual.familiarity.block(users))
    assert known.liking == 1.5
    exposed = make_world(varied(TINY, exposure=0.5))
    quality = exposed.observation.familiarity.quality
    np.testing.assert_allclose(quality, exposed.truth.popularity / 2)


def test_luck_is_that_of_gumbel() -> None:
    """Appeal less what is observed has the mean 0.577 and the variance 1.645 of Gumbel's law."""
    observation = make_world(TINY).observation
    appeal = Appeal(observation, np.random.SeedSequence(1))
    blocks = [*appeal.blocks()]
    assert [rows.start for rows, _ in blocks] == [0]
    luck = blocks[0][1] - observation.block(slice(0, 64))
    assert luck.mean() == pytest.approx(0.5772, abs=0.05)
    assert luck.var() == pytest.approx(1.645, abs=0.1)
    np.testing.assert_array_equal(next(iter(appeal.blocks()))[1], blocks[0][1])
    user, item = appeal.choose_pairs(np.full(60, 3))
    assert np.bincount(user).tolist() == [3] * 60
    best = np.argsort(-blocks[0][1][5])[:3]
    assert sorted(best.tolist()) == item[user == 5].tolist()


def test_popularity_is_found_among_the_first_users_as_many_as_may_be_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 200 items: 64 users are held at a time, and 128 where 25,600 pairs are."""
    settings = varied(TINY, n_users=200, n_ratings=4000)
    appeal = Appeal(make_world(settings).observation, np.random.SeedSequence(1))
    for most, n_held in ((1, 64), (25_599, 64), (25_600, 128), (100_000_000, 200)):
        monkeypatch.setattr(drawn_world, "MAX_PAIRS_AT_ONCE", most)
        assert len(appeal.of_first_users()) == n_held


def test_the_gini_of_a_small_world_is_met_by_a_power_of_fame() -> None:
    world = make_world(TINY)
    assert gini(world.ratings.item_counts()) == pytest.approx(0.6, abs=0.0011)
    again = make_world(varied(TINY, gini=0.7)).truth.popularity
    ratio = again / world.truth.popularity
    np.testing.assert_allclose(ratio, ratio[0])
    assert ratio[0] > 1
