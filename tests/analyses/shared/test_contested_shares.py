from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyses.shared.contested_shares import shares_in_order

Floats = NDArray[np.float64]


def share_by_hand(estimate: Floats, reference: Floats, pairs: list[tuple[int, int]]) -> float:
    """Count pairs in the order of the reference, and ties as half."""
    total = 0.0
    for i, j in pairs:
        product = np.sign(estimate[i] - estimate[j]) * np.sign(reference[i] - reference[j])
        total += (1 + product) / 2
    return total / len(pairs)


@given(st.integers(0, 2**32 - 1))
def test_shares_are_those_counted_pair_by_pair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_replicates, n_systems, n_samples, n_sets = 3, 5, 4, 3
    estimates = rng.integers(0, 4, (n_replicates, n_systems, n_samples)).astype(float)
    references = rng.integers(0, 4, (n_replicates, n_systems)).astype(float)
    pairs = list(combinations(range(n_systems), 2))
    sets = rng.random((n_sets, len(pairs))) < 0.6
    sets[:, 0] = True
    shares = shares_in_order(estimates, references, sets)
    for replicate, number, sample in np.ndindex(n_replicates, n_sets, n_samples):
        chosen = [pair for pair, is_in in zip(pairs, sets[number], strict=True) if is_in]
        by_hand = share_by_hand(estimates[replicate, :, sample], references[replicate], chosen)
        assert shares[replicate, number, sample] == pytest.approx(by_hand)


def test_a_set_without_pairs_has_no_share() -> None:
    shares = shares_in_order(np.ones((1, 3, 1)), np.ones((1, 3)), np.zeros((1, 3), dtype=np.bool_))
    assert np.isnan(shares).all()


def test_scores_that_differ_by_rounding_are_tied() -> None:
    estimates = np.array([[[0.3], [0.1 + 0.2]]])
    shares = shares_in_order(estimates, np.array([[1.0, 0.0]]), np.ones((1, 1), dtype=np.bool_))
    assert shares.item() == 0.5
