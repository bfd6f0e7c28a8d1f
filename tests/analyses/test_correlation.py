import re
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy.special import stdtrit
from scipy.stats import norm, t

from analyses.correlation import Correlation, Settings, correlate_means
from analyses.correlation import correlation as run
from analyses.intervals.resampling import resample_means
from analyses.ordering import COEFFICIENTS, tau_ap, tau_b
from analyses.shared.families import SubsetValues
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import ScoresWork
from tests.analyses.made import Totals, correlate, unrelated

MEASURES = Measures(Measure(metric, cutoff) for metric in ("P", "AP") for cutoff in (5, 10))
LIMITS = ["low", "high", "both_low", "both_high"]
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
    found = correlate(scores, replicates=2, seed=5)
    subsets = unrelated(8).subsets(seed=5)
    taus = np.array([tau_b(means[0, some], means[2, some]) for some in subsets])
    reach = stdtrit(7, 0.975) * np.sqrt(3 * taus.var())
    # One user is the same in every resample.
    limits = found.limit_columns()
    assert limits["both_high"][0, 2] == pytest.approx(min(found.taus[0, 2] + reach, 1))
    assert limits["both_low"][2, 0] == pytest.approx(max(found.taus[0, 2] - reach, -1))
    assert np.isnan(limits["both_low"][1]).all()


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
            limits = found.joint_estimate((measures.labels[one], measures.labels[other]))
            n_held += int(limits.low <= truth <= limits.high)
    assert n_held >= 69


# Numbers that are stated by hand


def stated(taus: list[list[float]], **changes: Any) -> Correlation:
    """Agreements of metrics at cut-off 5 of the row with the column, of 12 systems."""
    values = np.array(taus)
    metrics = ("P", "AP", "RR", "nDCG")[: len(values)]
    facts: dict[str, Any] = {
        "measures": Measures([Measure(metric, 5) for metric in metrics]),
        "systems": tuple("abcdefghijkl"),
        "values": {"tau-b": values},
        "coefficient": "tau-b",
        "low": np.full(values.shape, np.nan),
        "high": np.full(values.shape, np.nan),
    }
    return Correlation(**facts | changes)


def symmetric(*upper: float) -> list[list[float]]:
    """Put the agreements of three measures, by pair, on both sides of the diagonal."""
    first, second, third = upper
    return [[1.0, first, second], [first, 1.0, third], [second, third, 1.0]]


def test_limits_over_both_add_the_variances_over_users_a_tenth_wider_and_over_systems() -> None:
    """Of 12 families 9 are in a subset: the jackknife's factor is 9 / 3."""
    over_users = np.array([[[1.0] * 3, [0.4, 0.5, 0.6]], [[0.4, 0.5, 0.6], [1.0] * 3]])
    of_subsets = np.array([[[1.0] * 3, [0.42, 0.5, 0.58]], [[0.42, 0.5, 0.58], [1.0] * 3]])
    found = stated(
        [[1.0, 0.5], [0.5, 1.0]], over_users=over_users, within=SubsetValues(12, of_subsets)
    )
    limits = found.limit_columns()
    of_users = (1.1 * 0.1) ** 2
    of_systems = 3 * (2 * 0.08**2 / 3)
    total = of_users + of_systems
    freedom = 11 * (total / of_systems) ** 2
    reach = t.ppf(0.975, freedom) * np.sqrt(total)
    assert limits["both_low"][0, 1] == pytest.approx(0.5 - reach)
    assert limits["both_high"][1, 0] == pytest.approx(0.5 + reach)


def test_limits_over_systems_end_at_the_lowest_and_the_highest_tau() -> None:
    of_subsets = np.array([[[1.0] * 2, [-1.0, 1.0]], [[-1.0, 1.0], [1.0] * 2]])
    found = stated(
        [[1.0, 0.5], [0.5, 1.0]],
        over_users=np.broadcast_to(of_subsets, (2, 2, 2)),
        within=SubsetValues(12, of_subsets),
    )
    for name, limits in found.limit_columns().items():
        assert limits[0, 1] == (-1 if name.endswith("low") else 1)


@pytest.mark.slow
@pytest.mark.parametrize("coefficient", ["tau-b", "tau-ap"])
def test_agreements_of_resampled_users_and_in_subsets_are_those_of_each(
    coefficient: str, rng: np.random.Generator
) -> None:
    values = np.linspace(0, 0.4, 9)[:, None] + rng.random((3, 9, 30))
    measures = Measures([Measure(name, 5) for name in ("P", "AP", "RR")])
    scores = Scores(values, measures, tuple("abcdefghi"), np.arange(30).astype(np.str_))
    found = correlate(scores, replicates=25, seed=5, coefficient=coefficient)
    compare = COEFFICIENTS[coefficient].compare
    means = values.mean(axis=2)
    resampled = resample_means(values, replicates=25, seed=5)
    assert found.families is not None
    subsets = found.families.subsets(seed=5)
    assert len(subsets) == 200
    within, over_users = found.within, found.over_users
    assert within is not None
    assert within.crossed is not None
    assert over_users is not None
    assert within.crossed.shape == (3, 3, 20, 20)
    for row, column in permutations(range(3), 2):
        for k in (0, 7, 24):
            expected = compare(resampled[row, :, k], resampled[column, :, k])
            assert over_users[row, column, k] == pytest.approx(float(expected))
        for n in (0, 19):
            chosen = subsets[n]
            expected = compare(means[row, chosen], means[column, chosen])
            assert within.values[row, column, n] == pytest.approx(float(expected))
            expected = compare(resampled[row, chosen, 19], resampled[column, chosen, 19])
            assert within.crossed[row, column, 19, n] == pytest.approx(float(expected))


def test_both_directions_of_a_coefficient_that_is_not_symmetric_have_their_interval(
    noisy: Scores,
) -> None:
    found = correlate(noisy, coefficient="tau-ap", replicates=50, seed=5)
    resampled = resample_means(noisy.values, replicates=50, seed=5)
    one, other = resampled[:2].swapaxes(1, 2)
    for row, column, estimates, references in ((0, 1, one, other), (1, 0, other, one)):
        reach = 1.1 * norm.ppf(0.975) * np.arcsin(tau_ap(estimates, references)).std(ddof=1)
        angle = np.arcsin(found.taus[row, column])
        assert found.low[row, column] == pytest.approx(np.sin(max(angle - reach, -np.pi / 2)))
    assert len(found.frame()) == 2


def test_an_interval_of_all_pairs_at_once_is_as_wide_as_the_usual_pair() -> None:
    """The deviation of a pair, or the root mean square of all, times the 95th of the largest."""
    rng = np.random.default_rng(6)
    drawn = {(0, 1): 0.8 + 0.01 * rng.normal(size=200), (0, 2): 0.1 + 0.2 * rng.normal(size=200)}
    drawn[1, 2] = 0.3 + 0.1 * rng.normal(size=200)
    over_users = np.ones((3, 3, 200))
    for (row, column), agreements in drawn.items():
        over_users[row, column] = over_users[column, row] = agreements
    found = stated(symmetric(0.8, 0.1, 0.3), over_users=over_users)
    angles = np.arcsin([*drawn.values()])
    spreads = angles.std(axis=1, ddof=1)
    centred = (angles - angles.mean(axis=1, keepdims=True)) / spreads[:, None]
    factor = np.quantile(np.abs(centred).max(axis=0), 0.95, method="weibull")
    usual = np.sqrt((spreads**2).mean())
    for (row, column), spread in zip(drawn, spreads, strict=True):
        labels = found.measures.labels
        limits = found.joint_estimate((labels[row], labels[column]))
        half_width = 1.1 * factor * max(spread, usual)
        angle = np.arcsin(found.taus[row, column])
        assert limits.value == found.taus[row, column]
        assert limits.low == pytest.approx(np.sin(angle - half_width))
        assert limits.high == pytest.approx(np.sin(min(angle + half_width, np.pi / 2)))


def test_an_interval_of_all_pairs_at_once_ends_at_minus_1() -> None:
    over_users = np.ones((2, 2, 4))
    over_users[0, 1] = over_users[1, 0] = [-0.9, 0.9, -0.9, 0.9]
    limits = stated([[1.0, -0.5], [-0.5, 1.0]], over_users=over_users).joint_estimate(("P", "AP"))
    assert (limits.low, limits.high) == (-1, 1)


def test_the_finding_has_the_mean_the_lowest_and_the_highest_agreement() -> None:
    (sentence,) = stated(symmetric(0.5, 0.3, 0.85)).findings()
    assert "= .55 on average" in sentence
    assert re.search(r"\.300? \(P and RR\) to \.850? \(AP and RR\)", sentence)
    (sentence,) = stated(symmetric(0.5, np.nan, 0.5)).findings()
    assert "= .50 on average" in sentence
    assert "from" not in sentence


def test_agreement_whose_interval_is_wider_than_1_is_not_in_the_mean() -> None:
    low = np.array(symmetric(0.0, -0.2, 0.2))
    high = np.array(symmetric(1.0, 0.81, 0.9))
    found = stated(symmetric(0.5, 0.3, 0.7), low=low, high=high)
    (sentence,) = found.findings()
    assert "= .60 on average over 2 of the 3 pairs" in sentence
    assert "P and RR" in found.cautions()[0]


def test_the_table_has_an_estimate_in_the_row_and_its_reference_in_the_column() -> None:
    table = stated([[1.0, 0.5], [0.25, 1.0]]).table()
    assert [[*row] for row in table.rows] == [["P@5", 1.0, 0.5], ["AP@5", 0.25, 1.0]]
    low = np.array([[1.0, 0.4], [0.1, 1.0]])
    table = stated([[1.0, 0.5], [0.25, 1.0]], low=low, high=low + 0.2).agreement_table()
    cells = [str(cell) for row in table.rows for cell in row[1:]]
    assert cells == ["1.000", ".50 [.40, .60]", ".25 [.10, .30]", "1.000"]


def test_figures_of_the_paper_have_rows_and_columns() -> None:
    found = stated([[1.0, 0.5], [0.25, 1.0]])
    frame = found.publications()["recsys2018-figure5"]
    of_pairs = frame.set_index(["metric_row", "metric_column"]).value
    assert (of_pairs["P", "AP"], of_pairs["AP", "P"]) == (0.5, 0.25)
    measures = Measures([Measure("P", 5), Measure("P", 10)])
    found = stated([[1.0, 0.5], [0.25, 1.0]], measures=measures)
    frame = found.publications()["recsys2018-figure1"]
    of_pairs = frame.set_index(["cutoff_row", "cutoff_column"]).value
    assert (of_pairs[5, 10], of_pairs[10, 5]) == (0.5, 0.25)


def test_report_measures_of_several_depths_have_a_frame_of_their_own() -> None:
    measures = [Measure("P", 5), Measure("AP", 10), Measure("RR", 10)]
    taus = symmetric(0.5, 0.3, 0.7)
    apart = stated(taus, measures=Measures(measures, reported=measures[:2])).frames()
    assert apart["correlation_measures"].tau.tolist() == [1, 0.5, 0.5, 1]
    alike = stated(taus, measures=Measures(measures, reported=measures[1:])).frames()
    assert "correlation_measures" not in alike


def test_the_headline_is_the_mean_agreement_with_the_other_report_measures() -> None:
    """The interval is of the deviation of the mean's arcsine, a tenth wider."""
    over_users = np.array(
        [symmetric(0.4, 0.2, 0.6), symmetric(0.6, 0.5, 0.8), symmetric(0.5, 0.2, 0.7)]
    ).transpose(1, 2, 0)
    within = SubsetValues(12, over_users)
    found = stated(symmetric(0.5, 0.3, 0.7), over_users=over_users, within=within)
    headline = found.headline()
    assert headline is not None
    np.testing.assert_allclose(headline.values, [0.4, 0.6, 0.5])
    drawn = np.array([[0.3, 0.55, 0.35], [0.5, 0.7, 0.6], [0.4, 0.65, 0.45]])
    reach = 1.1 * norm.ppf(0.975) * np.arcsin(drawn).std(axis=1, ddof=1)
    np.testing.assert_allclose(headline.low, np.sin(np.arcsin([0.4, 0.6, 0.5]) - reach))
    np.testing.assert_allclose(headline.high, np.sin(np.arcsin([0.4, 0.6, 0.5]) + reach))
    assert headline.systems is not None
    np.testing.assert_allclose(headline.systems.values, drawn)
    assert stated(symmetric(0.5, 0.3, 0.7)).headline() is None


def test_shades_go_from_the_lowest_agreement_or_point_9_to_1() -> None:
    for tau, lowest in ((0.4, 0.4), (0.95, 0.9)):
        ax = stated([[1.0, tau], [tau, 1.0]]).plot()
        assert ax.images[0].get_clim() == (lowest, 1.0)
        assert np.asarray(ax.images[0].get_array())[0, 1] == tau


@pytest.mark.parametrize(("n_replicates", "has_intervals"), [(1, False), (2, True)])
def test_an_interval_needs_two_replicates(n_replicates: int, has_intervals: bool) -> None:
    over_users = np.ones((2, 2, n_replicates))
    over_users[0, 1] = over_users[1, 0] = np.linspace(0.4, 0.6, n_replicates)
    found = stated([[1.0, 0.5], [0.5, 1.0]], over_users=over_users)
    assert found.has_intervals == has_intervals
    limits = found.joint_estimate(("P", "AP"))
    assert np.isfinite([limits.low, limits.high]).all() == has_intervals


def test_settings_have_their_defaults_and_bounds() -> None:
    settings = Settings()
    assert (settings.coefficient, settings.replicates) == ("tau-b", 1000)
    assert not settings.every_pair
    assert Settings(replicates=0).replicates == 0
    with pytest.raises(ValidationError):
        Settings(replicates=-1)


def test_every_pair_has_an_interval_if_that_is_asked_for(noisy: Scores) -> None:
    found = correlate(noisy, replicates=20, every_pair=True)
    assert not np.isnan(found.low).any()
    np.testing.assert_array_equal(found.low, found.low.T)
    assert (np.diag(found.low) == 1).all()


def test_the_main_frame_of_a_coefficient_that_is_not_symmetric_has_both_directions() -> None:
    values = np.array([[1.0, 0.5], [0.25, 1.0]])
    found = stated(values.tolist(), values={"tau-ap": values}, coefficient="tau-ap")
    assert found.frame()["tau"].tolist() == [0.5, 0.25]
    assert found.frame().index.tolist() == [0, 1]


def test_frames_number_their_rows_and_have_further_coefficients() -> None:
    frames = correlation().frames()
    assert frames["correlation_cutoffs"].index.tolist() == [*range(8)]
    assert frames["correlation_metrics"].index.tolist() == [*range(8)]
    cutoffs = frames["correlation_cutoffs"]
    pair = cutoffs[(cutoffs.metric == "P") & (cutoffs.cutoff_a == 5) & (cutoffs.cutoff_b == 10)]
    assert pair["tau"].tolist() == [1.0]
    assert "tau-b" not in cutoffs.columns
    apart = stated(
        symmetric(0.5, 0.3, 0.7),
        measures=Measures(
            [Measure("P", 5), Measure("AP", 10), Measure("RR", 10)],
            reported=[Measure("P", 5), Measure("RR", 10)],
        ),
    )
    assert apart.frames()["correlation_measures"].index.tolist() == [0, 1, 2, 3]


def test_limits_over_systems_are_not_known_without_subsets_or_replicates() -> None:
    over_users = np.ones((2, 2, 3))
    for changes in ({}, {"over_users": over_users}, {"within": SubsetValues(12, over_users)}):
        found = stated([[1.0, 0.5], [0.5, 1.0]], **changes)
        assert np.isnan([*found.limit_columns().values()]).all()
        assert found.headline() is None


def test_one_report_measure_has_no_agreement_with_others() -> None:
    ones = np.ones((1, 1, 3))
    alone = stated([[1.0]], over_users=ones, within=SubsetValues(12, ones))
    assert alone.headline() is None
    assert alone.findings() == []


def test_the_finding_says_whether_intervals_hold_at_once() -> None:
    over_users = np.array(
        [symmetric(0.4, 0.2, 0.6), symmetric(0.6, 0.5, 0.8), symmetric(0.5, 0.2, 0.7)]
    ).transpose(1, 2, 0)
    (sentence,) = stated(symmetric(0.5, 0.3, 0.7), over_users=over_users).findings()
    assert "the intervals hold for all pairs at once" in sentence
    (sentence,) = stated(symmetric(0.5, 0.3, 0.7)).findings()
    assert "hold for all pairs" not in sentence
    assert "tau-b = .50 on average over pairs" in sentence.replace("Kendall's ", "")


def test_the_caption_has_the_users_the_reference_and_what_is_left_out() -> None:
    taus = [[1.0, 0.5], [0.5, 1.0]]
    plain = stated(taus)
    assert "orderings of 12 systems by the mean scores of two measures; 1 is" in plain.caption()
    assert "intervals" not in plain.caption()
    users = stated(taus, n_users=30, replicates=1, undefined=0)
    assert "two measures over 30 users; 1 is" in users.caption()
    assert "95 % intervals, for samples of as many users; with more" in users.caption()
    undefined = stated(taus, n_users=30, replicates=1, undefined=1)
    assert "as many users; 1 undefined values left out; with" in undefined.caption()
    assert "is the reference of the row" not in plain.caption()
    directed = stated(taus, values={"tau-ap": np.array(taus)}, coefficient="tau-ap")
    assert "The column is the reference of the row." in directed.caption()


def test_an_interval_of_width_1_is_not_too_wide() -> None:
    low = np.array([[1.0, -0.25], [-0.25, 1.0]])
    high = np.array([[1.0, 0.75], [0.75, 1.0]])
    found = stated([[1.0, 0.5], [0.5, 1.0]], low=low, high=high)
    assert list(found.cautions()) == []
    assert len(found.findings()) == 1
    wider = stated([[1.0, 0.5], [0.5, 1.0]], low=low, high=high + 0.001)
    assert "wider than 1: P and AP." in wider.cautions()[0]


def test_the_figure_of_a_metric_has_its_cutoffs_in_their_order() -> None:
    measures = Measures([Measure("P", 5), Measure("P", 10), Measure("P", 20)])
    ax = stated(symmetric(0.1, 0.9, 0.8), measures=measures).plot(metric="P")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["5", "10", "20"]
    assert ax.get_title() == "P"
    metrics = stated(symmetric(0.1, 0.9, 0.8)).plot()
    assert [label.get_text() for label in metrics.get_xticklabels()] == [*("P@5", "AP@5", "RR@5")]


def test_means_alone_have_no_users_and_no_intervals() -> None:
    found = correlate_means(
        np.eye(3), measures=Measures(MEASURES[:3]), systems="abc", coefficient="tau-b"
    )
    assert (found.n_users, found.replicates, found.undefined) == (None, 0, 0)
    assert np.isnan(found.low).all()
    assert list(found.cautions()) == []


def test_all_steps_that_are_announced_are_done(noisy: Scores) -> None:
    progress = Totals()
    run(ScoresWork(noisy, progress=progress), Settings(replicates=0))
    assert progress.announced == progress.done == 1


def test_frames_have_the_columns_of_their_docstrings() -> None:
    pair = ["metric_a", "cutoff_a", "metric_b", "cutoff_b"]
    found = correlation()
    assert found.frame().columns.tolist() == [*pair, *NUMBERS]
    frames = found.frames()
    assert frames["correlation_cutoffs"].columns.tolist() == [
        *("metric", "cutoff_a", "cutoff_b"),
        *NUMBERS,
    ]
    measures = [Measure("P", 5), Measure("AP", 10), Measure("RR", 10)]
    apart = stated(symmetric(0.5, 0.3, 0.7), measures=Measures(measures, reported=measures[:2]))
    assert apart.frames()["correlation_measures"].columns.tolist() == [*pair, "tau", *LIMITS]


def test_means_must_fit_their_labels() -> None:
    with pytest.raises(ValueError, match=r"means of shape \(3, 4\) do not fit labels of \(4, 3\)"):
        correlate_means(np.ones((3, 4)), measures=MEASURES, systems="abc", coefficient="tau-b")
