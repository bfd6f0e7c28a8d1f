"""The loops of `recommenders.kernels.language_models`, compiled."""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from runs.shared.arrays import Floats, Integers, Masks, Singles
from runs.shared.compiled import jit_in_any_order, jit_like_numpy

MARGIN = 1e-5
"""By how much rounding may at the most lift a score above its bound, for each own item."""


class Models(NamedTuple):
    """What neighbours have rated: rows of csr, and the share of the background of each.

    Values are :math:`p_v(i) / p_C(i)` less the share of the background.
    """

    ends: Integers
    items: Integers
    values: Singles
    shares: Singles


class Raters(NamedTuple):
    """What the neighbours have rated by item: those of item k are ``ends[k]:ends[k + 1]``."""

    items: Integers
    ends: Integers
    raters: Integers
    values: Singles


@jit_like_numpy
def add_log_odds(
    near_ends: Integers,
    near: Integers,
    own_ends: Integers,
    own_items: Integers,
    models: Models,
    at_once: int,
    candidates: Masks,
    depth: int,
    scores: Floats,
) -> None:
    r"""Add :math:`\sum_{j \in I_u} \log \sum_v p_v(i) p_v(j)` for a block of users.

    It is that relative to an item that nobody near has rated, a constant of the user, so such
    items keep what they have and cost nothing. Neighbours and own items are csr matrices with the
    users of the block as rows. The product of so many factors at once surely is a float64.
    Candidates and depth are as of `BestScorer.score_best`; with a depth of 0 all scores, of shape
    (n_block, n_items), are added to.
    """
    place_of = np.full(scores.shape[1], -1, dtype=np.int32)
    for user in range(len(near_ends) - 1):
        neighbours = near[near_ends[user] : near_ends[user + 1]]
        if len(neighbours) == 0:
            continue
        own = own_items[own_ends[user] : own_ends[user + 1]]
        place_of[own] = np.arange(len(own))
        weights = _weights_of_own(neighbours, place_of, len(own), models)
        place_of[own] = -1
        rated = _by_item(neighbours, place_of, models)
        if depth == 0:
            for number in range(len(rated.items)):
                scores[user, rated.items[number]] += _log_odds(number, rated, weights, at_once)
        else:
            wanted = candidates.copy()
            wanted[own] = False
            _add_to_best(rated, weights, at_once, wanted, depth, scores[user])


@jit_like_numpy
def _weights_of_own(
    neighbours: Integers, place_of: Integers, n_own: int, models: Models
) -> Singles:
    """Weigh each neighbour by how likely its model makes each of the user's own items."""
    weights = np.empty((len(neighbours), n_own), dtype=np.float32)
    background = np.zeros(n_own, dtype=np.float32)
    for number in range(len(neighbours)):
        v = neighbours[number]
        weights[number] = models.shares[v]
        for entry in range(models.ends[v], models.ends[v + 1]):
            place = place_of[models.items[entry]]
            if place >= 0:
                weights[number, place] += models.values[entry]
        _add(background, models.shares[v], weights[number])
    weights /= background
    return weights


@jit_like_numpy
def _by_item(neighbours: Integers, place_of: Integers, models: Models) -> Raters:
    """Sort what the neighbours have rated by item; ``place_of`` is -1 for all, before and after."""
    n_entries = 0
    for v in neighbours:
        n_entries += models.ends[v + 1] - models.ends[v]
    items = np.empty(n_entries, dtype=np.int32)
    ends = np.zeros(n_entries + 1, dtype=np.int32)
    n_items = 0
    for v in neighbours:
        for entry in range(models.ends[v], models.ends[v + 1]):
            item = models.items[entry]
            if place_of[item] < 0:
                place_of[item] = n_items
                items[n_items] = item
                n_items += 1
            ends[place_of[item] + 1] += 1
    for number in range(n_items):
        ends[number + 1] += ends[number]
    raters = np.empty(n_entries, dtype=np.int32)
    values = np.empty(n_entries, dtype=np.float32)
    filled = ends[:n_items].copy()
    for number in range(len(neighbours)):
        v = neighbours[number]
        for entry in range(models.ends[v], models.ends[v + 1]):
            place = place_of[models.items[entry]]
            raters[filled[place]] = number
            values[filled[place]] = models.values[entry]
            filled[place] += 1
    place_of[items[:n_items]] = -1
    return Raters(items[:n_items], ends[: n_items + 1], raters, values)


@jit_like_numpy
def _add_to_best(
    rated: Raters, weights: Singles, at_once: int, wanted: Masks, depth: int, scores: Floats
) -> None:
    r"""Add the scores of the items that may be among the best; minus infinity to the others."""
    n_own = weights.shape[1]
    means = np.array([of_neighbour.mean() for of_neighbour in weights])
    bounds = scores.copy()
    for number in range(len(rated.items)):
        mean = 1.0
        for entry in range(rated.ends[number], rated.ends[number + 1]):
            mean += rated.values[entry] * means[rated.raters[entry]]
        bounds[rated.items[number]] += n_own * log(mean)
    bounds[~(wanted & (bounds > -np.inf))] = -np.inf
    least = _at_depth(bounds, depth)
    tried = np.zeros(len(bounds), dtype=np.bool_)
    exact = np.full(len(bounds), -np.inf)
    # The items of the highest bounds come first; what they reach, others have to.
    for _ in range(2):
        hopeful = ~tried & (bounds >= least) & (bounds > -np.inf)
        exact[hopeful] = scores[hopeful]
        for number in range(len(rated.items)):
            item = rated.items[number]
            if not tried[item] and exact[item] > -np.inf:
                exact[item] += _log_odds(number, rated, weights, at_once)
        tried = exact > -np.inf
        least = _at_depth(exact, depth) - MARGIN * n_own
    scores[:] = exact


@jit_like_numpy
def _at_depth(values: Floats, depth: int) -> float:
    """Give the value at a rank, minus infinity where there are fewer."""
    if depth > len(values):
        return -np.inf
    return float(np.partition(values, len(values) - depth)[len(values) - depth])


@jit_like_numpy
def _log_odds(number: int, rated: Raters, weights: Singles, at_once: int) -> float:
    """Give the score of the item of this number among the rated ones."""
    meetings = np.ones(weights.shape[1], dtype=np.float32)
    for entry in range(rated.ends[number], rated.ends[number + 1]):
        _add(meetings, rated.values[entry], weights[rated.raters[entry]])
    total = 0.0
    for start in range(0, len(meetings), at_once):
        total += log(_product(meetings, start, min(start + at_once, len(meetings))))
    return total


@jit_like_numpy
def _add(total: Singles, factor: float, values: Singles) -> None:
    for place in range(len(total)):
        total[place] += factor * values[place]


@jit_in_any_order
def _product(factors: Singles, first: int, last: int) -> float:
    product = 1.0
    for place in range(first, last):
        product *= factors[place]
    return product
