"""Both sides of an experiment: offline values of the arms, and their rates; resampled, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.arms.replicates import draw_periods, poisson_weights, replicate_means
from analyses.online.clicks.click_result import Clicks, Known
from analyses.online.clicks.counting import count_clicks
from analyses.online.clicks.tallies import Tallies
from analyses.online.logs.read_log import Logs
from analyses.online.tables.experiment import Experiment
from analyses.recall.hidden_parts import VALIDATIONS, Validation
from analyses.recall.parametrisations import Parametrisation, recall_grid
from analyses.recall.recall import RecallGrid, measure_recall
from analyses.recall.stratification import MetricName, popularity_counts
from analyses.recall.user_recalls import errors_of_means, user_recalls
from qrels.interactions.held_out_users import split_users
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import HiddenRanks
from runs import Numbering
from runs.shared.progress import Progress

Floats = NDArray[np.float64]

Place = tuple[str, int]
"""An arm and its period, from 0."""

SHOWN_BETAS: Final = (0.0, 0.5, 1.0)
SHOWN_CUTOFF: Final = 5
"""The recall variants that are looked at closely: low, middle and high exponents."""


@dataclass(frozen=True, eq=False)
class Record:
    """A log, and the ranks of hidden items by the models that it served.

    The items of test users are hidden, whom no model learnt from. By arm and period there are
    ranks, and when the model became live, in milliseconds since 1970 in UTC. Planned shares of the
    arms may be known, and what else is: their settings, truth, remarks.
    """

    logs: Logs
    events: Interactions
    test_users: Numbering
    ranks: Mapping[Place, HiddenRanks]
    starts: Mapping[Place, int]
    shares: Mapping[str, float] | None
    known: Known


class ExperimentWork(Protocol):
    """What an analysis of an experiment may use; what takes time is made when it is asked for."""

    @property
    def name(self) -> str:
        """Name of the study."""

    @property
    def seed(self) -> int:
        """Key of all that is random."""

    @property
    def progress(self) -> Progress:
        """Shows what is being done."""

    def sides(self, settings: ArmSettings) -> BothSides:
        """Give both sides of the experiment, which analyses with equal settings share."""


@dataclass(frozen=True, eq=False)
class BothSides:
    """Offline values and click-through rates of the arms, from what is kept of an experiment."""

    record: Record
    settings: ArmSettings
    name: str
    seed: int
    progress: Progress

    @cached_property
    def counted(self) -> tuple[Clicks, Tallies]:
        """The online side: rates, and counts by user, arm and period."""
        question = self.settings.question(shares=self.record.shares)
        logs, known = self.record.logs, self.record.known
        return count_clicks(logs, question, progress=self.progress, known=known)

    @cached_property
    def counts(self) -> Mapping[Place, NDArray[np.intp]]:
        """How popular items were when the model of an arm and period learnt."""
        record, of = self.record, self.settings.popularity
        by_start = {}
        for start in set(record.starts.values()):
            before = record.events.select(record.events.time < start)
            by_start[start] = popularity_counts(split_users(before, record.test_users)[0], of=of)
        return {place: by_start[start] for place, start in record.starts.items()}

    @cached_property
    def grids(self) -> Mapping[Place, RecallGrid]:
        """All recall variants, by arm and period."""
        return {place: self._measured(place) for place in self.record.ranks}

    def _measured(self, place: Place, **changed: Any) -> RecallGrid:
        asked: dict[str, Any] = {"betas": self.settings.betas, "cutoffs": self.settings.cutoffs}
        how = replace(self.settings.stratification, **changed)
        if changed:
            asked["betas"] = (0.0,)
        ranks = self.record.ranks[place]
        return measure_recall(ranks, self.counts[place], stratification=how, **asked)

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms whose models were measured."""
        return tuple(dict.fromkeys(arm for arm, _ in self.record.ranks))

    @property
    def variants(self) -> tuple[Parametrisation, ...]:
        """The recall variants, which are the first measures."""
        asked = self.settings
        return recall_grid(betas=asked.betas, cutoffs=asked.cutoffs, weights=asked.weights)

    @property
    def columns(self) -> list[int]:
        """Numbers that the measured arms have in the log."""
        return [self.counted[0].arms.index(arm) for arm in self.arms]

    @cached_property
    def experiment(self) -> Experiment:
        """Both sides by arm: recalls, and other metrics at beta 0.

        Offline values are means over the periods (2.6).
        """
        settings, rates = self.settings, self.counted[0].chosen.rates
        kinds = list(product(settings.metrics, VALIDATIONS))
        others = [f"{of}({way})@{cutoff}" for of, way in kinds for cutoff in settings.cutoffs]
        means = [np.stack([self._mean(arm) for arm in self.arms], axis=1)]
        # What moves the recalls of all arms alike moves none past another.
        again = self.values_again - np.nanmean(self.values_again, axis=2, keepdims=True)
        errors = [np.nanstd(again, axis=0, ddof=1), *(self._errors_of(*kind) for kind in kinds)]
        return Experiment(
            self.name,
            self.arms,
            (*map(str, self.variants), *others),
            np.vstack(means),
            rates.rates[self.columns],
            np.vstack(errors),
            np.nan_to_num(rates.errors[self.columns]),
        )

    def _mean(self, arm: str) -> Floats:
        """Give the mean over the periods of each recall, and of the other metrics."""
        values = []
        for place in (place for place in self.record.ranks if place[0] == arm):
            grids = [self._measured(place, metric=metric) for metric in self.settings.metrics]
            values.append(np.concatenate([g.values.ravel() for g in (self.grids[place], *grids)]))
        return np.asarray(np.mean(values, axis=0))

    def _errors_of(self, metric: MetricName, validation: Validation) -> Floats:
        """Give errors over users of another metric, of shape (n_cutoffs, n_arms).

        They are those of a period in which all arms are measured, as users are the same in all.
        """
        ranks, cutoffs = self.record.ranks, self.settings.cutoffs
        for period in dict.fromkeys(period for _, period in ranks):
            whole = {arm: ranks[at] for arm in self.arms if (at := (arm, period)) in ranks}
            if len(whole) == len(self.arms):
                how = replace(self.settings.stratification, metric=metric)
                counts = self.counts[self.arms[0], period]
                asked: Any = {"validation": validation, "betas": [0.0], "cutoffs": cutoffs}
                return errors_of_means(whole, counts, stratification=how, **asked)[:, 0].T
        return np.zeros((len(cutoffs), len(self.arms)))

    @cached_property
    def periods(self) -> NDArray[np.int64]:
        """How often each period is drawn, of shape (n_periods, n_replicates)."""
        n_periods = len(self.counted[1].periods)
        return draw_periods(n_periods, replicates=self.settings.replicates, seed=self.seed)

    @cached_property
    def values_again(self) -> Floats:
        """Recalls of resampled users and periods, of shape (n_replicates, n_recalls, n_arms).

        NaN where no period of an arm was drawn.
        """
        shape = (self.periods.shape[1], 1)
        totals: dict[str, Any] = dict.fromkeys(self.arms, 0.0)
        drawn = {arm: np.zeros(shape) for arm in self.arms}
        for place in self.record.ranks:
            arm, period = place
            times = self.periods[period].reshape(shape)
            parts = [self._replicated(place, validation) for validation in VALIDATIONS]
            totals[arm] = totals[arm] + times * np.concatenate(parts, axis=1)
            drawn[arm] += times
        with np.errstate(invalid="ignore"):
            return np.stack([totals[arm] / drawn[arm] for arm in self.arms], axis=2)

    def _replicated(self, place: Place, validation: Validation) -> Floats:
        """Give the recalls of one model and validation, (n_replicates, n_betas * n_cutoffs)."""
        asked = self.settings
        blocks = list(
            user_recalls(
                self.record.ranks[place],
                self.counts[place],
                validation=validation,
                betas=asked.betas,
                cutoffs=asked.cutoffs,
                stratification=asked.stratification,
            )
        )
        users = np.concatenate([block.users for block in blocks])
        shares = np.concatenate([block.shares for block in blocks])
        wholes = np.concatenate([block.denominators for block in blocks])
        if asked.weights == "uniform":
            wholes = np.ones((len(users), 1))
        else:
            shares = (shares * wholes[:, :, np.newaxis]).astype(np.float32)
        return replicate_means(
            shares.reshape(len(users), -1),
            wholes,
            weigh=lambda number: poisson_weights(users, replicate=number, seed=self.seed),
            replicates=self.periods.shape[1],
        )

    @property
    def shown(self) -> Sequence[int]:
        """Numbers of the recalls with low, middle and high exponents at a common cut-off."""
        betas, cutoffs = self.settings.betas, self.settings.cutoffs
        cutoff = min(cutoffs, key=lambda k: abs(k - SHOWN_CUTOFF))
        chosen = {min(betas, key=lambda beta: abs(beta - shown)) for shown in SHOWN_BETAS}
        return [
            number
            for number, each in enumerate(self.variants)
            if each.cutoff == cutoff and each.beta in chosen
        ]
