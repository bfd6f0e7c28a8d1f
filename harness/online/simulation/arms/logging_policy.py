"""Lists drawn at random with known chances, for estimates of what other policies would earn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions
from runs import InputError
from runs.shared.streams import random_uniforms

Floats = NDArray[np.float64]

MOST_ATTEMPTS: Final = 1_000


@dataclass(frozen=True)
class LoggingPolicy:
    """Shows lists of items drawn by their popularity, whatever the user's profile.

    Parameters
    ----------
    power
        Items are drawn with odds (events + 1)^power: 0 is uniform.
    """

    power: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.power <= 2:
            raise InputError(f"`power` must be from 0 to 2, got {self.power}.")

    def fit(self, history: Interactions) -> Lottery:
        """Take popularity from a history."""
        odds = (history.event_counts() + 1.0) ** self.power
        return Lottery(odds / odds.sum())


@dataclass(frozen=True, eq=False)
class Lottery:
    r"""Draws lists of distinct items: independent draws, all anew as long as two are the same.

    Then all orders of a set are equally likely, and the chance of item a at any place is, with
    shares q of shape (n_items,), which add up to 1, and elementary symmetric polynomials e,

    .. math:: \pi(a) = \frac{q_a \, e_{K-1}(q \setminus a)}{K \, e_K(q)}

    References
    ----------
    Hájek (1964), Asymptotic theory of rejective sampling.

    Examples
    --------
    >>> Lottery(np.array([0.5, 0.25, 0.25])).propensities(2).tolist()
    [0.4, 0.3, 0.3]
    """

    shares: Floats

    def propensities(self, depth: int) -> Floats:
        """Give the chance of each item at a place of a list, of shape (n_items,); the sum is 1."""
        symmetric = _symmetric(self.shares, depth)
        without = np.ones(len(self.shares))
        for order in range(1, depth):
            without = symmetric[order] - self.shares * without
        return self.shares * without / (depth * symmetric[depth])

    def draw(
        self, users: NDArray[np.integer], *, depth: int, key: tuple[int | str, ...]
    ) -> NDArray[np.int32]:
        """Draw a list for each user, of shape (n, depth), by the stream of a key.

        Raises
        ------
        InputError
            If lists of distinct items are too rare.
        """
        ends = np.cumsum(self.shares)
        lists = np.empty((len(users), depth), dtype=np.int32)
        open_rows = np.arange(len(users))
        for attempt in range(MOST_ATTEMPTS):
            places = users[open_rows, None].astype(np.int64) * depth + np.arange(depth)
            luck = random_uniforms(places.ravel(), *key, attempt) * ends[-1]
            drawn = np.searchsorted(ends, luck, side="right").reshape(-1, depth)
            lists[open_rows] = np.minimum(drawn, len(ends) - 1)
            rising = np.sort(lists[open_rows], axis=1)
            open_rows = open_rows[(rising[:, 1:] == rising[:, :-1]).any(axis=1)]
            if len(open_rows) == 0:
                return lists
        raise InputError(
            f"{MOST_ATTEMPTS:,} draws gave no list of {depth} distinct items; use a lower `power` "
            "or shorter lists."
        )


def _symmetric(shares: Floats, depth: int) -> Floats:
    """Give the elementary symmetric polynomials of orders 0 to depth, by their recursion."""
    polynomials = np.zeros(depth + 1)
    polynomials[0] = 1.0
    for share in shares:
        polynomials[1:] += share * polynomials[:-1]
    return polynomials
