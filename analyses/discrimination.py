"""Discriminative power: tests of all pairs of systems under each measure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, compress
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator
from scipy.special import stdtrit

from analyses.intervals.systems import pair_masks
from analyses.shared.analysis import SettingError, StudyFacts, analysis
from analyses.shared.drawing import curve_styles, draw_band, explain, label_curves, panel_title
from analyses.shared.estimate import Estimate
from analyses.shared.families import CONFIDENCE, N_CROSSED, Families, SubsetValues
from analyses.shared.limits import SMALLEST_RATIO, ratio_limits, standard_deviations
from analyses.shared.measure import Measures, tidy
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import common_decimals, format_cell, rounded_ratio
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import applicable, join_pairs, listed
from analyses.shared.table import Table
from analyses.significance.effects import effects
from analyses.significance.permutation import Method, pair_indices
from analyses.significance.power import REPLICATES, PowerSamples, resample_power
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
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.errors import counted, require_choice, require_known
from runs.shared.settings import Repeats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

SHOWN_P, LEVEL = 0.001, 0.05
"""Where the axis of p-values ends, and what is not significant begins."""

POWER = 0.8
"""The power of a difference that users can show."""

TICKS = (1.0, 0.1, 0.01, 0.001)
MARKERS_PER_CURVE = 12
SIZES = ("lower", "upper", "relative", "standardised", "better", "worse", "equal")

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
    "max-t": "the step-down max-T permutation test",
    "tukey": "the randomised Tukey HSD test",
}


LEAST_SHARE = 0.5
"""Measures that tell a smaller share of the pairs apart at p < .05 are not discriminative.

See docs/methods/thresholds.md.
"""

MANY_USERS, FEW_USERS = 1000, 200
"""From so many users on tests of ranks reject too often; sums of fewer are not close to normal."""

BOUND = "2e-16"
"""Below this are p-values of which only an upper bound is known."""

HALF = 0.5
"""A pair that contributes this share of a DP is named."""

MOST = 0.9
"""If a larger share of the pairs is significant, the size of the differences matters more."""

UNORDERED = "unordered pairs of systems (Valcarce et al. 2018 count each pair twice)"

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

VERDICTS = ("different", "equivalent", "undecided")

Convention = Literal["dp", "dp_ordered"]


class Settings(Question):
    """Tests between pairs of systems."""

    replicates: Repeats = Field(
        REPLICATES, ge=0, description="Bootstrap replicates; 0: no intervals."
    )
    baseline: Annotated[
        tuple[str, ...], BeforeValidator(lambda of: (of,) if isinstance(of, str) else of)
    ] = Field((), description="Systems to compare with: only pairs with one of them are tested.")
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
    def _askable(self) -> Settings:
        if self.baseline and self.correction in JOINT_TESTS:
            raise ValueError(
                f"the correction {self.correction!r} tests all pairs of systems at once; with a "
                "baseline, choose 'bonferroni', 'holm' or 'bh'"
            )
        if self.across_measures and (self.correction in JOINT_TESTS or self.correction == "none"):
            raise ValueError(
                f"the correction {self.correction!r} is not made across measures; choose "
                "'bonferroni', 'holm' or 'bh'"
            )
        return self

    def check(self, study: StudyFacts) -> None:
        """Refuse a baseline that is no system."""
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

    Memory beyond four copies of the scores is below 400 MB for each job with up to 200 systems, and
    500 bytes for each measure and pair.
    """
    families, work = work.families, standardised(work, settings.standardised)
    scores, scales = work.scores, work.scales
    scores.require("discrimination")
    check_scales(scores, scales)
    chosen = _pair_numbers(scores.systems, settings.baseline)
    n_steps = settings.draws if settings.test == "monte-carlo" else len(scores.measures)
    with work.progress("Testing pairs of systems", n_steps) as bar:
        found = pair_tests(work, settings, chosen, advance=bar.advance)
    together = found.p.reshape(1, -1) if settings.across_measures else found.p
    adjusted = correct(together, work, settings)
    first, second = (side[chosen] for side in pair_indices(len(scores.systems)))
    within = np.empty((0, len(chosen)))
    if not settings.baseline:
        within = _pair_weights(families, seed=work.seed)[:N_CROSSED]
    samples = resample_power(
        scores.weighted_values,
        found.p,
        (first, second),
        scales=tuple(scales.get(measure) for measure in scores.measures),
        groups=within,
        replicates=settings.replicates if settings.test in TESTS_OF_MEANS else 0,
        seed=work.seed,
        n_jobs=work.n_jobs,
        runs=scores.runs,
    )
    means, sizes = (
        scores.mean_values(),
        effects(scores.weighted_values, level=CONFIDENCE, runs=scores.runs),
    )
    return Discrimination(
        measures=scores.measures,
        systems=scores.systems,
        families=families,
        differences=means[:, first] - means[:, second],
        effects={name: getattr(sizes, name)[:, chosen] for name in SIZES},
        p=found.p,
        methods=found.methods,
        required=found.required,
        p_adjusted=None if adjusted is None else adjusted.reshape(found.p.shape),
        samples=samples,
        n_users=len(scores.users),
        permutations=settings.draws,
        seed=work.seed,
        standard=settings.standardised,
        **settings.model_dump(exclude={"permutations", "replicates", "standardised"}),
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
    differences
        Mean score of i minus mean score of j, of shape (n_measures, n_pairs).
    effects
        How large the differences are: the arrays of :class:`analyses.significance.effects.Effects`
        by name.
    p
        Two-sided p-values in (0, 1], of shape (n_measures, n_pairs).
    methods
        How each was found, of shape (n_measures, n_pairs): the name of the test, or a label of
        :class:`analyses.significance.permutation.Method`.
    required
        Smallest difference in means that is significant at ``alpha``, of shape (n_measures,
        n_pairs); NaN where none is, and for tests other than "exact", which do not give it.
    p_adjusted
        Corrected for testing many pairs, of the same shape; None without a correction.
    samples
        DP and curves for resampled users; there are none for tests that are not of means.
    n_users
        Number of users (topics).
    test, correction, alpha, permutations, seed, baseline, standard, margin, across_measures
        What was asked: see `Settings`; ``permutations`` is the number of random draws of the test,
        ``standard`` how scores were standardised, if they were.
    """

    measures: Measures
    systems: tuple[str, ...]
    families: Families
    differences: Floats
    effects: Mapping[str, Floats]
    p: Floats
    methods: NDArray[np.str_]
    required: Floats
    p_adjusted: Floats | None
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
        """Names of the systems of each pair."""
        every = [*combinations(self.systems, 2)]
        return tuple(every[n] for n in _pair_numbers(self.systems, self.baseline))

    @property
    def dp(self) -> Floats:
        """Discriminative power: sum of p over the unordered pairs, lower is better.

        Of shape (n_measures,). Valcarce et al. (2018) sum over ordered pairs: twice as much.
        """
        return np.asarray(self.p.sum(axis=1))

    @property
    def significant(self) -> Floats:
        """Share of the pairs with p < .05, of shape (n_measures,)."""
        return np.asarray((self.p < LEVEL).mean(axis=1))

    @property
    def alike(self) -> Masks:
        """Mark pairs of systems that score every user alike by every measure: their p is 1.

        Of shape (n_pairs,).
        """
        return np.asarray((self.effects["equal"] == 1).all(axis=0))

    @property
    def dp_without_alike(self) -> Floats:
        """DP over the pairs that are not `alike`, of shape (n_measures,)."""
        return np.asarray(self.p[:, ~self.alike].sum(axis=1))

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """95 % interval of ``dp`` over users, each end of shape (n_measures,); NaN if unknown.

        Of the DP that as many users have on average, by the spread of its logarithm over resampled
        users: see :func:`analyses.shared.estimate.ratio_limits`.
        """
        return ratio_limits(self.dp, self.samples.powers, highest=float(self.p.shape[1]))

    def detectable(self) -> Floats:
        """Difference in means that is found with power .8, in the median pair, (n_measures,).

        At level .05, by Student's t from the standard error of each difference; NaN of one user.
        """
        level, power = stdtrit(max(self.n_users - 1, 1), [1 - LEVEL / 2, POWER])
        reaches = (self.effects["upper"] - self.effects["lower"]) / 2
        return np.asarray(np.median(reaches, axis=1) * (level + power) / level)

    def verdicts(self) -> NDArray[np.str_] | None:
        """Call each pair different, equivalent or undecided, of shape (n_measures, n_pairs).

        Equivalent is a pair whose difference is smaller than ``margin`` by two one-sided t-tests at
        level ``alpha`` (Schuirmann 1987); of the others, different is a pair with p, adjusted if
        that was asked for, at most ``alpha``. None without a margin.
        """
        if self.margin is None:
            return None
        freedom = max(self.n_users - 1, 1)
        one_sided, two_sided = stdtrit(freedom, [1 - self.alpha, 1 - LEVEL / 2])
        errors = (self.effects["upper"] - self.effects["lower"]) / 2 / two_sided
        is_small = np.abs(self.differences) + one_sided * errors < self.margin
        p = self.p if self.p_adjusted is None else self.p_adjusted
        differs = np.where(p <= self.alpha, VERDICTS[0], VERDICTS[2])
        return np.where(is_small, VERDICTS[1], differs)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``discrimination`` (`summary`), ``pvalues`` (`to_frame`), ``power_differences``."""
        return {
            "discrimination": self.summary(),
            "pvalues": self.to_frame(),
            "power_differences": self.estimates().differences(),
        }

    def to_frame(self) -> pd.DataFrame:
        """Give one row per measure and pair.

        The result: columns metric, cutoff, system_a, system_b, difference, its 95 % interval
        (Student's t; Welch's with several runs of a system) lower and upper, the effect sizes
        relative and standardised, the shares of users for whom a is better, worse, equal (see
        :class:`analyses.significance.effects.Effects`), p, p_adjusted (with a correction),
        required_difference, method, verdict (with a margin, see
        `verdicts`).
        """
        columns: dict[str, Any] = {"difference": self.differences, **self.effects, "p": self.p}
        if self.p_adjusted is not None:
            columns["p_adjusted"] = self.p_adjusted
        columns |= {"required_difference": self.required, "method": self.methods}
        if (verdicts := self.verdicts()) is not None:
            columns["verdict"] = verdicts
        first, second = zip(*self.pairs, strict=True)
        return tidy(self.measures, {"system_a": first, "system_b": second}, **columns)

    def summary(self) -> pd.DataFrame:
        """One row per measure, with discriminative power in every convention.

        The result: columns ``dp`` (sum of p over unordered pairs), ``dp_ordered`` (over ordered
        pairs, as Valcarce et al. 2018 print it), ``significant_05`` (share of pairs with p < .05;
        Sakai 2006), ``median_p`` (Lu, Moffat & Culpepper 2016) and ``median_p_is_bound`` (whether
        only an upper bound of it is known), ``dp_mean`` (``dp`` divided by the number of pairs) and
        ``significant_01``; ``required_max`` and ``required_median`` over pairs of the smallest
        difference in means that is significant at ``alpha``; ``detectable`` (see `detectable`);
        ``dp_sd``, ``dp_low`` and ``dp_high`` over resampled users (see `interval`), limits over
        systems (``dp_systems_low``, ``dp_systems_high``) and over both (``dp_both_low``,
        ``dp_both_high``); with a correction, ``significant_adjusted``,
        the share of pairs with adjusted p at most ``alpha``; with a margin, the shares
        ``different``, ``equivalent`` and ``undecided`` (see `verdicts`); and, where there are pairs
        that are `alike`, ``dp_without_alike``.
        """
        import pandas as pd

        low, high = self.interval
        required, limits = pd.DataFrame(self.required), self.estimates().limit_columns()
        bounds = np.where(self.methods == Method.BOUND, self.p, 0.0).max(axis=1)
        columns = {
            "dp": self.dp,
            "dp_ordered": 2 * self.dp,
            "significant_05": self.significant,
            "median_p": np.median(self.p, axis=1),
            "median_p_is_bound": np.median(self.p, axis=1) <= bounds,
            "dp_mean": self.p.mean(axis=1),
            "significant_01": (self.p < 0.01).mean(axis=1),
            "required_max": required.max(axis=1),
            "required_median": required.median(axis=1),
            "detectable": self.detectable(),
            "dp_sd": standard_deviations(self.samples.powers),
            "dp_low": low,
            "dp_high": high,
            **{f"dp_{name}": limit for name, limit in limits.items()},
        }
        if self.p_adjusted is not None:
            columns["significant_adjusted"] = (self.p_adjusted <= self.alpha).mean(axis=1)
        if (verdicts := self.verdicts()) is not None:
            columns |= {name: (verdicts == name).mean(axis=1) for name in VERDICTS}
        if self.alike.any():
            columns["dp_without_alike"] = self.dp_without_alike
        return tidy(self.measures, **columns)

    def estimates(self) -> Estimates:
        """Discriminative power, with intervals over the same resampled users."""
        (low, high), within = self.interval, None
        # DP in random subsets, as of all pairs, where these were tested.
        if not self.baseline:
            weights = _pair_weights(self.families, seed=self.seed)
            within = SubsetValues(
                self.families.n_families, self.p @ weights.T, self.samples.crossed
            )
        return Estimates(
            name="DP",
            quantity="DP over unordered pairs",
            subject="Discriminative power",
            best="discriminative",
            measures=self.measures,
            values=self.dp,
            low=low,
            high=high,
            replicates=self.samples.powers,
            lower_is_better=True,
            systems=within,
            by_ratio=True,
            most=float(self.p.shape[1]),
            threshold=LEAST_SHARE,
            shares=self.significant,
            requirement="of the pairs with p < .05",
            decimals=self.decimals,
        )

    def publications(self) -> Mapping[str, pd.DataFrame]:
        """Give Table 3 of Valcarce et al. (2018): DP over ordered pairs that are not `alike`."""
        frame = self.summary()[["metric", "cutoff"]]
        return {"recsys2018-table3": frame.assign(value=2 * self.dp_without_alike)}

    def findings(self) -> Sequence[str]:
        """Add which pairs contribute half of a DP."""
        return [*super().findings(), *filter(None, [self._dominated(), self._decided()])]

    def _decided(self) -> str:
        """Say how many pairs each report measure leaves undecided, if there is a margin."""
        verdicts, reported = self.verdicts(), self.measures.reported
        if verdicts is None:
            return ""
        counts = (verdicts[self.measures.indices(reported)] == VERDICTS[2]).sum(axis=1)
        by = [f"{n:,} by {measure}" for n, measure in zip(counts, reported, strict=True)]
        return (
            f"With {self.margin:g} as the smallest difference of interest in every measure, so "
            f"many of {counted(len(self.pairs), PAIR)} are undecided: {listed(by)}."
        )

    def _dominated(self) -> str:
        """Name the pairs that alone contribute half of the DP of a report measure."""
        parts = []
        for n in self.measures.indices(self.measures.reported):
            pair = int(np.argmax(self.p[n]))
            if len(self.pairs) > 1 and self.p[n, pair] >= HALF * self.dp[n]:
                rest = rounded_ratio(float(self.dp[n] - self.p[n, pair]), self.decimals)
                named = listed(self.pairs[pair])
                parts.append(f"{self.measures[n]} ({named}; DP = {rest} without this pair)")
        if not parts:
            return ""
        return (
            "One pair of systems contributes at least half of the DP over unordered pairs of "
            f"{listed(parts)}."
        )

    @cached_property
    def decimals(self) -> int:
        """Decimals of DP wherever it is printed: those that the intervals of all support."""
        return common_decimals(*self.interval)

    def cautions(self) -> Sequence[str]:
        """Say where significance tells little, and what the literature warns of."""
        reported = self.p[self.measures.indices(self.measures.reported)]
        alike = [*compress(self.pairs, self.alike)]
        near = [*compress(self.pairs, (reported >= LEVEL).all(axis=0) & ~self.alike)]
        least = (reported < LEVEL).mean(axis=1).min(initial=1.0)
        share = "all" if least == 1 else f"at least {math.floor(100 * least)} % of"
        of_pairs = {
            f"{join_pairs(alike)} have identical scores for every {self.unit} by every measure; "
            "each such pair adds 1 to DP over unordered pairs.": bool(alike),
            f"For {len(near):,} of {counted(len(self.pairs), PAIR)}, none of the report "
            "measures finds a significant difference (p < .05), even without correction "
            f"({join_pairs(near)}); corrected tests leave more pairs undecided.": bool(near),
            f"With {counted(self.n_users, self.unit)}, every measure finds {share} pairs of "
            "systems "
            "significantly different (p < .05); consider the size of the differences, "
            "too.": len(reported) > 0 and least >= MOST,
        }
        name, about = ("sign", "medians") if self.test == "sign" else ("Wilcoxon", "ranks")
        needed, are_drawn = len(self.pairs) / self.alpha, self.test in ("monte-carlo", "bootstrap")
        of_test = {
            f"The {name} test compares {about}, not means: with "
            f"{counted(self.n_users, self.unit)} it "
            "rejects too often if differences have mean 0 but are not symmetric (Ihemelandu & "
            "Ekstrand 2023); prefer the permutation test.": self.test in ("wilcoxon", "sign")
            and self.n_users >= MANY_USERS,
            f"The test assumes that means are normally distributed, which {self.n_users:,} "
            f"{self.units} may be too few for; compare with the exact permutation "
            "test.": self.test in ("t", "wilcoxon", "bootstrap") and self.n_users < FEW_USERS,
            f"{self.permutations:,} random permutations are too few to correct for "
            f"{counted(len(self.pairs), 'pair')} at alpha = {self.alpha:g}, as no p-value is below "
            f"1/{self.permutations + 1:,}; use at least {np.floor(needed):,.0f}.": are_drawn
            and self.permutations + 1 <= needed,
        }
        few = [] if self.baseline else self.families.cautions()
        return [*applicable(of_pairs), *few, *applicable(of_test)]

    @table("power", "discriminative power by metric and cut-off", alias="table3")
    def power(self, *, cutoff: int | None = None, convention: Convention = "dp") -> Table:
        """Tabulate discriminative power by metric and cut-off, or at one cut-off: Table 3."""
        shown_of = self.measures if cutoff is None else self.measures.at_cutoff(cutoff)
        numbers = self.measures.indices(shown_of)
        cells = shown_of.cells_by_cutoff(self.summary()[convention].iloc[numbers], heading="DP")
        columns, every = [shown_of], self.under_settings(self.estimates())
        if shown_of.is_grid:
            columns = [shown_of.at_cutoff(each) for each in {m.cutoff for m in shown_of}]
        best = {m for column in columns for m in every.select(column).significantly_best()}
        marks = shown_of.cells_by_cutoff([m in best for m in shown_of], heading="DP")
        bold = [cell for cell, mark in marks.items() if mark == 1]
        by = "metric and cut-off" if shown_of.is_grid else "measure"
        title = f"Discriminative power by {by}"
        facts = "power", title, self._with_pairs(CONVENTIONS[convention]), "metric", cells
        return Table.from_cells(*facts, bold=bold, decimals=self.decimals)

    @table("conventions", "discriminative power in every convention, the most discriminative first")
    def conventions(self, *, cutoff: int | None = None) -> Table:
        """Tabulate every convention, a row for each measure; what is not known is left out.

        Without a cut-off these are the report measures.
        """
        compared = self.measures.reported_or_at(cutoff)
        chosen = self.measures.indices(compared)
        summary = self.summary().iloc[chosen].sort_values("dp", kind="stable")
        note = f"{self._tested()} {CONVENTIONS['dp']}"
        limits = zip(summary["dp"], summary["dp_low"], summary["dp_high"], strict=True)
        columns: dict[str, Any] = {
            "measure": [str(self.measures[n]) for n in summary.index],
            "DP [95 %]": [Estimate(*each).printed(self.decimals, by_ratio=True) for each in limits],
            "mean p": summary["dp_mean"],
            "median p": [
                f"< {BOUND}" if is_bound else format_cell(median)
                for median, is_bound in summary[["median_p", "median_p_is_bound"]].to_numpy()
            ],
        }
        further = {
            "significant_05": "share p < .05",
            "significant_01": "share p < .01",
            "significant_adjusted": f"share adjusted p ≤ {self.alpha:g}",
            **{verdict: verdict for verdict in VERDICTS},
            "required_max": "required difference",
            "detectable": "detectable difference",
        }
        known = summary.dropna(axis=1, how="all")
        columns |= {heading: known[name] for name, heading in further.items() if name in known}
        if summary["required_max"].notna().any():
            note += (
                " Required difference: the smallest difference in means from which every pair is "
                f"significant at {self.alpha:g}."
            )
        if summary["detectable"].notna().any():
            note += " Detectable: a difference found with power .8 in the median pair."
        title = f"Discriminative power{'' if compared == self.measures else compared.title_suffix}"
        return Table.from_columns("discrimination", title, self._with_pairs(note), columns)

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
        """
        require_choice("axes", axes, ("share", "pairs"))
        draw_curve = self._draw_over_pairs if axes == "pairs" else self._draw_over_p
        for number, name, style in curve_styles(self.measures, metric=metric):
            power = rounded_ratio(float(self.dp[number]), self.decimals)
            label = name if metric is not None else f"{name} (DP {power})"
            line = {"marker": ".", "markersize": 2.0, **style, "label": label}
            draw_curve(ax, number, line, with_band=metric is None)
        if metric is None:
            names = f"In brackets: DP, the sum of the p-values over {UNORDERED}; lower is better."
            explain(ax, self._with_pairs(f"{DIRECTIONS[axes]} {names}"))
        else:
            explain(ax, DIRECTIONS[axes])
        ax.set_title(panel_title(self.measures, metric=metric))
        label_curves(ax, ordered=metric is not None)

    def _draw_over_p(self, ax: Axes, number: int, line: dict[str, Any], *, with_band: bool) -> None:
        """Draw the share of the pairs with at most a p-value, of the measure of a number."""
        n_pairs = len(self.pairs)
        p_values = -np.sort(-self.p[number])
        percent = 100 * (1 - np.arange(n_pairs + 1) / n_pairs)
        shown_p = np.append(p_values[p_values >= SHOWN_P], SHOWN_P)
        every = max(1, len(shown_p) // MARKERS_PER_CURVE)
        (curve,) = ax.plot(
            shown_p, percent[: len(shown_p)], markevery=every, drawstyle="steps-pre", **line
        )
        # The axis ends at 100 %, which all curves reach, without a margin.
        curve.sticky_edges.y.append(100.0)
        high = self.samples.curve_high[number]
        if with_band and np.isfinite(high).all():
            seen = min(int(np.count_nonzero(high >= SHOWN_P)) + 1, n_pairs)
            # On a logarithmic axis the band reaches as far to either side.
            low = p_values**2 / np.maximum(high, SMALLEST_RATIO)
            limits = (np.maximum(low[:seen], SHOWN_P), np.maximum(high[:seen], SHOWN_P))
            self._draw_band(ax, percent[:seen], limits, line, across=True)
        level = ax.axvline(LEVEL, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        explain(level, LEVEL_IN_WORDS)
        ax.set(xscale="log", xlim=(1.0 * P_ROOM, SHOWN_P / P_ROOM))
        ax.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        ax.minorticks_off()
        ax.set_xlabel("p-value (dotted: .05)")
        ax.set_ylabel("pairs with at most this p-value (%)")

    def _draw_over_pairs(
        self, ax: Axes, number: int, line: dict[str, Any], *, with_band: bool
    ) -> None:
        """Draw the p-values of the pairs in falling order, of the measure of a number."""
        n_pairs = len(self.pairs)
        # Further to the right, all curves are at the bottom.
        n_shown = min(max(10, int(np.count_nonzero(self.p >= SHOWN_P, axis=1).max())) + 1, n_pairs)
        ranks = np.arange(1.0, n_shown + 1)
        p_values = -np.sort(-self.p[number])[:n_shown]
        every = max(1, n_shown // MARKERS_PER_CURVE)
        (curve,) = ax.plot(ranks, p_values, markevery=every, **line)
        if n_shown < n_pairs:
            explain(curve, f"Pairs after the first {n_shown:,} are left out: p < .001.")
        high = self.samples.curve_high[number, :n_shown]
        if with_band and np.isfinite(high).all():
            limits = (self.samples.curve_low[number, :n_shown], high)
            self._draw_band(ax, ranks, limits, line, across=False)
        level = ax.axhline(LEVEL, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        explain(level, LEVEL_IN_WORDS)
        ax.set(xlim=(0, n_shown + 1), ylim=(-0.03, 1.03))
        ax.set_xlabel("pairs of systems, in order of p")
        ax.set_ylabel("p-value (dotted: .05)")

    def _draw_band(
        self,
        ax: Axes,
        places: Floats,
        limits: tuple[Floats, Floats],
        line: Mapping[str, Any],
        *,
        across: bool,
    ) -> None:
        """Draw the band of a curve over resampled users."""
        n_replicates = self.samples.powers.shape[1]
        bands = f"Bands: 95 % bootstrap over {self.units} ({n_replicates:,} replicates)."
        label = str(line["label"])
        draw_band(ax, places, limits, line, label=label, explanation=bands, across=across)

    def caption(self) -> str:
        """Say which pairs were tested, and what DP is."""
        return self._with_pairs(f"{self._tested()} {CONVENTIONS['dp']}")

    def caption_of(self, part: str) -> str:
        """Say what p-values are of; figures explain their curves."""
        return self._tested()

    def _tested(self) -> str:
        """Say which pairs were tested, and how."""
        pairs = f"{counted(len(self.pairs), 'pair')} of {counted(len(self.systems), 'system')}"
        if self.baseline:
            pairs = f"{counted(len(self.pairs), 'pair')} with {listed(self.baseline)}"
        scores = "" if self.standard is None else f" of standardised scores ({self.standard})"
        corrected = ""
        if self.correction != "none":
            name = CORRECTIONS_IN_WORDS[self.correction]
            over = "and measures" if self.across_measures else "of a measure"
            corrected = f" Adjusted p-values: {name} over all pairs {over}."
        return (
            f"p-values{scores} of {pairs} over {counted(self.n_users, self.unit)}, by the "
            "two-sided "
            f"{self.test_in_words()}.{corrected}"
        )

    def _with_pairs(self, text: str) -> str:
        """Add what single pairs contribute to DP."""
        return f"{text} {self._dominated()}".rstrip()

    def test_in_words(self) -> str:
        """Name the test, and the number of its draws."""
        draws = f" ({self.permutations:,} random draws)"
        return TESTS_IN_WORDS[self.test] + draws * (self.test in ("monte-carlo", "bootstrap"))


def _pair_numbers(systems: tuple[str, ...], baseline: tuple[str, ...]) -> Numbers:
    """Number the pairs with a baseline, or all, in the order of `pair_indices`."""
    require_known("no system is called", baseline, systems)
    ends = np.array(pair_indices(len(systems)))
    places = [systems.index(name) for name in baseline]
    return np.flatnonzero(np.isin(ends, places).any(axis=0) | (not places))


def _pair_weights(families: Families, *, seed: int) -> Floats:
    """Weigh the pairs in each subset of the systems as if they were all: (n_subsets, n_pairs)."""
    pairs = pair_masks(families.subsets(seed=seed))
    return pairs * (pairs.shape[1] / pairs.sum(axis=1, keepdims=True))
