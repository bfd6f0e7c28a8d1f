"""What is derived of judged lists, and how long it stays."""

import gc
import weakref

import numpy as np

from qrels.judged import Judged


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
