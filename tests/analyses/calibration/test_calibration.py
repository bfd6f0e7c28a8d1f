from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from analyses.calibration import (
    CHECKS,
    Calibration,
    Check,
    Lists,
    Population,
    Promise,
    Quantity,
    Rate,
    Settings,
    Tables,
    calibrate,
)
from analyses.shared.measure import Measure, Measures, Scores
from analyses.significance.null_sets import simulated_population
from runs import InputError
from tests.analyses.paired.references import Floats

TESTS = {"exact permutation", "Monte-Carlo permutation", "t", "Wilcoxon", "sign", "bootstrap"}
CORRECTIONS = {
    "Bonferroni",
    "Holm",
    "max-T",
    "Tukey HSD",
    "Benjamini-Hochberg",
    "Wilcoxon, Benjamini-Hochberg",
}


@cache
def calibrated(
    kind: str,
    *,
    n_sets: int = 100,
    n_users: int = 60,
    n_jobs: int = 1,
    checks: tuple[Check, ...] = CHECKS,
) -> Calibration:
    scores = simulated_population(kind, n_systems=4, n_users=2000, seed=1)
    population = Population(kind, scores, continuous=kind == "continuous", n_users=n_users)
    settings = Settings(sets=n_sets, checks=checks)
    return calibrate([population], settings, draws=199, seed=20261121, n_jobs=n_jobs)


def studied(*, n_studies: int, n_jobs: int = 1, n_users: int = 100) -> Calibration:
    lists = Lists.simulated(n_systems=5, n_users=500, seed=1)
    settings = Settings(studies=n_studies, users=n_users, checks=("studies",))
    return calibrate([], settings, studies=[lists], seed=3, n_jobs=n_jobs)


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
    rates = calibrated("continuous", n_sets=15, n_users=2000, checks=("means",)).rates
    found = {r.procedure: r for r in rates if r.quantity == "error at equal means"}
    far_above = {name for name, rate in found.items() if rate.observed > 0.5}
    assert set(found) == TESTS
    assert far_above == {"Wilcoxon", "sign"}


@pytest.mark.validity
def test_a_test_that_rejects_too_often_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "analyses.calibration.procedures.sign_test", lambda scores: np.array([[0.01]])
    )
    broken = calibrated.__wrapped__("lattice", n_sets=30, checks=("null",)).broken
    assert {(rate.procedure, rate.verdict) for rate in broken} == {("sign", "TOO OFTEN")}


@pytest.mark.validity
def test_an_exact_test_that_rejects_too_seldom_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "analyses.calibration.procedures.tukey_test", lambda scores, **_: np.ones((1, 6))
    )
    broken = calibrated.__wrapped__("continuous", checks=("families",)).broken
    assert {(rate.procedure, rate.verdict) for rate in broken} == {("Tukey HSD", "TOO SELDOM")}


@pytest.mark.slow
def test_the_number_of_jobs_changes_nothing() -> None:
    one, two = (
        calibrated("lattice", n_sets=30, n_users=10, n_jobs=n, checks=("null", "margins"))
        for n in (1, 2)
    )
    assert one == two


@pytest.mark.slow
def test_studies_do_not_depend_on_the_number_of_jobs() -> None:
    assert studied(n_studies=6, n_users=20, n_jobs=1) == studied(n_studies=6, n_users=20, n_jobs=2)


@pytest.mark.validity
def test_intervals_of_studies_hold() -> None:
    found = studied(n_studies=15)
    assert found.broken == ()
    of_powers = ["difference of DPs", "all differences of DPs"]
    of_areas = ["difference of areas", "all differences of areas"]
    assert [rate.procedure for rate in found.rates if rate.quantity == "coverage"] == [
        "agreement",
        "DP",
        *of_powers,
        "area",
        *of_areas,
    ]
    assert [rate.procedure for rate in found.rates if rate.quantity == "false difference"] == [
        *of_powers,
        *of_areas,
    ]


@pytest.mark.slow
def test_tables_of_scores_have_no_areas() -> None:
    values = np.random.default_rng(1).random((2, 3, 30))
    measures = Measures([Measure("AP", 10), Measure("RR", 10)])
    scores = Scores(values, measures, ("a", "b", "c"), np.arange(30).astype(np.str_))
    settings = Settings(studies=2, checks=("studies",))
    found = calibrate([], settings, studies=[Tables("two", scores)], seed=0)
    assert {rate.procedure for rate in found.rates} == {
        "agreement",
        "DP",
        "difference of DPs",
        "all differences of DPs",
    }
    assert {(rate.scores, rate.n_sets, rate.n_users) for rate in found.rates} == {("two", 2, 30)}


@pytest.mark.validity
def test_power_grows_with_the_users_and_errors_of_sign_vanish() -> None:
    few, many = (
        {
            (rate.quantity, rate.procedure): rate.observed
            for rate in calibrated("continuous", n_sets=60, n_users=n, checks=("power",)).rates
            if rate.nominal in (0.05, 0.025)
        }
        for n in (10, 300)
    )
    for test in TESTS:
        assert many["power", test] > few["power", test] + 0.3
        assert many["error of sign", test] == 0


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
        ("approximate", "TOO SELDOM", "within", "TOO OFTEN"),
        ("approximately at most", "below", "within", "TOO OFTEN"),
        ("none", "below", "within", "above"),
    ],
)
def test_verdicts_follow_the_promise(promise: Promise, low: str, middle: str, high: str) -> None:
    verdicts = [rate_of(observed, promise).verdict for observed in (0.02, 0.05, 0.08)]
    assert verdicts == [low, middle, high]


ONE_BROKEN = Calibration(
    (
        rate_of(0.05, "at most", nominal=0.01),
        rate_of(0.08, "at most"),
        replace(
            rate_of(0.94, "approximate", nominal=0.95, quantity="coverage"), lower=0.9, upper=0.99
        ),
        rate_of(0.09, "none", quantity="error at equal means"),
    )
)


def test_the_frame_has_a_row_for_each_rate() -> None:
    verdicts = ONE_BROKEN.frames()["calibration"]["verdict"]
    assert verdicts.tolist() == ["within", "TOO OFTEN", "within", "above"]


def test_tables_have_levels_across_and_what_is_not_within_beside() -> None:
    made = ONE_BROKEN.tests_table()
    assert made.headings == ["scores", "of", "", "0.01", "0.05", ""]
    assert made.rows == [["x", "t", "<=", 0.05, 0.08, "TOO OFTEN"]]


def test_coverage_and_equal_means_have_tables_of_their_own() -> None:
    assert ONE_BROKEN.coverage_table().rows == [["x", "t", "~", 0.94, ""]]
    assert ONE_BROKEN.means_table().rows == [["x", "t", "", 0.09, "above"]]


def test_what_is_broken_is_counted_and_named() -> None:
    assert ONE_BROKEN.findings() == ["Broken promises: 1 of 3."]
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
