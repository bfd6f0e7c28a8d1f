"""Hidden items and their ranks."""

import numpy as np
import pytest
from hypothesis import given

from qrels.ranks.hidden_ranks import (
    HiddenRanks,
    hidden_from_parquet,
    hidden_to_parquet,
    ranks_from_parquet,
    ranks_to_parquet,
)
from runs import InputError
from tests.hidden_example import events_of, golden_ranks, ranked_histories


@given(ranked_histories())
def test_tables_come_back_from_parquet(ranks: HiddenRanks) -> None:
    hidden = ranks.hidden
    rows = hidden_from_parquet(hidden_to_parquet(hidden), users=hidden.users, items=hidden.items)
    back = ranks_from_parquet(ranks_to_parquet(ranks), rows)
    for column in ("user", "item", "time"):
        np.testing.assert_array_equal(getattr(back.hidden, column), getattr(hidden, column))
    np.testing.assert_array_equal(back.rank_loo, ranks.rank_loo)
    np.testing.assert_array_equal(back.rank_lloo, ranks.rank_lloo)
    assert back.deepest == ranks.deepest


def test_ranks_of_other_rows_are_refused() -> None:
    with pytest.raises(InputError, match="as many as hidden items, 2, got 9 and 9"):
        ranks_from_parquet(ranks_to_parquet(golden_ranks()), events_of([(0, 1)], n_items=6))


def test_ranks_begin_at_1() -> None:
    hidden = golden_ranks().hidden
    with pytest.raises(InputError, match="begin at 1"):
        HiddenRanks(hidden, np.zeros(9, np.uint16), np.ones(9, np.uint16), 50)
