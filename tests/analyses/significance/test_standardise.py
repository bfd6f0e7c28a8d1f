import numpy as np
import pytest
from scipy.stats import norm, uniform

from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import ScoresAlone
from analyses.significance.question import Standard, standardise, standardised


def test_standards_are_distribution_functions_of_a_users_scores(rng: np.random.Generator) -> None:
    values = rng.random((2, 7, 5))
    means, spreads = values.mean(axis=1, keepdims=True), values.std(axis=1, ddof=1, keepdims=True)
    low = means - spreads * 0.5 / 0.15
    assert standardise(values, "normal") == pytest.approx(norm.cdf(values, means, spreads))
    expected = uniform.cdf(values, low, spreads / 0.15)
    assert standardise(values, "uniform") == pytest.approx(expected)
    ranks = values.argsort(axis=1).argsort(axis=1) + 1
    assert standardise(values, "empirical") == pytest.approx(ranks / 7)


def test_tied_systems_share_the_higher_place() -> None:
    values = np.array([[[0.2], [0.2], [0.1], [0.5]]])
    assert standardise(values, "empirical")[0, :, 0].tolist() == [0.75, 0.75, 0.25, 1.0]


@pytest.mark.parametrize("standard", ["normal", "uniform", "empirical"])
def test_a_user_whom_all_serve_alike_tells_no_systems_apart(standard: Standard) -> None:
    made = standardise(np.full((1, 3, 2), 0.3), standard)
    assert np.ptp(made) == 0


@pytest.mark.parametrize("standard", ["normal", "uniform", "empirical"])
def test_a_users_scale_does_not_matter(standard: Standard, rng: np.random.Generator) -> None:
    values = rng.random((1, 4, 6))
    scaled = values * np.arange(1, 7) + 3
    assert standardise(scaled, standard) == pytest.approx(standardise(values, standard))


def test_work_without_a_standard_stays_as_it_is() -> None:
    labels = Measures([Measure("P", 5)]), ("a", "b"), np.array(["u"])
    work = ScoresAlone(Scores(np.array([[[1.0], [0.0]]]), *labels), seed=3)
    assert standardised(work, None) is work
    made = standardised(work, "empirical")
    assert (made.scores.values.ravel().tolist(), made.seed) == ([1.0, 0.5], 3)
