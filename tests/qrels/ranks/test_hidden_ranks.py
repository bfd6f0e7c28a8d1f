"""Hidden items and their ranks."""

import numpy as np
import pytest
from hypothesis import given

from qrels.ranks.hidden_ranks import (
    MISS,
    HiddenItems,
    HiddenRanks,
    hidden_from_parquet,
    hidden_to_parquet,
    ranks_from_parquet,
    ranks_to_parquet,
)
from runs import InputError
from tests.hidden_example import events_of, golden_ranks, numbered, ranked_histories


def _of_users(ranks: HiddenRanks, first: int, last: int) -> HiddenRanks:
    """Keep the rows of some users."""
    kept = (ranks.hidden.user >= first) & (ranks.hidden.user < last)
    hidden = ranks.hidden
    return HiddenRanks(
        HiddenItems(
            hidden.users,
            hidden.items,
            hidden.user[kept],
            hidden.item[kept],
            hidden.time[kept],
            hidden.is_first[kept],
        ),
        ranks.rank_loo[kept],
        ranks.rank_lloo[kept],
        ranks.deepest,
    )


@given(ranked_histories())
def test_tables_come_back_from_parquet(ranks: HiddenRanks) -> None:
    hidden = ranks.hidden
    rows = hidden_from_parquet(hidden_to_parquet(hidden), users=hidden.users, items=hidden.items)
    back = ranks_from_parquet(ranks_to_parquet(ranks), rows)
    for column in ("user", "item", "time", "is_first"):
        np.testing.assert_array_equal(getattr(back.hidden, column), getattr(hidden, column))
    np.testing.assert_array_equal(back.rank_loo, ranks.rank_loo)
    np.testing.assert_array_equal(back.rank_lloo, ranks.rank_lloo)
    assert back.deepest == ranks.deepest


def test_best_ranks_come_back_from_parquet() -> None:
    golden = golden_ranks()
    best = np.array([1, 2, MISS, 4, 5, 300], dtype=np.uint16)
    ranks = HiddenRanks(golden.hidden, golden.rank_loo, golden.rank_lloo, 50, best)
    back = ranks_from_parquet(ranks_to_parquet(ranks), golden.hidden)
    np.testing.assert_array_equal(back.best, best)


def test_ranks_of_other_rows_are_refused() -> None:
    with pytest.raises(InputError, match="as many as hidden items, 2, got 9 and 9"):
        ranks_from_parquet(
            ranks_to_parquet(golden_ranks()), HiddenItems.of(events_of([(0, 1)], n_items=6))
        )


def test_ids_that_are_unknown_are_refused() -> None:
    hidden = golden_ranks().hidden
    with pytest.raises(InputError, match="name item '00003', which is unknown"):
        hidden_from_parquet(hidden_to_parquet(hidden), users=hidden.users, items=numbered(3))


def test_ranks_begin_at_1() -> None:
    hidden = golden_ranks().hidden
    with pytest.raises(InputError, match="begin at 1"):
        HiddenRanks(hidden, np.zeros(9, np.uint16), np.ones(9, np.uint16), 50)


def test_coverage_counts_items_in_any_list() -> None:
    golden = golden_ranks()
    best = np.array([1, 2, MISS, 4, 5, MISS], dtype=np.uint16)
    ranks = HiddenRanks(golden.hidden, golden.rank_loo, golden.rank_lloo, 5, best)
    assert ranks.coverage(4) == 0.5


@pytest.mark.parametrize(("best", "message"), [(None, "`lists`"), (np.ones(6), "not 51")])
def test_coverage_that_was_not_looked_for_is_refused(best: np.ndarray | None, message: str) -> None:
    golden = golden_ranks()
    ranks = HiddenRanks(golden.hidden, golden.rank_loo, golden.rank_lloo, 50, best)
    with pytest.raises(InputError, match=message):
        ranks.coverage(51)
