import numpy as np
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
