"""What ``make conformance`` finds out, and what it lets pass."""

from pathlib import Path
from random import Random

import pytest

from tests.fuzzing.conformance import (
    Case,
    DisagreementError,
    Evaluator,
    StoppedError,
    Tally,
    compare,
    our_evaluator,
)

QRELS = {"t1": {"d1": 1}}
CASE = Case(QRELS, {"t1": {"d1": "1"}}, ("-c", "-l2", "-J", "-mmap"))
LONE = Case({**QRELS, "t2": {"d1": 1, "d2": 2}}, {"t1": {"d1": "1"}}, ("-c", "-q", "-l1"))
"""The run lacks a topic that has two relevant items."""


def printing(measure: str, value: str, *, topic: str = "all") -> Evaluator:
    return lambda case, folder: f"{measure:<22}\t{topic}\t{value}\n"


def printing_nothing(case: Case, folder: Path) -> str:
    return ""


def stopping(case: Case, folder: Path) -> str:
    raise StoppedError("exit code 4")


@pytest.mark.slow
@pytest.mark.parametrize("version", [9, 10])
def test_drawn_cases_are_evaluated(version: int) -> None:
    random, tally = Random(5), Tally()
    ours = our_evaluator(version)
    for _ in range(20):
        compare(Case.drawn(random), ours, ours, tally, version=version)
    assert tally.cases == 20
    assert not tally.allowed


@pytest.mark.parametrize(
    ("measure", "ours", "theirs"),
    [
        ("map", "0.0000", "   -nan"),
        ("num_rel", "1", "3"),
        ("relstring", "", "1"),
        ("unj_5", "", "0.2000"),
    ],
)
def test_a_difference_with_a_known_reason_is_counted(measure: str, ours: str, theirs: str) -> None:
    tally, found = Tally(), printing(measure, ours) if ours else printing_nothing
    compare(CASE, found, printing(measure, theirs), tally, version=9)
    assert tally.allowed.total() == tally.values == 1


@pytest.mark.parametrize(
    ("measure", "ours", "theirs"),
    [
        ("map", "0.1235", "0.1234"),
        ("map", "0.1234", "0.1236"),
        ("num_ret", "3", "4"),
        ("map", "0.1", ""),
        ("P_5", "", "0.2"),
    ],
)
def test_any_other_difference_is_found_out(measure: str, ours: str, theirs: str) -> None:
    with pytest.raises(DisagreementError, match=f"{measure} of all: ours '{ours}', .* '{theirs}'"):
        compare(CASE, printing(measure, ours), printing(measure, theirs), Tally(), version=9)


def test_the_ninth_trec_eval_alone_prints_nothing_of_a_missing_topic() -> None:
    ours, tally = printing("map", "0.0000", topic="t2"), Tally()
    compare(LONE, ours, printing_nothing, tally, version=9)
    assert tally.allowed.total() == 1
    with pytest.raises(DisagreementError, match="map of t2"):
        compare(LONE, ours, printing_nothing, Tally(), version=10)


def test_trec_eval_may_stop_at_negative_grades_alone() -> None:
    tally = Tally()
    negative = Case({"t1": {"d1": -1}}, CASE.run, ("-l1",))
    compare(negative, printing("map", "0"), stopping, tally, version=9)
    assert tally.stopped == 1
    with pytest.raises(DisagreementError, match="trec_eval stops: exit code 4"):
        compare(CASE, printing("map", "0"), stopping, tally, version=9)
