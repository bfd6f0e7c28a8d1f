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
CASE = Case(QRELS, {"t1": {"d1": "1"}}, ("-c", "-l2", "-mmap"))


def printing(measure: str, value: str) -> Evaluator:
    return lambda case, folder: f"{measure:<22}\tall\t{value}\n"


def stopping(case: Case, folder: Path) -> str:
    raise StoppedError("exit code 4")


@pytest.mark.slow
@pytest.mark.parametrize("is_tenth", [False, True])
def test_drawn_cases_are_evaluated(is_tenth: bool) -> None:
    random, tally = Random(5), Tally()
    ours = our_evaluator(is_tenth=is_tenth)
    for _ in range(20):
        compare(Case.drawn(random), ours, ours, tally)
    assert tally.cases == 20
    assert not tally.allowed


@pytest.mark.parametrize(
    ("measure", "ours", "theirs"),
    [
        ("map", "0.0000", "   -nan"),
        ("map", "0.1235", "0.1234"),
        ("num_rel", "1", "3"),
        ("relstring", "", "1"),
        ("unj_5", "", "0.2000"),
    ],
)
def test_a_difference_with_a_known_reason_is_counted(measure: str, ours: str, theirs: str) -> None:
    tally, found = Tally(), printing(measure, ours) if ours else lambda case, folder: ""
    compare(CASE, found, printing(measure, theirs), tally)
    assert tally.allowed.total() == tally.values == 1


@pytest.mark.parametrize(
    ("measure", "ours", "theirs"),
    [("map", "0.1234", "0.1236"), ("num_ret", "3", "4"), ("map", "0.1", ""), ("P_5", "", "0.2")],
)
def test_any_other_difference_is_found_out(measure: str, ours: str, theirs: str) -> None:
    with pytest.raises(DisagreementError, match=f"{measure} of all: ours '{ours}', .* '{theirs}'"):
        compare(CASE, printing(measure, ours), printing(measure, theirs), Tally())


def test_trec_eval_may_stop_at_a_topic_of_one_file_alone() -> None:
    tally = Tally()
    compare(Case(QRELS, {"t2": {}}, ("-l1",)), printing("map", "0"), stopping, tally)
    assert tally.stopped == 1
    with pytest.raises(DisagreementError, match="trec_eval stops: exit code 4"):
        compare(CASE, printing("map", "0"), stopping, tally)
