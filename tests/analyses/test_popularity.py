from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pydantic import ValidationError

from analyses.intervals.block_resampling import Resampling
from analyses.ordering import tau_b
from analyses.popularity import Popularity, Settings, keep_items, popularity
from analyses.shared.measure import Measure, Measures
from qrels import Qrels, qrels_from_columns
from tests.analyses.blocks import sums_of
from tests.analyses.made import JudgedWork, unrelated
from tests.drawn import band_at, curve, explained

COUNTS = np.array([9, 1, 5, 5])
LEVELS = [1.0, 0.75, 0.5, 0.25]

counts = st.lists(st.integers(0, 3), min_size=4, max_size=4).map(np.array)


def judgements() -> Qrels:
    """Two users judged all four items; items 0 and 2 are relevant."""
    users, items = np.divmod(np.arange(8), 4)
    grades = np.array([5, 1, 5, 1] * 2)
    return qrels_from_columns(users, items, grades, n_users=2, relevance_level=4)


@sums_of
def sum_samples(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """System a finds item 0, system b item 2, for both users."""
    by_user = kept.reshape(2, 4, -1)
    return np.stack([2.0 * by_user[:, 0], 1.0 * by_user[:, 2]])[None]


def work_of(counts: NDArray[np.intp] = COUNTS) -> JudgedWork:
    """Let a recommend item 0 first, then 1; b item 2, then 3."""
    return JudgedWork(
        sum_samples,
        judgements(),
        Measures([Measure("P", 5)]),
        n_systems=2,
        popularity_counts={"train": counts, "test": counts, "all": counts},
        recommended={
            "0": np.tile(np.array([0, 1], np.int32), (2, 1)),
            "1": np.tile(np.array([2, 3], np.int32), (2, 1)),
        },
    )


def study(*, counts: NDArray[np.intp] = COUNTS, **changes: Any) -> Popularity:
    settings: dict[str, Any] = {"levels": (1.0, 0.75, 0.25), "replicates": 0}
    return popularity(work_of(counts), Settings(**(settings | changes)))


def test_the_most_popular_items_are_lost_first() -> None:
    kept = keep_items(judgements(), COUNTS, levels=LEVELS)
    assert kept[:4].T.tolist() == [
        [True, True, True, True],
        [False, True, True, True],
        [False, True, True, False],
        [False, True, False, False],
    ]


def test_the_share_of_items_that_is_kept_is_rounded() -> None:
    """.29 times 100 is a little less than 29."""
    qrels = qrels_from_columns(
        np.zeros(100, int), np.arange(100), np.ones(100, int), n_users=1, relevance_level=1
    )
    assert keep_items(qrels, np.arange(100), levels=[0.29, 0.57]).sum(axis=0).tolist() == [29, 57]
    # Half of five items is two, as halves are rounded to even numbers.
    five = qrels_from_columns(
        np.zeros(5, int), np.arange(5), np.ones(5, int), n_users=1, relevance_level=1
    )
    assert keep_items(five, np.arange(5), levels=[0.5]).sum() == 2


def test_the_head_that_has_the_ratings_is_lost() -> None:
    # Of 20 ratings items 0, 3, 2, 1 have 9, 5, 5, 1.
    kept = keep_items(judgements(), COUNTS, levels=[1.0, 0.99, 0.55, 0.54, 0.05], cut="ratings")
    assert kept[:4].T.tolist() == [
        [True, True, True, True],
        [False, True, True, True],
        [False, True, True, True],
        [False, True, True, False],
        [False, True, False, False],
    ]


@given(counts=counts)
def test_the_control_keeps_the_complement(counts: NDArray[np.int64]) -> None:
    least = keep_items(judgements(), counts, levels=LEVELS)
    most = keep_items(judgements(), counts, levels=LEVELS, removed="least popular")
    np.testing.assert_array_equal(most[:, 1:], ~least[:, :0:-1])


@given(counts=counts.filter(np.any), level=st.floats(0.01, 1.0))
def test_no_more_items_are_lost_than_their_ratings_ask_for(
    counts: NDArray[np.int64], level: float
) -> None:
    kept = keep_items(judgements(), counts, levels=[level], cut="ratings")[:4, 0]
    lost = np.sort(counts[~kept])
    assert lost.sum() >= (1 - level) * counts.sum() - 1e-6
    assert lost[1:].sum() <= (1 - level) * counts.sum()


def test_the_order_turns_when_the_popular_item_is_lost() -> None:
    result = study()
    np.testing.assert_array_equal(result.chosen.taus[0, :2], [1.0, -1.0])
    assert result.chosen.n_kept.tolist() == [8, 6, 2]


def test_the_order_stays_when_the_least_popular_items_are_lost() -> None:
    result = study(levels=(0.75, 0.5, 0.25))
    (control,) = (
        check
        for check in result.checks
        if (check.cut, check.removed, check.counted_in) == ("items", "least popular", "train")
    )
    np.testing.assert_array_equal(control.taus[0], [1.0, 1.0, 1.0])


def test_a_level_without_relevant_judgements_is_empty() -> None:
    result = study(levels=(0.25,), replicates=5)
    assert np.isnan(result.chosen.taus).all()
    assert np.isnan(result.chosen.replicates).all()
    assert np.isnan([*result.chosen.coefficients.values()]).all()


def test_every_other_choice_is_checked() -> None:
    frame = study().frames()["popularity_checks"]
    assert len(frame.groupby(["cut", "removed", "counted_in"])) == 2 * 2 * 3 - 1


def test_equally_popular_items_go_in_random_orders() -> None:
    # Without item 0 the order turns, without item 2 it stays; both have five ratings.
    result = study(counts=np.array([5, 1, 5, 1]), levels=(1.0, 0.75), orders=200).chosen
    assert abs(result.taus[0, 1]) < 4 / np.sqrt(200)
    np.testing.assert_allclose(result.deviations[0], [0.0, 1.0], atol=0.05)


def test_areas_within_subsets_are_those_of_a_study_of_these_systems_alone() -> None:
    shares = np.random.default_rng(3).random((9, 4))
    counts = np.array([5, 9, 5, 5])

    def study_of(some: NDArray[np.intp]) -> Popularity:
        @sums_of
        def sum_samples(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
            return np.einsum("si,uik->suk", shares[some], kept.reshape(2, 4, -1))[None]

        work = replace(work_of(counts), sum_samples=sum_samples, n_systems=len(some), seed=7)
        levels = (1.0, 0.75, 0.5)
        return popularity(work, Settings(levels=levels, replicates=0, orders=3))

    found, subsets = study_of(np.arange(9)), unrelated(9).subsets(seed=7)
    assert found.chosen.within.values.shape == (1, len(subsets))
    assert all(check.within.values.shape == (1, 0) for check in found.checks)
    for number in (0, 57, 199):
        alone = study_of(np.flatnonzero(subsets[number])).estimates().values
        np.testing.assert_allclose(found.chosen.within.values[:, number], alone, rtol=1e-12)


RNG_SHARES = np.random.default_rng(6).random((4, 2, 4)).round(2)
"""What each of four items is worth to four systems for each of two users."""


@sums_of
def share_samples(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Add up what is kept of the items, for each user."""
    return np.einsum("sui,uik->suk", RNG_SHARES, kept.reshape(2, 4, -1))[None]


def of_shares(**changes: Any) -> Popularity:
    work = replace(work_of(), sum_samples=share_samples, n_systems=4)
    settings: dict[str, Any] = {"levels": (1.0, 0.75, 0.5), "replicates": 30, "orders": 3}
    return popularity(work, Settings(**(settings | changes)))


def test_curves_and_replicates_are_taus_on_what_is_kept_with_all_judgements() -> None:
    """Of items 0 to 3, of 9, 1, 5 and 5 ratings, first 0 is lost, then 2 or 3."""
    found = of_shares().chosen
    kept_items = [[[0, 1, 2, 3]], [[1, 2, 3]], [[1, 2], [1, 3]]]
    resampling = Resampling.of(2, replicates=30, seed=0)
    every_user = np.ones((1, 2))
    for weights, taus in (
        (every_user, found.taus[0][:, None]),
        (resampling.weights, found.replicates[0]),
    ):
        of_users = weights[:, resampling.blocks]
        full = np.einsum("sui,ru->rs", RNG_SHARES, of_users)
        for place, choices in enumerate(kept_items):
            some = [np.einsum("sui,ru->rs", RNG_SHARES[..., own], of_users) for own in choices]
            by_choice = [tau_b(means[:, None], full[:, None])[:, 0] for means in some]
            low, high = np.min(by_choice, axis=0), np.max(by_choice, axis=0)
            # Which of the two goes is drawn three times: a mean of both.
            assert ((low - 1e-9 <= taus[place]) & (taus[place] <= high + 1e-9)).all()
            thirds = 3 * (taus[place] - low) / np.where(high > low, high - low, 1)
            np.testing.assert_allclose(thirds, np.rint(thirds), atol=1e-6)


def test_judgements_left_are_a_mean_over_the_orders() -> None:
    """Two users judged item 0, one of them item 1 as well; both have five ratings."""
    qrels = qrels_from_columns(
        np.array([0, 0, 1]),
        np.array([0, 1, 0]),
        np.ones(3, dtype=int),
        n_users=2,
        relevance_level=1,
    )

    @sums_of
    def ones(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.ones((1, 2, 2, kept.shape[1]))

    work = replace(work_of(np.array([5, 5])), qrels=qrels, sum_samples=ones)
    found = popularity(work, Settings(levels=(1.0, 0.5), replicates=0, orders=400))
    assert found.chosen.n_kept[0] == 3
    assert found.chosen.n_kept[1] == pytest.approx(1.5, abs=4 * 0.5 / np.sqrt(400))
    assert {check.n_kept[1] for check in found.checks} <= {1.0, 2.0}


def test_items_that_are_not_in_the_catalogue_do_not_count() -> None:
    """Of items with 9, none, 5 and 5 ratings, two thirds are two; item 1 is always left."""
    kept = keep_items(judgements(), np.array([9, -1, 5, 5]), levels=[1.0, 2 / 3, 1 / 3])
    assert kept[:4].T.tolist() == [
        [True, True, True, True],
        [False, True, True, True],
        [False, True, True, False],
    ]
    assert study(counts=np.array([9, -1, 5, 5])).n_items == 3
    assert study(counts=np.array([9, 0, 5, 5])).n_items == 4


def test_ties_are_broken_by_the_higher_number_or_as_told() -> None:
    equal = np.array([5, 5, 5, 5])
    kept = keep_items(judgements(), equal, levels=[0.75])
    assert kept[:4, 0].tolist() == [True, True, True, False]
    told = keep_items(judgements(), equal, levels=[0.75], ties=np.array([3, 9, 1, 2]))
    assert told[:4, 0].tolist() == [True, False, True, True]


@pytest.mark.parametrize(("level", "n_lost"), [(0.55, 1), (0.549, 2), (0.3, 2), (0.299, 3)])
def test_the_fewest_items_are_lost_that_have_the_share_of_the_ratings(
    level: float, n_lost: int
) -> None:
    """Items have 9, 5, 5 and 1 of 20 ratings, which add up to 9, 14, 19 and 20."""
    kept = keep_items(judgements(), COUNTS, levels=[level], cut="ratings")
    assert 4 - kept[:4].sum() == n_lost


def by_hand() -> Popularity:
    """One measure at two levels with four replicates, and one check."""
    found = study(levels=(1.0, 0.5))
    chosen = replace(
        found.chosen,
        taus=np.array([[1.0, 0.3]]),
        deviations=np.array([[0.0, 0.1]]),
        replicates=np.array([[[1.0] * 4, [0.0, 0.1, 0.1, 0.6]]]),
        n_kept=np.array([8.0, 4.5]),
    )
    check = replace(found.checks[0], taus=np.array([[1.0, -0.2]]), n_kept=np.array([8.0, 3.0]))
    return replace(found, chosen=chosen, checks=(check,))


def test_the_frames_have_the_curve_with_its_band_and_the_checks() -> None:
    frames = by_hand().frames()
    row = frames["popularity"].iloc[1]
    assert row[["level", "tau", "sd", "judgements"]].tolist() == [0.5, 0.3, 0.1, 4.5]
    # Replicates are moved from their mean, .2, to .3.
    assert row[["low", "high"]].tolist() == pytest.approx([0.1075, 0.6625])
    assert study().frames()["popularity_checks"].index.tolist() == [*range(11 * 3)]
    check = frames["popularity_checks"].iloc[1]
    assert check[["level", "tau", "judgements"]].tolist() == [0.5, -0.2, 3]
    (area,) = frames["popularity_areas"]["area"]
    assert area == pytest.approx(0.3)


def test_the_figure_draws_the_curve_and_its_band() -> None:
    ax = by_hand().plot()
    np.testing.assert_allclose(curve(ax, "P"), [[100, 1.0], [50, 0.3]])
    assert "(4 replicates)" in explained(ax)
    assert band_at(ax, 50) == pytest.approx([0.1075, 0.6625])


def test_levels_may_be_shares_of_the_ratings() -> None:
    found = study(cut="ratings", levels=(1.0, 0.54))
    assert (found.chosen.cut, found.chosen.removed) == ("ratings", "most popular")
    assert found.chosen.n_kept.tolist() == [8, 4]
    assert ("items", "most popular", "train") in {
        (check.cut, check.removed, check.counted_in) for check in found.checks
    }


def test_deviations_over_orders_are_of_a_sample() -> None:
    """Of ten taus that are 1 or -1 with the mean m, the variance is (1 - m^2) 10 / 9."""
    found = study(counts=np.array([5, 1, 5, 1]), levels=(0.75,), orders=10).chosen
    (mean,), (deviation,) = found.taus[:, 0], found.deviations[:, 0]
    assert -1 < mean < 1
    assert deviation**2 == pytest.approx((1 - mean**2) * 10 / 9)


def test_settings_have_the_defaults_of_the_paper_and_bounds() -> None:
    """Valcarce et al. (2018) keep 100 to 80 % of the items, in steps of 1 %."""
    settings = Settings()
    np.testing.assert_allclose(settings.levels, np.linspace(1, 0.8, 21))
    assert (settings.cut, settings.orders, settings.replicates) == ("items", 10, 200)
    Settings(orders=1, replicates=0)
    for refused in ({"orders": 0}, {"replicates": -1}):
        with pytest.raises(ValidationError):
            Settings.model_validate(refused)


def test_the_caption_says_what_shares_are_of_and_their_range() -> None:
    caption = study(orders=3).caption()
    assert "of 2 systems on" in caption
    assert "all judgements of 2 users" in caption
    assert "Shares are of the 4 items. Areas are mean taus from 75 % to 25 %" in caption
    assert "number of training ratings" in caption
    assert "mean of 3 orders" in caption
    by_ratings = study(cut="ratings", orders=1, levels=(1.0, 0.5)).caption()
    assert "of the training ratings of the 4 items" in by_ratings
    assert "from 50 % to 50 %" in by_ratings


def test_a_measure_is_robust_from_a_mean_tau_of_half_on() -> None:
    found = by_hand()
    assert found.estimates().acceptable().tolist() == [False]
    for tau, robust in ((0.5, True), (0.49, False)):
        changed = replace(found, chosen=replace(found.chosen, taus=np.array([[1.0, tau]])))
        assert changed.estimates().acceptable().tolist() == [robust]


@pytest.mark.slow
def test_axes_say_what_levels_are_shares_of() -> None:
    assert by_hand().plot().get_xlabel() == "least popular items kept (%)"
    by_ratings = replace(by_hand(), chosen=replace(by_hand().chosen, cut="ratings"))
    assert by_ratings.plot().get_xlabel() == "least popular items, by ratings, kept (%)"


def test_few_systems_have_a_caution() -> None:
    assert any("2 systems are too few" in caution for caution in study().cautions())


def test_columns_of_the_frame_are_in_their_order() -> None:
    """The band stands behind the mean and the deviation, before what is left."""
    frame = by_hand().frames()["popularity"]
    assert frame.columns[:8].tolist() == [
        *("metric", "cutoff", "level", "tau", "sd", "low", "high", "judgements")
    ]
    assert frame.columns[8:11].tolist() == ["cut", "removed", "counted_in"]


def test_every_item_needs_a_tie_breaker() -> None:
    with pytest.raises(ValueError, match="4 counts need as many tie-breakers, got 3"):
        keep_items(judgements(), COUNTS, levels=LEVELS, ties=np.arange(3))


def test_figure_3_has_tau_by_the_percentage_of_the_items_that_is_kept() -> None:
    """Without item 0, which a alone finds, the order of the two systems turns round."""
    frame = study().publications()["recsys2018-figure3"]
    assert frame.kept_items.tolist() == [100, 75, 25]
    assert frame.value.tolist()[:2] == [1, -1]
    assert set(zip(frame.metric, frame.cutoff, strict=True)) == {("P", 5)}
