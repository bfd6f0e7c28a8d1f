"""Design: number of users needed, detectable differences and reliability, from a pilot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy
from pydantic import Field

from analyses.intervals.resampling import resampled_users
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.drawing import curve_styles, explain, label_curves, set_log_scale
from analyses.shared.estimate import Estimate
from analyses.shared.limits import SMALLEST_RATIO
from analyses.shared.measure import Measures, pair_labels, tidy
from analyses.shared.number_format import Cell, percent, rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import listed, user_count
from analyses.shared.table import Table
from analyses.significance.effects import Components, variance_components
from analyses.significance.paired_tests import for_all_pairs, pair_means_and_deviations
from analyses.significance.permutation import pair_indices
from analyses.significance.power import (
    EffectDistribution,
    EffectPrior,
    detectable_effect,
    expected_share,
    likely_effects,
    needed_users,
    resampled_effects,
    standardised_effects,
    users_for_share,
)
from analyses.significance.question import Standard, standardised
from runs import InputError
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.errors import counted
from runs.shared.parallel import single_threaded
from runs.shared.settings import Repeats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work


N_SIZES = 60
"""Numbers of users for which curves are computed."""

SMALLEST = 10
"""Users with which curves begin."""

FEW_USERS = 200
"""With fewer, the standard error of a variance is 10 % or more."""

FEWEST_DIFFERING = 10
"""Users who differ in the median pair; fewer give no interval."""

TAIL = 0.0125
"""Share of the replicates beyond each limit of a 95 % interval.

With .025, intervals held in 83 to 99 % of simulations (docs/methods/intervals.md).
"""

FAR = 10
"""A caution names measures that need more than so many times the pilot's users."""

MOST_VARIANCE = 0.5
"""A caution names a system that makes so much of the variance between systems."""

NOISY = 0.1
"""With a larger share of noise in the effects, a caution is given."""


class Settings(AnalysisSettings):
    """The difference of interest, and the power to find it."""

    difference: float = Field(
        0.05, gt=0, description="Difference to find, as a share of a measure's mean score."
    )
    power: float = Field(
        0.8, gt=0, lt=1, description="Power: probability of finding the difference."
    )
    alpha: float = Field(0.05, ge=1e-9, lt=1, description="Significance level.")
    share: float = Field(
        0.8, gt=0, lt=1, description="Share of the pairs of systems that should be significant."
    )
    reliability: float = Field(
        0.95, gt=0, lt=1, description="Generalizability coefficient to reach."
    )
    standardised: Standard | None = Field(
        None, description="Standardise the scores of each user over the systems."
    )
    replicates: Repeats = Field(1000, ge=0, description="Bootstrap replicates; 0: no intervals.")


@analysis(
    "design",
    source="Sakai (2016), section 3; Urbano et al. (2013)",
    on_request=True,
    question="How many {units} does each measure need?",
)
def design(work: Work, settings: Settings) -> Design:
    """Compute from a pilot's scores how many users make differences significant.

    Only report measures count, and pairs of systems that differ for some user by one of them. With
    ``settings.standardised``, scores are standardised for each user first. Raises InputError if
    there are fewer than two systems or three users.
    """
    scores = standardised(work, settings.standardised).scores
    n_users = len(scores.users)
    n_systems = len(scores.systems)
    if n_systems < 2 or n_users < 3:
        raise InputError(
            "a design needs a pilot of at least two systems and three users, got "
            f"{n_systems} and {n_users}."
        )
    measures = scores.measures.reported
    values = scores.select(measures).weighted_values
    all_means, all_deviations = pair_means_and_deviations(values)
    pairs = _differing_pairs(all_means, all_deviations)
    means = all_means[:, pairs]
    deviations = all_deviations[:, pairs]
    n_differing = for_all_pairs(values, lambda rows: np.count_nonzero(rows, axis=1))
    effects = standardised_effects(means, deviations)
    priors = [EffectPrior(measure_effects, n_users, n_systems) for measure_effects in effects]
    likely = likely_effects(priors)
    # The part of squared effects that is not noise, in the mean over pairs.
    variance_sums = (likely.variances * likely.chances).sum(axis=1)
    signal_shares = variance_sums * n_users / len(pairs)
    needed = users_for_share(likely, share=settings.share, alpha=settings.alpha)
    sizes = _curve_sizes(n_users, needed)
    shares = expected_share(_for_each_size(likely), sizes, alpha=settings.alpha)
    mean_scores = np.abs(values.mean(axis=(1, 2)))
    relative_differences = settings.difference * mean_scores[:, np.newaxis]
    smallest_effect = detectable_effect(n_users, alpha=settings.alpha, power=settings.power)
    observed = _users_for(np.abs(means), deviations, settings)
    relative = _users_for(relative_differences, deviations, settings)
    replicates = _possible_users(values, pairs, priors, settings, work.seed)
    outliers = _outlying_systems(values)
    without_outliers = _components_without(values, outliers)
    return Design(
        measures=measures,
        systems=scores.systems,
        pairs=pairs,
        n_users=n_users,
        means=mean_scores,
        differences=means,
        deviations=deviations,
        differing=np.median(n_differing[:, pairs], axis=1),
        observed=observed,
        relative=relative,
        detectable=smallest_effect * deviations,
        needed=needed,
        replicates=replicates,
        noise=1 - signal_shares,
        sizes=sizes,
        shares=shares,
        components=variance_components(values),
        outliers=outliers,
        systems_without=without_outliers.systems,
        relative_without=without_outliers.relative,
        difference=settings.difference,
        power=settings.power,
        alpha=settings.alpha,
        share=settings.share,
        reliability=settings.reliability,
        standardised=settings.standardised,
    )


def _differing_pairs(means: Floats, deviations: Floats) -> Numbers:
    """Number the pairs of systems that differ for a user by some measure; all if none does.

    ``means`` and standard ``deviations`` over users of the differences are of shape (n_measures,
    n_pairs). The result: positions of the pairs, from 0, rising.
    """
    is_different = ((means != 0) | (deviations > 0)).any(axis=0)
    if not is_different.any():
        return np.arange(len(is_different))
    return np.flatnonzero(is_different)


def _for_each_size(likely: EffectDistribution) -> EffectDistribution:
    """Add an axis for numbers of users to arrays (n_measures, n_effects), before the last."""
    return EffectDistribution(
        means=likely.means[:, np.newaxis],
        variances=likely.variances[:, np.newaxis],
        chances=likely.chances[:, np.newaxis],
    )


def _curve_sizes(n_users: int, needed: Floats) -> Floats:
    """Choose whole numbers of users for curves, evenly on a logarithmic scale.

    They begin at 10 (`SMALLEST`) and reach beyond the pilot's ``n_users``, and beyond those that
    any measure needs: ``needed``, (n_measures,), of which infinite ones do not count. The result:
    at most 60 (`N_SIZES`) different numbers, rising.
    """
    finite = needed[np.isfinite(needed)]
    most_needed = finite.max(initial=0.0)
    largest = max(2 * n_users, 1.5 * most_needed, 2 * SMALLEST)
    sizes = np.geomspace(SMALLEST, largest, N_SIZES)
    return np.unique(np.rint(sizes))


def _users_for(differences: Floats, deviations: Floats, settings: Settings) -> Floats:
    """Compute the users with which the t-test finds differences, with the power that is asked for.

    ``deviations`` over users are of shape (n_measures, n_pairs); differences broadcast to it.
    Infinite where no number is enough.
    """
    differences = np.broadcast_to(differences, deviations.shape)
    effects = standardised_effects(differences, deviations)
    return needed_users(effects, alpha=settings.alpha, power=settings.power)


def _possible_users(
    values: Floats, pairs: Numbers, priors: Sequence[EffectPrior], settings: Settings, seed: int
) -> Floats:
    """Compute the users needed for effects that may be behind those observed.

    The need is for the share of pairs, ``settings.share``, to be expected significant. A draw is a
    set of true effects (standardised differences) of all pairs, from the posterior of the prior
    and from resampled users, the same for all measures. Memory: four arrays of a number for each
    draw and pair, of one measure.

    Parameters
    ----------
    values
        Scores of shape (n_measures, n_systems, n_users).
    pairs
        Numbers of the pairs that are tested, among all pairs i < j of systems.
    priors
        By measure: what true effects of these pairs may be.
    settings
        Share of pairs, significance level, and number of draws.
    seed
        Random seed.

    Returns
    -------
    Numbers of users of shape (n_measures, n_draws); infinite where 1e12 are not enough.
    """
    _, n_systems, n_users = values.shape
    first, second = pair_indices(n_systems)
    systems_of_pairs = (first[pairs], second[pairs])
    weights = resampled_users(0, settings.replicates, n_users=n_users, seed=seed)
    users = np.empty((len(values), settings.replicates))
    for number, prior in enumerate(priors):
        # One measure at a time, with its axis.
        measure_values = values[number : number + 1]
        with single_threaded("blas"):
            resampled = resampled_effects(measure_values, weights)[0, pairs]
        draws = prior.draw(resampled, systems_of_pairs, seed=seed)
        effects = EffectDistribution.certain(draws)
        users[number] = users_for_share(effects, share=settings.share, alpha=settings.alpha)
    return users


def _outlying_systems(values: Floats) -> Numbers:
    """Number the system furthest from the mean of all by each measure: (n_measures,).

    Values are scores of shape (n_measures, n_systems, n_users).
    """
    means = values.mean(axis=2)
    distances = np.abs(means - means.mean(axis=1, keepdims=True))
    return distances.argmax(axis=1)


class _ComponentsWithout(NamedTuple):
    """Variance of systems and generalizability coefficient, (n_measures,), without a system."""

    systems: Floats
    relative: Floats


def _components_without(values: Floats, systems: Numbers) -> _ComponentsWithout:
    """Estimate variance components by each measure without one system; NaN of two systems or less.

    Values are scores of shape (n_measures, n_systems, n_users); ``systems`` are the numbers of the
    systems that are left out, one for each measure, of shape (n_measures,).
    """
    n_measures, n_systems, _ = values.shape
    if n_systems <= 2:
        unknown = np.full(n_measures, np.nan)
        return _ComponentsWithout(systems=unknown, relative=unknown)
    remaining = []
    for measure_values, system in zip(values, systems, strict=True):
        remaining.append(np.delete(measure_values, system, axis=0))
    components = variance_components(np.stack(remaining))
    return _ComponentsWithout(systems=components.systems, relative=components.relative)


@dataclass(frozen=True, eq=False)
class Design(Result):
    """Number of users that each report measure needs, and the reliability of its means.

    Numbers of users are whole float64, infinite where no number is enough.

    Parameters
    ----------
    measures
        Label of the first axis.
    systems, pairs
        Names, and numbers of the pairs that are not alike by every measure: the second axis of
        arrays (n_measures, n_pairs).
    n_users
        Number of users of the pilot.
    means
        Absolute mean score of all systems and users, of shape (n_measures,).
    differences, deviations
        Mean difference of each pair, and its standard deviation over users: (n_measures, n_pairs).
    differing
        Users whose scores differ in the median pair, (n_measures,).
    observed, relative
        Users with which the t-test finds the observed difference, and the relative one that was
        asked for: (n_measures, n_pairs).
    detectable
        Least mean difference that as many users as the pilot's find, (n_measures, n_pairs).
    needed
        Users with which the share of the pairs is expected to be significant, (n_measures,).
    replicates
        The same for effects that are possible given the pilot's, (n_measures, n_replicates).
    noise
        Part of the squared standardised differences that is taken for the pilot's noise, in the
        mean over pairs, (n_measures,).
    sizes, shares
        Numbers of users, and the expected share of significant pairs, (n_measures, n_sizes).
    components
        Variance components.
    outliers, systems_without, relative_without
        Number of the system that is furthest from the mean of all, and the variance of systems and
        the generalizability coefficient without it, (n_measures,).
    difference, power, alpha, share, reliability, standardised
        See `Settings`.
    """

    measures: Measures
    systems: tuple[str, ...]
    pairs: Numbers
    n_users: int
    means: Floats
    differences: Floats
    deviations: Floats
    differing: Floats
    observed: Floats
    relative: Floats
    detectable: Floats
    needed: Floats
    replicates: Floats
    noise: Floats
    sizes: Floats
    shares: Floats
    components: Components
    outliers: Numbers
    systems_without: Floats
    relative_without: Floats
    difference: float
    power: float
    alpha: float
    share: float
    reliability: float
    standardised: str | None

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """95 % interval of ``needed``, each end of shape (n_measures,).

        Its ends are the quantiles .0125 and .9875 (`TAIL` beyond each) of ``self.replicates``,
        (n_measures, n_replicates): the users needed for possible effects; they may be infinite. NaN
        with fewer than two replicates, and where fewer than 10 users (`FEWEST_DIFFERING`) differ in
        the median pair.
        """
        low = np.full(len(self.needed), np.nan)
        high = np.full(len(self.needed), np.nan)
        is_known = self._have_intervals
        if is_known.any():
            tails = [TAIL, 1 - TAIL]
            replicates = self.replicates[is_known]
            limits = np.quantile(replicates, tails, axis=-1, method="inverted_cdf")
            low[is_known], high[is_known] = limits
        return low, high

    @property
    def _have_intervals(self) -> Masks:
        """Whether enough users differ in the median pair, with replicates: (n_measures,)."""
        n_replicates = self.replicates.shape[1]
        return (self.differing >= FEWEST_DIFFERING) & (n_replicates > 1)

    def ratio(self, more: int, fewer: int) -> tuple[float, float, float]:
        """Compute how many times the users of one measure another needs, with its 95 % interval.

        The measures are given by their positions, and ``self.needed``, (n_measures,), has their
        users; the ratio is NaN if both need infinitely many. The result: ratio, lower and upper
        limit.

        Limits are percentiles of the ratios of ``self.replicates``, (n_measures, n_replicates),
        which are of the same draws for all measures. They are simultaneous: the limits of all
        ratios of two measures have the same rank among the replicates, so that all hold at once. A
        replicate in which both measures need infinitely many users counts as ratio 1. Limits are
        NaN if a measure has no interval.

        Mandel & Betensky (2008), Simultaneous confidence intervals based on the percentile
        bootstrap approach, Computational Statistics & Data Analysis 52(4).
        """
        measures = np.flatnonzero(self._have_intervals)
        with np.errstate(invalid="ignore"):
            observed = float(self.needed[more] / self.needed[fewer])
        if not np.isin([more, fewer], measures).all():
            return observed, np.nan, np.nan
        first, second = pair_indices(len(measures))
        # The first row is that of the ratio in question; then all ratios of two measures.
        numerator_measures = np.append(more, measures[first])
        denominator_measures = np.append(fewer, measures[second])
        numerators = self.replicates[numerator_measures]
        denominators = self.replicates[denominator_measures]
        with np.errstate(invalid="ignore"):
            ratios = np.divide(numerators, denominators)
        ratios[np.isnan(ratios)] = 1.0
        n_replicates = ratios.shape[1]
        ranks = scipy.stats.rankdata(ratios, axis=1)
        ranks_from_end = np.minimum(ranks, n_replicates + 1 - ranks)
        # Of each replicate, the rank from either end of its most extreme ratio.
        smallest_ranks = ranks_from_end.min(axis=0)
        tail = np.quantile(smallest_ranks, 2 * TAIL) / n_replicates
        tails = [tail, 1 - tail]
        low, high = np.quantile(ratios[0], tails, method="inverted_cdf")
        return observed, float(low), float(high)

    def _limits_of(self, number: int) -> str:
        """Print the interval of the users that a measure needs, given its position.

        Whole numbers in brackets; empty if the interval is not known.
        """
        low, high = self.interval
        value = self.needed[number]
        estimate = Estimate(value, low[number], high[number])
        return estimate.bracketed(0)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``design`` (`summary`), ``design_pairs`` (`to_frame`) and ``design_curves``."""
        users = {"users": self.sizes}
        return {
            "design": self.summary(),
            "design_pairs": self.to_frame(),
            "design_curves": tidy(self.measures, users, significant=self.shares),
        }

    def summary(self) -> pd.DataFrame:
        """Tabulate the design: a row for each measure.

        The result: columns metric, cutoff, ``needed`` (users for the share of pairs) with its
        interval ``needed_low``, ``needed_high``; ``observed_median`` and ``relative_median`` over
        pairs of the users for a power, and ``found_now``, the share of pairs in which the pilot's
        users find the relative difference; ``detectable_median``; ``noise``; variances
        ``var_systems``, ``var_users``, ``var_interaction``; ``e_rho2`` with its interval
        ``e_rho2_low``, ``e_rho2_high``, and ``phi``, with the users for the reliability asked for,
        ``e_rho2_users`` and ``phi_users``.
        """
        low, high = self.interval
        components = self.components
        # Users for E rho² and for Phi, of shape (n_measures,) each.
        relative_users, absolute_users = components.required_users(self.reliability)
        is_found = self.relative <= self.n_users
        return tidy(
            self.measures,
            needed=self.needed,
            needed_low=low,
            needed_high=high,
            observed_median=_median_pair(self.observed),
            relative_median=_median_pair(self.relative),
            found_now=is_found.mean(axis=1),
            detectable_median=np.median(self.detectable, axis=1),
            noise=self.noise,
            var_systems=components.systems,
            var_users=components.users,
            var_interaction=components.interaction,
            e_rho2=components.relative,
            e_rho2_low=components.relative_low,
            e_rho2_high=components.relative_high,
            e_rho2_users=relative_users,
            phi=components.absolute,
            phi_users=absolute_users,
        )

    def to_frame(self) -> pd.DataFrame:
        """Tabulate a row for each measure and pair of systems that differs for some user.

        The result: columns metric, cutoff, system_a, system_b, difference (mean score of a less
        that of b), deviation (its standard deviation over users), users_observed and users_relative
        (users with which the t-test finds the observed difference, and the relative one that was
        asked for), detectable (least difference that the pilot's users find). Arrays of ``self``
        are of shape (n_measures, n_pairs).
        """
        import pandas as pd

        all_pairs = pd.DataFrame(pair_labels(self.systems, "system_a", "system_b"))
        pairs = all_pairs.iloc[self.pairs]
        return tidy(
            self.measures,
            pairs,
            difference=self.differences,
            deviation=self.deviations,
            users_observed=self.observed,
            users_relative=self.relative,
            detectable=self.detectable,
        )

    @table("design", "{units} needed by each measure")
    def users_needed(self) -> Table:
        """Tabulate the users that each measure needs, the fewest first; see `caption`.

        Columns: the users for the share of pairs, their 95 % interval, the medians over pairs of
        the users who find the observed and the relative difference, and the median detectable
        difference as a share of the mean score.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            detectable = np.median(self.detectable, axis=1) / self.means
        observed = _median_pair(self.observed)
        relative = _median_pair(self.relative)
        rows: list[list[Cell]] = []
        for number in np.argsort(self.needed, kind="stable"):
            row: list[Cell] = [str(self.measures[number])]
            row.append(user_count(self.needed[number]))
            row.append(self._limits_of(number))
            row.append(user_count(observed[number]))
            row.append(user_count(relative[number]))
            row.append(percent(detectable[number]))
            rows.append(row)
        shares = f"{percent(self.share)} of pairs"
        difference = f"{percent(self.difference)} difference"
        headings = ["measure", shares, "95 % interval", "observed", difference, "detectable"]
        title = f"{self.units.capitalize()} needed"
        return Table("design", title, self.caption(), headings, rows)

    @table("design_reliability", "variance components, and {units} needed for a reliable ordering")
    def reliability_table(self) -> Table:
        """Tabulate variance components and generalizability coefficients, a row by measure.

        Components are shares of the variance of scores in per cent; E rho² has its 95 % interval.
        Both coefficients have the number of users with which they reach ``self.reliability``.
        """
        components = self.components
        # Users for E rho² and for Phi, of shape (n_measures,) each.
        relative_users, absolute_users = components.required_users(self.reliability)
        coefficients = []
        for number, value in enumerate(components.relative):
            low = components.relative_low[number]
            high = components.relative_high[number]
            coefficients.append(str(Estimate(value, low, high)))
        goal = f"{self.reliability:g}".removeprefix("0")
        columns: dict[str, Any] = {"measure": map(str, self.measures)}
        sources = ("systems", self.units, "rest")
        for source, shares in zip(sources, components.shares.T, strict=True):
            columns[source] = [percent(share) for share in shares]
        columns["E rho²"] = coefficients
        columns[f"for {goal}"] = [user_count(n) for n in relative_users]
        columns["Phi"] = [rounded(value) for value in components.absolute]
        columns[f"Phi {goal}"] = [user_count(n) for n in absolute_users]
        users = counted(self.n_users, self.unit)
        caption = (
            f"Share of the variance of scores due to systems, {self.units} and the rest. E rho² "
            f"and Phi: generalizability coefficients of {users} for differences between systems "
            f"(with 95 % intervals; Feldt 1965) and for mean scores; for {goal}: {self.units} "
            f"needed for a coefficient of {goal}. The systems are treated as a random sample."
        )
        return Table.from_columns("design_reliability", "Reliability", caption, columns)

    @figure("design", "Expected share of significant pairs of systems")
    def plot(self, ax: Axes) -> None:
        """Draw the expected share of significant pairs against the number of users.

        A curve for each measure: ``self.shares``, (n_measures, n_sizes), over ``self.sizes``. Its
        label has the number of users that the measure needs. `explain` attaches sentences for the
        caption to what is drawn.
        """
        for number, label, style in curve_styles(self.measures):
            users = user_count(self.needed[number])
            (line,) = ax.plot(self.sizes, self.shares[number], label=f"{label} ({users})", **style)
            line.set_marker("")
        set_log_scale(ax, along="x")
        share = percent(self.share)
        share_line = ax.axhline(self.share, color="0.6", linewidth=0.8, zorder=0)
        explain(share_line, f"Horizontal line: {share} of the pairs.")
        pilot_line = ax.axvline(self.n_users, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        pilot = counted(self.n_users, self.unit)
        explain(pilot_line, f"Dotted line: the {pilot} of the pilot.")
        explain(ax, f"In brackets: {self.units} with which a curve reaches {share}.")
        ax.set(ylim=(0, 1.02), xlabel=self.units)
        ax.set_ylabel(f"share of pairs with p < {self._alpha}")
        ax.xaxis.set_major_formatter("{x:,.0f}")
        label_curves(ax)

    def caption(self) -> str:
        """Write what the columns of the table of users needed, and the curves, are."""
        scores = ""
        if self.standardised is not None:
            scores = f" Scores are standardised for each {self.unit} ({self.standardised})."
        share = percent(self.share)
        difference = percent(self.difference)
        power = rounded(self.power, 2)
        pairs = counted(len(self.pairs), "pair")
        systems = counted(len(self.systems), "system")
        pilot = counted(self.n_users, self.unit)
        return (
            f"Number of {self.units} with which {share} of the {pairs} of {systems} are expected "
            f"to be significant (p < {self._alpha}), from a pilot of {pilot}; observed differences "
            f"are shrunk for sampling error. Observed, {difference} difference: {self.units} with "
            f"which the paired t-test finds the observed difference, or one of {difference} of the "
            f"mean score, in the median pair with a power of {power}. Detectable: smallest "
            f"difference, in per cent of the mean score, that {pilot} find with this power.{scores}"
        )

    @property
    def _alpha(self) -> str:
        """The significance level, as papers print it."""
        return f"{self.alpha:g}".removeprefix("0")

    def findings(self) -> Sequence[str]:
        """Write how many users the measures need, for significant pairs and for reliability.

        The measures that need fewest and most are named, with the ratio of their numbers of users
        (``self.needed``, (n_measures,)). If no number of users gives any measure the share of
        significant pairs (all are infinite), there is one sentence.
        """
        goal = (
            f"for {percent(self.share)} of the system pairs to be significant (p < {self._alpha})"
        )
        order = np.argsort(self.needed, kind="stable")
        fewest = int(order[0])
        most = int(order[-1])
        if np.isinf(self.needed[fewest]):
            return (f"According to this pilot, no number of {self.units} is enough {goal}.",)
        n_fewest = user_count(self.needed[fewest])
        measure = self.measures[fewest]
        findings = [f"{measure} needs {n_fewest} {self.units} {goal}."]
        if np.isinf(self.needed[most]):
            measure = self.measures[most]
            findings.append(f"By {measure}, no number of {self.units} is enough.")
        elif len(order) > 1:
            n_most = user_count(self.needed[most])
            times = self._printed_ratio(most, fewest)
            findings.append(
                f"{self.measures[most]} needs {n_most} {self.units}, {times} times as many as "
                f"{self.measures[fewest]}."
            )
        findings.append(self._reliability_sentence())
        return findings

    def _printed_ratio(self, more: int, fewer: int) -> str:
        """Print the `ratio` of two measures with its interval; with a decimal at least below 10.

        It is how many times the users of measure ``fewer`` measure ``more`` needs, both given by
        their positions.
        """
        value, low, high = self.ratio(more, fewer)
        ratio = Estimate(value, low, high)
        fewest_decimals = 1 if value < 10 else 0
        return ratio.printed(max(ratio.decimals, fewest_decimals))

    def _reliability_sentence(self) -> str:
        """Write with how many users differences between systems are as reliable as asked for.

        That is: E rho² reaches ``self.reliability``, by the measures that need fewest and most. If
        none reaches it, that is said.
        """
        users, _ = self.components.required_users(self.reliability)
        order = np.argsort(users, kind="stable")
        fewest = int(order[0])
        most = int(order[-1])
        goal = f"a reliability (E rho²) of {rounded(self.reliability, 2)}"
        if np.isinf(users[fewest]):
            return f"No number of {self.units} reaches {goal}."
        n_fewest = user_count(users[fewest])
        units = self.unit if users[fewest] <= 1 else self.units
        by_most = ""
        if len(order) > 1:
            n_most = user_count(users[most])
            if np.isinf(users[most]):
                n_most = "no number"
            by_most = f" and with {n_most} by {self.measures[most]}"
        return (
            f"The differences between the systems reach {goal} with {n_fewest} {units} by "
            f"{self.measures[fewest]}{by_most}."
        )

    def cautions(self) -> Sequence[str]:
        """Warn if the pilot is small or noisy, or what it says of the users needed is unsure."""
        return [*self._noise_cautions(), *self._interval_cautions()]

    def _noise_cautions(self) -> list[str]:
        """Warn of sampling error in the effects, of an outlying system, and of a small pilot.

        These are measures whose noise is at least .1 (`NOISY`), a system that makes at least half
        of the variance between systems (`MOST_VARIANCE`), and a pilot of fewer than 200 users
        (`FEW_USERS`). ``self.noise`` is of shape (n_measures,).
        """
        cautions = []
        noisiest = int(np.argmax(self.noise))
        if self.noise[noisiest] >= NOISY:
            share = percent(self.noise[noisiest])
            cautions.append(
                f"Sampling error is {share} of the squared observed differences by "
                f"{self.measures[noisiest]} (mean over pairs), so that these are "
                'too large on average; only the column "observed" is not corrected for it.'
            )
        outlier_shares = self._outlier_shares()
        largest = int(np.argmax(outlier_shares))
        if outlier_shares[largest] >= MOST_VARIANCE:
            share = percent(outlier_shares[largest])
            system = self.systems[self.outliers[largest]]
            reliability_without = rounded(float(self.relative_without[largest]))
            reliability = rounded(float(self.components.relative[largest]))
            cautions.append(
                f"{system} alone makes {share} of the variance between "
                f"systems by {self.measures[largest]}: without it, E rho² is {reliability_without} "
                f"in place of {reliability}."
            )
        if self.n_users < FEW_USERS:
            pilot = counted(self.n_users, self.unit)
            standard_error = percent(np.sqrt(2 / (self.n_users - 1)))
            cautions.append(
                f"With a pilot of {pilot}, the standard error of a variance, and of all numbers of "
                f"{self.units} needed, is {standard_error} if scores are about normal."
            )
        return cautions

    def _outlier_shares(self) -> Floats:
        """Compute the share of the variance between systems that the outlier makes, (n_measures,).

        It is 1 less the variance without the outlier over that with it; negative if the variance
        is larger without. 0 where systems do not vary, or the variance without it is unknown.
        """
        variances = self.components.systems
        shares = 1 - self.systems_without / np.maximum(variances, SMALLEST_RATIO)
        return np.where(variances > SMALLEST_RATIO, np.nan_to_num(shares), 0.0)

    def _interval_cautions(self) -> list[str]:
        """Warn of measures that need very many users, or have no interval or no upper limit.

        Very many are more than 10 times (`FAR`) the users of the pilot, but not infinitely many.
        There is no interval if fewer than 10 users (`FEWEST_DIFFERING`) differ in the median pair,
        and no upper limit if it is infinite.
        """
        cautions = []
        has_few_differing = self.differing < FEWEST_DIFFERING
        if has_few_differing.any():
            names = self._listed(has_few_differing)
            cautions.append(
                f"By {names}, fewer than {FEWEST_DIFFERING} {self.units} have different scores in "
                "the median pair: too few for an interval."
            )
        _, high = self.interval
        is_unbounded = np.isinf(high)
        if is_unbounded.any():
            names = self._listed(is_unbounded)
            share = percent(1 - self.share)
            cautions.append(
                f"By {names}, more than {share} of the pairs may be equal; then no number of "
                f"{self.units} is enough (∞)."
            )
        far = FAR * self.n_users
        is_far = np.isfinite(self.needed) & (self.needed > far)
        if is_far.any():
            names = self._listed(is_far)
            cautions.append(
                f"By {names}, more than {FAR} times the {self.units} of the pilot are needed; such "
                "numbers rest on assumptions about differences too small to observe."
            )
        return cautions

    def _listed(self, is_chosen: Masks) -> str:
        """List the names of some measures, given by a mask (n_measures,), as a sentence does."""
        measures = compress(self.measures, is_chosen)
        return listed([str(measure) for measure in measures])


def _median_pair(users: Floats) -> Floats:
    """Look up the median over pairs, the lower of two: (n_measures, n_pairs) to (n_measures,)."""
    return np.asarray(np.quantile(users, 0.5, axis=1, method="inverted_cdf"))
