"""Click-through rates dealt out anew among the models: the null hypothesis of the study."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.parts import ranges
from runs.shared.streams import random_words

Indices = NDArray[np.intp]

PER_STREAM = 1024
"""Random orders that share a stream of random words."""


def random_orders(n_orders: int, n_models: int, *, seed: int, experiment: str) -> Iterator[Indices]:
    """Draw orders of the models, each as likely, a thousand at a time.

    Seed and experiment are the key of the draw: the orders of one data set do not depend on which
    others there are, nor the first orders on how many follow.

    Yields
    ------
    Orders as rows: numbers below n_models, of shape (at most 1024, n_models).

    Examples
    --------
    >>> (orders,) = random_orders(2, 5, seed=1, experiment="A")
    >>> np.sort(orders)
    array([[0, 1, 2, 3, 4],
           [0, 1, 2, 3, 4]])
    """
    for start, stop in ranges(n_orders, PER_STREAM):
        n_words = (stop - start) * n_models
        words = random_words(n_words, seed, "rates among models", experiment, start)
        yield words.reshape(-1, n_models).argsort(axis=1, kind="stable")


def all_orders(n_models: int) -> Iterator[Indices]:
    """Give every order of the models once, a thousand at a time, in lexicographic order.

    Examples
    --------
    >>> (orders,) = all_orders(3)
    >>> orders.tolist()
    [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    """
    for start, stop in ranges(math.factorial(n_models), PER_STREAM):
        yield _orders_numbered(np.arange(start, stop), n_models)


def _orders_numbered(numbers: NDArray[np.int64], n_models: int) -> Indices:
    """Read the digits of the factorial number system: how many of those left come first."""
    left = np.tile(np.arange(n_models, dtype=np.intp), (len(numbers), 1))
    orders = np.empty_like(left)
    for place in range(n_models):
        digit = numbers // math.factorial(n_models - 1 - place) % (n_models - place)
        orders[:, place] = np.take_along_axis(left, digit[:, np.newaxis], axis=1)[:, 0]
        is_left = np.arange(n_models - place) != digit[:, np.newaxis]
        left = left[is_left].reshape(len(numbers), -1)
    return orders
