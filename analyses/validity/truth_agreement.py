"""Agreement with the truth, regret and rates, with intervals over users and systems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from analyses.intervals.percentile_intervals import nan_if_constant, symmetric_interval
from analyses.intervals.systems import pair_masks, subset_taus
from analyses.ordering import tau_b
from analyses.shared.contested_pairs import ContestedPairs
from analyses.shared.contested_shares import ContestedShares, shares_in_order
from analyses.shared.estimate import Estimate
from analyses.shared.families import N_CROSSED, Families, SubsetValues
from analyses.shared.limits import TAU_FACTOR, Limits, arcsine_limits, standard_deviations
from analyses.shared.scores import Scores
from analyses.significance.question import Question
from analyses.validity.comparison import Comparison, JointUsers, regret
from analyses.validity.pair_verdicts import PairVerdicts, resampled_rates
from runs.shared.arrays import Floats, Masks

ITSELF = "itself"
"""The name of the truth that is the same measure, on the true judgements."""

Bounds: TypeAlias = tuple[float, float]
"""The lowest and the highest value that there is."""

TAU_BOUNDS: Bounds = (-1.0, 1.0)
SHARE_BOUNDS: Bounds = (0.0, 1.0)
REGRET_BOUNDS: Bounds = (0.0, np.inf)


@dataclass(frozen=True, eq=False, repr=False)
class Uncertain:
    """Numbers of one quantity with their 95 % limits over users and systems; arrays of one shape.

    Parameters
    ----------
    values
        The numbers.
    users, both
        Lower and upper limits over users, and over users and systems; NaN where they are not known.
    """

    values: Floats
    users: tuple[Floats, ...]
    both: tuple[Floats, ...]

    def columns(self, name: str, prefix: str = "") -> dict[str, Floats]:
        """Collect columns of a frame: the numbers, and their limits over users and over both.

        ``prefix`` begins the names of limits: low, high, both_low, both_high.
        """
        columns = {name: self.values}
        limits_by_source = {"": self.users, "both_": self.both}
        for source, (low, high) in limits_by_source.items():
            columns[f"{prefix}{source}low"] = low
            columns[f"{prefix}{source}high"] = high
        return columns

    def part(self, number: int) -> Uncertain:
        """Select one position of the first axis."""
        users = tuple(limits[number] for limits in self.users)
        over_both = tuple(limits[number] for limits in self.both)
        values = self.values[number]
        return Uncertain(values, users, over_both)


def _limits_around(values: Floats, half_widths: Floats, bounds: Bounds) -> Limits:
    """Compute limits on both sides of values, of the same shape, within bounds."""
    lowest, highest = bounds
    lower = np.clip(values - half_widths, lowest, highest)
    upper = np.clip(values + half_widths, lowest, highest)
    return lower, upper


def written_interval(limits: tuple[Floats, ...], *place: int, decimals: int | None = None) -> str:
    """Print one interval, such as [.25, 1.00]; empty if it is not known.

    ``limits`` are arrays of lower and upper limits, ``place`` the position in both. Without
    ``decimals``, as many are printed as the interval supports.
    """
    lows, highs = limits
    low = float(lows[place])
    high = float(highs[place])
    # The interval alone is printed, not the value.
    estimate = Estimate(np.nan, low, high)
    return estimate.interval if decimals is None else estimate.bracketed(decimals)


@dataclass(frozen=True, eq=False)
class ResampledComparison:
    """A comparison with the truth, also over resampled users and subsets of the systems.

    Parameters
    ----------
    comparison
        Measured and true scores.
    users
        The users that are resampled.
    families
        The families of the systems, of which subsets are drawn.
    """

    comparison: Comparison
    users: JointUsers
    families: Families

    @cached_property
    def means(self) -> Floats:
        """Mean scores, of shape (n_measures, n_systems)."""
        means, _ = self.comparison.means()
        return means

    @cached_property
    def true_means(self) -> Floats:
        """True means, of shape (n_truths, n_measures, n_systems)."""
        _, true_means = self.comparison.means()
        return true_means

    @cached_property
    def resampled_means(self) -> Floats:
        """Means over resampled users, of shape (n_measures, n_replicates, n_systems)."""
        return self._resampled(self.comparison.measured)

    @cached_property
    def resampled_true_means(self) -> Floats:
        """True means of the same, of shape (n_truths, n_measures, n_replicates, n_systems)."""
        true_means = self._resampled(self.comparison.true)
        return np.asarray(true_means[self.comparison.references])

    def _resampled(self, scores: Scores) -> Floats:
        """Average scores over resampled users and runs: (n_measures, n_replicates, n_systems)."""
        means = self.users.means(scores.weighted_values, scores.users, scores.runs)
        return np.moveaxis(means, -1, 1)

    @cached_property
    def tau_replicates(self) -> Floats:
        """tau-b over resampled users, of shape (n_truths, n_measures, n_replicates)."""
        return _tau_b(self.resampled_means, self.resampled_true_means)

    @cached_property
    def within(self) -> SubsetValues:
        """tau-b within subsets of the systems, of shape (n_truths, n_measures, n_subsets).

        The first 20 (`N_CROSSED`) subsets are crossed with as many first resamples of the users:
        ``crossed`` has tau-b within each of the former, over each of the latter.
        """
        subsets = self._subsets()
        # One ordering by each measure, as if there were one replicate.
        means = self.means[:, np.newaxis]
        taus = []
        for reference in self.true_means[:, :, np.newaxis]:
            taus_of_truth = subset_taus(means, reference, subsets)
            taus.append(taus_of_truth[..., 0])
        first_subsets = subsets[:N_CROSSED]
        first_means = self.resampled_means[..., :N_CROSSED, :]
        first_true_means = self.resampled_true_means[..., :N_CROSSED, :]
        resampled_taus = []
        for reference in first_true_means:
            taus_of_truth = subset_taus(first_means, reference, first_subsets)
            resampled_taus.append(taus_of_truth)
        values = np.stack(taus)
        # Where all systems are in their order, moved replicates, and subsets, do not vary.
        crossed = np.stack(resampled_taus).swapaxes(-1, -2)
        return SubsetValues(
            self.families.n_families,
            values=values,
            crossed=crossed,
            resampled=self.tau_replicates,
        )

    def contested_shares(self, pairs: ContestedPairs, *, truth: int) -> ContestedShares | None:
        """Compute, for each candidate, the share of the contested pairs that are in the true order.

        ``truth`` is the position of the truth. Candidates without a value on the truth are left
        out; None if none is left. The shares are also of all pairs within reach, of resampled
        users, of subsets of the systems, and of the first 20 (`N_CROSSED`) of both crossed.
        """
        measures = self.comparison.measured.measures
        on_truth = [measure for measure in pairs.measures if measure in measures]
        if not on_truth:
            return None
        indices = measures.indices(on_truth)
        subsets = self._subsets()
        contested_in_subsets = pairs.within(subsets)
        contested = pairs.is_contested[np.newaxis]
        within_reach = pairs.is_pair_within_reach[np.newaxis]
        sets = np.concatenate([contested, within_reach, contested_in_subsets])
        means = self.means[indices]
        true_means = self.true_means[truth, indices]
        # Of shape (n_candidates, n_sets): candidates stand in the place of replicates.
        observed = shares_in_order(means[..., np.newaxis], true_means, sets)[..., 0]
        replicates = []
        crossed = []
        for index in indices:
            # Of shape (n_replicates, n_systems, 1), and the truth without the last axis.
            estimates = self.resampled_means[index][..., np.newaxis]
            references = self.resampled_true_means[truth, index]
            shares = shares_in_order(estimates, references, contested)
            replicates.append(shares[:, 0, 0])
            in_subsets = shares_in_order(
                estimates[:N_CROSSED], references[:N_CROSSED], contested_in_subsets[:N_CROSSED]
            )
            crossed.append(in_subsets[..., 0])
        return ContestedShares(
            pairs=replace(pairs, measures=pairs.measures.restricted_to(on_truth)),
            shares=observed[:, 0],
            shares_within_reach=observed[:, 1],
            replicates=np.stack(replicates),
            draws=self.users.draws(self.comparison.measured.runs),
            within=SubsetValues(
                self.families.n_families, values=observed[:, 2:], crossed=np.stack(crossed)
            ),
        )

    def tau(self) -> Uncertain:
        """Compare measured and true orderings by tau-b, (n_truths, n_measures), with all limits."""
        taus = _tau_b(self.means, self.true_means)
        scaled_replicates = TAU_FACTOR * self.tau_replicates
        user_variances = standard_deviations(scaled_replicates) ** 2
        half_widths_over_both = self.within.half_widths_over_both(user_variances)
        user_limits = arcsine_limits(taus, self.tau_replicates)
        limits_over_both = _limits_around(taus, half_widths_over_both, TAU_BOUNDS)
        return Uncertain(taus, user_limits, limits_over_both)

    def regret(self) -> Uncertain:
        """Compute the regret of every measure, (n_truths, n_measures), with limits over users.

        Those over systems, too, are NaN: the best of other systems is no smooth function of them.
        Upper limits are at most the widest range between the best and the worst system in any
        resample.
        """
        regrets = regret(self.means, self.true_means)
        resampled = regret(self.resampled_means, self.resampled_true_means)
        low, high = symmetric_interval(regrets, resampled, bounds=REGRET_BOUNDS)
        resampled_ranges = np.ptp(self.resampled_true_means, axis=-1)
        widest_resampled = np.fmax.reduce(resampled_ranges, axis=-1, initial=0.0)
        true_ranges = np.ptp(self.true_means, axis=-1)
        widest_ranges = np.maximum(widest_resampled, true_ranges)
        user_limits = (low, np.minimum(high, widest_ranges))
        no_limits = np.full(regrets.shape, np.nan)
        return Uncertain(regrets, user_limits, both=(no_limits, no_limits))

    def rates(self, p: Floats, true_p: Floats, question: Question) -> Uncertain:
        """Compute power, type III and inverted, of shape (n_rates, n_truths, n_measures).

        Limits that use resampled users are those of the report measures alone; others are NaN, as
        are limits of what does not vary.

        Parameters
        ----------
        p, true_p
            p-values of measured and true differences, of shapes (n_measures, n_pairs) and
            (n_truths, n_measures, n_pairs).
        question
            The significance test, its correction and alpha.
        """
        verdicts = PairVerdicts.of_means(
            self.means, p, self.true_means, true_p, alpha=question.alpha
        )
        measures = self.comparison.measured.measures
        report_measures = measures.indices(measures.reported)
        is_pair = pair_masks(self._subsets())
        is_pair_of_first = is_pair[:N_CROSSED]
        resampled, crossed = resampled_rates(
            self.comparison, report_measures, self.users, question, is_pair_of_first
        )
        rates = verdicts.rates()
        # Of shape (n_subsets, n_rates, n_truths, n_measures).
        rates_by_subset = verdicts.rates(is_pair)
        rates_in_subsets = np.moveaxis(rates_by_subset, 0, -1)
        within = SubsetValues(self.families.n_families, rates_in_subsets, crossed)
        user_variances = standard_deviations(resampled) ** 2
        half_widths_over_both = within.half_widths_over_both(user_variances)
        half_widths_over_both = np.where(within.variances > 0, half_widths_over_both, np.nan)
        user_limits = symmetric_interval(rates, resampled, bounds=SHARE_BOUNDS)
        user_limits = nan_if_constant(user_limits)
        limits_over_both = _limits_around(rates, half_widths_over_both, SHARE_BOUNDS)
        limits_over_both = nan_if_constant(limits_over_both)
        return Uncertain(rates, user_limits, limits_over_both)

    def _subsets(self) -> Masks:
        """Draw subsets of the systems, (n_subsets, n_systems), or look them up."""
        return self.families.subsets(seed=self.users.seed)


def _tau_b(means: Floats, true_means: Floats) -> Floats:
    """Compare means, (n_measures, ..., n_systems), with those of every truth by tau-b.

    ``true_means`` have the shape (n_truths, n_measures, ..., n_systems), the result that without
    the last axis.
    """
    means_by_truth = np.broadcast_to(means, true_means.shape)
    return tau_b(means_by_truth, true_means)
