import numpy as np
import pytest

from qrels import Qrels, match, qrels_from_columns
from runs import InputError, Run


def three_users() -> Qrels:
    """User 0 judged items 3 and 7, user 1 none, user 2 item 3."""
    return qrels_from_columns(
        np.array([2, 0, 0]), np.array([3, 7, 3]), np.array([4, 2, 5]), n_users=3, relevance_level=4
    )


def test_an_item_may_be_judged_once_only() -> None:
    with pytest.raises(InputError, match="each judged once"):
        qrels_from_columns(
            np.array([0, 0]), np.array([3, 3]), np.array([1, 2]), n_users=1, relevance_level=1
        )


def test_items_and_grades_must_fit() -> None:
    items, grades = np.array([3, 7], dtype=np.int32), np.array([1], dtype=np.int32)
    with pytest.raises(InputError, match="must fit together"):
        Qrels(np.array([0, 2]), items, grades, relevance_level=1)


def test_the_relevance_level_is_at_least_one() -> None:
    with pytest.raises(InputError, match="at least 1, got 0"):
        Qrels(np.array([0]), np.empty(0, np.int32), np.empty(0, np.int32), relevance_level=0)


def test_a_grade_of_the_relevance_level_is_relevant_and_a_negative_one_is_neither() -> None:
    qrels = qrels_from_columns(
        np.zeros(5, int), np.arange(5), np.array([-1, 0, 3, 4, 5]), n_users=1, relevance_level=4
    )
    assert qrels.relevant.tolist() == [False, False, False, True, True]
    assert qrels.nonrelevant.tolist() == [False, True, True, False, False]


def test_users_stay_when_their_judgements_go() -> None:
    kept = three_users().keep(np.array([False, False, True]))
    assert kept.offsets.tolist() == [0, 0, 0, 1]


def test_a_run_of_other_users_is_refused() -> None:
    with pytest.raises(InputError, match="run 's' has 1 users, the qrels have 3"):
        match(Run("s", np.array([[1]], dtype=np.int32)), three_users())


def test_an_item_beyond_the_qrels_is_unjudged() -> None:
    run = Run("s", np.array([[900], [900], [900]], dtype=np.int32))
    assert (match(run, three_users()) == -1).all()
