"""The simulated A/B test: a world of clicks, arms that serve it, and the truth."""

from analyses.online.arms.arm_truth import Truth
from harness.online.simulation.alternatives import lists_of_arm
from harness.online.simulation.arms.arms import Arm
from harness.online.simulation.arms.logging_policy import LoggingPolicy
from harness.online.simulation.arms.served_models import Model, NeighbourModel, Recommender
from harness.online.simulation.log_writing import log_files, write_history
from harness.online.simulation.simulated import SimulatedExperiment
from harness.online.simulation.simulation import simulate
from harness.online.simulation.world.click_world import (
    NOW,
    ClickWorld,
    ClickWorldSettings,
    interactions_of,
    make_click_world,
)
from harness.online.simulation.world.simulation_settings import SimulationSettings
from recommenders.kernels.neighbourhoods.item_cosines import ItemCosines

__all__ = [
    "NOW",
    "Arm",
    "ClickWorld",
    "ClickWorldSettings",
    "ItemCosines",
    "LoggingPolicy",
    "Model",
    "NeighbourModel",
    "Recommender",
    "SimulatedExperiment",
    "SimulationSettings",
    "Truth",
    "interactions_of",
    "lists_of_arm",
    "log_files",
    "make_click_world",
    "simulate",
    "write_history",
]
