"""Listed ranks: which ranks lists hold where those without anything judged are left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runs.shared.arrays import Longs, Numbers


@dataclass(frozen=True, eq=False)
class ListedRanks:
    """The ranks that the columns of lists stand for, where ranks without judgements are left out.

    ``listed``: ranks, rising, of shape (n_ranks, n_lists); the ends of shorter lists are filled
    with ranks that are greater than ``depth``; ``depth``: deepest rank of the lists.
    """

    listed: Longs
    depth: int

    def ranks(self, n_rows: int) -> Longs:
        """Repeat the ranks of each list for all samples of the judgements, (n_rows, n_ranks).

        ``n_rows`` is the number of lists times that of samples.
        """
        repeated = np.repeat(self.listed, self._n_samples(n_rows), axis=1)
        return repeated.T

    def last_columns(self, cutoff: int, *, n_rows: int) -> Numbers:
        """Find the index of the last column of rank up to a cut-off; -1 where there is none.

        ``self.listed`` holds the ranks of columns, of shape (n_ranks, n_lists). ``n_rows`` is the
        number of lists times that of samples of the judgements. The result is of shape (n_rows,):
        that of the first list for all samples, then that of the second, and so on.
        """
        n_columns = np.count_nonzero(self.listed <= cutoff, axis=0)
        columns = n_columns - 1
        return np.repeat(columns, self._n_samples(n_rows))

    def _n_samples(self, n_rows: int) -> int:
        n_lists = self.listed.shape[1]
        return n_rows // max(n_lists, 1)
