"""Small worlds and experiments."""

from typing import Any

from harness.online import (
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

ARMS = [
    Arm("few", NeighbourModel(ItemCosines(neighbours=3))),
    Arm("many", NeighbourModel(ItemCosines(neighbours=50))),
]


def small_world(**changes: Any) -> ClickWorld:
    """Make a world of 400 users and 300 items, with some settings changed."""
    small = {"n_users": 400, "n_items": 300, "topics": 8, "most_events": 100}
    return make_click_world(ClickWorldSettings(**(small | changes)))


def small_experiment(world: ClickWorld | None = None, **settings: Any) -> SimulatedExperiment:
    """Run two arms for three periods."""
    chosen = {"periods": 3} | settings
    return simulate(world or small_world(), ARMS, SimulationSettings(**chosen))
