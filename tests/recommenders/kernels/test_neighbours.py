"""Neighbours and similarities, against brute force."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from qrels import Ratings
from recommenders.kernels import neighbours
from recommenders.kernels.neighbours import (
    Baselines,
    BaselineSettings,
    ItemCosines,
    NeighbourSumScorer,
    cosines,
    dense_product,
    nearest,
    nearest_by_cosine,
    nearest_of,
    pairs_at_most,
)
from recommenders.shared import scorers
from runs import InputError
from tests.described import described
from tests.hidden_example import events_of


def cosines_by_loops(table: np.ndarray, shrinkage: float) -> np.ndarray:
    cosines = np.zeros((len(table), len(table)))
    for u, first in enumerate(table):
        for v, second in enumerate(table):
            if u != v and first @ second > 0:
                common = np.count_nonzero((first != 0) & (second != 0))
                lengths = np.linalg.norm(first) * np.linalg.norm(second)
                cosines[u, v] = first @ second / lengths * common / (common + shrinkage)
    return cosines


@pytest.mark.parametrize("shrinkage", [0.0, 5.0])
def test_the_neighbours_have_the_highest_cosines(ratings: Ratings, shrinkage: float) -> None:
    graph = nearest_by_cosine(ratings.matrix(), count=10, shrinkage=shrinkage).toarray()
    expected = cosines_by_loops(ratings.matrix().toarray(), shrinkage)
    tenth = np.sort(expected, axis=1)[:, [-10]]
    kept = np.where(expected >= tenth, expected, 0)
    np.testing.assert_allclose(graph, kept, atol=1e-12)


def test_equals_go_by_number() -> None:
    graph = nearest(lambda rows: np.ones((rows.stop - rows.start, 5)), n_rows=5, count=2)
    assert graph.indices.reshape(5, 2).tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]


@given(seed=st.integers(0, 1000), density=st.floats(0, 1))
def test_the_product_is_scipys_to_the_last_bit(seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    left = csr_array(rng.random((6, 9)) * (rng.random((6, 9)) < density))
    right = csr_array(rng.random((9, 7)) * (rng.random((9, 7)) < density))
    np.testing.assert_array_equal(dense_product(left, right), (left @ right).toarray())


def test_there_are_at_most_as_many_pairs_as_foreseen(ratings: Ratings) -> None:
    few = ratings.select(ratings.user < 3)
    assert cosines(few).nnz <= pairs_at_most(few) < len(few.items) ** 2


def test_the_nearest_are_the_same_for_every_size_of_block(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_at_once = nearest_of(cosines(ratings), neighbours=5)
    monkeypatch.setattr(scorers, "BLOCK_ROWS", 7)
    in_blocks = nearest_of(cosines(ratings), neighbours=5)
    np.testing.assert_array_equal(in_blocks.toarray(), all_at_once.toarray())


def test_dampings_have_the_defaults_of_the_predecessors_of_the_paper() -> None:
    assert described(BaselineSettings) == {
        "item_damping": "25.0; >= 0; searched in 1.0 to 100.0, log",
        "user_damping": "10.0; >= 0; searched in 1.0 to 100.0, log",
        "denominator": "False",
        "among": "all",
        "max_gigabytes": "4.0; > 0",
    }


def test_baselines_by_hand(three_users: Ratings) -> None:
    """The mean is 3; two ratings of item a lie 2 above, of b 2 below; dampings are 2 and 6.

    Beyond the items' baselines of 3.5, 2.5 and 3, u2 has 0.5 and 1, u3 -0.5 and -1.
    """
    settings = BaselineSettings(item_damping=2.0, user_damping=6.0)
    baselines = Baselines.fit(three_users.matrix(), settings)
    matrix = three_users.matrix()
    np.testing.assert_allclose(baselines.item_baselines, [3.5, 2.5, 3])
    np.testing.assert_allclose(baselines.user_offsets(matrix), [0, 1.5 / 8, -1.5 / 8])
    residuals = baselines.residuals(matrix).toarray()[1]
    np.testing.assert_allclose(residuals, [0.5 - 1.5 / 8, 0, 1 - 1.5 / 8])


def test_who_has_no_ratings_is_on_the_baselines_without_damping() -> None:
    matrix = csr_array(np.array([[4.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))
    baselines = Baselines.fit(matrix, BaselineSettings(item_damping=0.0, user_damping=0.0))
    assert baselines.item_baselines.tolist() == [4, 2, 3]
    assert baselines.user_offsets(matrix).tolist() == [0, 0]


def test_cosines_count_users_in_common(three_users: Ratings) -> None:
    """Each two of the three items, rated by two users each, have one user in common."""
    expected = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    assert cosines(three_users).toarray().tolist() == expected.tolist()


def test_no_more_pairs_than_there_are_items_squared(three_users: Ratings) -> None:
    """Three users rated 2 items each: 12 pairs, of which there are 9."""
    assert pairs_at_most(three_users) == 9
    assert pairs_at_most(three_users.select(three_users.user < 2)) == 8


def item_cosines_by_loops(rated: np.ndarray, learner: ItemCosines) -> np.ndarray:
    """Compare every two items, and keep the nearest of each."""
    counts = rated.sum(axis=0)
    table = np.zeros((rated.shape[1], rated.shape[1]))
    for i in range(len(table)):
        found = []
        for j in range(len(table)):
            both = int((rated[:, i] & rated[:, j]).sum())
            if i != j and both:
                cosine = both / (np.sqrt(counts[i]) * np.sqrt(counts[j]))
                found.append((-cosine * (both / (both + learner.shrinkage)), j))
        for value, j in sorted(found)[: learner.neighbours]:
            table[i, j] = -value
    return table


@pytest.mark.parametrize("most", [1, 60, 10_000_000])
@pytest.mark.parametrize(
    "learner", [ItemCosines(), ItemCosines(neighbours=2), ItemCosines(neighbours=3, shrinkage=2.5)]
)
def test_cosines_of_events_are_those_of_loops(
    learner: ItemCosines, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody had the last item; events that are repeated count once."""
    monkeypatch.setattr(neighbours, "PAIRS_AT_ONCE", most)
    rng = np.random.default_rng(1)
    rated = rng.random((30, 12)) < rng.uniform(0.05, 0.6, 12)
    rated[:, -1] = False
    profiles = [[*np.flatnonzero(row), *np.flatnonzero(row)[:1]] for row in rated]
    found = learner(events_of(profiles, n_items=12)).toarray()
    np.testing.assert_allclose(found, item_cosines_by_loops(rated, learner), rtol=1e-12)


def test_item_cosines_keep_50_neighbours_and_trust_all_alike() -> None:
    assert str(ItemCosines()) == "item-cosines(neighbours=50,shrinkage=0)"


@pytest.mark.parametrize(
    ("bounds", "blocks"),
    [
        ([], []),
        ([3], [(0, 1)]),
        ([11], [(0, 1)]),
        ([4, 6, 1], [(0, 2), (2, 3)]),
        ([11, 1, 9, 1], [(0, 1), (1, 3), (3, 4)]),
        ([1, 11, 1], [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_rows_are_cut_where_their_bounds_exceed_what_there_is_room_for(
    bounds: list[int], blocks: list[tuple[int, int]]
) -> None:
    assert list(neighbours._blocks(np.array(bounds, dtype=np.int64), max_sum=10)) == blocks


def halved(sums: Any, near: Any, histories: Any) -> np.ndarray:
    """Halve the sums."""
    return np.asarray(sums.toarray() / 2)


def test_sums_over_neighbours_by_hand(three_users: Ratings) -> None:
    """User 0 has the neighbours 1, with weight 2, and 2, with weight 1; nobody else has any."""
    near = csr_array(([2.0, 1.0], ([0, 0], [1, 2])), shape=(3, 3))
    values, first = three_users.matrix(), np.array([0], dtype=np.int32)
    sums = NeighbourSumScorer(three_users, near, values).score_batch(first)
    np.testing.assert_array_equal(sums, [[8, 2, 10]])
    means = NeighbourSumScorer(three_users, near, values, averaged=True).score_batch(first)
    np.testing.assert_allclose(means, [[4, 2, 10 / 3]], rtol=1e-6)
    other = NeighbourSumScorer(three_users, near, values, halved).score_batch(first)
    np.testing.assert_array_equal(other, [[4, 1, 5]])
    nobody = NeighbourSumScorer(three_users, near, values).score_batch(first + 1)
    assert np.isnan(nobody).all()


def test_who_has_no_history_has_no_scores(three_users: Ratings) -> None:
    fewer = three_users.select(three_users.user > 0)
    near = csr_array(([2.0], ([0], [1])), shape=(3, 3))
    scores = NeighbourSumScorer(fewer, near, fewer.matrix(), halved).score_batch(
        np.array([0, 1], dtype=np.int32)
    )
    assert np.isnan(scores).tolist() == [[True] * 3, [False] * 3]


def test_neighbours_are_users_and_their_values_are_of_items(three_users: Ratings) -> None:
    matrix = three_users.matrix()
    graph = nearest_by_cosine(matrix, count=1)
    with pytest.raises(InputError, match=r"weights of neighbours .* \(3, 3\), got \(2, 3\)"):
        NeighbourSumScorer(three_users, graph[:2], matrix)
    with pytest.raises(InputError, match=r"values of neighbours .* \(3, 3\), got \(2, 3\)"):
        NeighbourSumScorer(three_users, graph, matrix[:2])
