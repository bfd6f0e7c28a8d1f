"""Agreement with other measures, and of two halves of the users."""

import numpy as np

from analyses.intervals.yardsticks import consistency_of_halves, taus_with_others
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import ScoresWork
from analyses.users import Settings, users

P, AP, RR = (Measure(name, 5) for name in ("P", "AP", "RR"))


def test_samples_are_compared_with_the_other_report_measures() -> None:
    """Systems abc; P and RR order them a, b, c by all judgements, AP the other way round."""
    measures = Measures([P, AP, RR])
    references = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    # By P, the samples have the orders abc and cba; by AP, acb; by RR, all tie.
    means = np.array(
        [
            [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]],
            [[3.0, 1.0, 2.0], [3.0, 1.0, 2.0]],
            [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
        ]
    )
    taus = taus_with_others(means, references, measures)
    expected = np.array([[0.0, 0.0], [1 / 3, 1 / 3], [np.nan, np.nan]])
    np.testing.assert_allclose(taus, expected)


def test_measures_that_are_not_reported_and_single_ones_have_no_others() -> None:
    references = np.array([[3.0, 2.0], [3.0, 2.0]])
    means = references[:, np.newaxis]
    assert np.isnan(taus_with_others(means, references, Measures([P, AP], reported=[P]))).all()


def test_lower_may_be_better() -> None:
    references = np.array([[3.0, 2.0], [1.0, 4.0]])
    measures = Measures([P, AP], lower_is_better_for=["AP"])
    taus = taus_with_others(references[:, np.newaxis], references, measures)
    assert taus.tolist() == [[1.0], [1.0]]


def test_the_consistency_is_that_of_the_analysis_of_users() -> None:
    values = np.random.default_rng(2).normal(size=(2, 4, 30)) + np.arange(4)[:, np.newaxis] / 4
    names = tuple(f"u{number}" for number in range(30))
    scores = Scores(values, Measures([P, AP], reported=[AP]), tuple("abcd"), np.array(names))
    work = ScoresWork(scores, seed=5)
    of_users = users(work, Settings(permutations=99)).consistency()
    consistency = consistency_of_halves(scores, seed=5)
    assert np.isnan(consistency[0])
    assert consistency[1] == of_users.values[1]
