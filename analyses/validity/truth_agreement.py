"""Agreement with the truth, regret and rates, with intervals over users and systems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analyses.intervals.percentile_intervals import nan_if_constant, symmetric_interval
from analyses.intervals.systems import pair_masks, subset_taus
from analyses.ordering import tau_b
from analyses.shared.estimate import Estimate
from analyses.shared.families import N_CROSSED, Families, SubsetValues
from analyses.shared.limits import TAU_FACTOR, Limits, arcsine_limits, standard_deviations
from analyses.shared.scores import Scores
from analyses.significance.question import Question
from analyses.validity.comparison import (
    Comparison,
    JointUsers,
    PairVerdicts,
    regret,
    resampled_rates,
)
from runs.shared.arrays import Floats, Masks

TAUS, SHARES, REGRETS = (-1.0, 1.0), (0.0, 1.0), (0.0, np.inf)
"""The lowest and the highest value there is."""


@dataclass(frozen=True, eq=False, repr=False)
class Uncertain:
    """Numbers of one kind with their 95 % limits over users and systems; arrays of one shape.

    Limits are NaN where they are not known.
    """

    values: Floats
    users: tuple[Floats, ...]
    systems: tuple[Floats, ...]
    both: tuple[Floats, ...]

    def columns(self, name: str, prefix: str = "") -> dict[str, Floats]:
        """Give columns of a frame: the numbers, and their limits over users, systems and both."""
        sides = {"": self.users, "systems_": self.systems, "both_": self.both}
        limits = {
            f"{prefix}{side}{end}": limit
            for side, pair in sides.items()
            for end, limit in zip(("low", "high"), pair, strict=True)
        }
        return {name: self.values, **limits}

    def part(self, number: int) -> Uncertain:
        """Take one of the first axis."""
        sides = (self.users, self.systems, self.both)
        users, systems, both = (tuple(x[number] for x in pair) for pair in sides)
        return Uncertain(self.values[number], users, systems, both)


def _around(values: Floats, reach: Floats, extent: tuple[float, float]) -> Limits:
    return np.clip(values - reach, *extent), np.clip(values + reach, *extent)


def written_interval(limits: tuple[Floats, ...], *place: int, decimals: int | None = None) -> str:
    """Print an interval, such as [.25, 1.00]; empty if it is not known."""
    found = Estimate(np.nan, *(float(limit[place]) for limit in limits))
    return found.interval if decimals is None else found.bracketed(decimals)


@dataclass(frozen=True, eq=False)
class ResampledComparison:
    """A comparison, and the same over resampled users and subsets of the systems."""

    comparison: Comparison
    users: JointUsers
    families: Families

    @cached_property
    def means(self) -> Floats:
        """Mean scores, of shape (n_measures, n_systems)."""
        return self.comparison.means()[0]

    @cached_property
    def true_means(self) -> Floats:
        """True means, of shape (n_truths, n_measures, n_systems)."""
        return self.comparison.means()[1]

    @cached_property
    def resampled_means(self) -> Floats:
        """Means over resampled users, of shape (n_measures, n_replicates, n_systems)."""
        return self._resampled(self.comparison.measured)

    @cached_property
    def resampled_true_means(self) -> Floats:
        """True means of the same, of shape (n_truths, n_measures, n_replicates, n_systems)."""
        return np.asarray(self._resampled(self.comparison.true)[self.comparison.references])

    def _resampled(self, scores: Scores) -> Floats:
        return np.moveaxis(
            self.users.means(scores.weighted_values, scores.users, scores.runs), -1, 1
        )

    @cached_property
    def tau_replicates(self) -> Floats:
        """tau-b over resampled users, of shape (n_truths, n_measures, n_replicates)."""
        return _tau(self.resampled_means, self.resampled_true_means)

    @cached_property
    def within(self) -> SubsetValues:
        """tau-b within subsets of the systems, of shape (n_truths, n_measures)."""
        subsets, some = self._subsets, self._subsets[:N_CROSSED]
        means, true = self.means[:, np.newaxis], self.true_means[:, :, np.newaxis]
        resampled, true_resampled = (
            each[..., :N_CROSSED, :] for each in (self.resampled_means, self.resampled_true_means)
        )
        values = [subset_taus(means, of_truth, subsets)[..., 0] for of_truth in true]
        crossed = [subset_taus(resampled, of_truth, some) for of_truth in true_resampled]
        both = np.stack(values), np.stack(crossed).swapaxes(-1, -2)
        # Where all systems are in their order, moved replicates, and subsets, do not vary.
        return SubsetValues(self.families.n_families, *both, self.tau_replicates)

    def tau(self) -> Uncertain:
        """Compare orderings by tau-b."""
        taus = _tau(self.means, self.true_means)
        users = arcsine_limits(taus, self.tau_replicates)
        systems = _around(taus, self.within.half_widths(), TAUS)
        both = self.within.half_widths_over_both(
            standard_deviations(TAU_FACTOR * self.tau_replicates) ** 2
        )
        return Uncertain(taus, users, systems, _around(taus, both, TAUS))

    def regret(self) -> Uncertain:
        """Give the truth lost by choices; the best of others is no smooth function of systems.

        No more is lost than lies between the best and the worst system, in any resample.
        """
        lost = regret(self.means, self.true_means)
        resampled = regret(self.resampled_means, self.resampled_true_means)
        low, high = symmetric_interval(lost, resampled, bounds=REGRETS)
        ranges = np.ptp(self.resampled_true_means, axis=-1)
        widest = np.fmax.reduce(ranges, axis=-1, initial=0.0)
        users = low, np.minimum(high, np.maximum(widest, np.ptp(self.true_means, axis=-1)))
        unknown = np.full(lost.shape, np.nan)
        return Uncertain(lost, users, (unknown, unknown), (unknown, unknown))

    def rates(self, p: Floats, true_p: Floats, question: Question) -> Uncertain:
        """Give power, type III and inverted; over users, those of the report measures alone."""
        verdicts = PairVerdicts.of_means(
            self.means, p, self.true_means, true_p, alpha=question.alpha
        )
        measures = self.comparison.measured.measures
        numbers = measures.indices(measures.reported)
        pairs = pair_masks(self._subsets)
        resampled, crossed = resampled_rates(
            self.comparison, numbers, self.users, question, pairs[:N_CROSSED]
        )
        observed = verdicts.rates()
        within = SubsetValues(
            self.families.n_families, np.moveaxis(verdicts.rates(pairs), 0, -1), crossed
        )
        systems = within.half_widths()
        both = within.half_widths_over_both(standard_deviations(resampled) ** 2)
        both = np.where(systems > 0, both, np.nan)
        limits = (
            symmetric_interval(observed, resampled, bounds=SHARES),
            *(_around(observed, reach, SHARES) for reach in (systems, both)),
        )
        return Uncertain(observed, *map(nan_if_constant, limits))

    @property
    def _subsets(self) -> Masks:
        return self.families.subsets(seed=self.users.seed)


def _tau(means: Floats, true_means: Floats) -> Floats:
    return tau_b(np.broadcast_to(means, true_means.shape), true_means)


ITSELF = "itself"
"""The name of the truth that is the same measure, on the true judgements."""
