from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyses.shared.contested_pairs import ContestedPairs
from analyses.shared.contested_shares import ContestedShares, shares_in_order
from analyses.shared.draws import Draws
from analyses.shared.families import SubsetValues
from analyses.shared.measure import Measure, Measures

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


def contested_shares(shares: Floats, replicates: Floats, draws: Draws) -> ContestedShares:
    """Shares of measures, (n_measures,), with replicates, on three contested pairs."""
    measures = Measures([Measure("P", number + 1) for number in range(len(shares))])
    pairs = ContestedPairs(
        measures=measures,
        excluded={},
        systems=("a", "b", "c"),
        is_within_reach=np.ones(3, dtype=np.bool_),
        is_contested=np.ones(3, dtype=np.bool_),
        n_users=100,
    )
    within = SubsetValues(3, np.empty((len(shares), 0)))
    return ContestedShares(pairs, shares, shares, replicates, draws, within)


N_USERS, N_REPLICATES, N_STUDIES = 60, 200, 300


def shares_of_study(rng: np.random.Generator) -> ContestedShares:
    """Three measures of 20 pairs, for 60 users: half of the pairs are equal, the others nearly."""
    effects = np.repeat([0.0, 0.2], 10)[:, np.newaxis]
    differences = effects + rng.normal(size=(3, 20, N_USERS)) + rng.normal(size=(20, N_USERS))
    weights = rng.multinomial(N_USERS, np.full(N_USERS, 1 / N_USERS), size=N_REPLICATES)
    shares = (differences.sum(axis=2) > 0).mean(axis=1)
    replicates = (differences @ weights.T > 0).mean(axis=1)
    return contested_shares(shares, replicates, Draws.of(weights))


def test_mean_shares_vary_less_than_shares_and_hardly_more_is_said() -> None:
    """Differences of two measures, over 300 samples of users."""
    rng = np.random.default_rng(1)
    studies = [shares_of_study(rng) for _ in range(N_STUDIES)]
    of_shares = np.std([study.shares[0] - study.shares[1] for study in studies])
    means = np.array([study.mean_shares() for study in studies])
    of_means = np.std(means[:, 0] - means[:, 1])
    variances = [np.var(np.subtract(*study.deviations()[:2])) for study in studies]
    said = np.sqrt(np.mean(variances))
    assert of_means < 0.75 * of_shares
    # 300 samples say a standard deviation to 4 %; the estimate errs upwards by a standard error.
    assert 0.95 < said / of_means < 1.25


def test_shares_that_are_linear_in_the_draws_keep_all_their_variation() -> None:
    rng = np.random.default_rng(3)
    weights = rng.multinomial(10, np.full(10, 0.1), size=400)
    effects = rng.normal(size=(2, 10))
    replicates = 0.5 + 0.01 * effects @ weights.T
    made = contested_shares(np.array([0.6, 0.5]), replicates, Draws.of(weights))
    deviations = replicates - replicates.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(made.deviations(), deviations, rtol=0.02)
    estimates = made.estimates("Respect", "good")
    np.testing.assert_allclose(estimates.values, replicates.mean(axis=1))
    half_widths = 1.959964 * made.deviations().std(axis=1, ddof=1)
    np.testing.assert_allclose(estimates.high - estimates.values, half_widths, rtol=1e-6)


def test_without_replicates_shares_are_as_they_are_and_have_no_limits() -> None:
    nothing = Draws.of(np.empty((0, 5)))
    made = contested_shares(np.array([0.6, 0.5]), np.empty((2, 0)), nothing)
    estimates = made.estimates("Respect", "good")
    assert estimates.values.tolist() == [0.6, 0.5]
    assert np.isnan(estimates.low).all()
    assert not estimates.has_replicates
