from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from analyses.exposure import (
    ASPECTS,
    Exposure,
    Settings,
    exposure,
    gini,
    pop_reo,
    popularity_groups,
    shannon_entropy,
)
from analyses.intervals.resampling import resampled_users
from analyses.shared.analysis import SettingError, StudyFacts
from analyses.shared.measure import Measure, Measures
from qrels import qrels_from_columns
from runs import InputError
from tests.analyses.blocks import sums_of
from tests.analyses.made import JudgedWork
from tests.drawn import explained, points, segments

COUNTS = np.array([4, 2, 1, 1])
LISTS = {
    "spread": np.array([[0, 1], [2, 3]], dtype=np.int32),
    "one": np.array([[0, -1], [0, -1]], dtype=np.int32),
}

counts = st.lists(st.integers(0, 5), min_size=2, max_size=6).filter(any)


@sums_of
def unscored(kept: np.ndarray) -> np.ndarray:
    raise AssertionError("nothing is scored anew")


def study(
    counts: np.ndarray = COUNTS, lists: dict[str, np.ndarray] = LISTS, **settings: Any
) -> Exposure:
    """Two users: items 0 and 2 are relevant to the first, item 0 to the second."""
    qrels = qrels_from_columns(
        np.array([0, 0, 1, 1]),
        np.array([0, 2, 0, 3]),
        np.array([1, 1, 1, 0]),
        n_users=2,
        relevance_level=1,
    )
    work = JudgedWork(
        unscored,
        qrels,
        Measures([Measure("P", 1), Measure("P", 2)]),
        n_systems=2,
        popularity_counts={"train": counts},
        recommended=lists,
    )
    return exposure(work, Settings(**({"groups": 2, "replicates": 0} | settings)))


def test_the_aspects_are_those_found_by_hand() -> None:
    # At 1 "spread" shows items 0 and 2 once each, of four; at 2 all four. Of the popular item 0,
    # half of the hits are found; of the rare item 2, none.
    assert dict(zip(ASPECTS, study().values[:, :, 0].tolist(), strict=True)) == {
        "coverage": [0.5, 1.0],
        "Gini index": [0.5, 0.0],
        "Shannon entropy": [1.0, 2.0],
        "PopREO": [1.0, 1.0],
    }


def test_no_interval_of_exposure_goes_below_0() -> None:
    found = replace(study(), replicates=np.tile([0.0, 3.0], (4, 2, 2, 10)))
    assert found.frames()["exposure"]["low"].min() == 0


@given(counts=counts)
def test_the_gini_index_is_half_the_relative_mean_difference(counts: list[int]) -> None:
    pairs = [abs(a - b) for a in counts for b in counts]
    expected = sum(pairs) / (2 * len(counts) * sum(counts))
    assert gini(np.array(counts, dtype=np.float64)) == pytest.approx(expected)


@given(counts=counts)
def test_entropy_is_the_mean_surprise(counts: list[int]) -> None:
    shares = [count / sum(counts) for count in counts if count]
    expected = -sum(share * np.log2(share) for share in shares)
    assert shannon_entropy(np.array(counts, dtype=np.float64)) == pytest.approx(expected)


def test_groups_have_equally_many_ratings() -> None:
    # In a row 1, 2, 3, 4, 5, 9 have their middles at .5, 2, 4.5, 8, 12.5 and 19.5; thirds end at 8
    # and 16.
    ratings = np.array([1, 9, 2, 4, 3, 5])
    groups = popularity_groups(ratings, 3)
    assert np.bincount(groups, ratings).tolist() == [6, 9, 9]
    assert groups[np.argsort(ratings)].tolist() == sorted(groups)


def test_systems_are_compared_over_the_same_users() -> None:
    found = study(replicates=20)
    (row,) = (
        found.frames()["exposure_differences"]
        .query("aspect == 'coverage' and cutoff == 1")[["system_a", "system_b", "difference"]]
        .values.tolist()
    )
    assert row == ["spread", "one", 0.25]


def test_a_cutoff_beyond_the_metrics_is_refused_before_any_work() -> None:
    measures = Measures([Measure("P", 5)])
    given = StudyFacts(("a", "b"), measures, has_training=True, best_ranks=lambda: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(SettingError, match="not be deeper than those of the metrics, 5, got 6"):
        Settings(cutoffs=(6, 1)).check(given)


def test_popreo_is_the_deviation_of_recalls_over_their_mean() -> None:
    """Of .2 and .6 the mean is .4, the deviation .2; a group without relevant items is left out."""
    found = pop_reo(np.array([[0.2, 0.6, np.nan], [0.3, 0.3, 0.3], [0, 0, 0], [0.1, 0.2, 0.6]]))
    assert found[0] == pytest.approx(0.5)
    assert found[1] == pytest.approx(0)
    assert np.isnan(found[2])
    assert found[3] == pytest.approx(np.std([0.1, 0.2, 0.6]) / 0.3)


def test_extreme_counts_have_the_extreme_indices() -> None:
    assert gini(np.array([[0.0, 0, 0, 5], [2, 2, 2, 2]])).tolist() == [0.75, 0]
    assert np.isnan(gini(np.zeros(3)))
    assert shannon_entropy(np.array([[0.0, 0, 0, 5], [2, 2, 2, 2]])).tolist() == [0, 2]


def test_equally_popular_items_are_grouped_by_number_and_unknown_ones_are_least_popular() -> None:
    # The row is 1, 3, 0, 2 and 4 with middles .0, .0, 1, 3 and 5 of 6 ratings.
    assert popularity_groups(np.array([2, -1, 2, 0, 2]), 3).tolist() == [0, 0, 1, 0, 2]
    assert popularity_groups(np.zeros(3, dtype=int), 2).tolist() == [0, 0, 0]


def test_groups_have_their_items_relevant_judgements_and_recalls() -> None:
    """Item 0 has half of the ratings; of its two relevant judgements "one" finds both."""
    frame = study().frames()["exposure_groups"]
    assert frame.groupby("group", sort=False)[
        ["items", "relevant"]
    ].first().to_numpy().tolist() == [[3, 1], [1, 2]]
    recalls = frame.set_index(["group", "system", "cutoff"])["recall"]
    assert recalls.xs("spread", level="system").tolist() == [0, 0, 0.5, 0.5]
    assert recalls.xs("one", level="system").tolist() == [0, 0, 1, 1]


def test_the_catalogue_has_what_is_rated_and_what_is_recommended() -> None:
    """Of items 0 to 5 the last has no rating and is not recommended; 4 is recommended."""
    lists = {"spread": np.array([[0, 4], [2, 3]], dtype=np.int32)}
    found = study(counts=np.array([4, 2, 1, 1, -1, -1]), lists=lists)
    assert found.n_items == 5
    assert found.values[0, :, 0].tolist() == [2 / 5, 4 / 5]
    assert found.group_sizes.sum() == 5


def test_replicates_are_the_aspects_of_resampled_users() -> None:
    found = study(replicates=30)
    for number, weights in enumerate(resampled_users(0, 30, n_users=2, seed=0)):
        # At 1 "spread" shows item 0 to the first user and 2 to the second.
        shown = np.array([weights[0], 0, weights[1], 0])
        coverage = np.count_nonzero(shown) / 4
        aspects = found.replicates[:3, 0, 0, number]
        assert aspects == pytest.approx(
            [coverage, float(gini(shown)), float(shannon_entropy(shown))]
        )
        # The relevant item 0 is found for the first user, missed for the second; 2 is missed.
        reo = found.replicates[3, 0, 0, number]
        assert np.isnan(reo) if weights[0] == 0 else reo == pytest.approx(1)
    assert len({*found.replicates[0, 0, 0]}) == 2


def with_replicates() -> Exposure:
    """Replicates of 0 to 1 in steps of .025, or five times that for the unbounded aspects."""
    steps = np.linspace(0, 1, 41)
    replicates = np.tile(steps, (4, 2, 2, 1)) * np.array([1, 1, 5, 5])[:, None, None, None]
    values = np.tile(np.array([0.5, 0.9, 1.8, 2.5])[:, None, None], (1, 2, 2))
    return replace(study(), values=values, replicates=replicates)


def test_intervals_are_moved_to_the_values_and_end_where_values_do() -> None:
    """Replicates reach .475 to either side of their mean, or five times that."""
    frame = with_replicates().frames()["exposure"]
    found = frame.groupby("aspect", sort=False)[["value", "low", "high"]].first().to_numpy()
    expected = [
        [0.5, 0.025, 0.975],
        [0.9, 0.425, 1.0],
        # The entropy of four items is at most 2 bits; PopREO has no end.
        [1.8, 0.0, 2.0],
        [2.5, 0.125, 4.875],
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_figure_draws_an_aspect_with_its_intervals_over_the_cutoffs() -> None:
    ax = with_replicates().plot(aspect="Gini index")
    assert points(ax.lines[0]).tolist() == [[1, 0.9], [2, 0.9]]
    assert "(41 replicates)" in explained(ax)
    segment = segments(ax)[0]
    np.testing.assert_allclose(segment, [[1, 0.425], [1, 1.0]])


@pytest.mark.parametrize(("gap", "beyond"), [(0.4, False), (0.5, True)])
def test_a_difference_is_beyond_noise_if_its_interval_leaves_0_out(
    gap: float, beyond: bool
) -> None:
    """Replicates of the difference reach .475 to either side, of the first system alone."""
    found = with_replicates()
    replicates = found.replicates.copy()
    replicates[:, :, 1] = 0
    for sign in (1, -1):
        values = found.values.copy()
        values[0, :, 0] = values[0, :, 1] + sign * gap
        changed = replace(found, values=values, replicates=replicates)
        row = changed.frames()["exposure_differences"].iloc[0]
        limits = row[["difference", "low", "high"]].tolist()
        assert limits == pytest.approx([sign * gap, sign * gap - 0.475, sign * gap + 0.475])
        assert row["beyond_noise"] == beyond


def test_findings_name_the_systems_with_the_extreme_values_at_the_deepest_cutoff() -> None:
    coverage, reo = study().findings()
    assert "at cut-off 2 is lowest for one (.25" in coverage
    assert "highest for spread (1" in coverage
    values = study().values.copy()
    values[3, -1] = [0.3, 0.2]
    _, reo = replace(study(), values=values).findings()
    assert "smallest for one (.2" in reo
    assert "largest for spread (.3" in reo


@pytest.mark.parametrize(("cutoff", "coverages"), [(None, [1.0, 0.25]), (1, [0.5, 0.25])])
def test_the_table_is_of_the_deepest_cutoff_or_another(
    cutoff: int | None, coverages: list[float]
) -> None:
    table = study().table(cutoff=cutoff)
    assert [[row[0], row[1]] for row in table.rows] == [
        ["spread", coverages[0]],
        ["one", coverages[1]],
    ]
    with pytest.raises(InputError, match="at cut-off 3; there are 1, 2"):
        study().table(cutoff=3)


def test_groups_without_a_relevant_item_are_counted() -> None:
    (caution,) = study().cautions()
    assert "paired tests do not apply" in caution
    four = study(groups=4)
    # Item 0 has the last 4 of 8 ratings: their middle, 6, is where the fourth quarter begins.
    assert four.group_relevant.tolist() == [1, 0, 0, 2]
    assert "leaves out 2 of the 4 groups" in four.cautions()[1]


def test_systems_with_the_same_lists_do_not_differ_beyond_noise() -> None:
    lists = {"one": LISTS["one"], "same": LISTS["one"]}
    frame = study(lists=lists, replicates=10).frames()["exposure_differences"]
    assert (frame["difference"] == 0).all()
    assert not frame["beyond_noise"].any()


def test_each_relevant_judgement_of_a_group_counts() -> None:
    """Of items 0 to 2, of one rating each, the first user likes two, the second one."""
    found = study(counts=np.array([1, 1, 1, 5]))
    assert found.group_relevant.tolist() == [3, 0]
    # At 2 "one" finds item 0 for both users: two of the three.
    assert found.recalls[0, 1, 1] == pytest.approx(2 / 3)


def test_settings_have_their_defaults_and_bounds() -> None:
    settings = Settings()
    assert settings.cutoffs is None
    assert (settings.groups, settings.replicates) == (5, 200)
    Settings(groups=2, replicates=0, cutoffs=(1,))
    Settings(groups=1000)
    for refused in ({"groups": 1}, {"groups": 1001}, {"replicates": -1}, {"cutoffs": ()}):
        with pytest.raises(ValidationError):
            Settings.model_validate(refused)


def test_cutoffs_as_deep_as_the_metrics_are_allowed() -> None:
    given = StudyFacts(("a", "b"), Measures([Measure("P", 5)]), has_training=True)
    Settings(cutoffs=(5, 1)).check(given)
    Settings().check(given)
    whole = StudyFacts(("a", "b"), Measures([Measure("AP")]), has_training=True)
    Settings(cutoffs=(10**6,)).check(whole)


def test_cutoffs_are_those_asked_for_those_of_the_metrics_or_the_depth() -> None:
    assert study().cutoffs == (1, 2)
    assert study(cutoffs=(2,)).cutoffs == (2,)
    assert study(cutoffs=(2, 1)).cutoffs == (1, 2)
    deeper = {"a": np.array([[0, 1, 2], [2, 3, -1]], dtype=np.int32)}
    qrels = qrels_from_columns(
        np.array([0]), np.array([0]), np.array([1]), n_users=2, relevance_level=1
    )
    work = JudgedWork(
        unscored,
        qrels,
        Measures([Measure("AP")]),
        n_systems=1,
        popularity_counts={"test": COUNTS},
        recommended=deeper,
    )
    found = exposure(work, Settings(groups=2, replicates=0))
    assert found.cutoffs == (3,)
    assert found.counted_in == "test"


def test_systems_that_find_nothing_have_no_popreo() -> None:
    values = study().values.copy()
    values[3, -1] = np.nan
    _, reo = replace(study(), values=values).findings()
    assert "smallest for no system and largest for no system" in reo
    values[3, -1] = [np.nan, 0.2]
    _, reo = replace(study(), values=values).findings()
    assert "smallest for one (.200) and largest for one (.200)" in reo


def test_the_caption_has_the_items_users_groups_and_bits() -> None:
    caption = study().caption()
    assert "share of the 4 items of the catalogue that are recommended to any of 2 users" in caption
    assert "in bits, at most 2." in caption
    assert "over 2 groups of items by popularity (training ratings)" in caption


def test_groups_are_numbered_from_1() -> None:
    assert study().frames()["exposure_groups"]["group"].unique().tolist() == [1, 2]


def test_all_systems_are_counted_with_all_users() -> None:
    """An item at the end of a short list is no item of the catalogue."""
    found = study(counts=np.array([4, 2, 1, 1, -1]))
    assert found.n_items == 4
    assert found.n_users == 2
