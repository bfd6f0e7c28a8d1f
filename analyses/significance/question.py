"""Tests and corrections by name: p-values of pairs of systems, however they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

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

JOINT: Mapping[str, Callable[..., NDArray[np.float64]]] = {
    "max-t": max_t_test,
    "tukey": tukey_test,
}
"""Corrections that are tests of all pairs of systems at once."""

OF_MEANS = ("exact", "monte-carlo", "t", "bootstrap")
"""Tests of the difference in means; the others are of ranks or signs."""

DRAWS = {"exact": 100_000, "monte-carlo": 100_000, "bootstrap": 10_000}
DRAWS_OF_CORRECTION = {"max-t": 100_000, "tukey": 5_000}
SCALE_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of pairs of systems.

    Parameters
    ----------
    test
        "exact": permutation test without sampling error, where one of its methods is safe, else
        Monte-Carlo. "monte-carlo": permutation test by random sign flips. "t", "wilcoxon",
        "sign", "bootstrap": see :mod:`analyses.significance.paired`.
    correction
        For testing many pairs, in families of one measure: see
        :mod:`analyses.significance.corrections`.
    alpha
        Level of required differences, and of significance after correction.
    permutations
        Number of random draws; by default 100,000 for Monte-Carlo and max-T, 10,000 for the
        bootstrap test, 5,000 for Tukey's.
    seed
        Of all that is drawn.
    baseline
        A system: only pairs with it are tested, and they are the family.

    Raises
    ------
    InputError
        If a setting is out of range, or two do not go together.
    """

    test: Test = "exact"
    correction: Correction = "none"
    alpha: float = 0.05
    permutations: int | None = None
    seed: int = 0
    baseline: str | None = None

    def __post_init__(self) -> None:
        if self.test not in get_args(Test):
            raise InputError(f"`test` must be {_listed(get_args(Test))}, got {self.test!r}.")
        if self.correction not in get_args(Correction):
            names = _listed(get_args(Correction))
            raise InputError(f"`correction` must be {names}, got {self.correction!r}.")
        if not 1e-9 <= self.alpha < 1:
            raise InputError(f"`alpha` must be at least 1e-9 and below 1, got {self.alpha}.")
        if self.permutations is not None and self.permutations < 1:
            raise InputError(f"`permutations` must be at least 1, got {self.permutations}.")
        if self.baseline is not None and self.correction in JOINT:
            raise InputError(
                f"the correction {self.correction!r} is a test of all pairs of systems; with a "
                "baseline, choose 'bonferroni', 'holm' or 'bh'."
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
    scores: Scores,
    question: Question,
    pairs: NDArray[np.intp],
    *,
    scales: Mapping[Measure, int],
    n_jobs: int,
    advance: Callable[[int], object],
) -> Answer:
    """Test pairs, given by their numbers, of systems for every measure.

    Raises
    ------
    InputError
        If a scale does not fit its measure.
    """
    if question.test == "exact":
        return _exactly(scores, question, pairs, scales=scales, n_jobs=n_jobs, advance=advance)
    if question.test == "monte-carlo":
        p = _draw(scores.values, scores, question, n_jobs=n_jobs, advance=advance)[:, pairs]
        return Answer(p, np.full(p.shape, "monte-carlo"), np.full(p.shape, np.nan))
    if question.test == "bootstrap":
        found = sakai_test(
            _by_user_id(scores),
            replicates=question.draws,
            seed=question.seed,
            alpha=question.alpha,
            n_jobs=n_jobs,
        )
        p, required = found.p[:, pairs], found.required_differences[:, pairs]
    else:
        p = PLAIN[question.test](scores.values)[:, pairs]
        required = np.full(p.shape, np.nan)
    advance(len(p))
    return Answer(p, np.full(p.shape, question.test), required)


def correct(
    p: NDArray[np.float64], scores: Scores, question: Question, *, n_jobs: int
) -> NDArray[np.float64] | None:
    """Adjust p-values, of shape (n_measures, n_pairs), in one family a measure; None for none."""
    name = question.correction
    if name == "none":
        return None
    if name in ADJUSTMENTS:
        return ADJUSTMENTS[name](p)
    permutations = question.permutations or DRAWS_OF_CORRECTION[name]
    return JOINT[name](
        _by_user_id(scores), permutations=permutations, seed=question.seed, n_jobs=n_jobs
    )


def check_scales(scores: Scores, scales: Mapping[Measure, int]) -> None:
    """Refuse a scale that does not make its measure's scores integers."""
    for measure, values in zip(scores.measures, scores.values, strict=True):
        scale = scales.get(measure)
        if scale and not on_lattice(values, scale, tolerance=SCALE_TOLERANCE):
            raise InputError(f"the scores of {measure} are not multiples of 1/{scale}.")


def _exactly(
    scores: Scores,
    question: Question,
    pairs: NDArray[np.intp],
    *,
    scales: Mapping[Measure, int],
    n_jobs: int,
    advance: Callable[[int], object],
) -> Answer:
    tasks = (
        delayed(exact_test)(values, scale=scales.get(measure), alpha=question.alpha, pairs=pairs)
        for measure, values in zip(scores.measures, scores.values, strict=True)
    )
    results: list[ExactTest] = []
    for result in Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks):
        results.append(result)
        advance(1)
    p = np.array([result.p for result in results])
    missing = np.isnan(p)
    measures = np.flatnonzero(missing.any(axis=1))
    if len(measures) > 0:
        drawn = _draw(scores.values[measures], scores, question, n_jobs=n_jobs, advance=None)
        p[measures] = np.where(missing[measures], drawn[:, pairs], p[measures])
    methods = np.array([result.methods for result in results])
    return Answer(p, methods, np.array([result.required for result in results]))


def _draw(
    values: NDArray[np.float64],
    scores: Scores,
    question: Question,
    *,
    n_jobs: int,
    advance: Callable[[int], object] | None,
) -> NDArray[np.float64]:
    return monte_carlo_test(
        values[:, :, _order(scores)],
        permutations=question.draws,
        seed=question.seed,
        n_jobs=n_jobs,
        advance=advance,
    )


def _by_user_id(scores: Scores) -> NDArray[np.float64]:
    """Order users by id, so that what is drawn stays with the users."""
    return scores.values[:, :, _order(scores)]


def _order(scores: Scores) -> NDArray[np.intp]:
    return np.argsort(scores.users, kind="stable")


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(map(repr, names[:-1]))} or {names[-1]!r}"
