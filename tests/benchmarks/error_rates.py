"""How often tests, corrections and intervals of differences err, where the truth is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from analyses.significance.bootstrap_max_t import max_t_test
from analyses.significance.corrections import (
    benjamini_hochberg,
    bonferroni,
    holm,
    sign_flip_max_t_test,
    tukey_test,
)
from analyses.significance.effects import effects
from analyses.significance.paired_tests import sakai_test, sign_test, t_test, wilcoxon_test
from analyses.significance.permutation import exact_test, monte_carlo_test, pair_indices
from runs.shared.streams import random_words
from tests.benchmarks.populations import Draw, Population

EXACT, MONTE_CARLO, TUKEY = "exact permutation", "Monte-Carlo permutation", "Tukey HSD"
FALSE_DISCOVERY = "Benjamini-Hochberg"
EXACT_IF_CONTINUOUS = (EXACT, MONTE_CARLO, TUKEY)
NEVER_TOO_OFTEN = ("sign", "Bonferroni", "Holm", FALSE_DISCOVERY)
NOT_OF_MEANS = ("Wilcoxon", "sign")
BEYOND = 0.001
"""Chance that a sound rate lies beyond a limit."""

LEEWAY, ENOUGH_USERS = 0.4, 100
ALPHAS = (0.01, 0.05, 0.1)
LEVEL = 0.95
MOST_SYSTEMS = 6
# Systems of the mixture that are better, are so by this many standard errors.
SHIFT = 3.0

Key = tuple[str, str, float]
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


def _rejections(quantity: str, pair: NDArray[np.float64], drawn: Draw) -> Tallied:
    """Tell which tests reject two systems' scores (2, n_users), and at which levels."""
    for name, p in _tests(pair, drawn).items():
        for alpha in ALPHAS:
            yield (quantity, name, alpha), float(p <= alpha)


def _tests(pair: NDArray[np.float64], drawn: Draw) -> Mapping[str, float]:
    """Give the p-values of two systems' scores (2, n_users)."""
    scores = pair[np.newaxis]
    by_signs = monte_carlo_test(scores, permutations=drawn.draws, seed=drawn.seed).p
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
    p = monte_carlo_test(scores, permutations=drawn.draws, seed=drawn.seed).p
    # What needs no p-value as small as level / pairs needs half the draws.
    fewer = drawn.draws // 2
    corrected = {
        "Bonferroni": bonferroni(p),
        "Holm": holm(p),
        FALSE_DISCOVERY: benjamini_hochberg(p),
        "max-T": max_t_test(scores, permutations=fewer, seed=drawn.seed),
        "max-T by sign flips": sign_flip_max_t_test(scores, permutations=fewer, seed=drawn.seed),
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
        FALSE_DISCOVERY: monte_carlo_test(mixture, permutations=drawn.draws, seed=drawn.seed).p,
        f"Wilcoxon, {FALSE_DISCOVERY}": wilcoxon_test(mixture),
    }
    for name, p in p_values.items():
        for alpha in ALPHAS:
            rejected = benjamini_hochberg(p[0]) <= alpha
            share = (rejected & alike).sum() / max(rejected.sum(), 1)
            yield ("false discovery", name, alpha), float(share)
            yield ("power", name, alpha), float(rejected[~alike].mean())


def coverage_of_differences(drawn: Draw) -> Tallied:
    """Tell whether the interval holds the difference of two systems' means."""
    pair, truth = drawn.pair(number=3)
    found = effects(pair[np.newaxis], level=LEVEL)
    yield ("coverage", "t", LEVEL), float(found.lower.item() <= truth <= found.upper.item())


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
"""What is counted in every set, by the name of the check."""


@dataclass(frozen=True)
class Rate:
    """How often something happened in sets of users, and the limits that it should keep."""

    quantity: str
    procedure: str
    nominal: float
    observed: float
    lower: float
    upper: float

    @property
    def is_broken(self) -> bool:
        """Whether it happened too often or too seldom."""
        return not self.lower <= self.observed <= self.upper


def error_rates(
    population: Population, check: str, *, n_sets: int, n_users: int, seed: int, draws: int
) -> list[Rate]:
    """Count the errors of every procedure in sets of users of a population."""
    counts: dict[Key, float] = defaultdict(float)
    for number in range(n_sets):
        own_seed = int(random_words(1, seed, "calibration", number)[0])
        for key, count in TALLIES[check](Draw(population, n_users, own_seed, draws)):
            counts[key] += count
    continuous = population.continuous
    return [
        Rate(*key, n / n_sets, *limits(*key, continuous, n_sets=n_sets, n_users=n_users))
        for key, n in counts.items()
    ]


def limits(
    quantity: str, procedure: str, nominal: float, continuous: bool, *, n_sets: int, n_users: int
) -> tuple[float, float]:
    """Give the limits that a sound procedure exceeds with a chance of 1 in 1,000 each.

    Exact tests err as often as stated where scores hardly ever tie, and at most so often elsewhere.
    What is approximate may err .6 to 1.4 times as often from 100 users on; with fewer users there
    are no limits. Intervals err by not holding the truth.
    """
    of_means = quantity in ("error at equal means", "error of sign")
    never_too_often = procedure in NEVER_TOO_OFTEN and not of_means
    exact = procedure in EXACT_IF_CONTINUOUS and not of_means
    if quantity == "power" or (of_means and procedure in NOT_OF_MEANS):
        return 0.0, 1.0
    if not (exact or never_too_often) and n_users < ENOUGH_USERS:
        return 0.0, 1.0
    reach = 0.0 if exact or never_too_often else LEEWAY * min(nominal, 1 - nominal)
    rates = np.array([nominal - reach, nominal + reach])
    lower, upper = np.asarray(binom.ppf(np.array([BEYOND, 1 - BEYOND]), n_sets, rates)) / n_sets
    at_most = never_too_often or quantity in ("error of sign", "false discovery")
    both_sides = not at_most and (continuous or not exact)
    return (float(lower) if both_sides else 0.0), float(upper)
