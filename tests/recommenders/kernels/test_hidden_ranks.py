"""Ranks of hidden items by downdate and by growing sums, against profiles summed anew."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import MISS, HiddenRanks
from recommenders.kernels import hidden_ranks
from recommenders.kernels.hidden_ranks import FixedPoint, rank_hidden
from runs import InputError
from tests.conftest import examples
from tests.hidden_example import (
    PROFILES,
    RANK_LLOO,
    RANK_LOO,
    events_of,
    golden_events,
    histories,
    numbered,
    similarities,
    similarity,
)
from tests.recommenders.kernels.plain_ranks import rank_hidden_plainly


def _assert_same(one: HiddenRanks, other: HiddenRanks) -> None:
    np.testing.assert_array_equal(one.rank_loo, other.rank_loo)
    np.testing.assert_array_equal(one.rank_lloo, other.rank_lloo)


def test_ranks_found_by_hand() -> None:
    ranks = rank_hidden(similarity(), golden_events(), n_jobs=1)
    assert (ranks.rank_loo.tolist(), ranks.rank_lloo.tolist()) == (RANK_LOO, RANK_LLOO)


def test_events_of_one_time_do_not_help_each_other() -> None:
    together = events_of(PROFILES, n_items=6, times=[(0, 1, 1), (0, 1), (0, 1, 2, 3)])
    ranks = rank_hidden(similarity(), together, n_jobs=1)
    assert ranks.rank_lloo[:3].tolist() == [MISS, 1, 2]


@examples(30)
@given(table=similarities(lowest=-3), deepest=st.integers(1, 10), data=st.data())
def test_ranks_are_those_of_profiles_summed_anew(
    table: NDArray[np.float64], deepest: int, data: st.DataObject
) -> None:
    events = data.draw(histories(n_items=len(table)))
    plain = rank_hidden_plainly(table, events, deepest=deepest)
    _assert_same(rank_hidden(csr_array(table), events, deepest=deepest, n_jobs=1), plain)


def _many() -> tuple[csr_array[Any], Interactions]:
    """A hundred items without ties, and sixty users."""
    rng = np.random.default_rng(1)
    table = np.where(rng.random((100, 100)) < 0.2, rng.random((100, 100)), 0.0)
    events = Interactions.of(
        numbered(60),
        numbered(100),
        user=rng.integers(0, 60, 900),
        item=rng.integers(0, 100, 900),
        time=rng.integers(0, 40, 900),
    )
    return csr_array(table), events


@pytest.mark.parametrize("chunk_rows", [1, 50, 333])
def test_chunks_change_nothing(chunk_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table, events = _many()
    whole = rank_hidden(table, events, n_jobs=1)
    monkeypatch.setattr(hidden_ranks, "CHUNK_ROWS", chunk_rows)
    _assert_same(rank_hidden(table, events, n_jobs=2), whole)


def test_no_events_have_no_ranks() -> None:
    assert len(rank_hidden(similarity(), events_of([()], n_items=6), n_jobs=1)) == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ones((6, 5)), "must be a square matrix, got one of 6 by 5"),
        (np.ones((5, 5)), "must be of the 6 items of the test users, got 5"),
        (np.full((6, 6), 200.0), "below 127 in size, got 200; divide all of them"),
        (np.full((6, 6), np.nan), "must be finite and below 127 in size, got nan"),
    ],
)
def test_similarities_that_do_not_fit_are_refused(table: NDArray[np.float64], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rank_hidden(csr_array(table), golden_events(), n_jobs=1)


def test_profiles_too_long_for_a_key_are_refused() -> None:
    votes = FixedPoint.of(csr_array(np.array([[0.0, 100.0], [0.0, 0.0]])))
    with pytest.raises(InputError, match="does not fit a key of 63 bits"):
        votes.require_room(2**31)


@pytest.mark.slow
def test_workers_of_a_dask_cluster_find_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    table, events = _many()
    here = rank_hidden(table, events, n_jobs=1)
    monkeypatch.setattr(hidden_ranks, "CHUNK_ROWS", 50)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        _assert_same(rank_hidden(table, events, n_jobs=-1), here)


def test_similarities_are_rounded_to_24_bits_and_only_votes_for_others_are_kept() -> None:
    table = np.array([[9.0, 0.5, -1.0], [2.0**-25, 1.0, 2.0**-24], [0.0, 126.5, 0.0]])
    votes = FixedPoint.of(csr_array(table))
    assert votes.starts.tolist() == [0, 1, 2, 3]
    assert votes.neighbours.tolist() == [1, 2, 1]
    assert votes.weights.tolist() == [2**23, 1, 253 * 2**23]


@pytest.mark.parametrize(("n_items", "bits"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (9, 4)])
def test_a_key_has_bits_for_every_item(n_items: int, bits: int) -> None:
    assert FixedPoint.of(csr_array((n_items, n_items))).bits == bits


@pytest.mark.parametrize(("n_items", "longest"), [(2, 2**36 - 1), (5, 2**34 - 1)])
def test_sum_and_item_have_61_bits_together(n_items: int, longest: int) -> None:
    """A similarity of 1 takes 25 bits; so many of them less one take 60, or 58."""
    table = np.zeros((n_items, n_items))
    table[0, 1] = 1.0
    votes = FixedPoint.of(csr_array(table))
    votes.require_room(longest)
    with pytest.raises(InputError, match=f"the sum of {longest + 1:,} similarities"):
        votes.require_room(longest + 1)


def test_a_similarity_of_127_is_too_large() -> None:
    FixedPoint.of(csr_array(np.array([[0.0, 126.999], [0.0, 0.0]])))
    with pytest.raises(InputError, match="below 127 in size, got 127"):
        FixedPoint.of(csr_array(np.array([[0.0, -127.0], [0.0, 0.0]])))


def test_ranks_in_time_are_kept_down_to_50() -> None:
    """Items 0 and 1 vote for all others, the higher the number the more; 51 is ranked in time."""
    n_items = 60
    table = np.zeros((n_items, n_items))
    table[0, 1:] = np.arange(1, n_items) / 64
    ranks = [
        rank_hidden(csr_array(table), events_of([(0, item)], n_items=n_items), n_jobs=1)
        for item in (59, 10, 9)
    ]
    assert [each.rank_loo[1] for each in ranks] == [1, 50, 51]
    assert [each.rank_lloo[1] for each in ranks] == [1, 50, MISS]
    assert ranks[0].deepest == 50


def test_the_longest_profile_must_have_room() -> None:
    huge = csr_array(np.array([[0.0, 100.0], [0.0, 0.0]]))
    with pytest.MonkeyPatch.context() as patch:
        lengths: list[int] = []
        patch.setattr(FixedPoint, "require_room", lambda _, longest: lengths.append(longest))
        rank_hidden(huge, events_of([(0,), (0, 1)], n_items=2), n_jobs=1)
    assert lengths == [2]
