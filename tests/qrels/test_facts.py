import numpy as np
import pytest

from qrels import Qrels, qrels_from_columns
from qrels.qrels import warn_of_one_kind
from runs import InputWarning


def grades_of_two(first: int, second: int) -> Qrels:
    """Judge one item for each of two users."""
    return qrels_from_columns(
        np.array([0, 1]), np.array([0, 1]), np.array([first, second]), n_users=2, relevance_level=1
    )


@pytest.mark.parametrize(
    ("grades", "told"),
    [
        ((0, 0), "no judgement is relevant: the highest grade is 0, the relevance level 1"),
        ((1, 1), "the qrels hold relevant items only: bpref becomes Recall"),
        ((1, 0), "no user has both relevant and judged non-relevant items"),
    ],
)
def test_judgements_of_one_kind_are_warned_of(grades: tuple[int, int], told: str) -> None:
    with pytest.warns(InputWarning, match=told):
        warn_of_one_kind(grades_of_two(*grades))
