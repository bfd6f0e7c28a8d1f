"""Means over users, judgements and runs of a system, and coverage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from analyses.intervals.resampling import sum_over_runs
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from harness.metrics.shared.register import built_in_metrics, find_metric
from harness.scoring.means import Coverage, Means, averaged, deviations, spread, user_weights
from harness.scoring.score import SampleScorer, score
from qrels import Qrels, match, qrels_from_columns
from runs import Run
from runs.replicates import Replicates
from tests.conftest import examples
from tests.lists import means_on, random_case, runs_and_qrels


def test_lists_that_end_before_the_longest_are_short() -> None:
    """Users have three, two and no items; two of the five are judged."""
    users, items = np.array([[0, 0, 1, 2], [0, 7, 3, 3]])
    qrels = qrels_from_columns(users, items, np.ones(4, int), n_users=3, relevance_level=1)
    lists = np.array([[0, 1, 2], [1, 3, -1], [-1, -1, -1]], np.int32)
    found = Coverage.of_runs([Run("a", lists)], qrels)
    assert found.without_list.tolist() == [1]
    assert found.with_short_list.tolist() == [2]
    assert found.n_items.tolist() == [4]
    assert found.judged.tolist() == [2 / 5]


METRICS = built_in_metrics()


@examples(30)
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
    means = replace(scores, weights=user_weights(qrels, "judgements")).mean_values()
    assert means.item() == pytest.approx(n_found / np.count_nonzero(qrels.relevant))


@examples(30)
@given(case=runs_and_qrels())
def test_all_judgements_rescored_give_the_weighted_means(case: tuple[Run, Qrels]) -> None:
    run, qrels = case
    if not qrels.relevant.any():
        return
    measures, weights = Measures([Measure("nDCG", 3)]), user_weights(qrels, "judgements")
    users = np.arange(qrels.n_users).astype(np.str_)
    scores = score([run], qrels, measures, METRICS, users=users)
    scorer = SampleScorer([run], qrels, measures, METRICS, weights=weights)
    means = replace(scores, weights=weights).mean_values()
    np.testing.assert_allclose(means_on(scorer, qrels)[..., 0], means, atol=1e-12)


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
    found = averaged(scores, Replicates.group_by_system(NAMES, runs))
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
    measures, replicates = Measures([Measure(metric, 5)]), Replicates.group_by_system(NAMES, runs)
    users = np.arange(qrels.n_users).astype(np.str_)
    scores = averaged(score(runs, qrels, measures, metrics, users=users), replicates)
    scorer = SampleScorer(runs, qrels, measures, metrics, replicates=replicates)
    of_runs = deviations(score(runs, qrels, measures, metrics, users=users), replicates)
    found = sum_over_runs(means_on(scorer, qrels), of_runs)[..., 0]
    if metrics[metric].is_geometric:
        found = np.exp(found)
    expected = [[metrics[metric].average(one) for one in scores.values[0]]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_spread_is_over_the_users_whom_all_runs_rank_for(case: tuple[list[Run], Qrels]) -> None:
    runs, qrels = case
    scores = by_run(runs, qrels, Measures([Measure("P", 5)]))
    found = spread(scores, Replicates.group_by_system(NAMES, runs), METRICS)
    late = scores.values[0][[0, 2, 3], 6:].mean(axis=1)
    assert found[0, 0] == pytest.approx(late.std(ddof=1))


def test_a_single_run_has_no_spread_and_neither_have_folds() -> None:
    lists = [np.array(items, dtype=np.int32) for items in ([[1], [-1]], [[-1], [2]], [[1], [2]])]
    runs = [Run(f"r{number}", items) for number, items in enumerate(lists)]
    replicates = Replicates.group_by_system(["folds", "folds", "whole"], runs)
    scores = Scores(
        np.ones((1, 3, 2)), Measures([Measure("P", 1)]), ("a", "b", "c"), np.array(["1", "2"])
    )
    assert np.isnan(spread(scores, replicates, METRICS)).all()


def two_by_two(**changes: Any) -> Means:
    """Two systems by P and by the geometric mean of AP, for three users."""
    values = np.array([[[0.0, 0.5, 1.0], [0.2, 0.2, 0.2]], [[0.1, 0.1, 0.8], [0.4, 0.4, 0.4]]])
    names = ["P", "AP(mean=geometric)"]
    metrics = {name: find_metric(name, METRICS) for name in names}
    measures, users = Measures([Measure(name, 5) for name in names]), np.array(["1", "2", "3"])
    scores = Scores(np.stack([values[0], np.log(values[1])]), measures, ("a", "b"), users)
    return replace(Means.of_scores(scores, metrics), **changes)


def test_means_are_arithmetic_or_geometric_and_deviations_of_the_scores() -> None:
    found = two_by_two()
    geometric = (0.1 * 0.1 * 0.8) ** (1 / 3)
    np.testing.assert_allclose(found.values, [[0.5, 0.2], [geometric, 0.4]])
    deviation = float(np.std(np.log([0.1, 0.1, 0.8]), ddof=1))
    np.testing.assert_allclose(found.deviations, [[0.5, 0.0], [deviation, 0.0]], atol=1e-12)
    frame = found.frame()
    assert frame["system"].tolist() == ["a", "a", "b", "b"]
    assert frame["metric"].tolist() == ["P", "AP(mean=geometric)"] * 2
    assert frame["mean"].tolist() == pytest.approx([0.5, geometric, 0.2, 0.4])
    assert frame["sd"].tolist() == pytest.approx([0.5, deviation, 0, 0], abs=1e-12)
    assert frame["users"].tolist() == [3] * 4


def test_replicates_stand_beside_the_means_of_their_system() -> None:
    spreads = np.array([[0.01, 0.02], [0.03, np.nan]])
    frame = two_by_two(sizes=np.array([3, 2]), spreads=spreads).frame()
    assert frame["replicates"].tolist() == [3, 3, 2, 2]
    assert frame["sd_replicates"].tolist()[:3] == [0.01, 0.03, 0.02]
    assert np.isnan(frame["sd_replicates"][3])


def test_a_single_user_has_no_deviation() -> None:
    scores = Scores(np.ones((1, 2, 1)), Measures([Measure("P", 5)]), ("a", "b"), np.array(["1"]))
    found = Means.of_scores(scores, METRICS)
    assert found.values.tolist() == [[1, 1]]
    assert np.isnan(found.deviations).all()


def test_users_weigh_as_many_relevant_items_as_they_have() -> None:
    """Three, none and one: of a mean of 4 / 3."""
    users, items = np.array([[0, 0, 0, 1, 2, 2], [0, 1, 2, 0, 0, 1]])
    grades = np.array([1, 1, 1, 0, 1, 0])
    qrels = qrels_from_columns(users, items, grades, n_users=3, relevance_level=1)
    assert user_weights(qrels, "users") is None
    found = user_weights(qrels, "judgements")
    assert found is not None
    assert found.tolist() == pytest.approx([9 / 4, 0, 3 / 4])


def test_runs_deviate_from_their_system_by_the_means_over_users_for_whom_all_rank() -> None:
    """Runs a1 and a2 rank for the last two users of three, b alone for all."""
    lists = [
        np.array(rows, dtype=np.int32) for rows in ([[-1], [1], [2]], [[1], [1], [2]], [[1]] * 3)
    ]
    replicates = Replicates.group_by_system(
        ["a", "a", "b"], [Run(f"r{n}", own) for n, own in enumerate(lists)]
    )
    values = np.array([[[9.0, 1, 2], [5, 3, 6], [7, 7, 7]]])
    scores = Scores(values, Measures([Measure("P", 1)]), ("x", "y", "z"), np.array(["1", "2", "3"]))
    found = deviations(scores, replicates)
    assert found.values.tolist() == [[-1.5, 1.5, 0]]
    twice = Scores(
        np.concatenate([values, 3 * values]),
        Measures([Measure("P", 1), Measure("AP", 1)]),
        ("x", "y", "z"),
        np.array(["1", "2", "3"]),
    )
    assert deviations(twice, replicates).values.tolist() == [[-1.5, 1.5, 0], [-4.5, 4.5, 0]]
    assert found.systems.tolist() == [0, 0, 1]
    assert found.complete.tolist() == [False, True]


def test_a_caption_says_over_whom_the_means_are() -> None:
    assert two_by_two().caption() == (
        "Mean scores over all 3 users with judgements (0 without recommendations)."
    )
    assert two_by_two(average="judgements").caption() == (
        "Mean scores over 3 users, weighted by their number of relevant items."
    )
    spreads = np.full((2, 2), 0.1)
    of_runs = two_by_two(sizes=np.array([2, 5]), spreads=spreads).caption()
    assert "and over 2 to 5 runs of each system. Columns with ±" in of_runs
    alike = two_by_two(sizes=np.array([3, 3]), spreads=spreads).caption()
    assert "and over 3 runs of each system." in alike


def test_a_table_has_a_column_for_each_measure_and_for_its_spread() -> None:
    of_a, of_b = two_by_two().table().rows
    assert of_a == ["a", 0.5, pytest.approx((0.1 * 0.1 * 0.8) ** (1 / 3))]
    assert of_b == ["b", pytest.approx(0.2), pytest.approx(0.4)]
    spreads = np.array([[1.0, 2], [3, 4]])
    table = two_by_two(sizes=np.array([2, 5]), spreads=spreads).table()
    assert [[row[2], row[4]] for row in table.rows] == [[1, 3], [2, 4]]
    assert [heading.startswith("± ") for heading in table.headings] == [
        False,
        False,
        True,
        False,
        True,
    ]


def test_coverage_is_tabulated_without_the_number_of_users() -> None:
    lists = np.array([[0, 1, 2], [1, 3, -1], [-1, -1, -1]], np.int32)
    users, items = np.array([[0, 0, 1, 2], [0, 7, 3, 3]])
    qrels = qrels_from_columns(users, items, np.ones(4, int), n_users=3, relevance_level=1)
    found = Coverage.of_runs([Run("a", lists)], qrels)
    assert found.frame().to_dict("records") == [
        {
            "system": "a",
            "users": 3,
            "users_without_recommendations": 1,
            "users_with_short_lists": 2,
            "items_recommended": 4,
            "judged_share": 0.4,
        }
    ]
    assert [list(row) for row in found.table().rows] == [["a", 1, 2, 4, 0.4]]
    nothing = Coverage.of_runs([Run("e", np.full((3, 2), -1, np.int32))], qrels)
    assert nothing.judged.tolist() == [0]
