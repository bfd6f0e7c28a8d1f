import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analyses.online.clicks.poisson_bootstrap import poisson_weights


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
