"""Grids of exponents and cut-offs, and which of them a table of ranks can answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from analyses.recall.hidden_parts import VALIDATIONS, Validation
from qrels.ranks.hidden_ranks import MISS, HiddenRanks
from runs import InputError
from runs.shared.errors import require_choice

BETAS = tuple(step / 20 for step in range(21))
"""Exponents of Kasalický (2021)."""

CUTOFFS = (*range(1, 11), 15, 20, 25, 50)
"""Cut-offs of Kasalický (2021)."""


def require_grid(
    ranks: HiddenRanks,
    validations: Sequence[Validation],
    betas: Sequence[float],
    cutoffs: Sequence[int],
) -> None:
    """Refuse a grid that has no values, or some that are not known."""
    require_axes(validations, betas, cutoffs)
    deepest = ranks.deepest if "LLOO" in validations else MISS - 1
    if cutoffs[-1] > deepest:
        raise InputError(
            f"cut-off {cutoffs[-1]} is deeper than ranks are known, {deepest}; rank hidden items "
            "with `deepest` at least as large."
        )


def require_axes(
    validations: Sequence[Validation], betas: Sequence[float], cutoffs: Sequence[int]
) -> None:
    """Refuse a grid that makes no sense, whatever is ranked."""
    if not validations or not betas or not cutoffs:
        raise InputError("recall needs at least one validation, one exponent and one cut-off.")
    for name in validations:
        require_choice("validation", name, VALIDATIONS)
    for beta in betas:
        if not 0 <= beta < np.inf:
            raise InputError(f"exponents (beta) must be finite and at least 0, got {beta}.")
    if cutoffs[0] < 1 or any(b <= a for a, b in pairwise(cutoffs)):
        raise InputError(f"cut-offs must rise, from 1, got {list(cutoffs)}.")


def require_counts(counts: NDArray[np.integer], ranks: HiddenRanks) -> None:
    """Refuse counts that are not of the items of the ranks."""
    n_items = len(ranks.hidden.items)
    if counts.shape != (n_items,):
        raise InputError(f"counts must be of {n_items} items, got shape {counts.shape}.")
    if counts.min(initial=0) < 0:
        raise InputError(f"counts of items must not be negative, got {counts.min()}.")
