"""The arms of an experiment: what is measured of them, and both sides that are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from analyses.online.clicks import Clicks, Duration, Known, Question, count_clicks
from analyses.online.experiments import Experiment
from analyses.online.logs import Credit, Logs
from analyses.online.rates import OverTime
from analyses.recall.parametrisations import (
    VALIDATIONS,
    Parametrisation,
    RecallSettings,
    Validation,
    recall_grid,
)
from analyses.recall.recall import RecallGrid, errors_of_means, measure_recall
from analyses.recall.stratification import MetricName, Stratification, Weights, popularity_counts
from analyses.shared.analysis import AnalysisSettings
from qrels.interactions.held_out_users import split_users
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import HiddenRanks
from runs import Numbering
from runs.shared.progress import Progress
from runs.shared.settings import Whole

Floats = NDArray[np.float64]

Place = tuple[str, int]
"""An arm and its period, from 0."""

SHOWN_CUTOFF: Final = 5
"""Of the recall variants that are looked at closely, with low, middle and high exponents."""


class ArmSettings(RecallSettings, AnalysisSettings):
    """How the arms of an experiment are compared: all analyses of it share these settings."""

    weights: Weights = Field("uniform", description="Of the users whose items are hidden.")
    metrics: tuple[Literal["RR", "nDCG"], ...] = Field(
        ("RR", "nDCG"), description="Other metrics of the same ranks, at beta 0."
    )
    window: Duration | None = Field(
        None,
        description="How soon after a list what its user does counts as a click: '30 min'. By "
        "default clicks name their list.",
    )
    credit: Credit = Field("all", description="Lists that an event credits.")
    over_time: OverTime = Field("thesis", description="How rates of periods are averaged.")
    robots_per_day: Whole | None = Field(
        None, ge=1, description="Users with more lists in a day are robots and left out."
    )
    permutations: Whole = Field(10_000, ge=1, description="Orders of the rates.")

    @model_validator(mode="after")
    def _credits_a_window(self) -> ArmSettings:
        if self.window is None and self.credit != "all":
            raise ValueError("`credit` applies to a `window`, not to clicks that name their list")
        return self

    @property
    def stratification(self) -> Stratification:
        """How hidden items are weighed."""
        return self.stratified(self.weights)

    def question(self, *, shares: Mapping[str, float] | None) -> Question:
        """Ask the same of a log as the command `clicks`."""
        return Question(
            window=self.window,
            explicit=self.window is None,
            credit=self.credit,
            over_time=self.over_time,
            robots=self.robots_per_day,
            shares=shares,
        )


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
    def counted(self) -> Clicks:
        """The online side."""
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
        return [self.counted.arms.index(arm) for arm in self.arms]

    @cached_property
    def experiment(self) -> Experiment:
        """Both sides by arm: recalls, and other metrics at beta 0.

        Offline values are means over the periods (2.6).
        """
        settings, rates = self.settings, self.counted.chosen.rates
        kinds = list(product(settings.metrics, VALIDATIONS))
        others = [f"{of}({way})@{cutoff}" for of, way in kinds for cutoff in settings.cutoffs]
        means = np.stack([self._mean(arm) for arm in self.arms], axis=1)
        recalls = [self.errors_of(way, settings.betas) for way in VALIDATIONS]
        errors = [self.errors_of(way, [0.0], metric=metric) for metric, way in kinds]
        return Experiment(
            self.name,
            self.arms,
            (*map(str, self.variants), *others),
            means,
            rates.rates[self.columns],
            np.vstack([*recalls, *errors]),
            np.nan_to_num(rates.errors[self.columns]),
        )

    def _mean(self, arm: str) -> Floats:
        """Give the mean over the periods of each recall, and of the other metrics."""
        values = []
        for place in (place for place in self.record.ranks if place[0] == arm):
            grids = [self._measured(place, metric=metric) for metric in self.settings.metrics]
            values.append(np.concatenate([g.values.ravel() for g in (self.grids[place], *grids)]))
        return np.asarray(np.mean(values, axis=0))

    def errors_of(
        self,
        validation: Validation,
        betas: Sequence[float],
        *,
        metric: MetricName = "Recall",
    ) -> Floats:
        """Give errors over users, of differences between arms: (n_variants, n_arms).

        They are those of the last model of each arm: test users are the same in all periods.
        """
        starts = self.record.starts
        last = {arm: max(at for at in self.record.ranks if at[0] == arm) for arm in self.arms}
        ranks = {arm: self.record.ranks[at] for arm, at in last.items()}
        counts = self.counts[max(last.values(), key=lambda at: starts[at])]
        how = replace(self.settings.stratification, metric=metric)
        asked: Any = {"betas": betas, "cutoffs": self.settings.cutoffs, "stratification": how}
        found = errors_of_means(ranks, counts, validation=validation, **asked)
        return found.reshape(len(ranks), -1).T

    @property
    def shown(self) -> Sequence[int]:
        """Numbers of the recalls with low, middle and high exponents at a common cut-off."""
        betas, cutoffs = self.settings.betas, self.settings.cutoffs
        cutoff = min(cutoffs, key=lambda k: abs(k - SHOWN_CUTOFF))
        chosen = {betas[0], betas[len(betas) // 2], betas[-1]}
        return [
            number
            for number, each in enumerate(self.variants)
            if each.cutoff == cutoff and each.beta in chosen
        ]
