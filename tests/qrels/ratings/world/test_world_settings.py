"""Settings of simulated worlds: defaults, bounds and presets."""

import pytest
from pydantic import ValidationError

from qrels.ratings.world import PRESETS, LikeSettings, WorldSettings, world_settings
from runs import InputError
from tests.described import described

SHARED = {
    "exposure": "1.0; >= 0.0; <= 2.0",
    "strength": "1.0; >= 0.0; <= 10.0",
    "bias": "both",
    "fill": "1.0; > 0.0",
    "seed": "1; >= 0",
}


def test_settings_have_the_defaults_and_bounds_that_are_stated() -> None:
    assert described(WorldSettings) == {
        **SHARED,
        "n_users": "required; >= 2",
        "n_items": "required; >= 2",
        "n_ratings": "required; >= 2",
        "min_ratings": "5; >= 1",
        "gini": "0.6; > 0.0; < 1.0",
        "liking": "1.5; >= 0.0; <= 5.0",
        "familiarity": "0.0; >= 0.0; <= 10.0",
        "dimensions": "16; >= 1; <= 200",
        "noise": "0.6; >= 0.1; <= 5.0",
    }
    assert described(LikeSettings) == {
        **SHARED,
        "liking": "1.0; >= 0.0; <= 5.0",
        "familiarity": "1.0; >= 0.0; <= 2.0",
    }


def test_presets_have_the_sizes_of_movielens() -> None:
    facts = {
        name: (w.n_users, w.n_items, w.n_ratings, w.min_ratings, w.gini, w.liking, w.familiarity)
        for name, w in PRESETS.items()
    }
    assert facts == {
        "small": (600, 1_000, 40_000, 20, 0.58, 1.5, 0.0),
        "ml-1m": (6_040, 3_706, 1_000_209, 20, 0.634, 0.9, 2.0),
        "ml-10m": (69_878, 10_677, 10_000_054, 20, 0.75, 1.5, 0.0),
        "ml-25m": (162_541, 59_047, 25_000_095, 20, 0.85, 1.5, 0.0),
    }


def test_the_small_world_is_the_preset_that_is_changed_if_none_is_named() -> None:
    assert world_settings(None, {}) == PRESETS["small"]
    changed = world_settings("ml-1m", {"seed": 3})
    assert (changed.seed, changed.n_users) == (3, 6_040)
    with pytest.raises(InputError, match="there is no preset 'smal'; did you mean 'small'"):
        world_settings("smal", {})


def sized(n_users: int, n_items: int, n_ratings: int, **others: float | int) -> WorldSettings:
    sizes = {"n_users": n_users, "n_items": n_items, "n_ratings": n_ratings}
    return WorldSettings.model_validate({**sizes, "min_ratings": 2, **others})


def test_ratings_are_as_many_as_users_need_and_pairs_allow() -> None:
    for n_ratings in (20, 50):
        assert sized(10, 5, n_ratings).n_ratings == n_ratings
    for n_ratings in (19, 51):
        with pytest.raises(ValidationError, match=r"`n_ratings` must be between 20 .* and 50 "):
            sized(10, 5, n_ratings)


def test_a_share_of_the_ratings_must_fit_too() -> None:
    assert sized(10, 5, 40, fill=0.5).n_observed == 20
    assert sized(10, 5, 25, fill=1.1).n_observed == 28
    assert sized(10, 5, 40, fill=1.25).n_observed == 50
    for fill in (0.4, 1.3):
        with pytest.raises(ValidationError, match="`n_ratings` times `fill` must be between 20"):
            sized(10, 5, 40, fill=fill)


def test_ten_thousand_million_pairs_are_the_most() -> None:
    assert sized(100_000, 100_000, 1_000_000).n_users == 100_000
    with pytest.raises(ValidationError, match="must be at most 10,000,000,000, got 10,000,100,000"):
        sized(100_000, 100_001, 1_000_000)


@pytest.mark.parametrize(
    ("bias", "exposure", "liking"),
    [("both", 3.0, 3.0), ("exposure", 3.0, 1.0), ("liking", 1.0, 3.0)],
)
def test_strength_multiplies_the_bias_that_is_named(
    bias: str, exposure: float, liking: float
) -> None:
    world = world_settings(None, {"bias": bias, "strength": 3.0})
    assert (world.exposure_strength, world.liking_strength) == (exposure, liking)


def test_worlds_are_usual_where_nothing_is_strengthened_or_filled() -> None:
    assert world_settings(None, {"exposure": 0.5}).is_usual
    assert not world_settings(None, {"strength": 0.5}).is_usual
    assert not world_settings(None, {"fill": 0.5}).is_usual
    assert LikeSettings(liking=2.0).is_usual
    for changes in ({"exposure": 0.5}, {"familiarity": 0.5}, {"strength": 0.5}, {"fill": 0.5}):
        assert not LikeSettings.model_validate(changes).is_usual
