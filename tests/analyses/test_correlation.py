from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

from analyses.correlation import Correlation, correlate_means
from analyses.intervals.resampling import resample_means
from analyses.ordering import COEFFICIENTS, tau_b
from analyses.shared.measure import Measure, Measures, Scores
from tests.analyses.made import correlate, unrelated

MEASURES = Measures(Measure(metric, cutoff) for metric in ("P", "AP") for cutoff in (5, 10))
LIMITS = ["low", "high", "systems_low", "systems_high", "both_low", "both_high"]
NUMBERS = ["tau", *LIMITS, *(name for name in COEFFICIENTS if name != "tau-b")]


def correlation() -> Correlation:
    """P@5 and P@10 order the three systems alike, AP@5 the other way round, AP@10 not at all."""
    means = np.array([[3.0, 2, 1], [0.3, 0.2, 0.1], [1, 2, 3], [1, 1, 1]])
    values = np.repeat(means[:, :, None], 4, axis=2)
    return correlate(Scores(values, MEASURES, ("a", "b", "c"), np.array(list("wxyz"))))


@pytest.fixture
def noisy(rng: np.random.Generator) -> Scores:
    """Six systems, each a little better than the one before, over thirty users."""
    values = np.linspace(0, 0.5, 6)[:, None] + rng.random((4, 6, 30))
    users = np.arange(30).astype(np.str_)
    return Scores(values, MEASURES, tuple("abcdef"), users)


def test_metrics_at_one_cutoff_are_compared() -> None:
    frame = correlation().among_metrics()
    assert list(frame.columns) == ["metric_a", "metric_b", "cutoff", *NUMBERS]
    assert frame.cutoff.tolist() == [5] * 4 + [10] * 4
    taus = frame.set_index(["metric_a", "metric_b", "cutoff"]).tau
    assert taus["P", "AP", 5] == -1.0
    assert np.isnan(taus["P", "AP", 10])


def test_whole_lists_are_a_cutoff_of_their_own() -> None:
    measures = Measures((Measure("P", 5), Measure("P"), Measure("AP")))
    found = correlate_means(np.eye(3), measures=measures, systems="abc", coefficient="tau-b")
    frame = found.among_metrics()
    assert frame.metric_a[frame.cutoff.isna()].tolist() == ["P", "P", "AP", "AP"]
    assert len(frame) == 5


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_the_row_is_the_estimate_and_the_column_the_reference(name: str, noisy: Scores) -> None:
    found, means = correlate(noisy, replicates=0), noisy.mean_values()
    assert found.values[name][0, 1] == COEFFICIENTS[name].compare(means[0], means[1])


@pytest.mark.parametrize("coefficient", ["tau-b", "tau-ap"])
def test_an_interval_is_of_what_as_many_users_give(coefficient: str, noisy: Scores) -> None:
    """Deviations of resampled angles, a tenth wider."""
    found = correlate(noisy, coefficient=coefficient, replicates=200, seed=5)
    resampled = resample_means(noisy.values, replicates=200, seed=5)
    first, second = resampled[:2].swapaxes(1, 2)
    angles = np.arcsin(COEFFICIENTS[coefficient].compare(first, second))
    middle, reach = np.arcsin(found.taus[0, 1]), 1.96 * 1.1 * np.std(angles, ddof=1)
    assert found.low[0, 1] == pytest.approx(np.sin(middle - reach), abs=1e-4)
    assert found.high[0, 1] == pytest.approx(np.sin(min(middle + reach, np.pi / 2)), abs=1e-4)


def test_intervals_are_for_measures_with_a_metric_or_a_cutoff_in_common(noisy: Scores) -> None:
    found = correlate(noisy, replicates=20)
    has_interval = ~np.isnan(found.low)
    np.testing.assert_array_equal(has_interval, ~np.fliplr(np.eye(4, dtype=bool)))
    assert not np.isnan(found.taus).any()


def test_report_measures_have_intervals_over_systems_by_the_jackknife(
    rng: np.random.Generator,
) -> None:
    means = rng.random((3, 8))
    measures = Measures(MEASURES[:3], reported=[MEASURES[0], MEASURES[2]])
    scores = Scores(means[:, :, None], measures, tuple("abcdefgh"), np.array(["u"]))
    found = correlate(scores, replicates=0, seed=5)
    subsets = unrelated(8).subsets(seed=5)
    taus = np.array([tau_b(means[0, some], means[2, some]) for some in subsets])
    reach = stdtrit(7, 0.975) * np.sqrt(3 * taus.var())
    limits = found.limits_over_systems()
    assert limits["systems_high"][0, 2] == pytest.approx(min(found.taus[0, 2] + reach, 1))
    assert limits["systems_low"][2, 0] == pytest.approx(max(found.taus[0, 2] - reach, -1))
    assert np.isnan(limits["systems_low"][1]).all()


def test_undefined_agreement_of_resampled_users_is_counted() -> None:
    """AP@10 ties all systems: undefined with P@10 and AP@5."""
    found = correlation()
    assert found.undefined == 2 * found.replicates


def test_a_coefficient_that_there_is_not_is_refused(noisy: Scores) -> None:
    with pytest.raises(ValueError, match=r"no coefficient is called 'tau'; did you mean 'tau-b'"):
        correlate(noisy, coefficient="tau")


def test_agreement_that_the_users_cannot_tell_is_named_and_not_said(
    rng: np.random.Generator,
) -> None:
    values = np.linspace(0, 1, 5)[:, None] + 3 * rng.normal(size=(2, 5, 30))
    measures = Measures([Measure("P", 10), Measure("AP", 10)])
    users = np.arange(30).astype(np.str_)
    found = correlate(Scores(values, measures, tuple("abcde"), users), replicates=200)
    assert found.high[0, 1] - found.low[0, 1] > 1
    wide, few = found.cautions()
    assert "wider than 1" in wide
    assert "too few" in few
    assert not found.findings()


def test_the_main_frame_has_the_pairs_of_different_measures(noisy: Scores) -> None:
    frame = correlate(noisy, replicates=0, every_pair=True).frame()
    n_measures = len(noisy.measures.reported)
    pairs = {
        (str(Measure(a, None if pd.isna(i) else i)), str(Measure(b, None if pd.isna(j) else j)))
        for a, i, b, j in frame[["metric_a", "cutoff_a", "metric_b", "cutoff_b"]].to_numpy()
    }
    assert len(pairs) == len(frame) == n_measures * (n_measures - 1) / 2
    assert all(one != other for one, other in pairs)


def of_one_truth(rng: np.random.Generator, worth: np.ndarray, n_samples: int) -> np.ndarray:
    """Scores by seven measures of equal noise: (n_samples, n_measures, n_systems, n_users)."""
    shape = (n_samples, 7, len(worth), 100)
    of_users = rng.normal(size=(n_samples, 1, *shape[2:]))
    return np.asarray(worth[:, None] + 0.7 * of_users + rng.normal(size=shape))


@pytest.mark.validity
def test_intervals_of_the_lowest_and_the_highest_agreement_hold() -> None:
    """All pairs agree alike in truth; of 80 intervals of 95 %, fewer than 69 hold in .1 %."""
    measures = Measures([Measure(name, 10) for name in ("P", "AP", "RR", "nDCG", "F", "ERR", "Q")])
    pairs = [*combinations(range(7), 2)]
    n_held = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 5])
        worth = 0.12 * rng.normal(size=12)
        means = of_one_truth(rng, worth, 60).mean(axis=3)
        truth = np.mean([tau_b(means[:, one], means[:, other]) for one, other in pairs])
        values = of_one_truth(rng, worth, 1)[0]
        systems, users = tuple("abcdefghijkl"), np.arange(100).astype(np.str_)
        found = correlate(Scores(values, measures, systems, users), seed=seed, replicates=100)
        ordered = sorted(pairs, key=lambda pair: float(found.taus[pair]))
        for one, other in (ordered[0], ordered[-1]):
            limits = found.at_once((measures.labels[one], measures.labels[other]))
            n_held += int(limits.low <= truth <= limits.high)
    assert n_held >= 69
