"""Both sides of an experiment: offline values of the arms, and their rates; resampled, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from analyses.online.arms.arm_clicks import ArmRates, count_clicks
from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.arms.offline_values import (
    Measured,
    Place,
    counts_before,
    draw_periods,
    measure_arms,
    replicate_values,
)
from analyses.online.arms.record import Record
from analyses.online.clicks.poisson_bootstrap import replicate_sums
from analyses.online.clicks.rates import rates_of
from analyses.online.clicks.tallies import Tallies
from analyses.online.tables.experiment import Experiment
from runs.shared.progress import Progress

Floats = NDArray[np.float64]

SHOWN_BETAS, SHOWN_CUTOFF = (0.0, 0.5, 1.0), 5
"""The recall variants that are looked at closely: low, middle and high exponents."""


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

    @cached_property
    def counts(self) -> Mapping[Place, NDArray[np.intp]]:
        """How popular items were when the model of an arm and period learnt."""
        record = self.record
        by_start = {
            start: counts_before(
                record.events,
                start,
                test_users=record.test_users,
                popularity=self.settings.popularity,
            )
            for start in set(record.starts.values())
        }
        return {place: by_start[start] for place, start in record.starts.items()}

    @cached_property
    def counted(self) -> tuple[ArmRates, Tallies]:
        """The online side: rates, and counts by user, arm and period."""
        return count_clicks(self.record, self.settings, seed=self.seed)

    @cached_property
    def measured(self) -> Measured:
        """The offline side."""
        return measure_arms(self.record.ranks, self.counts, self.settings)

    @property
    def columns(self) -> list[int]:
        """Numbers that the measured arms have in the log."""
        return [self.counted[0].overall.arms.index(arm) for arm in self.measured.arms]

    @cached_property
    def experiment(self) -> Experiment:
        """Both sides by arm, with off-policy estimates among the measures."""
        measured = self.measured
        estimates = _by_estimator(self.record.off_policy, measured.arms)
        return Experiment(
            self.name,
            measured.arms,
            (*measured.measures, *estimates),
            np.stack([*measured.values, *estimates.values()]),
            self.counted[0].overall.rates[self.columns],
        )

    @property
    def recalls(self) -> Experiment:
        """The same of the recall variants alone."""
        n_recalls = len(self.measured.parametrisations)
        return replace(
            self.experiment,
            measures=self.experiment.measures[:n_recalls],
            values=self.experiment.values[:n_recalls],
        )

    @cached_property
    def periods(self) -> NDArray[np.int64]:
        """How often each period is drawn, of shape (n_periods, n_replicates)."""
        return draw_periods(
            len(self.counted[1].periods),
            replicates=self.settings.replicates,
            seed=self.seed,
            fixed=self.settings.resampled == "users",
        )

    @cached_property
    def values_again(self) -> Floats:
        """Recalls of resampled users and periods, of shape (n_replicates, n_recalls, n_arms)."""
        return replicate_values(
            self.record.ranks, self.counts, self.settings, periods=self.periods, seed=self.seed
        )

    @cached_property
    def rates_again(self) -> Floats:
        """Rates of the same resampled users and periods, of shape (n_replicates, n_arms)."""
        replicates = self.periods.shape[1]
        sums = replicate_sums(self.counted[1], replicates=replicates, seed=self.seed)
        rates = rates_of(sums * self.periods, over_time=self.settings.over_time)
        return rates.T[:, self.columns]

    @property
    def shown(self) -> Sequence[int]:
        """Numbers of the recalls with low, middle and high exponents at a common cut-off."""
        betas, cutoffs = self.settings.betas, self.settings.cutoffs
        cutoff = min(cutoffs, key=lambda k: abs(k - SHOWN_CUTOFF))
        chosen = {min(betas, key=lambda beta: abs(beta - shown)) for shown in SHOWN_BETAS}
        return [
            number
            for number, each in enumerate(self.measured.parametrisations)
            if each.cutoff == cutoff and each.beta in chosen
        ]


def _by_estimator(rows: Sequence[Mapping[str, Any]], arms: Sequence[str]) -> dict[str, Floats]:
    """Give off-policy estimates of the arms by estimator, where all arms have one."""
    values = {(row["estimator"], row["arm"]): float(row["clicks_per_slate"]) for row in rows}
    names = dict.fromkeys(name for name, _ in values)
    return {
        name: np.array([values[name, arm] for arm in arms])
        for name in names
        if all((name, arm) in values for arm in arms)
    }
