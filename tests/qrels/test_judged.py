"""Judged lists: what metrics may know, by hand and by brute force."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrels import Catalogue, Qrels, accumulate, judge, match, matches, qrels_from_columns
from qrels.judged import Judged
from qrels.listed_ranks import ListedRanks
from qrels.ranks.judged_ranks import JudgedRanks
from runs import InputError, Run
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


def test_a_run_of_other_users_is_refused() -> None:
    with pytest.raises(InputError, match="run 's' has 1 users, the qrels have 3"):
        match(Run("s", np.array([[1]], dtype=np.int32)), three_users())


def test_an_item_beyond_the_qrels_is_unjudged() -> None:
    run = Run("s", np.array([[900], [900], [900]], dtype=np.int32))
    assert (match(run, three_users()) == -1).all()


@given(case=runs_and_qrels(lowest=-2), depth=st.sampled_from([None, 0, 1, 3]))
@pytest.mark.parametrize("cells_at_once", [1, 40, 250_000])
def test_the_judgement_of_every_ranked_item_is_found(
    cells_at_once: int, case: tuple[Run, Qrels], depth: int | None
) -> None:
    run, qrels = case
    known = {pair: place for place, pair in enumerate(zip(qrels.users, qrels.items, strict=True))}
    expected = [
        [known.get((user, item), -1) for item in row]
        for user, row in enumerate(run.items[:, :depth])
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matches, "CELLS_AT_ONCE", cells_at_once)
        assert match(run, qrels, depth=depth).tolist() == expected


def test_without_judgements_nothing_is_found() -> None:
    nothing = qrels_from_columns(*np.empty((3, 0), dtype=int), n_users=2, relevance_level=1)
    run = Run("s", np.array([[0, 1], [2, -1]], dtype=np.int32))
    assert match(run, nothing).tolist() == [[-1, -1], [-1, -1]]
    assert judge(run, nothing).judgements.shape == (2, 0)


NAN = np.nan
GRADES = np.array([[2.0, NAN, 0.0, 1.0], [NAN, NAN, NAN, NAN], [-1.0, 1.0, 3.0, NAN]])
JUDGEMENTS = np.array([[0.0, 2.0, 1.0, 1.0], [0.0, NAN, NAN, NAN], [1.0, -1.0, 3.0, 0.0]])


@pytest.fixture
def three() -> Judged:
    """Lists of three users, of 4, 2 and 3 items; the first misses one relevant item."""
    return Judged(GRADES, JUDGEMENTS, lengths=np.array([4, 2, 3]))


def test_what_is_ranked_is_told_by_its_grade(three: Judged) -> None:
    assert three.relevant.tolist() == [
        [True, False, False, True],
        [False] * 4,
        [False, True, True, False],
    ]
    assert three.nonrelevant.tolist() == [[False, False, True, False], [False] * 4, [False] * 4]
    assert three.relevant_so_far.tolist() == [[1, 1, 1, 2], [0] * 4, [0, 1, 2, 2]]
    assert three.nonrelevant_so_far.tolist() == [[0, 0, 1, 1], [0] * 4, [0] * 4]
    assert three.gains.tolist() == [[2, 0, 0, 1], [0] * 4, [0, 1, 3, 0]]
    assert three.ranks.tolist() == [1, 2, 3, 4]
    assert (three.n_users, three.depth) == (3, 4)


def test_judgements_are_counted(three: Judged) -> None:
    assert three.n_relevant.tolist() == [3, 0, 2]
    assert three.n_nonrelevant.tolist() == [1, 1, 1]
    assert three.n_retrieved.tolist() == [4, 2, 3]
    assert Judged(GRADES, JUDGEMENTS).n_retrieved.tolist() == [4, 4, 4]
    assert three.ideal_gains.tolist() == [[2, 1, 1, 0], [0, 0, 0, 0], [3, 1, 0, 0]]


@pytest.mark.parametrize(
    ("cutoff", "hits", "nonrelevant"),
    [
        (0, [0, 0, 0], [0, 0, 0]),
        (1, [1, 0, 0], [0, 0, 0]),
        (2, [1, 0, 1], [0, 0, 0]),
        (3, [1, 0, 2], [1, 0, 0]),
        (4, [2, 0, 2], [1, 0, 0]),
        (9, [2, 0, 2], [1, 0, 0]),
        (None, [2, 0, 2], [1, 0, 0]),
        (np.array([3, 1, 2]), [1, 0, 1], [1, 0, 0]),
        (np.array([9, 0, 0]), [2, 0, 0], [1, 0, 0]),
    ],
)
def test_hits_are_counted_down_to_a_cutoff(
    three: Judged, cutoff: int | None, hits: list[int], nonrelevant: list[int]
) -> None:
    assert three.hits(cutoff).tolist() == hits
    assert three.nonrelevant_hits(cutoff).tolist() == nonrelevant


def gains(judged: Judged, *, weight: float = 1.0) -> np.ndarray:
    """Earn the grade at each rank."""
    return judged.gains * weight


def test_what_ranks_earn_is_added_or_the_most_of_it(three: Judged) -> None:
    assert three.total(gains, cutoff=3).tolist() == [2, 0, 4]
    assert three.total(gains, weight=0.5).tolist() == [1.5, 0, 2]
    assert three.highest(gains, cutoff=2).tolist() == [2, 0, 1]
    assert three.highest(gains).tolist() == [2, 0, 3]
    assert three.best_so_far(gains).tolist() == [[2, 3, 4, 4], [0] * 4, [3, 4, 4, 4]]
    few = Judged(GRADES, JUDGEMENTS[:, :2])
    assert few.best_so_far(gains).tolist() == [[2, 2, 2, 2], [0] * 4, [1, 1, 1, 1]]
    nothing = Judged(GRADES, np.empty((3, 0)))
    assert nothing.best_so_far(gains).tolist() == [[0] * 4] * 3


def test_lists_without_ranks_earn_nothing() -> None:
    empty = Judged(np.empty((2, 0)), np.ones((2, 1)))
    assert empty.hits().tolist() == [0, 0]
    assert empty.hits(5).tolist() == [0, 0]


def test_what_was_derived_is_derived_again_for_other_options_and_levels(three: Judged) -> None:
    calls = []

    def derive(judged: Judged, *, options: dict[str, int], more: int = 0) -> int:
        calls.append(judged.relevance_level)
        return sum(options.values()) + more

    assert [three.once(derive, options={"a": a, "b": 1}) for a in (1, 2, 1)] == [2, 3, 2]
    assert three.once(derive, options={"b": 1, "a": 1}) == 2
    assert three.once(derive, options={"a": 1, "b": 1}, more=1) == 3
    assert three.at_level(2.0).once(derive, options={"a": 1, "b": 1}) == 2
    assert calls == [1, 1, 1, 2]


def test_another_level_has_other_relevant_items(three: Judged) -> None:
    assert three.at_level(1.0) is three
    strict = three.at_level(2.0)
    assert strict.hits().tolist() == [1, 0, 1]
    assert strict.n_relevant.tolist() == [1, 0, 1]
    assert strict.n_nonrelevant.tolist() == [3, 1, 2]
    assert strict.n_retrieved.tolist() == [4, 2, 3]
    assert three.as_deep_as(9).at_level(2.0).depth == 9


def test_lists_that_are_deeper_hold_no_more(three: Judged) -> None:
    deeper = three.as_deep_as(9)
    assert (deeper.depth, deeper.grades.shape) == (9, (3, 4))
    assert deeper.n_retrieved.tolist() == [4, 2, 3]
    assert Judged(GRADES, JUDGEMENTS).as_deep_as(9).n_retrieved.tolist() == [4, 4, 4]
    assert deeper.condensed.depth == 9


def test_condensed_lists_are_as_deep_and_end_sooner(three: Judged) -> None:
    condensed = three.condensed
    assert condensed.gains.tolist() == [[2, 0, 1, 0], [0] * 4, [1, 3, 0, 0]]
    assert np.isnan(condensed.grades).sum(axis=1).tolist() == [1, 4, 2]
    assert condensed.n_retrieved.tolist() == [3, 0, 2]
    with pytest.raises(InputError, match="these lists have grades only, not items"):
        _ = condensed.items


def at_places() -> Judged:
    """Two lists of depth 6 under two samples of the judgements each, a row after the other.

    The first list has what is judged at ranks 2 and 5, the second at rank 1 alone.
    """
    grades = np.array([[1.0, 0.0], [NAN, 1.0], [1.0, NAN], [NAN, NAN]])
    places = ListedRanks(np.array([[2, 1], [5, 7]]), depth=6)
    return Judged(grades, np.ones((4, 3))).with_lists(grades, None, listed_ranks=places)


def test_ranks_that_hold_nothing_judged_may_be_left_out() -> None:
    judged = at_places()
    assert judged.depth == 6
    assert judged.n_retrieved.tolist() == [6] * 4
    assert judged.ranks.tolist() == [[2, 5], [2, 5], [1, 7], [1, 7]]
    assert judged.at_level(0.5).ranks.tolist() == judged.ranks.tolist()


@pytest.mark.parametrize(
    ("cutoff", "hits", "nonrelevant"),
    [
        (0, [0, 0, 0, 0], [0, 0, 0, 0]),
        (1, [0, 0, 1, 0], [0, 0, 0, 0]),
        (2, [1, 0, 1, 0], [0, 0, 0, 0]),
        (4, [1, 0, 1, 0], [0, 0, 0, 0]),
        (5, [1, 1, 1, 0], [1, 0, 0, 0]),
        (6, [1, 1, 1, 0], [1, 0, 0, 0]),
        (None, [1, 1, 1, 0], [1, 0, 0, 0]),
        (np.array([4, 5, 0, 9]), [1, 1, 0, 0], [0, 0, 0, 0]),
    ],
)
def test_cutoffs_find_the_ranks_that_are_left(
    cutoff: int | None, hits: list[int], nonrelevant: list[int]
) -> None:
    assert at_places().hits(cutoff).tolist() == hits
    assert at_places().nonrelevant_hits(cutoff).tolist() == nonrelevant


def test_the_best_list_is_read_at_the_ranks_that_are_left() -> None:
    """Three judgements of 1: the best list earns 2 down to rank 2, and all 3 from rank 3 on."""
    best = at_places().best_so_far(gains)
    assert best.tolist() == [[2, 3], [2, 3], [1, 3], [1, 3]]


CATALOGUE = Catalogue(
    9, hidden_ranks={"s": JudgedRanks(loo=np.array([5, 6, 7, 8], dtype=np.uint16))}
)


def judged_items() -> Judged:
    """User 0 judged items 3 and 7, user 1 none, user 2 items 1 and 3."""
    qrels = qrels_from_columns(
        np.array([2, 0, 0, 2]),
        np.array([3, 7, 3, 1]),
        np.array([4, 2, 5, -1]),
        n_users=3,
        relevance_level=4,
    )
    run = Run("s", np.array([[7, 1, 3], [0, -1, -1], [1, 3, -1]], dtype=np.int32))
    return judge(run, qrels, CATALOGUE)


def test_items_are_those_of_ranks_and_judgements() -> None:
    judged = judged_items()
    np.testing.assert_array_equal(judged.grades, [[2, NAN, 5], [NAN] * 3, [-1, 4, NAN]])
    np.testing.assert_array_equal(judged.judgements, [[5, 2], [NAN, NAN], [-1, 4]])
    assert judged.relevance_level == 4
    assert judged.items.tolist() == [[7, 1, 3], [0, -1, -1], [1, 3, -1]]
    assert judged.judged_items.tolist() == [[3, 7], [-1, -1], [1, 3]]
    assert judged.users.tolist() == [0, 1, 2]
    assert judged.catalogue is CATALOGUE
    assert judged.n_retrieved.tolist() == [3, 1, 2]
    assert judged.condensed.items.tolist() == [[7, 3, -1], [-1] * 3, [3, -1, -1]]
    assert judged.at_level(1.0).items.tolist() == judged.items.tolist()
    assert judged.at_level(1.0).condensed.items.tolist() == judged.condensed.items.tolist()


def test_hidden_ranks_are_those_of_the_judgements() -> None:
    loo = judged_items().hidden_ranks.require("loo")
    assert loo.tolist() == [[5, 6], [65535, 65535], [7, 8]]


def test_items_are_repeated_for_samples_of_the_judgements() -> None:
    judged = judged_items()
    twice = Judged(np.repeat(judged.grades, 2, axis=0), np.repeat(judged.judgements, 2, axis=0))
    twice.with_items(lambda: judged._items_of_lists)
    assert twice.users.tolist() == [0, 0, 1, 1, 2, 2]
    assert twice.items[:3].tolist() == [[7, 1, 3], [7, 1, 3], [0, -1, -1]]
    assert twice.judged_items[4:].tolist() == [[1, 3], [1, 3]]


@pytest.mark.parametrize(
    "grades", [np.empty(3), np.empty((2, 1)), np.empty((3, 1, 1))], ids=["flat", "few", "deep"]
)
def test_grades_and_judgements_are_of_the_same_users(grades: np.ndarray) -> None:
    with pytest.raises(InputError, match="must be of the same users, of shape"):
        Judged(grades, np.empty((3, 2)))


def test_columns_are_added_up_from_the_left() -> None:
    values = np.array([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]])
    assert accumulate(values).tolist() == [[1, 3, 7], [0.5, -0.5, 2.5]]
    assert accumulate(values, by=np.maximum).tolist() == [[1, 2, 4], [0.5, 0.5, 3]]
    assert accumulate(np.empty((2, 0))).shape == (2, 0)


def test_judgements_are_numbered_and_minus_1_where_a_user_has_fewer() -> None:
    run = Run("s", np.array([[0, 1], [1, -1]], dtype=np.int32))
    ones = np.ones(3, dtype=np.int32)
    qrels = Qrels(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), ones, relevance_level=1)
    seen = judge(run, qrels, Catalogue(2))._items_of_lists
    assert seen.judgements is not None
    assert seen.judgements.T.tolist() == [[0, 1], [2, -1]]
    assert seen.judged.T.tolist() == [[0, 1], [1, -1]]
    assert seen.listed.T.tolist() == [[0, 1], [1, -1]]
