import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analyses.online.arms import replicates
from analyses.online.arms.replicates import poisson_weights, replicate_means
from runs.shared.streams import random_uniforms


def weigh(replicate: int) -> np.ndarray:
    """Give each of 300 users a weight of 0 to 3, keyed by user and replicate."""
    return np.floor(4 * random_uniforms(np.arange(300), 1, "test", replicate))


def test_weights_have_the_poisson_distribution() -> None:
    weights = poisson_weights(np.arange(50_000), replicate=3, seed=1)
    observed = np.bincount(weights.astype(int), minlength=6)
    observed = np.append(observed[:5], observed[5:].sum())
    chances = stats.poisson(1).pmf(np.arange(5))
    expected = 50_000 * np.append(chances, 1 - chances.sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-4


@given(st.lists(st.integers(0, 200), max_size=20), st.integers(0, 5))
def test_a_weight_belongs_to_its_user(users: list[int], replicate: int) -> None:
    whole = poisson_weights(np.arange(201), replicate=replicate, seed=9)
    some = np.array(users, dtype=np.int64)
    assert poisson_weights(some, replicate=replicate, seed=9).tolist() == whole[some].tolist()


def test_replicates_differ() -> None:
    first, second = (poisson_weights(np.arange(100), replicate=r, seed=9) for r in (0, 1))
    assert (first != second).any()


@pytest.mark.parametrize("n_denominators", [1, 2, 6])
def test_replicates_are_weighted_ratios_of_sums(
    n_denominators: int, rng: np.random.Generator
) -> None:
    numerators = rng.random((300, 6), dtype=np.float32)
    denominators = rng.random((300, n_denominators), dtype=np.float32)
    found = replicate_means(numerators, denominators, weigh=weigh, replicates=7)
    for replicate, row in enumerate(found):
        weights = weigh(replicate)[:, None]
        expected = (weights * numerators).sum(axis=0) / (
            weights * denominators.repeat(6 // n_denominators, axis=1)
        ).sum(axis=0)
        np.testing.assert_allclose(row, expected, rtol=1e-5)


def test_replicates_do_not_depend_on_how_many_are_held_at_a_time(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = rng.random((300, 5), dtype=np.float32)
    ones = np.ones((300, 1), dtype=np.float32)
    whole = replicate_means(values, ones, weigh=weigh, replicates=7)
    monkeypatch.setattr(replicates, "WEIGHTS_AT_ONCE", 600)
    monkeypatch.setattr(replicates, "USERS_AT_ONCE", 64)
    parts = replicate_means(values, ones, weigh=weigh, replicates=7)
    np.testing.assert_allclose(parts, whole, rtol=1e-5)


def test_equal_models_have_equal_replicates(rng: np.random.Generator) -> None:
    values = rng.random((300, 5), dtype=np.float32)
    ones = np.ones((300, 1), dtype=np.float32)
    first, second = (
        replicate_means(values.copy(), ones, weigh=weigh, replicates=7) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_where_no_user_is_drawn_there_is_no_value() -> None:
    ones = np.ones((2, 1), dtype=np.float32)
    found = replicate_means(ones, ones, weigh=lambda replicate: np.zeros(2), replicates=1)
    assert np.isnan(found).all()


def test_stratified_replicates_are_micro_averages_over_hidden_items(
    rng: np.random.Generator,
) -> None:
    """Two betas of three cut-offs; D_u cancels."""
    shares = rng.random((300, 2, 3), dtype=np.float32)
    totals = rng.random((300, 2), dtype=np.float32)
    weighted = (shares * totals[:, :, None]).reshape(300, 6)
    (found,) = replicate_means(weighted, totals, weigh=lambda _: np.ones(300), replicates=1)
    expected = (shares * totals[:, :, None]).sum(axis=0) / totals.sum(axis=0)[:, None]
    np.testing.assert_allclose(found, expected.ravel(), rtol=1e-5)
