"""What lists would earn, known exactly: chances of clicks, without clicks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.online.simulation.world.click_world import ClickWorld, attention, logistic

Floats = NDArray[np.float64]


def exact_rates(
    world: ClickWorld,
    users: NDArray[np.integer],
    lists: NDArray[np.int32],
    shifts: Floats,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Give each user's chance of a click in a list, and expected clicks, as means over shifts.

    Users and lists are numbers of shape (n,) and (n, depth). Shifts of the log odds and their
    weights, which add up to 1, are of shape (n_shifts,). The means are of shape (n,) each.
    """
    odds = world.click_odds(users, lists)
    looks = attention(lists.shape[1], world.settings.position)
    rates, clicks = np.zeros(len(users)), np.zeros(len(users))
    for shift, weight in zip(shifts, weights, strict=True):
        chances = looks * logistic(odds + shift)
        rates += weight * (1 - (1 - chances).prod(axis=1))
        clicks += weight * chances.sum(axis=1)
    return rates, clicks
