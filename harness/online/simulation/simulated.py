"""The result of an experiment: its log, and the truth behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analyses.online.arms.arm_truth import Truth
from analyses.online.logs.events import Events
from analyses.online.logs.models import Models
from analyses.online.logs.slates import Slates
from harness.online.simulation.arms.logging_policy import LoggingPolicy, Lottery
from harness.online.simulation.arms.served_models import Recommender
from harness.online.simulation.arms.serving import Served, Shown, Stage
from harness.online.simulation.world.visits import Actions
from runs import Numbering

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SimulatedExperiment:
    """The log of an experiment, and the truth behind it.

    Parameters
    ----------
    slates
        What was shown, in the order of time, with clicks; with propensities if an arm draws its
        lists (1 for those that do not).
    chances
        Exact chance of each click, of shape (n_places,).
    events
        History and experiment, in the order of users and time; ``slate`` is that of a click.
    models
        When which version was live: one for each arm and period.
    assigned
        Arm of each user, int32 of shape (n_users,); -1 for users who could not come.
    shares
        Planned shares of the arms, adding up to 1.
    is_robot
        Of shape (n_users,).
    boundaries
        Where periods begin, and the last ends.
    truth
        What each arm earns, exactly.
    recommenders
        What was live, by arm and period: ``recommenders[arm][period]``.
    """

    slates: Slates
    chances: Floats
    events: Events
    models: Models
    assigned: NDArray[np.int32]
    shares: Floats
    is_robot: NDArray[np.bool_]
    boundaries: tuple[int, ...]
    truth: Truth
    recommenders: tuple[tuple[Recommender | Lottery, ...], ...]

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""
        return self.slates.arms

    @property
    def clicked_slates(self) -> Ints:
        """Number of the list that led to each event, of shape (n_events,); -1 for none."""
        return np.full(len(self.events), -1) if self.events.slate is None else self.events.slate


def experiment_of(
    stage: Stage, log: Actions, served: Sequence[Sequence[Served]]
) -> SimulatedExperiment:
    """Put what was served, ``served[period][arm]``, into the order of time."""
    shown = Shown.joined([lists for arms in served for part in arms for lists, _ in part.rounds])
    order = np.lexsort((shown.user, shown.time))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    shown = Shown(*(column[order] for column in vars(shown).values()))
    log = replace(log, slate=np.where(log.slate >= 0, place[log.slate], -1))
    log = log.select(np.lexsort((log.item, log.time, log.user)))
    models = _models(stage)
    earned = np.array([[part.earned for part in period] for period in served])
    rates, clicks = np.moveaxis(earned, (0, 1, 2), (2, 1, 0))
    return SimulatedExperiment(
        slates=_slates(stage, shown, models),
        chances=shown.chances.ravel(),
        events=stage.events(log),
        models=models,
        assigned=stage.assigned,
        shares=stage.shares,
        is_robot=stage.is_robot,
        boundaries=stage.settings.boundaries,
        truth=Truth(
            tuple(arm.name for arm in stage.arms),
            rates,
            clicks,
            _shown_rates(stage, shown),
            _people_by_period(stage, shown),
        ),
        recommenders=tuple(
            zip(*([part.policy for part in period] for period in served), strict=True)
        ),
    )


def _shown_rates(stage: Stage, shown: Shown) -> Floats:
    """Average the chances of a click in the lists of people, of shape (n_arms, n_periods)."""
    shape = (len(stage.arms), stage.settings.periods)
    people = ~stage.is_robot[shown.user]
    cells = np.ravel_multi_index((shown.arm[people], shown.period[people]), shape)
    chances = 1 - (1 - shown.chances[people]).prod(axis=1)
    sums, counts = (np.bincount(cells, w, minlength=np.prod(shape)) for w in (chances, None))
    rates = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return np.asarray(rates, dtype=np.float64).reshape(shape)


def _people_by_period(stage: Stage, shown: Shown) -> Ints:
    people = ~stage.is_robot[shown.user]
    pairs = np.unique(shown.period[people] * len(stage.users) + shown.user[people])
    return np.bincount(pairs // len(stage.users), minlength=stage.settings.periods)


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
    draws = any(isinstance(arm.model, LoggingPolicy) for arm in stage.arms)
    versions = Numbering.of(models.names)
    names = models.names[shown.arm * stage.settings.periods + shown.period]
    return Slates(
        stage.users,
        stage.world.items,
        tuple(arm.name for arm in stage.arms),
        np.array([f"r{number:09}" for number in range(1, len(shown) + 1)], dtype=np.str_),
        shown.user.astype(np.int32),
        shown.arm.astype(np.int32),
        shown.time,
        np.arange(len(shown) + 1) * depth,
        shown.items.ravel(),
        clicked=shown.clicked.ravel(),
        propensity=shown.propensities.ravel() if draws else None,
        versions=tuple(versions.ids.tolist()),
        version=versions.numbers(names),
    )
