"""A study under several seeds or settings: its numbers, gathered and by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analyses.shared.families import Families, SubsetValues
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figures_of
from harness.report.repeats import Repeats, combine_repeats, root_mean_square
from harness.scoring.means import Means
from tests.drawn import segments_of
from tests.harness.results import correlation_of, discrimination_of, sparsity_of

SYSTEMS = ("a", "b", "c")
MEASURES = Measures([Measure("P", 20), Measure("AP", 20)])


def stated(**changes: Any) -> Repeats:
    """Two quantities, of one of which less is better, by two measures under three seeds."""
    facts: dict[str, Any] = {
        "measures": MEASURES,
        "systems": SYSTEMS,
        "seeds": (3, 4, 5),
        "quantities": ("area", "DP"),
        "subjects": ("Robustness", "Power"),
        "in_words": ("area under the curve", "DP over unordered pairs"),
        "values": np.array([[[0.5, 0.7, 0.9], [0.6, 0.6, 0.6]], [[3, 1, 8], [2, 4, np.nan]]]),
        "users": np.array([[0.1, 0.2], [1.0, 1.5]]),
        "over_systems": np.array([[0.3, 0.4], [np.nan, 2.0]]),
        "means": np.array(
            [[[0.1, 0.3, 0.3], [0.2, 0.2, 0.1], [0.3, 0.1, 0.2]], np.arange(9.0).reshape(3, 3)]
        ),
        "signs": np.array([1.0, -1.0]),
    }
    return Repeats(**facts | changes)


def test_the_deviation_over_seeds_is_that_of_the_defined_values() -> None:
    users, systems, seeds = stated().sources
    expected = np.array([[0.2, 0.0], [np.std([3, 1, 8], ddof=1), np.sqrt(2)]])
    np.testing.assert_allclose(seeds, expected, atol=1e-12)
    assert users.tolist() == [[0.1, 0.2], [1.0, 1.5]]
    assert systems[0].tolist() == [0.3, 0.4]


def test_orderings_of_every_two_seeds_are_compared() -> None:
    """Of P: 1 2 3 with 3 2 1, with 3 1 2, and the latter two."""
    expected = np.array([[-1, -1 / 3, 1 / 3], [1, 1, 1]])
    np.testing.assert_allclose(stated().taus, expected)


def test_the_table_has_the_first_value_the_mean_and_the_deviations() -> None:
    table = stated().repeats_table()
    rows = [[*row] for row in table.rows]
    assert [row[:2] for row in rows] == [["P", "area"], ["AP", "area"], ["P", "DP"], ["AP", "DP"]]
    assert rows[0][2:] == pytest.approx([0.5, 0.7, 0.1, 0.3, 0.2])
    assert rows[2][2:] == pytest.approx([3, 4, 1, np.nan, np.std([3, 1, 8], ddof=1)], nan_ok=True)
    assert rows[3][2:] == pytest.approx([2, 3, 1.5, 2, np.sqrt(2)])


def test_frames_have_every_value_source_and_mean() -> None:
    frames = stated().frames()
    values = frames["repeats"].set_index(["quantity", "metric", "cutoff", "seed"]).value
    assert values["DP", "P", 20, 5] == 8
    assert values["area", "AP", 20, 3] == 0.6
    sources = frames["repeats_sources"].set_index(["quantity", "metric", "cutoff"])
    assert sources.iloc[0].tolist() == pytest.approx([0.1, 0.3, 0.2])
    assert sources.index[0] == ("area", "P", 20)
    assert sources.columns.tolist() == ["users", "systems", "splits"]
    means = frames["repeats_means"].set_index(["metric", "cutoff", "system", "seed"])["mean"]
    assert means["P", 20, "b", 5] == 0.1
    assert means["AP", 20, "c", 4] == 7


def test_findings_have_root_mean_squares_and_mean_agreements() -> None:
    """Over users, the root of (.1² + .2²) / 2 is .158; a mean tau of -1, -1/3 and 1/3 is -.33."""
    of_area, of_power, agreement, *_ = stated().findings()
    assert ".158 over users" in of_area
    assert ".354 over systems" in of_area
    assert ".141 over splits" in of_area
    assert "1.275 over users" in of_power
    assert "2.000 over systems" in of_power
    assert "-.33 (P)" in agreement.replace("−", "-")
    assert "1.00 (AP)" in agreement


def test_the_best_measure_is_counted_over_the_seeds_in_its_direction() -> None:
    """Of areas the larger is better, of DP the smaller; an undefined value is never the best."""
    *_, of_area, of_power = stated().findings()
    assert "P@20 (2) and AP@20 (1)" in of_area
    assert "P@20 (2) and AP@20 (1)" in of_power
    turned = stated(values=np.array([[[1, 1, 1], [2, 2, np.nan]], [[3, 1, 8], [2, 4, 9]]]))
    *_, of_area, _ = turned.findings()
    assert "AP@20 (2) and P@20 (1)" in of_area


def test_what_varies_more_than_twice_as_much_over_seeds_as_over_users_is_named() -> None:
    values = np.array([[[0.5, 0.7, 0.9], [0.6, 0.6, 0.6]], [[0, 2, 4], [0, 2, 4]]])
    (caution,) = stated(values=values, users=np.array([[0.09, 0.2], [1.0, 0.99]])).cautions()
    assert "P (area) and AP (DP)" in caution
    assert "P (DP)" not in caution.replace("AP (DP)", "")
    assert not stated(values=values, users=np.ones((2, 2))).cautions()


def test_what_estimates_are_under_settings_is_in_the_order_of_their_measures() -> None:
    result = stated(varied="settings")
    wanted = sparsity_of({("RR", 20): 0.1, ("AP", 20): 0.2, ("P", 20): 0.3}).estimates()
    values = result.of_settings(replace(wanted, name="area"))
    np.testing.assert_array_equal(values, [[np.nan] * 3, [0.6] * 3, [0.5, 0.7, 0.9]])
    assert result.of_settings(replace(wanted, name="other")) is None
    assert result.of_settings(None) is None
    assert stated().of_settings(replace(wanted, name="area")) is None


@pytest.mark.slow
def test_lines_are_a_deviation_to_each_side_of_the_mean() -> None:
    ax = stated().plot(subject="Robustness")
    segments = segments_of(ax)
    expected = [(0.7, 0.1), (0.6, 0.2), (0.7, 0.3), (0.6, 0.4), (0.7, 0.2), (0.6, 0.0)]
    ends = [(start, end) for (start, _), (end, _) in segments]
    np.testing.assert_allclose(ends, [(mean - sd, mean + sd) for mean, sd in expected])
    places = [place for (_, place), _ in segments]
    assert places == pytest.approx([1.22, 0.22, 1, 0, 0.78, -0.22])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["P@20", "AP@20"]
    assert ax.get_yticks().tolist() == [1, 0]


def test_a_root_mean_square_leaves_out_what_is_undefined() -> None:
    values = np.array([[3.0, 4.0, np.nan], [np.nan] * 3])
    np.testing.assert_allclose(root_mean_square(values), [np.sqrt(12.5), np.nan])


def means_of(values: list[list[float]]) -> Means:
    """Means of three systems by three measures, of which AP and P are reported, in this order."""
    measures = [Measure("P", 20), Measure("RR", 20), Measure("AP", 20)]
    reported = Measures(measures, reported=[measures[2], measures[0]])
    array = np.array(values)
    return Means(reported, SYSTEMS, array, np.zeros(array.shape), 60)


def test_results_of_every_seed_are_gathered_by_report_measure() -> None:
    """DP of P is .6 and 1.5, of AP 1.2 and .9; a result without an estimate has none."""
    p = {
        1: {("P", 20): [0.1, 0.2, 0.3], ("RR", 20): [0.0] * 3, ("AP", 20): [0.3, 0.4, 0.5]},
        2: {("P", 20): [0.5, 0.5, 0.5], ("RR", 20): [0.0] * 3, ("AP", 20): [0.3, 0.3, 0.3]},
    }
    powers = {1: [[1.0, 3.0], [1, 1], [2, 2]], 2: [[1.0, 7.0], [1, 1], [1, 3]]}
    results: list[list[Result]] = []
    for seed in (1, 2):
        tested = discrimination_of(p[seed])
        drawn = np.array(powers[seed], dtype=np.float64)
        samples = replace(tested.samples, mid_powers=drawn)
        results.append([correlation_of({("P", "AP"): 0.5}), replace(tested, samples=samples)])
    means = [
        means_of([[1, 2, 3], [0, 0, 0], [4, 5, 6]]),
        means_of([[3, 2, 1], [0, 0, 0], [6, 5, 4]]),
    ]
    found = combine_repeats(means, results, seeds=[7, 8])
    assert [*map(str, found.measures)] == ["AP@20", "P@20"]
    assert (found.quantities, found.seeds, found.systems) == (("mid-p DP",), (7, 8), SYSTEMS)
    np.testing.assert_allclose(found.values, [[[1.2, 0.9], [0.6, 1.5]]])
    # Deviations of two powers are their distance over the root of 2.
    of_ap = np.sqrt((0 + 2**2 / 2) / 2)
    of_p = np.sqrt((2**2 / 2 + 6**2 / 2) / 2)
    np.testing.assert_allclose(found.users, [[of_ap, of_p]])
    np.testing.assert_array_equal(found.means[0], [[4, 6], [5, 5], [6, 4]])
    assert found.signs.tolist() == [-1]
    np.testing.assert_allclose(found.taus, [[-1], [-1]])


def test_a_quantity_that_a_seed_lacks_is_left_out_and_a_measure_is_undefined() -> None:
    areas = {("P", 20): 0.5, ("AP", 20): 0.7}
    means = [means_of([[1, 2, 3], [0, 0, 0], [4, 5, 6]])] * 2
    of_loss = sparsity_of(areas)
    tested = discrimination_of({("P", 20): [0.1, 0.2, 0.3], ("AP", 20): [0.3, 0.4, 0.5]})
    found = combine_repeats(means, [[of_loss, tested], [of_loss]], seeds=[1, 2])
    assert len(found.quantities) == 1
    np.testing.assert_allclose(found.values, [[[0.7, 0.7], [0.5, 0.5]]])
    only = combine_repeats(means, [[sparsity_of({("P", 20): 0.5})]] * 2, seeds=[1, 2])
    np.testing.assert_allclose(only.values, [[[np.nan, np.nan], [0.5, 0.5]]])


@pytest.mark.parametrize(
    ("n_means", "n_results", "n_seeds"), [(1, 2, 2), (2, 1, 2), (2, 2, 1), (2, 2, 3)]
)
def test_every_seed_must_have_means_and_results(n_means: int, n_results: int, n_seeds: int) -> None:
    means = [means_of([[1, 2, 3]] * 3)] * n_means
    results: list[list[Result]] = [[sparsity_of({("P", 20): 0.5})]] * n_results
    refusal = f"each of the {n_seeds} seeds must have means and results, got {n_means} and"
    with pytest.raises(ValueError, match=refusal):
        combine_repeats(means, results, seeds=range(n_seeds))


def test_deviations_over_systems_are_root_mean_squares_of_the_jackknife() -> None:
    """Of 12 families 9 are in a subset: the variance over subsets counts threefold."""
    areas = {("P", 20): 0.5, ("AP", 20): 0.7}
    results: list[list[Result]] = []
    for spread in (0.1, 0.3):
        of_subsets = np.array([[0.5 - spread, 0.5 + spread], [0.7, 0.7]])
        families = Families(np.arange(12))
        within = SubsetValues(12, of_subsets)
        results.append([replace(sparsity_of(areas), within=within, families=families)])
    found = combine_repeats([means_of([[1, 2, 3]] * 3)] * 2, results, seeds=[1, 2])
    expected = np.sqrt((3 * 0.1**2 + 3 * 0.3**2) / 2)
    np.testing.assert_allclose(found.over_systems, [[0.0, expected]], atol=1e-12)


@pytest.mark.parametrize(
    ("varied", "repetitions", "differ"),
    [
        ("splits", "seeds", "The study with 3 random seeds (3 to 5): the data are the same"),
        ("settings", "settings of the systems", "The study with 3 settings of the systems: data"),
    ],
)
def test_repetitions_are_seeds_or_settings(varied: Any, repetitions: str, differ: str) -> None:
    result = stated(varied=varied)
    _, _, agreement, of_area, _ = result.findings()
    assert agreement.startswith(f"The orderings of the systems under two {repetitions} agree with")
    assert f"of 3 {repetitions}, the best measure is" in of_area
    assert result.repeats_table().title == f"The study under 3 {repetitions}"
    assert result.caption().startswith(differ)
    assert result.names == ("users", "systems", varied)
    values = np.array([[[0.5, 0.7, 0.9], [0.6, 0.6, 0.6]], [[0, 0, 0], [0, 0, 0]]])
    (caution,) = stated(values=values, varied=varied, users=np.full((2, 2), 0.01)).cautions()
    assert f"over {repetitions} as over users" in caution


def test_a_deviation_of_exactly_twice_that_over_users_is_no_caution() -> None:
    """Of 0, 2 and 4 the standard deviation is 2."""
    values = np.array([[[0, 2, 4], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]], dtype=np.float64)
    assert not stated(values=values, users=np.ones((2, 2))).cautions()
    assert stated(values=values, users=np.full((2, 2), 0.999)).cautions()


def test_a_study_without_analyses_has_no_figure_of_repetitions() -> None:
    nothing = stated(
        quantities=(),
        subjects=(),
        in_words=(),
        values=np.empty((0, 2, 3)),
        users=np.empty((0, 2)),
        over_systems=np.empty((0, 2)),
        signs=np.empty(0),
    )
    (face,) = figures_of(Repeats)
    assert face.applies_to(stated())
    assert not face.applies_to(nothing)
