"""The two exact algorithms: counting, and Fourier series."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import bernoulli, factorial
from scipy.stats import norm
from scipy.stats import t as student

from analyses.significance import exact
from analyses.significance.characteristic_function import characteristic_function
from analyses.significance.exact import (
    LOG_COSINE,
    TAIL_DEVIATIONS,
    by_lattice,
    by_product,
    critical_by_series,
    distinct_sizes,
    has_revival,
    hoeffding_deviations,
    p_by_series,
    p_on_lattice,
    smallest_significant,
    subset_counter,
)
from analyses.significance.permutation import PairSums
from tests.analyses.significance.references import (
    Floats,
    mid_p_by_dynamic_programming,
    one_pair,
    p_by_all_signs,
    p_by_dynamic_programming,
    p_by_long_series,
    smallest_sum,
    sums_of,
)
from tests.conftest import examples

ALPHA = 0.05


@pytest.fixture
def by_fourier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the Fourier sum used for few users, too."""
    monkeypatch.setattr(exact, "MAX_CONVOLVED_USERS", 0)


@given(arrays(np.float64, st.integers(1, 12), elements=st.integers(-9, 9)).filter(np.sum))
def test_on_a_lattice_all_sign_assignments_are_counted(differences: Floats) -> None:
    assert p_on_lattice(differences) == p_by_all_signs(differences)


def with_total(differences: Floats) -> bool:
    return bool(0 < abs(differences.sum()) <= TAIL_DEVIATIONS * np.sqrt((differences**2).sum()))


@examples(30)
@given(arrays(np.float64, st.integers(1, 40), elements=st.integers(-9, 9)).filter(with_total))
def test_the_fourier_sum_agrees_with_dynamic_programming(differences: Floats) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "MAX_CONVOLVED_USERS", 0)
        found = by_lattice(differences, alpha=ALPHA)
        assert p_on_lattice(differences) == pytest.approx(found.p, abs=1e-13)
    assert found.p == pytest.approx(p_by_dynamic_programming(differences), abs=1e-13)
    assert found.mid_p == pytest.approx(mid_p_by_dynamic_programming(differences), abs=1e-13)


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
    found = by_lattice(differences, alpha=alpha).critical_sum
    sums = sums_of(differences)
    from_there = sums[sums >= found].min(initial=np.inf)
    assert from_there == smallest_sum(differences, alpha) or np.isnan(found)


@examples(30)
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
    sums = PairSums.from_scores(one_pair(differences), n_powers=len(LOG_COSINE))
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


# Critical values


def test_from_hoeffdings_reach_on_every_sum_is_significant() -> None:
    """2 exp(-z² / 2) = .05 for z = sqrt(2 log 40) = 2.7162."""
    assert hoeffding_deviations(0.05) == pytest.approx(2.716203)
    assert 2 * np.exp(-(hoeffding_deviations(0.001) ** 2) / 2) == pytest.approx(0.001)


TAILS: dict[str, Callable[[float], float]] = {
    "normal": lambda z: float(2 * norm.sf(z)),
    "heavy": lambda z: float(2 * student.sf(z, 5)),
    "straight": lambda z: max(0.0, 1 - z / 2.8),
}


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("deviation", [1.0, 50.0, 1e4, 2.0**40])
def test_a_search_looks_hardly_oftener_than_halving_would(tail: str, deviation: float) -> None:
    """And where the tail is nearly normal, ten times at most, however fine the steps are."""
    looks: list[float] = []

    def seen(total: float) -> float:
        looks.append(total)
        return TAILS[tail](total / deviation)

    farthest = float(np.ceil(3 * deviation))
    found = smallest_significant(seen, alpha=ALPHA, deviation=deviation, farthest=farthest)
    assert TAILS[tail](found / deviation) <= ALPHA
    assert found == 1 or TAILS[tail]((found - 1) / deviation) > ALPHA
    most = int(farthest).bit_length() + 1
    assert len(looks) <= (min(10, most) if tail == "normal" else most)


def test_a_search_in_steps_begins_where_it_is_told() -> None:
    """Steps of 2 from 7 on: the first at or beyond 20 is 21; what is asked for is of that kind."""
    looks: list[float] = []

    def seen(total: float) -> float:
        looks.append(total)
        return 0.01 if total >= 20 else 0.5

    found = smallest_significant(
        seen, alpha=ALPHA, deviation=9.0, farthest=107.0, step=2.0, start=7.0
    )
    assert found == 21
    assert all(look % 2 == 1 and look > 7 for look in looks)


def test_a_p_value_at_the_level_is_significant() -> None:
    found = smallest_significant(
        lambda k: ALPHA if k >= 5 else 0.9, alpha=ALPHA, deviation=3.0, farthest=40.0
    )
    assert found == 5


@pytest.mark.parametrize(("n_users", "alpha", "is_known"), [(5, 0.06, False), (5, 0.0625, True)])
def test_five_users_are_significant_at_a_sixteenth_at_least(
    n_users: int, alpha: float, is_known: bool
) -> None:
    """All signs alike have a chance of 2 / 2^5."""
    p, mid_p, required = by_lattice(np.full(n_users, 3.0), alpha=alpha)
    assert p == 0.0625
    assert mid_p == 0.03125
    assert required == 15 if is_known else np.isnan(required)


@pytest.mark.usefixtures("by_fourier")
@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.001])
def test_critical_values_of_counts_and_of_fourier_sums_are_the_same(
    alpha: float, rng: np.random.Generator
) -> None:
    differences: Floats = 3.0 * rng.integers(-9, 10, 60).astype(np.float64)
    p, mid_p, by_sums = by_lattice(differences, alpha=alpha)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "MAX_CONVOLVED_USERS", 200)
        by_counts = by_lattice(differences, alpha=alpha)
    assert p == pytest.approx(by_counts.p, abs=1e-13)
    assert mid_p == pytest.approx(by_counts.mid_p, abs=1e-13)
    assert by_sums == by_counts.critical_sum


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-4])
def test_critical_values_of_the_series_have_the_level(
    alpha: float, rng: np.random.Generator
) -> None:
    sizes = rng.uniform(0.1, 1, size=(3, 400)) * [[1.0], [5.0], [0.01]]
    powers = np.stack([(sizes ** (2 * order)).sum(axis=1) for order in range(1, 9)], axis=1)
    found = critical_by_series(powers, alpha=alpha)
    assert p_by_series(found, powers) == pytest.approx(np.full(3, alpha), abs=1e-10)


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-4])
def test_critical_values_of_the_product_have_the_level(
    alpha: float, rng: np.random.Generator
) -> None:
    sizes = rng.lognormal(0, 1, 80)
    required = by_product(sizes, alpha=alpha).critical_sum
    # A series asks for the sum of signed differences: move the signs and the last size.
    signs = np.where(np.cumsum(sizes) < (sizes.sum() - required) / 2, -1.0, 1.0)
    p = by_product(signs * sizes, alpha=alpha).p
    total = abs((signs * sizes).sum())
    assert (p <= alpha) == (total >= required)
    turn = 2 * np.pi / (required + 12 * np.sqrt((sizes**2).sum()))
    numbers = np.arange(1, 4001)
    products = np.cos(turn * np.multiply.outer(numbers, sizes)).prod(axis=1)
    waves = (np.sin(numbers * turn * required) * products / numbers).sum()
    assert 1 - turn * required / np.pi - 2 / np.pi * waves == pytest.approx(alpha, rel=1e-6)


def test_a_product_that_never_dies_away_has_no_p_value() -> None:
    """Differences of one size: the characteristic function is 1 at each of its multiples."""
    p, _, required = by_product(np.repeat([1.0, -1.0], [60, 40]), alpha=ALPHA)
    assert np.isnan(p)
    assert np.isnan(required)


@pytest.mark.parametrize(
    ("spread", "n_users", "grows_again"),
    [(0.01, 1000, True), (0.1, 300, True), (0.3, 1000, False), (0.5, 300, False)],
)
def test_a_characteristic_function_revives_where_sizes_nearly_agree(
    spread: float, n_users: int, grows_again: bool, rng: np.random.Generator
) -> None:
    """By plain cosines: at any of the angles up to 40 over the largest size, after 32 terms."""
    differences = rng.choice([-1.0, 1.0], n_users) * rng.normal(1, spread, n_users)
    sizes = np.abs(differences)
    deviation = np.sqrt((sizes**2).sum())
    step = 2 * np.pi / (min(abs(differences.sum()), 8.6 * deviation) + 8.6 * deviation)
    numbers = np.arange(33, int(np.ceil(40 / (sizes.max() * step))) + 1)
    products = np.cos(step * np.multiply.outer(numbers, sizes)).prod(axis=1)
    assert (np.abs(products) > 1e-9).any() == grows_again
    assert has_revival(differences) == grows_again


# What is counted, and where cosines are multiplied


@pytest.mark.parametrize("factor", [1.0, 1000.0, 0.1])
def test_sizes_are_the_frequent_ones_first_and_of_these_the_largest(factor: float) -> None:
    differences = factor * np.array([3.0, -3.0, 0.0, 1.0, 5.0, -7.0, 7.0, 0.0])
    sizes, counts = distinct_sizes(differences)
    assert sizes.tolist() == pytest.approx((factor * np.array([7.0, 3.0, 5.0, 1.0])).tolist())
    assert counts.tolist() == [2, 2, 1, 1]


@given(
    arrays(np.float64, st.integers(1, 60), elements=st.integers(-30, 30)).filter(np.any),
    st.sampled_from([1.0, 0.01, np.pi / 501, np.pi / 3001]),
    st.integers(1, 3000),
)
def test_cosines_are_multiplied_where_their_bound_is_not_negligible(
    differences: Floats, step: float, n_angles: int
) -> None:
    """At angles where exp of minus half the squared distances from multiples of pi is 1e-22."""
    sizes, counts = distinct_sizes(differences)
    numbers, _ = characteristic_function(sizes, counts, step=step, n_angles=n_angles)
    turns = np.multiply.outer(np.arange(1, n_angles + 1), sizes * (step / np.pi))
    distances = np.abs(turns - np.rint(turns))
    bounds = -(np.pi**2) / 2 * (counts * distances**2).sum(axis=1)
    surely, perhaps = (np.flatnonzero(bounds > -50 + slack) + 1 for slack in (1e-6, -1e-6))
    assert {*surely.tolist()} <= {*numbers.tolist()} <= {*perhaps.tolist()}
    assert (np.diff(numbers) > 0).all()
