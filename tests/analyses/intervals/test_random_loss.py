"""Random loss of judgements: samples that are given, and their numbers by hand and by loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.intervals.random_loss import lose_at_random
from analyses.intervals.resampling import resampled_users
from analyses.ordering import COEFFICIENTS, tau_b
from analyses.shared.families import SubsetValues
from analyses.shared.measure import Measure, Measures
from analyses.sparsity import Settings, Sparsity
from qrels import Qrels, qrels_from_columns
from tests.analyses.blocks import sums_of
from tests.analyses.made import JudgedWork, unrelated
from tests.drawn import band_at, curve, explained

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]

N_USERS, N_ITEMS = 6, 4
HITS = np.random.default_rng(5).random((3, N_USERS, N_ITEMS)).round(2)
"""What each judgement is worth for each of three systems."""

TWO = Measures([Measure("sum", 5), Measure("first", 5)])


def judgements() -> Qrels:
    """Six users judged four items; the first two are relevant."""
    users, items = np.divmod(np.arange(N_USERS * N_ITEMS), N_ITEMS)
    grades = (items < 2).astype(int)
    return qrels_from_columns(users, items, grades, n_users=N_USERS, relevance_level=1)


def score_users(kept: Masks) -> Floats:
    """Add up what is kept, and, by the second measure, of the first item: (2, 3, 6, n_samples)."""
    of_items = HITS[..., None] * kept.reshape(N_USERS, N_ITEMS, -1)
    return np.stack([of_items.sum(axis=2), of_items[:, :, 0]])


def lost(
    masks: dict[float, Masks], *, replicates: int = 0, n_systems: int = 3, **changes: object
) -> Sparsity:
    """Study samples that are given for each level."""
    work = JudgedWork(sums_of(score_users), judgements(), TWO, n_systems=n_systems, seed=4)
    work = replace(work, **changes)  # type: ignore[arg-type]
    n_samples = next(iter(masks.values())).shape[1]
    settings = Settings(levels=tuple(masks), samples=n_samples, replicates=replicates)
    facts = {"loss": "loss", "drawing": "Drawn", "mode": "all"}
    return lose_at_random(Sparsity, work, settings, masks.__getitem__, **facts)


def some_masks(n_samples: int, *, levels: Sequence[float] = (0.75, 0.5)) -> dict[float, Masks]:
    draw = np.random.default_rng(9)
    return {level: draw.random((N_USERS * N_ITEMS, n_samples)) < level for level in levels}


def means_of(kept: Masks, weights: Floats | None = None) -> Floats:
    """Mean scores of shape (n_measures, n_samples, n_systems)."""
    of_users = np.ones(N_USERS) if weights is None else weights
    return np.einsum("u,msuk->mks", of_users, score_users(kept)) / N_USERS


EVERYTHING = np.ones((N_USERS * N_ITEMS, 1), dtype=np.bool_)


@pytest.mark.parametrize("n_samples", [3, 9])
def test_taus_are_those_of_the_samples_with_all_judgements(n_samples: int) -> None:
    masks = some_masks(n_samples)
    found = lost(masks)
    for place, kept in enumerate(masks.values()):
        expected = tau_b(means_of(kept), means_of(EVERYTHING))
        np.testing.assert_array_equal(found.taus[:, place], expected)
        rbo = COEFFICIENTS["rbo"].compare(means_of(kept), means_of(EVERYTHING))
        np.testing.assert_allclose(found.coefficients["rbo"][:, place], rbo.mean(axis=1))
    assert found.n_samples == n_samples


@pytest.mark.parametrize("n_samples", [3, 8, 9])
def test_judgements_and_users_without_relevant_ones_are_means_over_the_samples(
    n_samples: int,
) -> None:
    masks = some_masks(n_samples, levels=(0.75, 0.25))
    found = lost(masks)
    for place, kept in enumerate(masks.values()):
        by_user = kept.reshape(N_USERS, N_ITEMS, n_samples)
        without = ~by_user[:, :2].any(axis=1)
        assert found.without_relevant[place] == pytest.approx(without.sum(axis=0).mean())
        assert found.n_kept[place] == pytest.approx(kept.sum(axis=0).mean())
    assert found.without_relevant[1] > found.without_relevant[0]


def test_a_level_that_keeps_all_has_a_tau_of_1_in_every_sample() -> None:
    masks = {1.0: np.repeat(EVERYTHING, 4, axis=1), **some_masks(4)}
    found = lost(masks)
    assert (found.taus[:, 0] == 1).all()
    assert found.taus.shape == (2, 3, 4)
    assert (found.n_kept[0], found.without_relevant[0]) == (24, 0)


def test_one_sample_that_keeps_all_is_not_taken_for_the_others() -> None:
    kept = some_masks(3)[0.5]
    kept[:, 1] = True
    found = lost({0.5: kept})
    assert found.taus[0, 0, 1] == 1
    np.testing.assert_array_equal(found.taus[:, 0], tau_b(means_of(kept), means_of(EVERYTHING)))


@pytest.mark.slow
def test_replicates_of_one_sample_are_its_taus_among_resampled_users() -> None:
    """Six users are a block each; which block is whose is drawn, but all are drawn alike."""
    (kept,) = some_masks(1, levels=(0.5,)).values()
    found = lost({0.5: kept}, replicates=300).replicates[:, 0]
    assert found.shape == (2, 300)
    weights = resampled_users(0, 4000, n_users=N_USERS, seed=11)
    taus = [tau_b(means_of(kept, own), means_of(EVERYTHING, own))[:, 0] for own in weights]
    expected = np.nanmean(taus, axis=0)
    error = np.nanstd(taus, axis=0) / np.sqrt(300)
    assert (np.abs(np.nanmean(found, axis=1) - expected) < 4 * error).all()


@pytest.mark.slow
def test_samples_are_drawn_anew_at_each_level() -> None:
    """A mean of n samples has the variance v / n; one of two levels has half of it.

    Taus are 1 or -1 by the number of the sample, for all users: by turns, so that v = 1.
    """
    n_samples, replicates = 10, 2000
    turns = np.where(np.arange(2 * n_samples) % 2 == 0, 1.0, -1.0)

    def by_number(kept: Masks, *, blocks: NDArray[np.intp]) -> Floats:
        signs = turns[: kept.shape[1]] if kept.shape[1] > 1 else np.ones(1)
        of_system = np.stack([0 * signs, signs])
        sizes = np.bincount(blocks).astype(float)
        return sizes[None, :, None, None] * of_system[None, None]

    found = lost(
        some_masks(n_samples, levels=(0.6, 0.3)),
        replicates=replicates,
        n_systems=2,
        sum_samples=by_number,
        measures=Measures([Measure("sum", 5)]),
    )
    of_level, other = found.replicates[0]
    for variance in (of_level.var(), other.var()):
        assert variance == pytest.approx(1 / n_samples, rel=0.15)
    assert ((of_level + other) / 2).var() == pytest.approx(1 / (2 * n_samples), rel=0.15)
    assert abs(np.corrcoef(of_level, other)[0, 1]) < 4 / np.sqrt(replicates)


def by_hand() -> Sparsity:
    """Two measures at two levels, with four samples and four replicates."""
    taus = np.array([[[1.0] * 4, [0.1, 0.2, 0.6, np.nan]], [[1.0] * 4, [0.2, 0.2, 0.2, 0.2]]])
    resampled = np.array([[[1.0] * 4, [0.0, 0.1, 0.1, 0.6]], [[1.0] * 4, [0.1] * 4]])
    return Sparsity(
        measures=TWO,
        levels=(1.0, 0.5),
        taus=taus,
        coefficients={"rbo": np.array([[1.0, 0.8], [1.0, 0.7]])},
        replicates=resampled,
        within=SubsetValues(3, np.empty((2, 0))),
        contested=None,
        without_relevant=np.array([0.0, 2.5]),
        n_kept=np.array([24.0, 12.0]),
        families=unrelated(3),
        n_users=N_USERS,
        n_judgements=24,
        loss="loss",
        drawing="Drawn",
        mode="all",
    )


def test_the_frame_has_the_mean_of_defined_samples_and_its_standard_error() -> None:
    row = by_hand().frame().iloc[1]
    # Of .1, .2 and .6.
    assert row[["tau", "sd"]].tolist() == pytest.approx([0.3, np.sqrt(0.07)])
    assert row["standard_error"] == pytest.approx(np.sqrt(0.07 / 3))
    assert row[["samples", "undefined"]].tolist() == [4, 1]
    assert row[["users_without_relevant", "judgements", "rbo"]].tolist() == [2.5, 12, 0.8]
    # Replicates are moved from their mean, .2, to .3: 0, .1, .1, .6 to .1, .2, .2, .7.
    assert row[["low", "high"]].tolist() == pytest.approx([0.1075, 0.6625])
    assert row[["level", "mode"]].tolist() == [0.5, "all"]


def test_samples_that_agree_have_no_deviation() -> None:
    row = by_hand().frame().iloc[3]
    assert row[["tau", "sd", "standard_error"]].tolist() == pytest.approx([0.2, 0, 0])


def test_the_figure_draws_mean_taus_and_their_bands_over_the_share_kept() -> None:
    ax = by_hand().plot()
    np.testing.assert_allclose(curve(ax, "sum"), [[100, 1.0], [50, 0.3]])
    assert band_at(ax, 50) == pytest.approx([0.1075, 0.6625])
    assert "(4 replicates)" in explained(ax)
    # All judgements are on the left.
    left, right = ax.get_xlim()
    assert left > 100
    assert right < 50


def test_the_caption_counts_samples_in_which_tau_is_undefined() -> None:
    assert "In 1 sample all systems tie" in by_hand().caption()
    assert "all systems tie" not in replace(by_hand(), taus=np.ones((2, 2, 4))).caption()


def test_more_samples_than_are_scored_together_are_a_level_at_a_time() -> None:
    masks = some_masks(101)
    np.testing.assert_array_equal(
        lost(masks).taus[:, 1], tau_b(means_of(masks[0.5]), means_of(EVERYTHING))
    )


def test_users_without_any_relevant_judgement_are_counted_in_every_sample() -> None:
    """Users 0 and 3 have none at all; of the others, what is left in the samples decides."""
    users, items = np.divmod(np.arange(N_USERS * N_ITEMS), N_ITEMS)
    grades = (items < 2) & ~np.isin(users, [0, 3])
    qrels = qrels_from_columns(users, items, grades.astype(int), n_users=N_USERS, relevance_level=1)
    kept = some_masks(5)[0.5]
    found = lost({0.5: kept}, qrels=qrels)
    left = (kept & grades[:, None]).reshape(N_USERS, N_ITEMS, 5).any(axis=1)
    assert found.without_relevant[0] == pytest.approx((~left).sum(axis=0).mean())
    assert found.without_relevant[0] > 2


def test_areas_have_limits_of_users_who_lose_judgements_twice() -> None:
    """Of .92 deviations of the arcsines of replicates: areas are 0, .1, .1 and .6."""
    found = by_hand().estimates()
    assert found.values[0] == pytest.approx(0.3)
    deviation = np.std(np.arcsin([0.0, 0.1, 0.1, 0.6]), ddof=1)
    reach = 1.959964 * 0.92 * deviation
    assert found.low[0] == pytest.approx(np.sin(np.arcsin(0.3) - reach), abs=1e-6)
    assert found.high[0] == pytest.approx(np.sin(np.arcsin(0.3) + reach), abs=1e-6)
