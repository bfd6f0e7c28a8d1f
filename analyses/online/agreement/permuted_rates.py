"""Click-through rates dealt out anew among the models: the null hypothesis of the study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import ranges
from runs.shared.streams import random_words

Indices = NDArray[np.intp]

PER_STREAM = 1024
"""Random orders that share a stream of random words."""


def joint_orders(
    n_orders: int, *, groups: Sequence[str], models: Sequence[tuple[str, ...]], seed: int
) -> Iterator[tuple[Indices, ...]]:
    """Draw orders of the models of each group, each as likely, a thousand at a time.

    Groups that share models are one experiment: their rates are dealt out jointly, by one random
    key for each model, since its rates in several groups go together. Groups of other models have
    orders of their own, which depend neither on other groups nor on how many orders follow.

    Examples
    --------
    >>> months = {"groups": ["May", "June"], "models": [("a", "b", "c"), ("c", "a", "b")]}
    >>> ((may, june),) = joint_orders(2, **months, seed=1)
    >>> [dict(zip("abc", ("abc"[n] for n in row))) for row in may.tolist()][0]
    {'a': 'b', 'b': 'a', 'c': 'c'}
    >>> [dict(zip("cab", ("cab"[n] for n in row))) for row in june.tolist()][0]
    {'c': 'c', 'a': 'b', 'b': 'a'}
    """
    joined = together(models)
    keys, columns = [], []
    for members in joined:
        every = [*dict.fromkeys(model for member in members for model in models[member])]
        keys.append(_random_keys(n_orders, len(every), seed, groups[members[0]]))
        columns.append({m: np.array([every.index(name) for name in models[m]]) for m in members})
    for words in zip(*keys, strict=True):
        orders = {
            member: _order(some, own)
            for some, of_groups in zip(words, columns, strict=True)
            for member, own in of_groups.items()
        }
        yield tuple(orders[number] for number in range(len(models)))


def _random_keys(n: int, n_models: int, seed: int, key: str) -> Iterator[NDArray[np.uint64]]:
    """Draw a thousand orders at a time: the first do not depend on how many follow."""
    for start, stop in ranges(n, PER_STREAM):
        n_words = (stop - start) * n_models
        words = random_words(n_words, seed, "rates among models", key, start)
        yield words.reshape(-1, n_models)


def _order(keys: NDArray[np.integer], own: Indices) -> Indices:
    """Order the models of a group by keys of all models, whichever stands first in the group."""
    places = np.argsort(own)
    orders = np.empty((len(keys), len(own)), dtype=np.intp)
    orders[:, places] = places[keys[:, own[places]].argsort(axis=1, kind="stable")]
    return orders


def together(models: Sequence[tuple[str, ...]]) -> list[list[int]]:
    """Put groups together that share models, by number.

    Examples
    --------
    >>> together([("a", "b"), ("c", "d"), ("b", "e"), ("e", "f")])
    [[0, 2, 3], [1]]
    """
    joined: list[tuple[set[str], list[int]]] = []
    for number, own in enumerate(models):
        names, members = set(own), [number]
        for other in [part for part in joined if part[0] & names]:
            names |= other[0]
            members += other[1]
            joined.remove(other)
        joined.append((names, sorted(members)))
    return sorted(members for _, members in joined)


def all_orders(models: Sequence[tuple[str, ...]]) -> Iterator[tuple[Indices, ...]]:
    """Give every order of the models once, a thousand at a time, jointly in groups of the same."""
    own = [np.array([models[0].index(name) for name in group]) for group in models]
    orders = permutations(range(len(models[0])))
    while some := list(islice(orders, PER_STREAM)):
        yield tuple(_order(np.array(some), columns) for columns in own)
