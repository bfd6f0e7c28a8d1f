"""Hidden ranks of judged items: where a system ranks an item that is hidden from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from qrels.ranks.hidden_ranks import MISS, Ranks
from runs import InputError
from runs.shared.arrays import Integers

Validation: TypeAlias = Literal["loo", "lloo"]
"""Leave one out, leave last one out."""

VALIDATIONS: tuple[Validation, ...] = get_args(Validation)


@dataclass(frozen=True, eq=False)
class JudgedRanks:
    """Hidden ranks of one system, one for each judgement, of shape (n_judgements,); see `MISS`.

    Judged items that are not relevant are not hidden, and misses. What is not known is None.

    ``loo``: the item alone is hidden from all that its user rated (leave one out); ``lloo``: all
    that the user rated at its time or later is hidden (leave last one out).
    """

    loo: Ranks | None = None
    lloo: Ranks | None = None

    def require(self, validation: Validation) -> Ranks:
        """Look up the rank of each judged item when it is hidden from the system.

        ``validation``: "loo" (leave one out) or "lloo" (leave last one out). Ranks are of shape
        (n_judgements,). Raises InputError if they are not known (None).
        """
        ranks: Ranks | None = getattr(self, validation)
        if ranks is None:
            raise InputError(f"no item was ranked under {validation.upper()}.")
        return ranks

    def select(self, judgements: Integers) -> JudgedRanks:
        """Look up the ranks of judgements by their numbers, of the shape of these; -1 is a miss."""

        def ranks_or_miss(ranks: Ranks) -> Ranks:
            # Number -1 is that of the miss at the end.
            return np.append(ranks, np.uint16(MISS))[judgements]

        return self.map(ranks_or_miss)

    def map(self, change: Callable[[Ranks], Ranks]) -> JudgedRanks:
        """Apply a function to the ranks under each validation; what is not known stays None."""
        loo = None if self.loo is None else change(self.loo)
        lloo = None if self.lloo is None else change(self.lloo)
        return JudgedRanks(loo, lloo)
