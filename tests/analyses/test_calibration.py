from functools import cache

import numpy as np
import pytest

from analyses.calibration import (
    Calibration,
    Population,
    Promise,
    Quantity,
    Rate,
    Settings,
    calibrate,
)
from analyses.significance.null_sets import simulated_population
from runs import InputError
from tests.analyses.paired.references import Floats

TESTS = {"exact permutation", "Monte-Carlo permutation", "t", "Wilcoxon", "sign", "bootstrap"}
CORRECTIONS = {"Bonferroni", "Holm", "max-T", "Tukey HSD", "Benjamini-Hochberg"}


@cache
def calibrated(kind: str, *, n_sets: int = 100, n_users: int = 60, n_jobs: int = 1) -> Calibration:
    scores = simulated_population(kind, n_systems=4, n_users=2000, seed=1)
    population = Population(kind, scores, continuous=kind == "continuous", n_users=n_users)
    settings = Settings(sets=n_sets)
    return calibrate([population], settings, draws=199, seed=20261121, n_jobs=n_jobs)


@pytest.mark.validity
@pytest.mark.parametrize("kind", ["continuous", "lattice"])
def test_every_procedure_keeps_its_promise(kind: str) -> None:
    found = calibrated(kind)
    assert found.broken == ()
    assert {rate.procedure for rate in found.rates} == TESTS | CORRECTIONS


@pytest.mark.validity
@pytest.mark.parametrize("kind", ["continuous", "lattice"])
def test_intervals_cover_the_truth_about_as_often_as_they_say(kind: str) -> None:
    coverage = {r.procedure: r for r in calibrated(kind).rates if r.quantity == "coverage"}
    assert set(coverage) == {"t", "bootstrap"}
    assert all(rate.verdict == "within" for rate in coverage.values())


@pytest.mark.validity
def test_at_equal_means_tests_of_ranks_and_signs_reject_far_too_often() -> None:
    """They are not about means: here differences are skewed."""
    rates = calibrated("continuous", n_sets=15, n_users=2000).rates
    found = {r.procedure: r for r in rates if r.quantity == "error at equal means"}
    far_above = {name for name, rate in found.items() if rate.observed > 0.5}
    assert set(found) == TESTS
    assert far_above == {"Wilcoxon", "sign"}


@pytest.mark.validity
def test_a_test_that_rejects_too_often_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyses.calibration.sign_test", lambda scores: np.array([[0.01]]))
    broken = calibrated.__wrapped__("lattice", n_sets=30).broken
    assert {(rate.procedure, rate.verdict) for rate in broken} == {("sign", "TOO OFTEN")}


@pytest.mark.validity
def test_an_exact_test_that_rejects_too_seldom_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyses.calibration.tukey_test", lambda scores, **_: np.ones((1, 6)))
    broken = calibrated.__wrapped__("continuous").broken
    assert {(rate.procedure, rate.verdict) for rate in broken} == {("Tukey HSD", "TOO SELDOM")}


@pytest.mark.slow
def test_the_number_of_jobs_changes_nothing() -> None:
    one, two = (calibrated("lattice", n_sets=30, n_users=10, n_jobs=n) for n in (1, 2))
    assert one == two


def rate_of(
    observed: float,
    promise: Promise,
    *,
    nominal: float = 0.05,
    quantity: Quantity = "type-I error",
) -> Rate:
    return Rate(quantity, "t", "x", nominal, observed, 1000, 50, 0.03, 0.07, promise)


@pytest.mark.parametrize(
    ("promise", "low", "middle", "high"),
    [
        ("exact", "TOO SELDOM", "within", "TOO OFTEN"),
        ("at most", "below", "within", "TOO OFTEN"),
        ("approximate", "below", "within", "above"),
    ],
)
def test_verdicts_follow_the_promise(promise: Promise, low: str, middle: str, high: str) -> None:
    verdicts = [rate_of(observed, promise).verdict for observed in (0.02, 0.05, 0.08)]
    assert verdicts == [low, middle, high]


ONE_BROKEN = Calibration(
    (
        rate_of(0.05, "at most", nominal=0.01),
        rate_of(0.08, "at most"),
        rate_of(0.94, "approximate", nominal=0.95, quantity="coverage"),
    )
)


def test_the_frame_has_a_row_for_each_rate() -> None:
    verdicts = ONE_BROKEN.frames()["calibration"]["verdict"]
    assert verdicts.tolist() == ["within", "TOO OFTEN", "above"]


def test_tables_have_levels_across_and_what_is_not_within_beside() -> None:
    made = ONE_BROKEN.tests_table()
    assert made.headings == ["scores", "of", "", "0.01", "0.05", ""]
    assert made.rows == [["x", "t", "<=", 0.05, 0.08, "TOO OFTEN"]]


def test_coverage_has_a_table_of_its_own() -> None:
    assert ONE_BROKEN.coverage_table().rows == [["x", "t", "~", 0.94, "above"]]


def test_what_is_broken_is_counted_and_named() -> None:
    assert ONE_BROKEN.findings() == ["Broken promises: 1 of 2."]
    assert ONE_BROKEN.cautions() == [
        "t breaks its promise on x: its type-I error is 0.0800, too often for 0.05."
    ]


@pytest.mark.parametrize(
    ("population", "n_users", "sentence"),
    [
        (np.ones((1, 9)), 9, "at least two systems, got 1"),
        (np.ones((2, 9)), 1, "must be at least 2, got 1"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(
    population: Floats, n_users: int, sentence: str
) -> None:
    chosen = Population("x", population, continuous=True, n_users=n_users)
    with pytest.raises(InputError, match=sentence):
        calibrate([chosen], Settings(sets=9), seed=0)
