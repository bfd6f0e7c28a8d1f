"""Tests and corrections by name: p-values of pairs of systems, however they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from pydantic import Field

from analyses.shared.analysis import AnalysisSettings
from analyses.shared.measure import Measure, Scores
from analyses.significance.corrections import (
    benjamini_hochberg,
    bonferroni,
    holm,
    max_t_test,
    tukey_test,
)
from analyses.significance.paired import sakai_test, sign_test, t_test, wilcoxon_test
from analyses.significance.permutation import ExactTest, exact_test, monte_carlo_test, on_lattice
from runs import InputError
from runs.shared.members import Whole

if TYPE_CHECKING:
    from analyses.shared.work import Work

Test = Literal["exact", "monte-carlo", "t", "wilcoxon", "sign", "bootstrap"]
Correction = Literal["none", "bonferroni", "holm", "bh", "max-t", "tukey"]

PLAIN: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "t": t_test,
    "wilcoxon": wilcoxon_test,
    "sign": sign_test,
}
"""Tests without a setting."""

ADJUSTMENTS: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "bonferroni": bonferroni,
    "holm": holm,
    "bh": benjamini_hochberg,
}
"""Corrections of p-values, along the last axis."""

JOINT: Mapping[str, Callable[..., NDArray[np.float64]]] = {"max-t": max_t_test, "tukey": tukey_test}
"""Corrections that are tests of all pairs of systems at once."""

OF_MEANS = ("exact", "monte-carlo", "t", "bootstrap")
"""Tests of the difference in means; the others are of ranks or signs."""

DRAWS = {"exact": 100_000, "monte-carlo": 100_000, "bootstrap": 10_000}
DRAWS_OF_CORRECTION = {"max-t": 100_000, "tukey": 5_000}
SCALE_TOLERANCE = 1e-6


class Question(AnalysisSettings):
    """What is asked of pairs of systems.

    The exact permutation test is drawn by random sign flips where none of its methods is safe; for
    the others see :mod:`analyses.significance.paired` and :mod:`analyses.significance.corrections`.
    """

    test: Test = Field(
        "exact", description="The permutation test, exactly or by random draws; or another."
    )
    correction: Correction = Field(
        "none", description="For testing many pairs: of each measure, one family."
    )
    alpha: float = Field(
        0.05, ge=1e-9, lt=1, description="Level of required differences and adjusted p-values."
    )
    permutations: Whole | None = Field(
        None,
        ge=99,
        description="Random draws; 100,000 for monte-carlo and max-t, 10,000 for bootstrap, 5,000 "
        "for tukey.",
    )

    @property
    def draws(self) -> int:
        """Number of random draws of the test, if it needs any; 0 if it never does."""
        return self.permutations or DRAWS.get(self.test, 0)

    def n_steps(self, n_measures: int) -> int:
        """Number of steps that :func:`answer` reports."""
        return self.draws if self.test == "monte-carlo" else n_measures


@dataclass(frozen=True, eq=False)
class Answer:
    """p-values of pairs of systems; arrays are of shape (n_measures, n_pairs).

    Parameters
    ----------
    p
        p-values in (0, 1].
    methods
        How each was found.
    required
        Smallest difference in means significant at the level asked for; NaN where unknown.
    """

    p: NDArray[np.float64]
    methods: NDArray[np.str_]
    required: NDArray[np.float64]


def answer(
    work: Work, question: Question, pairs: NDArray[np.intp], *, advance: Callable[[int], object]
) -> Answer:
    """Test pairs, given by their numbers, of systems for every measure."""
    if question.test == "exact":
        return _exactly(work, question, pairs, advance=advance)
    if question.test == "monte-carlo":
        p = _draw(_by_user_id(work.scores), work, question, advance=advance)[:, pairs]
        return Answer(p, np.full(p.shape, "monte-carlo"), np.full(p.shape, np.nan))
    if question.test == "bootstrap":
        scores = _by_user_id(work.scores)
        p = sakai_test(scores, replicates=question.draws, seed=work.seed, n_jobs=work.n_jobs)
    else:
        p = PLAIN[question.test](work.scores.values)
    p = p[:, pairs]
    advance(len(p))
    return Answer(p, np.full(p.shape, question.test), np.full(p.shape, np.nan))


def correct(p: NDArray[np.float64], work: Work, question: Question) -> NDArray[np.float64] | None:
    """Adjust p-values, of shape (n_measures, n_pairs), in one family a measure; None for none."""
    name = question.correction
    if name == "none":
        return None
    if name in ADJUSTMENTS:
        return ADJUSTMENTS[name](p)
    permutations = question.permutations or DRAWS_OF_CORRECTION[name]
    scores = _by_user_id(work.scores)
    return JOINT[name](scores, permutations=permutations, seed=work.seed, n_jobs=work.n_jobs)


def check_scales(scores: Scores, scales: Mapping[Measure, int]) -> None:
    """Refuse a scale that does not make its measure's scores integers."""
    for measure, values in zip(scores.measures, scores.values, strict=True):
        scale = scales.get(measure)
        if scale and not on_lattice(values, scale, tolerance=SCALE_TOLERANCE):
            raise InputError(f"the scores of {measure} are not multiples of 1/{scale}.")


def _exactly(
    work: Work, question: Question, pairs: NDArray[np.intp], *, advance: Callable[[int], object]
) -> Answer:
    scores = work.scores
    tasks = (
        delayed(exact_test)(
            values, scale=work.scales.get(measure), alpha=question.alpha, pairs=pairs
        )
        for measure, values in zip(scores.measures, scores.values, strict=True)
    )
    results: list[ExactTest] = []
    for result in Parallel(n_jobs=work.n_jobs, prefer="threads", return_as="generator")(tasks):
        results.append(result)
        advance(1)
    p = np.array([result.p for result in results])
    missing = np.isnan(p)
    measures = np.flatnonzero(missing.any(axis=1))
    if len(measures) > 0:
        drawn = _draw(_by_user_id(scores)[measures], work, question, advance=None)
        p[measures] = np.where(missing[measures], drawn[:, pairs], p[measures])
    methods = np.array([result.methods for result in results])
    return Answer(p, methods, np.array([result.required for result in results]))


def _draw(
    values: NDArray[np.float64],
    work: Work,
    question: Question,
    *,
    advance: Callable[[int], object] | None,
) -> NDArray[np.float64]:
    return monte_carlo_test(
        values, permutations=question.draws, seed=work.seed, n_jobs=work.n_jobs, advance=advance
    )


def _by_user_id(scores: Scores) -> NDArray[np.float64]:
    """Order users by id, so that what is drawn stays with the users."""
    return scores.values[:, :, np.argsort(scores.users, kind="stable")]
