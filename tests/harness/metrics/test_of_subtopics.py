"""Measures of subtopics: by hand, as ndeval computes them, and when judgements are lost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.shared.measure import Measure, Measures
from harness.metrics.shared.register import built_in_metrics, find_metric
from harness.scoring.score import SampleScorer, score
from qrels import Catalogue, Qrels, judge, qrels_from_columns
from qrels.subtopics import Subtopics
from runs import InputError, Numbering, Run
from runs.shared.arrays import Floats
from tests.conftest import examples
from tests.lists import means_on

METRICS = built_in_metrics()
N_ITEMS = 12
N_SUBTOPICS = 5

OfTopic = Mapping[int, Mapping[int, int]]
"""Grades of one topic, by item and subtopic."""


def qrels_of(topics: Sequence[OfTopic], *, relevance_level: int = 1) -> Qrels:
    """Make qrels of subtopics; an item has its highest grade."""
    users, items, counts = [], [], []
    numbers: list[int] = []
    grades: list[int] = []
    highest = []
    for user, grades_by_item in enumerate(topics):
        for item, grades_by_subtopic in grades_by_item.items():
            users.append(user)
            items.append(item)
            counts.append(len(grades_by_subtopic))
            numbers += grades_by_subtopic
            grades += grades_by_subtopic.values()
            highest.append(max(grades_by_subtopic.values()))
    subtopics = Subtopics(
        ids=Numbering.of([str(number) for number in range(N_SUBTOPICS)]),
        offsets=np.append(0, np.cumsum(counts)).astype(np.int64),
        numbers=np.array(numbers, dtype=np.int32),
        grades=np.array(grades, dtype=np.int32),
    )
    return qrels_from_columns(
        np.array(users, dtype=np.int32),
        np.array(items, dtype=np.int32),
        np.array(highest, dtype=np.int32),
        n_users=len(topics),
        relevance_level=relevance_level,
        subtopics=subtopics,
    )


def run_of(*lists: Sequence[int]) -> Run:
    """Make a run of lists of item numbers, of any lengths."""
    items = np.full((len(lists), max(map(len, lists))), -1, dtype=np.int32)
    for user, ranked in enumerate(lists):
        items[user, : len(ranked)] = ranked
    return Run("one", items)


def score_of(name: str, run: Run, qrels: Qrels, cutoff: int | None = None) -> list[float]:
    scores: list[float] = find_metric(name, METRICS)(judge(run, qrels), cutoff=cutoff).tolist()
    return scores


# Items 0, 1, 2 cover the subtopics {0}, {0, 1} and {2}; item 3 is judged, and relevant for none.
BY_HAND: OfTopic = {0: {0: 1}, 1: {0: 2, 1: 1, 2: 0}, 2: {2: 1}, 3: {0: 0, 1: -2}}
LISTED = (0, 3, 1, 7, 2)


@pytest.mark.parametrize(
    ("name", "cutoff", "expected"),
    [
        ("S-Recall", 1, 1 / 3),
        ("S-Recall", 2, 1 / 3),
        ("S-Recall", 3, 2 / 3),
        ("S-Recall", None, 1.0),
        ("alpha-nDCG", 1, 1 / 2),
        ("alpha-nDCG", 3, (1 + 1.5 / 2) / (2 + 1 / math.log2(3) + 0.5 / 2)),
        (
            "alpha-nDCG",
            None,
            (1 + 1.5 / 2 + 1 / math.log2(6)) / (2 + 1 / math.log2(3) + 0.5 / 2),
        ),
        ("ERR-IA", 3, (1 + 1.5 / 3) / (3 * (1 + 0.5 / 2 + 0.25 / 3))),
        (
            "ERR-IA",
            5,
            (1 + 1.5 / 3 + 1 / 5) / (3 * (1 + 0.5 / 2 + 0.25 / 3 + 0.125 / 4 + 0.0625 / 5)),
        ),
        # By the relevance level 2, item 1 covers subtopic 0, and nothing else covers any.
        ("S-Recall(rel=2)", 2, 0.0),
        ("S-Recall(rel=2)", 3, 1.0),
        ("alpha-nDCG(rel=2)", 3, 1 / 2),
        # Without unjudged items, item 2 is at rank 4.
        ("alpha-nDCG(condensed=true)", 4, (1.75 + 1 / math.log2(5)) / (2.25 + 1 / math.log2(3))),
    ],
)
def test_a_topic_by_hand(name: str, cutoff: int | None, expected: float) -> None:
    (found,) = score_of(name, run_of(LISTED), qrels_of([BY_HAND]), cutoff)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["alpha-nDCG", "ERR-IA", "S-Recall"])
def test_a_topic_without_relevant_items_scores_0(name: str) -> None:
    qrels = qrels_of([{0: {0: 0, 1: -1}}, {0: {1: 1}}])
    assert score_of(name, run_of([0], [0]), qrels, 1) == [0.0, 1.0]


def test_topics_do_not_share_their_subtopics() -> None:
    qrels = qrels_of([{0: {0: 1}, 1: {1: 1}}, {0: {0: 1}}])
    assert score_of("S-Recall", run_of([0], [0]), qrels, 1) == [0.5, 1.0]
    assert score_of("alpha-nDCG", run_of([0], [0]), qrels, 1) == [1.0, 1.0]


# ndeval, written apart: of gains that are equal the last item by id comes first.


def covered(grades: OfTopic, item: int, level: int) -> list[int]:
    return [subtopic for subtopic, grade in grades.get(item, {}).items() if grade >= level]


def gains_of(items: Sequence[int], grades: OfTopic, level: int) -> list[float]:
    n_seen = [0] * N_SUBTOPICS
    gains = []
    for item in items:
        gain = 0.0
        for subtopic in covered(grades, item, level):
            gain += 0.5 ** n_seen[subtopic]
            n_seen[subtopic] += 1
        gains.append(gain)
    return gains


def greedy_list(grades: OfTopic, level: int) -> list[int]:
    ranked: list[int] = []
    while len(ranked) < len(grades):
        left = [item for item in grades if item not in ranked]
        _, best = max((gains_of([*ranked, item], grades, level)[-1], item) for item in left)
        ranked.append(best)
    return ranked


def discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def by_ndeval(items: Sequence[int], grades: OfTopic, level: int, cutoff: int) -> dict[str, float]:
    gains = gains_of(items, grades, level)[:cutoff]
    ideal = gains_of(greedy_list(grades, level), grades, level)[:cutoff]
    relevant_for = {subtopic for item in grades for subtopic in covered(grades, item, level)}
    seen = {subtopic for item in items[:cutoff] for subtopic in covered(grades, item, level)}
    n_subtopics = len(relevant_for)
    if n_subtopics == 0:
        return {"alpha-nDCG": 0.0, "ERR-IA": 0.0, "S-Recall": 0.0}
    err = sum(gain / rank for rank, gain in enumerate(gains, start=1))
    highest_err = sum(0.5 ** (rank - 1) / rank for rank in range(1, cutoff + 1))
    return {
        "alpha-nDCG": discounted(gains) / discounted(ideal),
        "ERR-IA": err / (n_subtopics * highest_err),
        "S-Recall": len(seen) / n_subtopics,
    }


GRADES_OF_TOPIC = st.dictionaries(
    st.integers(0, N_ITEMS - 1),
    st.dictionaries(st.integers(0, N_SUBTOPICS - 1), st.integers(-2, 3), min_size=1),
    min_size=1,
    max_size=9,
)
RANKED = st.lists(st.integers(0, N_ITEMS - 1), max_size=9, unique=True)


@examples(30)
@given(
    topics=st.lists(st.tuples(GRADES_OF_TOPIC, RANKED), min_size=1, max_size=4),
    level=st.integers(1, 3),
    cutoff=st.integers(1, 10),
)
def test_scores_are_those_of_ndeval(
    topics: list[tuple[OfTopic, list[int]]], level: int, cutoff: int
) -> None:
    qrels = qrels_of([grades for grades, _ in topics], relevance_level=level)
    run = run_of(*(ranked for _, ranked in topics))
    for name in ("alpha-nDCG", "ERR-IA", "S-Recall"):
        expected = [by_ndeval(ranked, grades, level, cutoff)[name] for grades, ranked in topics]
        found = score_of(name, run, qrels, cutoff)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


NDEVAL = {"alpha-nDCG": 0.7417233289307067, "ERR-IA": 0.4114977307110439, "S-Recall": 1.0}
"""Values of pyndeval 0.0.8 for the topic by hand, at cut-off 5, with item numbers as ids."""


def test_ndeval_itself_agrees() -> None:
    qrels = qrels_of([BY_HAND])
    found = {name: score_of(name, run_of(LISTED), qrels, 5)[0] for name in NDEVAL}
    assert found == pytest.approx(NDEVAL, abs=1e-12)


# Random cases of many topics.


def random_case(seed: int, *, n_topics: int = 40) -> tuple[list[Run], Qrels]:
    """Make two runs, of different depths, and judgements of some items for some subtopics."""
    generator = np.random.default_rng(seed)
    topics = []
    for _ in range(n_topics):
        judged = generator.permutation(30)[: generator.integers(1, 15)].tolist()
        grades: dict[int, dict[int, int]] = {}
        for item in judged:
            numbers = generator.permutation(N_SUBTOPICS)[: generator.integers(1, 4)].tolist()
            grades[item] = {number: int(generator.integers(-1, 3)) for number in numbers}
        topics.append(grades)
    runs = []
    for system, depth in {"deep": 20, "short": 8}.items():
        items = np.argsort(generator.random((n_topics, 30)), axis=1)[:, :depth]
        runs.append(Run(system, items.astype(np.int32)))
    return runs, qrels_of(topics)


MEASURES = Measures(
    [Measure(name, cutoff) for name in ("alpha-nDCG", "ERR-IA", "S-Recall") for cutoff in (3, 10)]
)
OF_SUBTOPICS = {name: METRICS[name] for name in MEASURES.metrics}


def users_scores(runs: Sequence[Run], qrels: Qrels) -> Floats:
    users = np.array([f"{number:03d}" for number in range(qrels.n_users)])
    return score(runs, qrels, MEASURES, OF_SUBTOPICS, users=users).values


@pytest.mark.parametrize("seed", range(3))
def test_samples_of_the_judgements_score_as_qrels_that_lack_the_others(seed: int) -> None:
    runs, qrels = random_case(seed)
    is_kept = np.random.default_rng(seed).random((len(qrels.items), 4)) < [1.0, 0.6, 0.2, 0.0]
    scorer = SampleScorer(runs, qrels, list(MEASURES), OF_SUBTOPICS)
    found = means_on(scorer, qrels, is_kept)
    for sample in range(4):
        expected = users_scores(runs, qrels.keep(is_kept[:, sample])).mean(axis=2)
        np.testing.assert_allclose(found[..., sample], expected, rtol=0, atol=1e-12)
    assert (found[:, :, 0] > found[:, :, 2]).any()


def test_only_judged_ranks_are_needed_to_score_samples() -> None:
    runs, qrels = random_case(5)
    scorer = SampleScorer(runs, qrels, list(MEASURES), OF_SUBTOPICS)
    assert scorer.by_definition == ()


def test_scores_of_some_topics_are_those_among_all() -> None:
    runs, qrels = random_case(7)
    chosen = np.array([31, 2, 17])
    some_runs = [Run(run.system, run.items[chosen]) for run in runs]
    found = users_scores(some_runs, qrels.select_users(chosen))
    np.testing.assert_allclose(found, users_scores(runs, qrels)[:, :, chosen], rtol=0, atol=1e-12)


def test_blocks_of_users_change_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, qrels = random_case(8)
    together = users_scores(runs, qrels)
    monkeypatch.setattr("harness.scoring.blocks.USERS_AT_ONCE", 3)
    np.testing.assert_array_equal(users_scores(runs, qrels), together)


def test_lists_judged_at_once_score_as_those_judged_in_blocks() -> None:
    runs, qrels = random_case(9)
    by_blocks = users_scores(runs, qrels)
    for system, run in enumerate(runs):
        for number, measure in enumerate(MEASURES):
            found = score_of(measure.metric, run, qrels, measure.cutoff)
            np.testing.assert_allclose(found, by_blocks[number, system], rtol=0, atol=1e-12)


# Subtopics, or categories of items.


def test_subtopics_count_where_items_have_categories_too() -> None:
    runs, qrels = random_case(11)
    categories = Catalogue(30, features=np.ones((30, 2)))
    for name in OF_SUBTOPICS:
        found = METRICS[name](judge(runs[0], qrels, categories), cutoff=5)
        assert found.tolist() == score_of(name, runs[0], qrels, 5)


def test_subtopics_that_are_categories_score_as_categories_do() -> None:
    # Every judgement of item i is relevant for the categories of i, and for no other.
    has_category = np.random.default_rng(3).random((N_ITEMS, N_SUBTOPICS)) < 0.5
    topics = []
    for user in range(6):
        grades = {}
        for item in range(user, N_ITEMS, 2):
            grades[item] = {number: int(has_category[item, number]) for number in range(5)}
        topics.append(grades)
    run = run_of(*(np.roll(np.arange(N_ITEMS), user).tolist() for user in range(6)))
    qrels = qrels_of(topics)
    categories = Catalogue(N_ITEMS, features=has_category.astype(np.float64))
    for name in OF_SUBTOPICS:
        by_items = METRICS[name](judge(run, replace(qrels, subtopics=None), categories), cutoff=4)
        np.testing.assert_allclose(score_of(name, run, qrels, 4), by_items, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["alpha-nDCG", "ERR-IA", "S-Recall"])
def test_what_to_do_without_subtopics_and_categories_is_said(name: str) -> None:
    runs, qrels = random_case(12)
    whole_topics = replace(qrels, subtopics=None)
    finding = r'features = "features.csv" in \[items\], or give qrels with subtopics'
    with pytest.raises(InputError, match=finding):
        METRICS[name](judge(runs[0], whole_topics, Catalogue(30)))
