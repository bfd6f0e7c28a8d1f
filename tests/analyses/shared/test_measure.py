"""Measures, runs of a system, the truth and the work."""

from __future__ import annotations

import pickle
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.shared.estimate import (
    REACH,
    arcsine_around,
    deviations,
    joint_reach,
    ratio_around,
    spread_around,
    stabilised,
)
from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import RanksWork, ScoresWork, Truth, WorkInMemory
from runs import InputError

P5, P10, AP, BPREF = Measure("P", 5), Measure("P", 10), Measure("AP", 10), Measure("bpref")


def test_by_default_each_metric_is_reported_at_its_deepest() -> None:
    assert Measures([P5, P10, AP, BPREF]).reported == (P10, AP, BPREF)
    assert Measures([Measure("AP"), AP]).reported == (Measure("AP"),)


def test_metrics_at_one_cutoff_need_no_cutoff_in_their_labels() -> None:
    measures = Measures([P5, P10, AP]).reported
    assert (measures.labels, measures.place, measures.where) == (
        ("P", "AP"),
        "cut-off 10",
        " at cut-off 10",
    )


def test_measures_of_several_depths_have_whole_names_and_no_place() -> None:
    measures = Measures([P10, BPREF])
    assert (measures.labels, measures.place, measures.where) == (("P@10", "bpref"), "", "")


def test_only_metrics_with_several_cutoffs_in_the_grid_have_curves() -> None:
    grid = [P10, P5, AP]
    measures = Measures([*grid, Measure("P", 100), BPREF], grid=grid)
    assert measures.curves == {"P": (P5, P10)}


def test_one_is_compared_with_what_is_reported_or_shares_its_cutoff() -> None:
    measures = Measures([P5, P10, AP, BPREF], reported=[P5, BPREF])
    assert measures.beside(BPREF) == (P5, BPREF)
    assert measures.beside(AP) == (P10, AP)
    assert measures.are_comparable(P5, BPREF)
    assert not measures.are_comparable(AP, BPREF)


def test_numbers_are_laid_out_by_metric_and_cutoff_from_the_shallowest() -> None:
    cells = Measures([P5, P10, BPREF, Measure("AP", 7)]).crossed([1, 2, 3, 4], heading="")
    assert list(dict.fromkeys(column for _, column in cells)) == ["@5", "@7", "@10", "whole lists"]
    known = {cell: number for cell, number in cells.items() if not isnan(number)}
    assert known == {("P", "@5"): 1, ("P", "@10"): 2, ("bpref", "whole lists"): 3, ("AP", "@7"): 4}


def test_measures_travel_between_processes() -> None:
    measures = Measures([P5, P10, BPREF], falling=["P"], reported=[P5], grid=[P5, P10])
    back = pickle.loads(pickle.dumps(measures))
    assert (back, back.falling, back.reported, back.curves) == (
        measures,
        measures.falling,
        measures.reported,
        measures.curves,
    )


NUMBERS = st.lists(st.floats(0.01, 0.99), min_size=3, max_size=9)


@given(st.floats(0.01, 0.99), NUMBERS)
def test_every_scale_has_the_estimate_in_its_interval(estimate: float, values: list[float]) -> None:
    for around in (spread_around, ratio_around, arcsine_around):
        low, high = around(np.array(estimate), np.array(values))
        assert low <= estimate + 1e-12
        assert high >= estimate - 1e-12


@pytest.mark.parametrize("around", [spread_around, ratio_around, arcsine_around])
@pytest.mark.parametrize("n_replicates", [0, 1])
def test_fewer_than_two_replicates_tell_nothing(around: object, n_replicates: int) -> None:
    assert callable(around)
    assert np.isnan(around(np.array([0.5]), np.full((1, n_replicates), 0.5))).all()


def test_what_does_not_vary_has_an_interval_of_one_point() -> None:
    assert deviations(np.full((1, 7), 0.1)).tolist() == [0.0]
    low, high = spread_around(np.array([0.1]), np.full((1, 7), 0.1))
    assert low.tolist() == high.tolist() == [0.1]


def test_replicates_near_an_end_are_spread_as_an_estimate_there_would_be() -> None:
    angles = np.arcsin(0.5) + np.array([-0.1, 0.0, 0.1])
    near_the_end = stabilised(np.array([0.99]), np.sin(angles)[None])
    in_the_middle = stabilised(np.array([0.0]), np.sin(angles)[None])
    assert deviations(near_the_end)[0] == pytest.approx(np.cos(np.arcsin(0.99)) * 0.1)
    assert deviations(in_the_middle)[0] == pytest.approx(0.1)


def test_one_comparison_is_reached_as_far_as_alone(rng: np.random.Generator) -> None:
    assert joint_reach(np.zeros((0, 9))) == joint_reach(np.zeros((4, 9))) == REACH
    assert joint_reach(rng.uniform(size=(1, 999))) == REACH


def test_equal_comparisons_count_once(rng: np.random.Generator) -> None:
    one = rng.normal(size=(1, 999))
    assert joint_reach(one.repeat(50, axis=0)) == pytest.approx(joint_reach(one))


def test_joint_intervals_hold_for_all_at_once(rng: np.random.Generator) -> None:
    """Of 400 families of 15, 95 % should hold; fewer than 365 do with a chance below 1 in 1,000."""
    truths, replicates = np.zeros((400, 15)), rng.normal(size=(15, 2000))
    observed = truths + rng.normal(size=truths.shape)
    low, high = spread_around(observed, replicates, reach=joint_reach(replicates))
    n_held = np.count_nonzero(((low <= truths) & (truths <= high)).all(axis=1))
    assert 365 <= n_held <= 394


SCORES = Scores(np.ones((1, 1, 1)), Measures([Measure("P", 10)]), ("a",), np.array(["1"]))


def test_a_reference_must_have_been_measured() -> None:
    with pytest.raises(InputError, match="no scores of nDCG@10, but of P@10"):
        Truth(SCORES, (Measure("nDCG", 10),), "of a world")


def test_a_truth_without_references_is_refused() -> None:
    with pytest.raises(InputError, match="needs a reference"):
        Truth(SCORES, (), "of a world")


NOTHING = ScoresWork(Scores(np.zeros((0, 0, 0)), Measures(()), (), np.array([])))
RANKS = RanksWork(full_ranks={})


@pytest.mark.parametrize(
    ("known", "what"),
    [
        *((RANKS, what) for what in ("scores", "scales", "qrels", "popularity_counts")),
        *((NOTHING, what) for what in ("qrels", "popularity_counts", "recommended", "full_ranks")),
        (NOTHING, "truth"),
    ],
)
def test_what_is_not_known_is_refused_in_a_sentence(known: WorkInMemory, what: str) -> None:
    with pytest.raises(InputError, match=f"needs .*; {known.name} has none"):
        getattr(known, what)


@pytest.mark.parametrize("known", [RANKS, NOTHING])
def test_nothing_is_scored_anew_without_judgements(known: WorkInMemory) -> None:
    with pytest.raises(InputError, match="needs judgements"):
        known.rescorer(1)


def test_what_is_known_is_given() -> None:
    assert (RANKS.full_ranks, NOTHING.scales) == ({}, {})
