"""UIR-Item, by hand and by its formula."""

import numpy as np
import pytest
from numpy.typing import NDArray

import recommenders
from qrels import Ratings
from recommenders.uir_item import UIRItemSettings, gain_weights, uir_item_memory_need
from runs import InputError, Numbering
from tests.described import described

ALL = np.arange(4, dtype=np.int32)


@pytest.fixture
def small() -> Ratings:
    """Users u, v, w, x rated ab, abc, cd, d; nobody rated e."""
    user = np.array([0, 0, 1, 1, 1, 2, 2, 3], dtype=np.int32)
    item = np.array([0, 1, 0, 1, 2, 2, 3, 3], dtype=np.int32)
    users, items = Numbering.of(["u", "v", "w", "x"]), Numbering.of(["a", "b", "c", "d", "e"])
    return Ratings(users, items, user, item, np.full(len(user), 3.0))


def by_the_formula(ratings: Ratings, *, smoothing: float) -> NDArray[np.float64]:
    """Go through users, items and histories one by one."""
    rated = ratings.matrix().toarray() > 0
    together = rated.T.astype(float) @ rated
    share = rated.sum(axis=0) / rated.sum()
    scores = np.empty(rated.shape)
    for user, item in np.ndindex(rated.shape):
        others = np.delete(together[:, item], item).sum()
        scores[user, item] = np.log(share[item])
        for known in np.flatnonzero(rated[user]):
            likely = 0.0 if known == item or others == 0 else together[known, item] / others
            scores[user, item] += np.log1p((1 - smoothing) * likely / (smoothing * share[known]))
    return scores


def test_an_item_without_training_ratings_cannot_be_scored(small: Ratings) -> None:
    scores = recommenders.train("uir-item", {}, small, seed=1).score_batch(ALL)
    assert np.isnan(scores[:, 4]).all()
    assert np.isfinite(scores[:, :4]).all()


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", [0.001, 0.3, 0.99])
def test_scores_follow_the_formula_pair_by_pair(ratings: Ratings, smoothing: float) -> None:
    few = ratings.select(ratings.user < 12)
    scorer = recommenders.train("uir-item", {"smoothing": smoothing}, few, seed=1)
    known = few.item_counts() > 0
    scores = scorer.score_batch(np.arange(12, dtype=np.int32))[:, known]
    with np.errstate(divide="ignore"):
        expected = by_the_formula(few, smoothing=smoothing)[:12, known]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)


def test_settings_are_bounded_and_searched_by_ratios() -> None:
    assert described(UIRItemSettings) == {
        "smoothing": "0.001; > 0; < 1; searched in 1e-05 to 0.1, log",
        "max_gigabytes": "4.0; > 0",
    }


def test_gains_by_hand(small: Ratings) -> None:
    """Item b: 2 users of 8 ratings. Of the 3 meetings of a, 2 are with b; of the 2 of d all with c.

    Items c and d have 2 users, too: every share in the collection is 1/4.
    """
    weights = gain_weights(small.matrix(), smoothing=0.2).toarray()
    assert weights[0, 0] == 0
    np.testing.assert_allclose(weights[1, 0], np.log(1 + 0.8 * (2 / 3) / (0.2 * 6 / 24)))
    np.testing.assert_allclose(weights[2, 3], np.log(1 + 0.8 * 1 / (0.2 * 6 / 24)))
    assert weights[0, 3] == 0


def test_memory_is_that_of_pairs_of_items_with_a_user_in_common(small: Ratings) -> None:
    """Each with itself, and ab, ac, bc and cd in both directions: 4 + 8 pairs of 36 bytes."""
    need = uir_item_memory_need(small, UIRItemSettings())
    assert (need.n_bytes, need.purpose) == (36 * 12, "about 12 pairs of items rated together")
    with pytest.raises(InputError, match="'uir-item' needs about"):
        recommenders.train("uir-item", {"max_gigabytes": 36 * 12e-9 - 1e-9}, small, seed=1)


def test_pairs_are_estimated_from_200_items() -> None:
    """Of 400 items that one user each rated, 200 are looked at: 400 pairs in all."""
    everything = np.arange(400, dtype=np.int32)
    names = Numbering.of(f"{number:03}" for number in everything)
    apart = Ratings(names, names, everything, everything, np.ones(400))
    assert uir_item_memory_need(apart, UIRItemSettings()).n_bytes == 36 * 400
    # One user rated the 200 items that are not looked at, and a half of a pair more is none.
    looked_at = np.unique(np.linspace(0, 399, 200, dtype=int))
    others = np.setdiff1d(everything, looked_at).astype(np.int32)
    user = np.zeros(len(others), dtype=np.int32)
    assert (
        uir_item_memory_need(
            Ratings(names, names, user, others, np.ones(200)), UIRItemSettings()
        ).n_bytes
        == 0
    )
