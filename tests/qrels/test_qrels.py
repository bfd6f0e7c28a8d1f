"""Qrels: judgements in compressed rows, and counts of them."""

import numpy as np
import pyarrow as pa
import pytest

from qrels import Qrels, qrels_from_columns
from qrels.qrels import judgement_facts, no_relevant_sentence, warn_of_one_sided_judgements
from runs import InputError, InputWarning


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
        warn_of_one_sided_judgements(grades_of_two(*grades))


@pytest.mark.filterwarnings("error")
def test_judgements_of_one_kind_concern_metrics_that_they_change_alone() -> None:
    warn_of_one_sided_judgements(grades_of_two(1, 0), [])
    with pytest.warns(InputWarning, match="items: infAP_trec equals AP"):
        warn_of_one_sided_judgements(grades_of_two(1, 0), ["infAP_trec equals AP"])


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


def test_items_of_a_user_rise() -> None:
    items, grades = np.array([3, 2], dtype=np.int32), np.ones(2, dtype=np.int32)
    with pytest.raises(InputError, match="the items of a user must rise"):
        Qrels(np.array([0, 2]), items, grades, relevance_level=1)
    Qrels(np.array([0, 1, 2]), items, grades, relevance_level=1)


def test_the_relevance_level_is_at_least_1() -> None:
    nothing = np.empty(0, dtype=np.int32)
    Qrels(np.array([0]), nothing, nothing, relevance_level=1)
    with pytest.raises(InputError, match="must be at least 1, got 0"):
        Qrels(np.array([0]), nothing, nothing, relevance_level=0)


@pytest.fixture
def four() -> Qrels:
    """User 0 judged items 3 and 7, user 1 none, user 2 items 1, 3 and 8, user 3 item 0."""
    return qrels_from_columns(
        np.array([2, 0, 2, 0, 3, 2]),
        np.array([3, 7, 1, 3, 0, 8]),
        np.array([4, 2, -1, 5, 0, 9]),
        n_users=4,
        relevance_level=4,
    )


def test_judgements_are_sorted_by_user_and_item(four: Qrels) -> None:
    assert four.offsets.tolist() == [0, 2, 2, 5, 6]
    assert four.items.tolist() == [3, 7, 1, 3, 8, 0]
    assert four.grades.tolist() == [5, 2, -1, 4, 9, 0]
    assert four.users.tolist() == [0, 0, 2, 2, 2, 3]
    assert four.n_users == 4
    assert four.count_by_user(four.relevant).tolist() == [1, 0, 2, 0]
    assert four.count_by_user(four.nonrelevant).tolist() == [1, 0, 0, 1]


def test_some_judgements_are_kept_with_all_users(four: Qrels) -> None:
    kept = four.keep(four.relevant)
    assert kept.offsets.tolist() == [0, 1, 1, 3, 3]
    assert kept.items.tolist() == [3, 3, 8]
    assert kept.grades.tolist() == [5, 4, 9]
    assert kept.relevance_level == 4


def test_some_users_are_kept_in_any_order(four: Qrels) -> None:
    users = np.array([2, 1, 0, 2])
    assert four.judgement_rows(users).tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    some = four.select_users(users)
    assert some.offsets.tolist() == [0, 3, 3, 5, 8]
    assert some.items.tolist() == [1, 3, 8, 3, 7, 1, 3, 8]
    assert some.grades.tolist() == [-1, 4, 9, 5, 2, -1, 4, 9]


def test_judgements_are_counted(four: Qrels) -> None:
    assert judgement_facts(four, "topics") == {
        "topics": 4,
        "judgements": 6,
        "relevant judgements": 3,
        "relevance level": 4,
        "topics without relevant items": 2,
        "topics without judged non-relevant items": 2,
    }
    assert repr(four).splitlines()[:2] == ["Qrels", "users: 4"]
    assert no_relevant_sentence(four).endswith("the highest grade is 9, the relevance level 4.")


@pytest.mark.filterwarnings("error")
def test_judgements_of_both_kinds_of_one_user_are_enough(four: Qrels) -> None:
    warn_of_one_sided_judgements(four)


def test_a_mask_is_of_judgements(four: Qrels) -> None:
    with pytest.raises(ValueError, match=r"must be of shape \(6,\), got \(4,\)"):
        four.keep(np.ones(four.n_users, dtype=np.bool_))


def test_columns_of_judgements_have_one_length() -> None:
    with pytest.raises(ValueError, match="must have one length, got 2, 2 and 1"):
        qrels_from_columns(
            np.array([0, 0]), np.array([1, 2]), np.array([1]), n_users=1, relevance_level=1
        )


def test_judgements_are_handed_out_as_arrow() -> None:
    items, grades = np.array([3, 7, 1], dtype=np.int32), np.array([5, 2, 0], dtype=np.int32)
    qrels = Qrels(np.array([0, 2, 3]), items, grades, relevance_level=4)
    expected = {"user": [0, 0, 1], "item": [3, 7, 1], "grade": [5, 2, 0]}
    assert pa.table(qrels).to_pydict() == expected
