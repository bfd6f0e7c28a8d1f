"""Means over judgements: users weighted by their relevant items."""

import numpy as np
import pytest
from hypothesis import given

from analyses.shared.measure import Measure, Measures
from harness.metrics.shared.register import built_in_metrics
from harness.scoring.means import user_weights, weighted
from harness.scoring.score import SampleScorer, score
from qrels import Qrels, match
from runs import Run
from tests.lists import means_on, runs_and_qrels

METRICS = built_in_metrics()


@given(case=runs_and_qrels())
def test_recall_over_judgements_is_the_share_of_all_relevant_items_that_are_found(
    case: tuple[Run, Qrels],
) -> None:
    run, qrels = case
    if not qrels.relevant.any():
        return
    users = np.arange(qrels.n_users).astype(np.str_)
    scores = score([run], qrels, Measures([Measure("Recall", 3)]), METRICS, users=users)
    found = match(run, qrels)[:, :3]
    n_found = np.count_nonzero(qrels.relevant[found[found >= 0]])
    means = weighted(scores, user_weights(qrels, "judgements")).means()
    assert means.item() == pytest.approx(n_found / np.count_nonzero(qrels.relevant))


@given(case=runs_and_qrels())
def test_all_judgements_rescored_give_the_weighted_means(case: tuple[Run, Qrels]) -> None:
    run, qrels = case
    if not qrels.relevant.any():
        return
    measures, weights = Measures([Measure("nDCG", 3)]), user_weights(qrels, "judgements")
    users = np.arange(qrels.n_users).astype(np.str_)
    scores = weighted(score([run], qrels, measures, METRICS, users=users), weights)
    scorer = SampleScorer([run], qrels, measures, METRICS, weights=weights)
    np.testing.assert_allclose(means_on(scorer, qrels)[..., 0], scores.means(), atol=1e-12)


def test_users_with_equally_many_relevant_items_weigh_the_same() -> None:
    items = np.arange(6, dtype=np.int32) % 2
    grades = np.array([1, 1, 1, 1, 1, 1], dtype=np.int32)
    qrels = Qrels(np.array([0, 2, 4, 6]), items, grades, relevance_level=1)
    assert user_weights(qrels, "judgements") == pytest.approx([1.0, 1.0, 1.0])


def test_a_mean_over_users_needs_no_weights() -> None:
    one = np.ones(1, dtype=np.int32)
    qrels = Qrels(np.array([0, 1]), one, one, relevance_level=1)
    assert user_weights(qrels, "users") is None
