"""Similarities as whole numbers, whose sums do not depend on their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recommenders.shared.scorers import row_of_entry
from runs import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FRACTION_BITS = 24
"""Bits after the point: the step of similarities is 6e-8."""

LARGEST = 2.0 ** (31 - FRACTION_BITS)
"""Similarities must be smaller, to fit four bytes."""


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """A sparse matrix of similarities in steps of 2^-24, without its diagonal.

    Row i, whose entries begin at ``starts[i]``, of shape (n_items + 1,), holds the items for which
    item i votes, and how much: the similarity times 2^24, not 0, both of shape (n_entries,). The
    key of an item is ``(score << bits) + 2^bits - 1 - item``: keys order by falling score, then by
    item number, and no two are equal.
    """

    starts: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    weights: NDArray[np.int32]

    @classmethod
    def of(cls, similarity: csr_array[Any], *, signed: bool) -> FixedPoint:
        """Round similarities to fixed point; the negative become 0 unless ``signed``.

        Raises
        ------
        InputError
            If the matrix is not square, or a similarity is not finite or too large.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> FixedPoint.of(csr_array([[1.0, 0.5], [-0.5, 0.0]]), signed=False).weights.tolist()
        [8388608]
        """
        n_rows, n_columns = similarity.shape
        if n_rows != n_columns:
            raise InputError(
                f"similarities must be a square matrix, got one of {n_rows} by {n_columns}."
            )
        values = np.asarray(similarity.data, dtype=np.float64)
        largest = float(np.abs(values).max(initial=0.0))
        if not largest < LARGEST - 1:
            raise InputError(
                f"similarities must be finite and below {LARGEST - 1:g} in size, got {largest:g}; "
                "divide all of them by one number, which changes no rank."
            )
        rows = row_of_entry(similarity)
        weights = np.rint(values * 2.0**FRACTION_BITS).astype(np.int32)
        if not signed:
            weights = np.maximum(weights, 0)
        kept = (weights != 0) & (similarity.indices != rows)
        starts = np.searchsorted(rows[kept], np.arange(n_rows + 1))
        return cls(
            starts.astype(np.int64), similarity.indices[kept].astype(np.int32), weights[kept]
        )

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return len(self.starts) - 1

    @property
    def bits(self) -> int:
        """Bits of a key that hold the item."""
        return max(self.n_items - 1, 1).bit_length()

    def require_room(self, longest_profile: int) -> None:
        """Refuse profiles whose scores may not fit a key of 63 bits, with room for a sign."""
        largest = int(np.abs(self.weights.astype(np.int64)).max(initial=0)) * longest_profile
        if largest.bit_length() + self.bits > 61:
            raise InputError(
                f"the sum of {longest_profile:,} similarities among {self.n_items:,} items does "
                "not fit a key of 63 bits; leave out users with the longest profiles."
            )
