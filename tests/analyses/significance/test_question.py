"""Standardised scores, and what to beware of in p-values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, uniform

from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import ScoresWork
from analyses.significance.question import Standard, Test, standardise, standardised
from tests.analyses.made import discriminate

UNSURE = discriminate(
    Scores(
        np.tile([0.0, 1.0], (2, 5, 4)) * [[[1.0]] * 5, [[0.5]] * 5],
        Measures([Measure("AP"), Measure("RR")]),
        tuple("abcde"),
        np.array([*"12345678"]),
    ),
    replicates=0,
)
"""Systems that nothing tells apart."""


def told(test: Test, n_users: int, draws: int = 100_000) -> list[str]:
    """Give what is said of the test, beside what is said of any."""
    found = replace(UNSURE, test=test, n_users=n_users, permutations=draws)
    return [sentence for sentence in found.cautions() if sentence not in UNSURE.cautions()]


@pytest.mark.parametrize(("n_users", "warned"), [(999, False), (1000, True)])
def test_rank_tests_are_warned_of_at_the_scale_of_users(n_users: int, warned: bool) -> None:
    found = " ".join(told("wilcoxon", n_users))
    assert ("Ihemelandu & Ekstrand 2023" in found) == warned


@pytest.mark.parametrize(("n_users", "warned"), [(199, True), (200, False)])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "bootstrap"])
def test_approximations_are_warned_of_where_they_rest_on_few_users(
    test: Test, n_users: int, warned: bool
) -> None:
    assert bool(told(test, n_users)) == warned


@pytest.mark.parametrize(("test", "n_users"), [("exact", 50), ("sign", 50), ("t", 100_000)])
def test_tests_that_suit_the_number_of_users_have_no_caution(test: Test, n_users: int) -> None:
    assert told(test, n_users) == []


def test_the_advised_number_of_draws_is_enough() -> None:
    (sentence,) = told("monte-carlo", 50, 9)
    advised = int(sentence.split("at least ")[1].rstrip(".").replace(",", ""))
    assert told("monte-carlo", 50, advised) == []


def test_standards_are_distribution_functions_of_a_users_scores(rng: np.random.Generator) -> None:
    values = rng.random((2, 7, 5))
    means, spreads = values.mean(axis=1, keepdims=True), values.std(axis=1, ddof=1, keepdims=True)
    low = means - spreads * 0.5 / 0.15
    assert standardise(values, "normal") == pytest.approx(norm.cdf(values, means, spreads))
    expected = uniform.cdf(values, low, spreads / 0.15)
    assert standardise(values, "uniform") == pytest.approx(expected)
    ranks = values.argsort(axis=1).argsort(axis=1) + 1
    assert standardise(values, "empirical") == pytest.approx(ranks / 7)


def test_tied_systems_share_the_higher_place() -> None:
    values = np.array([[[0.2], [0.2], [0.1], [0.5]]])
    assert standardise(values, "empirical")[0, :, 0].tolist() == [0.75, 0.75, 0.25, 1.0]


@pytest.mark.parametrize("standard", ["normal", "uniform", "empirical"])
def test_a_user_whom_all_serve_alike_tells_no_systems_apart(standard: Standard) -> None:
    made = standardise(np.full((1, 3, 2), 0.3), standard)
    assert np.ptp(made) == 0


@pytest.mark.parametrize("standard", ["normal", "uniform", "empirical"])
def test_a_users_scale_does_not_matter(standard: Standard, rng: np.random.Generator) -> None:
    values = rng.random((1, 4, 6))
    scaled = values * np.arange(1, 7) + 3
    assert standardise(scaled, standard) == pytest.approx(standardise(values, standard))


def test_work_without_a_standard_stays_as_it_is() -> None:
    labels = Measures([Measure("P", 5)]), ("a", "b"), np.array(["u"])
    work = ScoresWork(Scores(np.array([[[1.0], [0.0]]]), *labels), seed=3)
    assert standardised(work, None) is work
    made = standardised(work, "empirical")
    assert (made.scores.values.ravel().tolist(), made.seed) == ([1.0, 0.5], 3)
