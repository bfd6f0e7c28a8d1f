import re
from dataclasses import replace
from itertools import combinations
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy.special import stdtrit
from scipy.stats import nct, norm, t, ttest_1samp

from analyses.discrimination import EFFECT_SIZES, Discrimination, Settings, discrimination
from analyses.shared.analysis import SettingError, StudyFacts
from analyses.shared.draws import Draws
from analyses.shared.families import Families
from analyses.shared.figures import draw_figure
from analyses.shared.measure import Measure, Measures
from analyses.shared.number_format import rounded
from analyses.shared.result import figures_of
from analyses.shared.scores import Scores
from analyses.shared.sentences import values_in_words
from analyses.shared.work import ScoresWork
from analyses.significance.power_samples import PowerSamples
from analyses.significance.question import Correction, Test, standardise
from runs import InputError
from tests.analyses.conftest import WithinMemory
from tests.analyses.made import Totals, discriminate, unrelated
from tests.drawn import corners, corners_of, curve, explained

MEASURES = Measures((Measure("P", 5), Measure("nDCG", 5), Measure("P", 10), Measure("nDCG", 10)))
SCALES = {Measure("P", 5): 5, Measure("P", 10): 10}


@pytest.fixture
def scores(rng: np.random.Generator) -> Scores:
    """Four measures of five systems, each a little better than the one before; 80 users."""
    values = rng.beta(0.5, 2.0, size=(4, 5, 80)) + 0.05 * np.arange(5)[:, np.newaxis]
    values[0] = np.round(values[0] * 5) / 5
    values[2] = np.round(values[2] * 10) / 10
    users = np.array([f"u{number}" for number in range(80)])
    return Scores(values, MEASURES, ("a", "b", "c", "d", "e"), users)


@pytest.fixture
def exact(scores: Scores) -> Discrimination:
    return discriminate(scores)


def test_the_summary_names_every_convention(exact: Discrimination) -> None:
    summary = exact.summary()
    assert summary.columns.tolist() == [
        "metric", "cutoff", "dp", "dp_ordered", "significant_05", "median_p", "median_p_is_bound",
        "dp_mean", "significant_01", "required_max", "required_median", "detectable", "dp_sd",
        "dp_low", "dp_high", "dp_mid", "dp_mid_low", "dp_mid_high", "dp_mid_both_low",
        "dp_mid_both_high", "significant_mid",
    ]  # fmt: skip
    pairs = exact.to_frame().query("metric == 'nDCG' and cutoff == 10")
    p = pairs.p
    row = summary.iloc[3]
    assert row.dp == pytest.approx(p.sum())
    assert row.dp_ordered == pytest.approx(2 * p.sum())
    assert row.dp_mean == pytest.approx(p.mean())
    assert row.median_p == p.median()
    assert row.significant_05 == (p < 0.05).mean()
    assert row.significant_01 == (p < 0.01).mean()
    assert row.dp_mid == pytest.approx(pairs.p_mid.sum())
    assert row.significant_mid == (pairs.p_mid < 0.05).mean()


@pytest.mark.slow
def test_a_p_of_the_level_itself_is_not_below_it(exact: Discrimination) -> None:
    for level in ("0.05", "0.01"):
        p = np.full_like(exact.p, float(level))
        p[:, 0] = np.nextafter(float(level), 0)
        if level == "0.05":
            assert replace(exact, mid_p=p).significant.tolist() == [0.1] * 4
        shares = replace(exact, p=p).summary()[f"significant_{level[2:]}"]
        assert shares.tolist() == [0.1] * 4


def test_ties_count_with_a_declared_scale_as_without(scores: Scores) -> None:
    declared, found = discriminate(scores, scales=SCALES), discriminate(scores)
    np.testing.assert_array_equal(declared.p, found.p)


@pytest.mark.slow
@pytest.mark.parametrize("test", get_args(Test))
def test_the_number_of_jobs_changes_no_bit(test: Test, scores: Scores) -> None:
    one, two = (
        discriminate(scores, test=test, permutations=3000, replicates=30, n_jobs=n) for n in (1, 2)
    )
    pd.testing.assert_frame_equal(one.to_frame(), two.to_frame(), check_exact=True)
    pd.testing.assert_frame_equal(one.summary(), two.summary(), check_exact=True)


def test_monte_carlo_signs_stay_with_the_users(scores: Scores) -> None:
    backwards = Scores(
        scores.values[:, :, ::-1], scores.measures, scores.systems, scores.users[::-1]
    )
    one, other = (
        discriminate(s, test="monte-carlo", permutations=99, replicates=0)
        for s in (scores, backwards)
    )
    np.testing.assert_array_equal(one.p, other.p)


def test_a_pair_that_one_measure_tells_apart_may_not_be_due_to_chance(
    exact: Discrimination,
) -> None:
    p = np.full(exact.p.shape, 0.5)
    found = replace(exact, p=p)
    assert "10 of 10 pairs" in " ".join(found.cautions())
    p[exact.measures.indices(exact.measures.reported)[0], 3:] = 0.001
    assert "3 of 10 pairs" in " ".join(replace(exact, p=p).cautions())


def test_what_no_exact_method_can_do_is_drawn() -> None:
    values = np.zeros((1, 3, 600))
    values[0, 1] = np.repeat([np.pi, -np.pi], [310, 290])
    values[0, 2] = np.random.default_rng(0).random(600)
    scores = Scores(
        values, Measures([Measure("strange", 1)]), ("a", "b", "c"), np.arange(600).astype(np.str_)
    )
    result = discriminate(scores, permutations=500, seed=8)
    assert result.methods[0].tolist() == ["monte-carlo", "bound", "exact-product"]
    drawn = discriminate(scores, test="monte-carlo", permutations=500, seed=8)
    assert result.p[0, 0] == drawn.p[0, 0]


def test_one_system_has_no_pairs(scores: Scores) -> None:
    alone = Scores(scores.values[:, :1], scores.measures, ("a",), scores.users)
    with pytest.raises(InputError, match="at least two systems and one user, got 1 and"):
        discriminate(alone)


def test_a_scale_must_fit(scores: Scores) -> None:
    with pytest.raises(InputError, match="nDCG@5 are not multiples of 1/5"):
        discriminate(scores, scales={Measure("nDCG", 5): 5})


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"test": "z"}, "'exact', .* or 'bootstrap'"),
        ({"alpha": 0.0}, "greater than or equal to 0.000000001"),
        ({"baseline": "a", "correction": "tukey"}, "'tukey' tests all pairs"),
    ],
)
def test_a_question_must_make_sense(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        Settings(**settings)


def test_the_baseline_must_be_a_system(scores: Scores) -> None:
    with pytest.raises(InputError, match="no system is called 'z'; there are a, b, c, d, e"):
        discriminate(scores, baseline="z")


@pytest.mark.slow
@pytest.mark.parametrize("test", get_args(Test))
def test_pairs_with_the_baseline_are_tested_as_among_all(test: Test, scores: Scores) -> None:
    every = discriminate(scores, test=test, permutations=500, replicates=0)
    some = discriminate(scores, test=test, permutations=500, baseline="b", replicates=0)
    assert some.pairs == (("a", "b"), ("b", "c"), ("b", "d"), ("b", "e"))
    places = [every.pairs.index(pair) for pair in some.pairs]
    np.testing.assert_array_equal(some.p, every.p[:, places])
    np.testing.assert_array_equal(some.required, every.required[:, places])
    np.testing.assert_array_equal(some.differences, every.differences[:, places])


def test_pairs_with_the_baseline_are_the_family(scores: Scores) -> None:
    result = discriminate(scores, baseline="b", correction="bonferroni", replicates=0)
    assert result.p_adjusted is not None
    np.testing.assert_array_equal(result.p_adjusted, np.minimum(4 * result.p, 1))


@pytest.mark.slow
@pytest.mark.parametrize("correction", get_args(Correction)[1:])
def test_adjusted_values_stand_beside_raw_ones(correction: Correction, scores: Scores) -> None:
    result = discriminate(scores, correction=correction, permutations=999, replicates=0)
    frame = result.to_frame()
    np.testing.assert_array_equal(frame.p, discriminate(scores, replicates=0).p.ravel())
    # max-T resamples users: the p-value of a single pair is close to that of sign flips.
    assert (frame.p_adjusted >= frame.p - 0.1).all()
    share = (frame.p_adjusted[:10] <= 0.05).mean()
    assert result.summary().significant_adjusted[0] == share


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.05, 0.001, 0.5])
def test_a_pair_is_significant_if_its_difference_is_as_large_as_required(
    alpha: float, scores: Scores
) -> None:
    result = discriminate(scores, alpha=alpha, replicates=0)
    large = np.abs(result.differences) >= result.required * (1 - 1e-12)
    np.testing.assert_array_equal(large, result.p <= alpha)
    assert 0 < large.mean() < 1


@pytest.mark.slow
def test_measures_are_compared_over_the_same_users(rng: np.random.Generator) -> None:
    """Equal measures never differ, however uncertain each is; a noisy one has less power."""
    values = rng.beta(0.5, 2.0, size=(6, 100)) + 0.03 * np.arange(6)[:, np.newaxis]
    noisy = values + rng.normal(0, 1, size=values.shape)
    measures = Measures((Measure("one"), Measure("same"), Measure("noisy")))
    systems, users = tuple("abcdef"), np.arange(100).astype(np.str_)
    result = discriminate(Scores(np.array([values, values, noisy]), measures, systems, users))
    table = result.estimates().differences()
    assert table[["metric_a", "metric_b"]].to_numpy().tolist() == [
        ["one", "same"], ["one", "noisy"], ["same", "noisy"],
    ]  # fmt: skip
    assert table.iloc[0][["ratio", "low", "high"]].tolist() == [1, 1, 1]
    assert table.jointly_beyond_noise.tolist() == [False, True, True]
    assert (table.high[1:] < 1).all()


@pytest.fixture
def twins(scores: Scores) -> Discrimination:
    """The same, but that c scores every user as b does."""
    return discriminate(replace(scores, values=scores.values[:, [0, 1, 1, 3, 4]]), replicates=0)


def test_systems_that_score_all_users_alike_are_left_out_of_a_second_power(
    twins: Discrimination,
) -> None:
    assert [pair for pair, alike in zip(twins.pairs, twins.alike, strict=True) if alike] == [
        ("b", "c")
    ]
    assert twins.p[:, twins.alike].tolist() == [[1.0]] * 4
    np.testing.assert_allclose(twins.dp_without_alike, twins.dp - 1, atol=1e-12)
    assert twins.summary()["dp_without_alike"].tolist() == twins.dp_without_alike.tolist()


def test_a_tie_by_one_measure_leaves_a_pair_in(scores: Scores) -> None:
    values = scores.values.copy()
    values[:3, 2] = values[:3, 1]
    found = discriminate(replace(scores, values=values), replicates=0)
    assert not found.alike.any()
    assert "dp_without_alike" not in found.summary()


def test_standardised_scores_are_tested_in_place_of_the_scores() -> None:
    rng = np.random.default_rng(4)
    values = rng.random((1, 4, 30)) * rng.integers(1, 9, 30)
    scores = Scores(
        values, Measures([Measure("P", 5)]), ("a", "b", "c", "d"), np.arange(30).astype("U")
    )
    found = discriminate(scores, standardised="normal", replicates=0)
    made = Scores(standardise(values, "normal"), scores.measures, scores.systems, scores.users)
    np.testing.assert_array_equal(found.p, discriminate(made, replicates=0).p)


def test_dp_over_systems_is_a_jackknife_of_its_logarithm(rng: np.random.Generator) -> None:
    values = rng.beta(0.5, 2.0, size=(1, 9, 80)) + 0.02 * np.arange(9)[:, np.newaxis]
    users = np.array([f"u{number}" for number in range(80)])
    scores = Scores(values, Measures([Measure("nDCG", 10)]), tuple("abcdefghi"), users)
    found = discriminate(scores, replicates=50)
    # Without any variance over users.
    same_users = np.broadcast_to(found.dp_mid[:, np.newaxis], (1, 50))
    found = replace(found, samples=replace(found.samples, mid_powers=same_users))
    row = found.summary().iloc[0]
    p = np.zeros((9, 9))
    p[np.triu_indices(9, k=1)] = found.mid_p[0]
    logs = [np.log(p[np.ix_(some, some)].sum()) for some in unrelated(9).subsets(seed=found.seed)]
    reach = stdtrit(8, 0.975) * np.sqrt(7 / 2 * np.var(logs))
    assert row.dp_mid_both_high == pytest.approx(min(row.dp_mid * np.exp(reach), 36.0))
    assert row.dp_mid_both_low == pytest.approx(row.dp_mid * np.exp(-reach))


def test_with_a_margin_pairs_are_different_equivalent_or_undecided(
    rng: np.random.Generator,
) -> None:
    users = rng.normal(0.5, 0.2, size=60)
    gaps = np.array([0.0, 0.001, 0.06, 0.3])[:, None]
    values = users + gaps + rng.normal(0, [[0.05], [0.02], [0.2], [0.1]], size=(4, 60))
    ids = np.arange(60).astype(np.str_)
    found = discriminate(
        Scores(values[None], Measures([Measure("P", 5)]), tuple("abcd"), ids), margin=0.05
    )
    verdicts = found.verdicts()
    assert verdicts is not None
    for number, (a, b) in enumerate(combinations(range(4), 2)):
        gap = values[a] - values[b]
        above = ttest_1samp(gap, -0.05, alternative="greater").pvalue
        below = ttest_1samp(gap, 0.05, alternative="less").pvalue
        expected = "different" if found.p[0, number] <= 0.05 else "undecided"
        assert verdicts[0, number] == ("equivalent" if max(above, below) < 0.05 else expected)
    assert {*verdicts[0]} == {"different", "equivalent", "undecided"}
    row = found.summary().iloc[0]
    assert row.equivalent == pytest.approx((verdicts == "equivalent").mean())


def test_a_correction_across_measures_counts_all_pairs_together(scores: Scores) -> None:
    found = discriminate(scores, correction="bonferroni", across_measures=True, replicates=0)
    assert found.p_adjusted is not None
    np.testing.assert_allclose(found.p_adjusted, np.minimum(found.p * found.p.size, 1))
    with pytest.raises(ValidationError, match="not made across measures"):
        discriminate(scores, correction="max-t", across_measures=True)


def test_dp_has_the_same_decimals_in_names_of_curves_tables_and_sentences(scores: Scores) -> None:
    result = discriminate(scores, test="t", replicates=50)
    number = result.measures.indices(result.measures.reported)[0]
    printed = rounded(float(result.dp[number]), result.decimals)
    compared = rounded(float(result.dp_mid[number]), result.decimals)
    (line,) = [line for line in result.plot().lines if str(line.get_label()).startswith("P")]
    assert f"(DP {printed})" in str(line.get_label())
    conventions = result.conventions()
    for heading, number_in_cell in (("DP", printed), ("mid-p DP", compared)):
        column = conventions.headings.index(f"{heading} [95 %]")
        cells = [str(row[column]) for row in conventions.rows]
        assert any(cell.startswith(f"{number_in_cell} [") for cell in cells)
    assert f"= {compared} [" in values_in_words(result.estimates(), [result.measures[number]])


@pytest.mark.slow
def test_panels_of_shares_show_the_least_discriminative_curves_as_a_whole(
    rng: np.random.Generator,
) -> None:
    """The first panel's curves end above those of the second."""
    apart = 0.5 * np.arange(6.0)[:, None] + rng.normal(size=(6, 60))
    alike = rng.normal(size=(6, 60))
    values = np.array([apart, apart, alike, alike])
    measures = Measures([Measure(name, cutoff) for name in ("P", "AP") for cutoff in (5, 10)])
    found = discriminate(Scores(values, measures, tuple("abcdef"), np.arange(60).astype(np.str_)))
    (face,) = [face for face in figures_of(Discrimination) if face.short == "fig4"]
    panels = draw_figure(found, face).axes
    lowest = min(float(np.min(line.get_ydata())) for line in panels[1].lines[:1])
    assert lowest < 60
    assert all(panel.get_ylim()[0] <= lowest and panel.get_ylim()[1] >= 100 for panel in panels)


@pytest.mark.slow
def test_few_users_who_tie_off_a_lattice_keep_within_the_memory(
    within_memory: WithinMemory,
) -> None:
    """P@5 weighted by judgements and nDCG@3 of one relevant item, which took up to 48 GB."""
    within_memory(
        """
        weights = rng.integers(1, 60, 40) / 17.3
        weighted = rng.integers(0, 6, (3, 40)) / 5 * weights
        of_one_item = rng.choice([1, 0.63092975, 0.5, 0], (3, 40))
        reciprocal = rng.choice(1 / np.arange(1, 101) ** np.linspace(3, 1, 100), (3, 40))
        for values in (weighted, of_one_item, reciprocal):
            tests = test(values)
            assert set(tests.methods.ravel()) <= {"enumeration", "equal-means"}
            assert ((tests.p > 0) & (tests.p <= 1)).all()
        """,
        preparation="""
        import numpy as np
        import analyses.significance.permutation_loops
        from analyses.discrimination import Settings, discrimination
        from analyses.shared.measure import (Measure, Measures)
        from analyses.shared.scores import Scores
        from analyses.shared.work import ScoresWork
        rng = np.random.default_rng(3)
        def test(values):
            systems = tuple("abc")
            users = np.array([f"u{n}" for n in range(values.shape[1])])
            scores = Scores(values[None], Measures([Measure("P", 5)]), systems, users)
            return discrimination(ScoresWork(scores), Settings())
        test(np.append(rng.random((3, 32)), np.ones((3, 8)), axis=1))
        """,
        megabytes=400,
    )


# Numbers that are stated by hand


def stated(p: list[list[float]], *, names: tuple[str, ...] = ("P", "AP"), **changes: Any) -> Any:
    """Results of p-values (n_measures, n_pairs) of exact tests at cut-off 5, of 11 users."""
    values = np.array(p)
    n_measures, n_pairs = values.shape
    n_systems = next(n for n in range(2, 20) if n * (n - 1) // 2 == n_pairs)
    zeros = np.zeros(values.shape)
    facts: dict[str, Any] = {
        "measures": Measures([Measure(name, 5) for name in names[:n_measures]]),
        "systems": tuple("abcdefghij"[:n_systems]),
        "families": unrelated(n_systems),
        "contested": None,
        "differences": zeros,
        "effects": dict.fromkeys(EFFECT_SIZES, zeros),
        "p": values,
        "mid_p": values,
        "methods": np.full(values.shape, "exact-sums"),
        "required": np.full(values.shape, np.nan),
        "p_adjusted": None,
        "n_scoring_users": None,
        "samples": PowerSamples(
            powers=np.empty((n_measures, 0)),
            mid_powers=np.empty((n_measures, 0)),
            crossed=np.empty((n_measures, 0, 0)),
            n_significant=np.empty((n_measures, 0, 0)),
            draws=Draws.of(np.empty((0, 0))),
            curve_low=zeros * np.nan,
            curve_high=zeros * np.nan,
        ),
        "n_users": 11,
        "test": "exact",
        "correction": "none",
        "alpha": 0.05,
        "permutations": 0,
        "seed": 3,
        "baseline": (),
    }
    return Discrimination(**facts | changes)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_a_pair_is_equivalent_if_its_one_sided_limit_at_alpha_is_below_the_margin(
    alpha: float,
) -> None:
    """Means have a standard error of .01: a limit of .05 itself is not below the margin of .05."""
    reach = 0.01 * t.ppf(1 - alpha, 10)
    at_margin = 0.05 - reach
    differences = np.array([[at_margin - 1e-9, -at_margin + 1e-9, at_margin + 1e-9]])
    half_widths = 0.01 * t.ppf(0.975, 10)
    effects = {"lower": differences - half_widths, "upper": differences + half_widths}
    found = stated([[1.0] * 3], differences=differences, effects=effects, margin=0.05, alpha=alpha)
    assert found.verdicts().tolist() == [["equivalent", "equivalent", "undecided"]]
    of_the_margin = {"lower": np.full((1, 1), 0.05), "upper": np.full((1, 1), 0.05)}
    found = stated([[1.0]], differences=np.full((1, 1), 0.05), effects=of_the_margin, margin=0.05)
    assert found.verdicts().tolist() == [["undecided"]]


def test_a_pair_is_different_if_its_adjusted_p_is_alpha_or_less() -> None:
    wide = {name: np.full((1, 3), -1.0 if name == "lower" else 1.0) for name in EFFECT_SIZES}
    p_values = [0.01, np.nextafter(0.01, 1), 0.009]
    found = stated([p_values], effects=wide, margin=0.05, alpha=0.01)
    assert found.verdicts().tolist() == [["different", "undecided", "different"]]
    adjusted = replace(found, p_adjusted=np.array([[0.03, 0.01, 0.02]]))
    assert adjusted.verdicts().tolist() == [["undecided", "different", "undecided"]]
    shares = adjusted.summary().loc[0, ["different", "equivalent", "undecided"]]
    assert shares.tolist() == pytest.approx([1 / 3, 0, 2 / 3])
    assert adjusted.summary().significant_adjusted[0] == pytest.approx(1 / 3)


def test_undecided_pairs_are_counted_by_measure() -> None:
    wide = {"lower": np.full((2, 3), -1.0), "upper": np.full((2, 3), 1.0)}
    found = stated([[0.5, 0.01, 0.3], [0.01, 0.02, 0.3]], effects=wide, margin=0.05)
    assert any("2 by P@5 and 1 by AP@5" in sentence for sentence in found.findings())


def test_detectable_is_what_the_t_test_finds_with_power_point_8_in_the_median_pair() -> None:
    """Of standard errors .01, .02 and .06, the median is .02, the mean .03."""
    half_widths = np.array([[0.02, 0.01, 0.06]]) * t.ppf(0.975, 10)
    effects = {"lower": 0.3 - half_widths, "upper": 0.3 + half_widths}
    found = stated([[0.5] * 3], effects=effects)
    expected = 0.02 * (t.ppf(0.975, 10) + t.ppf(0.8, 10))
    assert found.detectable().tolist() == [pytest.approx(expected)]


def test_required_and_median_are_over_the_pairs() -> None:
    p = [[0.1, 0.2, 0.6], [0.01, 0.3, 0.5]]
    found = stated(p, required=np.array([[0.1, 0.2, 0.6], [0.3, np.nan, 0.1]]))
    summary = found.summary()
    assert summary.required_max.tolist() == [0.6, 0.3]
    assert summary.required_median.tolist() == [0.2, 0.2]
    assert summary.median_p.tolist() == [0.2, 0.3]
    assert summary.dp_mean.tolist() == pytest.approx([0.3, 0.27])


def test_of_an_even_number_of_pairs_the_median_p_is_between_the_middle_two() -> None:
    found = stated([[0.1, 0.2, 0.4, 0.9, 0.95, 1.0]])
    assert found.summary().median_p.tolist() == pytest.approx([0.65])


def test_the_median_p_is_a_bound_if_it_is_as_low_as_a_bound() -> None:
    p = [[1e-16, 1e-16, 0.5], [1e-16, 0.2, 0.5]]
    bounds = np.array(p) == 1e-16
    found = stated(p, methods=np.where(bounds, "bound", "exact-sums"))
    assert found.summary().median_p_is_bound.tolist() == [True, False]


def test_the_interval_of_dp_is_of_the_deviation_of_its_logarithm() -> None:
    powers = np.array([[0.8, 1.2, 1.0, 2.0], [0.1, 2.9, 0.5, 1.0]])
    samples = replace(stated([[0.2, 0.3, 0.4]] * 2).samples, powers=powers, mid_powers=powers[::-1])
    found = stated([[0.2, 0.3, 0.4], [0.9, 0.8, 1.0]], samples=samples)
    reach = norm.ppf(0.975) * np.log(powers).std(axis=1, ddof=1)
    low, high = found.interval
    np.testing.assert_allclose(low, np.array([0.9, 2.7]) * np.exp(-reach))
    # Of three pairs, DP is 3 at most.
    np.testing.assert_allclose(high, [min(0.9 * np.exp(reach[0]), 3.0), 3.0])
    assert high[0] < 3
    summary = found.summary()
    np.testing.assert_allclose(summary.dp_sd, powers.std(axis=1, ddof=1))
    assert summary.dp_low.tolist() == low.tolist()
    assert summary.dp_high.tolist() == high.tolist()
    np.testing.assert_allclose(summary.dp_mid_low, np.array([0.9, 2.7]) * np.exp(-reach[::-1]))


def test_subsets_of_families_of_unequal_size_count_as_if_all_pairs_were_there() -> None:
    """DP of a subset is the mean p of its pairs times all 45 pairs; users add no variance here."""
    families = Families(np.array([0, 0, 0, 0, 1, 1, 2, 3, 4, 5]))
    p = np.random.default_rng(2).random((1, 45))
    samples = replace(stated(p.tolist()).samples, mid_powers=np.ones((1, 2)))
    found = stated(p.tolist(), families=families, samples=samples)
    first, second = np.triu_indices(10, k=1)
    subsets = families.subsets(seed=3)
    dps = [45 * p[0, marks[first] & marks[second]].mean() for marks in subsets]
    reach = t.ppf(0.975, 5) * np.sqrt(4 / 2 * np.var(np.log(dps)))
    row = found.summary().iloc[0]
    assert row.dp_mid_both_low == pytest.approx(p.sum() * np.exp(-reach))
    assert row.dp_mid_both_high == pytest.approx(min(p.sum() * np.exp(reach), 45))


@pytest.mark.slow
def test_pairs_with_a_baseline_give_no_interval_over_systems(rng: np.random.Generator) -> None:
    users = np.arange(40).astype(np.str_)
    values = rng.random((1, 9, 40))
    scores = Scores(values, Measures([Measure("P", 5)]), tuple("abcdefghi"), users)
    row = discriminate(scores, test="t", baseline="c", replicates=20).summary().iloc[0]
    assert row[["dp_low", "dp_high"]].notna().all()
    assert row[["dp_mid_both_low", "dp_mid_both_high"]].isna().all()
    row = discriminate(scores, test="t", replicates=20).summary().iloc[0]
    assert row[["dp_mid_both_low", "dp_mid_both_high"]].notna().all()


def test_pairs_with_any_of_several_baselines_are_tested(scores: Scores) -> None:
    found = discriminate(scores, test="t", baseline=("e", "b"), replicates=0)
    expected = [pair for pair in combinations("abcde", 2) if {"b", "e"} & {*pair}]
    assert [*found.pairs] == expected
    means = dict(zip("abcde", scores.values[3].mean(axis=1), strict=True))
    gaps = [means[one] - means[other] for one, other in expected]
    np.testing.assert_allclose(found.differences[3], gaps)


@pytest.mark.parametrize(("test", "has_interval"), [("t", True), ("wilcoxon", False)])
def test_only_tests_of_means_have_an_interval_of_dp(
    test: str, has_interval: bool, scores: Scores
) -> None:
    found = discriminate(scores, test=test, replicates=20)
    assert np.isfinite(found.interval).all() == has_interval


def test_the_frame_has_the_numbers_of_every_measure_and_pair(scores: Scores) -> None:
    found = discriminate(scores, test="t", replicates=0)
    row = found.to_frame().query("metric == 'nDCG' and cutoff == 10").iloc[5]
    assert (row.system_a, row.system_b) == ("b", "d")
    gap = scores.values[3, 1] - scores.values[3, 3]
    limits = ttest_1samp(gap, 0).confidence_interval(0.95)
    assert row.difference == pytest.approx(gap.mean())
    assert [row.lower, row.upper] == pytest.approx([limits.low, limits.high])
    assert row.relative == pytest.approx(gap.mean() / scores.values[3, 3].mean())
    assert row.standardised == pytest.approx(gap.mean() / gap.std(ddof=1))
    assert row.better == (gap > 0).mean()
    assert row.worse == (gap < 0).mean()
    assert row.p == pytest.approx(ttest_1samp(gap, 0).pvalue)


def test_a_pair_with_half_of_dp_is_named_with_the_dp_that_is_left() -> None:
    half = stated([[0.5, 0.25, 0.25], [0.49, 0.26, 0.25]])
    (sentence,) = [one for one in half.findings() if "half of the DP" in one]
    assert re.search(r"P@5 \(a and b; DP = 0?\.50*\b", sentence)
    assert "AP@5" not in sentence
    assert not any("half of the DP" in one for one in stated([[1.0]]).findings())


def test_a_study_is_too_powerful_if_nine_in_ten_pairs_differ_by_every_measure() -> None:
    p = [[0.01] * 9 + [0.05], [0.01] * 10]
    assert any("at least 90 % of pairs" in one for one in stated(p).cautions())
    assert any("finds all pairs" in one for one in stated(p[1:]).cautions())
    p[0][0] = 0.05
    assert not any("size of the differences" in one for one in stated(p).cautions())


@pytest.mark.parametrize(
    ("test", "n_users", "cautioned"),
    [
        *(("sign", 1000, True), ("sign", 999, False), ("wilcoxon", 1000, True)),
        *(("wilcoxon", 199, True), ("wilcoxon", 200, False), ("t", 199, True), ("t", 200, False)),
        *(("t", 1000, False), ("exact", 199, False), ("exact", 1000, False)),
        *(("bootstrap", 199, True), ("bootstrap", 200, False)),
    ],
)
def test_tests_have_cautions_by_the_number_of_users(
    test: str, n_users: int, cautioned: bool
) -> None:
    found = stated([[0.01, 0.2, 0.3]], test=test, n_users=n_users, permutations=10_000)
    assert any(f"{n_users:,} users" in one for one in found.cautions()) == cautioned


@pytest.mark.parametrize("test", ["monte-carlo", "bootstrap", "exact"])
def test_draws_must_be_as_many_as_pairs_over_alpha(test: str) -> None:
    """The least p, 1 / (B + 1), is below .05 / 10 from 200 draws on."""
    few, enough = (
        stated([[0.04] * 10], test=test, permutations=draws, n_users=500) for draws in (199, 200)
    )
    is_drawn = test != "exact"
    assert any("1/200" in one and "at least 200" in one for one in few.cautions()) == is_drawn
    assert not any("too few to correct" in one for one in enough.cautions())


def test_pairs_that_no_report_measure_tells_apart_have_p_of_the_level_or_more() -> None:
    p = [[0.05, 0.04, 0.9], [0.06, 0.5, 1.0]]
    (caution,) = [one for one in stated(p).cautions() if "even without correction" in one]
    assert "For 2 of 3 pairs" in caution


def test_a_measure_is_discriminative_if_it_tells_half_of_the_pairs_apart() -> None:
    p = [[0.01, 0.01, 0.01, 0.05, 0.5, 0.5], [0.01, 0.01, 0.05, 0.05, 0.5, 0.5]]
    assert stated(p).estimates().acceptable().tolist() == [True, False]


def test_table_3_has_dp_over_ordered_pairs_that_are_not_alike() -> None:
    """The first pair is alike by both measures, the second by the first alone."""
    equal = np.array([[1.0, 1.0, 0.5], [1.0, 0.9, 0.5]])
    p = [[1.0, 1.0, 0.25], [1.0, 0.5, 0.125]]
    found = stated(p, effects=dict.fromkeys(EFFECT_SIZES, np.zeros((2, 3))) | {"equal": equal})
    assert found.publications()["recsys2018-table3"].value.tolist() == [2.5, 1.25]
    assert found.summary().dp_without_alike.tolist() == [1.25, 0.625]


def test_the_table_of_conventions_is_in_the_order_of_dp() -> None:
    table = stated([[0.5, 0.5, 0.5], [0.01, 0.008, 0.3]]).conventions()
    columns = dict(zip(table.headings, zip(*table.rows, strict=True), strict=True))
    assert [*columns["measure"]] == ["AP@5", "P@5"]
    assert [*columns["mean p"]] == pytest.approx([0.106, 0.5])
    assert [*columns["share p < .05"]] == pytest.approx([2 / 3, 0])
    assert [*columns["share p < .01"]] == pytest.approx([1 / 3, 0])


def test_the_table_of_power_doubles_dp_over_ordered_pairs() -> None:
    found = stated([[0.5, 0.5, 0.5], [0.01, 0.02, 0.3]])
    rows = {row[0]: row[1] for row in found.power().rows}
    assert [*rows.values()] == pytest.approx([1.5, 0.33])
    ordered = {row[0]: row[1] for row in found.power(convention="dp_ordered").rows}
    assert [*ordered.values()] == pytest.approx([3.0, 0.66])


def vertices(ax: Any) -> set[tuple[float, float]]:
    """The corners of the only band."""
    (band,) = [one for one in ax.collections if str(one.get_label()).endswith(")")]
    return corners_of(band)


def with_band(p: list[float], low: list[float], high: list[float]) -> Any:
    """Results of one measure with a band."""
    samples = replace(stated([p]).samples, curve_low=np.array([low]), curve_high=np.array([high]))
    return stated([p], samples=samples)


@pytest.mark.slow
def test_a_curve_is_the_share_of_pairs_with_at_most_a_p_value() -> None:
    """The band reaches as far down as up on a logarithmic axis, which ends at .001."""
    p = [0.2, 0.0005, 0.001, 0.5, 0.01, 0.0001]
    high = [0.8, 0.4, 0.04, 0.002, 0.0009, 0.0001]
    ax = with_band(p, [0.0] * 6, high).plot()
    curve = ax.lines[0]
    xs, ys = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
    assert xs.tolist() == [0.5, 0.2, 0.01, 0.001, 0.001]
    assert ys.tolist() == pytest.approx([100, 500 / 6, 400 / 6, 50, 200 / 6])
    expected = [(0.8, 100.0), (0.4, 500 / 6), (0.04, 400 / 6), (0.002, 50.0), (0.001, 200 / 6)]
    expected += [(0.3125, 100.0), (0.1, 500 / 6), (0.0025, 400 / 6), (0.001, 50.0)]
    assert {(x, round(y, 9)) for x, y in expected} == {(round(x, 9), y) for x, y in vertices(ax)}


@pytest.mark.slow
def test_with_pairs_as_axis_the_curve_is_the_p_values_in_falling_order() -> None:
    """Of 15 pairs, 3 have a p of .001 or more: the first 11 are drawn."""
    p = [0.0001] * 12 + [0.2, 0.5, 0.01]
    low = [0.45, 0.15, 0.005] + [0.0] * 12
    high = [0.55, 0.25, 0.02] + [0.0002] * 12
    found = with_band(p, low, high)
    ax = found.plot(axes="pairs")
    curve = ax.lines[0]
    assert np.asarray(curve.get_xdata()).tolist() == [*range(1, 12)]
    assert np.asarray(curve.get_ydata()).tolist() == [0.5, 0.2, 0.01] + [0.0001] * 8
    corners = vertices(ax)
    assert {(1.0, 0.45), (1.0, 0.55), (3.0, 0.005), (3.0, 0.02), (11.0, 0.0002)} <= corners
    assert max(x for x, _ in corners) == 11
    assert ax.get_xlim() == (0, 12)
    # Of the 12 that are at least .001, and one more, all 13 are drawn.
    p[:9] = [0.001] * 9
    curve = with_band(p, low, high).plot(axes="pairs").lines[0]
    assert len(np.asarray(curve.get_xdata())) == 13


def test_few_pairs_are_all_drawn() -> None:
    found = stated([[0.5, 0.0001, 0.2]])
    curve = found.plot(axes="pairs").lines[0]
    assert np.asarray(curve.get_ydata()).tolist() == [0.5, 0.2, 0.0001]
    assert np.asarray(curve.get_xdata()).tolist() == [1, 2, 3]


@pytest.mark.parametrize(("test", "n_steps"), [("t", 4), ("exact", 4), ("monte-carlo", 300)])
def test_all_steps_that_are_announced_are_done(test: str, n_steps: int, scores: Scores) -> None:
    """A step is a measure, or a random draw."""
    progress = Totals()
    work = ScoresWork(scores, progress=progress)
    settings = Settings.model_validate({"test": test, "permutations": 300, "replicates": 0})
    discrimination(work, settings)
    assert progress.announced == progress.done == n_steps


@pytest.fixture
def banded(scores: Scores) -> Discrimination:
    """Measures of ten pairs with p = .5, .5, .1, .05, and of six below .001; bands known."""
    found = discriminate(scores, test="t", replicates=2)
    p = np.tile([0.1, 0.5, 0.05, 0.5, *np.full(6, 1e-4)], (4, 1))
    low = np.tile([0.4, 0.25, 0.04, 0.01, *np.zeros(6)], (4, 1))
    high = np.tile([1.0, 0.8, 0.4, 0.2, *np.full(6, 5e-4)], (4, 1))
    return replace(found, p=p, samples=replace(found.samples, curve_low=low, curve_high=high))


def test_a_band_of_shares_reaches_as_far_to_either_side_on_the_logarithmic_axis(
    banded: Discrimination,
) -> None:
    """From p to the limit is a factor; below p the band ends at p divided by that factor."""
    found = {(x, y) for x, y in corners(banded.plot()).round(6).tolist()}
    # By falling p and the share of the pairs with at most that p; the axis ends at .001.
    assert {(1.0, 100), (0.25, 100)} <= found
    assert {(0.8, 90), (0.3125, 90)} <= found
    assert {(0.4, 80), (0.025, 80)} <= found
    assert {(0.2, 70), (0.0125, 70)} <= found
    assert {(0.001, 60)} <= found
    assert min(y for _, y in found) == 60


def test_a_curve_of_shares_has_the_pairs_with_at_most_each_p(banded: Discrimination) -> None:
    expected = [[0.5, 100], [0.5, 90], [0.1, 80], [0.05, 70], [0.001, 60]]
    np.testing.assert_allclose(curve(banded.plot(), "P"), expected)


def test_a_band_over_pairs_is_that_of_the_sorted_p_values(banded: Discrimination) -> None:
    ax = banded.plot(axes="pairs")
    p = [0.5, 0.5, 0.1, 0.05, *np.full(6, 1e-4)]
    np.testing.assert_allclose(curve(ax, "P"), [*zip(range(1, 11), p, strict=True)])
    limits = {(1, 0.4), (1, 1.0), (2, 0.25), (2, 0.8), (3, 0.04), (3, 0.4), (4, 0.01), (4, 0.2)}
    assert "(2 replicates)" in explained(ax)
    assert limits <= {(x, y) for x, y in corners(ax).round(6).tolist()}


def test_the_detectable_difference_has_power_80_percent_by_the_noncentral_t(scores: Scores) -> None:
    """Of the median pair, whose standard error is known; t's shift is close to the noncentral."""
    found = discriminate(scores, test="t", replicates=0)
    gaps = scores.values[3][np.triu_indices(5, k=1)[0]] - scores.values[3][np.triu_indices(5, 1)[1]]
    error = np.median(gaps.std(axis=1, ddof=1)) / np.sqrt(80)
    detectable = found.detectable()[3]
    quantiles = stdtrit(79, 0.975) + stdtrit(79, 0.8)
    assert detectable == pytest.approx(quantiles * error)
    power = 1 - nct.cdf(stdtrit(79, 0.975), 79, detectable / error)
    assert power == pytest.approx(0.8, abs=0.005)


def test_settings_have_their_defaults_and_bounds() -> None:
    settings = Settings()
    assert (settings.test, settings.correction, settings.alpha) == ("exact", "none", 0.05)
    assert (settings.replicates, settings.baseline) == (400, ())
    assert not settings.across_measures
    assert settings.standardised is None
    assert settings.margin is None
    Settings(replicates=0, margin=0.001, alpha=1e-9)
    assert Settings.model_validate({"baseline": "a"}).baseline == ("a",)
    for refused in ({"replicates": -1}, {"margin": 0.0}, {"alpha": 1.0}):
        with pytest.raises(ValidationError):
            Settings.model_validate(refused)


@pytest.mark.parametrize(
    ("settings", "is_allowed"),
    [
        ({"baseline": "a", "correction": "holm"}, True),
        ({"baseline": "a", "correction": "none"}, True),
        ({"baseline": "a", "correction": "max-t"}, False),
        ({"correction": "max-t"}, True),
        ({"across_measures": True, "correction": "bh"}, True),
        ({"across_measures": True, "correction": "none"}, False),
        ({"across_measures": True, "correction": "tukey"}, False),
    ],
)
def test_corrections_fit_the_family_of_the_pairs(
    settings: dict[str, Any], is_allowed: bool
) -> None:
    if is_allowed:
        Settings(**settings)
    else:
        with pytest.raises(ValidationError, match="choose 'bonferroni', 'holm' or 'bh'"):
            Settings(**settings)


def test_a_baseline_that_is_no_system_is_refused_before_any_work() -> None:
    given = StudyFacts(("a", "b"), MEASURES, has_training=True)
    Settings(baseline=("a", "b")).check(given)
    Settings().check(given)
    with pytest.raises(SettingError, match="the study has no system 'z'") as error:
        Settings(baseline=("a", "z")).check(given)
    assert error.value.key == "baseline"


def test_the_frame_has_verdicts_and_adjusted_values_if_they_are_asked_for() -> None:
    wide = {name: np.full((1, 3), -1.0 if name == "lower" else 1.0) for name in EFFECT_SIZES}
    found = stated([[0.01, 0.2, 0.001]], effects=wide, margin=0.05)
    frame = found.to_frame()
    assert frame["verdict"].tolist() == ["different", "undecided", "different"]
    assert "p_adjusted" not in frame
    adjusted = replace(found, p_adjusted=np.array([[0.03, 0.6, 0.003]])).to_frame()
    assert adjusted["p_adjusted"].tolist() == [0.03, 0.6, 0.003]
    assert "verdict" not in stated([[0.5] * 3]).to_frame()
    assert [*stated([[0.5] * 3] * 2).frames()] == [
        *("discrimination", "pvalues", "power_differences")
    ]


@pytest.mark.parametrize(("n_users", "freedom"), [(1, 1), (2, 1), (3, 2)])
def test_limits_have_a_degree_of_freedom_less_than_users(n_users: int, freedom: int) -> None:
    """Half widths of .02; a pair of .1 is equivalent if its one-sided limit is below the margin."""
    effects = {"lower": np.full((1, 1), 0.08), "upper": np.full((1, 1), 0.12)}
    two_sided = t.ppf(0.975, freedom)
    found = stated([[1.0]], effects=effects, n_users=n_users)
    expected = 0.02 * (two_sided + t.ppf(0.8, freedom)) / two_sided
    assert found.detectable().tolist() == [pytest.approx(expected)]
    limit = 0.1 + t.ppf(0.95, freedom) * 0.02 / two_sided
    differences = np.full((1, 1), 0.1)
    for margin, verdict in ((limit + 1e-9, "equivalent"), (limit - 1e-9, "undecided")):
        verdicts = replace(found, differences=differences, margin=margin).verdicts()
        assert verdicts is not None
        assert verdicts.tolist() == [[verdict]]


def test_estimates_are_of_pairs_in_the_median_of_their_number() -> None:
    """Of three pairs, DP is 3 at most, and lower is better."""
    estimates = stated([[0.5, 0.5, 0.5]]).estimates()
    assert estimates.lower_is_better
    assert estimates.by_ratio
    assert estimates.most == 3
    assert estimates.threshold == 0.5


def test_the_caption_has_the_pairs_the_test_and_the_correction() -> None:
    found = stated([[0.25] * 6], test="t")
    assert found.caption().startswith(
        "p-values of 6 pairs of 4 systems over 11 users, by the two-sided Student's paired t-test. "
    )
    drawn = stated([[0.25] * 6], test="monte-carlo", permutations=2000)
    assert "difference in means (2,000 random draws)." in drawn.caption()
    assert "random draws" not in found.caption()
    with_baseline = stated([[0.25] * 6], baseline=("a",))
    assert "p-values of 3 pairs with a over 11 users" in with_baseline.caption()
    standard = stated([[0.25] * 6], standard="uniform")
    assert "p-values of standardised scores (uniform) of 6 pairs" in standard.caption()
    holm = stated([[0.25] * 6], correction="holm")
    assert "Adjusted p-values: Holm's method over all pairs of a measure." in holm.caption()
    across = stated([[0.25] * 6], correction="holm", across_measures=True)
    assert "Holm's method over all pairs and measures." in across.caption()
    assert "Adjusted" not in found.caption()


def test_the_table_of_power_may_be_of_one_cutoff_or_a_grid() -> None:
    measures = Measures([Measure(name, k) for name in ("P", "AP") for k in (5, 10)])
    p = [[0.5] * 3, [0.25] * 3, [0.1] * 3, [0.2] * 3]
    found = stated(p, names=("P", "AP", "x", "y"), measures=measures)
    grid = found.power()
    assert grid.headings == ["metric", "@5", "@10"]
    assert [[*row] for row in grid.rows] == [
        ["P", pytest.approx(1.5), pytest.approx(0.75)],
        ["AP", pytest.approx(0.3), pytest.approx(0.6)],
    ]
    assert grid.title.endswith("metric and cut-off")
    one = found.power(cutoff=10)
    assert [[*row] for row in one.rows] == [["P", pytest.approx(0.75)], ["AP", pytest.approx(0.6)]]
    several = Measures([Measure("P", 5), Measure("AP", 10)])
    table = stated(p[:2], measures=several).power()
    assert table.title.endswith("by measure")
    assert table.headings == ["metric", "DP"]


def test_measures_that_no_other_beats_at_their_cutoff_are_bold() -> None:
    """P is better at 5, beyond the noise of all replicates, and AP at 10."""
    measures = Measures([Measure(name, k) for name in ("P", "AP") for k in (5, 10)])
    dps = np.array([0.03, 0.12, 0.12, 0.03])
    powers = dps[:, None] * np.exp(0.01 * np.random.default_rng(1).normal(size=(4, 60)))
    samples = replace(stated([[0.5] * 3] * 4, names=tuple("abcd")).samples, mid_powers=powers)
    found = stated(
        np.repeat(dps / 3, 3).reshape(4, 3).tolist(),
        names=tuple("abcd"),
        measures=measures,
        samples=samples,
    )
    table = found.power()
    assert {*table.bold} == {(0, 1), (1, 2)}
    assert {*found.power(cutoff=5).bold} == {(0, 1)}


def test_the_table_of_conventions_has_what_is_known_of_a_cutoff() -> None:
    measures = Measures([Measure("P", 5), Measure("AP", 5), Measure("P", 10)])
    p = [[1e-16, 1e-16, 0.5], [0.01, 0.02, 0.3], [0.5, 0.5, 0.5]]
    half_widths = np.full((3, 3), 0.02) * t.ppf(0.975, 10)
    found = stated(
        p,
        names=tuple("abc"),
        measures=measures,
        methods=np.where(np.array(p) == 1e-16, "bound", "exact-sums"),
        required=np.array([[0.1, 0.2, 0.3]] * 3),
        effects=dict.fromkeys(EFFECT_SIZES, np.zeros((3, 3)))
        | {"lower": -half_widths, "upper": half_widths},
    )
    table = found.conventions(cutoff=5)
    columns = dict(zip(table.headings, zip(*table.rows, strict=True), strict=True))
    assert columns["measure"] == ("AP@5", "P@5")
    assert columns["median p"] == ("0.0200", "< 2e-16")
    assert columns["required difference"] == (0.3, 0.3)
    expected = 0.02 * (t.ppf(0.975, 10) + t.ppf(0.8, 10))
    assert columns["detectable difference"] == pytest.approx((expected, expected))
    assert "every pair is significant at 0.05" in table.note
    assert "with power .8 in the median pair" in table.note
    assert table.title == "Discriminative power at cut-off 5"
    unknown = np.full((3, 3), np.nan)
    effects = {**found.effects, "lower": unknown, "upper": unknown}
    plain = replace(found, required=unknown, effects=effects).conventions()
    assert "Required difference" not in plain.note
    assert "Detectable" not in plain.note
    assert "required difference" not in plain.headings
    assert [row[0] for row in plain.rows] == ["AP@5", "P@10"]
    every = stated(p[:2]).conventions()
    assert every.title == "Discriminative power"


def test_adjusted_shares_and_verdicts_are_in_the_table_of_conventions() -> None:
    wide = {name: np.full((1, 3), -1.0 if name == "lower" else 1.0) for name in EFFECT_SIZES}
    found = stated(
        [[0.01, 0.2, 0.001]], effects=wide, margin=0.05, p_adjusted=np.array([[0.03, 0.6, 0.003]])
    )
    table = found.conventions()
    (row,) = (dict(zip(table.headings, cells, strict=True)) for cells in table.rows)
    assert row["share adjusted p ≤ 0.05"] == pytest.approx(2 / 3)
    assert [row["different"], row["equivalent"], row["undecided"]] == pytest.approx(
        [2 / 3, 0, 1 / 3]
    )


@pytest.mark.slow
def test_the_axis_of_p_values_is_logarithmic_from_1_to_a_thousandth() -> None:
    p = [1.0] * 15 + [0.5] * 12 + [0.0001]
    ax = stated([p]).plot()
    assert ax.get_xscale() == "log"
    assert ax.get_xlim() == pytest.approx((1.1, 0.001 / 1.1))
    assert ax.get_xticks().tolist() == [1.0, 0.1, 0.01, 0.001]
    (level,) = (line for line in ax.lines if len(np.asarray(line.get_xdata())) == 2)
    assert np.asarray(level.get_xdata()).tolist() == [0.05, 0.05]
    curve = ax.lines[0]
    # Of 28 points, with the end, every second has a mark: some twelve.
    assert curve.get_markevery() == 2
    assert ax.get_ylim()[1] == 100
    assert "DP, the sum of the p-values" in explained(ax)
    assert "Dotted line: p = .05" in explained(ax)


@pytest.mark.slow
def test_the_axis_over_pairs_goes_from_0_to_1_with_the_level() -> None:
    p = [0.5] * 26 + [0.0001, 0.0002]
    ax = stated([p]).plot(axes="pairs")
    assert ax.get_ylim() == (-0.03, 1.03)
    assert ax.get_xlim() == (0, 28)
    (level,) = (line for line in ax.lines if len(np.asarray(line.get_ydata())) == 2)
    assert np.asarray(level.get_ydata()).tolist() == [0.05, 0.05]
    assert ax.lines[0].get_markevery() == 2
    assert "Pairs after the first 27 are left out" in explained(ax)
    few = stated([[0.5] * 3]).plot(axes="pairs")
    assert few.lines[0].get_markevery() == 1
    assert "are left out" not in explained(few)


def test_curves_of_cutoffs_have_no_dp_in_their_names() -> None:
    measures = Measures([Measure("P", 5), Measure("P", 10)])
    found = stated([[0.5] * 3, [0.25] * 3], measures=measures)
    ax = found.plot(metric="P")
    labels = {str(line.get_label()) for line in ax.lines}
    assert {"@5", "@10"} <= labels
    assert ax.get_title() == "P"
    assert "sum of the p-values" not in explained(ax)
    with pytest.raises(InputError, match="share"):
        found.plot(axes="ranks")


def test_report_measures_alone_are_in_findings_and_cautions() -> None:
    """P at 5 is no report measure: its pairs do not count."""
    measures = Measures([Measure("P", 5), Measure("P", 10)])
    wide = {"lower": np.full((2, 3), -1.0), "upper": np.full((2, 3), 1.0)}
    found = stated(
        [[0.01, 0.01, 0.98], [0.3, 0.3, 0.01]], measures=measures, effects=wide, margin=0.05
    )
    (undecided,) = (one for one in found.findings() if "undecided" in one)
    assert undecided == (
        "With 0.05 as the smallest difference of interest in every measure, so many of 3 pairs of "
        "systems are undecided: 2 by P@10."
    )
    assert not any("P@5" in one for one in found.findings())


def test_the_level_of_a_test_is_in_the_least_number_of_draws() -> None:
    """3 pairs at .05 need 60 draws: 59 and the observed one are 60."""
    few = stated([[0.04] * 3], test="bootstrap", permutations=59, n_users=500).cautions()
    assert any("below 1/60; use at least 60." in one for one in few)
    enough = stated([[0.04] * 3], test="bootstrap", permutations=60, n_users=500).cautions()
    assert not any("too few to correct" in one for one in enough)


def test_max_t_is_uncertain_of_systems_that_score_for_few_users() -> None:
    """The first of three systems scores for 4 of 40 users, the second for 5."""
    values = np.zeros((1, 3, 40))
    values[0, 0, :4] = 1.0
    values[0, 1, :5] = 0.5
    values[0, 2] = np.arange(40)
    scores = Scores(
        values,
        Measures([Measure("P", 10)]),
        ("few", "enough", "all"),
        np.array([f"u{n:02}" for n in range(40)]),
    )
    for correction, n_cautions in (("max-t", 1), ("max-t-sign-flip", 0)):
        settings = Settings(test="t", correction=correction, replicates=0)
        cautions = discrimination(ScoresWork(scores), settings).cautions()
        named = [caution for caution in cautions if "max-T is uncertain for few:" in caution]
        assert len(named) == n_cautions


def test_a_baseline_takes_cautions_on_systems_away() -> None:
    assert any("too few for an interval" in one for one in stated([[0.01] * 3]).cautions())
    with_baseline = stated([[0.01] * 3], baseline=("a",))
    assert not any("too few for an interval" in one for one in with_baseline.cautions())
