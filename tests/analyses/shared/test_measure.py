"""Measures and their roles, scores, and runs of a system."""

from __future__ import annotations

import pickle
from math import inf

import numpy as np
import pandas as pd
import pytest

from analyses.shared.measure import Measure, Measures, depth_of, pair_labels, sorted_cutoffs, tidy
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
