"""Counting of all sign assignments of few users, whatever ties their differences have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analyses.significance import enumeration
from analyses.significance.enumeration import by_enumeration
from tests.analyses.conftest import WithinMemory
from tests.analyses.significance.references import (
    Floats,
    mid_p_by_all_signs,
    mid_p_by_dynamic_programming,
    p_by_all_signs,
    p_by_dynamic_programming,
    smallest_sum,
    smallest_sum_by_dynamic_programming,
)
from tests.conftest import examples

ALPHA = 0.05

tied = st.sampled_from([-2.0, -0.1, 0.0, 0.1, 0.3, 1 / 3])
levels = st.sampled_from([0.001, 0.01, 0.05, 0.2, 0.5])


@examples(30)
@given(arrays(np.float64, st.integers(1, 12), elements=tied).filter(np.any))
def test_off_a_lattice_all_sign_assignments_are_counted(differences: Floats) -> None:
    found = by_enumeration(differences, alpha=ALPHA)
    assert found.p == p_by_all_signs(differences)
    assert found.mid_p == mid_p_by_all_signs(differences)


@given(arrays(np.float64, st.integers(1, 12), elements=tied).filter(np.any), levels)
def test_the_smallest_significant_sum_is_among_all_sums(differences: Floats, alpha: float) -> None:
    smallest = by_enumeration(differences, alpha=alpha).critical_sum
    assert smallest == pytest.approx(smallest_sum(differences, alpha), nan_ok=True)


@given(arrays(np.float64, st.integers(1, 12), elements=tied).filter(np.any), levels)
def test_finer_steps_find_the_same_sum(differences: Floats, alpha: float) -> None:
    """If no sum may be listed, the search goes on to the tolerance of ties."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enumeration, "MAX_LISTED_SUMS", 0)
        smallest = by_enumeration(differences, alpha=alpha).critical_sum
    assert smallest == pytest.approx(smallest_sum(differences, alpha), nan_ok=True)


@pytest.mark.parametrize("kind", ["full precision", "tied"])
def test_a_search_in_blocks_first_finds_the_same(
    kind: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    differences = rng.normal(0.2, 1.0, size=20)
    if kind == "tied":
        differences = np.round(differences, 1) * np.pi
    expected = by_enumeration(differences, alpha=ALPHA)
    monkeypatch.setattr(enumeration, "LONG", 1)
    assert by_enumeration(differences, alpha=ALPHA) == expected


def weighted_precision(n_users: int, rng: np.random.Generator) -> Floats:
    """Differences of P@5, each times the user's number of judgements."""
    steps = rng.choice([-5, -4, -3, -2, -1, 1, 2, 3, 4, 5], n_users)
    return (steps * rng.integers(1, 60, n_users)).astype(np.float64)


def reciprocal_ranks(n_users: int, rng: np.random.Generator) -> Floats:
    """Differences of RR@10, in units of 1/2520."""
    ranks = rng.integers(1, 11, (2, n_users))
    ranks[1, ranks[0] == ranks[1]] = 11
    return (2520 / ranks[0] - np.where(ranks[1] > 10, 0, 2520 / ranks[1])).round()


def one_size(n_users: int, rng: np.random.Generator) -> Floats:
    return rng.choice([-1.0, 1.0], n_users)


WHOLE = {"weighted P@5": weighted_precision, "RR@10": reciprocal_ranks, "one size": one_size}


@pytest.mark.parametrize("alpha", [0.05, 0.001])
@pytest.mark.parametrize("n_users", [2, 28, 36, 40])
@pytest.mark.parametrize("kind", WHOLE)
def test_ties_of_many_users_agree_with_dynamic_programming(
    kind: str, n_users: int, alpha: float, rng: np.random.Generator
) -> None:
    """By a factor that no lattice has, sums tie but for rounding."""
    whole = WHOLE[kind](n_users, rng)
    p, mid_p, smallest = by_enumeration(whole * np.pi / 1000, alpha=alpha)
    assert mid_p == pytest.approx(mid_p_by_dynamic_programming(whole), abs=1e-14)
    assert p == p_by_dynamic_programming(whole)
    if n_users == 2:
        assert np.isnan(smallest)
    else:
        expected = smallest_sum_by_dynamic_programming(whole, alpha)
        assert smallest == pytest.approx(expected * np.pi / 1000)


@pytest.mark.slow
def test_memory_is_within_the_bound_that_is_stated(within_memory: WithinMemory) -> None:
    """Whatever ties there are among as many users as are ever enumerated."""
    within_memory(
        """
        n = MAX_ENUMERATED_USERS
        cases = [
            rng.normal(0.2, 1.0, n),
            rng.standard_cauchy(n),
            1 + 1e-11 * rng.normal(size=n),
            np.append(rng.normal(size=n // 2), rng.integers(1, 5, n // 2) / 7),
            np.append(rng.choice([1.0, 2**0.5, np.pi], n // 2), rng.normal(0, 1e-7, n // 2)),
            np.append(np.full(n // 2, np.pi), rng.normal(0, 1e-10, n // 2)),
        ]
        for differences in cases:
            p, mid_p, smallest = by_enumeration(differences, alpha=0.05)
            assert 0 < mid_p <= p <= 1
            assert smallest > 0
        """,
        preparation="""
        import numpy as np
        from analyses.significance.enumeration import MAX_ENUMERATED_USERS, by_enumeration
        rng = np.random.default_rng(1)
        for differences in (rng.normal(size=32), np.append(rng.normal(size=31), [1.0] * 4)):
            by_enumeration(differences, alpha=0.05)
        """,
        megabytes=250,
    )
