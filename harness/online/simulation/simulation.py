"""A simulated experiment: arms serve lists, users click by known chances, models learn anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import joblib
import numpy as np
from analyses.online.clicks.rates import Truth
from analyses.online.logs.models import Models
from analyses.online.logs.slates import Events, Slates
from numpy.typing import NDArray

from harness.online.simulation.arms import Arm, Recommender, require_arms
from harness.online.simulation.click_world import ClickWorld
from harness.online.simulation.serving import Served, Shown, Stage
from harness.online.simulation.simulation_settings import SimulationSettings
from harness.online.simulation.visits import Actions
from runs import InputError, Numbering

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SimulatedExperiment:
    """The log of an experiment, and the truth behind it.

    Slates are in the order of time, with clicks; the exact chance of each click has the shape
    (n_places,). Events are history and experiment, in the order of users and time; ``slate`` is
    that of a click. There is one version for each arm and period. Users are assigned to arms, int32
    of shape (n_users,), in planned shares that add up to 1; boundaries are where periods begin, and
    the last ends. ``recommenders[arm][period]`` was live.
    """

    slates: Slates
    chances: Floats
    events: Events
    models: Models
    assigned: NDArray[np.int32]
    shares: Floats
    boundaries: tuple[int, ...]
    truth: Truth
    recommenders: tuple[tuple[Recommender, ...], ...]

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""
        return self.slates.arms

    @property
    def clicked_slates(self) -> Ints:
        """Number of the list that led to each event, of shape (n_events,); -1 for none."""
        return np.full(len(self.events), -1) if self.events.slate is None else self.events.slate


def simulate(
    world: ClickWorld,
    arms: Sequence[Arm],
    settings: SimulationSettings | None = None,
    *,
    test_users: Numbering | None = None,
    n_jobs: int = 1,
) -> SimulatedExperiment:
    """Run an experiment.

    At the beginning of each period all models learn from everything before. Users come, ask for
    lists, and get those of their arm's model for their profile at that moment: what they have
    interacted with is never shown. They click by the world's exact chances, within a minute; clicks
    enter their profile, as do the items that they choose unasked.

    All draws are keyed by what they are for. The same users come at the same times whatever the
    arms are, and nothing depends on how many arms are served at a time. No model learns from test
    users.

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
    >>> experiment.truth.expected.shape
    (2, 2)
    """
    settings = settings or SimulationSettings()
    require_arms(arms)
    stage = Stage.of(world, arms, settings, test_users)
    past = world.history()
    log = Actions.of(past.user, past.item, past.time, past.type)
    served: list[list[Served]] = []
    n_shown = 0
    for number in range(settings.periods):
        period = stage.period(log, number)
        parts: list[Served] = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
            joblib.delayed(stage.serve)(arm, period) for arm in range(len(arms))
        )
        firsts = n_shown + np.cumsum([0, *(part.n_shown for part in parts)])
        clicks = [
            replace(part.clicks, slate=part.clicks.slate + first)
            for part, first in zip(parts, firsts[:-1], strict=True)
        ]
        n_shown = int(firsts[-1])
        log = Actions.joined([log, period.visits.views, *clicks])
        served.append(parts)
    if n_shown == 0:
        raise InputError("nobody came to the experiment; it needs more users, visits or days.")
    return _experiment_of(stage, log, served)


def _experiment_of(
    stage: Stage, log: Actions, served: Sequence[Sequence[Served]]
) -> SimulatedExperiment:
    """Put what was served, ``served[period][arm]``, into the order of time."""
    shown = Shown.joined([lists for arms in served for part in arms for lists in part.shown])
    order = np.lexsort((shown.user, shown.time))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    shown = Shown(*(column[order] for column in vars(shown).values()))
    log = replace(log, slate=np.where(log.slate >= 0, place[log.slate], -1))
    log = log.select(np.lexsort((log.item, log.time, log.user)))
    models = _models(stage)
    return SimulatedExperiment(
        slates=_slates(stage, shown, models),
        chances=shown.chances.ravel(),
        events=stage.events(log),
        models=models,
        assigned=stage.assigned,
        shares=stage.shares,
        boundaries=stage.settings.boundaries,
        truth=_truth(stage, shown),
        recommenders=tuple(
            zip(*([part.model for part in period] for period in served), strict=True)
        ),
    )


def _truth(stage: Stage, shown: Shown) -> Truth:
    """Add up users, lists, and chances of a click or more, by arm and period."""
    shape = (len(stage.arms), stage.settings.periods)
    cells = np.ravel_multi_index((shown.arm, shown.period), shape)
    users, chances = np.unique(np.stack([cells, shown.user]), axis=1)[0], 1 - shown.chances
    parts = [(users, None), (cells, None), (cells, 1 - chances.prod(axis=1))]
    sums = [np.bincount(of, weights, minlength=np.prod(shape)) for of, weights in parts]
    names = tuple(arm.name for arm in stage.arms)
    return Truth(names, *(each.astype(np.float64).reshape(shape) for each in sums))


def _models(stage: Stage) -> Models:
    """Name a version for each arm and period."""
    n_arms, n_periods = len(stage.arms), stage.settings.periods
    names = [f"{arm.name} {number:03}" for arm in stage.arms for number in range(1, n_periods + 1)]
    boundaries = np.array(stage.settings.boundaries, dtype=np.int64)
    return Models(
        Numbering.of([arm.name for arm in stage.arms]),
        np.array(names, dtype=np.str_),
        np.repeat(np.arange(n_arms), n_periods).astype(np.int32),
        np.tile(boundaries[:-1], n_arms),
        np.tile(boundaries[1:], n_arms),
    )


def _slates(stage: Stage, shown: Shown, models: Models) -> Slates:
    depth = stage.settings.depth
    versions = Numbering.of(models.names)
    names = models.names[shown.arm * stage.settings.periods + shown.period]
    return Slates(
        stage.world.users,
        tuple(arm.name for arm in stage.arms),
        shown.user.astype(np.int32),
        shown.arm.astype(np.int32),
        shown.time,
        tuple(versions.ids.tolist()),
        versions.numbers(names),
        items=stage.world.items,
        ids=np.array([f"r{number:09}" for number in range(1, len(shown) + 1)], dtype=np.str_),
        first=np.arange(len(shown) + 1) * depth,
        item=shown.items.ravel(),
        clicked=shown.clicked.ravel(),
    )
