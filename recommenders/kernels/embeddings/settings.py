"""Settings of item-kNN on the vectors of least squares."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, get_args

from recommenders.kernels.embeddings.pruning import Prune
from runs import InputError
from runs.shared.errors import require_choice

BM25Rows: TypeAlias = Literal["users", "items", "none"]

LEAST = {
    "factors": 1,
    "sweeps": 1,
    "min_items_per_user": 1,
    "min_users_per_item": 1,
    "neighbours": 1,
}


@dataclass(frozen=True)
class EmbeddingSettings:
    """How interactions become similarities; what Kasalický (2021) does not give is ours.

    Parameters
    ----------
    factors
        Length of a vector; the thesis has 32 to 1024.
    regularization
        Penalty on the squared vectors (the thesis's lambda), above 0; the thesis has 0.1, 1 and 10.
    alpha
        What a weight adds to the confidence in its pair, 1 + alpha w; above 0, ours.
    sweeps
        Times that users and items are solved for; ours.
    bm25_rows
        Whether users or items are the documents of `bm25`, or ``"none"`` for the values
        themselves; the thesis has BM25 and does not say which.
    k1, b
        Of BM25. The thesis has b = 0.75; k1 is implicit's default.
    min_items_per_user, min_users_per_item
        What users and items are learned from; the thesis has 2 to 20.
    prune
        Whether these are counted once, or until all who are left have enough; ours.
    neighbours
        Nearest items kept for every item; ours.

    Raises
    ------
    InputError
        If a number is out of range, or a choice is none.

    Examples
    --------
    >>> print(EmbeddingSettings(factors=32, regularization=0.1))
    als-knn(factors=32,regularization=0.1,alpha=1,sweeps=15,bm25_rows=users,k1=100,b=0.75,\
min_items_per_user=2,min_users_per_item=2,prune=once,neighbours=100)
    >>> EmbeddingSettings(factors=0)
    Traceback (most recent call last):
    runs.InputError: `factors` must be at least 1, got 0.
    """

    factors: int = 128
    regularization: float = 1.0
    alpha: float = 1.0
    sweeps: int = 15
    bm25_rows: BM25Rows = "users"
    k1: float = 100.0
    b: float = 0.75
    min_items_per_user: int = 2
    min_users_per_item: int = 2
    prune: Prune = "once"
    neighbours: int = 100

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            if getattr(self, name) < least:
                raise InputError(f"`{name}` must be at least {least}, got {getattr(self, name)}.")
        for name in ("regularization", "alpha", "k1"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"`{name}` must be above 0, got {getattr(self, name)}.")
        if not 0 <= self.b <= 1:
            raise InputError(f"`b` must be from 0 to 1, got {self.b}.")
        for name, choice in {"bm25_rows": BM25Rows, "prune": Prune}.items():
            require_choice(name, getattr(self, name), get_args(choice))

    def __str__(self) -> str:
        values = ",".join(f"{name}={_short(value)}" for name, value in asdict(self).items())
        return f"als-knn({values})"


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"
