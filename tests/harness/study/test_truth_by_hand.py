"""Three users and four items whose truth is enumerated by hand, through whole studies."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.harness.small import run_text

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("blank_figures"),
    pytest.mark.filterwarnings("ignore::runs.InputWarning"),
]

LISTS = {
    "popular": {"u1": "abcd", "u2": "abcd", "u3": "abcd"},
    "good": {"u1": "bacd", "u2": "cabd", "u3": "dabc"},
    "bad": {"u1": "dcba", "u2": "dbac", "u3": "abcd"},
}
LIKED = {"u1": "ab", "u2": "ac", "u3": "d"}
RATED = {"u1": {"a": 1}, "u2": {"a": 1, "c": 0}, "u3": {"d": 1}}
COMPLETE = {user: {i: int(i in liked) for i in "abcd"} for user, liked in LIKED.items()}
SOME = {
    u: {i: g for i, g in own.items() if (u, i) not in (("u1", "a"), ("u2", "a"))}
    for u, own in COMPLETE.items()
}
"""All but the popular item of two users."""

STUDY = """
name = "hand"
[runs]
paths = ["*.run"]
[qrels]
path = "test.qrels"
[metrics]
names = ["P@1"]
[analyses]
names = ["validity"]
[analyses.validity]
judgements = false
replicates = 0
[truth]
path = "true.qrels"
references = ["P@1"]
"""


def write(folder: Path, truth: dict[str, dict[str, int]]) -> None:
    for system, lists in LISTS.items():
        lines = [
            f"{user} Q0 {item} {rank} {9 - rank} {system}\n"
            for user, items in lists.items()
            for rank, item in enumerate(items, start=1)
        ]
        (folder / f"{system}.run").write_text("".join(lines))
    for name, judged in (("test", RATED), ("true", truth)):
        lines = [f"{u} 0 {i} {grade}\n" for u, own in judged.items() for i, grade in own.items()]
        (folder / f"{name}.qrels").write_text("".join(lines))


def compared(
    folder: Path, truth: dict[str, dict[str, int]], *, candidates: str
) -> "pd.Series[Any]":
    write(folder, truth)
    text = STUDY + f'candidates = "{candidates}"\n'
    study = run_text(text, folder, output=folder / "study")
    frame = pd.read_csv(study / "tables/validity.csv")
    return frame[frame.truth == "itself"].iloc[0]


@pytest.mark.parametrize("candidates", ["judged", "all"])
def test_of_all_items_the_truth_is_the_same_whichever_are_ranked(
    tmp_path: Path, candidates: str
) -> None:
    """Measured P@1 is 2/3, 1/3, 0 of popular, good, bad, and true P@1 is 2/3, 1, 0."""
    found = compared(tmp_path, COMPLETE, candidates=candidates)
    # Of three pairs popular and good are the wrong way round.
    assert found.tau == pytest.approx(1 / 3)
    # Down popular, good, bad: above good 0 of 1 is right, above bad 2 of 2.
    assert found.tau_ap == pytest.approx(2 / 2 * (0 / 1 + 2 / 2) - 1)
    assert (found.chosen, found.regret) == ("popular", pytest.approx(1 / 3))
    assert found.regret_share == pytest.approx(1 / 3)
    # Good is better than bad for all three users: that alone is sure; and measured for one.
    assert (found.true_differences, found.inversions) == (1, 0)
    assert (found.power, found.missed) == (0.0, pytest.approx(1 / 3))


def test_judged_items_alone_are_ranked_as_if_there_were_no_others(tmp_path: Path) -> None:
    """Without the popular item true P@1 is 1/3, 1, 0: only u1's next one is liked."""
    found = compared(tmp_path, SOME, candidates="judged")
    assert (found.tau, found.regret) == (pytest.approx(1 / 3), pytest.approx(2 / 3))


def test_a_truth_that_is_what_is_measured_agrees_with_it(tmp_path: Path) -> None:
    found = compared(tmp_path, RATED, candidates="all")
    assert (found.tau, found.tau_ap, found.regret) == (1.0, 1.0, 0.0)
