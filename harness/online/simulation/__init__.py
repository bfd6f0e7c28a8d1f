"""The simulated A/B test: a world of clicks, arms that serve it, and the truth."""

from harness.online.simulation.arms import (
    Arm,
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
from harness.online.simulation.simulation import SimulatedExperiment, simulate
from harness.online.simulation.simulation_settings import SimulationSettings
from recommenders.kernels.neighbours import ItemCosines

__all__ = [
    "NOW",
    "Arm",
    "ClickWorld",
    "ClickWorldSettings",
    "ItemCosines",
    "Model",
    "NeighbourModel",
    "SimulatedExperiment",
    "SimulationSettings",
    "SystemModel",
    "interactions_of",
    "log_files",
    "make_click_world",
    "simulate",
    "write_history",
]
