"""NNCosNgbr over users and over items, by hand."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import recommenders
from qrels import Ratings
from recommenders.kernels.neighbours import Baselines, BaselineSettings
from recommenders.nncosngbr_ib import (
    BaselineItemScorer,
    NNCosNgbrIBSettings,
    nncosngbr_ib_memory_need,
)
from recommenders.nncosngbr_ub import NNCosNgbrUBSettings, nncosngbr_ub_memory_need

SECOND = np.array([1], dtype=np.int32)
# Between the columns (4, 4, -), (2, -, 2) and (-, 4, 2).
A_B, A_C, B_C = 0.5, 16 / np.sqrt(32 * 20), 4 / np.sqrt(8 * 20)
PLAIN = {"item_damping": 0.0, "user_damping": 0.0, "shrinkage": 0.0}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [4.5 + A_C / 2, 2.5 + (B_C - A_B) / 2, 3.5 - A_C / 2]),
        ({"shrinkage": 3.0}, [4.5 + A_C / 8, 2.5 + (B_C - A_B) / 8, 3.5 - A_C / 8]),
        ({"denominator": True}, [5.0, 2.5 + (B_C - A_B) / 2 / (B_C + A_B), 3.0]),
    ],
)
def test_items_add_cosines_times_residuals_to_the_baselines_shrunken_or_averaged(
    settings: dict[str, float], expected: list[float], three_users: Ratings
) -> None:
    """Off the baselines (4, 2, 3) u2 lies by 1/2 in all, and by (-1/2, -, 1/2) beyond."""
    scorer = recommenders.train("nncosngbr-ib", PLAIN | settings, three_users, seed=1)
    np.testing.assert_allclose(scorer.score_batch(SECOND)[0], expected, rtol=1e-6)


@pytest.mark.parametrize(("neighbours", "linked"), [(1, 0.0), (2, B_C)])
def test_an_item_takes_from_its_nearest_alone(
    neighbours: int, linked: float, three_users: Ratings
) -> None:
    """The one item nearest to b is a, so c says nothing of b."""
    settings = {**PLAIN, "neighbours": neighbours}
    scorer = recommenders.train("nncosngbr-ib", settings, three_users, seed=1)
    score = scorer.score_batch(SECOND)[0, 1]
    np.testing.assert_allclose(score, 2.5 + (linked - A_B) / 2, rtol=1e-6)


def test_a_strangers_baseline_comes_from_the_history(three_users: Ratings) -> None:
    """Who rates a with 5 is 1 above what is expected, and 0 beyond that."""
    scorer = recommenders.train("nncosngbr-ib", PLAIN, three_users, seed=1)
    assert isinstance(scorer, BaselineItemScorer)
    stranger = csr_array(np.array([[5.0, 0.0, 0.0]]))
    np.testing.assert_allclose(scorer.score_histories(stranger), [[5, 3, 4]], rtol=1e-6)


FIRST = np.array([0], dtype=np.int32)
# Between (4, 2, -), (4, -, 4) and (-, 2, 2), lengths being the roots of 20, 32 and 8.
TO_SECOND, TO_THIRD = 16 / np.sqrt(20 * 32), 4 / np.sqrt(20 * 8)


MEAN = (TO_SECOND - TO_THIRD) / 2 / (TO_SECOND + TO_THIRD)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [4 - TO_SECOND / 2, 2 + TO_THIRD / 2, 3 + (TO_SECOND - TO_THIRD) / 2]),
        ({"shrinkage": 3.0}, [4 - TO_SECOND / 8, 2 + TO_THIRD / 8, 3 + (TO_SECOND - TO_THIRD) / 8]),
        ({"denominator": True}, [3.5, 2.5, 3 + MEAN]),
    ],
)
def test_users_add_cosines_times_residuals_to_the_baselines_shrunken_or_averaged(
    settings: dict[str, float], expected: list[float], three_users: Ratings
) -> None:
    """Off the baselines u2 lies by (-1/2, -, 1/2), u3 by (-, 1/2, -1/2); 1 item is in common."""
    scorer = recommenders.train("nncosngbr-ub", PLAIN | settings, three_users, seed=1)
    np.testing.assert_allclose(scorer.score_batch(FIRST)[0], expected, rtol=1e-6)


def test_damping_draws_baselines_to_the_mean(three_users: Ratings) -> None:
    """With 2 ratings each, items lie half as far off the mean of 3, users a quarter as far."""
    settings = {"item_damping": 2.0, "user_damping": 6.0, "neighbours": 1}
    scorer = recommenders.train("nncosngbr-ub", settings, three_users, seed=1)
    baselines = scorer.scores_of_sums.keywords["baselines"]  # type: ignore[attr-defined]
    np.testing.assert_allclose(baselines.item_baselines, [3.5, 2.5, 3])
    np.testing.assert_allclose(baselines.user_offsets(three_users.matrix()), [0, 1.5 / 8, -1.5 / 8])


@pytest.mark.parametrize("name", ["nncosngbr-ub", "nncosngbr-ib"])
def test_without_neighbours_the_baselines_stand_alone(name: str, four_users: Ratings) -> None:
    settings = {"item_damping": 0.0, "user_damping": 0.0}
    scorer = recommenders.train(name, settings, four_users, seed=1)
    scores = scorer.score_batch(np.array([3], dtype=np.int32))
    np.testing.assert_allclose(scores, [[4.5, 3.5, 2, 5, 1]], rtol=1e-6)


def nearest_with_a_rating(
    weights: NDArray[np.float64], residuals: NDArray[np.float64], *, count: int
) -> list[tuple[float, float]]:
    """List weight and residual of the ``count`` nearest that have one (not NaN), both (n,)."""
    pairs = [
        (weight, residual)
        for weight, residual in zip(weights, residuals, strict=True)
        if weight > 0 and not np.isnan(residual)
    ]
    return sorted(pairs, key=lambda pair: -pair[0])[:count]


def sum_or_mean(pairs: list[tuple[float, float]], *, denominator: bool) -> float:
    """Add up weights times residuals, divided by the weights if asked; 0 without any."""
    total = sum(weight * residual for weight, residual in pairs)
    if denominator and pairs:
        total /= sum(weight for weight, _ in pairs)
    return total


def cosines_of_rows(matrix: NDArray[np.float64], *, shrinkage: float) -> NDArray[np.float64]:
    """Compare all rows by shrunken cosines; a row has none with itself."""
    lengths = np.sqrt((matrix**2).sum(axis=1))
    common = (matrix > 0).astype(float) @ (matrix > 0).T
    cosines = matrix @ matrix.T / np.outer(lengths, lengths)
    shrunken = cosines * common / np.maximum(common + shrinkage, 1)
    np.fill_diagonal(shrunken, 0)
    return shrunken


@pytest.mark.parametrize("denominator", [False, True])
@pytest.mark.parametrize("neighbours", [1, 3, 1000])
@pytest.mark.parametrize("name", ["nncosngbr-ub", "nncosngbr-ib"])
def test_the_nearest_with_a_rating_are_found_pair_by_pair(
    name: str, neighbours: int, denominator: bool, ratings: Ratings
) -> None:
    """The definition, for every user and item: k raters of the item, or k items of the user."""
    few = ratings.select(ratings.user < 25)
    settings = {"neighbours": neighbours, "denominator": denominator, "shrinkage": 2.0}
    scorer = recommenders.train(name, {**settings, "among": "rated"}, few, seed=1)
    users = np.arange(25, dtype=np.int32)
    scores = scorer.score_batch(users)
    matrix = few.matrix()
    baselines = Baselines.fit(matrix, BaselineSettings())
    baseline = baselines.user_offsets(matrix)[:, np.newaxis] + baselines.item_baselines
    dense = matrix.toarray()
    residuals = np.where(dense > 0, dense - baseline, np.nan)
    rows = dense if name == "nncosngbr-ub" else dense.T
    # Items without ratings have no direction.
    with np.errstate(invalid="ignore"):
        similarities = np.nan_to_num(cosines_of_rows(rows, shrinkage=2.0))
    for user, item in np.ndindex(25, dense.shape[1]):
        if name == "nncosngbr-ub":
            weights, beyond = similarities[user], residuals[:, item]
        else:
            weights, beyond = similarities[item], residuals[user]
        pairs = nearest_with_a_rating(weights, beyond, count=neighbours)
        expected = baseline[user, item] + sum_or_mean(pairs, denominator=denominator)
        assert scores[user, item] == pytest.approx(expected, rel=1e-5)


def test_with_as_many_neighbours_as_there_are_both_neighbourhoods_are_one(
    ratings: Ratings,
) -> None:
    users = np.arange(len(ratings.users), dtype=np.int32)
    for name in ("nncosngbr-ub", "nncosngbr-ib"):
        scores = [
            recommenders.train(
                name, {"neighbours": 1000, "among": among}, ratings, seed=1
            ).score_batch(users)
            for among in ("all", "rated")
        ]
        np.testing.assert_allclose(scores[0], scores[1], rtol=1e-6)


def test_a_neighbourhood_of_each_pair_keeps_all_similarities(three_users: Ratings) -> None:
    """Each item has 2 raters: 4 + 4 + 4 pairs, but 3 users have 9, of 28 bytes."""
    settings = NNCosNgbrUBSettings(neighbours=1, among="rated")
    assert nncosngbr_ub_memory_need(three_users, settings).n_bytes == 28 * 9
    of_all = NNCosNgbrUBSettings(neighbours=1)
    assert nncosngbr_ub_memory_need(three_users, of_all).n_bytes == 28 * 3
    by_item = NNCosNgbrIBSettings(neighbours=1, among="rated")
    assert nncosngbr_ib_memory_need(three_users, by_item).n_bytes == 28 * 9
    by_item_of_all = NNCosNgbrIBSettings(neighbours=2)
    assert nncosngbr_ib_memory_need(three_users, by_item_of_all).n_bytes == 28 * 6
