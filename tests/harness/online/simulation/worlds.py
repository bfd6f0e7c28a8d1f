"""Small worlds and experiments."""

from typing import Any

from harness.online.simulation import (
    Arm,
    ClickWorld,
    ClickWorldSettings,
    ItemCosines,
    NeighbourModel,
    SimulatedExperiment,
    SimulationSettings,
    make_click_world,
    simulate,
)

FEW, MANY = NeighbourModel(ItemCosines(3)), NeighbourModel(ItemCosines(50))
ARMS = [
    Arm("few", FEW, weight=2.0),
    Arm("many", MANY, weight=2.0),
]


def small_world(**changes: Any) -> ClickWorld:
    """Make a world of 400 users and 300 items, with some settings changed."""
    small = {"n_users": 400, "n_items": 300, "topics": 8, "most_events": 100}
    return make_click_world(ClickWorldSettings(**(small | changes)))


def small_experiment(world: ClickWorld | None = None, **settings: Any) -> SimulatedExperiment:
    """Run three arms for three periods."""
    chosen = {"periods": 3} | settings
    return simulate(world or small_world(), ARMS, SimulationSettings(**chosen))
