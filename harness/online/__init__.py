"""The simulated A/B test: a world of clicks, arms that serve it, the log and the truth."""

from harness.online.arm_models import Model, NeighbourModel, SystemModel
from harness.online.click_world import NOW, ClickWorld, ClickWorldSettings, make_click_world
from harness.online.simulation import (
    Arm,
    SimulatedExperiment,
    SimulationSettings,
    simulate,
    write_history,
)
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
    "make_click_world",
    "simulate",
    "write_history",
]
