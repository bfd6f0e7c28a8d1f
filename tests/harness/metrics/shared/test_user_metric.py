"""Metrics written over one user's list."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics.shared.register import built_in_metrics
from harness.metrics.shared.user_metric import User, user_metric
from qrels import Judged, Qrels, judge
from runs import InputError, Run
from tests.conftest import examples
from tests.harness.small import TREC, run_text, write_collection
from tests.lists import runs_and_qrels


@user_metric("RR-by-hand", source="here")
def reciprocal(grades: Any, user: User) -> float:
    """Reciprocal of the rank of the first relevant item."""
    for rank, grade in enumerate(grades, start=1):
        if grade >= user.relevance_level:
            return 1 / rank
    return 0.0


@user_metric("facts", source="here", high=np.inf)
def facts(grades: Any, user: User) -> float:
    return len(grades) + 10 * user.cutoff + 100 * user.n_relevant + 1000 * user.n_nonrelevant


@examples(30)
@given(case=runs_and_qrels(), cutoff=st.integers(1, 10))
def test_a_function_over_one_list_scores_as_one_over_all(
    case: tuple[Run, Qrels], cutoff: int
) -> None:
    judged = judge(*case)
    by_hand = reciprocal(judged, cutoff=cutoff)
    np.testing.assert_array_equal(by_hand, built_in_metrics()["RR"](judged, cutoff=cutoff))


def test_the_function_sees_the_list_down_to_the_cutoff_or_its_end() -> None:
    lists = np.array([[1.0, 0.0, np.nan], [1.0, np.nan, np.nan]])
    judged = Judged(lists, np.array([[1.0, 0.0], [1.0, np.nan]]), lengths=np.array([3, 1]))
    assert facts(judged, cutoff=2).tolist() == [1122.0, 121.0]


def test_what_is_judged_has_its_grade_and_nothing_else_has_one() -> None:
    seen = []

    @user_metric("seen", source="here")
    def see(grades: Any, user: User) -> float:
        seen.extend(grades.tolist())
        return 0.0

    see(Judged(np.array([[2.0, 0.0, np.nan, -1.0]]), np.array([[2.0, 0.0, -1.0]])))
    assert seen[:2] == [2.0, 0.0]
    assert np.isnan(seen[2:]).all()


def test_a_failure_names_file_line_and_user() -> None:
    @user_metric("fails", source="here")
    def fails(grades: Any, user: User) -> float:
        return 1 / user.n_relevant

    judged = Judged(np.ones((2, 1)), np.array([[1.0], [0.0]]))
    with pytest.raises(
        InputError,
        match=r"test_user_metric\.py, line \d+: ZeroDivisionError: .* \(for user number 1\)",
    ):
        fails(judged)


def test_a_function_without_a_number_is_refused_with_the_user() -> None:
    @user_metric("none", source="here")
    def nothing(grades: Any, user: User) -> Any:
        return None

    with pytest.raises(InputError, match=r"'NoneType' \(for user number 0\)"):
        nothing(Judged(np.ones((1, 1)), np.ones((1, 1))))


@pytest.mark.slow
def test_a_study_notes_that_it_is_slow(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "mine.py").write_text(
        "from harness.metrics.shared.user_metric import user_metric\n"
        "@user_metric('mine', source='here')\n"
        "def mine(grades, user):\n    return 0.5\n"
    )
    metrics = '[metrics]\nnames = ["P", "mine"]\ncutoffs = [5]\nplugins = ["mine.py"]\n'
    study = run_text(
        TREC + metrics + '[analyses]\nnames = ["correlation"]\n',
        tmp_path,
        output=tmp_path / "study",
    )
    assert (study / "report.html").exists()


def test_the_user_has_all_grades_from_0_on_the_best_first_and_the_counts() -> None:
    seen: list[User] = []

    @user_metric("sees", source="here", high=np.inf)
    def see(grades: Any, user: User, *, p: float = 0.5) -> float:
        seen.append(user)
        return p

    judgements = np.array([[1.0, -1.0, 3.0, 0.0, np.nan], [0.0, -0.5, np.nan, np.nan, np.nan]])
    judged = Judged(np.full((2, 4), np.nan), judgements, relevance_level=1)
    assert see(judged, cutoff=9).tolist() == [0.5, 0.5]
    assert see(judged, p=0.25).tolist() == [0.25, 0.25]
    assert [user.ideal_grades.tolist() for user in seen[:2]] == [[3, 1, 0], [0]]
    assert [(user.n_relevant, user.n_nonrelevant) for user in seen[:2]] == [(2, 1), (0, 1)]
    assert [(user.cutoff, user.relevance_level) for user in seen] == [(9, 1)] * 2 + [(4, 1)] * 2
    assert see.per_user
