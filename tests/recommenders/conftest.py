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


def pytest_configure(config: pytest.Config) -> None:
    """Admit the marker of LensKit's own component tests."""
    config.addinivalue_line("markers", "eval: measures accuracy on data that LensKit keeps")
