import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.significance.exact import first_significant
from analyses.significance.permutation import Method, exact_test
from tests.analyses.permutation.references import Floats, one_pair

ALPHA = 0.05


@given(st.integers(1, 10_000), st.floats(0.1, 1e5), st.integers(0, 3))
def test_the_first_significant_step_is_found(step: int, deviation: float, late: int) -> None:
    found = first_significant(
        lambda k: 0.01 if k >= step else 0.9,
        alpha=ALPHA,
        deviation=deviation,
        highest=step + late * 1000,
    )
    assert found == step


def test_a_smooth_p_value_needs_few_looks() -> None:
    looks: list[int] = []

    def p_of(k: int) -> float:
        looks.append(k)
        return float(np.exp(-k / 1e6))

    assert first_significant(p_of, alpha=ALPHA, deviation=2e6, highest=10**9) == 2_995_733
    assert len(looks) < 20


def test_a_steep_p_value_needs_hardly_more_looks_than_halving() -> None:
    looks: list[int] = []

    def p_of(k: int) -> float:
        looks.append(k)
        return 0.01 if k >= 123_456_789 else 0.9

    first_significant(p_of, alpha=ALPHA, deviation=2e6, highest=2**30)
    assert len(looks) <= 32


def moved(sizes: Floats, total: float) -> Floats:
    """Differences of these sizes whose signed sum is nearest to the total, found greedily."""
    signs = np.ones(len(sizes))
    for user in np.argsort(-sizes, kind="stable"):
        if (signs * sizes).sum() - 2 * sizes[user] >= total:
            signs[user] = -1
    return signs * sizes


def sizes_for(method: Method, rng: np.random.Generator) -> Floats:
    return {
        Method.CONVOLUTION: lambda: rng.integers(1, 30, 45) / 100,
        Method.LATTICE: lambda: rng.integers(1, 8, 400) / 10,
        Method.ENUMERATION: lambda: rng.random(22),
        Method.SERIES: lambda: rng.random(500),
        Method.PRODUCT: lambda: rng.random(90),
    }[method]()


METHODS = [
    Method.CONVOLUTION,
    Method.LATTICE,
    Method.ENUMERATION,
    Method.SERIES,
    Method.PRODUCT,
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.001])
def test_from_the_required_difference_on_all_is_significant(
    method: Method, alpha: float, rng: np.random.Generator
) -> None:
    sizes = sizes_for(method, rng)
    required = float(exact_test(one_pair(sizes), alpha=alpha).required[0]) * len(sizes)
    beyond = [moved(sizes, required * (1 + excess)) for excess in (1e-9, 0.001, 0.05)]
    for differences in beyond:
        assert differences.sum() >= required
        result = exact_test(one_pair(differences), alpha=alpha)
        assert result.methods[0] == method
        assert result.p[0] <= alpha
        assert result.required[0] * len(sizes) == pytest.approx(required)


@pytest.mark.parametrize("method", METHODS)
def test_below_the_required_difference_nothing_is_significant(
    method: Method, rng: np.random.Generator
) -> None:
    sizes = sizes_for(method, rng)
    required = float(exact_test(one_pair(sizes), alpha=ALPHA).required[0]) * len(sizes)
    below, slightly = sizes.copy(), 1 - 1e-9
    for user in range(len(below)):
        if abs(below.sum()) < required * slightly:
            break
        below[user] *= -1
    assert 0 < abs(below.sum()) < required * slightly
    assert exact_test(one_pair(below)).p[0] > ALPHA


def test_few_users_can_never_be_significant() -> None:
    """Four users: the smallest p-value is 1/8."""
    for differences in (np.ones(4), np.array([1.0, 2.0, np.pi, 5.0])):
        assert np.isnan(exact_test(one_pair(differences), alpha=ALPHA).required[0])
        assert np.isfinite(exact_test(one_pair(differences), alpha=0.2).required[0])


def test_where_no_user_differs_nothing_is_required() -> None:
    assert np.isnan(exact_test(np.ones((2, 30)), alpha=ALPHA).required[0])


def test_required_differences_do_not_depend_on_the_means(rng: np.random.Generator) -> None:
    sizes = rng.random(300)
    near, far = (exact_test(one_pair(moved(sizes, total)), alpha=ALPHA) for total in (0, 140))
    assert far.methods[0] == Method.BOUND
    assert near.required[0] == pytest.approx(far.required[0], rel=1e-9)


def test_a_required_sum_is_one_that_signs_can_give() -> None:
    """Sums of nine differences of 2 are 2 more than a multiple of 4, not 2 less."""
    scores = np.zeros((2, 12))
    scores[0, :9] = 2.0
    (required,) = exact_test(scores, scale=1, alpha=0.05).required
    assert required * 12 == pytest.approx(14)
