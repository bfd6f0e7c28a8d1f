"""What Krichene's Y and Z share, by the letter of the paper."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

import recommenders
from qrels import Ratings
from recommenders.kernels.krichene import (
    NeighbourSettings,
    neighbour_scorer,
    similarities_memory_need,
)
from tests.described import described
from tests.recommenders.test_krichene import four_users


def by_the_letter(ratings: Ratings, *, q: float, k: int) -> NDArray[np.float64]:
    """Equations 27 to 29, one similarity at a time; without a limit items are near themselves."""
    rated = ratings.matrix().toarray() > 0
    counts, n_items = rated.sum(axis=0), rated.shape[1]
    s = np.zeros((n_items, n_items))
    for i, j in itertools.product(range(n_items), repeat=2):
        both = (rated[:, i] & rated[:, j]).sum()
        s[i, j] = (both / np.sqrt(counts[i] * counts[j])) ** q if both else 0
    kept = np.zeros(s.shape) if k else s
    for j in range(n_items if k else 0):
        others = (i for i in range(n_items) if s[j, i] > 0 and i != j)
        nearest = sorted(others, key=lambda i: (-np.float32(s[j, i]), i))[:k]
        kept[nearest, j] = s[nearest, j]
    norms = np.sqrt((kept**2).sum(axis=1))
    return rated @ (kept / np.where(norms > 0, norms, 1)[:, np.newaxis]).T


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "equations"),
    [
        ("krichene-y", {}, {"q": 3.0, "k": 0}),
        ("krichene-z", {}, {"q": 1.0, "k": 10}),
        ("krichene-z", {"q": 0.5, "k": 4}, {"q": 0.5, "k": 4}),
    ],
)
def test_scores_equal_a_literal_loop(
    name: str, settings: dict[str, Any], equations: dict[str, Any], ratings: Ratings
) -> None:
    few = ratings.select((ratings.item < 40) & (ratings.user < 30))
    scorer = recommenders.train(name, settings, few, seed=1)
    users = np.unique(few.user)
    expected = by_the_letter(few, **equations)[users]
    np.testing.assert_allclose(scorer.score_batch(users), expected, rtol=1e-5, atol=1e-7)


def test_sparse_and_dense_weights_score_alike(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = np.arange(len(ratings.users), dtype=np.int32)
    dense = recommenders.train("krichene-y", {}, ratings, seed=1).score_batch(users)
    monkeypatch.setattr("recommenders.kernels.krichene.DENSE_FROM", 2.0)
    sparse = recommenders.train("krichene-y", {}, ratings, seed=1).score_batch(users)
    np.testing.assert_allclose(dense, sparse, rtol=1e-5)


def test_powers_and_numbers_of_neighbours_are_bounded() -> None:
    assert described(NeighbourSettings) == {
        "q": "1.0; > 0; <= 20",
        "k": "0; >= 0",
        "max_gigabytes": "4.0; > 0",
    }
    with pytest.raises(ValidationError, match="less than or equal to 20"):
        NeighbourSettings(q=20.5)


def test_a_pair_of_items_takes_28_bytes() -> None:
    """Users rated 2, 3, 3 and 1 items: 4 + 9 + 9 + 1 pairs at most, and there are 25."""
    need = similarities_memory_need(four_users(), NeighbourSettings())
    assert (need.n_bytes, need.purpose) == (28 * 23, "similarities of up to 23 pairs of items")


def test_weights_are_dense_above_a_tenth_of_all_pairs() -> None:
    """Of 10 items, each rated by a user of its own, 10 pairs of 100 are similar: a tenth."""
    everything = np.arange(10, dtype=np.int32)
    names = recommenders.train("random", {}, four_users(), seed=1).items.of(map(str, everything))
    apart = Ratings(names, names, everything, everything, np.ones(10))
    assert not isinstance(neighbour_scorer(apart, NeighbourSettings()).weights, np.ndarray)
    together = Ratings(
        names,
        names,
        np.array([0, *everything], dtype=np.int32)[[0, 1, *range(2, 11)]],
        np.array([0, 1, *everything[1:]], dtype=np.int32),
        np.ones(11),
    )
    assert isinstance(neighbour_scorer(together, NeighbourSettings()).weights, np.ndarray)
