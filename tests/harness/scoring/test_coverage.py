import numpy as np

from harness.scoring.means import Coverage
from qrels import qrels_from_columns
from runs import Run


def test_lists_that_end_before_the_longest_are_short() -> None:
    """Users have three, two and no items; two of the five are judged."""
    users, items = np.array([[0, 0, 1, 2], [0, 7, 3, 3]])
    qrels = qrels_from_columns(users, items, np.ones(4, int), n_users=3, relevance_level=1)
    lists = np.array([[0, 1, 2], [1, 3, -1], [-1, -1, -1]], np.int32)
    found = Coverage.of([Run("a", lists)], qrels)
    assert found.without_list.tolist() == [1]
    assert found.with_short_list.tolist() == [2]
    assert found.n_items.tolist() == [4]
    assert found.judged.tolist() == [2 / 5]
