"""Measured scores beside true ones: agreement, regret and rates, with their chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.systems import over_systems, pairs_within
from analyses.ordering import tau_ap_a, tau_b
from analyses.shared.estimate import Limits, arcsine_around
from analyses.shared.measure import Scores
from analyses.significance.question import Question
from analyses.verdicts.choice import put_first, regret
from analyses.verdicts.comparison import verdicts_of
from analyses.verdicts.joint_users import JointUsers
from analyses.verdicts.reliability import reliability, tau_within_noise
from analyses.verdicts.resampled_rates import resampled_rates
from analyses.verdicts.uncertain import Uncertain, limits_over_users, with_width

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

OF_TAU, OF_RATES, OF_REGRET = (-1.0, 1.0), (0.0, 1.0), (0.0, np.inf)
"""The lowest and the highest value there is."""


@dataclass(frozen=True, eq=False)
class BesideTruth:
    """Measures and what they are compared with; more is better.

    Parameters
    ----------
    measured, true
        Scores of the same systems.
    rulers
        The true measures that each measure is compared with, of shape (n_truths, n_measures).
    users
        Who is drawn.
    """

    measured: Scores
    true: Scores
    rulers: Places
    users: JointUsers

    @cached_property
    def means(self) -> Floats:
        """Mean scores, of shape (n_measures, n_systems)."""
        return self.measured.means()

    @cached_property
    def worth(self) -> Floats:
        """True means, of shape (n_truths, n_measures, n_systems)."""
        return np.asarray(self.true.means()[self.rulers])

    @cached_property
    def drawn_means(self) -> Floats:
        """Means over resampled users, of shape (n_measures, n_replicates, n_systems)."""
        return self._drawn(self.measured)

    @cached_property
    def drawn_worth(self) -> Floats:
        """True means of the same, of shape (n_truths, n_measures, n_replicates, n_systems)."""
        return np.asarray(self._drawn(self.true)[self.rulers])

    def _drawn(self, scores: Scores) -> Floats:
        return np.moveaxis(self.users.means(scores.values, scores.users, scores.runs), -1, 1)

    @cached_property
    def tau_replicates(self) -> Floats:
        """tau-b over resampled users, of shape (n_truths, n_measures, n_replicates)."""
        return _tau(self.drawn_means, self.drawn_worth)

    def tau(self) -> Uncertain:
        """Compare orderings by tau-b."""
        taus = _tau(self.means, self.worth)
        users = arcsine_around(taus, self.tau_replicates)
        return Uncertain(taus, users, self._over_systems(self._taus_of, OF_TAU), OF_TAU)

    def _taus_of(self, some: Places) -> Floats:
        """Compare subsets of the systems, (..., n_some): (..., n_truths, n_measures)."""
        means = np.moveaxis(self.means[:, some], 0, -2)[..., np.newaxis, :, :]
        return _tau(means, np.moveaxis(self.worth[..., some], (0, 1), (-3, -2)))

    def tau_aps(self) -> Floats:
        """Compare orderings by tau_AP, with the truth as reference."""
        return tau_ap_a(np.broadcast_to(self.means, self.worth.shape), self.worth)

    def regret(self) -> Uncertain:
        """Give the truth lost by choices; the best of others is no smooth function of systems.

        No more is lost than lies between the best and the worst system, in any resample.
        """
        lost = regret(self.means, self.worth)
        low, high = limits_over_users(lost, regret(self.drawn_means, self.drawn_worth), OF_REGRET)
        ranges = np.fmax.reduce(np.ptp(self.drawn_worth, axis=-1), axis=-1, initial=0.0)
        users = low, np.minimum(high, np.maximum(ranges, np.ptp(self.worth, axis=-1)))
        unknown = np.full(lost.shape, np.nan)
        return Uncertain(lost, users, (unknown, unknown), OF_REGRET)

    def same_choice(self) -> Floats:
        """Give the share of the replicates that put the same system first; NaN without any."""
        if self.users.replicates == 0:
            return np.full(len(self.means), np.nan)
        alike = put_first(self.drawn_means) & put_first(self.means)[:, np.newaxis]
        return np.asarray(alike.any(axis=2).mean(axis=1))

    def rates(self, p: Floats, true_p: Floats, question: Question) -> Uncertain:
        """Give power, type III and inverted; over users, those of the report measures alone."""
        verdicts = verdicts_of(self.means, p, self.worth, true_p, alpha=question.alpha)
        observed, measures = verdicts.rates(), self.measured.measures
        drawn = resampled_rates(
            self.measured,
            self.true,
            self.rulers,
            measures.numbers(measures.reported),
            self.users,
            question,
        )

        def rates_of(some: Places) -> Floats:
            every = some.ndim == 1
            return verdicts.rates(None if every else pairs_within(some, self.means.shape[1]))

        users = with_width(limits_over_users(observed, drawn, OF_RATES))
        systems = with_width(self._over_systems(rates_of, OF_RATES))
        return Uncertain(observed, users, systems, OF_RATES)

    def _over_systems(
        self, statistic: Callable[[Places], Floats], extent: tuple[float, float]
    ) -> Limits:
        n_systems, seed = self.means.shape[1], self.users.seed
        return over_systems(statistic, n_systems, seed=seed, limits=extent)

    def attainable(self) -> Floats:
        """Give the tau that is expected of a measure that is right, but for noise."""
        true = reliability(self.true.values)[self.rulers]
        return tau_within_noise(reliability(self.measured.values), true)


def _tau(means: Floats, worth: Floats) -> Floats:
    return tau_b(np.broadcast_to(means, worth.shape), worth)
