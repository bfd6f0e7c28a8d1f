import numpy as np
import pytest

from analyses.pools import Pools, Settings, _falls, _pools, pools
from tests.analyses.test_popularity import work_of


def test_a_pool_without_a_system_lacks_what_it_alone_brings() -> None:
    tops = np.array([[True, True], [True, False], [False, True], [False, False]])
    assert _pools(tops).T.astype(int).tolist() == [[1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0]]


def test_places_are_counted_by_hand() -> None:
    # Systems a, b, c; pools of all, without a, without b, without c.
    means = np.array([[0.9, 0.4, 0.9, 0.9], [0.5, 0.5, 0.2, 0.5], [0.3, 0.3, 0.3, 0.1]])
    # Without its items a falls behind b, b behind c; c was last.
    assert _falls(means).tolist() == [1.0, 1.0, 0.0]


def test_systems_that_tie_share_their_places() -> None:
    means = np.array([[0.9, 0.5, 0.9], [0.5, 0.5, 0.5]])
    assert _falls(means).tolist() == [0.5, 0.0]


@pytest.fixture
def found() -> Pools:
    return pools(work_of(), Settings(depths=(1, 5), replicates=20))


def test_who_brings_nothing_alone_does_not_fall(found: Pools) -> None:
    needless = found.n_own == 0
    assert (found.falls[..., 0][:, needless] == 0).all()
