"""Tests and corrections by name: p-values of pairs of systems, however they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy
from pydantic import Field

from analyses.intervals.resampling import Advance
from analyses.shared.analysis import AnalysisSettings
from analyses.shared.measure import Measure
from analyses.shared.scores import Scores
from analyses.shared.work import ScoresWork
from analyses.significance.bootstrap_max_t import max_t_test
from analyses.significance.corrections import (
    benjamini_hochberg,
    bonferroni,
    holm,
    sign_flip_max_t_test,
    tukey_test,
)
from analyses.significance.paired_tests import sakai_test, sign_test, t_test, wilcoxon_test
from analyses.significance.permutation import (
    DrawnTests,
    PairTests,
    exact_test,
    monte_carlo_test,
    on_lattice,
)
from runs import InputError
from runs.shared.arrays import Floats, Numbers
from runs.shared.parallel import delayed, run_in_threads
from runs.shared.settings import Permutations

if TYPE_CHECKING:
    from analyses.shared.work import Work


Test = Literal["exact", "monte-carlo", "t", "wilcoxon", "sign", "bootstrap"]
Standard = Literal["normal", "uniform", "empirical"]
Correction = Literal["none", "bonferroni", "holm", "bh", "max-t", "max-t-sign-flip", "tukey"]
Simultaneous = Literal["max-t", "max-t-sign-flip", "tukey"]
"""Corrections that are tests of all pairs of systems at once."""

DETERMINISTIC_TESTS = {"t": t_test, "wilcoxon": wilcoxon_test, "sign": sign_test}
"""Tests without a setting."""

ADJUSTMENTS = {"bonferroni": bonferroni, "holm": holm, "bh": benjamini_hochberg}
"""Corrections of p-values, along the last axis."""

JOINT_TESTS: Mapping[str, Callable[..., Floats]] = {
    "max-t": max_t_test,
    "max-t-sign-flip": sign_flip_max_t_test,
    "tukey": tukey_test,
}
"""The tests of all pairs of systems at once."""

TESTS_OF_MEANS = ("exact", "monte-carlo", "t", "bootstrap")
"""Tests of the difference in means; the others are of ranks or signs."""

DRAWS = {"exact": 100_000, "monte-carlo": 100_000, "bootstrap": 10_000}
DRAWS_OF_CORRECTION = {"max-t": 10_000, "max-t-sign-flip": 100_000, "tukey": 5_000}
SCALE_TOLERANCE = 1e-6

UNIFORM_SLOPE = 0.15
"""Score of a standard deviation in the linear form: 3.3 deviations to either side span all."""


class Question(AnalysisSettings):
    """How pairs of systems are tested.

    The exact permutation test uses random sign flips where it cannot be computed exactly; for the
    others see `analyses.significance.paired_tests` and `analyses.significance.corrections`.
    """

    test: Test = Field(
        "exact", description="Significance test; exact: the paired permutation test of means."
    )
    correction: Correction = Field(
        "none", description="Correction for testing all pairs of systems by a measure."
    )
    alpha: float = Field(
        0.05,
        ge=1e-9,
        lt=1,
        description="Significance level, for required differences and adjusted p-values.",
    )
    permutations: Permutations | None = Field(
        None,
        ge=99,
        description="Number of random permutations or bootstrap replicates; default: 100,000 for "
        "monte-carlo and max-t-sign-flip, 10,000 for bootstrap and max-t, 5,000 for tukey.",
    )

    @property
    def draws(self) -> int:
        """Number of random draws of the test, if it needs any; 0 if it never does."""
        return self.permutations or DRAWS.get(self.test, 0)


def pair_tests(work: Work, question: Question, pairs: Numbers, *, advance: Advance) -> PairTests:
    """Test pairs of systems, given by their numbers in the order of `pair_indices`, by measure.

    ``work`` has the scores, seed and number of jobs; ``question`` the name and settings of the
    test. ``advance`` is called with the number of permutations (monte-carlo) or measures finished.
    The result has p-values, mid-p-values, labels of methods, and required differences, the smallest
    significant ones: arrays of shape (n_measures, n_pairs). p-values are not adjusted; mid-p-values
    are p-values but for the tests "exact" and "monte-carlo"; required differences are NaN but for
    the test "exact".
    """
    if question.test == "exact":
        return _exact_tests(work, question, pairs, advance=advance)
    mid_p = None
    if question.test == "monte-carlo":
        p, mid_p = _draw_p_values(by_user_id(work.scores), work, question, advance=advance)
    elif question.test == "bootstrap":
        scores = by_user_id(work.scores)
        p = sakai_test(scores, replicates=question.draws, seed=work.seed, n_jobs=work.n_jobs)
        advance(len(p))
    else:
        test = DETERMINISTIC_TESTS[question.test]
        p = test(work.scores.weighted_values)
        advance(len(p))
    if mid_p is None:
        mid_p = p
    shape = (len(p), len(pairs))
    return PairTests(
        p=p[:, pairs],
        mid_p=mid_p[:, pairs],
        methods=np.full(shape, question.test),
        required=np.full(shape, np.nan),
    )


def correct(p: Floats, work: Work, question: Question) -> Floats | None:
    """Adjust p-values, of shape (n_measures, n_pairs), for all pairs by one measure.

    The correction is that of the question; the adjusted p-values are of the same shape, or None if
    it has none. max-T and Tukey's HSD compute p-values of their own from the scores in ``work``,
    for all pairs of systems, and do not use ``p``.
    """
    correction = question.correction
    if correction == "none":
        return None
    if correction in ADJUSTMENTS:
        adjust = ADJUSTMENTS[correction]
        return adjust(p)
    joint_test = JOINT_TESTS[correction]
    permutations = question.permutations or DRAWS_OF_CORRECTION[correction]
    scores = by_user_id(work.scores)
    return joint_test(scores, permutations=permutations, seed=work.seed, n_jobs=work.n_jobs)


def check_scales(scores: Scores, scales: Mapping[Measure, int]) -> None:
    """Refuse, with InputError, a scale that does not make its measure's scores integers."""
    for measure, values in zip(scores.measures, scores.weighted_values, strict=True):
        scale = scales.get(measure)
        if scale and not on_lattice(values, scale, tolerance=SCALE_TOLERANCE):
            raise InputError(f"the scores of {measure} are not multiples of 1/{scale}.")


def _exact_tests(work: Work, question: Question, pairs: Numbers, *, advance: Advance) -> PairTests:
    """Test pairs exactly; draw random signs for pairs for which no exact method is safe.

    ``work`` has scores, scales (by measure, the factor that makes scores integers), seed and number
    of jobs; pairs are given by their numbers in the order of `pair_indices`. ``advance`` is called
    with 1 after each measure. Arrays of the result are of shape (n_measures, n_pairs); required
    differences are NaN for pairs whose p-values are from random signs.
    """
    scores = work.scores
    tasks = (
        delayed(exact_test)(
            values, scale=work.scales.get(measure), alpha=question.alpha, pairs=pairs
        )
        for measure, values in zip(scores.measures, scores.weighted_values, strict=True)
    )
    results: list[PairTests] = []
    for result in run_in_threads(tasks, n_jobs=work.n_jobs, return_as="generator"):
        results.append(result)
        advance(1)
    p = np.array([result.p for result in results])
    mid_p = np.array([result.mid_p for result in results])
    methods = np.array([result.methods for result in results])
    required = np.array([result.required for result in results])
    # The exact test leaves NaN where no exact method is safe: of equal means, in mid-p alone.
    measures = np.flatnonzero(np.isnan(mid_p).any(axis=1))
    if len(measures) > 0:
        values = by_user_id(scores)[measures]
        drawn = _draw_p_values(values, work, question, advance=None)
        p[measures] = np.where(np.isnan(p[measures]), drawn.p[:, pairs], p[measures])
        is_missing = np.isnan(mid_p[measures])
        mid_p[measures] = np.where(is_missing, drawn.mid_p[:, pairs], mid_p[measures])
    return PairTests(p, mid_p, methods, required)


def _draw_p_values(
    values: Floats, work: Work, question: Question, *, advance: Advance | None
) -> DrawnTests:
    """Compute p-values and mid-p-values of all pairs by random signs: (n_measures, n_pairs).

    Scores are of shape (n_measures, n_systems, n_users), in the order of user ids; ``work`` has the
    seed and number of jobs, ``question`` the number of draws.
    """
    return monte_carlo_test(
        values, permutations=question.draws, seed=work.seed, n_jobs=work.n_jobs, advance=advance
    )


def by_user_id(scores: Scores) -> Floats:
    """Order weighted scores by user id, so that random draws do not depend on the order of users.

    The result: of shape (n_measures, n_systems, n_users).
    """
    return scores.weighted_values[:, :, np.argsort(scores.users, kind="stable")]


def standardised(work: Work, standard: Standard | None) -> Work:
    """Replace the scores of a work by standardised ones (see `standardise`).

    Without a standard (None) ``work`` is returned as it is. The new work has the seed, number of
    jobs and progress of the old one, but neither scores of single runs of systems nor other data.
    """
    if standard is None:
        return work
    standardised_values = standardise(work.scores.values, standard)
    standardised_scores = replace(work.scores, values=standardised_values, runs=None)
    return ScoresWork(
        standardised_scores, seed=work.seed, n_jobs=work.n_jobs, progress=work.progress
    )


def standardise(values: Floats, standard: Standard) -> Floats:
    r"""Compare every score with the scores that all systems have for the same user.

    With mean and standard deviation over the systems, z is what a score deviates by.

    ========= ============================================ ==============================
    normal    :math:`\Phi(z)`                              Webber, Moffat & Zobel (2008)
    uniform   0.15 z + 0.5, cut at 0 and 1                 Sakai (2016)
    empirical share of the systems with no higher score    Urbano, Lima & Hanjalic (2019)
    ========= ============================================ ==============================

    Values are of shape (n_measures, n_systems, n_users), as is what is returned, in [0, 1]. Where
    all systems have the same score for a user, the result is .5 for all, or 1 if empirical.
    """
    if standard == "empirical":
        n_not_higher = np.zeros(values.shape)
        for system_values in np.moveaxis(values, 1, 0):
            n_not_higher += system_values[:, None, :] <= values
        return n_not_higher / values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    deviations = values.std(axis=1, ddof=1, keepdims=True)
    differs = np.ptp(values, axis=1, keepdims=True) > 0
    zeros = np.zeros(values.shape)
    z = np.divide(centred, deviations, out=zeros, where=differs)
    if standard == "normal":
        return np.asarray(scipy.special.ndtr(z))
    return np.clip(UNIFORM_SLOPE * z + 0.5, 0.0, 1.0)
