import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analyses.significance.permutation import Method, exact_test, monte_carlo_test
from tests.analyses.permutation.references import (
    Floats,
    one_pair,
    p_by_all_signs,
    p_by_dynamic_programming,
    p_by_long_series,
    p_by_scipy,
)


def p_of(differences: Floats) -> float:
    return float(exact_test(one_pair(differences)).p[0])


def method_of(differences: Floats) -> str:
    return str(exact_test(one_pair(differences)).methods[0])


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1, 1, 1, 1], 1 / 8),
        ([3, 2, 1], 1 / 4),
        ([1, -1, 2], 3 / 4),
        ([0, 0, 0], 1),
        ([1, -1], 1),
        ([5], 1),
    ],
)
@pytest.mark.parametrize("unit", [1, 1 / 7, np.pi], ids=["whole", "sevenths", "irrational"])
def test_values_known_by_hand(differences: list[int], p: float, unit: float) -> None:
    assert p_of(np.array(differences, dtype=float) * unit) == pytest.approx(p, abs=1e-14)


elements = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 1.0, 1 / 3, np.sqrt(2), 0.1])


@given(arrays(np.float64, st.integers(1, 12), elements=elements))
def test_few_users_agree_with_all_sign_assignments(differences: Floats) -> None:
    assert p_of(differences) == pytest.approx(p_by_all_signs(differences), abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [1, 4, 15], ids=["tenths", "four decimals", "continuous"])
def test_fourteen_users_agree_with_scipy(decimals: int, rng: np.random.Generator) -> None:
    for _ in range(3):
        differences = np.round(rng.normal(0.3, 1, 14), decimals)
        assert p_of(differences) == pytest.approx(p_by_scipy(differences), abs=1e-13)


def test_equal_means_need_no_method() -> None:
    assert method_of(np.array([0.1, 0.2, -0.3])) == Method.EQUAL_MEANS


def test_far_means_get_the_bound_of_hoeffding() -> None:
    differences = np.pi * np.ones(100)
    assert method_of(differences) == Method.BOUND
    assert p_of(differences) == pytest.approx(2 * np.exp(-50))


def test_the_bound_is_never_zero() -> None:
    assert 0 < p_of(np.ones(6000)) < 1e-300


def test_few_multiples_of_a_tenth_are_convolved() -> None:
    assert method_of(np.array([0.3, -0.1, 0.7])) == Method.CONVOLUTION


def test_many_multiples_of_a_tenth_are_a_lattice(rng: np.random.Generator) -> None:
    assert method_of(rng.integers(1, 9, size=201) * rng.choice([-0.1, 0.1], 201)) == Method.LATTICE


@pytest.mark.slow
def test_forty_differing_users_are_enumerated(rng: np.random.Generator) -> None:
    differences = np.append(rng.normal(size=40), np.zeros(500))
    assert method_of(differences) == Method.ENUMERATION


def test_forty_one_differing_users_are_multiplied(rng: np.random.Generator) -> None:
    assert method_of(rng.normal(size=41)) == Method.PRODUCT


def test_many_users_without_large_differences_get_the_series(rng: np.random.Generator) -> None:
    assert method_of(rng.normal(size=1000)) == Method.SERIES


def test_a_system_far_from_the_others_changes_no_method(rng: np.random.Generator) -> None:
    near = rng.random((2, 1000))
    far = rng.random(1000) + 3.0
    assert exact_test(np.array([*near, far])).methods.tolist() == [
        Method.SERIES, Method.BOUND, Method.BOUND,
    ]  # fmt: skip


def test_many_users_with_a_large_difference_are_multiplied(rng: np.random.Generator) -> None:
    assert method_of(np.append(rng.normal(size=1000), 20.0)) == Method.PRODUCT


@pytest.mark.slow
def test_sizes_that_nearly_agree_are_multiplied(rng: np.random.Generator) -> None:
    """The power series would be wrong in the second decimal."""
    differences = rng.choice([-1.0, 1.0], 1000) * rng.normal(1, 0.01, 1000)
    assert method_of(differences) == Method.PRODUCT
    assert p_of(differences) == pytest.approx(p_by_long_series(differences), abs=1e-9)


def test_equal_sizes_off_every_usual_lattice_are_left_to_monte_carlo() -> None:
    differences = np.repeat([0.0, np.pi, -np.pi, 1e-7], [10, 310, 290, 2])
    result = exact_test(one_pair(differences))
    assert np.isnan(result.p[0])
    assert result.methods[0] == Method.MONTE_CARLO


def test_a_declared_scale_makes_an_unusual_lattice_exact() -> None:
    differences = np.repeat([1.0, -1.0], [310, 290]) / 10_007
    assert method_of(differences) == Method.MONTE_CARLO
    result = exact_test(one_pair(differences), scale=10_007)
    assert result.methods[0] == Method.LATTICE
    expected = p_by_dynamic_programming(differences * 10_007)
    assert result.p[0] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("scale", [5, 10, 100])
def test_ties_of_precision_are_counted_without_being_told(
    scale: int, rng: np.random.Generator
) -> None:
    differences = rng.integers(-3, 4, size=300) / scale
    differences[:9] = 1 / scale
    expected = p_by_dynamic_programming(np.rint(differences * scale))
    assert p_of(differences) == pytest.approx(expected, abs=1e-13)


def continuous(n_systems: int, n_users: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.beta(0.5, 2.0, size=(n_systems, n_users)) + 0.05 * rng.random((n_systems, 1))


seeds = st.integers(0, 2**32)
users = st.sampled_from([3, 30, 60, 250, 900])


@given(seeds, users)
def test_p_is_positive_and_at_most_one(seed: int, n_users: int) -> None:
    p = exact_test(continuous(4, n_users, seed)).p
    assert ((p > 0) & (p <= 1)).all()


@given(seeds, users)
def test_swapping_the_systems_changes_nothing(seed: int, n_users: int) -> None:
    scores = continuous(2, n_users, seed)
    assert exact_test(scores).p == exact_test(scores[::-1]).p


@given(seeds, users)
def test_the_order_of_users_does_not_matter(seed: int, n_users: int) -> None:
    scores = continuous(3, n_users, seed)
    shuffled = np.random.default_rng(seed).permutation(scores, axis=1)
    np.testing.assert_allclose(exact_test(shuffled).p, exact_test(scores).p, atol=1e-12)


@given(seeds, users, st.integers(-60, 60))
def test_scaling_by_powers_of_two_changes_no_bit(seed: int, n_users: int, power: int) -> None:
    scores = continuous(3, n_users, seed)
    scaled = exact_test(np.ldexp(scores, power))
    np.testing.assert_array_equal(scaled.p, exact_test(scores).p)


@given(seeds, users)
def test_users_without_a_difference_do_not_matter(seed: int, n_users: int) -> None:
    scores = continuous(3, n_users, seed)
    longer = np.concatenate([scores, np.full((3, 50), 0.5)], axis=1)
    np.testing.assert_allclose(exact_test(longer).p, exact_test(scores).p, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [1, 9], ids=["lattice", "continuous"])
def test_monte_carlo_errors_are_as_large_as_theory_says(
    decimals: int, rng: np.random.Generator
) -> None:
    scores = np.round(rng.beta(0.5, 2.0, size=(40, 12, 300)), decimals)
    draws = 2000
    exact = np.array([exact_test(values).p for values in scores])
    drawn = monte_carlo_test(scores, permutations=draws, seed=1)
    unbiased = (drawn * (draws + 1) - 1) / draws
    tested = (exact > 0.01) & (exact < 1)
    exact, unbiased = exact[tested], unbiased[tested]
    z = (unbiased - exact) / np.sqrt(exact * (1 - exact) / draws)
    assert len(z) > 1000
    assert abs(z.mean()) < 0.15
    assert (z**2).mean() == pytest.approx(1, abs=0.15)


@pytest.mark.validity
def test_a_true_null_hypothesis_is_rejected_at_the_level(rng: np.random.Generator) -> None:
    """2,000 random sign flips of fixed differences; limits of 99.9 % of a binomial."""
    n_sets = 2000
    sizes = rng.beta(0.5, 2.0, size=250)
    p = np.array([p_of(sizes * rng.choice([-1.0, 1.0], 250)) for _ in range(n_sets)])
    for alpha in (0.01, 0.05, 0.1):
        margin = 3.3 * np.sqrt(alpha * (1 - alpha) / n_sets)
        assert abs((p <= alpha).mean() - alpha) < margin
