import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analyses.online.clicks.poisson_bootstrap import poisson_weights, replicate_sums
from analyses.online.clicks.tallies import tally
from tests.analyses.online.experiments import simulated


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


def test_sums_of_chunks_add_up_exactly() -> None:
    rng = np.random.default_rng(5)
    user, accepted = rng.integers(0, 90, 500), rng.integers(0, 2, 500)
    arm = user % 2
    parts = [
        tally(accepted[chosen], user=user[chosen], arm=arm[chosen], arms=["A", "B"])
        for chosen in (user >= 0, user < 30, user >= 30)
    ]
    whole, first, second = (replicate_sums(part, replicates=8, seed=2) for part in parts)
    np.testing.assert_array_equal(first + second, whole)


def test_sums_weigh_users() -> None:
    tallies = simulated(np.random.default_rng(4), rates=np.array([0.1, 0.2]), n_users=40)
    found = replicate_sums(tallies, replicates=3, seed=7)
    weights = poisson_weights(tallies.user, replicate=2, seed=7)
    of_second_arm = tallies.arm == 1
    expected = (weights * tallies.n_slates)[of_second_arm].sum()
    assert found[1, 1, 0, 2] == expected
