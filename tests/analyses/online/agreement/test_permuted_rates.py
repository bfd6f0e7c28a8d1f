from itertools import permutations

import numpy as np
import pytest

from analyses.online.agreement.permuted_rates import all_orders, joint_orders


def random_orders(n: int, n_models: int, *, experiment: str = "A") -> list[np.ndarray]:
    """Draw orders of one experiment."""
    models = [tuple(map(str, range(n_models)))]
    return [some for (some,) in joint_orders(n, groups=[experiment], models=models, seed=1)]


@pytest.mark.parametrize("n_models", [3, 7])
def test_all_orders_are_those_of_itertools(n_models: int) -> None:
    orders = np.concatenate([some for (some,) in all_orders([tuple(map(str, range(n_models)))])])
    orders = orders[np.lexsort(orders.T[::-1])]
    np.testing.assert_array_equal(orders, list(permutations(range(n_models))))


def test_orders_do_not_depend_on_how_many_follow() -> None:
    few = random_orders(10, 6)[0]
    many = random_orders(3000, 6)[0]
    np.testing.assert_array_equal(few, many[:10])


def test_as_many_orders_as_asked_for_are_drawn() -> None:
    assert sum(len(some) for some in random_orders(2500, 4)) == 2500


def test_experiments_have_orders_of_their_own() -> None:
    (first,), (second,) = (random_orders(50, 6, experiment=name) for name in "AB")
    assert (first != second).any()


def test_every_order_is_as_likely() -> None:
    orders = np.concatenate(random_orders(6000, 3))
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 6
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
