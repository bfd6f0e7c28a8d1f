"""Scores with their labels, and runs of a system."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import RunDeviations, Scores
from runs import InputError

P5 = Measure("P", 5)
WHOLE = Measure("AP")

VALUES = np.array([[[0.0, 0.5, 1.0], [1.0, 0.5, 0.75]], [[4.0, 5.0, 9.0], [1.0, 2.0, 3.0]]])
USERS = np.array(["u2", "u1", "u3"])
OF_TWO = Scores(VALUES, Measures([P5, WHOLE]), ("a", "b"), USERS)


def test_means_have_a_row_for_each_system_and_a_column_for_each_measure() -> None:
    assert OF_TWO.means().to_dict() == {"P@5": {"a": 0.5, "b": 0.75}, "AP": {"a": 6, "b": 2}}


def test_means_add_up_users_by_rising_id() -> None:
    """In the other order, 1e16 + 1 is 1e16."""
    values = np.array([[[1e16, -1e16, 1.0]]])
    for users, total in ((["1", "2", "3"], 1.0), (["2", "3", "1"], 0.0)):
        scores = Scores(values, Measures([P5]), ("a",), np.array(users))
        assert scores.mean_values().tolist() == [[total / 3]]


def test_the_frame_has_a_row_for_each_score() -> None:
    frame = OF_TWO.frame()
    assert frame.columns.tolist() == ["measure", "system", "user", "score"]
    assert frame.iloc[5].tolist() == ["P@5", "b", "u3", 0.75]
    assert len(frame) == 12


def test_scores_of_some_measures_are_taken_with_the_deviations_of_their_runs() -> None:
    runs = RunDeviations(np.array([[1.0, -1.0], [2.0, -2.0]]), np.array([0, 0]), np.ones(1, bool))
    scores = Scores(VALUES, OF_TWO.measures, ("a", "b"), USERS, runs)
    some = scores.select(Measures([WHOLE]))
    assert some.values.tolist() == VALUES[1:].tolist()
    assert some.runs is not None
    assert some.runs.values.tolist() == [[2, -2]]
    assert OF_TWO.select(Measures([WHOLE])).runs is None


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scores_must_fit_their_labels(axis: int) -> None:
    with pytest.raises(InputError, match=r"do not fit labels of \(2, 2, 3\)"):
        Scores(VALUES.repeat(2, axis=axis), OF_TWO.measures, OF_TWO.systems, USERS)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_must_be_finite(value: float) -> None:
    values = VALUES.copy()
    values[1, 0, 2] = value
    with pytest.raises(InputError, match=rf"got {value} for AP, a, topic u3\."):
        Scores(values, OF_TWO.measures, OF_TWO.systems, USERS, unit="topic")


@pytest.mark.parametrize(
    ("n_systems", "n_users", "needed", "is_refused"),
    [(2, 1, 1, False), (1, 1, 1, True), (2, 0, 1, True), (2, 2, 2, False), (2, 1, 2, True)],
)
def test_an_analysis_needs_two_systems_and_one_or_two_users(
    n_systems: int, n_users: int, needed: int, is_refused: bool
) -> None:
    scores = Scores(
        np.zeros((1, n_systems, n_users)),
        Measures([P5]),
        tuple("ab"[:n_systems]),
        np.array(["1", "2"])[:n_users],
    )
    if is_refused:
        least = "one user" if needed == 1 else "two users"
        with pytest.raises(InputError, match=f"two systems and {least}, got {n_systems} and"):
            scores.require("x", users=needed)
    else:
        scores.require("x", users=needed)


def test_by_default_an_analysis_needs_one_user() -> None:
    Scores(np.zeros((1, 2, 1)), Measures([P5]), ("a", "b"), np.array(["1"])).require("x")


@pytest.mark.parametrize(("n_systems", "in_text", "in_html"), [(10, 10, 10), (31, 10, 30)])
def test_a_view_has_the_means_of_the_first_systems(
    n_systems: int, in_text: int, in_html: int
) -> None:
    systems = tuple(f"s{number:02}" for number in range(n_systems))
    scores = Scores(
        np.full((1, n_systems, 2), 0.625), Measures([P5]), systems, np.array(["1", "2"])
    )
    assert repr(scores).startswith(f"Scores: 1 measure, {n_systems} systems, 2 users. Means:")
    assert repr(scores).count("0.6250") == in_text
    assert scores._repr_html_().count("<td>0.6250</td>") == in_html


def test_weights_must_fit_the_users() -> None:
    with pytest.raises(InputError, match=r"weights of shape \(2,\) do not fit 3 users"):
        Scores(VALUES, OF_TWO.measures, OF_TWO.systems, USERS, weights=np.ones(2))


# Runs of a system


def test_variances_of_means_over_runs_are_those_of_the_runs_over_their_number() -> None:
    """Runs of the first system deviate by -1, 0 and 1: a variance of 1, and of the mean 1 / 3."""
    deviations = np.array([[-1.0, 0.0, 1.0, 0.0], [-3.0, 1.0, 2.0, 0.0]])
    runs = RunDeviations(deviations, np.array([0, 0, 0, 1]), np.ones(2, dtype=np.bool_))
    variances, freedom = runs.variances()
    np.testing.assert_allclose(variances, [[1 / 3, 0], [7 / 3, 0]])
    assert freedom.tolist() == [2, 0]
    turned = runs.select([1, 0], np.array([-1.0, 1.0]))
    assert turned.values.tolist() == [[3, -1, -2, 0], [-1, 0, 1, 0]]
    assert runs.select([0]).values.tolist() == [[-1, 0, 1, 0]]


@pytest.mark.parametrize(
    ("systems", "complete"),
    [([0, 0, 0], [True]), ([0, 1], [True]), ([0, 0], [True, True])],
)
def test_runs_must_fit_their_deviations(systems: list[int], complete: list[bool]) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        RunDeviations(np.zeros((1, 2)), np.array(systems), np.array(complete))


def test_other_libraries_read_scores_as_arrow() -> None:
    values = np.array([[[0.0, 0.5], [1.0, 0.5]]])
    users = np.array(["u1", "u2"])
    scores = Scores(values, Measures([Measure("AP")]), ("a", "b"), users)
    rows = pa.table(scores).to_pylist()
    assert rows[1] == {"measure": "AP", "system": "a", "user": "u2", "score": 0.5}
    query = "select system, avg(score) from scores group by system order by system"
    with duckdb.connect() as connection:
        assert connection.sql(query).fetchall() == [("a", 0.25), ("b", 0.75)]
