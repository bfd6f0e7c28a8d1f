"""Whether runs and qrels make sense together, before any number is computed."""

from pathlib import Path

import numpy as np
import pytest

from harness.readers.sense_check import (
    SenseCheck,
    check_grades,
    check_runs,
    deep_cutoffs,
    equal_measures,
)
from qrels.trec import QrelsFile, parse_qrels
from runs import InputError, InputWarning
from runs.formats import parse_runs
from runs.run_file import RunFile

QRELS = "".join(f"t{topic} 0 i{item} {item % 2}\n" for topic in range(4) for item in range(5))


def qrels_file(text: str = QRELS) -> QrelsFile:
    return parse_qrels(Path("q"), text.encode())


def run_file(items: list[str], topics: range = range(4), name: str = "s") -> RunFile:
    lines = [
        f"t{topic} Q0 {item} {rank} {9 - rank} {name}\n"
        for topic in topics
        for rank, item in enumerate(items, start=1)
    ]
    (run,) = parse_runs(Path(f"{name}.run"), "".join(lines).encode())
    return run


def test_runs_with_judged_items_are_silent() -> None:
    check_runs([run_file(["i0", "x", "y"])], qrels_file(), source="q")


@pytest.mark.parametrize(
    ("items", "difference"),
    [
        (["D-i1", "D-i2"], "They match without what stands before the last `-`."),
        (["i1.0", "i2.0"], "They match without a decimal part."),
        (["I1", "I2"], "They match without capitals."),
        (["x", "y"], "Write ids alike in both files."),
    ],
)
def test_runs_without_any_judged_item_are_refused(items: list[str], difference: str) -> None:
    with pytest.raises(InputError) as refused:
        check_runs([run_file(items)], qrels_file(), source="q")
    answer = str(refused.value)
    assert answer.startswith("no run has an item that is judged, so that all measures would be 0")
    assert f"items are written as {items[0]!r} in s.run, and as 'i0' in q." in answer
    assert answer.endswith(difference)


def test_leading_zeros_are_named() -> None:
    qrels = qrels_file("t0 0 0012 1\nt0 0 0013 0\n")
    with pytest.raises(InputError, match="They match without leading zeros"):
        check_runs([run_file(["12"], range(1))], qrels, source="q")


def test_one_run_without_a_judged_item_is_named() -> None:
    runs = [run_file(["i0", "i1"]), run_file(["D-i0"], name="odd")]
    with pytest.warns(InputWarning, match=r"odd\.run does not have an item that is judged"):
        check_runs(runs, qrels_file(), source="q")


def test_items_that_are_judged_for_other_topics_alone_are_named() -> None:
    qrels = qrels_file("t0 0 a 1\nt1 0 b 1\n")
    run = "t0 Q0 b 1 1 s\nt1 Q0 a 1 1 s\n"
    with pytest.warns(InputWarning, match="its items are in q, but for other topics"):
        check_runs(parse_runs(Path("s.run"), run.encode()), qrels, source="q")


def test_a_run_with_few_of_the_topics_may_have_failed() -> None:
    with pytest.warns(InputWarning, match=r"s\.run has lists for 1 of the 4 topics"):
        check_runs([run_file(["i0"], range(1))], qrels_file(), source="q")
    check_runs([run_file(["i0"], range(2))], qrels_file(), source="q")


def test_a_judged_item_that_stands_far_down_counts() -> None:
    items = [f"x{n}" for n in range(1_500)]
    check = SenseCheck(qrels_file(), "q")
    check.add(run_file([*items, "i0"], range(1)))
    assert check.runs[0].has_judged_pair
    assert check.runs[0].judged_share == 1 / 5
    assert check.runs[0].odd_item.startswith("x")


def test_grades_that_are_all_relevant_are_asked_about() -> None:
    file = qrels_file("t 0 a 1\nt 0 b 3\nt 0 c 5\n")
    with pytest.warns(InputWarning, match="all grades, 1, 3, 5, reach the relevance level 1.*-l 3"):
        check_grades(file.to_qrels(file.items, relevance_level=1), remedy="`-l {level}`")
    check_grades(file.to_qrels(file.items, relevance_level=2), remedy="")
    of_one_grade = qrels_file("t 0 a 1\nt 0 b 1\n")
    check_grades(of_one_grade.to_qrels(of_one_grade.items, relevance_level=1), remedy="")


def test_cut_offs_are_deep_that_hold_more_than_half_of_the_items() -> None:
    assert deep_cutoffs([100, 5, 60, 61], 120) == [61, 100]
    assert deep_cutoffs([5, 10], 20) == []


def test_measures_are_one_another_where_each_user_has_one_relevant_item() -> None:
    file = qrels_file("t 0 a 1\nt 0 b 0\nu 0 a 1\n")
    qrels = file.to_qrels(file.items, relevance_level=1)
    assert equal_measures(qrels, ["P", "Recall", "nDCG", "AP", "RR"]) == [
        "P@n is Recall@n / n",
        "AP is RR",
    ]
    assert equal_measures(qrels, ["P", "nDCG"]) == []
    no_longer = qrels.keep(np.array([True, True, False]))
    assert equal_measures(no_longer, ["P", "Recall"]) == []
