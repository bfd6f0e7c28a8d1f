"""What describes items, as metrics use it: directions, and categories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qrels import Catalogue, Judged
from runs import InputError


def directions(catalogue: Catalogue) -> NDArray[np.float64]:
    """Scale the features of each item to length 1, so that products are cosines.

    Returns
    -------
    Of shape (n_items + 1, n_features): 0 where nothing is known of an item, and at the end.

    Examples
    --------
    >>> directions(Catalogue(2, features=np.array([[3.0, 4.0], [0.0, 0.0]])))
    array([[0.6, 0.8],
           [0. , 0. ],
           [0. , 0. ]])
    """
    features = catalogue.known("features")
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    scaled = np.divide(features, lengths, out=np.zeros_like(features), where=lengths > 0)
    return np.pad(scaled, ((0, 1), (0, 0)))


def categories(catalogue: Catalogue) -> NDArray[np.float64]:
    """Give the categories of each item, 1 for those it has.

    Returns
    -------
    Of shape (n_items + 1, n_features): 0 where nothing is known of an item, and at the end.

    Raises
    ------
    InputError
        If a feature is something else than 0 or 1.
    """
    features = catalogue.known("features")
    other = np.argwhere((features != 0) & (features != 1))
    if len(other):
        item, column = other[0]
        names = catalogue.feature_names
        raise InputError(
            f"the features must be categories, 0 or 1: {names[column] if names else column!r} is "
            f"{features[item, column]:g} of an item; name columns of categories as `columns` in "
            "[items]."
        )
    return np.pad(features, ((0, 1), (0, 0)))


def new_categories(judged: Judged, *, alpha: float) -> NDArray[np.float64]:
    r"""Count the categories of the relevant item at each rank, each less the more often it came.

    .. math:: \sum_{c} \mathrm{has}(i(k), c) \, (1 - \alpha)^{r_{c,k-1}}

    with :math:`r_{c,k-1}` the relevant items of category c above rank k.

    Returns
    -------
    Of shape (n_users, n_ranks), 0 where the item is not relevant.
    """
    known = judged.catalogue.once(categories)
    left = np.ones((judged.n_users, known.shape[1]))
    gains = np.zeros(judged.grades.shape)
    for column, items in enumerate(judged.items.T):
        has = known[items] * judged.relevant[:, column, np.newaxis]
        gains[:, column] = (has * left).sum(axis=1)
        left *= 1 - alpha * has
    return gains


def n_categories(judged: Judged) -> NDArray[np.float64]:
    """Count the categories of each user's relevant items, in the list or not, (n_users,)."""
    known = judged.catalogue.once(categories)
    found = np.zeros((judged.n_users, known.shape[1]))
    relevant = judged.judgements >= judged.relevance_level
    for column, items in enumerate(judged.judged_items.T):
        np.maximum(found, known[items] * relevant[:, column, np.newaxis], out=found)
    return np.asarray(found.sum(axis=1))
