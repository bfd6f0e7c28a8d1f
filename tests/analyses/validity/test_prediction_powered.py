"""Prediction-powered inference of true means and differences."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import linregress, t

from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import RunDeviations, Scores
from analyses.shared.work import ScoresWork, Truth
from analyses.validity import Settings, Validity, validity
from analyses.validity.comparison import Comparison
from analyses.validity.prediction_powered import (
    MIN_SHARED_USERS,
    PredictionPowered,
    prediction_powered,
)

Floats = NDArray[np.float64]
NDCG, P = Measure("nDCG", 10), Measure("P", 10)
SYSTEMS = ("a", "b", "c")


def scores(values: Floats, users: list[str] | None = None) -> Scores:
    """Scores by nDCG and P, of shape (n_measures, n_systems, n_users)."""
    ids = users or [f"u{number:05}" for number in range(values.shape[2])]
    measures = Measures([NDCG, P][: len(values)])
    return Scores(values, measures, SYSTEMS[: values.shape[1]], np.array(ids))


def analysed(measured: Scores, true: Scores) -> Validity:
    truth = Truth(true, (NDCG,), "of a made world")
    settings = Settings(replicates=0, judgements=False)
    return validity(ScoresWork(measured, known_truth=truth), settings)


def estimated(measured: Scores, true: Scores) -> PredictionPowered:
    truth = Truth(true, (NDCG,), "of a made world")
    comparison = Comparison.of_work(ScoresWork(measured, known_truth=truth))
    powered = prediction_powered(comparison, truth.references)
    assert powered is not None
    return powered


def draw(
    rng: np.random.Generator, *, n: int, n_further: int, rho: float, n_systems: int = 2
) -> tuple[Scores, Scores]:
    """Draw measured scores of all users, and true ones of the first n, of correlation rho.

    Measured scores are of another scale. Systems are independent, and all true means are 0.
    """
    shape = (1, n_systems, n + n_further)
    true = rng.normal(size=shape)
    measured = 30 + 7 * (rho * true + np.sqrt(1 - rho**2) * rng.normal(size=shape))
    users = [f"u{number:05}" for number in range(n + n_further)]
    return scores(measured, users), scores(true[:, :, :n], users[:n])


@pytest.fixture
def made(rng: np.random.Generator) -> tuple[Scores, Scores]:
    """Two measures of three systems: 40 users of a study; 25 of them and 5 others with a truth."""
    worth = rng.random((2, 3, 45))
    measured = 0.3 * worth[:, :, :40] + 0.1 * rng.random((2, 3, 40))
    users = [f"u{number:05}" for number in range(45)]
    return scores(measured, users[:40]), scores(worth[:, :, 15:], users[15:])


def by_the_book(true: Floats, measured: Floats) -> tuple[float, float, float]:
    """Value, lambda and variance of one row, of 30 and 40 users as in `made`, by least squares."""
    shared_true, shared_measured = true[:25], measured[15:]
    line = linregress(shared_measured, shared_true)
    further = measured[:15].mean()
    slope = line.slope * 25 / 30
    lambda_ = slope * 15 / 40
    value = true.mean() + lambda_ * (further - shared_measured.mean())
    residuals = shared_true - line.intercept - line.slope * shared_measured
    residual_variance = (residuals**2).sum() / 23
    adjusted = 1 - residual_variance / shared_true.var(ddof=1)
    variance = true.var(ddof=1) / 30 * (1 - adjusted * 15 / 40 * 25 / 30)
    of_slope = residual_variance / ((shared_measured - shared_measured.mean()) ** 2).sum()
    distance = 25 / 30 * (measured.mean() - shared_measured.mean())
    return value, lambda_, variance + of_slope * distance**2


def test_means_and_differences_are_those_of_a_plain_loop(made: tuple[Scores, Scores]) -> None:
    measured, true = made
    powered = estimated(measured, true)
    assert powered.n_unjudged == 15
    quantile = t.ppf(0.975, 23)
    for m in range(2):
        rows = [(true.values[m, s], measured.values[m, s]) for s in range(3)]
        pairs = [(t1 - t2, x1 - x2) for (t1, x1), (t2, x2) in combinations(rows, 2)]
        for estimates, rows_of_kind in ((powered.means, rows), (powered.differences, pairs)):
            for number, row in enumerate(rows_of_kind):
                value, lambda_, variance = by_the_book(*row)
                half_width = quantile * np.sqrt(variance)
                assert estimates.powered[m, number] == pytest.approx(value)
                assert estimates.lambdas[m, number] == pytest.approx(lambda_)
                assert estimates.powered_low[m, number] == pytest.approx(value - half_width)
                assert estimates.powered_high[m, number] == pytest.approx(value + half_width)
                assert estimates.values[m, number] == pytest.approx(row[0].mean())
                of_truth = t.interval(0.95, 29, row[0].mean(), row[0].std(ddof=1) / np.sqrt(30))
                assert estimates.low[m, number] == pytest.approx(of_truth[0])
                assert estimates.high[m, number] == pytest.approx(of_truth[1])


def test_the_variance_is_that_of_the_formula() -> None:
    """Rho .8, n 600, N 4,000: 1 - .64 * 4000 / 4600 = .443 of the variance of the 600 users."""
    rng = np.random.default_rng(1)
    relative_variance = 1 - 0.8**2 * 4000 / 4600
    assert relative_variance == pytest.approx(0.443, abs=0.0005)
    alone = []
    powered = []
    widths = []
    for _ in range(300):
        found = estimated(*draw(rng, n=600, n_further=4000, rho=0.8, n_systems=3))
        alone.append(found.means.values[0])
        powered.append(found.means.powered[0])
        for estimates in (found.means, found.differences):
            widths.append(estimates.relative_widths(0))
    # 900 independent means: the standard error of the ratio of both variances is .022.
    assert np.var(powered) / np.var(alone) == pytest.approx(relative_variance, abs=0.07)
    assert np.mean(widths) ** 2 == pytest.approx(relative_variance, abs=0.005)


@pytest.mark.parametrize(("n", "lowest"), [(20, 0.9), (50, 0.93)])
def test_intervals_cover_the_mean_of_all_users(n: int, lowest: float) -> None:
    """P@10 of skewed chances, of which measured scores see a third; as often as Student's."""
    rng = np.random.default_rng(2)
    n_covered = 0
    n_covered_alone = 0
    for _ in range(500):
        chances = rng.beta(0.6, 2.5, (1, 2, 11 * n))
        users = [f"u{number:05}" for number in range(11 * n)]
        measured = scores(rng.binomial(10, chances / 3) / 10, users)
        true = scores(rng.binomial(10, chances[:, :, :n]) / 10, users[:n])
        means = estimated(measured, true).means
        is_above = means.powered_low <= 0.6 / 3.1
        n_covered += (is_above & (means.powered_high >= 0.6 / 3.1)).sum()
        n_covered_alone += ((means.low <= 0.6 / 3.1) & (means.high >= 0.6 / 3.1)).sum()
    assert lowest <= n_covered / 1000 <= 0.97
    assert abs(n_covered - n_covered_alone) <= 20


def test_measured_scores_that_do_not_correlate_have_no_weight() -> None:
    true = np.tile([0.1, 0.6, 0.3, 0.2], 10)
    other = np.tile([0.1, 0.6, 0.3, 0.2], 10)[::-1]
    # Each measured score stands beside all true scores once.
    measured = np.concatenate([np.repeat(np.arange(10.0), 4), [50.0, 60.0]])
    users = [f"u{number}" for number in range(42)]
    found = estimated(
        scores(np.array([[measured, np.zeros(42)]]), users),
        scores(np.array([[true, other]]), users[:40]),
    )
    np.testing.assert_allclose(found.means.lambdas, 0.0, atol=1e-15)
    np.testing.assert_allclose(found.means.powered, found.means.values, rtol=1e-12)
    # Constant scores say nothing, and cost only the degree of freedom of the slope.
    width = found.means.relative_widths(0)[1]
    assert width == pytest.approx(t.ppf(0.975, 38) / t.ppf(0.975, 39))


def test_units_and_bias_of_measured_scores_change_nothing(made: tuple[Scores, Scores]) -> None:
    measured, true = made
    found = estimated(measured, true)
    other = estimated(replace(measured, values=3 - 8 * measured.values), true)
    np.testing.assert_allclose(other.means.lambdas, found.means.lambdas / -8)
    np.testing.assert_allclose(other.means.powered, found.means.powered)
    np.testing.assert_allclose(other.differences.powered_low, found.differences.powered_low)


def test_the_truth_of_all_users_is_the_plain_mean(made: tuple[Scores, Scores]) -> None:
    measured, _ = made
    found = analysed(measured, measured)
    assert found.powered is None
    assert list(found.frames()) == ["validity"]
    assert not found.true_means().rows
    np.testing.assert_array_equal(found.true[0], measured.mean_values())


def test_too_few_users_with_both_scores_predict_nothing(rng: np.random.Generator) -> None:
    n = MIN_SHARED_USERS
    assert analysed(*draw(rng, n=n, n_further=5, rho=0.5)).powered is not None
    assert analysed(*draw(rng, n=n - 1, n_further=5, rho=0.5)).powered is None


def test_runs_of_a_system_widen_the_intervals_of_its_means(made: tuple[Scores, Scores]) -> None:
    measured, true = made
    deviations = np.array([[0.1, -0.1, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    runs = RunDeviations(deviations, np.array([0, 0, 1, 2]), np.ones(3, dtype=np.bool_))
    before = estimated(measured, true).means
    after = estimated(measured, replace(true, runs=runs)).means
    widths_before = before.powered_high - before.powered_low
    widths_after = after.powered_high - after.powered_low
    assert widths_after[0, 0] > 2 * widths_before[0, 0]
    np.testing.assert_array_equal(widths_after[0, 1:], widths_before[0, 1:])
    np.testing.assert_array_equal(after.powered, before.powered)


def test_the_table_has_the_best_system_first_and_the_finding_counts_pairs() -> None:
    rng = np.random.default_rng(3)
    measured, true = draw(rng, n=100, n_further=2000, rho=0.9, n_systems=3)
    # True differences of .3 and .3: within the noise of 100 users, beyond that of 2,100.
    gains = np.array([0.0, 0.3, 0.6])[:, np.newaxis]
    found = analysed(
        replace(measured, values=measured.values + 6 * gains),
        replace(true, values=true.values + gains),
    )
    assert found.powered is not None
    differences = found.powered.differences
    table = found.true_means()
    assert [row[0] for row in table.rows] == ["c", "b", "a"]
    assert table.rows[0][3] == pytest.approx(found.powered.means.powered[0, 2])
    is_only_powered = (differences.powered_high < 0) & (differences.high > 0)
    narrower = 1 - np.median(differences.relative_widths(0))
    finding = found.findings()[-1]
    assert "2,000 further users" in finding
    assert f"{100 * narrower:.0f} % narrower" in finding
    assert f"only with them: {is_only_powered.sum()};" in finding
    frame = found.frames()["true_differences"]
    assert frame.system_a.tolist() == ["a", "a", "b"]
    assert frame.powered.tolist() == differences.powered[0].tolist()
