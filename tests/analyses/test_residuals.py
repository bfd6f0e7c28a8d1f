"""Residuals: against all judgements of small lists, tried one by one."""

from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analyses.residuals import Residuals, Settings, columns_in, largest_gain, residuals
from analyses.shared.measure import Measure, Measures
from harness.metrics.shared.register import built_in_metrics, find_metric
from qrels import Judged, Qrels
from runs import InputError
from tests.drawn import segments_of

METRICS = built_in_metrics()
NAMES = ("P", "Success", "RR", "DCG", "RBP", "ERR(top=2)")
SYSTEMS = ("a", "b", "c")
TOP = 2


def some_work(seed: int, names: tuple[str, ...] = NAMES) -> Any:
    """One user, lists of up to 4 of 6 items, two of which are judged."""
    draw = np.random.default_rng(seed)
    lists = {name: draw.permutation(6)[None, :4].astype(np.int32) for name in SYSTEMS}
    lists["c"][0, 4 - seed % 4 :] = -1
    judged = np.sort(draw.permutation(6)[:2]).astype(np.int32)
    qrels = Qrels(
        np.array([0, 2]),
        judged,
        np.array([TOP, draw.integers(0, 3)], dtype=np.int32),
        relevance_level=1,
    )
    measures = [Measure(name, 3) for name in names]

    def score_lists(measure: Measure, grades: np.ndarray) -> Any:
        return find_metric(measure.metric, METRICS)(Judged(grades, grades), cutoff=measure.cutoff)

    return SimpleNamespace(
        scores=SimpleNamespace(measures=Measures(measures, reported=measures)),
        recommended=lists,
        qrels=qrels,
        accumulation=lambda measure: find_metric(measure.metric, METRICS).accumulation,
        score_lists=score_lists,
        steps=lambda label, total, items: items,
        unit="user",
    )


def every_score(work: Any) -> np.ndarray:
    """Scores of the systems under all judgements: (n_judgements, n_measures, n_systems)."""
    known = dict(zip(work.qrels.items.tolist(), work.qrels.grades.tolist(), strict=True))
    unknown = [item for item in range(6) if item not in known]
    found = []
    for grades in product(range(TOP + 1), repeat=len(unknown)):
        told = known | dict(zip(unknown, grades, strict=True)) | {-1: np.nan}
        lists = [np.array([[float(told[i]) for i in row[0]]]) for row in work.recommended.values()]
        measures = work.scores.measures
        found.append([[work.score_lists(m, own)[0] for own in lists] for m in measures])
    return np.array(found)


@pytest.mark.parametrize("seed", range(8))
def test_limits_are_those_of_all_judgements(seed: int) -> None:
    work = some_work(seed)
    found, scores = residuals(work, Settings()), every_score(work)
    np.testing.assert_allclose(found.low, scores.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.high, scores.max(axis=0), atol=1e-12)
    differences = np.stack([scores[..., i] - scores[..., j] for i, j in ((0, 1), (0, 2), (1, 2))])
    lowest, highest = differences.min(axis=1).T, differences.max(axis=1).T
    exact = [n for n, name in enumerate(NAMES) if not name.startswith("ERR")]
    np.testing.assert_allclose(found.least[exact], lowest[exact], atol=1e-12)
    np.testing.assert_allclose(found.most[exact], highest[exact], atol=1e-12)
    assert (found.least[-1] <= lowest[-1] + 1e-12).all()
    assert (found.most[-1] >= highest[-1] - 1e-12).all()


def test_measures_without_bounds_are_refused_or_named() -> None:
    with pytest.raises(InputError, match="AP@3 and nDCG@3"):
        residuals(some_work(1, ("AP", "nDCG")), Settings())
    found = residuals(some_work(1, ("P", "ERR", "P(condensed=true)", "Recall")), Settings())
    assert found.labels == ("P@3",)
    (caution,) = found.cautions()
    assert "ERR@3, P(condensed=true)@3 and Recall@3" in caution


def test_pairs_that_are_judged_completely_are_settled() -> None:
    ones = np.ones((1, 1))
    found = Residuals(
        measures=Measures([Measure("P", 3)], reported=[Measure("P", 3)]),
        systems=("a", "b"),
        low=ones,
        high=ones,
        least=ones * 0.1,
        most=ones * 0.1,
        others=(),
        n_users=1,
        top=1.0,
    )
    assert found.settled().all()
    assert "1 under P@3" in found.findings()[0]


def some_work_of(*seeds: int) -> Any:
    """Several users, each with the lists and judgements of the work of one user."""
    works = [some_work(seed) for seed in seeds]
    offsets = np.cumsum([0, *(len(work.qrels.items) for work in works)])
    qrels = Qrels(
        offsets,
        np.concatenate([work.qrels.items for work in works]),
        np.concatenate([work.qrels.grades for work in works]),
        relevance_level=1,
    )
    lists = {name: np.concatenate([work.recommended[name] for work in works]) for name in SYSTEMS}
    return SimpleNamespace(**{**vars(works[0]), "recommended": lists, "qrels": qrels})


def test_limits_of_several_users_are_means_of_those_of_each() -> None:
    found = residuals(some_work_of(1, 2, 7), Settings())
    alone = [residuals(some_work(seed), Settings()) for seed in (1, 2, 7)]
    for name in ("low", "high", "least", "most"):
        expected = np.mean([getattr(result, name) for result in alone], axis=0)
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-12)
    assert found.n_users == 3


@pytest.mark.parametrize(("grade", "top"), [(3, 3), (1, 2)])
def test_unjudged_items_have_the_highest_grade_of_the_qrels_or_the_relevance_level(
    grade: int, top: int
) -> None:
    work = some_work(1, ("DCG",))
    grades = np.array([0, grade], dtype=np.int32)
    level = 1 if grade == 3 else 2
    items = work.qrels.items[:0] if level == 2 else work.qrels.items
    offsets = np.array([0, len(items)])
    work.qrels = Qrels(offsets, items, grades[: len(items)], relevance_level=level)
    found = residuals(work, Settings())
    assert found.top == top


def stated(**changes: Any) -> Residuals:
    """Limits of two measures and three systems."""
    measures = [Measure("P", 3), Measure("RR", 3)]
    facts: dict[str, Any] = {
        "measures": Measures(measures, reported=measures),
        "systems": SYSTEMS,
        "low": np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.5]]),
        "high": np.array([[0.2, 0.5, 0.5], [0.9, 0.6, 0.9]]),
        "least": np.array([[-0.4, 1e-12, 0.0], [0.0, -0.1, -1.0]]),
        "most": np.array([[0.0, 0.3, 0.0], [0.5, -1e-12, -0.5]]),
        "others": (),
        "n_users": 4,
        "top": 2.0,
    }
    return Residuals(**facts | changes)


def test_a_pair_whose_difference_may_be_exactly_0_is_not_settled() -> None:
    assert stated().settled().tolist() == [[False, True, False], [False, True, True]]


def test_the_table_has_the_mean_and_the_largest_residual_and_the_ordered_pairs() -> None:
    table = stated().table()
    assert [[*row] for row in table.rows] == [
        ["P@3", pytest.approx(0.2), pytest.approx(0.3), "b", "1 of 3"],
        ["RR@3", pytest.approx(0.3), pytest.approx(0.4), "a", "2 of 3"],
    ]
    (sentence,) = stated().findings()
    assert "1 under P@3 and 2 under RR@3" in sentence


def test_frames_have_limits_and_residuals_by_system_and_by_pair() -> None:
    frames = stated().frames()
    row = frames["residuals"].iloc[3]
    assert (row.metric, row.system, row.low, row.high) == ("RR", "a", 0.5, 0.9)
    assert row.residual == pytest.approx(0.4)
    row = frames["residual_pairs"].iloc[4]
    assert (row.metric, row["first"], row["second"]) == ("RR", "a", "c")
    assert (row.least, row.most, row.settled) == (-0.1, -1e-12, True)


@pytest.mark.slow
def test_lines_go_from_the_lowest_to_the_highest_mean_score() -> None:
    ax = stated().plot(label="P@3")
    ends = sorted((low, high) for (low, _), (high, _) in segments_of(ax))
    assert ends == [(0.1, 0.2), (0.2, 0.5), (0.3, 0.5)]
    points = {float(x) for line in ax.lines for x in np.atleast_1d(line.get_xdata())}
    assert {0.1, 0.2, 0.3} <= points
    assert not {0.5} & points


def test_columns_of_items_in_another_list_are_found_block_by_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    items = np.array([[4, 7, -1], [1, 2, 3], [5, -1, -1]])
    others = np.array([[7, 8], [3, 1], [-1, -1]])
    expected = [[-1, 0, -1], [1, -1, 0], [-1, -1, -1]]
    assert columns_in(items, others).tolist() == expected
    monkeypatch.setattr("analyses.residuals.COMPARED_AT_ONCE", 1)
    assert columns_in(items, others).tolist() == expected


@pytest.mark.slow
def test_deep_lists_of_many_users_are_compared_within_the_memory(
    rng: np.random.Generator, peak_megabytes: Callable[[], float]
) -> None:
    """All pairs of items of 300 users would take 300 MB, three times."""
    lists = rng.permuted(np.tile(np.arange(1000), (300, 1)), axis=1)
    columns = columns_in(lists, np.sort(lists, axis=1))
    np.testing.assert_array_equal(columns, lists)
    assert peak_megabytes() < 100


def test_the_caption_has_the_users_and_the_highest_grade() -> None:
    caption = stated().caption()
    assert "over 4 users" in caption
    assert "the highest grade (2)" in caption
    (sentence,) = stated().findings()
    assert sentence.startswith("Of 3 pairs of systems,")


def test_measures_without_residuals_are_a_caution_and_others_are_not() -> None:
    assert list(stated().cautions()) == []
    (caution,) = stated(others=("AP@3",)).cautions()
    assert caution.startswith("Residuals leave out AP@3:")
    assert stated().table().decimals == 3


@pytest.mark.parametrize(
    ("kind", "expected"), [("sum", 0.3 - 0.1 + 0.5), ("max", 0.4), ("cascade", 0.9 - 0.1)]
)
def test_the_largest_gain_of_one_user_by_hand(kind: str, expected: float) -> None:
    """Items 1 and 3 are unjudged; the other ranks the first of them second.

    A list with one item of the highest grade has 1/2, 1/4 and 1/4. By a sum, the first adds .25
    and the third .25; by a maximum, the third gives max(.3, .25) - .1, and the first .5 - .25.
    """
    gain = largest_gain(
        kind,
        np.array([0.5, 0.25, 0.25]),
        np.array([0.5, 0.25, 0.25]),
        is_unjudged=np.array([[True, False, True]]),
        other_columns=np.array([[1, 0, -1]]),
        scores=np.array([0.3]),
        other_scores=np.array([0.1]),
        highest_scores=np.array([0.9]),
    )
    if kind == "max":
        expected = max(0.3 - 0.1, 0.5 - 0.25, 0.3 - 0.1)
    assert gain.tolist() == [pytest.approx(expected)]


def test_few_users_are_compared_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 2 users of lists of 3 and 2 items."""
    monkeypatch.setattr("analyses.residuals.COMPARED_AT_ONCE", 12)
    items = np.arange(15).reshape(5, 3)
    assert columns_in(items, items[:, 1:]).tolist() == [[-1, 0, 1]] * 5


def test_lists_without_a_rank_have_no_columns() -> None:
    empty = np.empty((2, 0), dtype=np.int32)
    some = np.array([[1, 2], [3, 4]], dtype=np.int32)
    assert columns_in(empty, some).shape == (2, 0)


@pytest.mark.parametrize("name", ["a", "c"])
def test_lists_of_different_depths_are_compared(name: str) -> None:
    """By measures at cut-off 3, the fourth of the ranks changes nothing."""
    expected = residuals(some_work(1), Settings())
    work = some_work(1)
    work.recommended[name] = work.recommended[name][:, :3]
    found = residuals(work, Settings())
    np.testing.assert_allclose(found.high, expected.high)
    np.testing.assert_allclose(found.least, expected.least)
    np.testing.assert_allclose(found.most, expected.most)
