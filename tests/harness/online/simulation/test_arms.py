import numpy as np
import pytest
from harness.online.simulation.arms import recommended
from scipy.sparse import csr_array

from harness.online.simulation import (
    ItemCosines,
    NeighbourModel,
    SystemModel,
    interactions_of,
)
from recommenders.kernels.hidden_ranks import Hiding, rank_hidden
from recommenders.kernels.neighbour_loops import nearest_cosines
from recommenders.kernels.neighbourhoods import item_cosines
from recommenders.kernels.neighbours import nearest_by_cosine
from runs import top_items
from tests.harness.online.simulation.worlds import small_world

WORLD = small_world()
HISTORY = interactions_of(WORLD.history())
MODEL = NeighbourModel(ItemCosines(10)).fit(HISTORY)


def profiles(n_users: int) -> csr_array:
    rows = HISTORY.user < n_users
    shape = (n_users, len(HISTORY.items))
    counts = csr_array((np.ones(rows.sum()), (HISTORY.user[rows], HISTORY.item[rows])), shape=shape)
    counts.sum_duplicates()
    counts.data[:] = 1
    return counts


def test_lists_are_those_of_the_dense_sum_of_similarities() -> None:
    known = profiles(200)
    scores = (known @ MODEL.similarity).toarray()
    scores[(known.toarray() > 0) | (scores <= 0)] = -np.inf
    expected = top_items(scores, depth=5)
    filled = expected >= 0
    assert np.array_equal(MODEL.recommend(known, depth=5)[filled], expected[filled])


def test_popular_unknown_items_follow_where_votes_end() -> None:
    lonely = csr_array((1, len(HISTORY.items)))
    by_popularity = np.argsort(-HISTORY.event_counts(), kind="stable")
    assert MODEL.recommend(lonely, depth=8)[0].tolist() == by_popularity[:8].tolist()


def test_a_list_ends_when_everything_is_known() -> None:
    everything = csr_array(np.ones((1, len(HISTORY.items))))
    assert MODEL.recommend(everything, depth=2).tolist() == [[-1, -1]]


def test_lists_agree_with_hidden_ranks() -> None:
    user = 17
    test = HISTORY.select(HISTORY.user == user)
    ranks = rank_hidden(MODEL.similarity, test, n_jobs=1)
    last = int(ranks.hidden.item[-1])
    known = profiles(user + 1)[[user]].tolil()
    known[0, last] = 0
    listed = MODEL.recommend(csr_array(known), depth=50)[0].tolist()
    rank = int(ranks.rank_loo[-1])
    assert (listed.index(last) + 1 if last in listed else 65535) == rank or rank > 50


@pytest.mark.parametrize("shrinkage", [0.0, 7.0])
def test_cosines_are_those_of_the_recommenders(shrinkage: float) -> None:
    had = csr_array(profiles(len(HISTORY.users)).T)
    expected = nearest_by_cosine(had, count=10, shrinkage=shrinkage)
    found = ItemCosines(10, shrinkage)(HISTORY)
    for row in range(len(HISTORY.items)):
        assert np.allclose(np.sort(found[[row]].data), np.sort(expected[[row]].data), rtol=1e-6)


def test_of_equal_neighbours_the_first_are_kept() -> None:
    starts, columns = np.array([0, 4, 4, 4, 4]), np.array([3, 0, 2, 1])
    common, lengths = np.array([1.0, 4.0, 1.0, 1.0]), np.ones(4)
    _, kept, ends = nearest_cosines(starts, columns, common, lengths, 0, 0.0, 2)
    assert (kept.tolist(), ends.tolist()) == ([1, 2], [0, 2, 2, 2, 2])


def test_blocks_of_items_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ItemCosines(10)(HISTORY)
    monkeypatch.setattr(item_cosines, "PAIRS_AT_ONCE", 3 * len(HISTORY.items))
    in_blocks = ItemCosines(10)(HISTORY)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(in_blocks, name), getattr(whole, name))


def test_rare_items_have_no_neighbours() -> None:
    similarity = ItemCosines(10, least_users=20)(HISTORY)
    rare = HISTORY.user_counts() < 20
    assert similarity[rare].nnz == 0
    assert similarity[:, rare].nnz == 0


def test_shrinkage_lowers_similarities() -> None:
    plain, shrunk = (ItemCosines(300, beta)(HISTORY) for beta in (0.0, 10.0))
    assert shrunk.sum() < plain.sum()


@pytest.mark.slow
@pytest.mark.parametrize("system", ["ease", "popularity", "puresvd"])
def test_a_system_of_the_harness_is_a_model(system: str) -> None:
    """Its lists are the tops of its scores; an item of rank 1 leads the list that lacks it."""
    learned = SystemModel(system, {}, seed=1).fit(HISTORY)
    known = profiles(200)
    lists = recommended(learned, known, depth=5, arm="A")
    scores = learned.scorer.score_histories(known).astype(np.float64)
    scores[known.toarray() > 0] = -np.inf
    scores[np.isnan(scores)] = -np.inf
    rows = np.isfinite(scores).sum(axis=1) >= 5
    np.testing.assert_array_equal(lists[rows], top_items(scores[rows], depth=5))
    ranks = learned.hidden_ranks(HISTORY.select(HISTORY.user < 20), Hiding(), n_jobs=1)
    assert ((ranks.rank_loo >= 1) & (ranks.rank_lloo >= 1)).all()
