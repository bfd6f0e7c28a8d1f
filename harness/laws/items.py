"""Items of the lists that laws are tried on, and a small catalogue that tells of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qrels import Catalogue

SEED = 1
N_RATERS, N_CATEGORIES, N_USERS = 40, 4, 2
SHARE = 0.4
N_KINDS = 3
"""Kinds of items: very relevant, relevant, not relevant."""


def items_of(marks: Sequence[int | None], *, level: int, n_items: int) -> list[int]:
    """Number the items of a list from their grades, None where there is none.

    The n-th item of a relevant grade is always the same, and so is the n-th of the others, judged
    or not: a list whose items change places holds the same items, and so does one that loses a
    non-relevant judgement. Numbers fall, so that the order of the items is not that of the ranks.

    Examples
    --------
    >>> items_of((None, 2, 0), level=2, n_items=40)
    [37, 38, 34]
    """
    seen: Counter[int] = Counter()
    numbers = []
    for mark in marks:
        kind = 2 if mark is None or mark < level else 1 - (mark - level)
        numbers.append(n_items - 1 - kind - N_KINDS * seen[kind])
        seen[kind] += 1
    return numbers


@lru_cache(maxsize=16)
def catalogue(n_items: int) -> Catalogue:
    """Draw what is known of items: the same every time, and of all users alike.

    Some items have no category.
    """
    from scipy.sparse import csr_array

    generator = np.random.default_rng(SEED)
    popularity: NDArray[np.int64] = generator.integers(1, N_RATERS + 1, n_items)
    features = (generator.random((n_items, N_CATEGORIES)) < SHARE).astype(np.float64)
    rated = (generator.random(n_items) < SHARE).astype(np.float64)
    return Catalogue(
        n_items,
        popularity=popularity,
        n_raters=N_RATERS,
        features=features,
        feature_names=tuple("abcd"),
        propensities=popularity / N_RATERS,
        profiles=csr_array(np.tile(rated, (N_USERS, 1))),
    )
