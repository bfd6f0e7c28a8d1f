"""Click-through rates dealt out anew among the models: the null hypothesis of the study."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations

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
    """
    for start, stop in ranges(n_orders, PER_STREAM):
        n_words = (stop - start) * n_models
        words = random_words(n_words, seed, "rates among models", experiment, start)
        yield words.reshape(-1, n_models).argsort(axis=1, kind="stable")


def all_orders(n_models: int) -> Iterator[Indices]:
    """Give every order of the models once, a thousand at a time, in lexicographic order."""
    orders = permutations(range(n_models))
    while some := list(islice(orders, PER_STREAM)):
        yield np.array(some, dtype=np.intp)
