"""Discriminative power: tests of all pairs of systems under each measure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, compress
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from analyses.intervals.systems import pair_masks
from analyses.ordering.agreement import ratio_or_nan
from analyses.shared.analysis import SettingError, StudyFacts, analysis
from analyses.shared.contested_pairs import ContestedPairs
from analyses.shared.contested_shares import ContestedShares
from analyses.shared.drawing import curve_styles, draw_band, explain, label_curves
from analyses.shared.estimate import Estimate
from analyses.shared.families import CONFIDENCE, N_CROSSED, Families, SubsetValues
from analyses.shared.limits import SMALLEST_RATIO, ratio_limits, standard_deviations
from analyses.shared.measure import Measure, Measures, tidy
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import common_decimals, format_cell, rounded_ratio
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import join_pairs, listed
from analyses.shared.table import Table
from analyses.significance.effects import effects
from analyses.significance.permutation import Method, PairTests, pair_differences, pair_indices
from analyses.significance.power import (
    EffectPrior,
    likely_effects,
    standardised_effects,
    users_for_share,
)
from analyses.significance.power_samples import LEVEL, REPLICATES, PowerSamples, resample_power
from analyses.significance.question import (
    JOINT_TESTS,
    TESTS_OF_MEANS,
    Correction,
    Question,
    Standard,
    Test,
    check_scales,
    correct,
    pair_tests,
    standardised,
)
from analyses.significance.scoring_users import count_scoring_users, few_user_cautions
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.errors import counted, require_choice, require_known
from runs.shared.settings import Repeats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

SMALLEST_P_SHOWN = 0.001
"""Where the axis of p-values ends."""

POWER = 0.8
"""The power of a difference that users can show."""

SHARE_TO_FIND = 0.8
"""Share of the pairs that the users needed are to tell apart."""

TICKS = (1.0, 0.1, 0.01, 0.001)
"""Numbers at the axis of p-values."""

MARKERS_PER_CURVE = 12

EFFECT_SIZES = ("lower", "upper", "relative", "standardised", "better", "worse", "equal")
"""Names of the effect sizes, as `analyses.significance.effects.Effects` has them."""

TESTS_IN_WORDS = {
    "exact": "paired permutation test of the difference in means, over all sign flips by counting "
    "or Fourier series",
    "monte-carlo": "paired permutation test of the difference in means",
    "t": "Student's paired t-test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "sign": "sign test",
    "bootstrap": "Sakai's bootstrap test of the difference in means",
}
CORRECTIONS_IN_WORDS = {
    "bonferroni": "Bonferroni's method",
    "holm": "Holm's method",
    "bh": "the method of Benjamini and Hochberg",
    "max-t": "the step-down max-T bootstrap test of the differences in means",
    "max-t-sign-flip": "the step-down max-T test by sign flips, whose null hypothesis is that a "
    "user's scores are exchangeable",
    "tukey": "the randomised Tukey HSD test, whose null hypothesis is that a user's scores are "
    "exchangeable",
}


SMALLEST_SIGNIFICANT_SHARE = 0.5
"""Measures that tell a smaller share of the pairs apart at p < .05 are not discriminative.

See docs/methods/thresholds.md.
"""

MANY_USERS = 1000
"""From so many users on, tests of ranks reject too often."""

FEW_USERS = 200
"""Sums over fewer users are not close to normal."""

P_BOUND = "2e-16"
"""Below this are p-values of which only an upper bound is known."""

DOMINANT_SHARE = 0.5
"""A pair that contributes this share of a DP is named."""

MOST_PAIRS = 0.9
"""If a larger share of the pairs is significant, the size of the differences matters more."""

UNORDERED = "unordered pairs of systems (Valcarce et al. 2018 count each pair twice)"

MID_P = (
    "Measures are compared by mid-p DP, the sum of the mid-p-values, which count half of the "
    "sign assignments that tie with the observed one: its expectation does not depend on how "
    "coarse the scores are."
)
"""What comparisons of measures are by, in a sentence."""

CONVENTIONS = {
    "dp": f"DP is the sum of the p-values over {UNORDERED}; lower is better.",
    "dp_ordered": "DP is the sum of the p-values over ordered pairs of systems, as in Valcarce et "
    "al. (2018): twice that over unordered pairs; lower is better.",
}
"""Ways to add up p-values, in a sentence."""

DIRECTIONS = {
    "share": "A higher curve, with more small p-values, is better; the axis ends at p = .001.",
    "pairs": "A lower curve, with more small p-values, is better.",
}
"""Which curves are better, by the axes of the figures of p-values."""

P_ROOM = 1.1
"""Room for marks beside the ends of an axis of p-values, as a factor."""

LEVEL_IN_WORDS = "Dotted line: p = .05, the level of significance."

PAIR = "pair of systems"

DIFFERENT = "different"
EQUIVALENT = "equivalent"
UNDECIDED = "undecided"
VERDICTS = (DIFFERENT, EQUIVALENT, UNDECIDED)
"""What a pair of systems is found to be, where there is a smallest difference of interest."""

Convention = Literal["dp", "dp_ordered"]


def _as_tuple(names: Any) -> Any:
    """Make a tuple of a single name; other values are returned as they are."""
    return (names,) if isinstance(names, str) else names


class Settings(Question):
    """Tests between pairs of systems."""

    replicates: Repeats = Field(
        REPLICATES, ge=0, description="Bootstrap replicates; 0: no intervals."
    )
    baseline: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] = Field(
        (), description="Systems to compare with: only pairs with one of them are tested."
    )
    standardised: Standard | None = Field(
        None,
        description="Standardise the scores of each user: normal (Webber et al. 2008), uniform "
        "(Sakai 2016) or empirical (Urbano et al. 2019).",
    )

    across_measures: bool = Field(
        False, description="Correct for the pairs of all measures at once, not of each measure."
    )
    margin: float | None = Field(
        None,
        gt=0,
        description="Smallest difference of interest, in the units of the measure: each pair of "
        "systems is different, equivalent or undecided.",
    )

    @model_validator(mode="after")
    def _require_fitting_correction(self) -> Settings:
        """Refuse, with ValueError, a correction that baselines or several measures do not have.

        Joint tests (`JOINT_TESTS`: max-T, Tukey's HSD) test all pairs of systems of one measure, so
        that neither fits them; and "none" does not correct across measures.
        """
        is_joint = self.correction in JOINT_TESTS
        if self.baseline and is_joint:
            raise ValueError(
                f"the correction {self.correction!r} tests all pairs of systems at once; with a "
                "baseline, choose 'bonferroni', 'holm' or 'bh'"
            )
        if self.across_measures and (is_joint or self.correction == "none"):
            raise ValueError(
                f"the correction {self.correction!r} is not made across measures; choose "
                "'bonferroni', 'holm' or 'bh'"
            )
        return self

    def check(self, study: StudyFacts) -> None:
        """Refuse, with SettingError, a baseline that is no system of the study."""
        for name in self.baseline:
            if name not in study.systems:
                raise SettingError(
                    "baseline",
                    f"`baseline` in [analyses.discrimination]: the study has no system {name!r}.",
                )


@analysis(
    "discrimination",
    source="Valcarce et al. (2018), Figures 4 and 8, Table 3",
    question="How many pairs of systems differ significantly under each measure?",
)
def discrimination(work: Work, settings: Settings) -> Discrimination:
    """Test all pairs of systems under every measure, and sum the p-values of each measure.

    With baselines, only the pairs with one of them are tested; scores are standardised first if
    settings ask for it. Raises InputError if there are fewer than two systems, a baseline is none
    of them, or a scale of ``work.scales`` does not fit the scores.

    Memory beyond four copies of the scores is below 400 MB for each job with up to 200 systems, and
    500 bytes for each measure and pair.
    """
    work.scores.require("discrimination")
    families = work.families
    contested = None if settings.baseline else work.contested
    work = standardised(work, settings.standardised)
    scores = work.scores
    check_scales(scores, work.scales)
    pairs = _tested_pairs(scores.systems, settings.baseline)
    n_steps = settings.draws if settings.test == "monte-carlo" else len(scores.measures)
    with work.progress("Testing pairs of systems", n_steps) as bar:
        tests = pair_tests(work, settings, pairs, advance=bar.advance)
    samples = _resampled_power(work, settings, tests, pairs, families, contested)
    sizes = effects(scores.weighted_values, level=CONFIDENCE, runs=scores.runs)
    effect_sizes = {}
    for name in EFFECT_SIZES:
        effect_sizes[name] = getattr(sizes, name)[:, pairs]
    n_scoring_users = None
    if settings.correction == "max-t":
        n_scoring_users = count_scoring_users(scores.weighted_values)
    return Discrimination(
        measures=scores.measures,
        systems=scores.systems,
        families=families,
        contested=contested,
        differences=pair_differences(scores.mean_values())[:, pairs],
        effects=effect_sizes,
        p=tests.p,
        mid_p=tests.mid_p,
        methods=tests.methods,
        required=tests.required,
        p_adjusted=_adjusted(tests.p, work, settings),
        n_scoring_users=n_scoring_users,
        samples=samples,
        n_users=len(scores.users),
        permutations=settings.draws,
        seed=work.seed,
        standard=settings.standardised,
        test=settings.test,
        correction=settings.correction,
        alpha=settings.alpha,
        baseline=settings.baseline,
        margin=settings.margin,
        across_measures=settings.across_measures,
    )


def _adjusted(p_values: Floats, work: Work, settings: Settings) -> Floats | None:
    """Correct p-values (n_measures, n_pairs) for testing many pairs; None without a correction.

    The pairs of each measure are one family of tests, or those of all measures.
    """
    tests = p_values.reshape(1, -1) if settings.across_measures else p_values
    adjusted = correct(tests, work, settings)
    return None if adjusted is None else adjusted.reshape(p_values.shape)


def _resampled_power(
    work: Work,
    settings: Settings,
    tests: PairTests,
    pairs: Numbers,
    families: Families,
    contested: ContestedPairs | None,
) -> PowerSamples:
    """Compute DP (the sum of p over pairs) and curves of p-values for resampled users.

    Mid-p DP is computed within subsets of the systems, too. Tests that are not of means have no
    replicates; with a baseline, there are no subsets. ``tests``, those of all users, have arrays of
    shape (n_measures, n_pairs); ``pairs`` are the numbers of the tested pairs among all pairs i <
    j, of shape (n_pairs,). Significant pairs are counted among the contested ones, if they are
    known, and among those of the first subsets.
    """
    scores = work.scores
    first, second = pair_indices(len(scores.systems))
    subset_weights = np.empty((0, len(pairs)))
    if not settings.baseline:
        subset_weights = _pair_weights(families, seed=work.seed)[:N_CROSSED]
    sets = np.empty((0, len(pairs)), dtype=np.bool_)
    if contested is not None:
        contested_in_subsets = contested.within(families.subsets(seed=work.seed)[:N_CROSSED])
        sets = np.concatenate([contested.is_contested[np.newaxis], contested_in_subsets])
    replicates = settings.replicates if settings.test in TESTS_OF_MEANS else 0
    systems_of_pairs = (first[pairs], second[pairs])
    scales = tuple(work.scales.get(measure) for measure in scores.measures)
    return resample_power(
        scores.weighted_values,
        tests.p,
        tests.mid_p,
        systems_of_pairs,
        scales=scales,
        groups=subset_weights,
        sets=sets,
        replicates=replicates,
        seed=work.seed,
        n_jobs=work.n_jobs,
        runs=scores.runs,
    )


@dataclass(frozen=True, eq=False)
class Discrimination(Result):
    """p-values of all pairs of systems under every measure, and discriminative power.

    Parameters
    ----------
    measures
        Label of the first axis of the arrays.
    systems
        Names of the systems; the second axis holds their pairs i < j, first by i, then by j.
    families
        The families of the systems.
    contested
        The pairs of systems that measures do not agree on; None with a baseline.
    differences
        Mean score of i minus mean score of j, of shape (n_measures, n_pairs).
    effects
        How large the differences are: the arrays of :class:`analyses.significance.effects.Effects`
        by name.
    p
        Two-sided p-values in (0, 1], of shape (n_measures, n_pairs).
    mid_p
        Of permutation tests, mid-p-values: half of the sign assignments that tie with the observed
        one count, so that their mean is .5 for equal systems, whatever the grid of the scores. The
        p-values of other tests. Of the same shape.
    methods
        How each was found, of shape (n_measures, n_pairs): the name of the test, or a label of
        :class:`analyses.significance.permutation.Method`.
    required
        Smallest difference in means that is significant at ``alpha``, of shape (n_measures,
        n_pairs); NaN where none is, and for tests other than "exact", which do not give it.
    p_adjusted
        Corrected for testing many pairs, of the same shape; None without a correction.
    n_scoring_users
        For the correction "max-t", the number of users whose score is not the most common one of
        the system under the measure, of shape (n_measures, n_systems); None for others.
    samples
        DP and curves for resampled users; there are none for tests that are not of means.
    n_users
        Number of users (topics).
    test, correction, alpha, permutations, seed, baseline, standard, margin, across_measures
        See `Settings`; ``permutations`` is the number of random draws of the test,
        ``standard`` how scores were standardised, if they were.
    """

    measures: Measures
    systems: tuple[str, ...]
    families: Families
    contested: ContestedPairs | None
    differences: Floats
    effects: Mapping[str, Floats]
    p: Floats
    mid_p: Floats
    methods: NDArray[np.str_]
    required: Floats
    p_adjusted: Floats | None
    n_scoring_users: Numbers | None
    samples: PowerSamples
    n_users: int
    test: Test
    correction: Correction
    alpha: float
    permutations: int
    seed: int
    baseline: tuple[str, ...]
    standard: Standard | None = None
    margin: float | None = None
    across_measures: bool = False

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Names of the systems of each pair that is tested."""
        all_pairs = list(combinations(self.systems, 2))
        return tuple(all_pairs[number] for number in _tested_pairs(self.systems, self.baseline))

    @property
    def dp(self) -> Floats:
        """Discriminative power: sum of p over the unordered pairs, lower is better.

        Of shape (n_measures,). Valcarce et al. (2018) sum over ordered pairs: twice as much.
        """
        return np.asarray(self.p.sum(axis=1))

    @property
    def dp_mid(self) -> Floats:
        """Mid-p DP: sum of the mid-p-values over the unordered pairs, of shape (n_measures,).

        Lower is better. Of equal systems half the number of pairs is expected by any measure, while
        ``dp`` is larger the coarser scores are: measures are compared by this number.
        """
        return np.asarray(self.mid_p.sum(axis=1))

    @property
    def significant(self) -> Floats:
        """Share of the pairs with a mid-p-value below .05, of shape (n_measures,)."""
        is_significant = self.mid_p < LEVEL
        return np.asarray(is_significant.mean(axis=1))

    def contested_shares(self) -> ContestedShares | None:
        """Compute the shares of the contested pairs with a mid-p-value below .05.

        None with a baseline, as not all pairs are tested then.
        """
        contested = self.contested
        if contested is None:
            return None
        candidates = self.measures.indices(contested.measures)
        is_significant = (self.mid_p[candidates] < LEVEL).astype(np.float64)
        subsets = self.families.subsets(seed=self.seed)
        contested_in_subsets = contested.within(subsets)
        n_contested = np.count_nonzero(contested.is_contested)
        n_in_subsets = np.count_nonzero(contested_in_subsets, axis=1)
        n_within_reach = np.count_nonzero(contested.is_pair_within_reach)
        significant_contested = is_significant @ contested.is_contested
        significant_within_reach = is_significant @ contested.is_pair_within_reach
        significant_in_subsets = is_significant @ contested_in_subsets.T
        # Of shape (n_candidates, n_sets, n_replicates): sets are the contested pairs, then those of
        # them in each of the first 20 subsets.
        resampled = self.samples.n_significant[candidates]
        # Of shape (n_candidates, n_resamples, n_subsets), as `SubsetValues` has them.
        resampled_in_subsets = resampled[:, 1:, :N_CROSSED].swapaxes(1, 2)
        within = SubsetValues(
            self.families.n_families,
            values=ratio_or_nan(significant_in_subsets, n_in_subsets),
            crossed=ratio_or_nan(resampled_in_subsets, n_in_subsets[:N_CROSSED]),
        )
        shares = ratio_or_nan(significant_contested, np.array(n_contested))
        shares_within_reach = ratio_or_nan(significant_within_reach, np.array(n_within_reach))
        replicates = ratio_or_nan(resampled[:, 0], np.array(n_contested))
        return ContestedShares(
            pairs=contested,
            shares=shares,
            shares_within_reach=shares_within_reach,
            replicates=replicates,
            draws=self.samples.draws,
            within=within,
        )

    @property
    def alike(self) -> Masks:
        """Marks of the pairs of systems that score every user alike by every measure: their p is 1.

        Of shape (n_pairs,).
        """
        is_equal_for_all_users = self.effects["equal"] == 1
        return np.asarray(is_equal_for_all_users.all(axis=0))

    @property
    def dp_without_alike(self) -> Floats:
        """DP over the pairs that are not `alike`, of shape (n_measures,)."""
        p_values = self.p[:, ~self.alike]
        return np.asarray(p_values.sum(axis=1))

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """95 % interval of ``dp`` over users, each end of shape (n_measures,); NaN if unknown.

        Of the DP that as many users have on average, by the spread of its logarithm over resampled
        users: see :func:`analyses.shared.limits.ratio_limits`.
        """
        n_pairs = self.p.shape[1]
        return ratio_limits(self.dp, self.samples.powers, highest=float(n_pairs))

    def detectable(self) -> Floats:
        r"""Compute the difference in means that is found with power .8, in the median pair.

        .. math:: (t_{n-1;\,.975} + t_{n-1;\,.8}) \, s

        at level .05, with the median over pairs of the standard errors s of the differences: their
        95 % half-widths over the first quantile. Of shape (n_measures,); NaN of one user.
        """
        degrees_of_freedom = max(self.n_users - 1, 1)
        significance_quantile = scipy.special.stdtrit(degrees_of_freedom, 1 - LEVEL / 2)
        power_quantile = scipy.special.stdtrit(degrees_of_freedom, POWER)
        median_half_widths = np.median(self._half_widths(), axis=1)
        factor = significance_quantile + power_quantile
        return np.asarray(median_half_widths * factor / significance_quantile)

    def users_needed(self) -> Floats:
        """Estimate the users with whom 80 % of the pairs are expected to be significant.

        As the analysis `design` does with its default settings: by a paired t-test at level .05,
        with observed differences shrunk for sampling error. Of shape (n_measures,): whole numbers,
        infinite where no number is enough; NaN of measures that are not reported, of fewer than
        three users, and where no pair differs.
        """
        needed = np.full(len(self.measures), np.nan)
        if self.n_users < 3:
            return needed
        reported = self.measures.indices(self.measures.reported)
        deviations = self._standard_errors()[reported] * np.sqrt(self.n_users)
        differences = self.differences[reported]
        is_different = ((differences != 0) | (deviations > 0)).any(axis=0)
        if not is_different.any():
            return needed
        effects = standardised_effects(differences[:, is_different], deviations[:, is_different])
        n_systems = len(self.systems)
        priors = [EffectPrior(effects_of, self.n_users, n_systems) for effects_of in effects]
        likely = likely_effects(priors)
        needed[reported] = users_for_share(likely, share=SHARE_TO_FIND, alpha=LEVEL)
        return needed

    def _half_widths(self) -> Floats:
        """Compute half the width of the 95 % intervals of mean differences, (n_measures, n_pairs).

        NaN of one user.
        """
        return (self.effects["upper"] - self.effects["lower"]) / 2

    def _standard_errors(self) -> Floats:
        """Compute the standard errors of mean differences, of shape (n_measures, n_pairs)."""
        degrees_of_freedom = max(self.n_users - 1, 1)
        two_sided_quantile = scipy.special.stdtrit(degrees_of_freedom, 1 - LEVEL / 2)
        return self._half_widths() / two_sided_quantile

    def one_sided_reach(self) -> Floats:
        """Compute how far one-sided limits at 1 - ``alpha`` are from the mean differences.

        It is the quantile of t times the standard error, of shape (n_measures, n_pairs); NaN of one
        user.
        """
        degrees_of_freedom = max(self.n_users - 1, 1)
        one_sided_quantile = scipy.special.stdtrit(degrees_of_freedom, 1 - self.alpha)
        return np.asarray(one_sided_quantile * self._standard_errors())

    def verdicts(self) -> NDArray[np.str_] | None:
        """Call each pair different, equivalent or undecided, of shape (n_measures, n_pairs).

        Equivalent is a pair whose difference is smaller than ``margin`` by two one-sided t-tests at
        level ``alpha`` (Schuirmann 1987): its size plus the one-sided quantile of t times its
        standard error is below ``margin``. Of the others, different is a pair with p, adjusted if
        that was asked for, at most ``alpha``. None without a margin.
        """
        if self.margin is None:
            return None
        largest_differences = np.abs(self.differences) + self.one_sided_reach()
        is_equivalent = largest_differences < self.margin
        p_values = self.p if self.p_adjusted is None else self.p_adjusted
        verdicts = np.where(p_values <= self.alpha, DIFFERENT, UNDECIDED)
        return np.where(is_equivalent, EQUIVALENT, verdicts)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``discrimination`` (`summary`), ``pvalues`` (`to_frame`) and a third frame.

        ``power_differences`` has the differences of DP between measures.
        """
        return {
            "discrimination": self.summary(),
            "pvalues": self.to_frame(),
            "power_differences": self.estimates().differences(),
        }

    def to_frame(self) -> pd.DataFrame:
        """Tabulate a row for each measure and pair.

        The result: columns metric, cutoff, system_a, system_b, difference, its 95 % interval
        (Student's t; Welch's with several runs of a system) lower and upper, the effect sizes
        relative and standardised, the shares of users for whom a is better, worse, equal (see
        :class:`analyses.significance.effects.Effects`), p, p_adjusted (with a correction),
        required_difference, method, verdict (with a margin, see
        `verdicts`), p_mid (the mid-p-value).
        """
        columns: dict[str, Any] = {"difference": self.differences, **self.effects, "p": self.p}
        if self.p_adjusted is not None:
            columns["p_adjusted"] = self.p_adjusted
        columns["required_difference"] = self.required
        columns["method"] = self.methods
        verdicts = self.verdicts()
        if verdicts is not None:
            columns["verdict"] = verdicts
        columns["p_mid"] = self.mid_p
        first, second = zip(*self.pairs, strict=True)
        pairs = {"system_a": first, "system_b": second}
        return tidy(self.measures, pairs, **columns)

    def summary(self) -> pd.DataFrame:
        """Tabulate a row for each measure, with discriminative power in every convention.

        The result: columns ``dp`` (sum of p over unordered pairs), ``dp_ordered`` (over ordered
        pairs, as Valcarce et al. 2018 print it), ``significant_05`` (share of pairs with p < .05;
        Sakai 2006), ``median_p`` (Lu, Moffat & Culpepper 2016) and ``median_p_is_bound`` (whether
        only an upper bound of it is known), ``dp_mean`` (``dp`` divided by the number of pairs) and
        ``significant_01``; ``required_max`` and ``required_median`` over pairs of the smallest
        difference in means that is significant at ``alpha``; ``detectable`` (see `detectable`);
        ``dp_sd``, ``dp_low`` and ``dp_high`` over resampled users (see `interval`); the numbers by
        which measures are compared (see `estimates`): ``dp_mid``, its limits over users
        (``dp_mid_low``, ``dp_mid_high``) and over users and systems (``dp_mid_both_low``,
        ``dp_mid_both_high``), and ``significant_mid``, the share of the pairs with a mid-p-value
        below .05; with a correction, ``significant_adjusted``,
        the share of pairs with adjusted p at most ``alpha``; with a margin, the shares
        ``different``, ``equivalent`` and ``undecided`` (see `verdicts`); and, where there are pairs
        that are `alike`, ``dp_without_alike``.
        """
        import pandas as pd

        low, high = self.interval
        estimates = self.estimates()
        required = pd.DataFrame(self.required)
        medians = np.median(self.p, axis=1)
        # The largest of the p-values of which only an upper bound is known.
        bounded_p = np.where(self.methods == Method.BOUND, self.p, 0.0)
        bounds = bounded_p.max(axis=1)
        significant_05 = (self.p < LEVEL).mean(axis=1)
        significant_01 = (self.p < 0.01).mean(axis=1)
        columns: dict[str, Any] = {
            "dp": self.dp,
            "dp_ordered": 2 * self.dp,
            "significant_05": significant_05,
            "median_p": medians,
            "median_p_is_bound": medians <= bounds,
            "dp_mean": self.p.mean(axis=1),
            "significant_01": significant_01,
            "required_max": required.max(axis=1),
            "required_median": required.median(axis=1),
            "detectable": self.detectable(),
            "dp_sd": standard_deviations(self.samples.powers),
            "dp_low": low,
            "dp_high": high,
            "dp_mid": self.dp_mid,
            "dp_mid_low": estimates.low,
            "dp_mid_high": estimates.high,
        }
        for name, limits in estimates.limit_columns().items():
            columns[f"dp_mid_{name}"] = limits
        columns["significant_mid"] = self.significant
        if self.p_adjusted is not None:
            is_significant = self.p_adjusted <= self.alpha
            columns["significant_adjusted"] = is_significant.mean(axis=1)
        verdicts = self.verdicts()
        if verdicts is not None:
            for verdict in VERDICTS:
                columns[verdict] = (verdicts == verdict).mean(axis=1)
        if self.alike.any():
            columns["dp_without_alike"] = self.dp_without_alike
        return tidy(self.measures, **columns)

    def estimates(self) -> Estimates:
        """Estimate discriminative power, with intervals over the same resampled users.

        Values are mid-p DPs, the sums of mid-p-values over unordered pairs, at most the number of
        pairs; lower is better, and differences are ratios. Where all pairs were tested, there is
        the same in random subsets of the systems, too: the sum over the pairs of a subset, scaled
        to the number of all pairs. Replicates, mid-p DPs of resampled users, are of shape
        (n_measures, n_replicates).
        """
        n_pairs = self.mid_p.shape[1]
        low, high = ratio_limits(self.dp_mid, self.samples.mid_powers, highest=float(n_pairs))
        within = None
        if not self.baseline:
            weights = _pair_weights(self.families, seed=self.seed)
            values = self.mid_p @ weights.T
            within = SubsetValues(self.families.n_families, values, self.samples.crossed)
        return Estimates(
            name="mid-p DP",
            quantity="mid-p DP over unordered pairs",
            subject="Discriminative power",
            best="discriminative",
            measures=self.measures,
            values=self.dp_mid,
            low=low,
            high=high,
            replicates=self.samples.mid_powers,
            lower_is_better=True,
            systems=within,
            by_ratio=True,
            most=float(n_pairs),
            threshold=SMALLEST_SIGNIFICANT_SHARE,
            shares=self.significant,
            requirement="of the pairs with mid-p < .05",
            decimals=self.decimals,
        )

    def publications(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate Table 3 of Valcarce et al. (2018): DP over ordered pairs.

        Pairs that are `alike` are left out.
        """
        frame = self.summary()[["metric", "cutoff"]]
        return {"recsys2018-table3": frame.assign(value=2 * self.dp_without_alike)}

    def findings(self) -> Sequence[str]:
        """Add which pairs contribute half of a DP, and how many are undecided."""
        further = [self._dominant_pairs_sentence(), self._undecided_sentence()]
        return [*super().findings(), *filter(None, further)]

    def _undecided_sentence(self) -> str:
        """Write how many pairs each report measure leaves undecided; empty without a margin.

        Undecided pairs are neither significantly different nor equivalent; see `verdicts`, which
        are of shape (n_measures, n_pairs).
        """
        verdicts = self.verdicts()
        if verdicts is None:
            return ""
        reported = self.measures.reported
        is_undecided = verdicts[self.measures.indices(reported)] == UNDECIDED
        n_undecided = is_undecided.sum(axis=1)
        numbers = []
        for n, measure in zip(n_undecided, reported, strict=True):
            numbers.append(f"{n:,} by {measure}")
        pairs = counted(len(self.pairs), PAIR)
        return (
            f"With {self.margin:g} as the smallest difference of interest in every measure, so "
            f"many of {pairs} are undecided: {listed(numbers)}."
        )

    def _dominant_pairs_sentence(self) -> str:
        """Name the pairs that alone contribute half of the DP of a report measure.

        ``self.p`` are p-values of shape (n_measures, n_pairs), and DP is their sum over pairs. For
        each measure the pair with the largest p-value is looked at. Empty if none contributes at
        least `DOMINANT_SHARE` of a DP, or if there is a single pair.
        """
        parts = []
        for index in self.measures.indices(self.measures.reported):
            dp = self.dp[index]
            largest = int(np.argmax(self.p[index]))
            p = self.p[index, largest]
            if len(self.pairs) > 1 and p >= DOMINANT_SHARE * dp:
                dp_without = rounded_ratio(float(dp - p), self.decimals)
                pair = listed(self.pairs[largest])
                parts.append(
                    f"{self.measures[index]} ({pair}; DP = {dp_without} without this pair)"
                )
        if not parts:
            return ""
        return (
            "One pair of systems contributes at least half of the DP over unordered pairs of "
            f"{listed(parts)}."
        )

    @cached_property
    def decimals(self) -> int:
        """Decimals with which DP is printed: those that the intervals of all measures support."""
        return common_decimals(*self.interval)

    def cautions(self) -> Sequence[str]:
        """Warn where significance tells little, and of what the literature warns of."""
        about_systems = [] if self.baseline else self.families.cautions()
        return [*self._pair_cautions(), *about_systems, *self._test_cautions()]

    def _pair_cautions(self) -> list[str]:
        """Warn of identical systems, of pairs that no measure decides, and if measures decide all.

        ``self.p`` are p-values of shape (n_measures, n_pairs), not corrected; a measure decides a
        pair if p is below .05 (`LEVEL`). Only report measures count for the last two, and to decide
        a share of .9 (`MOST_PAIRS`) is enough for the last. ``self.alike`` marks the pairs of
        identical systems, (n_pairs,).
        """
        cautions = []
        reported = self.measures.indices(self.measures.reported)
        reported_p = self.p[reported]
        alike_pairs = [*compress(self.pairs, self.alike)]
        if alike_pairs:
            cautions.append(
                f"{join_pairs(alike_pairs)} have identical scores for every {self.unit} by every "
                "measure; each such pair adds 1 to DP over unordered pairs."
            )
        is_undecided = (reported_p >= LEVEL).all(axis=0) & ~self.alike
        undecided_pairs = [*compress(self.pairs, is_undecided)]
        if undecided_pairs:
            pairs = counted(len(self.pairs), PAIR)
            cautions.append(
                f"For {len(undecided_pairs):,} of {pairs}, none of the report measures finds a "
                "significant difference (p < .05), even without correction "
                f"({join_pairs(undecided_pairs)}); corrected tests leave more pairs undecided."
            )
        shares = (reported_p < LEVEL).mean(axis=1)
        smallest_share = shares.min(initial=1.0)
        if len(shares) > 0 and smallest_share >= MOST_PAIRS:
            users = counted(self.n_users, self.unit)
            share = f"at least {math.floor(100 * smallest_share)} % of"
            if smallest_share == 1:
                share = "all"
            cautions.append(
                f"With {users}, every measure finds {share} pairs of systems significantly "
                "different (p < .05); consider the size of the differences, too."
            )
        return cautions

    def _test_cautions(self) -> list[str]:
        """Warn of tests that do not suit the users, and of too few permutations.

        That is of the Wilcoxon and the sign test with 1,000 users (`MANY_USERS`) or more, of tests
        that assume normal means with fewer than 200 (`FEW_USERS`), and of a random test with so few
        draws that its smallest p-value is not below alpha over the number of pairs; and of max-T by
        the bootstrap as `few_user_cautions` writes it of ``self.n_scoring_users``, (n_measures,
        n_systems).
        """
        cautions = []
        if self.n_scoring_users is not None:
            reported = self.measures.indices(self.measures.reported)
            cautions += few_user_cautions(
                self.n_scoring_users[reported],
                measures=[str(self.measures[index]) for index in reported],
                systems=self.systems,
                n_users=self.n_users,
                unit=self.unit,
            )
        if self.test in ("wilcoxon", "sign") and self.n_users >= MANY_USERS:
            name = "Wilcoxon"
            compared = "ranks"
            if self.test == "sign":
                name = "sign"
                compared = "medians"
            users = counted(self.n_users, self.unit)
            cautions.append(
                f"The {name} test compares {compared}, not means: with {users} it rejects too "
                "often if differences have mean 0 but are not symmetric (Ihemelandu & Ekstrand "
                "2023); prefer the permutation test."
            )
        if self.test in ("t", "wilcoxon", "bootstrap") and self.n_users < FEW_USERS:
            cautions.append(
                f"The test assumes that means are normally distributed, which {self.n_users:,} "
                f"{self.units} may be too few for; compare with the exact permutation test."
            )
        n_required = len(self.pairs) / self.alpha
        if self._is_drawn and self.permutations + 1 <= n_required:
            pairs = counted(len(self.pairs), "pair")
            cautions.append(
                f"{self.permutations:,} random permutations are too few to correct for {pairs} at "
                f"alpha = {self.alpha:g}, as no p-value is below 1/{self.permutations + 1:,}; use "
                f"at least {np.floor(n_required):,.0f}."
            )
        return cautions

    @property
    def _is_drawn(self) -> bool:
        """Whether the test draws at random."""
        return self.test in ("monte-carlo", "bootstrap")

    @table("power", "discriminative power by metric and cut-off", alias="table3")
    def power(self, *, cutoff: int | None = None, convention: Convention = "dp") -> Table:
        """Tabulate discriminative power by metric and cut-off, or at one cut-off: Table 3.

        Values are of the column ``convention`` of `summary`: DP over unordered or ordered pairs. In
        each column the significantly best measures, by mid-p DP, are bold; measures that are no
        full grid of metrics and cut-offs are one column.
        """
        measures = self.measures if cutoff is None else self.measures.at_cutoff(cutoff)
        indices = self.measures.indices(measures)
        values = self.summary()[convention].iloc[indices]
        cells = measures.cells_by_cutoff(values, heading="DP")
        best = self._best_in_columns(measures)
        marks = [measure in best for measure in measures]
        is_best = measures.cells_by_cutoff(marks, heading="DP")
        # Cells are missing (NaN) where a metric has no such cut-off.
        bold = [cell for cell, mark in is_best.items() if mark == 1]
        labels = "metric and cut-off" if measures.is_grid else "measure"
        return Table.from_cells(
            "power",
            f"Discriminative power by {labels}",
            self._with_dominant_pairs(f"{CONVENTIONS[convention]} {MID_P}"),
            "metric",
            cells,
            bold=bold,
            decimals=self.decimals,
        )

    def _best_in_columns(self, measures: Measures) -> set[Measure]:
        """Collect the significantly best measures of each column: of each cut-off, if in a grid.

        They are so over users, and over systems and settings of the systems where these are known.
        """
        columns = [measures]
        if measures.is_grid:
            cutoffs = {measure.cutoff for measure in measures}
            columns = [measures.at_cutoff(cutoff) for cutoff in cutoffs]
        estimates = self.under_settings(self.estimates())
        best: set[Measure] = set()
        for column in columns:
            best.update(estimates.select(column).significantly_best())
        return best

    @table("conventions", "discriminative power in every convention, the most discriminative first")
    def conventions(self, *, cutoff: int | None = None) -> Table:
        """Tabulate DP and other summaries of p-values, a row for each measure, rising by mid-p DP.

        Rows are the report measures, or those at a cut-off. Columns of `summary` that it does not
        have, or that are missing for all rows, are left out.
        """
        compared = self.measures.reported_or_at(cutoff)
        indices = self.measures.indices(compared)
        rows = self.summary().iloc[indices]
        summary = rows.sort_values("dp_mid", kind="stable")
        columns: dict[str, Any] = {
            "measure": [str(self.measures[index]) for index in summary.index],
            "mid-p DP [95 %]": self._printed_powers(summary, "dp_mid"),
            "DP [95 %]": self._printed_powers(summary, "dp"),
            "mean p": summary["dp_mean"],
            "median p": _printed_medians(summary),
        }
        headings = {
            "significant_mid": "share mid-p < .05",
            "significant_05": "share p < .05",
            "significant_01": "share p < .01",
            "significant_adjusted": f"share adjusted p ≤ {self.alpha:g}",
            DIFFERENT: DIFFERENT,
            EQUIVALENT: EQUIVALENT,
            UNDECIDED: UNDECIDED,
            "required_max": "required difference",
            "detectable": "detectable difference",
        }
        defined = summary.dropna(axis=1, how="all")
        for name, heading in headings.items():
            if name in defined:
                columns[heading] = defined[name]
        note = f"{self._tests_in_words()} {CONVENTIONS['dp']} {MID_P}"
        if "required_max" in defined:
            note += (
                " Required difference: the smallest difference in means from which every pair is "
                f"significant at {self.alpha:g}."
            )
        if "detectable" in defined:
            note += " Detectable: a difference found with power .8 in the median pair."
        title = "Discriminative power"
        if compared != self.measures:
            title += compared.title_suffix
        note = self._with_dominant_pairs(note)
        return Table.from_columns("discrimination", title, note, columns)

    def _printed_powers(self, summary: pd.DataFrame, name: str) -> list[str]:
        """Print DP, or mid-p DP, with its interval, for each row of `summary`, by column name."""
        printed = []
        columns = [name, f"{name}_low", f"{name}_high"]
        for dp, low, high in summary[columns].itertuples(index=False):
            estimate = Estimate(dp, low, high)
            printed.append(estimate.printed(self.decimals, by_ratio=True))
        return printed

    @figure(
        "pvalues_cutoffs",
        "p-values of all pairs of systems, by cut-off",
        number=4,
        panels="metric",
        over_cutoffs=True,
        part="p",
    )
    @figure("pvalues_metrics", "p-values of all pairs of systems, by metric", number=8, part="p")
    def plot(
        self, ax: Axes, *, metric: str | None = None, axes: Literal["share", "pairs"] = "share"
    ) -> None:
        """Draw p-value curves: the share of the pairs whose p is at most that of the axis.

        The axis is logarithmic, from 1 to .001. The higher a curve is, the more discriminative the
        measure. With ``axes="pairs"`` curves are those of the RecSys'18 paper, p-values over the
        pairs in falling order of p, where lower is more discriminative. Where curves are of
        metrics, their names give the sum of the p-values, DP, and they have a band of what other
        users would give. There is a curve for each cut-off of a metric, or for each report measure.
        `explain` attaches a sentence for the caption to the axes.
        """
        require_choice("axes", axes, ("share", "pairs"))
        draw_curve = self._draw_over_pairs if axes == "pairs" else self._draw_over_p
        is_of_metrics = metric is None
        for number, name, style in curve_styles(self.measures, metric=metric):
            label = name
            if is_of_metrics:
                dp = rounded_ratio(float(self.dp[number]), self.decimals)
                label = f"{name} (DP {dp})"
            line = {"marker": ".", "markersize": 2.0, **style, "label": label}
            draw_curve(ax, number, line, with_band=is_of_metrics)
        explanation = DIRECTIONS[axes]
        if is_of_metrics:
            names = f"In brackets: DP, the sum of the p-values over {UNORDERED}; lower is better."
            explanation = self._with_dominant_pairs(f"{explanation} {names}")
        explain(ax, explanation)
        ax.set_title(metric or "")
        label_curves(ax, ordered=not is_of_metrics)

    def _draw_over_p(self, ax: Axes, number: int, line: dict[str, Any], *, with_band: bool) -> None:
        """Draw the share of the pairs with at most a p-value, by one measure.

        ``number`` is the position of the measure: p-values are of shape (n_measures, n_pairs).
        ``line`` has keywords of matplotlib's ``plot``, with the label. The band over resampled
        users, if it is asked for, is left out where it has an undefined limit. p-values below .001
        (`SMALLEST_P_SHOWN`) are drawn at the end of the axis. `explain` attaches a sentence for the
        caption to a line.
        """
        n_pairs = len(self.pairs)
        # Falling, with the share of the pairs that have at most the p-value of a position.
        p_values = -np.sort(-self.p[number])
        shares_above = np.arange(n_pairs + 1) / n_pairs
        percent = 100 * (1 - shares_above)
        large_p = p_values[p_values >= SMALLEST_P_SHOWN]
        shown_p = np.append(large_p, SMALLEST_P_SHOWN)
        n_shown = len(shown_p)
        marker_step = max(1, n_shown // MARKERS_PER_CURVE)
        (curve,) = ax.plot(
            shown_p, percent[:n_shown], markevery=marker_step, drawstyle="steps-pre", **line
        )
        # The axis ends at 100 %, which all curves reach, without a margin.
        curve.sticky_edges.y.append(100.0)
        high = self.samples.curve_high[number]
        if with_band and np.isfinite(high).all():
            n_large = int(np.count_nonzero(high >= SMALLEST_P_SHOWN))
            n_in_band = min(n_large + 1, n_pairs)
            # On a logarithmic axis the band reaches as far to either side.
            low = p_values**2 / np.maximum(high, SMALLEST_RATIO)
            shown_low = np.maximum(low[:n_in_band], SMALLEST_P_SHOWN)
            shown_high = np.maximum(high[:n_in_band], SMALLEST_P_SHOWN)
            self._draw_band(ax, percent[:n_in_band], (shown_low, shown_high), line, across=True)
        level = ax.axvline(LEVEL, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        explain(level, LEVEL_IN_WORDS)
        ax.set(xscale="log", xlim=(1.0 * P_ROOM, SMALLEST_P_SHOWN / P_ROOM))
        ax.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        ax.minorticks_off()
        ax.set_xlabel("p-value (dotted: .05)")
        ax.set_ylabel("pairs with at most this p-value (%)")

    def _draw_over_pairs(
        self, ax: Axes, number: int, line: dict[str, Any], *, with_band: bool
    ) -> None:
        """Draw the p-values of the pairs in falling order, by one measure.

        ``number`` is the position of the measure: p-values, and the limits of their band over
        resampled users, are of shape (n_measures, n_pairs). ``line`` has keywords of matplotlib's
        ``plot``, with the label. A band that is asked for is left out if a limit is undefined.
        """
        n_pairs = len(self.pairs)
        # Further to the right, all curves are at the bottom; ten pairs are shown at least.
        n_large = np.count_nonzero(self.p >= SMALLEST_P_SHOWN, axis=1)
        largest = int(n_large.max())
        n_shown = min(max(10, largest) + 1, n_pairs)
        ranks = np.arange(1.0, n_shown + 1)
        p_values = -np.sort(-self.p[number])
        shown_p = p_values[:n_shown]
        marker_step = max(1, n_shown // MARKERS_PER_CURVE)
        (curve,) = ax.plot(ranks, shown_p, markevery=marker_step, **line)
        if n_shown < n_pairs:
            explain(curve, f"Pairs after the first {n_shown:,} are left out: p < .001.")
        low = self.samples.curve_low[number, :n_shown]
        high = self.samples.curve_high[number, :n_shown]
        if with_band and np.isfinite(high).all():
            self._draw_band(ax, ranks, (low, high), line, across=False)
        level = ax.axhline(LEVEL, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        explain(level, LEVEL_IN_WORDS)
        ax.set(xlim=(0, n_shown + 1), ylim=(-0.03, 1.03))
        ax.set_xlabel("pairs of systems, in order of p")
        ax.set_ylabel("p-value (dotted: .05)")

    def _draw_band(
        self,
        ax: Axes,
        positions: Floats,
        limits: tuple[Floats, Floats],
        line: Mapping[str, Any],
        *,
        across: bool,
    ) -> None:
        """Draw the band of a curve over resampled users; see `draw_band`.

        Positions, and the lower and the upper limits, are of shape (n_points,); with ``across``,
        positions are heights, and limits lie along the horizontal axis. ``line`` has the keywords
        of the curve, with its label.
        """
        n_replicates = self.samples.powers.shape[1]
        explanation = f"Bands: 95 % bootstrap over {self.units} ({n_replicates:,} replicates)."
        draw_band(
            ax,
            positions,
            limits,
            line,
            label=str(line["label"]),
            explanation=explanation,
            across=across,
        )

    def caption(self) -> str:
        """Write which pairs were tested, what DP is, and by what measures are compared."""
        text = f"{self._tests_in_words()} {CONVENTIONS['dp']} {MID_P}"
        return self._with_dominant_pairs(text)

    def caption_of(self, part: str) -> str:
        """Write what p-values are of; figures explain their curves."""
        return self._tests_in_words()

    def _tests_in_words(self) -> str:
        """Write which pairs were tested, by which test and, if there is one, which correction."""
        pairs = counted(len(self.pairs), "pair")
        systems = counted(len(self.systems), "system")
        tested_pairs = f"{pairs} of {systems}"
        if self.baseline:
            tested_pairs = f"{pairs} with {listed(self.baseline)}"
        scores = "" if self.standard is None else f" of standardised scores ({self.standard})"
        users = counted(self.n_users, self.unit)
        test = self.test_in_words()
        sentence = f"p-values{scores} of {tested_pairs} over {users}, by the two-sided {test}."
        if self.correction == "none":
            return sentence
        name = CORRECTIONS_IN_WORDS[self.correction]
        family = "and measures" if self.across_measures else "of a measure"
        return f"{sentence} Adjusted p-values: {name} over all pairs {family}."

    def _with_dominant_pairs(self, text: str) -> str:
        """Add to a text which pairs contribute half of a DP, if any does."""
        return f"{text} {self._dominant_pairs_sentence()}".rstrip()

    def test_in_words(self) -> str:
        """Name the test, and the number of its draws if it draws at random."""
        test = TESTS_IN_WORDS[self.test]
        return f"{test} ({self.permutations:,} random draws)" if self._is_drawn else test


def _printed_medians(summary: pd.DataFrame) -> list[str]:
    """Print the median p-values of `Discrimination.summary`, or the bound below which they are.

    A text for each row: the bound `P_BOUND` is printed where ``median_p_is_bound``.
    """
    printed = []
    for median, is_bound in summary[["median_p", "median_p_is_bound"]].to_numpy():
        printed.append(f"< {P_BOUND}" if is_bound else format_cell(median))
    return printed


def _tested_pairs(systems: tuple[str, ...], baseline: tuple[str, ...]) -> Numbers:
    """Number the pairs with a baseline, or all without one, among all pairs i < j of systems.

    ``baseline`` holds names of systems. The result: rising numbers, of shape (n_tested,). Raises
    InputError if a baseline is no system.
    """
    require_known("no system is called", baseline, systems)
    first, second = pair_indices(len(systems))
    if not baseline:
        return np.arange(len(first))
    baselines = [systems.index(name) for name in baseline]
    has_baseline = np.isin(first, baselines) | np.isin(second, baselines)
    return np.flatnonzero(has_baseline)


def _pair_weights(families: Families, *, seed: int) -> Floats:
    """Weigh the pairs in each subset of the systems as if they were all: (n_subsets, n_pairs).

    The subsets are of random families of systems. A pair of a subset has the weight n_pairs over
    the number of its pairs, other pairs 0: every row adds up to n_pairs.
    """
    is_pair = pair_masks(families.subsets(seed=seed))
    n_pairs_of_subset = is_pair.sum(axis=1, keepdims=True)
    n_pairs = is_pair.shape[1]
    return is_pair * (n_pairs / n_pairs_of_subset)
