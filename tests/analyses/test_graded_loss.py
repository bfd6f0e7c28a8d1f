from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from analyses.graded_loss import Settings, graded_loss, keep_graded
from analyses.intervals.random_loss import RandomLoss
from analyses.shared.work import CountedIn
from qrels import Qrels
from runs.shared.streams import random_words
from tests.analyses.test_popularity import work_of
from tests.drawn import curve

N = 40


def one_user() -> tuple[Qrels, NDArray[np.intp]]:
    """A user who judged items with 1, 2, 3, ... ratings."""
    qrels = Qrels(
        np.array([0, N]),
        np.arange(N, dtype=np.int32),
        np.ones(N, dtype=np.int32),
        relevance_level=1,
    )
    return qrels, np.arange(1, N + 1)


@pytest.mark.parametrize("level", [1.0, 0.5, 0.01])
def test_as_many_are_kept_as_the_level_says(level: float) -> None:
    qrels, counts = one_user()
    kept = keep_graded(qrels, counts, gamma=1.0, level=level, n_samples=5, seed=1)
    assert kept.sum(axis=0).tolist() == [max(1, round(level * N))] * 5


@pytest.mark.parametrize("gamma", [-1.0, 1.0])
def test_the_first_of_a_draw_has_the_chances_that_are_asked_for(gamma: float) -> None:
    qrels, counts = one_user()
    n_samples = 4000
    kept = keep_graded(qrels, counts, gamma=gamma, level=1 / N, n_samples=n_samples, seed=3)
    chances = counts**-gamma / (counts**-gamma).sum()
    error = np.sqrt(chances * (1 - chances) / n_samples)
    assert (np.abs(kept.mean(axis=1) - chances) < 4 * error).all()


def test_an_item_without_ratings_counts_as_one_with_one() -> None:
    qrels, _ = one_user()
    none, one = (
        keep_graded(qrels, counts, gamma=1.0, level=0.5, n_samples=20, seed=1)
        for counts in (np.arange(N) % 2, np.ones(N, dtype=np.intp))
    )
    np.testing.assert_array_equal(none, one)


def test_counts_are_of_judgements_and_not_of_items() -> None:
    """Two users judge items 0 and 1 of three: four judgements, and three counts of items."""
    qrels = Qrels(
        np.array([0, 2, 4]),
        np.array([0, 1, 0, 1], dtype=np.int32),
        np.ones(4, dtype=np.int32),
        relevance_level=1,
    )
    item_counts = np.array([1, 5, 2])
    with pytest.raises(
        ValueError, match=r"for each of the 4 judgements, got an array of shape \(3"
    ):
        keep_graded(qrels, item_counts, 0.5, gamma=1.0, n_samples=1, seed=1)
    kept = keep_graded(qrels, item_counts[qrels.items], 0.5, gamma=1.0, n_samples=1, seed=1)
    assert kept.sum() == 2


def test_a_study_has_curves_that_begin_at_one() -> None:
    result = graded_loss(work_of(), Settings(samples=4, replicates=5))
    assert isinstance(result, RandomLoss)
    assert (result.taus[:, 0] == 1).all()
    assert "to the power of -1" in result.caption()
    assert set(result.frames()) == {
        "graded_loss",
        "graded_loss_areas",
        "graded_loss_area_differences",
    }


def test_a_second_judgement_is_drawn_by_the_weights_of_those_that_are_left() -> None:
    """Weights 1, 1/2 and 1/4: of pairs, the first two are drawn with 4/7 2/3 + 2/7 4/5."""
    qrels = Qrels(
        np.array([0, 3]),
        np.arange(3, dtype=np.int32),
        np.ones(3, dtype=np.int32),
        relevance_level=1,
    )
    kept = keep_graded(qrels, np.array([1, 2, 4]), 2 / 3, gamma=1.0, n_samples=4000, seed=2)
    assert kept.shape == (3, 4000)
    # The one that is left out of each pair.
    found = 1 - kept.mean(axis=1)
    expected = [
        2 / 7 * 1 / 5 + 1 / 7 * 2 / 6,
        4 / 7 * 1 / 3 + 1 / 7 * 4 / 6,
        4 / 7 * 2 / 3 + 2 / 7 * 4 / 5,
    ]
    assert sum(expected) == pytest.approx(1)
    np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(0.25 / 4000))


def test_gamma_0_draws_all_judgements_alike() -> None:
    qrels, counts = one_user()
    kept = keep_graded(qrels, counts, gamma=0.0, level=0.25, n_samples=2000, seed=3)
    np.testing.assert_allclose(kept.mean(axis=1), 0.25, atol=5 * np.sqrt(0.1875 / 2000))


def test_a_sample_depends_on_seed_level_and_number_alone() -> None:
    qrels, counts = one_user()

    def draw(level: float, n_samples: int, seed: int) -> NDArray[np.bool_]:
        return keep_graded(qrels, counts, level, gamma=1.0, n_samples=n_samples, seed=seed)

    np.testing.assert_array_equal(draw(0.5, 5, 1)[:, :2], draw(0.5, 2, 1))
    assert (draw(0.5, 5, 1) != draw(0.5, 5, 2)).any()
    assert (draw(0.5, 5, 1)[:, 0] != draw(0.5, 5, 1)[:, 1]).any()
    # With the same waiting times, what is kept at a level would be kept at all higher ones.
    assert (draw(0.25, 5, 1) & ~draw(0.5, 5, 1)).any()


def test_popularity_is_counted_where_it_is_asked_for() -> None:
    """In training item 0 has nearly all ratings, in the test part item 2 has."""
    counts: dict[CountedIn, NDArray[np.intp]] = {
        "train": np.array([10**6, 1, 1, 1]),
        "test": np.array([1, 1, 10**6, 1]),
    }
    work = replace(work_of(), popularity_counts=counts)
    settings: dict[str, Any] = {"levels": (0.75,), "samples": 5, "replicates": 0, "gamma": 5.0}
    # System a is better by item 0 alone, b by item 2 alone; six of eight judgements are kept.
    by_train = graded_loss(work, Settings(counted_in="train", **settings))
    by_test = graded_loss(work, Settings(counted_in="test", **settings))
    by_default = graded_loss(work, Settings(**settings))
    assert by_train.taus.tolist() == by_default.taus.tolist() == [[[-1.0] * 5]]
    assert by_test.taus.tolist() == [[[1.0] * 5]]


def test_settings_have_their_defaults_and_bounds() -> None:
    settings = Settings()
    assert (settings.gamma, settings.samples, settings.replicates) == (1.0, 50, 200)
    for gamma in (-5.0, 5.0):
        assert Settings(gamma=gamma).gamma == gamma
    for gamma in (-5.01, 5.01):
        with pytest.raises(ValidationError):
            Settings(gamma=gamma)


def test_the_figure_has_the_mean_tau_at_each_level() -> None:
    found = graded_loss(work_of(), Settings(levels=(1.0, 0.5), samples=4, replicates=5))
    means = found.means()[0]
    np.testing.assert_allclose(curve(found.plot(), "P"), [[100, means[0]], [50, means[1]]])


def test_a_measure_is_robust_from_a_mean_tau_of_half_on() -> None:
    found = graded_loss(work_of(), Settings(levels=(1.0, 0.5), samples=4, replicates=5))
    for tau, robust in ((0.5, True), (0.49, False)):
        taus = np.ones(found.taus.shape)
        taus[:, 1] = tau
        estimates = replace(found, taus=taus).estimates()
        assert estimates.acceptable().tolist() == [robust]


def test_an_item_is_kept_by_its_own_waiting_time() -> None:
    """Of words w the time is -log((w / 2^11 + .5) / 2^53), divided by 1 / 2 for two ratings."""
    qrels = Qrels(
        np.array([0, 4]),
        np.arange(4, dtype=np.int32),
        np.ones(4, dtype=np.int32),
        relevance_level=1,
    )
    kept = keep_graded(qrels, np.array([1, 2, 2, 1]), 0.5, gamma=1.0, n_samples=30, seed=2)
    for sample in range(30):
        words = random_words(4, 2, "graded loss", 500_000_000, sample)
        shares = [(int(word) // 2048 + 0.5) / 2**53 for word in words]
        times = -np.log(shares) * [1, 2, 2, 1]
        assert kept[:, sample].tolist() == (times <= np.sort(times)[1]).tolist()
