import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from harness.report.verdicts import (
    CONFIRMED,
    OPEN,
    RULED_OUT,
    Verdict,
    Verdicts,
    margin_of_pairs,
    overall_verdict,
)

A, B, C = Measure("A", 10), Measure("B", 10), Measure("C", 10)


def shares(values: list[float], deviation: float, *, measures: list[Measure]) -> Estimates:
    """Shares whose replicates are independent, with this standard deviation each."""
    noise = np.random.default_rng(1).normal(size=(len(values), 1000))
    noise -= noise.mean(axis=1, keepdims=True)
    # Uncorrelated, so that a difference has a deviation of exactly sqrt(2) times that.
    noise = orthogonal(noise) * deviation
    return Estimates(
        name="shares",
        quantity="share of the contested pairs",
        subject="Respect",
        best="good",
        measures=Measures(measures, reported=measures),
        values=np.array(values),
        low=np.array(values),
        high=np.array(values),
        replicates=np.array(values)[:, np.newaxis] + noise,
    )


def orthogonal(noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make rows uncorrelated, each with a standard deviation of 1."""
    columns, _ = np.linalg.qr(noise.T)
    return np.asarray(columns.T * np.sqrt(noise.shape[1] - 1))


def overall(values: list[float], deviation: float, margin: float = 0.1) -> list[Verdict]:
    respect = shares(values, deviation, measures=[A, B, C][: len(values)])
    return list(Verdicts({"respect": respect}, margin).overall.values())


def test_the_margin_is_a_tenth_of_the_pairs_and_three_at_least() -> None:
    assert margin_of_pairs(100) == 0.1
    assert margin_of_pairs(30) == pytest.approx(0.1)
    assert margin_of_pairs(12) == 0.25


def test_a_measure_within_the_margin_of_all_others_is_confirmed() -> None:
    # .08 behind the best, with an upper limit of .08 + 1.645 * sqrt(2) * .005 = .0916.
    assert overall([0.9, 0.82], 0.005) == [CONFIRMED, CONFIRMED]


def test_a_measure_whose_upper_limit_exceeds_the_margin_is_open() -> None:
    # .08 + 1.645 * sqrt(2) * .01 = .1033.
    assert overall([0.9, 0.82], 0.01) == [CONFIRMED, OPEN]


def test_a_measure_beyond_the_margin_with_confidence_is_ruled_out() -> None:
    # .2 - 1.645 * sqrt(2) * .02 = .1535, above the margin.
    assert overall([0.9, 0.7], 0.02) == [CONFIRMED, RULED_OUT]


def test_absence_of_evidence_decides_nothing() -> None:
    assert overall([0.9, 0.7], 0.2) == [OPEN, OPEN]


def test_shares_without_replicates_decide_nothing() -> None:
    respect = Estimates(
        name="shares",
        quantity="",
        subject="",
        best="",
        measures=Measures([A, B], reported=[A, B]),
        values=np.array([0.9, 0.2]),
        low=np.full(2, np.nan),
        high=np.full(2, np.nan),
        replicates=np.empty((2, 0)),
    )
    assert list(Verdicts({"respect": respect}, 0.1).overall.values()) == [OPEN, OPEN]


def test_several_respects_confirm_together_and_rule_out_alone() -> None:
    assert overall_verdict([CONFIRMED, CONFIRMED]) == CONFIRMED
    assert overall_verdict([CONFIRMED, OPEN]) == OPEN
    assert overall_verdict([CONFIRMED, RULED_OUT, OPEN]) == RULED_OUT


def test_of_more_respects_it_takes_more_to_rule_out() -> None:
    # The limit of one respect is at 1.645 deviations, of three at 2.128: between .1 and the gap.
    respect = shares([0.9, 0.758], 0.0165, measures=[A, B])
    assert Verdicts({"one": respect}, 0.1).overall[B] == RULED_OUT
    three = {"one": respect, "two": respect, "three": respect}
    assert Verdicts(three, 0.1).overall[B] == OPEN


def test_measures_that_one_respect_lacks_are_left_out() -> None:
    respects = {
        "one": shares([0.9, 0.9, 0.9], 0.001, measures=[A, B, C]),
        "two": shares([0.9, 0.9], 0.001, measures=[C, A]),
    }
    verdicts = Verdicts(respects, 0.1)
    assert verdicts.measures == (A, C)
    assert verdicts.with_verdict(CONFIRMED) == [A, C]
