"""What describes items, as metrics use it: directions, and categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qrels import Catalogue, Judged
from runs import InputError
from runs.shared.arrays import Floats

if TYPE_CHECKING:
    from harness.metrics.shared.features_loop import Categories

DECIMALS = 12
"""Gains that differ by less are equal: which of two items is taken is then settled by number."""


def directions(catalogue: Catalogue) -> Floats:
    """Scale the features of each item to length 1, so that products are cosines."""
    features = catalogue.require("features")
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    scaled = np.divide(features, lengths, out=np.zeros_like(features), where=lengths > 0)
    return np.pad(scaled, ((0, 1), (0, 0)))


def categories(catalogue: Catalogue) -> Floats:
    """Give the categories of each item, 1 for those it has."""
    features = catalogue.require("features")
    other = np.argwhere((features != 0) & (features != 1))
    if len(other):
        item, column = other[0].tolist()
        names = catalogue.feature_names
        raise InputError(
            f"the features must be categories, 0 or 1: {names[column] if names else column!r} is "
            f"{features[item, column]:g} of an item; name columns of categories as `columns` in "
            "[items]."
        )
    return np.pad(features, ((0, 1), (0, 0)))


def new_categories(judged: Judged, *, alpha: float) -> Floats:
    r"""Count the categories of the relevant item at each rank, each less the more often it came.

    .. math:: \sum_{c} \mathrm{has}(i(k), c) \, (1 - \alpha)^{r_{c,k-1}}

    with :math:`r_{c,k-1}` the relevant items of category c above rank k; 0 where the item is not
    relevant.
    """
    from harness.metrics.shared.features_loop import count_new

    lists = _by_rank(judged.items, np.int32), _by_rank(judged.relevant)
    return count_new(*lists, judged.catalogue.once(_by_item), alpha).T


def greedy_categories(judged: Judged, *, alpha: float) -> Floats:
    """Count so in a list that takes at each rank the relevant item that earns most there."""
    from harness.metrics.shared.features_loop import count_greedily

    items = _relevant_items(judged)
    return count_greedily(*items, judged.catalogue.once(_by_item), alpha, DECIMALS).T


def n_categories(judged: Judged) -> Floats:
    """Count the categories of each user's relevant items, in the list or not, (n_users,)."""
    from harness.metrics.shared.features_loop import count_new

    counts = count_new(*_relevant_items(judged), judged.catalogue.once(_by_item), 1.0)
    return np.asarray(counts.sum(axis=0))


def similarities(judged: Judged) -> Floats:
    """Add the cosines of the item at each rank with those above it, (n_users, n_ranks)."""
    from harness.metrics.shared.features_loop import add_cosines

    return add_cosines(_by_rank(judged.items, np.int32), judged.catalogue.once(directions)).T


def mean_distances(judged: Judged, *, values: Floats, weights: Floats) -> Floats:
    """Add the weighted mean distances of items from the others in the list, down to each rank.

    Values are of the items at each rank, (n_users, n_ranks), as is the result; weights those of the
    ranks from 1 on, (depth,). In the mean of another item an item is weighed as if ranks began
    there; above it, as at rank 1.
    """
    from harness.metrics.shared.features_loop import add_distances

    ranks = np.broadcast_to(judged.ranks, values.shape)
    lists = _by_rank(judged.items, np.int32), _by_rank(ranks), _by_rank(values)
    return add_distances(*lists, judged.catalogue.once(directions), weights).T


def _by_rank(table: NDArray[Any], dtype: type[np.generic] | None = None) -> NDArray[Any]:
    """Lay out (n_users, n_ranks) one rank after the other, as loops go through it."""
    return np.ascontiguousarray(table.T, dtype=dtype)


def _relevant_items(judged: Judged) -> tuple[NDArray[Any], NDArray[Any]]:
    """Give the items of the judgements, and which of them are relevant, for loops."""
    relevant = judged.judgements >= judged.relevance_level
    return _by_rank(judged.judged_items, np.int32), _by_rank(relevant)


def _by_item(catalogue: Catalogue) -> Categories:
    """Number the categories of one item after the other."""
    known = catalogue.once(categories)
    items, numbers = np.nonzero(known)
    return np.searchsorted(items, np.arange(len(known) + 1)), numbers, known.shape[1]
