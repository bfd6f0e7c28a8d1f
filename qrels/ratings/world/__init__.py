"""Simulated worlds: users whose true rating of every item is known, and the few they gave."""

from qrels.ratings.world.drawn_world import make_world
from qrels.ratings.world.like_world import FittedWorld, LikeSettings, fit_world, like_settings
from qrels.ratings.world.truth import Observation, Preferences, Truth, World
from qrels.ratings.world.world_settings import PRESETS, WorldSettings, world_settings

__all__ = [
    "PRESETS",
    "FittedWorld",
    "LikeSettings",
    "Observation",
    "Preferences",
    "Truth",
    "World",
    "WorldSettings",
    "fit_world",
    "like_settings",
    "make_world",
    "world_settings",
]
