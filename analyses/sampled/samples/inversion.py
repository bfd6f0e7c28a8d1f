"""Binomial and hypergeometric numbers from uniform ones, by the inverse of their distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from runs.shared.groups import Integers


def negatives_above(
    uniforms: NDArray[np.float64],
    *,
    negatives: Integers,
    above: Integers,
    others: Integers,
    replace: bool,
) -> Integers:
    r"""Turn uniform numbers into numbers of sampled negatives above.

    This is the smallest x with :math:`F(x) > u`, F the distribution function of
    :math:`\mathrm{Bin}(m, a / N)` or :math:`\mathrm{Hyp}(N, a, m)`, to about 1e-11. Equal
    uniforms therefore give the same number in every version of every library, and a larger one
    for an item that is ranked lower. All arrays, uniforms from [0, 1), the negatives drawn m, and
    irrelevant candidates above, a, and in all, N, are of shape (n,), as the negatives above are.

    Examples
    --------
    Two draws, half of the candidates above: 0, 1 and 2 have chances 1/4, 1/2 and 1/4.

    >>> two = np.full(4, 2)
    >>> uniforms = np.array([0.2, 0.3, 0.7, 0.8])
    >>> negatives_above(uniforms, negatives=two, above=two, others=2 * two, replace=True)
    array([0, 1, 1, 2])
    """
    from analyses.sampled.samples.inversion_loop import invert

    return invert(uniforms, negatives, above, others, replace)
