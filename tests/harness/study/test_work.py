"""What the analyses of a study may use, on a collection of two users and three items."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyses.shared.evidence import to_evidence
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import OtherWorld, StudyWorld, Truth
from harness import user_metric
from harness.metrics.shared.register import built_in_metrics, find_metric
from harness.scoring.score import score
from harness.study.collection import Collection
from harness.study.true_judgements import TrueJudgements
from harness.study.work import StudyWork
from qrels import Catalogue, FullRanks, Qrels, Ratings, Split
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError, Numbering, Run
from runs.replicates import Replicates
from tests.harness.small import Recorded

TOPICS, ITEMS = Numbering.of(["u", "v"]), Numbering.of(["a", "b", "c"])
QRELS = Qrels(
    offsets=np.array([0, 3, 5]),
    items=np.array([0, 1, 2, 0, 2], np.int32),
    grades=np.array([1, 0, -1, 0, 2], np.int32),
    relevance_level=1,
)
"""To u item a is relevant, b not, c is not judged; to v item c is relevant, a not."""

RUNS = [
    Run("s", np.array([[0, 1], [2, 0]], np.int32)),
    Run("t", np.array([[1, 0], [2, -1]], np.int32)),
]
LABELS = ("P", "RR", "nDCG", "AP(condensed=true)")
METRICS = {name: find_metric(name, built_in_metrics()) for name in LABELS}
MEASURES = Measures([Measure("P", 2), Measure("RR", 3), Measure("RR"), Measure("nDCG", 2)])
COLLECTION = Collection(TOPICS, ITEMS, QRELS, inputs=(), facts={})


def work(**options: Any) -> StudyWork:
    measures = options.pop("measures", MEASURES)
    collection = options.get("collection", COLLECTION)
    metrics = options.get("metrics", METRICS)
    scores = score(RUNS, QRELS, measures, metrics, users=TOPICS.ids)
    usual = {
        "name": "small",
        "seed": 3,
        "collection": collection,
        "runs": RUNS,
        "scores": scores,
        "metrics": METRICS,
        "catalogue": Catalogue(3),
    }
    return StudyWork(**(usual | options))


# Users and items


def test_a_study_of_runs_has_topics_and_their_judgements() -> None:
    assert work().unit == "topic"
    assert work().qrels is QRELS
    # Where nothing is trained, judgements say how active a user is.
    assert work().activity.tolist() == [3, 2]
    assert work().n_jobs == 1


RATED = Numbering.of(["u", "v", "w"])


def ratings_of(rows: list[tuple[int, int]]) -> Ratings:
    user, item = np.array(rows, np.int32).T
    return Ratings(RATED, ITEMS, user, item, np.ones(len(rows)))


def test_a_study_that_trains_has_users_and_their_training_ratings() -> None:
    split = Split(ratings_of([(0, 0), (1, 0), (1, 1), (2, 2)]), ratings_of([(0, 1), (2, 0)]))
    trained = work(collection=replace(COLLECTION, split=split))
    assert trained.unit == "user"
    assert trained.activity.tolist() == [1, 1]
    assert trained.popularity_counts["train"].tolist() == [2, 1, 1]


def test_ratings_of_items_are_counted_in_the_qrels_where_nothing_is_trained() -> None:
    assert {name: counts.tolist() for name, counts in work().popularity_counts.items()} == {
        "test": [2, 1, 2]
    }


# Systems


def test_known_families_are_kept_and_others_found_by_likeness() -> None:
    assert work(known_families={"s": "mine", "t": "mine"}).families.family_numbers.tolist() == [
        0,
        0,
    ]
    assert work(known_families={"s": "mine", "t": "yours"}).families.family_numbers.tolist() == [
        0,
        1,
    ]
    assert not work(known_families={"s": "mine", "t": "yours"}).families.by_similarity
    assert work(known_families={"s": "mine"}).families.by_similarity


def test_lists_are_known_by_system() -> None:
    listed = work().recommended
    assert [*listed] == ["s", "t"]
    assert listed["t"] is RUNS[1].items


REPLICATES = Replicates.group_by_system(["s", "s"], RUNS)


def test_several_lists_of_a_system_are_refused_where_one_is_needed() -> None:
    with pytest.raises(InputError, match="one list for each user and system"):
        work(replicates=REPLICATES).recommended  # noqa: B018


def test_ranks_are_read_from_their_files(tmp_path: Path) -> None:
    ranks = FullRanks.of([2, 1], n_candidates=3, user=[0, 1])
    whole = CandidateRanks(np.array([1]), np.array([[2, 0, 1]], np.uint16))
    for name, result in (("ranks", ranks), ("whole", whole)):
        (tmp_path / name).write_bytes(to_evidence(result))
    found = work(
        relevant_rank_files={"s": tmp_path / "ranks"},
        candidate_rank_files={"t": tmp_path / "whole"},
    )
    assert {system: one.rank.tolist() for system, one in found.full_ranks.items()} == {"s": [2, 1]}
    assert found.candidate_ranks["t"].rank.tolist() == [[2, 0, 1]]
    assert (work().full_ranks, work().candidate_ranks) == ({}, {})


# Measures


def test_scores_at_a_cutoff_may_be_whole_numbers_over_a_divisor() -> None:
    """Of 2 ranks P is a half or a whole, of 3 ranks RR in sixths; nDCG and whole lists are not."""
    assert work().scales == {Measure("P", 2): 2, Measure("RR", 3): 6}


def test_means_over_runs_of_a_system_have_their_number_as_a_divisor_too() -> None:
    assert work(replicates=REPLICATES).scales == {Measure("P", 2): 4, Measure("RR", 3): 12}


def test_weighted_scores_are_no_whole_numbers() -> None:
    weighted = replace(work().scores, weights=np.array([0.5, 1.5]))
    assert work(scores=weighted).scales == {}


def test_relevant_items_add_up_as_the_metric_says() -> None:
    assert work().accumulation(Measure("P", 2)) == "sum"
    assert work().accumulation(Measure("RR", 3)) == "max"
    assert work().accumulation(Measure("AP(condensed=true)", 3)) == ""


def test_lists_of_grades_are_scored_by_the_level_of_the_study() -> None:
    grades = np.array([[0.0, 1.0, 1.0], [2.0, np.nan, 0.0]])
    assert work().score_lists(Measure("P", 2), grades).tolist() == [0.5, 0.5]
    assert work().score_lists(Measure("RR", 1), grades).tolist() == [0.0, 1.0]
    assert work().score_lists(Measure("RR"), grades).tolist() == [0.5, 1.0]
    of_two = replace(COLLECTION, qrels=replace(QRELS, relevance_level=2))
    assert work(collection=of_two).score_lists(Measure("P", 2), grades).tolist() == [0.0, 0.5]


# Samples of the judgements

WHOLE = np.ones((5, 1), np.bool_)


def test_all_judgements_give_the_scores_in_the_sum_over_users() -> None:
    progress = Recorded()
    small = work(measures=Measures(MEASURES[:2]), progress=progress)
    sums = small.rescorer(1)(WHOLE, blocks=np.array([0, 0]))
    np.testing.assert_allclose(sums[:, 0, :, 0], small.scores.values.sum(axis=2))
    assert progress.notes == []


def test_lost_judgements_change_the_scores() -> None:
    """Without a, which is relevant to u, both systems have nothing for u."""
    kept = WHOLE.copy()
    kept[0] = False
    sums = work().rescorer(1)(kept, blocks=np.array([0, 1]))
    assert sums[0, :, :, 0].tolist() == [[0, 0], [0.5, 0.5]]


def test_scores_of_samples_are_weighted_and_averaged_over_runs() -> None:
    weighted = replace(work().scores, weights=np.array([0.5, 1.5]))
    sums = work(scores=weighted).rescorer(1)(WHOLE, blocks=np.array([0, 0]))
    np.testing.assert_allclose(sums[:, 0, :, 0], weighted.weighted_values.sum(axis=2))
    sums = work(replicates=REPLICATES).rescorer(1)(WHOLE, blocks=np.array([0, 0]))
    np.testing.assert_allclose(sums[:, 0, :, 0], work().scores.values.sum(axis=2) / 2)


@user_metric("first", source="by hand")
def first(grades: Any, user: Any) -> float:
    """Whether the first item is judged, user by user."""
    return float(len(grades) > 0 and grades[0] == grades[0])


def test_metrics_that_need_all_ranks_are_said_to_be_slow() -> None:
    progress = Recorded()
    slow = work(
        measures=Measures([Measure("P", 2), Measure("first", 2)]),
        metrics=METRICS | {"first": first},
        progress=progress,
    )
    slow.rescorer(1200)
    (note,) = progress.notes
    assert note.startswith("first: scored from all ranks of every list, 1,200 samples")


# Other worlds


def test_other_worlds_are_studied_by_what_can() -> None:
    asked: list[Any] = []

    def study_all(worlds: Sequence[OtherWorld], study: StudyWorld) -> Iterator[Any]:
        asked.append((worlds, study))
        return iter([1, 2])

    worlds: Any = ["one", "two"]
    study: Any = "what is asked"
    assert [*work(run_in_worlds=study_all).in_worlds(worlds, study)] == [1, 2]
    assert asked == [(worlds, study)]
    with pytest.raises(InputError, match="the analysis needs a simulated world; small has none"):
        work().in_worlds(worlds, study)


# The truth


def test_what_both_sides_judge_is_paired() -> None:
    """The truth is of t, whom the study does not know, u and v.

    For u it judges a, as the study does, and c, which the study does not; for v a and c, as the
    study does.
    """
    true_qrels = Qrels(
        offsets=np.array([0, 1, 4, 7]),
        items=np.array([0, 0, 1, 2, 0, 1, 2], np.int32),
        grades=np.array([5, 5, -1, 3, 4, -1, 4], np.int32),
        relevance_level=4,
    )
    topics = Numbering.of(["t", "u", "v"])
    known = TrueJudgements(
        trec_topics=topics,
        topics=topics,
        qrels=true_qrels,
        origin="by hand",
        candidates="all",
        facts={},
        users=np.array([0, 1, 2], np.int32),
        rows=np.array([-1, 0, 1], np.int32),
    )
    judged = work(collection=replace(COLLECTION, true_judgements=known)).judged_twice
    users, grades, true_grades = (column.tolist() for column in judged)
    assert (users, grades, true_grades) == ([0, 1, 1], [1, 0, 2], [5, 4, 4])


def test_without_a_truth_nothing_is_judged_twice() -> None:
    with pytest.raises(InputError, match="the analysis needs a truth; small has none"):
        work().judged_twice  # noqa: B018
    with pytest.raises(InputError, match="the analysis needs a truth; small has none"):
        work().truth  # noqa: B018


def test_the_truth_is_what_is_known() -> None:
    scores = Scores(np.zeros((1, 2, 1)), Measures([Measure("P", 2)]), ("s", "t"), np.array(["u"]))
    truth = Truth(scores, (Measure("P", 2),), "by hand")
    assert work(known_truth=truth).truth is truth
