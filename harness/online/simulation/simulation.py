"""A simulated experiment: arms serve lists, users click by known chances, models learn anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import joblib

from harness.online.simulation.arms.arms import Arm, require_arms
from harness.online.simulation.arms.serving import Served, Stage
from harness.online.simulation.simulated import SimulatedExperiment, experiment_of
from harness.online.simulation.world.click_world import ClickWorld
from harness.online.simulation.world.simulation_settings import SimulationSettings
from harness.online.simulation.world.visits import Actions
from runs import InputError, Numbering

BLOCK_USERS: Final = 4_096
"""Users served at a time, which changes nothing but the memory that is needed."""


def simulate(
    world: ClickWorld,
    arms: Sequence[Arm],
    settings: SimulationSettings | None = None,
    *,
    test_users: Numbering | None = None,
    n_jobs: int = 1,
    block_users: int = BLOCK_USERS,
) -> SimulatedExperiment:
    """Run an experiment.

    At the beginning of each period all models learn from everything before. Users come by the
    traffic of the hour, ask for lists, and get those of their arm's model for their profile at that
    moment: what they have interacted with is never shown. They click by the world's exact chances,
    within a minute; clicks enter their profile, as do the items that they choose unasked. Robots
    ask day and night, view at random, and are assigned and learnt from like everybody.

    All draws are keyed by what they are for. The same users come at the same times whatever the
    arms are, and nothing depends on blocks or workers.

    Parameters
    ----------
    world
        Users, items and chances.
    arms
        What is compared; names must differ.
    settings
        How it runs.
    test_users
        Users whom no model learns from, such as `qrels.interactions.test_users.draw_test_users`
        gives.
    n_jobs
        Arms served at a time, in threads or in what `joblib.parallel_config` says.
    block_users
        Users served at a time.

    Raises
    ------
    InputError
        If there is no arm, names are equal, weights are not positive, or a model's lists are short
        or hold an unknown item, one item twice, or what the user knows.

    Examples
    --------
    >>> from harness.online.simulation import *
    >>> world = make_click_world(ClickWorldSettings(n_users=200, n_items=200, most_events=60))
    >>> few, many = NeighbourModel(ItemCosines(5)), NeighbourModel(ItemCosines(50))
    >>> settings = SimulationSettings(periods=2)
    >>> experiment = simulate(world, [Arm("few", few), Arm("many", many)], settings)
    >>> experiment.truth.rates.shape
    (2, 2)
    """
    settings = settings or SimulationSettings()
    require_arms(arms)
    stage = Stage.of(world, arms, settings, test_users, block_users)
    log = stage.history
    served: list[list[Served]] = []
    n_shown = 0
    for number in range(settings.periods):
        period = stage.period(log, number)
        parts: list[Served] = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
            joblib.delayed(stage.serve)(arm, period) for arm in range(len(arms))
        )
        clicks: list[Actions] = []
        for part in parts:
            clicks += part.clicks(n_shown)
            n_shown += sum(len(shown) for shown, _ in part.rounds)
        log = Actions.joined([log, period.visits.views, *clicks])
        served.append(parts)
    if n_shown == 0:
        raise InputError("nobody came to the experiment; it needs more users, visits or days.")
    return experiment_of(stage, log, served)
