"""Hidden ranks beside judgements."""

import numpy as np
import pytest

from qrels.ranks.judged_ranks import VALIDATIONS, JudgedRanks
from runs import InputError

RANKS = JudgedRanks(lloo=np.array([3, 4], dtype=np.uint16))


def test_items_are_hidden_alone_or_with_all_that_came_later() -> None:
    assert VALIDATIONS == ("loo", "lloo")


def test_ranks_that_are_not_known_are_refused() -> None:
    assert RANKS.require("lloo").tolist() == [3, 4]
    with pytest.raises(InputError, match="no item was ranked under LOO"):
        RANKS.require("loo")


def test_judgements_without_a_number_are_misses() -> None:
    found = RANKS.select(np.array([[1, -1], [0, 0]]))
    assert found.loo is None
    assert found.require("lloo").tolist() == [[4, 65535], [3, 3]]
