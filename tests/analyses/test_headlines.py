"""The numbers whose chance is told apart: what other systems would have given of each."""

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.correlation import Settings as OfCorrelation
from analyses.correlation import correlation
from analyses.discrimination import Settings as OfDiscrimination
from analyses.discrimination import discrimination
from analyses.shared.families import SubsetValues
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.result import Result
from analyses.shared.scores import Scores
from analyses.shared.work import ScoresWork, Truth
from analyses.validity import Settings as OfValidity
from analyses.validity import validity
from tests.analyses.made import unrelated

MEASURES = Measures([Measure("P", 5), Measure("AP", 5), Measure("RR", 5)])
N_SYSTEMS, SEED = 9, 7


@pytest.fixture
def values(rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.normal(0.3 + 0.02 * np.arange(N_SYSTEMS)[:, None], 0.1, size=(3, N_SYSTEMS, 60))


def scores(values: NDArray[np.float64]) -> Scores:
    systems = tuple("abcdefghi"[: values.shape[1]])
    return Scores(values, MEASURES, systems, np.arange(values.shape[2]).astype(np.str_))


def agreement_of(values: NDArray[np.float64]) -> Result:
    return correlation(ScoresWork(scores(values), seed=SEED), OfCorrelation(replicates=20))


def power_of(values: NDArray[np.float64]) -> Result:
    settings = OfDiscrimination(test="t", replicates=20)
    return discrimination(ScoresWork(scores(values), seed=SEED), settings)


def validity_of(values: NDArray[np.float64]) -> Result:
    truth = Truth(scores(values[::-1]), tuple(MEASURES), "of a test")
    settings = OfValidity(replicates=20, judgements=False)
    return validity(ScoresWork(scores(values), known_truth=truth, seed=SEED), settings)


def headline(result: Result) -> Estimates:
    found = result.headline()
    assert found is not None
    return found


@pytest.mark.parametrize("study_of", [agreement_of, power_of, validity_of])
def test_numbers_within_subsets_are_those_of_a_study_of_these_systems_alone(
    study_of: object, values: NDArray[np.float64]
) -> None:
    assert callable(study_of)
    subsets, systems = unrelated(N_SYSTEMS).subsets(seed=SEED), headline(study_of(values)).systems
    assert systems is not None
    assert systems.values.shape == (3, len(subsets))
    for number in (0, 99):
        alone = headline(study_of(values[:, subsets[number]])).values
        if study_of is power_of:
            # DP adds up over pairs: in subsets it is given as of all pairs.
            n_some = subsets[number].sum()
            n_within = n_some * (n_some - 1) / 2
            alone = alone * (N_SYSTEMS * (N_SYSTEMS - 1) / 2) / n_within
        np.testing.assert_allclose(systems.values[:, number], alone, rtol=1e-12)


def test_the_agreement_of_a_measure_is_its_mean_with_the_others(
    values: NDArray[np.float64],
) -> None:
    result = correlation(ScoresWork(scores(values)), OfCorrelation(replicates=20))
    others = (result.taus.sum(axis=1) - 1) / 2
    np.testing.assert_allclose(headline(result).values, others)


def test_the_deviation_over_systems_of_a_mean_is_known() -> None:
    within = np.array([np.arange(8.0)[some].mean() for some in unrelated(8).subsets(seed=1)])
    expected = np.arange(8.0).std(ddof=1) / np.sqrt(8)
    assert np.sqrt(SubsetValues(8, within).variances) == pytest.approx(expected, rel=0.1)
