from functools import cache

import numpy as np
import pytest

from analyses.calibration import Calibration, Population, Promise, Rate, calibrate
from analyses.significance.null_sets import simulated_population
from runs import InputError
from tests.analyses.paired.references import Floats

TESTS = {"exact permutation", "Monte-Carlo permutation", "t", "Wilcoxon", "sign", "bootstrap"}
CORRECTIONS = {"Bonferroni", "Holm", "max-T", "Tukey HSD", "Benjamini-Hochberg"}


@cache
def calibrated(kind: str, *, n_sets: int = 100, n_users: int = 60, n_jobs: int = 1) -> Calibration:
    scores = simulated_population(kind, n_systems=4, n_users=2000, seed=1)
    population = Population(kind, scores, continuous=kind == "continuous", n_users=n_users)
    return calibrate([population], n_sets=n_sets, draws=199, seed=20261121, n_jobs=n_jobs)


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


def rate_of(observed: float, promise: Promise) -> Rate:
    return Rate("type-I error", "t", "x", 0.05, observed, 1000, 50, 0.03, 0.07, promise)


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


def test_the_table_has_a_row_for_each_rate() -> None:
    rates = (rate_of(0.05, "exact"), rate_of(0.08, "exact"))
    assert Calibration(rates).to_frame()["verdict"].tolist() == ["within", "TOO OFTEN"]


@pytest.mark.parametrize(
    ("population", "n_sets", "n_users", "sentence"),
    [
        (np.ones((1, 9)), 9, 9, "at least two systems, got 1"),
        (np.ones((2, 9)), 0, 9, "must be at least 1, got 0"),
        (np.ones((2, 9)), 9, 1, "must be at least 2, got 1"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(
    population: Floats, n_sets: int, n_users: int, sentence: str
) -> None:
    chosen = Population("x", population, continuous=True, n_users=n_users)
    with pytest.raises(InputError, match=sentence):
        calibrate([chosen], n_sets=n_sets, seed=0)
