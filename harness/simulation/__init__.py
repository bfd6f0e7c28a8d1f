"""The simulated A/B test: a world of clicks, arms that serve it, and the truth."""

from harness.simulation.alternatives import lists_of_arm
from harness.simulation.arms import Arm
from harness.simulation.click_world import (
    NOW,
    ClickWorld,
    ClickWorldSettings,
    interactions_of,
    make_click_world,
)
from harness.simulation.experiment import SimulatedExperiment
from harness.simulation.logging_policy import LoggingPolicy
from harness.simulation.models import ItemCosines, Model, NeighbourModel, Recommender
from harness.simulation.settings import SimulationSettings
from harness.simulation.simulation import simulate
from harness.simulation.truth import Truth
from harness.simulation.writing import write_history, write_logs

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
    "make_click_world",
    "simulate",
    "write_history",
    "write_logs",
]
