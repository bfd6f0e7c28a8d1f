"""Ratings that every test of the recommenders may train on."""

import numpy as np
import pytest

from qrels import Ratings
from runs import Numbering


def ratings_of_tastes(*, n_users: int, n_items: int, seed: int) -> Ratings:
    """Draw ratings from latent tastes; every user and item has one, ids sort as text."""
    rng = np.random.default_rng(seed)
    tastes = rng.normal(size=(n_users, 4)) @ rng.normal(size=(4, n_items)) / 2
    chance = 0.6 / (1 + np.exp(-tastes)) * rng.uniform(0.1, 1.0, n_items)
    rated = rng.random((n_users, n_items)) < chance
    rated[np.arange(n_users), np.arange(n_users) % n_items] = True
    rated[np.arange(n_items) % n_users, np.arange(n_items)] = True
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(rated))
    noisy = tastes[user, item] + rng.normal(scale=0.5, size=len(user))
    return Ratings(
        Numbering.of(f"u{number}" for number in range(n_users)),
        Numbering.of(f"{number}" for number in range(n_items)),
        user,
        item,
        np.clip(np.round(3.5 + noisy), 1, 5),
    )


@pytest.fixture(scope="session")
def ratings() -> Ratings:
    return ratings_of_tastes(n_users=90, n_items=130, seed=1)


@pytest.fixture(scope="session")
def four_users() -> Ratings:
    """Ratings to work out by hand: u1 is near u2 and u3, u4 near nobody.

    ======  =  =  =  =  =
    user    a  b  c  d  e
    ======  =  =  =  =  =
    u1      5  3
    u2      4     2
    u3         4     5
    u4                  1
    ======  =  =  =  =  =
    """
    return Ratings(
        Numbering.of(["u1", "u2", "u3", "u4"]),
        Numbering.of(["a", "b", "c", "d", "e"]),
        np.array([0, 0, 1, 1, 2, 2, 3], dtype=np.int32),
        np.array([0, 1, 0, 2, 1, 3, 4], dtype=np.int32),
        np.array([5.0, 3.0, 4.0, 2.0, 4.0, 5.0, 1.0]),
    )


@pytest.fixture(scope="session")
def three_users() -> Ratings:
    """Ratings to work out by hand: the mean is 3, that of the items 4, 2 and 3.

    ======  =  =  =
    user    a  b  c
    ======  =  =  =
    u1      4  2
    u2      4     4
    u3         2  2
    ======  =  =  =
    """
    return Ratings(
        Numbering.of(["u1", "u2", "u3"]),
        Numbering.of(["a", "b", "c"]),
        np.array([0, 0, 1, 1, 2, 2], dtype=np.int32),
        np.array([0, 1, 0, 2, 1, 2], dtype=np.int32),
        np.array([4.0, 2.0, 4.0, 4.0, 2.0, 2.0]),
    )


def pytest_configure(config: pytest.Config) -> None:
    """Admit the marker of LensKit's own component tests."""
    config.addinivalue_line("markers", "eval: measures accuracy on data that LensKit keeps")
