"""Simulated worlds: users whose true rating of every item is known, and the few they gave."""

from qrels.ratings.world.drawn_world import make_world as make_world
from qrels.ratings.world.like_world import FittedWorld as FittedWorld
from qrels.ratings.world.like_world import LikeSettings as LikeSettings
from qrels.ratings.world.like_world import fit_world as fit_world
from qrels.ratings.world.like_world import like_settings as like_settings
from qrels.ratings.world.truth import Observation as Observation
from qrels.ratings.world.truth import Preferences as Preferences
from qrels.ratings.world.truth import Truth as Truth
from qrels.ratings.world.truth import World as World
from qrels.ratings.world.world_settings import PRESETS as PRESETS
from qrels.ratings.world.world_settings import WorldSettings as WorldSettings
from qrels.ratings.world.world_settings import world_settings as world_settings
