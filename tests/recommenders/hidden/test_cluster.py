"""Hidden ranks by the workers of a Dask cluster, each a process of its own."""

from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pytest
from recommenders.kernels.hidden import Hiding, rank_hidden
from recommenders.kernels.hidden.hiding import Lists
from scipy.sparse import csr_array

from qrels.interactions.interactions import Interactions
from tests.hidden_example import numbered

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed", reason="distributed is not installed")

# With so many items no array is so small that Dask sends it along with every task.
N_ITEMS, N_USERS, N_EVENTS = 200, 60, 900
CHUNK_ROWS = 50


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _similarity() -> csr_array[Any]:
    rng = np.random.default_rng(1)
    shape = (N_ITEMS, N_ITEMS)
    return csr_array(np.where(rng.random(shape) < 0.2, rng.random(shape), 0.0))


def _events() -> Interactions:
    rng = np.random.default_rng(2)
    columns = {"user": N_USERS, "item": N_ITEMS, "time": 40}
    drawn = {name: rng.integers(0, size, N_EVENTS) for name, size in columns.items()}
    return Interactions.of(numbered(N_USERS), numbered(N_ITEMS), **drawn)


@pytest.mark.parametrize("lists", [None, "lloo"])
def test_ranks_are_the_same_byte_for_byte(client: Any, lists: Lists | None) -> None:
    hiding = Hiding(lists=lists)
    here = rank_hidden(_similarity(), _events(), hiding, n_jobs=1)
    with joblib.parallel_config("dask"):
        there = rank_hidden(_similarity(), _events(), hiding, n_jobs=-1, chunk_rows=CHUNK_ROWS)
    assert there.rank_loo.tobytes() == here.rank_loo.tobytes()
    assert there.rank_lloo.tobytes() == here.rank_lloo.tobytes()
    np.testing.assert_array_equal(there.best, here.best)


def test_the_arrays_of_a_model_are_sent_once_for_all_chunks(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rows begin, neighbours, and weights: eight, four and four bytes each."""
    sent: list[int] = []
    scatter = client.scatter

    def noting(data: Any, **options: Any) -> Any:
        sent.append(data.nbytes)
        return scatter(data, **options)

    monkeypatch.setattr(client, "scatter", noting)
    similarity = _similarity()
    with joblib.parallel_config("dask"):
        rank_hidden(similarity, _events(), n_jobs=-1, chunk_rows=CHUNK_ROWS)
    n_votes = similarity.nnz - np.count_nonzero(similarity.diagonal())
    expected = [8 * (N_ITEMS + 1), 4 * n_votes, 4 * n_votes]
    assert sorted(sent) == expected
