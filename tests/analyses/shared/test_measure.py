"""Measures and their roles, scores, and runs of a system."""

from __future__ import annotations

import pickle
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analyses.shared.measure import (
    Measure,
    Measures,
    RunDeviations,
    Scores,
    depth_of,
    grid_exponents,
    pair_labels,
    sorted_cutoffs,
    sum_grid_exponents,
    sums_on_grid,
    tidy,
    to_grid,
)
from runs import InputError

P5, P10, AP, BPREF = Measure("P", 5), Measure("P", 10), Measure("AP", 10), Measure("bpref")


def test_by_default_each_metric_is_reported_at_its_deepest() -> None:
    assert Measures([P5, P10, AP, BPREF]).reported == (P10, AP, BPREF)
    assert Measures([Measure("AP"), AP]).reported == (Measure("AP"),)


def test_one_is_compared_with_what_is_reported_or_shares_its_cutoff() -> None:
    measures = Measures([P5, P10, AP, BPREF], reported=[P5, BPREF])
    assert measures.comparable_with(BPREF) == (P5, BPREF)
    assert measures.comparable_with(AP) == (P10, AP)
    assert measures.are_comparable(P5, BPREF)
    assert not measures.are_comparable(AP, BPREF)


# Roles of measures


def names(some: Measures) -> list[str]:
    return [*map(str, some)]


WHOLE = Measure("AP")
MANY = Measures([P10, P5, AP, WHOLE, BPREF], lower_is_better_for=["AP"], grid=[P10, P5, AP, WHOLE])


def test_a_measure_is_called_by_its_metric_and_cut_off() -> None:
    assert (str(P5), str(WHOLE)) == ("P@5", "AP")
    assert (P5.cutoff_label, WHOLE.cutoff_label) == ("@5", "whole lists")
    assert (depth_of(P5), depth_of(WHOLE)) == (5, inf)


def test_cut_offs_rise_and_whole_lists_have_none() -> None:
    assert MANY.cutoffs == sorted_cutoffs(MANY) == (5, 10)
    assert MANY.cutoff_column.tolist() == [10, 5, 10, None, None]
    assert MANY.metrics == ("P", "AP", "bpref")
    assert MANY.signs.tolist() == [1, 1, -1, -1, 1]


def test_curves_are_of_metrics_with_several_cut_offs_in_the_grid() -> None:
    assert {metric: names(curve) for metric, curve in MANY.curves.items()} == {"P": ["P@5", "P@10"]}
    assert names(MANY.curve("AP")) == ["AP@10"]
    assert names(MANY.grid) == ["P@10", "P@5", "AP@10", "AP"]
    without = Measures(MANY, grid=[P10])
    assert without.curves == {}


def test_measures_at_a_cut_off_are_chosen() -> None:
    assert names(MANY.at_cutoff(10)) == ["P@10", "AP@10"]
    assert names(MANY.at_cutoff(None)) == ["AP", "bpref"]
    assert names(MANY.reported_or_at()) == ["P@10", "AP", "bpref"]
    assert names(MANY.reported_or_at(5)) == ["P@5"]
    assert MANY.at_cutoff(10).reported == MANY.at_cutoff(10)
    assert MANY.at_cutoff(10).grid == ()
    assert MANY.at_cutoff(10).lower_is_better_for == {"AP"}


def test_measures_keep_their_roles_among_others() -> None:
    some = MANY.restricted_to([P5, AP])
    assert (names(some), names(some.grid), some.lower_is_better_for) == (
        ["P@5", "AP@10"],
        ["P@5", "AP@10"],
        frozenset({"AP"}),
    )
    assert names(some.reported) == ["P@5", "AP@10"]
    assert names(MANY.restricted_to([P10, P5]).reported) == ["P@10"]


def test_two_are_comparable_that_share_a_cut_off_or_a_metric_or_are_reported() -> None:
    measures = Measures([P5, P10, AP, BPREF], reported=[P5, BPREF])
    assert measures.are_comparable(P10, AP)
    assert measures.are_comparable(P5, P10)
    assert not measures.are_comparable(P5, AP)
    assert not measures.are_comparable(P10, BPREF)


def test_measures_are_chosen_by_name_and_cut_off() -> None:
    assert names(MANY.choose([], []).reported) == ["P@10", "AP", "bpref"]
    assert names(MANY.choose(["AP"], []).reported) == ["AP"]
    assert names(MANY.choose(["AP@10", "P"], []).reported) == ["P@10", "AP@10"]
    assert names(MANY.choose([], [5]).reported) == ["P@5"]
    assert names(MANY.choose(["AP"], [10]).reported) == ["AP@10"]
    assert names(MANY.choose(["AP"], []).grid) == ["AP@10", "AP"]
    assert names(MANY.choose(["AP"], [])) == names(MANY)


def test_a_metric_that_is_not_reported_is_chosen_at_its_deepest() -> None:
    measures = Measures(MANY, reported=[P5])
    assert names(measures.choose(["P", "AP"], []).reported) == ["P@5", "AP"]


@pytest.mark.parametrize(
    ("chosen", "cutoffs", "finding"),
    [
        (["P@7"], [], "P@7 was not measured; there are P@10, P@5."),
        (["Q"], [], "no measure is called 'Q'; "),
        (["P"], [7], "nothing was measured at cut-off 7; there are 5, 10."),
    ],
)
def test_what_was_not_measured_is_refused(
    chosen: list[str], cutoffs: list[int], finding: str
) -> None:
    with pytest.raises(InputError, match=finding):
        MANY.require(chosen, cutoffs)


def test_what_was_measured_is_accepted_by_metric_measure_and_cut_off() -> None:
    MANY.require(["P", "AP@10", "AP"], [5, 10])
    with pytest.raises(InputError, match="cut-off 5; there are none"):
        Measures([WHOLE]).require([], [5])


def test_the_place_is_where_all_are_measured() -> None:
    assert (MANY.at_cutoff(10).common_depth, MANY.at_cutoff(10).title_suffix) == (
        "cut-off 10",
        " at cut-off 10",
    )
    assert (MANY.at_cutoff(None).common_depth, MANY.at_cutoff(None).title_suffix) == (
        "whole lists",
        " of whole lists",
    )
    assert (MANY.common_depth, MANY.title_suffix) == ("", "")
    assert MANY.at_cutoff(10).labels == ("P", "AP")
    assert MANY.labels == ("P@10", "P@5", "AP@10", "AP", "bpref")
    assert MANY.with_label("P@5") == P5
    assert MANY.at_cutoff(10).with_label("AP") == AP


def test_a_grid_is_of_one_cut_off_or_has_curves() -> None:
    assert MANY.is_grid
    assert Measures([P5, Measure("AP", 5)]).is_grid
    assert not Measures([P5, AP]).is_grid


def test_numbers_are_laid_out_by_metric_and_cut_off_from_the_shallowest() -> None:
    measures = Measures([P10, P5, AP])
    crossed = measures.cells_by_cutoff([1, 2, 3], heading="n")
    assert [*crossed.items()] == [(("P", "@5"), 2.0), (("P", "@10"), 1.0), (("AP", "@10"), 3.0)]
    apart = Measures([P5, AP]).cells_by_cutoff([1, 2], heading="n")
    assert apart == {("P@5", "n"): 1.0, ("AP@10", "n"): 2.0}
    lacking = Measures([AP, P5, P10]).cells_by_cutoff([1, 2, 3], heading="n")
    assert np.isnan(lacking["AP", "@5"])


def test_roles_are_kept_in_copies_and_other_processes() -> None:
    copy = pickle.loads(pickle.dumps(MANY))
    assert (copy, copy.reported, copy.grid, copy.lower_is_better_for) == (
        MANY,
        MANY.reported,
        MANY.grid,
        MANY.lower_is_better_for,
    )
    turned = MANY.with_lower_is_better_for(["P"])
    assert (turned.lower_is_better_for, turned.reported, turned.grid) == (
        frozenset({"P"}),
        MANY.reported,
        MANY.grid,
    )


# Scores

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


# Frames of labels


def test_labels_are_crossed_with_their_numbers() -> None:
    frame = tidy(
        Measures([P5, WHOLE]), {"system": ["a", "b"]}, mean=np.array([[1, 2], [3, 4]]), n=7
    )
    assert frame.to_numpy().tolist() == [
        ["P", 5, "a", 1, 7],
        ["P", 5, "b", 2, 7],
        ["AP", None, "a", 3, 7],
        ["AP", None, "b", 4, 7],
    ]
    assert frame.columns.tolist() == ["metric", "cutoff", "system", "mean", "n"]
    pairs = pd.DataFrame(pair_labels("abc", "one", "other"))
    assert tidy(pairs).to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]


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


# Sums that are exact


def test_the_grid_is_the_finest_whose_sums_have_51_bits() -> None:
    """Of 3 users and a largest score of 5, 15 is below 2^4: the grid is 2^(4 - 51)."""
    scores = np.array([[[5.0, -2.0, 0.5]], [[0.0, 0.0, 0.0]]])
    assert grid_exponents(scores).ravel().tolist() == [-47, -51]
    assert grid_exponents(-scores).shape == (2, 1, 1)
    assert to_grid(scores)[0].tolist() == [[5 * 2.0**47, -(2.0**48), 2.0**46]]
    assert sum_grid_exponents(np.array([1.0, 0.75]), 4).tolist() == [3 - 51, 2 - 51]


def test_sums_on_the_grid_do_not_depend_on_the_order(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(2, 50))
    weights = rng.integers(0, 2, size=(50, 3)).astype(np.float64)
    sums = sums_on_grid(rows, weights)
    np.testing.assert_allclose(sums, rows @ weights, atol=1e-13)
    order = rng.permutation(50)
    assert sums_on_grid(rows[:, order], weights[order]).tolist() == sums.tolist()


def test_no_scores_have_a_grid_of_their_own() -> None:
    nothing: Any = np.empty((1, 0, 3))
    assert grid_exponents(nothing).ravel().tolist() == [-51]
