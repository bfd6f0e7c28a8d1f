"""Users of two tastes, each of whom had some of its six items."""

from __future__ import annotations

import numpy as np

from qrels.interactions.interactions import Interactions
from tests.hidden_example import numbered

N_ITEMS = 12


def two_tastes(*, n_users: int = 60, seed: int = 1) -> Interactions:
    """Even users like items 0 to 5, odd users 6 to 11; every tenth event is of any item."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), 5)
    liked = rng.integers(0, 6, len(user)) + 6 * (user % 2)
    item = np.where(rng.random(len(user)) < 0.1, rng.integers(0, N_ITEMS, len(user)), liked)
    return Interactions.of(
        numbered(n_users), numbered(N_ITEMS), user=user, item=item, time=np.arange(len(user))
    )
