import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recommenders
from qrels import Ratings
from runs import Numbering


def four_users() -> Ratings:
    """u rated a b; v: a b c; w: b c d; x: d; nobody e."""
    user = np.array([0, 0, 1, 1, 1, 2, 2, 2, 3], dtype=np.int32)
    item = np.array([0, 1, 0, 1, 2, 1, 2, 3, 3], dtype=np.int32)
    users, items = Numbering.of("uvwx"), Numbering.of("abcde")
    return Ratings(users, items, user, item, np.array([1.0, 2, 3, 4, 5, 1, 2, 3, 4]))


def test_scores_by_hand() -> None:
    """With k = 1: a brings b, b brings a (as near as c, but lower), c brings b, d brings c.

    Item b has two equal similarities in its row, so each is divided to 1 / sqrt(2).
    """
    scorer = recommenders.train("krichene-z", {"k": 1}, four_users(), seed=1)
    half = 1 / np.sqrt(2)
    expected = [[1, half, 0, 0, 0], [1, 2 * half, 0, 0, 0], [1, half, 1, 0, 0], [0, 0, 1, 0, 0]]
    scores = scorer.score_batch(np.arange(4, dtype=np.int32))
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def nearest_of_item(
    cosines: NDArray[np.float64], item: int, *, limit: int, keep_self: bool
) -> set[int]:
    others = [j for j in range(len(cosines)) if cosines[item, j] > 0 and (keep_self or j != item)]
    others.sort(key=lambda j: (-np.float32(cosines[item, j]), j))
    return set(others[:limit] if limit else others)


def by_the_letter(ratings: Ratings, settings: dict[str, Any]) -> NDArray[np.float64]:
    """Equations 27 to 30, one similarity at a time."""
    rated = ratings.matrix().toarray() > 0
    counts, n_items = rated.sum(axis=0), rated.shape[1]
    s = np.zeros((n_items, n_items))
    for i, j in itertools.product(range(n_items), repeat=2):
        both = (rated[:, i] & rated[:, j]).sum()
        s[i, j] = (both / np.sqrt(counts[i] * counts[j])) ** settings["q"] if both else 0
    near, near_back = (
        [
            nearest_of_item(s, item, limit=settings[limit], keep_self=settings["keep_self"])
            for item in range(n_items)
        ]
        for limit in ("k", "k_prime")
    )
    scores = np.zeros(rated.shape)
    for i in range(n_items):
        row = np.array(
            [s[i, j] if i in near[j] and j in near_back[i] else 0 for j in range(n_items)]
        )
        norms = {"euclidean": np.sqrt((row**2).sum()), "sum": row.sum(), "none": 1.0}
        row = row / (norms[settings["norm"]] or 1)
        whole = row.sum() if settings["denominator"] else 1
        for user in range(len(rated)):
            scores[user, i] = row[rated[user]].sum() / (whole or 1)
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("name", ["krichene-y", "krichene-z"])
@pytest.mark.parametrize(
    "settings",
    [
        {"variant": "published"},
        {"variant": "as_printed"},
        {"k": 4, "k_prime": 7, "norm": "sum"},
        {"k": 0, "k_prime": 3, "norm": "none", "q": 0.5},
        {"k": 5, "k_prime": 5, "keep_self": True, "denominator": True, "norm": "none"},
    ],
    ids=str,
)
def test_scores_equal_a_literal_loop(name: str, settings: dict[str, Any], ratings: Ratings) -> None:
    few = ratings.select((ratings.item < 40) & (ratings.user < 30))
    scorer = recommenders.train(name, settings, few, seed=1)
    expected = by_the_letter(few, recommenders.read_settings(name, settings).model_dump())
    users = np.unique(few.user)
    np.testing.assert_allclose(scorer.score_batch(users), expected[users], rtol=1e-5, atol=1e-7)


def test_as_printed_the_norm_does_not_matter() -> None:
    users = np.arange(4, dtype=np.int32)
    euclidean, plain = (
        recommenders.train(
            "krichene-z", {"variant": "as_printed", "norm": norm}, four_users(), seed=1
        ).score_batch(users)
        for norm in ("euclidean", "none")
    )
    np.testing.assert_allclose(euclidean, plain, rtol=1e-6)


def test_the_variant_gives_the_defaults() -> None:
    published = recommenders.read_settings("krichene-z", {}).model_dump()
    assert (published["k"], published["k_prime"], published["keep_self"]) == (10, 0, False)
    printed = recommenders.read_settings("krichene-z", {"variant": "as_printed"}).model_dump()
    assert (printed["k"], printed["k_prime"], printed["denominator"]) == (0, 10, True)


def test_a_given_setting_counts_more_than_the_variant() -> None:
    given = {"variant": "as_printed", "k_prime": 3}
    assert recommenders.read_settings("krichene-z", given).model_dump()["k_prime"] == 3
