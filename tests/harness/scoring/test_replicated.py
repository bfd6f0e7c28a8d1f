"""Scores of systems of several runs: those of judged lists, and of samples of the judgements."""

import numpy as np
import pytest

from analyses.intervals.drawn_runs import of_systems
from analyses.shared.measure import Measure, Measures, Scores
from harness.metrics.shared.register import built_in_metrics, find_metric
from harness.scoring.means import averaged, deviations, spread
from harness.scoring.score import SampleScorer, score
from qrels import Qrels
from runs import Run
from runs.replicates import Replicates
from tests.lists import means_on, random_case

METRICS = built_in_metrics()
NAMES = ["a", "b", "a", "a", "b"]


@pytest.fixture(scope="module")
def case() -> tuple[list[Run], Qrels]:
    """Five runs of two systems; the last two rank for some of the users alone."""
    runs, qrels = [], random_case(0, n_users=12, n_items=30, depth=10, n_judged=9)[1]
    for seed in range(5):
        lists = random_case(seed, n_users=12, n_items=30, depth=10, n_judged=9)[0].items.copy()
        if seed > 2:
            lists[: 2 * seed] = -1
        runs.append(Run(f"r{seed}", lists))
    return runs, qrels


def by_run(runs: list[Run], qrels: Qrels, measures: Measures) -> Scores:
    users = np.arange(qrels.n_users).astype(np.str_)
    return score(runs, qrels, measures, METRICS, users=users)


def test_a_user_has_the_mean_over_the_runs_that_rank_for_the_user(
    case: tuple[list[Run], Qrels],
) -> None:
    runs, qrels = case
    scores = by_run(runs, qrels, Measures([Measure("nDCG", 5)]))
    found = averaged(scores, Replicates.of(NAMES, runs))
    assert found.systems == ("a", "b")
    of_run = scores.values[0]
    a_early, a_late = of_run[[0, 2], :6].mean(axis=0), of_run[[0, 2, 3], 6:].mean(axis=0)
    b_early, b_late = of_run[1, :8], of_run[[1, 4], 8:].mean(axis=0)
    expected = [np.append(a_early, a_late), np.append(b_early, b_late)]
    np.testing.assert_allclose(found.values[0], expected, atol=1e-13)


@pytest.mark.parametrize("metric", ["nDCG", "bpref", "RBP", "AP(mean=geometric)"])
def test_samples_are_scored_by_the_same_means(case: tuple[list[Run], Qrels], metric: str) -> None:
    runs, qrels = case
    metrics = {metric: find_metric(metric, METRICS)}
    measures, replicates = Measures([Measure(metric, 5)]), Replicates.of(NAMES, runs)
    users = np.arange(qrels.n_users).astype(np.str_)
    scores = averaged(score(runs, qrels, measures, metrics, users=users), replicates)
    scorer = SampleScorer(runs, qrels, measures, metrics, replicates=replicates)
    of_runs = deviations(score(runs, qrels, measures, metrics, users=users), replicates)
    found = of_systems(means_on(scorer, qrels), of_runs)[..., 0]
    if metrics[metric].is_geometric:
        found = np.exp(found)
    expected = [[metrics[metric].average(one) for one in scores.values[0]]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_spread_is_over_the_users_whom_all_runs_rank_for(
    case: tuple[list[Run], Qrels],
) -> None:
    runs, qrels = case
    scores = by_run(runs, qrels, Measures([Measure("P", 5)]))
    found = spread(scores, Replicates.of(NAMES, runs), METRICS)
    late = scores.values[0][[0, 2, 3], 6:].mean(axis=1)
    assert found[0, 0] == pytest.approx(late.std(ddof=1))


def test_a_single_run_has_no_spread_and_neither_have_folds() -> None:
    lists = [np.array(items, dtype=np.int32) for items in ([[1], [-1]], [[-1], [2]], [[1], [2]])]
    runs = [Run(f"r{number}", items) for number, items in enumerate(lists)]
    replicates = Replicates.of(["folds", "folds", "whole"], runs)
    scores = Scores(
        np.ones((1, 3, 2)), Measures([Measure("P", 1)]), ("a", "b", "c"), np.array(["1", "2"])
    )
    assert np.isnan(spread(scores, replicates, METRICS)).all()
