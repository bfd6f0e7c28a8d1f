"""Sampled ranks."""

import numpy as np
import pytest

from analyses.sampled.samples.sampled_ranks import SampledRanks
from runs import InputError
from runs.shared.fields import whole


@pytest.mark.parametrize(
    ("rank", "m", "n", "finding"),
    [
        (1, 0, 9, "`n_negatives` must be at least 1, got 0"),
        (1, 9, 9, "`n_negatives` must not be above the irrelevant candidates, got 9"),
        (5, 3, 9, "ranks must be from 1 to the length of the list, got 5"),
    ],
)
def test_what_cannot_be_is_told_with_its_row(rank: int, m: int, n: int, finding: str) -> None:
    with pytest.raises(InputError) as caught:
        SampledRanks.of([1, rank], n_negatives=[1, m], n_candidates=n)
    assert str(caught.value) == f"{finding} in row 1 of the sampled ranks."


def test_half_ranks_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"must be a whole number, got 2\.5: ranks that share ties"
    ):
        SampledRanks.of([1, 2.5], n_negatives=3, n_candidates=9)


def test_ranks_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="must be a whole number, got nan"):
        whole([np.nan], what="rank")


def test_columns_have_one_length() -> None:
    with pytest.raises(InputError, match="there must be one number of negatives for all 2 rows"):
        SampledRanks.of([1, 2], n_negatives=[3, 3, 3], n_candidates=9)


def test_the_first_rank_is_1() -> None:
    with pytest.raises(InputError, match="ranks must be from 1 to the number of candidates, 9"):
        SampledRanks.of([0], n_negatives=3, n_candidates=9)
