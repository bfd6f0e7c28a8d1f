import numpy as np
import pytest

from analyses.significance.permutation import random_signs


@pytest.mark.parametrize("n_users", [1, 64, 256, 257, 1000])
def test_a_permutation_has_the_same_signs_however_it_is_reached(n_users: int) -> None:
    together = random_signs(0, 10, n_users=n_users, seed=3)
    apart = np.concatenate([random_signs(b, b + 1, n_users=n_users, seed=3) for b in range(10)])
    np.testing.assert_array_equal(together, apart)


def test_signs_are_plus_or_minus_one() -> None:
    assert set(np.unique(random_signs(0, 10, n_users=300, seed=0))) == {-1.0, 1.0}


@pytest.mark.slow
def test_signs_are_fair_and_independent() -> None:
    """Means and correlations of 100 users lie within five standard errors of 0."""
    signs = random_signs(0, 20_000, n_users=100, seed=11)
    products = signs.T @ signs / len(signs) - np.eye(100)
    assert np.abs(signs.mean(axis=0)).max() < 5 / np.sqrt(len(signs))
    assert np.abs(products).max() < 5 / np.sqrt(len(signs))


def test_other_seeds_give_other_signs() -> None:
    one, other = (random_signs(0, 100, n_users=100, seed=seed) for seed in (0, 1))
    assert 0.4 < (one == other).mean() < 0.6


def test_the_stream_is_that_of_the_written_rule() -> None:
    """The second permutation of 300 users starts at the third step of the counter."""
    generator = np.random.Philox(key=5, counter=np.array([2, 0, 0, 1], dtype=np.uint64))
    words = generator.random_raw(5)
    bits = [int(word) >> bit & 1 for word in words for bit in range(64)]
    expected = 1 - 2 * np.array(bits[:300])
    np.testing.assert_array_equal(random_signs(1, 2, n_users=300, seed=5)[0], expected)
