"""Errors of tests, corrections and intervals of differences, in one set of users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from analyses.calibration.population import Draw
from analyses.calibration.promises import EXACT, FALSE_DISCOVERY, MONTE_CARLO, TUKEY, Quantity
from analyses.significance.corrections import (
    benjamini_hochberg,
    bonferroni,
    holm,
    max_t_test,
    tukey_test,
)
from analyses.significance.paired import sakai_test, sign_test, t_test, wilcoxon_test
from analyses.significance.paired.confidence_intervals import bootstrap_intervals, t_intervals
from analyses.significance.permutation import exact_test, monte_carlo_test, pair_indices

ALPHAS = (0.01, 0.05, 0.1)
LEVEL = 0.95
MOST_SYSTEMS = 6
# Systems of the mixture that are better, are so by this many standard errors.
SHIFT = 3.0

Key = tuple[Quantity, str, float]
Tallied = Iterator[tuple[Key, float]]


def type_one_errors(drawn: Draw) -> Tallied:
    """Reject two systems whose scores are dealt out at random to each user."""
    yield from _rejections("type-I error", drawn.alike(2, number=0), drawn)


def errors_at_equal_means(drawn: Draw) -> Tallied:
    """Reject two systems, one of them shifted until their means are equal."""
    pair, truth = drawn.pair(number=4)
    yield from _rejections("error at equal means", np.stack([pair[0] - truth, pair[1]]), drawn)


def errors_at_equal_margins(drawn: Draw) -> Tallied:
    """Reject two simulated systems whose scores have one distribution."""
    pair, _ = drawn.simulated_pair(number=5, equal_margins=True)
    yield from _rejections("error at equal margins", pair, drawn)


def power_and_errors_of_sign(drawn: Draw) -> Tallied:
    """Tell two simulated systems apart, rightly or the wrong way round."""
    pair, truth = drawn.simulated_pair(number=6, equal_margins=False)
    seen = pair[0].mean() - pair[1].mean()
    for name, p in _tests(pair, drawn).items():
        for alpha in ALPHAS:
            yield ("power", name, alpha), float(p <= alpha and seen * truth > 0)
            yield ("error of sign", name, alpha / 2), float(p <= alpha and seen * truth < 0)


def _rejections(quantity: Quantity, pair: NDArray[np.float64], drawn: Draw) -> Tallied:
    """Tell which tests reject two systems' scores (2, n_users), and at which levels."""
    for name, p in _tests(pair, drawn).items():
        for alpha in ALPHAS:
            yield (quantity, name, alpha), float(p <= alpha)


def _tests(pair: NDArray[np.float64], drawn: Draw) -> Mapping[str, float]:
    """Give the p-values of two systems' scores (2, n_users)."""
    scores = pair[np.newaxis]
    by_signs = monte_carlo_test(scores, permutations=drawn.draws, seed=drawn.seed)
    exact = exact_test(pair).p
    tests = {
        EXACT: np.where(np.isnan(exact), by_signs[0], exact),
        MONTE_CARLO: by_signs,
        "t": t_test(scores),
        "Wilcoxon": wilcoxon_test(scores),
        "sign": sign_test(scores),
        "bootstrap": sakai_test(scores, replicates=drawn.draws, seed=drawn.seed),
    }
    return {name: p.item() for name, p in tests.items()}


def family_errors(drawn: Draw) -> Tallied:
    """Reject any pair of a family of systems that are alike.

    Of Benjamini & Hochberg, all rejections are false then, or there is none.
    """
    scores = drawn.alike(MOST_SYSTEMS, number=1)[np.newaxis]
    p = monte_carlo_test(scores, permutations=drawn.draws, seed=drawn.seed)
    # What needs no p-value as small as level / pairs needs half the draws.
    fewer = drawn.draws // 2
    corrected = {
        "Bonferroni": bonferroni(p),
        "Holm": holm(p),
        FALSE_DISCOVERY: benjamini_hochberg(p),
        "max-T": max_t_test(scores, permutations=fewer, seed=drawn.seed),
        TUKEY: tukey_test(scores, permutations=fewer, seed=drawn.seed),
    }
    for name, adjusted in corrected.items():
        for alpha in ALPHAS:
            yield ("family-wise error", name, alpha), float((adjusted <= alpha).any())


def false_discoveries(drawn: Draw) -> Tallied:
    """Give the share of false rejections, and of differences found, if half of systems are better.

    Benjamini & Hochberg's correction is of Monte-Carlo p-values, and of Wilcoxon's.
    """
    scores = drawn.alike(MOST_SYSTEMS, number=2)
    better = np.arange(len(scores)) >= len(scores) / 2
    error = np.sqrt(2 / drawn.n_users) * drawn.population.scores.std()
    mixture = (scores + SHIFT * error * better[:, np.newaxis])[np.newaxis]
    first, second = pair_indices(len(scores))
    alike = better[first] == better[second]
    p_values = {
        FALSE_DISCOVERY: monte_carlo_test(mixture, permutations=drawn.draws, seed=drawn.seed),
        f"Wilcoxon, {FALSE_DISCOVERY}": wilcoxon_test(mixture),
    }
    for name, p in p_values.items():
        for alpha in ALPHAS:
            rejected = benjamini_hochberg(p[0]) <= alpha
            share = (rejected & alike).sum() / max(rejected.sum(), 1)
            yield ("false discovery", name, alpha), float(share)
            yield ("power", name, alpha), float(rejected[~alike].mean())


def coverage_of_differences(drawn: Draw) -> Tallied:
    """Tell which intervals hold the difference of two systems' means."""
    pair, truth = drawn.pair(number=3)
    scores = pair[np.newaxis]
    intervals = {
        "t": t_intervals(scores, level=LEVEL),
        "bootstrap": bootstrap_intervals(
            scores, level=LEVEL, replicates=drawn.draws, seed=drawn.seed
        ),
    }
    for name, (lower, upper) in intervals.items():
        yield ("coverage", name, LEVEL), float(lower.item() <= truth <= upper.item())


Tally = Callable[[Draw], Tallied]
TALLIES: Mapping[str, Tally] = {
    "null": type_one_errors,
    "means": errors_at_equal_means,
    "margins": errors_at_equal_margins,
    "power": power_and_errors_of_sign,
    "families": family_errors,
    "discoveries": false_discoveries,
    "differences": coverage_of_differences,
}
"""What is tallied in every set, by what a user calls it."""
