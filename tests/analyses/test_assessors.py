"""Assessors: kappa against scikit-learn, pairs counted one by one, and a favoured system."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analyses.assessors import AGREEMENTS, Assessors, Settings, assessors, kappa
from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import Truth
from analyses.significance.paired_tests import t_test
from runs import InputError
from runs.shared.progress import Silent

P = Measure("P", 10)
MEASURES = Measures([P], reported=[P])
SYSTEMS = ("a", "b", "c", "d")
N_USERS = 60


def some_scores(seed: int, *, favour: float = 0.0) -> Scores:
    draw = np.random.default_rng(seed)
    values = np.clip(
        np.array([0.3, 0.33, 0.5, 0.52])[None, :, None] + 0.2 * draw.normal(size=(1, 4, N_USERS)),
        0,
        1,
    )
    values[0, 1] += favour
    return Scores(
        values.round(3), MEASURES, SYSTEMS, np.array([f"u{n:02}" for n in range(N_USERS)])
    )


def some_work(seed: int, *, favour: float = 0.0, judged: Any = None) -> Any:
    draw = np.random.default_rng(seed)
    user, first = np.sort(draw.integers(0, N_USERS, 400)), draw.integers(0, 3, 400)
    second = np.where(draw.random(400) < 0.7, first, draw.integers(0, 3, 400))
    return SimpleNamespace(
        scores=some_scores(seed, favour=favour),
        truth=Truth(some_scores(seed), (P,), "of an expert"),
        judged_twice=(user, first, second) if judged is None else judged,
        qrels=SimpleNamespace(relevance_level=1),
        seed=1,
        n_jobs=1,
        unit="user",
        progress=Silent(),
    )


def test_kappa_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    work = some_work(1)
    _, first, second = work.judged_twice
    found = assessors(work, Settings(test="t", replicates=20)).kappas()
    assert found["all grades"].value == pytest.approx(metrics.cohen_kappa_score(first, second))
    relevant = metrics.cohen_kappa_score(first >= 1, second >= 1)
    assert found["relevance"].value == pytest.approx(relevant)
    assert found["grade 2"].value == pytest.approx(
        metrics.cohen_kappa_score(first == 2, second == 2)
    )


def test_kappa_is_unknown_where_there_is_one_grade() -> None:
    assert np.isnan(kappa(np.array([[5.0, 0.0], [0.0, 0.0]])))


def test_pairs_are_counted_by_order_and_significance() -> None:
    work = some_work(2)
    work.truth = Truth(some_scores(3), (P,), "of an expert")
    found = assessors(work, Settings(test="t", replicates=20))
    mine, theirs = work.scores.values, work.truth.scores.values
    p, true_p = t_test(mine)[0], t_test(theirs)[0]
    counts = dict.fromkeys(AGREEMENTS, 0)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for n, (i, j) in enumerate(pairs):
        same = (mine[0, i] - mine[0, j]).mean() * (theirs[0, i] - theirs[0, j]).mean() > 0
        kind = ("passive", "mixed", "active")[(p[n] <= 0.05) + int(true_p[n] <= 0.05)]
        counts[f"{kind} {'agreement' if same else 'disagreement'}"] += 1
    assert found.agreement[0].tolist() == list(counts.values())


def test_a_pair_that_ties_by_one_assessor_is_no_disagreement() -> None:
    work = some_work(2)
    work.scores.values[0, 1] = work.scores.values[0, 0]
    found = assessors(work, Settings(test="t", replicates=20))
    assert found.agreement[0, 1::2].sum() == 0
    assert found.agreement[0].sum() == 6


def test_the_top_systems_are_those_of_the_second_assessor() -> None:
    work = some_work(5)
    # By the second, d and c are best in this order; the first turns a and b round.
    work.truth.scores.values[0] = work.scores.values[0] = np.arange(4.0)[:, None] / 4
    work.scores.values[0, :2] = work.scores.values[0, [1, 0]]
    found = assessors(work, Settings(test="t", replicates=20, top=(2,)))
    assert found.correlations()["top 2"][0] == 1
    assert found.correlations()["all systems"][0] < 1


def favoured(found: Assessors) -> list[str]:
    return [finding for finding in found.findings() if "favours" in finding]


def test_a_favoured_system_is_named_and_an_unbiased_assessor_is_not_blamed() -> None:
    (sentence,) = favoured(assessors(some_work(4, favour=0.2), Settings(test="t", replicates=20)))
    assert "favours b:" in sentence
    assert favoured(assessors(some_work(4), Settings(test="t", replicates=20))) == []


def test_assessors_without_an_item_in_common_are_refused() -> None:
    with pytest.raises(InputError, match="no item was judged by both"):
        assessors(some_work(1, judged=(np.zeros(0, dtype=int),) * 3), Settings(replicates=20))
