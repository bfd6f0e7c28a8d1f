from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from analyses.online.agreement import spearman_null as module
from analyses.online.agreement.spearman_null import chance_of_rho, smallest_rho


@pytest.mark.parametrize("n_models", range(2, 8))
def test_chances_are_those_of_all_orders(n_models: int) -> None:
    ranks = np.arange(n_models)
    products = Counter(int(ranks @ np.array(order)) for order in permutations(range(n_models)))
    lowest, highest = min(products), max(products)
    for product in range(lowest, highest + 1):
        rho = 2 * (product - lowest) / (highest - lowest) - 1
        reached = sum(count for other, count in products.items() if other >= product)
        assert chance_of_rho(rho, n_models) == pytest.approx(reached / products.total())


@pytest.mark.parametrize(
    ("rho", "chance"), [(0.9, 5 / 120), (1.0, 1 / 120), (0.6, 21 / 120), (-1.0, 1.0)]
)
def test_chances_of_five_models_are_those_of_the_reference(rho: float, chance: float) -> None:
    """Above .5 comes .6, whose chance is .175."""
    assert chance_of_rho(rho, 5) == pytest.approx(chance)


@pytest.mark.parametrize(
    ("n_models", "rho"), [(5, 0.9), (6, 0.829), (7, 0.714), (8, 0.643), (9, 0.6), (10, 0.564)]
)
def test_the_smallest_rho_is_that_of_exact_tables(n_models: int, rho: float) -> None:
    assert smallest_rho(n_models) == pytest.approx(rho, abs=0.0005)


@pytest.mark.parametrize(("n_models", "rho"), [(15, 0.446), (20, 0.380), (24, 0.344), (30, 0.306)])
def test_beyond_it_is_that_of_printed_tables(n_models: int, rho: float) -> None:
    """Zar (1984), Biostatistical analysis, table B.20."""
    assert smallest_rho(n_models) == pytest.approx(rho, abs=0.0005)


def test_the_smallest_rho_is_the_first_whose_chance_is_small_enough() -> None:
    step = 12 / (7**3 - 7)
    assert chance_of_rho(smallest_rho(7), 7) <= 0.05 < chance_of_rho(smallest_rho(7) - step, 7)


def test_where_the_exact_distribution_ends_the_series_is_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact = [chance_of_rho(rho, 12) for rho in np.linspace(-1, 1, 81)]
    monkeypatch.setattr(module, "MOST_EXACT", 11)
    series = [chance_of_rho(rho, 12) for rho in np.linspace(-1, 1, 81)]
    np.testing.assert_allclose(series, exact, atol=2e-4)


def test_for_many_models_it_is_that_of_students_t() -> None:
    rho, n_models = 0.2, 300
    t = rho * np.sqrt((n_models - 2) / (1 - rho**2))
    assert chance_of_rho(rho, n_models) == pytest.approx(stats.t.sf(t, n_models - 2), abs=1e-5)


@pytest.mark.parametrize("n_models", [13, 24, 79])
def test_the_chance_of_a_perfect_order_is_never_zero(n_models: int) -> None:
    assert 0 < chance_of_rho(1.0, n_models) < 1e-6
