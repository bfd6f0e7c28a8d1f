"""Qrels and judged lists."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given

from qrels import Catalogue, Qrels, judge, match, qrels_from_columns
from qrels.judged import Judged
from qrels.qrels import warn_of_one_kind
from runs import InputError, InputWarning, Run
from tests.lists import runs_and_qrels


@given(case=runs_and_qrels(lowest=-2))
def test_condensed_lists_hold_the_judged_items_in_order(case: tuple[Run, Qrels]) -> None:
    run, qrels = case
    found = match(run, qrels)
    judged = (found >= 0) & (np.append(qrels.grades, -1)[found] >= 0)
    expected = [row[at].tolist() for row, at in zip(run.items, judged, strict=True)]
    lists = judge(run, qrels, Catalogue(12)).condensed
    assert [row[row >= 0].tolist() for row in lists.items] == expected
    assert lists.n_retrieved.tolist() == [len(items) for items in expected]


def grades_of_two(first: int, second: int) -> Qrels:
    """Judge one item for each of two users."""
    return qrels_from_columns(
        np.array([0, 1]), np.array([0, 1]), np.array([first, second]), n_users=2, relevance_level=1
    )


@pytest.mark.parametrize(
    ("grades", "told"),
    [
        ((0, 0), "no judgement is relevant: the highest grade is 0, the relevance level 1"),
        ((1, 1), "no user has both relevant and judged non-relevant items"),
        ((1, 0), "no user has both relevant and judged non-relevant items"),
    ],
)
def test_judgements_of_one_kind_are_warned_of(grades: tuple[int, int], told: str) -> None:
    with pytest.warns(InputWarning, match=told):
        warn_of_one_kind(grades_of_two(*grades))


@pytest.mark.filterwarnings("error")
def test_judgements_of_one_kind_concern_metrics_that_they_change_alone() -> None:
    warn_of_one_kind(grades_of_two(1, 0), [])
    with pytest.warns(InputWarning, match="items: infAP_trec equals AP"):
        warn_of_one_kind(grades_of_two(1, 0), ["infAP_trec equals AP"])


def test_the_best_lists_go_with_the_judgements_and_wait_for_no_collector() -> None:
    judged = Judged(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    best = weakref.ref(judged.best)
    assert judged.with_lists(np.array([[0.0, 1.0]]), None).best is best()
    gc.disable()
    try:
        del judged
        assert best() is None
    finally:
        gc.enable()


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


def test_a_grade_of_the_relevance_level_is_relevant_and_a_negative_one_is_neither() -> None:
    qrels = qrels_from_columns(
        np.zeros(5, int), np.arange(5), np.array([-1, 0, 3, 4, 5]), n_users=1, relevance_level=4
    )
    assert qrels.relevant.tolist() == [False, False, False, True, True]
    assert qrels.nonrelevant.tolist() == [False, True, True, False, False]


def test_a_run_of_other_users_is_refused() -> None:
    with pytest.raises(InputError, match="run 's' has 1 users, the qrels have 3"):
        match(Run("s", np.array([[1]], dtype=np.int32)), three_users())


def test_an_item_beyond_the_qrels_is_unjudged() -> None:
    run = Run("s", np.array([[900], [900], [900]], dtype=np.int32))
    assert (match(run, three_users()) == -1).all()
