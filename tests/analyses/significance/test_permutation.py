"""Permutation tests of all pairs: exact, required differences, Monte-Carlo; real TREC systems."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analyses.shared.exact_sums import to_grid
from analyses.significance.permutation import (
    Method,
    count_as_extreme,
    exact_test,
    find_scale,
    monte_carlo_test,
    pair_indices,
    random_signs,
)
from tests.analyses.significance.references import (
    Floats,
    mid_p_by_all_signs,
    mid_p_by_dynamic_programming,
    one_pair,
    p_by_all_signs,
    p_by_dynamic_programming,
    p_by_long_series,
    p_by_scipy,
)
from tests.conftest import examples


def p_of(differences: Floats) -> float:
    return float(exact_test(one_pair(differences)).p[0])


def method_of(differences: Floats) -> str:
    return str(exact_test(one_pair(differences)).methods[0])


@pytest.mark.parametrize(
    ("make", "method"),
    [
        (lambda rng: np.array([0.1, 0.2, -0.3]), Method.EQUAL_MEANS),
        (lambda rng: np.array([0.3, -0.1, 0.7]), Method.CONVOLUTION),
        (lambda rng: rng.integers(1, 9, 201) * rng.choice([-0.1, 0.1], 201), Method.LATTICE),
        (lambda rng: np.append(rng.normal(size=26), np.zeros(500)), Method.ENUMERATION),
        (lambda rng: rng.normal(size=41), Method.PRODUCT),
        (lambda rng: rng.normal(size=1000), Method.SERIES),
        (lambda rng: np.append(rng.normal(size=1000), 20.0), Method.PRODUCT),
    ],
)
def test_each_pair_gets_the_first_method_that_is_safe(
    make: Callable[[np.random.Generator], Floats], method: Method, rng: np.random.Generator
) -> None:
    assert method_of(make(rng)) == method


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([0.1 + 0.2, 0.5], 10),
        ([1 / 3, 1 / 4, 1 / 5], 60),
        ([1e-15, 3e-16], None),
        ([*[0.1] * 5000, 0.2 + 1e-6], None),
    ],
)
def test_scores_on_a_lattice_are_recognised(values: list[float], scale: int | None) -> None:
    assert find_scale(np.array([values])) == scale


@pytest.mark.parametrize(
    ("differences", "p"), [([3, 2, 1], 1 / 4), ([1, -1, 2], 3 / 4), ([0, 0, 0], 1)]
)
@pytest.mark.parametrize("unit", [1, 1 / 7, np.pi], ids=["whole", "sevenths", "irrational"])
def test_values_known_by_hand(differences: list[int], p: float, unit: float) -> None:
    assert p_of(np.array(differences, dtype=float) * unit) == pytest.approx(p, abs=1e-14)


elements = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 1.0, 1 / 3, np.sqrt(2), 0.1])


@given(arrays(np.float64, st.integers(1, 12), elements=elements))
def test_few_users_agree_with_all_sign_assignments(differences: Floats) -> None:
    found = exact_test(one_pair(differences))
    assert found.p[0] == pytest.approx(p_by_all_signs(differences), abs=1e-13)
    assert found.mid_p[0] == pytest.approx(mid_p_by_all_signs(differences), abs=1e-13)


@examples(30)
@given(arrays(np.float64, st.integers(1, 6), elements=elements))
def test_over_all_signs_the_mean_mid_p_is_a_half(differences: Floats) -> None:
    """Whatever the sizes are, and however many sums tie; opposite signs have the same p-value."""
    signs = np.array([*product([1.0], *[[-1.0, 1.0]] * (len(differences) - 1))])
    found = [exact_test(one_pair(row)).mid_p[0] for row in signs * differences]
    assert np.mean(found) == pytest.approx(0.5, abs=1e-13)


GRIDS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "continuous": lambda rng, n: rng.beta(0.5, 2.0, (2, n)),
    "P@5 with one relevant item": lambda rng, n: rng.binomial(1, 0.3, (2, n)) / 5,
    "P@10": lambda rng, n: rng.binomial(10, 0.2, (2, n)) / 10,
    "RR@10": lambda rng, n: rng.choice([*(1 / np.arange(1.0, 11)), 0.0, 0.0], (2, n)),
    "success of 5 %": lambda rng, n: rng.binomial(1, 0.05, (2, n)).astype(np.float64),
    "4 decimals": lambda rng, n: np.round(rng.beta(0.5, 2.0, (2, n)), 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS)
def test_of_equal_systems_the_mean_mid_p_is_a_half_on_every_grid(
    grid: str, rng: np.random.Generator
) -> None:
    """Of 300 pairs with the same distribution; that of p is larger the coarser scores are."""
    tests = [exact_test(GRIDS[grid](rng, 50)) for _ in range(300)]
    mid_p = np.concatenate([test.mid_p for test in tests])
    p = np.concatenate([test.p for test in tests])
    assert abs(mid_p.mean() - 0.5) < 4 * mid_p.std() / np.sqrt(300)
    if grid == "success of 5 %":
        assert p.mean() > 0.7


@pytest.mark.parametrize("draws", [19, 400])
def test_the_mean_drawn_mid_p_is_a_half(draws: int, rng: np.random.Generator) -> None:
    """Of 2,000 pairs of systems by a success of 20 %: the observed signs count as a tie."""
    scores = rng.binomial(1, 0.2, (2000, 2, 12)).astype(np.float64)
    mid_p = monte_carlo_test(scores, permutations=draws, seed=1).mid_p
    assert abs(mid_p.mean() - 0.5) < 4 * mid_p.std() / np.sqrt(2000)


def test_far_means_get_the_bound_of_hoeffding() -> None:
    differences = np.pi * np.ones(100)
    assert method_of(differences) == Method.BOUND
    assert p_of(differences) == pytest.approx(2 * np.exp(-50))


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
    expected = mid_p_by_dynamic_programming(differences * 10_007)
    assert result.mid_p[0] == pytest.approx(expected, abs=1e-13)


def continuous(n_systems: int, n_users: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.beta(0.5, 2.0, size=(n_systems, n_users)) + 0.05 * rng.random((n_systems, 1))


seeds = st.integers(0, 2**32)
users = st.sampled_from([3, 30, 60, 250, 900])


@examples(30)
@given(seeds, users)
def test_swapping_the_systems_changes_nothing(seed: int, n_users: int) -> None:
    scores = continuous(2, n_users, seed)
    assert exact_test(scores).p == exact_test(scores[::-1]).p


@examples(30)
@given(seeds, users, st.integers(-60, 60))
def test_scaling_by_powers_of_two_changes_no_bit(seed: int, n_users: int, power: int) -> None:
    scores = continuous(3, n_users, seed)
    scaled = exact_test(np.ldexp(scores, power))
    np.testing.assert_array_equal(scaled.p, exact_test(scores).p)
    np.testing.assert_array_equal(scaled.mid_p, exact_test(scores).mid_p)


@examples(30)
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
    drawn = monte_carlo_test(scores, permutations=draws, seed=1).p
    unbiased = (drawn * (draws + 1) - 1) / draws
    tested = (exact > 0.01) & (exact < 1)
    exact, unbiased = exact[tested], unbiased[tested]
    z = (unbiased - exact) / np.sqrt(exact * (1 - exact) / draws)
    assert len(z) > 1000
    assert abs(z.mean()) < 0.15
    assert (z**2).mean() == pytest.approx(1, abs=0.15)


ALPHA = 0.05


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


METHODS = [Method.CONVOLUTION, Method.LATTICE, Method.ENUMERATION, Method.SERIES, Method.PRODUCT]


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


@pytest.fixture
def scores(rng: np.random.Generator) -> Floats:
    """A continuous measure and one full of ties: 6 systems, 70 users."""
    continuous = rng.beta(0.5, 2.0, size=(6, 70))
    return np.stack([continuous, np.round(continuous, 1)])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_number_of_jobs_changes_no_bit(n_jobs: int, scores: Floats) -> None:
    expected = count_as_extreme(to_grid(scores), 0, 5000, seed=9)
    p = monte_carlo_test(scores, permutations=5000, seed=9, n_jobs=n_jobs).p
    np.testing.assert_array_equal(p, (expected[0] + 1) / 5001)


def test_it_counts_what_a_plain_loop_counts(scores: Floats) -> None:
    """Ties included, which whole numbers decide without rounding."""
    tied = np.rint(scores[1] * 10)
    first, second = pair_indices(len(tied))
    differences = tied[first] - tied[second]
    signs = random_signs(0, 500, n_users=tied.shape[1], seed=4)
    sums = np.abs((differences[:, np.newaxis] * signs).sum(axis=2))
    observed = np.abs(differences.sum(axis=1))[:, np.newaxis]
    n_extreme = (sums >= observed).sum(axis=1)
    n_ties = (sums == observed).sum(axis=1)
    p, mid_p = monte_carlo_test(tied[np.newaxis] / 10, permutations=500, seed=4)
    np.testing.assert_array_equal(p[0], (n_extreme + 1) / 501)
    # The observed signs are a tie, too.
    expected = (n_extreme - n_ties + (n_ties + 1) / 2) / 501
    np.testing.assert_allclose(mid_p[0], expected, rtol=1e-14)


@pytest.mark.parametrize("n_users", [1, 64, 256, 257, 1000])
def test_a_permutation_has_the_same_signs_however_it_is_reached(n_users: int) -> None:
    together = random_signs(0, 10, n_users=n_users, seed=3)
    apart = np.concatenate([random_signs(b, b + 1, n_users=n_users, seed=3) for b in range(10)])
    np.testing.assert_array_equal(together, apart)


def test_the_stream_is_that_of_the_written_rule() -> None:
    """The second permutation of 300 users starts at the third step of the counter."""
    generator = np.random.Philox(key=5, counter=np.array([2, 0, 0, 1], dtype=np.uint64))
    words = generator.random_raw(5)
    bits = [int(word) >> bit & 1 for word in words for bit in range(64)]
    expected = 1 - 2 * np.array(bits[:300])
    np.testing.assert_array_equal(random_signs(1, 2, n_users=300, seed=5)[0], expected)


SHARED = Path(__file__).parents[3].parent / "shared" / "data" / "trec-per-topic"
FILES = ("adhoc5_ap", "adhoc7_p10", "web2013_ndcg20")


def scores_of(name: str) -> Floats:
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent")
    return np.loadtxt(SHARED / f"{name}.csv", delimiter=",", skiprows=1).T


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_few_topics_agree_with_full_enumeration(name: str) -> None:
    scores = scores_of(name)[:6, :13]
    first, second = pair_indices(6)
    expected = [p_by_scipy(scores[i] - scores[j]) for i, j in zip(first, second, strict=True)]
    np.testing.assert_allclose(exact_test(scores).p, expected, atol=1e-12)


@pytest.mark.parametrize("name", FILES)
def test_all_topics_agree_with_monte_carlo_within_its_error(name: str) -> None:
    scores, draws = scores_of(name)[:12], 5000
    exact = exact_test(scores)
    assert set(exact.methods) <= {Method.CONVOLUTION, Method.EQUAL_MEANS}
    drawn = monte_carlo_test(scores[np.newaxis], permutations=draws, seed=1).p[0]
    error = np.sqrt(np.maximum(exact.p * (1 - exact.p), 1 / draws) / draws)
    assert np.abs((drawn - exact.p) / error).max() < 5


@pytest.mark.slow
def test_random_signs_of_many_users_keep_within_their_memory(
    rng: np.random.Generator, peak_megabytes: Callable[[], float]
) -> None:
    """300 permutations of 140,000 users in one array would take 336 MB."""
    monte_carlo_test(rng.random((1, 2, 140_000)), permutations=300, seed=1)
    assert peak_megabytes() < 200


def test_short_blocks_change_no_bit(scores: Floats, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = exact_test(scores[0]), monte_carlo_test(scores, permutations=99, seed=9)
    monkeypatch.setattr("analyses.significance.permutation.NUMBERS_AT_ONCE", 1)
    np.testing.assert_array_equal(exact_test(scores[0]).p, expected[0].p)
    np.testing.assert_array_equal(monte_carlo_test(scores, permutations=99, seed=9), expected[1])


@pytest.mark.slow
@pytest.mark.parametrize("n_users", [200, 350])
def test_lattices_of_five_decimals_keep_within_their_memory(
    n_users: int, rng: np.random.Generator, peak_megabytes: Callable[[], float]
) -> None:
    """By counting, and by a finite Fourier sum: the longest arrays that both may need."""
    scores = np.round(rng.random((2, n_users)), 5)
    scores[:, 0] = 1.0, 1e-5
    assert exact_test(scores).methods[0] in (Method.CONVOLUTION, Method.LATTICE)
    assert peak_megabytes() < 500
