"""Moments of ratings, against the same numbers written as loops and dense matrices."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from qrels import Ratings
from qrels.ratings.world import moments
from qrels.ratings.world.moments import Moments, popularity_terms
from runs import Numbering


def some_ratings(n_users: int = 40, n_items: int = 30) -> Ratings:
    rng = np.random.default_rng(5)
    chance = rng.uniform(0.1, 0.9, n_items) * rng.uniform(0.5, 1.0, (n_users, 1))
    rated = rng.random((n_users, n_items)) < chance
    rated[0] = rated[:, 0] = True
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(rated))
    users, items = (Numbering.of(f"{n:02}" for n in range(size)) for size in rated.shape)
    tastes = rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items))
    stars = np.clip(np.round(3 + tastes[user, item] + rng.normal(size=len(user))), 1, 5)
    return Ratings(users, items, user, item, stars)


def biases_by_loops(ratings: Ratings, standard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Six times over: the mean of what is left for items, then for users, with 3 zeros more."""
    users, items = np.zeros(len(ratings.users)), np.zeros(len(ratings.items))
    for _ in range(6):
        for number in range(len(items)):
            own = ratings.item == number
            left = standard[own] - users[ratings.user[own]]
            items[number] = left.sum() / (own.sum() + 3)
        for number in range(len(users)):
            own = ratings.user == number
            left = standard[own] - items[ratings.item[own]]
            users[number] = left.sum() / (own.sum() + 3)
    return users, items


def slope(term: np.ndarray, values: np.ndarray, weights: np.ndarray) -> float:
    """Give the weighted slope of a line through 0."""
    return float((weights * term * values).sum() / (weights * term**2).sum())


def far_out(places: np.ndarray, counts: np.ndarray) -> float:
    """Compare mean and median of squared distances, each rating counting."""
    distances = [
        (place**2).sum() / n for place, n in zip(places, counts, strict=True) for _ in range(n)
    ]
    return float(np.log(np.mean(distances) / np.median(distances)))


def by_loops(ratings: Ratings) -> dict[str, float]:
    standard = (ratings.rating - ratings.rating.mean()) / ratings.rating.std()
    users, items = biases_by_loops(ratings, standard)
    counts = ratings.item_counts()
    share = counts / counts.sum()
    logs = np.log(counts)
    logs = logs - (share * logs).sum()
    squares = logs**2 - (share * logs**2).sum()
    squares = squares - slope(logs, squares, share) * logs
    trend, bend = slope(logs, items, share), slope(squares, items, share)
    kept = np.flatnonzero(counts >= 10)
    about = items[kept] - trend * logs[kept] - bend * squares[kept]
    rated = ratings.matrix().toarray()[:, kept] > 0
    left, values, right = np.linalg.svd(
        rated / np.sqrt(rated.sum(axis=1, keepdims=True)) / np.sqrt(rated.sum(axis=0)),
        full_matrices=False,
    )
    left, values, right = left[:, 1:9], values[1:9], right[1:9].T
    residuals = np.zeros(ratings.matrix().shape)
    residuals[ratings.user, ratings.item] = standard - users[ratings.user] - items[ratings.item]
    residuals = residuals[:, kept]
    nearness = ((left * values) @ right.T)[rated]
    covariance = np.cov(nearness, residuals[rated])
    n_kept = len(kept)
    together, products, squared = np.zeros((3, n_kept, n_kept))
    for i in range(n_kept):
        for j in range(n_kept):
            if i != j:
                both = rated[:, i] & rated[:, j]
                together[i, j] = both.sum()
                of_users = residuals[both, i] * residuals[both, j]
                products[i, j] = of_users.sum()
                squared[i, j] = of_users.sum() ** 2 - (of_users**2).sum()
    cosines = together / np.sqrt(np.outer(counts[kept], counts[kept]))
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :10]
    rows = np.arange(n_kept)[:, np.newaxis]
    ranks = np.log(np.arange(1, 9))
    return {
        "interest": np.sqrt((values**2).mean()),
        "decay": -np.polyfit(ranks, np.log(values), 1)[0],
        "tails": np.mean(
            [far_out(left * values, rated.sum(axis=1)), far_out(right * values, rated.sum(axis=0))]
        ),
        "neighbours": cosines[rows, nearest].mean(),
        "generosity": users.std(),
        "quality": np.sqrt((share[kept] * about**2).sum() / share[kept].sum()),
        "trend": trend,
        "bend": bend,
        "taste": (squared.sum() / (together * (together - 1)).sum()) ** 0.25,
        "affinity": covariance[0, 1] / np.sqrt(covariance[0, 0]),
        "agreement": products[rows, nearest].sum() / together[rows, nearest].sum(),
    }


@pytest.mark.slow
def test_moments_are_what_loops_find() -> None:
    ratings = some_ratings()
    expected: dict[str, Any] = by_loops(ratings)
    found = vars(Moments.of(ratings))
    assert found.keys() == expected.keys()
    assert {name: found[name] for name in found} == pytest.approx(expected, rel=1e-5, abs=1e-8)
    assert expected["taste"] > 0


def test_moments_of_vectors_are_rounded_to_nine_digits() -> None:
    found = Moments.of(some_ratings())
    for value in (found.interest, found.decay, found.tails, found.affinity):
        assert value == round(value, 9)


@pytest.mark.slow
def test_only_some_users_and_the_most_rated_items_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 40 users 20, evenly, from the first to the last; of the items those with most ratings."""
    assert (moments.MOST_USERS, moments.MOST_ITEMS) == (2_000, 3_000)
    ratings = some_ratings()
    counts = ratings.item_counts()
    monkeypatch.setattr(moments, "MOST_USERS", 20)
    monkeypatch.setattr(moments, "MOST_ITEMS", 15)
    seen: list[np.ndarray] = []
    singular = moments._singular

    def noted(rated: Any) -> Any:
        seen.append(rated.toarray())
        return singular(rated)

    monkeypatch.setattr(moments, "_singular", noted)
    Moments.of(ratings)
    most = np.sort(np.argsort(-counts, kind="stable")[:15])
    users = np.linspace(0, 39, 20).astype(int)
    assert seen[0].tolist() == (ratings.matrix().toarray()[users][:, most] > 0).tolist()


def test_terms_of_popularity_have_no_mean_and_squares_no_slope() -> None:
    counts = np.array([1, 2, 4, 8, 8])
    logs, squares = popularity_terms(counts)
    share = counts / counts.sum()
    for total in ((share * logs).sum(), (share * squares).sum(), (share * squares * logs).sum()):
        assert total == pytest.approx(0, abs=1e-12)
    steps = {round(after - before, 12) for before, after in pairwise(logs[:4].tolist())}
    assert steps == {round(float(np.log(2)), 12)}
    curvature = np.diff(squares[:4], n=2)
    np.testing.assert_allclose(curvature, 2 * np.log(2) ** 2)


def test_items_that_are_all_as_popular_have_no_terms() -> None:
    logs, squares = popularity_terms(np.array([3, 3, 3]))
    np.testing.assert_allclose([logs, squares], 0, atol=1e-8)
    assert moments._slope(logs, np.array([1.0, 2.0, 3.0]), np.full(3, 1 / 3)) == 0
