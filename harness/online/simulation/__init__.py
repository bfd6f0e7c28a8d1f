"""The simulated A/B test: a world of clicks, arms that serve it, and the truth."""

from harness.online.simulation.arms import (
    Arm,
    Lottery,
    Model,
    NeighbourModel,
    SystemModel,
)
from harness.online.simulation.click_world import (
    NOW,
    ClickWorld,
    ClickWorldSettings,
    interactions_of,
    make_click_world,
)
from harness.online.simulation.log_writing import log_files, write_history
from harness.online.simulation.simulation import SimulatedExperiment, lists_of_arm, simulate
from harness.online.simulation.simulation_settings import SimulationSettings
from recommenders.kernels.neighbourhoods.item_cosines import ItemCosines

__all__ = [
    "NOW",
    "Arm",
    "ClickWorld",
    "ClickWorldSettings",
    "ItemCosines",
    "Lottery",
    "Model",
    "NeighbourModel",
    "SimulatedExperiment",
    "SimulationSettings",
    "SystemModel",
    "interactions_of",
    "lists_of_arm",
    "log_files",
    "make_click_world",
    "simulate",
    "write_history",
]
