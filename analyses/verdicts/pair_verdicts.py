"""What a measure says of pairs of systems, and whether the truth says so, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

VERDICTS = ("right", "wrong", "unsure", "unfound", "no difference")
"""Every pair is one of these; see `PairVerdicts`."""

RATES = ("power", "type III", "inverted")
"""Shares that sum pairs up; see `PairVerdicts.rates`."""


@dataclass(frozen=True, eq=False)
class PairVerdicts:
    """Marks of pairs, each of shape (..., n_pairs).

    Parameters
    ----------
    significant
        The measured difference is beyond noise.
    sure
        The true difference is beyond noise.
    agree, oppose
        Measured and true difference have the same sign, or opposite ones; neither if one is 0.
    """

    significant: Marks
    sure: Marks
    agree: Marks
    oppose: Marks

    @classmethod
    def of(
        cls, measured: Floats, p: Floats, true: Floats, true_p: Floats, *, alpha: float
    ) -> PairVerdicts:
        """Compare differences between systems, and their p-values; arrays broadcast.

        Examples
        --------
        Three pairs: found, found the wrong way round, and missed.

        >>> found = PairVerdicts.of(np.array([0.2, -0.1, 0.1]), np.array([0.01, 0.02, 0.4]),
        ...                         np.array([0.3, 0.2, 0.1]), np.full(3, 0.001), alpha=0.05)
        >>> found.right, found.wrong, found.inverted
        (array([ True, False, False]), array([False,  True, False]), array([False,  True, False]))
        """
        agreement = np.sign(measured) * np.sign(true)
        significant, sure = np.broadcast_arrays(p <= alpha, true_p <= alpha)
        return cls(significant, sure, agreement > 0, agreement < 0)

    @property
    def right(self) -> Marks:
        """A true difference that is found."""
        return self.significant & self.sure & self.agree

    @property
    def wrong(self) -> Marks:
        """A significant difference, and a true one the other way round: an error of type III."""
        return self.significant & self.sure & self.oppose

    @property
    def unsure(self) -> Marks:
        """A significant difference of which the truth is not sure."""
        return self.significant & ~(self.right | self.wrong)

    @property
    def unfound(self) -> Marks:
        """A true difference that is not significant."""
        return self.sure & ~self.significant

    @property
    def inverted(self) -> Marks:
        """A true difference whose measured one has the other sign, be it significant or not."""
        return self.sure & self.oppose

    def shares(self) -> Floats:
        """Give the shares of pairs by verdict, (..., n_verdicts): they add up to 1."""
        marks = [self.right, self.wrong, self.unsure, self.unfound]
        marks.append(~(self.significant | self.sure))
        return np.stack([mark.mean(axis=-1) for mark in marks], axis=-1)

    def rates(self, weights: Floats | None = None) -> Floats:
        """Give right and inverted ones of the true differences, wrong ones of the significant.

        Weights of pairs, (n_subsets, n_pairs), count each so often.

        Returns
        -------
        Power, type III and inverted, of shape (n_rates, ...), or (n_subsets, n_rates, ...).
        """
        shares = [
            ratio_of(some, among, weights)
            for some, among in (
                (self.right, self.sure),
                (self.wrong, self.significant),
                (self.inverted, self.sure),
            )
        ]
        return np.stack(shares, axis=0 if weights is None else 1)


def ratio_of(some: Marks, among: Marks, weights: Floats | None = None) -> Floats:
    """Divide the number of pairs by that of others, along the last axis; NaN where there are none.

    Weights of pairs, (n_subsets, n_pairs), count each so often: the result is of shape (n_subsets,
    ...).

    Examples
    --------
    >>> ratio_of(np.array([True, False, False]), np.array([True, True, False]))
    array(0.5)
    """
    if weights is None:
        counted, others = some.sum(axis=-1), among.sum(axis=-1)
    else:
        counted, others = (
            np.moveaxis(marks @ weights.T, -1, 0) for marks in (some.astype(float), among)
        )
    return np.divide(counted, others, out=np.full(others.shape, np.nan), where=others > 0)
