"""What keys of a study are made from: the contents of arrays, ratings and judgements."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.study.store import content_key
from qrels import Qrels, Ratings
from runs import Numbering


def digest(*arrays: NDArray[Any]) -> str:
    """Hash the contents of arrays."""
    whole = sha256()
    for array in arrays:
        whole.update(f"{array.dtype}{array.shape}".encode())
        whole.update(np.ascontiguousarray(array).data)
    return whole.hexdigest()


def ratings_digest(ratings: Ratings) -> str:
    """Hash ratings and their ids."""
    columns = [ratings.users.ids, ratings.items.ids, ratings.user, ratings.item, ratings.rating]
    return digest(*columns, *([] if ratings.time is None else [ratings.time]))


def judgements_key(qrels: Qrels, topics: Numbering, items: Numbering) -> str:
    """Hash judgements and their ids."""
    return content_key(
        digest(topics.ids, items.ids),
        digest(qrels.offsets, qrels.items, qrels.grades),
        qrels.relevance_level,
    )
