"""The loops of `recommenders.kernels.language_models`, compiled."""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from runs.shared.arrays import Floats, Integers, Masks, Singles
from runs.shared.compiled import jit_in_any_order, jit_like_numpy

MARGIN = 1e-5
"""Largest error of a score relative to its bound, by rounding, for each item of the history."""


class Models(NamedTuple):
    """Language models of all users v, divided by the collection: rows of a csr matrix.

    The entries of user v are ``starts[v]:starts[v + 1]``: items, and values :math:`p_v(i) / p_C(i)`
    less the share of the background. ``shares``, (n_users,), are the shares of the background.
    """

    starts: Integers
    items: Integers
    values: Singles
    shares: Singles


class Raters(NamedTuple):
    """Ratings of the neighbours of one user, by item.

    The entries of ``items[k]`` are ``starts[k]:starts[k + 1]``: ``raters`` are places among the
    neighbours, and ``values`` those of their models (`Models`).
    """

    items: Integers
    starts: Integers
    raters: Integers
    values: Singles


@jit_like_numpy
def add_log_odds(
    neighbour_starts: Integers,
    neighbours: Integers,
    history_starts: Integers,
    history_items: Integers,
    models: Models,
    factors_at_once: int,
    candidates: Masks,
    depth: int,
    scores: Floats,
) -> None:
    r"""Add :math:`\sum_{j \in I_u} \log \sum_v p_v(i) p_v(j)` to the scores of a block of users.

    The sum is relative to that of an item that no neighbour has rated, a constant of the user, so
    such items keep their scores and cost nothing. A user without neighbours keeps all scores.

    Parameters
    ----------
    neighbour_starts, neighbours
        Neighbours v of each user of the block: row starts, (n_block + 1,), and columns of a csr
        matrix.
    history_starts, history_items
        Items :math:`I_u` that each user of the block has rated, in the same form.
    models
        Language models of all users.
    factors_at_once
        Number of factors whose product surely is a float64.
    candidates
        Mask over the items, (n_items,): those that may be listed.
    depth
        Length of the lists. Items of which a bound shows that they are not among the best get minus
        infinity; with a depth of 0 all items are scored.
    scores
        Scores that are added to, in place, of shape (n_block, n_items).
    """
    place_of_item = np.full(scores.shape[1], -1, dtype=np.int32)
    for user in range(len(neighbour_starts) - 1):
        user_neighbours = neighbours[neighbour_starts[user] : neighbour_starts[user + 1]]
        if len(user_neighbours) == 0:
            continue
        history = history_items[history_starts[user] : history_starts[user + 1]]
        place_of_item[history] = np.arange(len(history))
        weights = _history_weights(user_neighbours, place_of_item, len(history), models)
        place_of_item[history] = -1
        rated = _ratings_by_item(user_neighbours, place_of_item, models)
        if depth == 0:
            for number in range(len(rated.items)):
                log_odds = _log_odds(number, rated, weights, factors_at_once)
                scores[user, rated.items[number]] += log_odds
        else:
            may_be_listed = candidates.copy()
            may_be_listed[history] = False
            _add_to_best(rated, weights, factors_at_once, may_be_listed, depth, scores[user])


@jit_like_numpy
def _history_weights(
    neighbours: Integers, place_of_item: Integers, n_history: int, models: Models
) -> Singles:
    """Compute the probability of each item of a user's history under each neighbour's model.

    ``neighbours`` are numbers of users, whose models are rows of ``models``; ``place_of_item``,
    (n_items,), is the position of each item in the history, else -1. Probabilities are relative to
    their sum over neighbours, weighted by the neighbours' background shares. Float32 of shape
    (n_neighbours, n_history).
    """
    weights = np.empty((len(neighbours), n_history), dtype=np.float32)
    background = np.zeros(n_history, dtype=np.float32)
    for number in range(len(neighbours)):
        neighbour = neighbours[number]
        weights[number] = models.shares[neighbour]
        for entry in range(models.starts[neighbour], models.starts[neighbour + 1]):
            place = place_of_item[models.items[entry]]
            if place >= 0:
                weights[number, place] += models.values[entry]
        _add_scaled(background, models.shares[neighbour], weights[number])
    weights /= background
    return weights


@jit_like_numpy
def _ratings_by_item(neighbours: Integers, place_of_item: Integers, models: Models) -> Raters:
    """Sort the entries of the neighbours' models by item, in the order in which items first occur.

    ``neighbours`` are numbers of users, whose entries are ``models.starts[v]:models.starts[v + 1]``
    of ``models.items`` and ``models.values``. The result has the items, where the entries of each
    begin, and for each entry the position of its neighbour and its value. ``place_of_item``,
    (n_items,), is working memory, -1 everywhere before and after.
    """
    n_entries = 0
    for neighbour in neighbours:
        n_entries += models.starts[neighbour + 1] - models.starts[neighbour]
    items = np.empty(n_entries, dtype=np.int32)
    starts = np.zeros(n_entries + 1, dtype=np.int32)
    n_items = 0
    for neighbour in neighbours:
        for entry in range(models.starts[neighbour], models.starts[neighbour + 1]):
            item = models.items[entry]
            if place_of_item[item] < 0:
                place_of_item[item] = n_items
                items[n_items] = item
                n_items += 1
            starts[place_of_item[item] + 1] += 1
    for number in range(n_items):
        starts[number + 1] += starts[number]
    raters = np.empty(n_entries, dtype=np.int32)
    values = np.empty(n_entries, dtype=np.float32)
    next_entries = starts[:n_items].copy()
    for number in range(len(neighbours)):
        neighbour = neighbours[number]
        for entry in range(models.starts[neighbour], models.starts[neighbour + 1]):
            place = place_of_item[models.items[entry]]
            raters[next_entries[place]] = number
            values[next_entries[place]] = models.values[entry]
            next_entries[place] += 1
    place_of_item[items[:n_items]] = -1
    return Raters(items[:n_items], starts[: n_items + 1], raters, values)


@jit_like_numpy
def _add_to_best(
    rated: Raters,
    weights: Singles,
    factors_at_once: int,
    may_be_listed: Masks,
    depth: int,
    scores: Floats,
) -> None:
    r"""Add the log-odds to the scores of one user's items that may be among the best ``depth``.

    All other scores, of shape (n_items,), become minus infinity, in place. ``rated`` has the values
    of the neighbours' models by item; ``weights``, (n_neighbours, n_history), the probability of
    each item of the history under each neighbour's model; ``may_be_listed`` is a mask over the
    items. Logarithms are taken of products of ``factors_at_once`` factors.

    The log of a mean is above the mean of logs, so a bound on the log-odds takes one sum an item.
    """
    n_history = weights.shape[1]
    mean_weights = np.array([neighbour_weights.mean() for neighbour_weights in weights])
    bounds = scores.copy()
    for number in range(len(rated.items)):
        mean = 1.0
        for entry in range(rated.starts[number], rated.starts[number + 1]):
            mean += rated.values[entry] * mean_weights[rated.raters[entry]]
        bounds[rated.items[number]] += n_history * log(mean)
    bounds[~(may_be_listed & (bounds > -np.inf))] = -np.inf
    threshold = _value_at_rank(bounds, depth)
    is_scored = np.zeros(len(bounds), dtype=np.bool_)
    exact = np.full(len(bounds), -np.inf)
    # First the items of the highest bounds, then those whose bounds reach the scores of these.
    for _ in range(2):
        may_be_best = ~is_scored & (bounds >= threshold) & (bounds > -np.inf)
        exact[may_be_best] = scores[may_be_best]
        for number in range(len(rated.items)):
            item = rated.items[number]
            if not is_scored[item] and exact[item] > -np.inf:
                exact[item] += _log_odds(number, rated, weights, factors_at_once)
        is_scored = exact > -np.inf
        # Less the largest error of rounding.
        threshold = _value_at_rank(exact, depth) - MARGIN * n_history
    scores[:] = exact


@jit_like_numpy
def _value_at_rank(values: Floats, rank: int) -> float:
    """Find the value at a rank, from 1, by falling value; -inf if there are fewer values."""
    if rank > len(values):
        return -np.inf
    place = len(values) - rank
    return float(np.partition(values, place)[place])


@jit_like_numpy
def _log_odds(number: int, rated: Raters, weights: Singles, factors_at_once: int) -> float:
    """Compute the log-odds of item ``rated.items[number]``, given a user's history.

    This is the sum over the items of the history of the logarithm of 1 plus the sum over raters of
    their value times their weight, of shape (n_neighbours, n_history). Logarithms are taken of
    products of ``factors_at_once`` factors.
    """
    factors = np.ones(weights.shape[1], dtype=np.float32)
    for entry in range(rated.starts[number], rated.starts[number + 1]):
        _add_scaled(factors, rated.values[entry], weights[rated.raters[entry]])
    log_odds = 0.0
    for first in range(0, len(factors), factors_at_once):
        log_odds += log(_product(factors, first, min(first + factors_at_once, len(factors))))
    return log_odds


@jit_like_numpy
def _add_scaled(total: Singles, factor: float, values: Singles) -> None:
    """Add ``factor * values`` to ``total``, in place; both are of shape (n,)."""
    for place in range(len(total)):
        total[place] += factor * values[place]


@jit_in_any_order
def _product(factors: Singles, first: int, end: int) -> float:
    """Multiply ``factors[first:end]``, in any order."""
    product = 1.0
    for place in range(first, end):
        product *= factors[place]
    return product
