"""Corrected values, against exact rationals and Krichene & Rendle's printed tables."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.special import comb

from analyses.sampled.estimators import (
    Cells,
    Estimator,
    bv,
    cls,
    find_estimator,
    ls,
    mn,
    rank_estimate,
    uncorrected,
)
from analyses.sampled.expectation.metrics import rank_metric
from runs import InputError
from runs.shared.errors import InputWarning
from tests.analyses.sampled.estimators.rankings import (
    Floats,
    nodes_and_table,
    power_law,
    sample_of,
)

TEN_USERS = sample_of([5, 3, 2], n=5)

EXACT: list[tuple[Estimator, str, list[float]]] = [
    (ls(), "Recall@1", [31 / 35, -23 / 35, 3 / 35]),
    (bv(1.0), "Recall@1", [8 / 15, 0, 0]),
    (bv(0.1), "Recall@1", [2591 / 3255, -69 / 155, 37 / 1085]),
    (bv(0.01), "Recall@1", [211841 / 242205, -759 / 1205, 6347 / 80735]),
    (cls(nonnegative=True), "Recall@1", [128 / 177, 0, 0]),
    (cls(), "Recall@1", [337 / 435, -21 / 145, -21 / 145]),
    (mn(prior="uniform"), "Recall@1", [581 / 925, -23 / 185, -11 / 925]),
    (bv(0.5), "Recall@1", [581 / 925, -23 / 185, -11 / 925]),
    (bv(0.1), "AP", [178657 / 195300, 1297 / 9300, 41017 / 195300]),
    (rank_estimate(), "Recall@1", [1, 0, 0]),
    (rank_estimate(), "AP", [1, 1 / 3, 1 / 5]),
    (rank_estimate(mode="linear"), "Recall@1", [1, 0, 0]),
    (rank_estimate(mode="linear"), "AP", [1, 1 / 3, 1 / 5]),
    (uncorrected(), "AP", [1, 1 / 2, 1 / 3]),
]


@pytest.mark.parametrize(("estimator", "metric", "expected"), EXACT, ids=str)
@pytest.mark.parametrize("path", ["grid", "full"])
def test_five_candidates_have_exact_rational_values(
    estimator: Estimator, metric: str, expected: list[float], path: str
) -> None:
    values = estimator.fit(TEN_USERS, path=path).corrected(metric)
    np.testing.assert_allclose(values, expected, atol=1e-10)


PRIOR = np.array([2 / 5, 1 / 4, 1 / 5, 1 / 10, 1 / 20])


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (bv(0.1), np.array([3070324, -2085516, 281844]) / 3496915),
        (mn(prior="uniform"), np.array([5720, -1448, -296]) / 7571),
    ],
    ids=str,
)
def test_any_prior_is_taken(estimator: Estimator, expected: Floats) -> None:
    cells = Cells.of([TEN_USERS], path="full")
    fits = estimator.fit_cells(cells, learn=lambda _: PRIOR[:, np.newaxis])
    values = fits.corrected("Recall@1")
    np.testing.assert_allclose(values, expected, atol=1e-10)


def first_values(estimator: Estimator, metric: str, *, n: int, m: int) -> Floats:
    sample = sample_of([1] * (m + 1), n=n)
    return estimator.fit(sample, path="full").corrected(metric)


REFERENCE: list[tuple[int, int, str, str, Sequence[float]]] = [
    (10_000, 99, "bv(gamma=1)", "Recall@10", [0.095212389, 0.0041886414, 0.0001291006]),
    (10_000, 99, "bv(gamma=0.1)", "Recall@10", [0.23308691, -0.14791712, -0.019706118]),
    (10_000, 99, "bv(gamma=0.01)", "Recall@10", [0.40092131, -0.59819046, 0.27162092]),
    (10_000, 99, "bv(gamma=0.001)", "Recall@10", [0.56067292, -1.3529053, 1.481127]),
    (10_000, 99, "cls(nonnegative=true)", "Recall@10", [0.18853933, 0]),
    (10_000, 99, "cls", "Recall@10", [0.18943407, -0.00091281147]),
    (3541, 100, "bv(gamma=0.1)", "Recall@10", [0.56540931, -0.27072528, -0.084714949]),
    (3541, 100, "cls(nonnegative=true)", "Recall@10", [0.48763849, 0]),
    (3541, 100, "cls(nonnegative=true)", "nDCG@10", [0.22855327, 0]),
    (3541, 100, "cls(nonnegative=true)", "AP", [0.20256882, 0.00049710266]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m", "name", "metric", "expected"), REFERENCE)
def test_values_of_many_candidates_are_the_reference_s(
    n: int, m: int, name: str, metric: str, expected: Sequence[float]
) -> None:
    values = first_values(find_estimator(name), metric, n=n, m=m)
    np.testing.assert_allclose(values[: len(expected)], expected, rtol=1e-6, atol=1e-12)


# Pr(t = 1) of systems X, Y, Z, and what Krichene & Rendle print for them, in %.
FIRST_OF_SAMPLE = (17.46, 17.26, 18.67)


@pytest.mark.parametrize(
    ("metric", "printed", "tolerance"),
    [("Recall@10", (8.52, 8.42, 9.10), 0.02), ("nDCG@10", (3.99, 3.94, 4.27), 0.01)],
)
def test_constrained_least_squares_prints_what_was_printed(
    metric: str, printed: Sequence[float], tolerance: float
) -> None:
    value = first_values(cls(nonnegative=True), metric, n=3541, m=100)[0]
    np.testing.assert_allclose(value * np.array(FIRST_OF_SAMPLE), printed, atol=tolerance)


@pytest.mark.parametrize("metric", ["Recall@10", "nDCG@10"])
def test_the_rank_estimate_with_m_plus_1_finds_only_the_first_of_a_sample_among_the_top(
    metric: str,
) -> None:
    values = first_values(rank_estimate(denominator="m+1"), metric, n=3541, m=100)
    np.testing.assert_array_equal(values, np.eye(101)[0])


def gram(table: Floats, mass: Floats) -> Floats:
    return (table * mass[:, np.newaxis]).T @ table


def fitted_falling(metric: str, *, nonnegative: bool) -> tuple[Floats, Floats, Floats]:
    """Give the table of 2,000 candidates, the metric at each rank, and values of CLS."""
    _, table = nodes_and_table(2000, 60)
    exact = rank_metric(metric)(np.arange(1, 2001), n=2000)
    return table, exact, first_values(cls(nonnegative=nonnegative), metric, n=2000, m=60)


@pytest.mark.parametrize("metric", ["Recall@10", "AP", "AUC"])
@pytest.mark.parametrize("nonnegative", [True, False])
def test_no_feasible_change_makes_a_constrained_fit_better(metric: str, nonnegative: bool) -> None:
    table, exact, values = fitted_falling(metric, nonnegative=nonnegative)
    assert (np.diff(values) <= 1e-12).all()
    # The gradient along each increment that the constraints allow.
    assert (table.T @ (exact - table @ values) / 2000).cumsum().max() <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["Recall@10", "AP", "AUC"])
def test_constrained_fits_are_those_of_all_ranks(metric: str) -> None:
    table, exact, values = fitted_falling(metric, nonnegative=True)
    steps = nnls(table.cumsum(axis=1), exact)[0]
    least = table @ steps[::-1].cumsum()[::-1]
    found, known = (((fit - exact) ** 2).mean() for fit in (table @ values, least))
    np.testing.assert_allclose(found, known, atol=1e-11)


@given(st.integers(2, 40), st.integers(50, 400), st.floats(0, 2))
def test_the_gram_matrix_is_a_scaled_hankel_matrix(m: int, n: int, exponent: float) -> None:
    (_, table), (_, doubled) = nodes_and_table(n, m), nodes_and_table(n, 2 * m)
    mass = power_law(n, offset=1, exponent=exponent)
    x = np.arange(m + 1)
    total = x[:, np.newaxis] + x
    scales = comb(m, x)[:, np.newaxis] * comb(m, x) / comb(2 * m, total)
    np.testing.assert_allclose(scales * (mass @ doubled)[total], gram(table, mass), atol=1e-12)


@pytest.mark.slow
def test_the_spectrum_is_known_for_a_uniform_prior() -> None:
    m = 99
    _, table = nodes_and_table(10_000, m)
    roots = np.sqrt(table.mean(axis=0))
    scaled = gram(table, np.full(10_000, 1e-4)) / np.outer(roots, roots)
    factors = [(m - k + 1) / (m + k + 1) for k in range(1, 11)]
    found = np.linalg.eigvalsh(scaled)[::-1][1:11]
    np.testing.assert_allclose(found, np.cumprod(factors), rtol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [0, 2])
def test_the_condition_of_the_scaled_equations_is_one_over_gamma(exponent: int) -> None:
    gamma = 0.01
    _, table = nodes_and_table(5000, 99)
    mass = power_law(5000, offset=20, exponent=exponent)
    roots = np.sqrt(mass @ table)
    scaled = (1 - gamma) * gram(table, mass) / np.outer(roots, roots) + gamma * np.eye(100)
    np.testing.assert_allclose(np.linalg.cond(scaled), 1 / gamma, rtol=0.01)


@pytest.mark.parametrize("n_users", [400, 1000])
def test_multinomial_with_a_uniform_prior_is_bias_variance(n_users: int) -> None:
    sample = sample_of([n_users - 20] + [1] * 20, n=300)
    found, known = (
        each.fit(sample, path="full").corrected("Recall@5")
        for each in (mn(prior="uniform"), bv(300 / n_users))
    )
    np.testing.assert_allclose(found, known, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.0, -0.1, 1.5])
def test_gamma_must_be_above_0_and_at_most_1(gamma: float) -> None:
    with pytest.raises(InputError, match="`gamma` must be above 0 and at most 1, got"):
        bv(gamma)


def test_a_gamma_near_0_is_warned_of() -> None:
    with pytest.warns(InputWarning, match="hardly limits the variance"):
        bv(1e-7)


def test_least_squares_warns_where_it_cannot_be_computed() -> None:
    with pytest.warns(InputWarning, match="cannot be computed from 60 negatives"):
        ls().fit(sample_of([1] * 61, n=500)).corrected("Recall@10")
