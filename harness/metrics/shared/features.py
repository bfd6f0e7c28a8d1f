"""Features of items as metrics use them: directions, and categories; and subtopics beside these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qrels import Catalogue, Judged
from qrels.catalogue import REMEDIES
from runs import InputError
from runs.shared.arrays import Floats

if TYPE_CHECKING:
    from harness.metrics.shared.features_loop import Categories

DECIMALS = 12
"""Decimals to which gains are compared: of items with equal gains the item number decides."""

SUBTOPICS_REMEDY = "give qrels with subtopics (topic subtopic item grade)"
"""What to do instead where a metric may count subtopics or categories."""


def directions(catalogue: Catalogue) -> Floats:
    """Scale the features of each item to length 1, so that products are cosines.

    The result is of shape (n_items + 1, n_features); the last row, of item number -1, is 0, and so
    is that of an item without features. Raises InputError if the features of items are not known.
    """
    features = catalogue.require("features")
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    scaled = np.divide(features, lengths, out=np.zeros_like(features), where=lengths > 0)
    return np.pad(scaled, ((0, 1), (0, 0)))


def categories(catalogue: Catalogue) -> Floats:
    """Return the categories of each item, 1 for those it has, of shape (n_items + 1, n_categories).

    They are the features of the items in the catalogue. The last row, of item number -1, is 0.
    Raises InputError if the features are not known, or not all 0 or 1.
    """
    features = catalogue.require("features")
    not_binary = np.argwhere((features != 0) & (features != 1))
    if len(not_binary):
        item, column = not_binary[0].tolist()
        names = catalogue.feature_names
        name = names[column] if names else column
        raise InputError(
            f"the features must be categories, 0 or 1: {name!r} is "
            f"{features[item, column]:g} of an item; name columns of categories as `columns` in "
            "[items]."
        )
    return np.pad(features, ((0, 1), (0, 0)))


def new_aspects(judged: Judged, *, alpha: float) -> Floats:
    r"""Count the aspects of the relevant item at each rank, repeated ones less.

    .. math:: \sum_{c} \mathrm{has}(i(k), c) \, (1 - \alpha)^{r_{c,k-1}}

    with :math:`r_{c,k-1}` the relevant items of aspect c above rank k. Aspects are subtopics, or
    categories of items. The counts are of shape (n_users, n_ranks), 0 where the item is not
    relevant. Raises InputError if neither subtopics nor categories are known.
    """
    from harness.metrics.shared.features_loop import count_new

    numbers = judged.items if judged.subtopics is None else judged.listed_judgements
    relevant = _by_rank(judged.relevant)
    return count_new(_by_rank(numbers, np.int32), relevant, _aspects_by_number(judged), alpha).T


def greedy_aspects(judged: Judged, *, alpha: float) -> Floats:
    """Compute the gain at each rank of a list that takes the relevant item of most gain there.

    The gain of an item is the sum over its aspects, subtopics or categories, of (1 - alpha)^m, with
    m items above it that have the aspect. The list has all relevant items of the user. Gains are of
    shape (n_users, n_judged), 0 behind the end of the list. Raises InputError if neither subtopics
    nor categories are known.
    """
    from harness.metrics.shared.features_loop import count_greedily

    numbers, relevant = _judged_numbers(judged)
    return count_greedily(numbers, relevant, _aspects_by_number(judged), alpha, DECIMALS).T


def n_aspects(judged: Judged) -> Floats:
    """Count the distinct aspects of each user's relevant items, in the list or not, (n_users,).

    Aspects are subtopics, or categories of items. Raises InputError if neither are known.
    """
    from harness.metrics.shared.features_loop import count_new

    # Of judged items, or of judgements where these have subtopics: (n_judged, n_users).
    numbers, relevant = _judged_numbers(judged)
    # With alpha 1 only the first item of an aspect counts.
    counts = count_new(numbers, relevant, _aspects_by_number(judged), 1.0)
    return np.asarray(counts.sum(axis=0))


def similarities(judged: Judged) -> Floats:
    """Add up the cosines of the item at each rank with all above it, (n_users, n_ranks).

    0 where there is no item, or the item has no features.
    """
    from harness.metrics.shared.features_loop import add_cosines

    items = _by_rank(judged.items, np.int32)
    return add_cosines(items, judged.catalogue.once(directions)).T


def mean_distances(judged: Judged, *, values: Floats, weights: Floats) -> Floats:
    """Add up the weighted mean distances of items from the others in the list, down to each rank.

    ``values`` weigh the items at each rank, (n_users, n_ranks), as is the result; items of value 0
    are left out. ``weights`` are those of the ranks from 1 on, (depth,). The distance of two items
    is 1 minus the cosine of their features. In the sum the mean of item k has its value times the
    weight of rank k. In the mean of item k another item has its value times the weight of rank
    l - k if it is below, at rank l, and of rank 1 if it is above.
    """
    from harness.metrics.shared.features_loop import add_distances

    ranks = np.broadcast_to(judged.ranks, values.shape)
    items_by_rank = _by_rank(judged.items, np.int32)
    ranks_by_rank = _by_rank(ranks)
    values_by_rank = _by_rank(values)
    item_directions = judged.catalogue.once(directions)
    totals = add_distances(items_by_rank, ranks_by_rank, values_by_rank, item_directions, weights)
    return totals.T


def _by_rank(table: NDArray[Any], dtype: type[np.generic] | None = None) -> NDArray[Any]:
    """Transpose (n_users, n_ranks) to (n_ranks, n_users), contiguous as compiled loops take it."""
    return np.ascontiguousarray(table.T, dtype=dtype)


def _judged_numbers(judged: Judged) -> tuple[NDArray[Any], NDArray[Any]]:
    """Number the judged items of each user, and tell which are relevant: (n_judged, n_users).

    Numbers are those of judgements where these have subtopics, otherwise those of items; -1 where a
    user has fewer.
    """
    numbers = judged.judged_items if judged.subtopics is None else judged.judgement_numbers
    relevant = judged.judgements >= judged.relevance_level
    return _by_rank(numbers, np.int32), _by_rank(relevant)


def _aspects_by_number(judged: Judged) -> Categories:
    """Look up the subtopics of each judgement if the qrels have them, else categories of each item.

    A judgement has the subtopics for which its grade reaches the relevance level. The result are
    row starts, aspects, and how many aspects there are: judgement, or item, i has the aspects
    ``aspects[starts[i]:starts[i + 1]]``.

    Raises InputError if neither is known, or features of items are not all 0 or 1.
    """
    if judged.subtopics is not None:
        covered = judged.subtopics.covered(judged.relevance_level)
        return covered.starts, covered.numbers, len(judged.subtopics.ids)
    if judged.catalogue.features is None:
        raise InputError(f"{REMEDIES['features']}, or {SUBTOPICS_REMEDY}.")
    return judged.catalogue.once(_item_categories)


def _item_categories(catalogue: Catalogue) -> Categories:
    """Convert the categories of all items to rows of csr, with item number -1 last.

    Returns row starts, (n_items + 2,), category numbers, and the number of categories: the
    categories of item i are ``numbers[starts[i]:starts[i + 1]]``.
    """
    has_category = catalogue.once(categories)
    n_rows, n_columns = has_category.shape
    items, numbers = np.nonzero(has_category)
    starts = np.searchsorted(items, np.arange(n_rows + 1))
    return starts, numbers, n_columns
