"""Offline values of every arm in every period, from the ranks of hidden items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.agreement.measure_names import Parametrisation, recall_grid
from analyses.online.agreement.replicated_means import replicate_means
from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.clicks.poisson_bootstrap import poisson_weights
from analyses.recall.hidden_parts import VALIDATIONS, Validation
from analyses.recall.recall import RecallGrid, measure_recall
from analyses.recall.stratification import Popularity, popularity_counts
from analyses.recall.user_recalls import user_recalls
from qrels.interactions.interactions import Interactions
from qrels.interactions.test_users import split_users
from qrels.ranks.hidden_ranks import HiddenRanks
from runs import Numbering
from runs.shared.streams import random_uniforms

Floats = NDArray[np.float64]
Place = tuple[str, int]
"""An arm and its period, from 0."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Offline values of arms.

    Parameters
    ----------
    arms
        Those that were measured.
    grids
        Recalls by arm and period.
    others
        Other metrics by arm and period, each of shape (n_others,).
    other_names
        Their names.
    settings
        What was measured.
    """

    arms: tuple[str, ...]
    grids: Mapping[Place, RecallGrid]
    others: Mapping[Place, Floats]
    other_names: tuple[str, ...]
    settings: ArmSettings

    @property
    def parametrisations(self) -> tuple[Parametrisation, ...]:
        """The recall variants, in the order of the values."""
        asked = self.settings
        return recall_grid(betas=asked.betas, cutoffs=asked.cutoffs, weights=asked.weights)

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of all measures: the recall variants, then the others."""
        return (*map(str, self.parametrisations), *self.other_names)

    def of_arm(self, arm: str) -> Floats:
        """Give the mean over the periods of each measure (2.6), of shape (n_measures,)."""
        values = [
            np.concatenate([grid.values.ravel(), self.others[place]])
            for place, grid in self.grids.items()
            if place[0] == arm
        ]
        return np.asarray(np.mean(values, axis=0))

    @property
    def values(self) -> Floats:
        """Of shape (n_measures, n_arms)."""
        return np.stack([self.of_arm(arm) for arm in self.arms], axis=1)


def measure_arms(
    ranks: Mapping[Place, HiddenRanks],
    counts: Mapping[Place, NDArray[np.integer]],
    settings: ArmSettings,
) -> Measured:
    """Measure all recall variants, and other metrics at beta 0, of every arm in every period.

    Counts say how popular items were when a model learnt, of shape (n_items,).
    """
    grids = {
        place: measure_recall(
            of_place,
            counts[place],
            betas=settings.betas,
            cutoffs=settings.cutoffs,
            stratification=settings.stratification,
        )
        for place, of_place in ranks.items()
    }
    names = tuple(
        f"{metric}({validation})@{cutoff}"
        for metric, validation, cutoff in product(settings.metrics, VALIDATIONS, settings.cutoffs)
    )
    others = {place: _others(ranks[place], counts[place], settings) for place in ranks}
    arms = tuple(dict.fromkeys(arm for arm, _ in ranks))
    return Measured(arms, grids, others, names, settings)


def _others(ranks: HiddenRanks, counts: NDArray[np.integer], settings: ArmSettings) -> Floats:
    """Measure other metrics of the same ranks, of shape (n_others,)."""
    values = [
        measure_recall(
            ranks,
            counts,
            betas=[0.0],
            cutoffs=settings.cutoffs,
            stratification=replace(settings.stratification, metric=metric),
        ).values
        for metric in settings.metrics
    ]
    return np.concatenate([np.empty(0), *(each.ravel() for each in values)])


def replicate_values(
    ranks: Mapping[Place, HiddenRanks],
    counts: Mapping[Place, NDArray[np.integer]],
    settings: ArmSettings,
    *,
    periods: NDArray[np.int64],
    seed: int,
) -> Floats:
    """Measure the recall variants again for resampled users and periods.

    Weights of users are those of resampled click-through rates with the same seed. How often each
    period was drawn, `draw_periods` says.

    Returns
    -------
    Of shape (n_replicates, n_parametrisations, n_arms), means over the periods; NaN where no
    period of an arm was drawn.
    """
    arms = list(dict.fromkeys(arm for arm, _ in ranks))
    shape = (periods.shape[1], 1)
    totals: dict[str, Any] = dict.fromkeys(arms, 0.0)
    drawn = {arm: np.zeros(shape) for arm in arms}
    for (arm, period), of_place in ranks.items():
        parts = [
            _replicated(of_place, counts[arm, period], settings, each, periods.shape[1], seed)
            for each in VALIDATIONS
        ]
        times = periods[period].reshape(shape)
        totals[arm] = totals[arm] + times * np.concatenate(parts, axis=1)
        drawn[arm] += times
    with np.errstate(invalid="ignore"):
        return np.stack([totals[arm] / drawn[arm] for arm in arms], axis=2)


def draw_periods(n_periods: int, *, replicates: int, seed: int, fixed: bool) -> NDArray[np.int64]:
    """Draw as many periods as there are, with replacement, or take each once.

    Returns
    -------
    How often each was drawn, of shape (n_periods, n_replicates).

    Examples
    --------
    >>> draw_periods(3, replicates=2, seed=1, fixed=False).sum(axis=0).tolist()
    [3, 3]
    """
    if fixed:
        return np.ones((n_periods, replicates), dtype=np.int64)
    counts = np.empty((n_periods, replicates), dtype=np.int64)
    for replicate in range(replicates):
        luck = random_uniforms(np.arange(n_periods), seed, "periods", replicate)
        drawn = np.minimum((luck * n_periods).astype(np.int64), n_periods - 1)
        counts[:, replicate] = np.bincount(drawn, minlength=n_periods)
    return counts


def _replicated(
    ranks: HiddenRanks,
    counts: NDArray[np.integer],
    settings: ArmSettings,
    validation: Validation,
    replicates: int,
    seed: int,
) -> Floats:
    """Give the recalls of one model and validation, (n_replicates, n_betas * n_cutoffs)."""
    blocks = list(
        user_recalls(
            ranks,
            counts,
            validation=validation,
            betas=settings.betas,
            cutoffs=settings.cutoffs,
            stratification=settings.stratification,
        )
    )
    users = np.concatenate([block.users for block in blocks])
    shares = np.concatenate([block.shares for block in blocks])
    wholes = np.concatenate([block.denominators for block in blocks])
    if settings.weights == "uniform":
        wholes = np.ones((len(users), 1))
    else:
        shares = (shares * wholes[:, :, np.newaxis]).astype(np.float32)
    return replicate_means(
        shares.reshape(len(users), -1),
        wholes,
        weigh=lambda replicate: poisson_weights(users, replicate=replicate, seed=seed),
        replicates=replicates,
    )


def counts_before(
    events: Interactions, start: int, *, test_users: Numbering, popularity: Popularity
) -> NDArray[np.intp]:
    """Count how popular items were among the training users before a time, of shape (n_items,)."""
    train, _ = split_users(events.select(events.time < start), test_users)
    return popularity_counts(train, of=popularity)
