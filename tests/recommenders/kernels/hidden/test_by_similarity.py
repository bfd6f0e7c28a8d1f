"""Hidden ranks by downdate and by sums that grow, against profiles summed anew."""

from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from recommenders.kernels.hidden import Hiding, rank_hidden
from scipy.sparse import csr_array

from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import MISS, HiddenRanks
from runs import InputError
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
from tests.recommenders.kernels.hidden.plain_ranks import rank_hidden_plainly


def _assert_same(one: HiddenRanks, other: HiddenRanks) -> None:
    np.testing.assert_array_equal(one.rank_loo, other.rank_loo)
    np.testing.assert_array_equal(one.rank_lloo, other.rank_lloo)
    np.testing.assert_array_equal(one.best, other.best)


@st.composite
def _hidings(draw: st.DrawFn) -> Hiding:
    exclude_seen = draw(st.booleans())
    return Hiding(
        repeats="first" if exclude_seen else draw(st.sampled_from(["first", "all"])),
        exclude_seen=exclude_seen,
        reachable=draw(st.sampled_from(["positive", "all"])),
        deepest=draw(st.integers(1, 10)),
        lists=draw(st.sampled_from([None, "profile", "loo", "lloo"])),
    )


def test_ranks_found_by_hand() -> None:
    ranks = rank_hidden(similarity(), golden_events(), n_jobs=1)
    assert (ranks.rank_loo.tolist(), ranks.rank_lloo.tolist()) == (RANK_LOO, RANK_LLOO)


def test_events_of_one_time_do_not_help_each_other() -> None:
    together = events_of(PROFILES, n_items=6, times=[(0, 1, 1), (0, 1), (0, 1, 2, 3)])
    ranks = rank_hidden(similarity(), together, n_jobs=1)
    assert ranks.rank_lloo[:3].tolist() == [MISS, 1, 2]


@given(table=similarities(lowest=-3), hiding=_hidings(), data=st.data())
def test_ranks_and_coverage_are_those_of_profiles_summed_anew(
    table: NDArray[np.float64], hiding: Hiding, data: st.DataObject
) -> None:
    events = data.draw(histories(n_items=len(table)))
    plain = rank_hidden_plainly(table, events, hiding)
    _assert_same(rank_hidden(csr_array(table), events, hiding, n_jobs=1), plain)


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


@pytest.mark.slow
def test_generic_similarities_give_the_ranks_of_profiles_summed_anew() -> None:
    table, events = _many()
    for lists in ("profile", "loo", "lloo"):
        hiding = Hiding(deepest=20, lists=lists)
        ranks = rank_hidden(table, events, hiding, n_jobs=1)
        _assert_same(ranks, rank_hidden_plainly(table, events, hiding))


@pytest.mark.parametrize("chunk_rows", [1, 50, 333])
def test_chunks_change_nothing(chunk_rows: int) -> None:
    table, events = _many()
    hiding = Hiding(lists="loo")
    whole = rank_hidden(table, events, hiding, n_jobs=1)
    _assert_same(rank_hidden(table, events, hiding, n_jobs=2, chunk_rows=chunk_rows), whole)


def test_processes_find_the_same_ranks() -> None:
    table, events = _many()
    whole = rank_hidden(table, events, n_jobs=1)
    with joblib.parallel_config("loky"):
        _assert_same(rank_hidden(table, events, n_jobs=2, chunk_rows=400), whole)


def test_other_users_change_nothing() -> None:
    table, events = _many()
    every_second = events.user % 2 == 0
    some = rank_hidden(table, events.select(every_second), n_jobs=1)
    whole = rank_hidden(table, events, n_jobs=1)
    of_some = whole.hidden.user % 2 == 0
    np.testing.assert_array_equal(some.rank_loo, whole.rank_loo[of_some])
    np.testing.assert_array_equal(some.rank_lloo, whole.rank_lloo[of_some])


def test_the_order_in_time_does_not_matter_when_one_is_left_out() -> None:
    table, events = _many()
    backwards = Interactions.of(
        events.users, events.items, user=events.user, item=events.item, time=-events.time
    )
    forth, back = (rank_hidden(table, one, n_jobs=1) for one in (events, backwards))
    by_pair = [np.lexsort((r.hidden.item, r.hidden.user)) for r in (forth, back)]
    np.testing.assert_array_equal(forth.rank_loo[by_pair[0]], back.rank_loo[by_pair[1]])


def test_renamed_items_keep_their_ranks_where_nothing_ties() -> None:
    table, events = _many()
    hiding = Hiding()
    new = np.random.default_rng(2).permutation(100)
    renamed_table = csr_array(table.toarray()[np.argsort(new)][:, np.argsort(new)])
    renamed = Interactions.of(
        events.users, events.items, user=events.user, item=new[events.item], time=events.time
    )
    one = rank_hidden(table, events, hiding, n_jobs=1)
    other = rank_hidden(renamed_table, renamed, hiding, n_jobs=1)
    by_pair = np.lexsort((new[one.hidden.item], one.hidden.user))
    other_by_pair = np.lexsort((other.hidden.item, other.hidden.user))
    np.testing.assert_array_equal(one.rank_loo[by_pair], other.rank_loo[other_by_pair])


@given(table=similarities(lowest=-3), data=st.data())
def test_everything_has_a_rank_where_everything_is_recommended(
    table: NDArray[np.float64], data: st.DataObject
) -> None:
    events = data.draw(histories(n_items=len(table)))
    ranks = rank_hidden(csr_array(table), events, Hiding(reachable="all"), n_jobs=1)
    has_others = (events.distinct_item_counts() > 1)[ranks.hidden.user]
    assert (ranks.rank_loo[has_others] <= len(table)).all()


def test_repeats_are_hidden_again_with_the_rank_of_the_first_when_one_is_left_out() -> None:
    events = events_of([(0, 1, 0)], n_items=6)
    hiding = Hiding(repeats="all", exclude_seen=False)
    ranks = rank_hidden(similarity(), events, hiding, n_jobs=1)
    assert ranks.rank_loo[0] == ranks.rank_loo[2]
    assert ranks.rank_lloo[2] != MISS


def test_an_item_had_twice_votes_once() -> None:
    table = np.zeros((5, 5))
    table[0, 3], table[1, 4] = 0.25, 0.375
    events = events_of([(0, 0, 1, 4)], n_items=5)
    hiding = Hiding(repeats="all", exclude_seen=False)
    assert rank_hidden(csr_array(table), events, hiding, n_jobs=1).rank_lloo[3] == 1


def test_users_without_events_have_no_rows() -> None:
    events = events_of([(), (0, 1), ()], n_items=6)
    assert rank_hidden(similarity(), events, n_jobs=1).hidden.user.tolist() == [1, 1]


def test_no_events_have_no_ranks() -> None:
    assert len(rank_hidden(similarity(), events_of([()], n_items=6), n_jobs=1)) == 0


def test_inputs_stay_as_they_are() -> None:
    table, events = similarity(), golden_events()
    for column in (table.data, table.indices, table.indptr, events.item, events.time):
        column.setflags(write=False)
    assert rank_hidden(table, events, n_jobs=1).rank_loo.tolist() == RANK_LOO


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
