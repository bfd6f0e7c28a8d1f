"""Lists of judged items alone."""

import numpy as np
from hypothesis import given

from qrels import Catalogue, Qrels, judge, match
from runs import Run
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


@given(case=runs_and_qrels(lowest=-2))
def test_condensed_lists_are_as_deep_as_before_and_not_condensed_further(
    case: tuple[Run, Qrels],
) -> None:
    lists = judge(*case).condensed
    assert lists.depth == case[0].depth
    np.testing.assert_array_equal(lists.condensed.grades, lists.grades)
