"""Measures, runs of a system, the truth and the work."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.shared.estimate import (
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


def test_one_is_compared_with_what_is_reported_or_shares_its_cutoff() -> None:
    measures = Measures([P5, P10, AP, BPREF], reported=[P5, BPREF])
    assert measures.beside(BPREF) == (P5, BPREF)
    assert measures.beside(AP) == (P10, AP)
    assert measures.are_comparable(P5, BPREF)
    assert not measures.are_comparable(AP, BPREF)


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


def test_replicates_near_an_end_are_spread_as_an_estimate_there_would_be() -> None:
    angles = np.arcsin(0.5) + np.array([-0.1, 0.0, 0.1])
    near_the_end = stabilised(np.array([0.99]), np.sin(angles)[None])
    in_the_middle = stabilised(np.array([0.0]), np.sin(angles)[None])
    assert deviations(near_the_end)[0] == pytest.approx(np.cos(np.arcsin(0.99)) * 0.11)
    assert deviations(in_the_middle)[0] == pytest.approx(0.11)


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
    with pytest.raises(InputError, match="no scores of nDCG@10; it has P@10"):
        Truth(SCORES, (Measure("nDCG", 10),), "of a world")


NOTHING = ScoresWork(Scores(np.zeros((0, 0, 0)), Measures(()), (), np.array([])))
RANKS = RanksWork(full_ranks={})


@pytest.mark.parametrize("what", ["scores", "scales", "qrels", "popularity_counts"])
def test_what_is_not_known_is_refused_in_a_sentence(what: str) -> None:
    with pytest.raises(InputError, match=f"needs .*; {RANKS.name} has none"):
        getattr(RANKS, what)


@pytest.mark.parametrize("known", [RANKS, NOTHING])
def test_nothing_is_scored_anew_without_judgements(known: WorkInMemory) -> None:
    with pytest.raises(InputError, match="needs judgements"):
        known.rescorer(1)
