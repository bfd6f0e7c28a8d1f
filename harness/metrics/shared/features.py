"""What describes items, as metrics use it: directions, and categories."""

from __future__ import annotations

from collections.abc import Iterator

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
    for column, (items, relevant) in enumerate(zip(judged.items.T, judged.relevant.T, strict=True)):
        users = np.flatnonzero(relevant)
        has = known[items[users]]
        gains[users, column] = (has * left[users]).sum(axis=1)
        left[users] *= 1 - alpha * has
    return gains


def n_categories(judged: Judged) -> NDArray[np.float64]:
    """Count the categories of each user's relevant items, in the list or not, (n_users,)."""
    known = judged.catalogue.once(categories)
    found = np.zeros((judged.n_users, known.shape[1]))
    is_relevant = judged.judgements >= judged.relevance_level
    for items, relevant in zip(judged.judged_items.T, is_relevant.T, strict=True):
        users = np.flatnonzero(relevant)
        found[users] = np.maximum(found[users], known[items[users]])
    return np.asarray(found.sum(axis=1))


def alike(counts: NDArray[np.integer], *, cells: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Give users who count alike together: the count, from 1 on, and their numbers.

    Parameters
    ----------
    counts
        Of shape (n_users,).
    cells
        The most pairs of what is counted that are given at once, unless one user has more.

    Examples
    --------
    >>> list(alike(np.array([2, 0, 1, 2]), cells=100))
    [(1, array([2])), (2, array([0, 3]))]
    """
    for count in np.unique(counts[counts > 0]).tolist():
        users = np.flatnonzero(counts == count)
        at_once = max(1, cells // count**2)
        for first in range(0, len(users), at_once):
            yield count, users[first : first + at_once]
