"""The two exact algorithms: counting, and Fourier series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import bernoulli, factorial

from analyses.significance import exact
from analyses.significance.exact import (
    LOG_COSINE,
    REACH,
    by_lattice,
    by_product,
    characteristic_function,
    distinct_sizes,
    p_by_series,
    p_on_lattice,
    smallest_significant,
    subset_counter,
)
from analyses.significance.permutation import PairSums
from tests.analyses.significance.references import (
    Floats,
    one_pair,
    p_by_all_signs,
    p_by_dynamic_programming,
    p_by_long_series,
    smallest_sum,
    sums_of,
)

ALPHA = 0.05


@pytest.fixture
def by_fourier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the Fourier sum used for few users, too."""
    monkeypatch.setattr(exact, "MOST_CONVOLVED", 0)


@given(arrays(np.float64, st.integers(1, 12), elements=st.integers(-9, 9)).filter(np.sum))
def test_on_a_lattice_all_sign_assignments_are_counted(differences: Floats) -> None:
    assert p_on_lattice(differences) == p_by_all_signs(differences)


def with_total(differences: Floats) -> bool:
    return bool(0 < abs(differences.sum()) <= REACH * np.sqrt((differences**2).sum()))


@given(arrays(np.float64, st.integers(1, 40), elements=st.integers(-9, 9)).filter(with_total))
def test_the_fourier_sum_agrees_with_dynamic_programming(differences: Floats) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "MOST_CONVOLVED", 0)
        found = p_on_lattice(differences)
    assert found == pytest.approx(p_by_dynamic_programming(differences), abs=1e-13)


def test_the_smallest_value_of_two_hundred_users_is_precise() -> None:
    assert p_on_lattice(np.full(200, 7.0)) == 2.0**-199


@given(st.lists(st.integers(1, 40), min_size=1, max_size=10), st.integers(1, 10_000))
def test_every_split_into_small_and_large_sizes_counts_the_same(
    sizes: list[int], n_looks: int
) -> None:
    """The more often it is asked, the fewer numbers are listed."""
    subsets = np.zeros(1)
    for size in sizes:
        subsets = np.concatenate([subsets, subsets + size])
    count_up_to = subset_counter(np.sort(sizes), highest=sum(sizes), n_looks=n_looks)
    for limit in (0, sum(sizes) // 3, sum(sizes) // 2, sum(sizes)):
        assert count_up_to(limit) == (subsets <= limit).sum()


@pytest.mark.parametrize("n_users", [31, 32, 60])
def test_counts_of_many_subsets_do_not_overflow(n_users: int) -> None:
    """From 32 small numbers on there are more subsets than 32 bits can count."""
    ones = np.ones(n_users, dtype=np.int64)
    assert subset_counter(ones, highest=n_users, n_looks=10_000)(n_users) == 2.0**n_users


@given(
    arrays(np.float64, st.integers(1, 12), elements=st.integers(-9, 9)).filter(np.any),
    st.sampled_from([0.001, 0.01, 0.05, 0.2, 0.5]),
)
def test_from_the_critical_value_of_a_lattice_sums_are_significant(
    differences: Floats, alpha: float
) -> None:
    _, found = by_lattice(differences, alpha=alpha)
    sums = sums_of(differences)
    from_there = sums[sums >= found].min(initial=np.inf)
    assert from_there == smallest_sum(differences, alpha) or np.isnan(found)


@given(
    arrays(np.float64, st.integers(1, 200), elements=st.integers(-50, 50)).filter(np.any),
    st.sampled_from([1.0, 0.1, np.pi / 7, np.pi / 501]),
    st.integers(1, 700),
)
def test_the_characteristic_function_is_the_product_of_cosines(
    differences: Floats, step: float, n_angles: int
) -> None:
    sizes, counts = distinct_sizes(differences)
    numbers, products = characteristic_function(sizes, counts, step=step, n_angles=n_angles)
    found = np.zeros(n_angles)
    found[numbers - 1] = products
    angles = step * np.arange(1, n_angles + 1)
    expected = np.cos(np.multiply.outer(angles, differences)).prod(axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.usefixtures("by_fourier")
@pytest.mark.parametrize("few", [[], [1], [3, 3, 3], [1, 5]])
def test_a_divisor_that_few_users_break_does_no_harm(few: list[int]) -> None:
    """Here the characteristic function is large again at pi / 2, far from 0."""
    rng = np.random.default_rng(3)
    differences = np.concatenate([2.0 * rng.integers(-3, 5, size=300), few])
    expected = p_by_dynamic_programming(differences)
    assert p_on_lattice(differences) == pytest.approx(expected, abs=1e-13)


def test_reciprocal_ranks_of_many_users(rng: np.random.Generator) -> None:
    values = np.append(60 // np.arange(1, 6), 0)
    differences = (rng.choice(values, 400) - rng.choice(values, 400)).astype(float)
    differences[:20] = np.abs(differences[:20])
    expected = p_by_dynamic_programming(differences)
    assert p_on_lattice(differences) == pytest.approx(expected, abs=1e-13)


def test_the_coefficients_are_those_of_the_logarithm_of_the_cosine() -> None:
    r = np.arange(1, len(LOG_COSINE) + 1)
    numbers = np.abs(bernoulli(2 * len(r))[2 * r])
    expected = 2.0 ** (2 * r - 1) * (4.0**r - 1) * numbers / (r * factorial(2 * r))
    np.testing.assert_allclose(LOG_COSINE, expected, rtol=1e-11)


@pytest.mark.parametrize("shift", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("n_users", [200, 600, 3000])
def test_the_series_agrees_with_a_longer_one_of_plain_cosines(
    n_users: int, shift: float, rng: np.random.Generator
) -> None:
    differences = rng.uniform(-1, 1, size=n_users) + shift
    sums = PairSums.of(one_pair(differences), n_powers=len(LOG_COSINE))
    found = p_by_series(sums.totals, sums.powers)[0]
    expected = p_by_long_series(differences, n_terms=300)
    assert found == pytest.approx(expected, abs=1e-9 if n_users == 200 else 1e-12)


@pytest.mark.parametrize("tail", ["log-normal", "cauchy", "few large"])
@pytest.mark.parametrize("n_users", [41, 100])
def test_the_product_is_right_where_tails_are_heavy(
    n_users: int, tail: str, rng: np.random.Generator
) -> None:
    signs = rng.choice([-1.0, 1.0], n_users, p=[0.4, 0.6])
    differences = {
        "log-normal": signs * rng.lognormal(0, 1.5, n_users),
        "cauchy": rng.standard_cauchy(n_users) + 0.3,
        "few large": np.append([1.0, 0.9, -0.7], rng.normal(0, 0.01, n_users - 3)),
    }[tail]
    expected = p_by_long_series(differences)
    assert by_product(differences, alpha=ALPHA)[0] == pytest.approx(
        expected, abs=1e-6 if n_users < 100 else 1e-9
    )


@given(st.integers(1, 10_000), st.floats(0.1, 1e5), st.integers(0, 3))
def test_the_smallest_significant_step_is_found(step: int, deviation: float, late: int) -> None:
    farthest = step + late * 1000
    found = smallest_significant(
        lambda k: 0.01 if k >= step else 0.9, alpha=ALPHA, deviation=deviation, farthest=farthest
    )
    assert found == step
