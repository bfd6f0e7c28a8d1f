"""Similarities in fixed point."""

import numpy as np
import pytest
from recommenders.kernels.hidden.fixed_point import FixedPoint
from scipy.sparse import csr_array

from runs import InputError


def test_votes_for_oneself_are_left_out() -> None:
    votes = FixedPoint.of(csr_array(np.eye(3)), signed=True)
    assert votes.starts.tolist() == [0, 0, 0, 0]


def test_negative_votes_are_kept_where_they_count() -> None:
    table = csr_array(np.array([[0.0, -0.5], [0.5, 0.0]]))
    assert FixedPoint.of(table, signed=True).weights.tolist() == [-(2**23), 2**23]


def test_rows_keep_their_entries() -> None:
    table = np.array([[0.0, 0.25, 0.5], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    votes = FixedPoint.of(csr_array(table), signed=False)
    assert votes.starts.tolist() == [0, 2, 2, 3]
    assert votes.neighbours.tolist() == [1, 2, 0]


@pytest.mark.parametrize(("n_items", "bits"), [(1, 1), (2, 1), (4, 2), (5, 3), (1024, 10)])
def test_every_item_has_a_number_of_its_own_in_the_key(n_items: int, bits: int) -> None:
    votes = FixedPoint.of(csr_array((n_items, n_items)), signed=False)
    assert (votes.bits, 2**votes.bits >= n_items) == (bits, True)


def test_profiles_too_long_for_a_key_are_refused() -> None:
    votes = FixedPoint.of(csr_array(np.array([[0.0, 100.0], [0.0, 0.0]])), signed=False)
    with pytest.raises(InputError, match="does not fit a key of 63 bits"):
        votes.require_room(2**31)
