import numpy as np
import pytest

from analyses.online.agreement import replicated_means as module
from analyses.online.agreement.replicated_means import replicate_means
from runs import InputError
from tests.analyses.online.examples import weigh


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
    monkeypatch.setattr(module, "WEIGHTS_AT_ONCE", 600)
    monkeypatch.setattr(module, "USERS_AT_ONCE", 64)
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


def test_denominators_that_do_not_fit_are_refused() -> None:
    ones = np.ones((2, 3), dtype=np.float32)
    with pytest.raises(InputError, match=r"of shape \(2, 2\) do not fit numerators of"):
        replicate_means(ones, ones[:, :2], weigh=lambda replicate: np.ones(2), replicates=1)


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
