"""Design: number of users needed, detectable differences and reliability, from a pilot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field
from scipy.stats import rankdata

from analyses.intervals.resampling import resampled_users
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.drawing import curve_styles, explain, label_curves, set_log_scale
from analyses.shared.estimate import Estimate
from analyses.shared.limits import SMALLEST_RATIO
from analyses.shared.measure import Measures, pair_labels, tidy
from analyses.shared.number_format import percent, rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import applicable, listed, user_count
from analyses.shared.table import Table
from analyses.significance.effects import Components, variance_components
from analyses.significance.paired_tests import for_all_pairs, pair_means_and_deviations
from analyses.significance.permutation import pair_indices
from analyses.significance.power import (
    EffectDistribution,
    EffectPrior,
    detectable_effect,
    expected_share,
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
    """Compute from a pilot's scores how many users make differences significant."""
    scores = standardised(work, settings.standardised).scores
    n_users = len(scores.users)
    if len(scores.systems) < 2 or n_users < 3:
        raise InputError(
            "a design needs a pilot of at least two systems and three users, got "
            f"{len(scores.systems)} and {n_users}."
        )
    measures = scores.measures.reported
    values = scores.select(measures).weighted_values
    means, deviations = pair_means_and_deviations(values)
    differing = for_all_pairs(values, lambda rows: np.count_nonzero(rows, axis=1))
    differ = ((means != 0) | (deviations > 0)).any(axis=0)
    pairs = np.flatnonzero(differ if differ.any() else ~differ)
    means, deviations = means[:, pairs], deviations[:, pairs]
    effects = standardised_effects(means, deviations)
    priors = [EffectPrior(own, n_users, len(scores.systems)) for own in effects]
    given = zip(*(prior.posterior() for prior in priors), strict=True)
    likely = EffectDistribution(*(np.stack(each).reshape(len(values), -1) for each in given))
    kept = (likely.variances * likely.chances).sum(axis=1) * n_users / len(pairs)
    level = np.abs(values.mean(axis=(1, 2)))
    needed = users_for_share(likely, share=settings.share, alpha=settings.alpha)
    detectable = detectable_effect(n_users, alpha=settings.alpha, power=settings.power)
    known = needed[np.isfinite(needed)]
    last = max(2 * n_users, 1.5 * known.max(initial=0.0), 2 * SMALLEST)
    sizes = np.unique(np.rint(np.geomspace(SMALLEST, last, N_SIZES)))
    of_sizes = EffectDistribution(*(each[:, None] for each in likely))

    def required_users(differences: Floats) -> Floats:
        effects = standardised_effects(np.broadcast_to(differences, deviations.shape), deviations)
        return needed_users(effects, alpha=settings.alpha, power=settings.power)

    return Design(
        measures=measures,
        systems=scores.systems,
        pairs=pairs,
        n_users=n_users,
        means=level,
        differences=means,
        deviations=deviations,
        differing=np.median(differing[:, pairs], axis=1),
        observed=required_users(np.abs(means)),
        relative=required_users(settings.difference * level[:, None]),
        detectable=detectable * deviations,
        needed=needed,
        replicates=_possible_users(values, pairs, priors, settings, work.seed),
        noise=1 - kept,
        sizes=sizes,
        shares=expected_share(of_sizes, sizes, alpha=settings.alpha),
        components=variance_components(values),
        **_without_outliers(values),
        **settings.model_dump(exclude={"replicates"}),
    )


def _possible_users(
    values: Floats, pairs: Numbers, priors: Sequence[EffectPrior], settings: Settings, seed: int
) -> Floats:
    """Give the users needed for effects that may be behind those observed.

    Memory: four arrays of a number for each draw and pair, of one measure.

    The result: numbers of users of shape (n_measures, n_draws).
    """
    _, n_systems, n_users = values.shape
    first, second = pair_indices(n_systems)
    systems = first[pairs], second[pairs]
    weights = resampled_users(0, settings.replicates, n_users=n_users, seed=seed)
    users = np.empty((len(values), settings.replicates))
    for number, prior in enumerate(priors):
        with single_threaded("blas"):
            resampled = resampled_effects(values[number : number + 1], weights)[0, pairs]
        possible = EffectDistribution.certain(prior.draw(resampled, systems, seed=seed))
        users[number] = users_for_share(possible, share=settings.share, alpha=settings.alpha)
    return users


def _without_outliers(values: Floats) -> dict[str, Any]:
    """Say which system is furthest from the mean by each measure, and what is left without it."""
    means = values.mean(axis=2)
    outliers = np.abs(means - means.mean(axis=1, keepdims=True)).argmax(axis=1)
    systems = relative = np.full(len(means), np.nan)
    if means.shape[1] > 2:
        each = zip(values, outliers, strict=True)
        rest = variance_components(np.stack([np.delete(own, n, axis=0) for own, n in each]))
        systems, relative = rest.systems, rest.relative
    return {"outliers": outliers, "systems_without": systems, "relative_without": relative}


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
        Of the pilot.
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
        What was asked: see `Settings`.
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

        NaN without replicates, and where the median pair has too few users who differ.
        """
        limits = np.full((2, len(self.needed)), np.nan)
        if (known := self._have_intervals).any():
            limits[:, known] = np.quantile(
                self.replicates[known], [TAIL, 1 - TAIL], axis=-1, method="inverted_cdf"
            )
        return limits[0], limits[1]

    @property
    def _have_intervals(self) -> Masks:
        return (self.differing >= FEWEST_DIFFERING) & (self.replicates.shape[1] > 1)

    def ratio(self, more: int, fewer: int) -> tuple[float, float, float]:
        """How many times the users of one measure another needs, with its 95 % interval.

        The measures, given by their numbers, see the same possible effects. Intervals are
        percentiles and simultaneous: the limits of all ratios of two measures have the same rank
        among the replicates, so that all hold at once. Where neither measure reaches the share,
        the ratio is 1. NaN where nothing is known.

        Mandel & Betensky (2008), Simultaneous confidence intervals based on the percentile
        bootstrap approach, Computational Statistics & Data Analysis 52(4).
        """
        known = np.flatnonzero(self._have_intervals)
        with np.errstate(invalid="ignore"):
            observed = float(self.needed[more] / self.needed[fewer])
            if not np.isin([more, fewer], known).all():
                return observed, np.nan, np.nan
            every = np.column_stack([[more, fewer], known[np.stack(pair_indices(len(known)))]])
            ratios = np.divide(*self.replicates[every])
        ratios[np.isnan(ratios)] = 1.0
        ranks, n = rankdata(ratios, axis=1), ratios.shape[1]
        tail = np.quantile(np.minimum(ranks, n + 1 - ranks).min(axis=0), 2 * TAIL) / n
        low, high = np.quantile(ratios[0], [tail, 1 - tail], method="inverted_cdf")
        return observed, float(low), float(high)

    def _limits_of(self, number: int) -> str:
        """Print the interval of the users that a measure needs; empty if it is not known."""
        low, high = (end[number] for end in self.interval)
        return Estimate(self.needed[number], low, high).bracketed(0)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``design`` (`summary`), ``design_pairs`` (`to_frame`) and ``design_curves``."""
        users = {"users": self.sizes}
        return {
            "design": self.summary(),
            "design_pairs": self.to_frame(),
            "design_curves": tidy(self.measures, users, significant=self.shares),
        }

    def summary(self) -> pd.DataFrame:
        """One row per measure.

        The result: columns metric, cutoff, ``needed`` (users for the share of pairs) with its
        interval ``needed_low``, ``needed_high``; ``observed_median`` and ``relative_median`` over
        pairs of the users for a power, and ``found_now``, the share of pairs in which the pilot's
        users find the relative difference; ``detectable_median``; ``noise``; variances
        ``var_systems``, ``var_users``, ``var_interaction``; ``e_rho2`` with its interval
        ``e_rho2_low``, ``e_rho2_high``, and ``phi``, with the users for the reliability asked for,
        ``e_rho2_users`` and ``phi_users``.
        """
        low, high = self.interval
        parts = self.components
        relative_users, absolute_users = parts.required_users(self.reliability)
        return tidy(
            self.measures,
            needed=self.needed,
            needed_low=low,
            needed_high=high,
            observed_median=_median_pair(self.observed),
            relative_median=_median_pair(self.relative),
            found_now=(self.relative <= self.n_users).mean(axis=1),
            detectable_median=np.median(self.detectable, axis=1),
            noise=self.noise,
            var_systems=parts.systems,
            var_users=parts.users,
            var_interaction=parts.interaction,
            e_rho2=parts.relative,
            e_rho2_low=parts.relative_low,
            e_rho2_high=parts.relative_high,
            e_rho2_users=relative_users,
            phi=parts.absolute,
            phi_users=absolute_users,
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per measure and pair of systems.

        The result: columns metric, cutoff, system_a, system_b, difference, deviation,
        users_observed, users_relative, detectable.
        """
        import pandas as pd

        pairs = pd.DataFrame(pair_labels(self.systems, "system_a", "system_b")).iloc[self.pairs]
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
        """Tabulate the users that each measure needs, the fewest first."""
        with np.errstate(divide="ignore", invalid="ignore"):
            detectable = np.median(self.detectable, axis=1) / self.means
        relative = _median_pair(self.relative)
        columns = {
            f"{percent(self.share)} of pairs": [user_count(n) for n in self.needed],
            "95 % interval": [self._limits_of(n) for n in range(len(self.measures))],
            "observed": [user_count(n) for n in _median_pair(self.observed)],
            f"{percent(self.difference)} difference": [user_count(n) for n in relative],
            "detectable": [percent(part) for part in detectable],
        }
        rows = list(zip(map(str, self.measures), *columns.values(), strict=True))
        ordered = [rows[n] for n in np.argsort(self.needed, kind="stable")]
        title, headings = f"{self.units.capitalize()} needed", ["measure", *columns]
        return Table("design", title, self.caption(), headings, ordered)

    @table("design_reliability", "variance components, and {units} needed for a reliable ordering")
    def reliability_table(self) -> Table:
        """Tabulate variance components and generalizability coefficients."""
        parts = self.components
        relative_users, absolute_users = parts.required_users(self.reliability)
        shares = {
            name: [percent(share) for share in column]
            for name, column in zip(("systems", self.units, "rest"), parts.shares.T, strict=True)
        }
        relative = zip(parts.relative, parts.relative_low, parts.relative_high, strict=True)
        wanted = f"{self.reliability:g}".removeprefix("0")
        columns = {
            "measure": map(str, self.measures),
            **shares,
            "E rho²": [str(Estimate(*each)) for each in relative],
            f"for {wanted}": [user_count(n) for n in relative_users],
            "Phi": [rounded(value) for value in parts.absolute],
            f"Phi {wanted}": [user_count(n) for n in absolute_users],
        }
        caption = (
            f"Share of the variance of scores due to systems, {self.units} and the rest. E rho² "
            f"and Phi: generalizability coefficients of {counted(self.n_users, self.unit)} for "
            "differences between systems (with 95 % intervals; Feldt 1965) and for mean scores; "
            f"for {wanted}: {self.units} needed for a coefficient of {wanted}. The systems are "
            "treated as a random sample."
        )
        return Table.from_columns("design_reliability", "Reliability", caption, columns)

    @figure("design", "Expected share of significant pairs of systems")
    def plot(self, ax: Axes) -> None:
        """Draw the expected share of significant pairs against the number of users."""
        for number, label, style in curve_styles(self.measures):
            users = user_count(self.needed[number])
            line = {**style, "marker": ""}
            ax.plot(self.sizes, self.shares[number], label=f"{label} ({users})", **line)
        set_log_scale(ax, along="x")
        wanted = ax.axhline(self.share, color="0.6", linewidth=0.8, zorder=0)
        explain(wanted, f"Horizontal line: {percent(self.share)} of the pairs.")
        pilot = ax.axvline(self.n_users, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        explain(pilot, f"Dotted line: the {counted(self.n_users, self.unit)} of the pilot.")
        names = f"In brackets: {self.units} with which a curve reaches {percent(self.share)}."
        explain(ax, names)
        ax.set(ylim=(0, 1.02), xlabel=self.units)
        ax.set_ylabel(f"share of pairs with p < {self._alpha}")
        ax.xaxis.set_major_formatter("{x:,.0f}")
        label_curves(ax)

    def caption(self) -> str:
        """Say what the columns and curves are."""
        how = self.standardised
        scores = "" if how is None else f" Scores are standardised for each {self.unit} ({how})."
        return (
            f"Number of {self.units} with which {percent(self.share)} of the "
            f"{counted(len(self.pairs), 'pair')} of {counted(len(self.systems), 'system')} are "
            "expected to be significant (p < "
            f"{self._alpha}), from a pilot of {counted(self.n_users, self.unit)}; observed "
            "differences "
            f"are shrunk for sampling error. Observed, {percent(self.difference)} difference: "
            f"{self.units} with which the paired t-test finds the observed difference, or one of "
            f"{percent(self.difference)} of the mean score, in the median pair with a power of "
            f"{rounded(self.power, 2)}. Detectable: smallest difference, in per cent of the mean "
            f"score, that {counted(self.n_users, self.unit)} find with this power.{scores}"
        )

    @property
    def _alpha(self) -> str:
        """The significance level, as papers print it."""
        return f"{self.alpha:g}".removeprefix("0")

    def findings(self) -> Sequence[str]:
        """Say how many users the measures need."""
        order = np.argsort(self.needed, kind="stable")
        fewest, most = int(order[0]), int(order[-1])
        wanted = (
            f"for {percent(self.share)} of the system pairs to be significant (p < {self._alpha})"
        )
        if np.isinf(self.needed[fewest]):
            return (f"According to this pilot, no number of {self.units} is enough {wanted}.",)
        n_fewest = user_count(self.needed[fewest])
        found = [f"{self.measures[fewest]} needs {n_fewest} {self.units} {wanted}."]
        if np.isinf(self.needed[most]):
            found.append(f"By {self.measures[most]}, no number of {self.units} is enough.")
        elif len(order) > 1:
            ratio = Estimate(*self.ratio(most, fewest))
            times = ratio.printed(max(ratio.decimals, int(ratio.value < 10)))
            found.append(
                f"{self.measures[most]} needs {user_count(self.needed[most])} {self.units}, "
                f"{times} times as many as {self.measures[fewest]}."
            )
        users, _ = self.components.required_users(self.reliability)
        order = np.argsort(users, kind="stable")
        fewest, most = int(order[0]), int(order[-1])
        reached = f"a reliability (E rho²) of {rounded(self.reliability, 2)}"
        if np.isinf(users[fewest]):
            return [*found, f"No number of {self.units} reaches {reached}."]
        units = self.unit if users[fewest] <= 1 else self.units
        enough = "no number" if np.isinf(users[most]) else user_count(users[most])
        others = f" and with {enough} by {self.measures[most]}" * (len(order) > 1)
        found.append(
            f"The differences between the systems reach {reached} with {user_count(users[fewest])} "
            f"{units} by {self.measures[fewest]}{others}."
        )
        return found

    def cautions(self) -> Sequence[str]:
        """Say if the pilot is small, its differences noisy, or the users needed far more."""
        worst, variances = int(np.argmax(self.noise)), self.components.systems
        shares = 1 - self.systems_without / np.maximum(variances, SMALLEST_RATIO)
        shares = np.where(variances > SMALLEST_RATIO, np.nan_to_num(shares), 0.0)
        alone = int(np.argmax(shares))
        few, unsure, far = (
            [str(self.measures[n]) for n in np.flatnonzero(concerned)]
            for concerned in (
                self.differing < FEWEST_DIFFERING,
                np.isinf(self.interval[1]),
                np.isfinite(self.needed) & (self.needed > FAR * self.n_users),
            )
        )
        sentences = {
            f"Sampling error is {percent(self.noise[worst])} of the squared observed differences "
            f"by {self.measures[worst]} (mean over pairs), so that these are too large on average; "
            'only the column "observed" is not corrected for it.': self.noise[worst] >= NOISY,
            f"{self.systems[self.outliers[alone]]} alone makes {percent(shares[alone])} of the "
            f"variance between systems by {self.measures[alone]}: without it, E rho² is "
            f"{rounded(float(self.relative_without[alone]))} in place of "
            f"{rounded(float(self.components.relative[alone]))}.": shares[alone] >= MOST_VARIANCE,
            f"With a pilot of {counted(self.n_users, self.unit)}, the standard error of a "
            "variance, and "
            f"of all numbers of {self.units} needed, is {percent(np.sqrt(2 / (self.n_users - 1)))} "
            "if scores are about normal.": self.n_users < FEW_USERS,
            f"By {listed(few)}, fewer than {FEWEST_DIFFERING} {self.units} have different scores "
            "in the median pair: too few for an interval.": bool(few),
            f"By {listed(unsure)}, more than {percent(1 - self.share)} of the pairs may be equal; "
            f"then no number of {self.units} is enough (∞).": bool(unsure),
            f"By {listed(far)}, more than {FAR} times the {self.units} of the pilot are needed; "
            "such numbers rest on assumptions about differences too small to observe.": bool(far),
        }
        return applicable(sentences)


def _median_pair(users: Floats) -> Floats:
    """Give the users of the median pair, the lower of two."""
    return np.asarray(np.quantile(users, 0.5, axis=1, method="inverted_cdf"))
