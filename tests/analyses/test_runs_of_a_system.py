"""Intervals of what is said of systems of which there are several runs cover other runs."""

from dataclasses import replace

import numpy as np
import pytest

from analyses import correlation, discrimination, validity
from analyses.shared.limits import standard_deviations
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.scores import RunDeviations, Scores
from analyses.shared.work import ScoresWork, Truth

MEASURES = Measures([Measure("P", 5), Measure("AP", 5)])
SYSTEMS = ("a", "b", "c", "d", "e")


@pytest.fixture
def scores(rng: np.random.Generator) -> Scores:
    """Five systems, .02 apart, two runs of each .04 apart."""
    users = np.array([f"u{n:03}" for n in range(200)])
    levels = 0.3 + 0.02 * np.arange(5)
    values = np.clip(levels[:, None] + 0.1 * rng.normal(size=(2, 5, 200)), 0, 1)
    apart = RunDeviations(
        np.tile([-0.02, 0.02], (2, 5)), np.repeat(np.arange(5), 2), np.array([True] * 5)
    )
    return Scores(values, MEASURES, SYSTEMS, users, apart)


def widths(found: Estimates | None) -> np.ndarray:
    assert found is not None
    return standard_deviations(found.replicates)


def test_discriminative_power_varies_with_runs(scores: Scores) -> None:
    settings = discrimination.Settings(test="t", replicates=1000)
    both, alone = (
        discrimination.discrimination(ScoresWork(each), settings)
        for each in (scores, replace(scores, runs=None))
    )
    assert (both.dp == alone.dp).all()
    # Its interval is as wide as its logarithm spreads.
    over_both, over_users = (
        standard_deviations(np.log(each.samples.powers)) for each in (both, alone)
    )
    assert (over_both > 1.2 * over_users).all()


def test_agreement_varies_with_runs(scores: Scores) -> None:
    settings = correlation.Settings(replicates=200)
    both, alone = (
        correlation.correlation(ScoresWork(each), settings)
        for each in (scores, replace(scores, runs=None))
    )
    assert (both.taus == alone.taus).all()
    # Runs are the same by both measures, and so turn both orderings round alike.
    assert both.over_users is not None
    assert (both.over_users != alone.over_users).any()
    assert both.low[0, 1] != alone.low[0, 1]


def test_validity_varies_with_runs(scores: Scores) -> None:
    true = replace(scores, values=scores.values.mean(axis=2, keepdims=True).repeat(200, axis=2))
    settings = validity.Settings(replicates=100, judgements=False)
    both, alone = (
        validity.validity(
            ScoresWork(
                each, known_truth=Truth(replace(true, runs=None), tuple(MEASURES), "of a test")
            ),
            settings,
        )
        for each in (scores, replace(scores, runs=None))
    )
    assert (widths(both.estimates()) > widths(alone.estimates())).all()
