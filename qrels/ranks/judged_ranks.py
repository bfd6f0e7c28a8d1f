"""Hidden ranks beside judgements: where a system puts an item that it alone is not shown."""

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
        """Give the ranks under a validation."""
        ranks: Ranks | None = getattr(self, validation)
        if ranks is None:
            raise InputError(f"no item was ranked under {validation.upper()}.")
        return ranks

    def select(self, judgements: Integers) -> JudgedRanks:
        """Give the ranks of some judgements by number, of the shape of these; -1 is a miss."""
        return self.map(lambda ranks: np.append(ranks, np.uint16(MISS))[judgements])

    def map(self, change: Callable[[Ranks], Ranks]) -> JudgedRanks:
        """Change the ranks that are known, in one way."""
        loo, lloo = (None if r is None else change(r) for r in (self.loo, self.lloo))
        return JudgedRanks(loo, lloo)
