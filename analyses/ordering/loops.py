"""The coefficients, compiled: each compares two rows of scores, and broadcasts over rows.

Every loop first brings the scores to a grid of 1e-12, so that equal systems tie, and answers NaN to
NaN. Loops over pairs of systems need no sorting, and no memory beyond a few rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from analyses.ordering.decimals import DECIMALS

Row = NDArray[np.float64]

jit = numba.njit(nogil=True, cache=True)


def _broadcast(layout: str, types: str) -> Callable[[Callable[..., None]], Callable[..., Row]]:
    """Compile for whole arrays of rows: s is systems, w is samples; the last type is the result."""
    guvectorize: Any = numba.guvectorize

    def compiled(kernel: Callable[..., None]) -> Callable[..., Row]:
        loop = guvectorize([types], layout, nopython=True, cache=True)(kernel)

        @wraps(kernel)
        def over_arrays(*rows: Row | float) -> Row:
            # NaN is an answer here, and no reason for numpy to warn.
            with np.errstate(invalid="ignore", divide="ignore"):
                return loop(*rows)

        return over_arrays

    return compiled


pair = _broadcast("(s),(s)->()", "(f8[:],f8[:],f8[:])")
pair_with_persistence = _broadcast("(s),(s),()->()", "(f8[:],f8[:],f8,f8[:])")
samples = _broadcast("(w,s),(s)->(w)", "(f8[:,:],f8[:],f8[:])")


@jit
def _round(scores: Row, rounded: Row) -> bool:
    """Write the scores as multiples of the grid; tell whether all are numbers."""
    n_numbers = 0
    for system in range(len(scores)):
        rounded[system] = np.rint(scores[system] * 10.0**DECIMALS)
        n_numbers += rounded[system] == rounded[system]
    return n_numbers == len(scores)


@jit
def _rounded(estimate: Row, reference: Row) -> tuple[Row, Row, bool]:
    """Round both rows; tell whether there are two systems at least, and all scores are numbers."""
    first, second = np.empty(len(estimate)), np.empty(len(reference))
    are_numbers = _round(estimate, first) & _round(reference, second)
    return first, second, are_numbers and len(estimate) > 1


@jit
def _has_ties(row: Row) -> bool:
    n_equal = 0
    for i in range(len(row)):
        for j in range(len(row)):
            n_equal += row[j] == row[i]
    return n_equal > len(row)


@jit
def _pair_signs(row: Row) -> NDArray[np.int64]:
    """Tell of every pair i < j whether j is better (1), worse (-1) or equal (0)."""
    signs = np.empty(len(row) * (len(row) - 1) // 2, dtype=np.int64)
    place = 0
    for i in range(len(row)):
        for j in range(i + 1, len(row)):
            signs[place] = np.sign(row[j] - row[i])
            place += 1
    return signs


@jit
def _agree(row: Row, signs: NDArray[np.int64]) -> tuple[int, int]:
    """Add up the agreement with known signs, and count the pairs that are not tied."""
    agreement, n_untied, first = 0, 0, 0
    for i in range(len(row)):
        mine = row[i]
        for j in range(i + 1, len(row)):
            sign = (row[j] > mine) - (row[j] < mine)
            agreement += sign * signs[first + j - i - 1]
            n_untied += sign * sign
        first += len(row) - i - 1
    return agreement, n_untied


@jit
def _look_above(row: Row, wanted: Row, i: int) -> tuple[int, int, int]:
    """Count who is above system i, who of them belongs there, and who is tied with it."""
    n_above, n_right, n_tied = 0, 0, 0
    for j in range(len(row)):
        is_above = row[j] > row[i]
        n_above += is_above
        n_right += is_above & (wanted[j] > wanted[i])
        n_tied += row[j] == row[i]
    return n_above, n_right, n_tied


@jit
def _half_tau_ap(row: Row, wanted: Row) -> float:
    """Average the share of those above a system that belong there; NaN if none has one above."""
    shares, n_below = 0.0, 0
    for i in range(len(row)):
        n_above, n_right, _ = _look_above(row, wanted, i)
        if n_above > 0:
            shares += n_right / n_above
            n_below += 1
    return 2 * shares / n_below - 1 if n_below > 0 else np.nan


@jit
def _centred_ranks(row: Row) -> Row:
    """Count those below minus those above: twice the average rank, less its mean."""
    ranks = np.empty(len(row))
    for i in range(len(row)):
        balance = 0
        for j in range(len(row)):
            balance += (row[j] < row[i]) - (row[j] > row[i])
        ranks[i] = balance
    return ranks


@jit
def _hyperbolic_weights(row: Row, other: Row) -> Row:
    """Give 1 / rank; which of two fully tied systems comes first makes no difference."""
    weights = np.empty(len(row))
    for i in range(len(row)):
        rank = 1
        for j in range(len(row)):
            is_level = row[j] == row[i]
            is_tied = is_level & (other[j] == other[i])
            rank += (row[j] > row[i]) | (is_level & (other[j] > other[i])) | (is_tied & (j < i))
        weights[i] = 1.0 / rank
    return weights


@jit
def _half_weighted_tau(row: Row, other: Row) -> float:
    """Weigh pairs by the order of the first row, whose ties the second breaks."""
    weights = _hyperbolic_weights(row, other)
    agreement, untied, untied_other = 0.0, 0.0, 0.0
    for i in range(len(row)):
        for j in range(i):
            weight = weights[i] + weights[j]
            sign, sign_other = np.sign(row[i] - row[j]), np.sign(other[i] - other[j])
            agreement += weight * sign * sign_other
            untied += weight * abs(sign)
            untied_other += weight * abs(sign_other)
    untied *= untied_other
    return agreement / math.sqrt(untied) if untied > 0 else np.nan


@jit
def _places(row: Row) -> tuple[Row, Row]:
    """Count, for every system, who is above it, and who is tied with it."""
    above, tied = np.empty(len(row)), np.empty(len(row))
    for i in range(len(row)):
        n_above, n_tied = 0, 0
        for j in range(len(row)):
            n_above += row[j] > row[i]
            n_tied += row[j] == row[i]
        above[i], tied[i] = n_above, n_tied
    return above, tied


@jit
def _rbo(row: Row, wanted: Row, persistence: float, is_cosine: bool) -> float:
    """Weigh the overlap at every depth; below the last it stays what it is."""
    above, tied = _places(row)
    above_wanted, tied_wanted = _places(wanted)
    total, weight, agreement = 0.0, 1.0 - persistence, 0.0
    for depth in range(1, len(row) + 1):
        overlap, own, own_wanted = 0.0, 0.0, 0.0
        for i in range(len(row)):
            within = min(max((depth - above[i]) / tied[i], 0.0), 1.0)
            within_wanted = min(max((depth - above_wanted[i]) / tied_wanted[i], 0.0), 1.0)
            overlap += within * within_wanted
            own += within * within
            own_wanted += within_wanted * within_wanted
        agreement = overlap / (math.sqrt(own * own_wanted) if is_cosine else depth)
        total += weight * agreement
        weight *= persistence
    return total + persistence ** len(row) * agreement


@samples
def tau_b(estimates: Row, reference: Row, values: Row) -> None:
    """Compare many orderings with one, whose pairs are looked at once."""
    row = np.empty(len(reference))
    is_complete = _round(reference, row)
    signs = _pair_signs(row)
    n_untied = np.count_nonzero(signs)
    for sample in range(len(estimates)):
        is_defined = _round(estimates[sample], row) and is_complete
        agreement, n_untied_here = _agree(row, signs)
        untied = n_untied * n_untied_here if is_defined else 0
        values[sample] = agreement / math.sqrt(untied) if untied > 0 else np.nan


@samples
def tau_a(estimates: Row, reference: Row, values: Row) -> None:
    """Compare many orderings with one, whose pairs are looked at once."""
    row = np.empty(len(reference))
    is_complete = _round(reference, row)
    signs = _pair_signs(row)
    for sample in range(len(estimates)):
        is_defined = _round(estimates[sample], row) and is_complete and len(signs) > 0
        values[sample] = _agree(row, signs)[0] / len(signs) if is_defined else np.nan


@pair
def tau_ap(estimate: Row, reference: Row, value: Row) -> None:
    """Refuse ties."""
    row, wanted, is_defined = _rounded(estimate, reference)
    is_defined = is_defined and not _has_ties(row) and not _has_ties(wanted)
    value[0] = _half_tau_ap(row, wanted) if is_defined else np.nan


@pair
def tau_ap_b(estimate: Row, reference: Row, value: Row) -> None:
    """Walk down both orderings."""
    row, wanted, is_defined = _rounded(estimate, reference)
    both = (_half_tau_ap(row, wanted) + _half_tau_ap(wanted, row)) / 2
    value[0] = both if is_defined else np.nan


@pair
def tau_ap_a(estimate: Row, reference: Row, value: Row) -> None:
    """Average over all ways to break the ties of the estimate."""
    row, wanted, is_defined = _rounded(estimate, reference)
    is_defined = is_defined and not _has_ties(wanted)
    shares = 0.0
    for i in range(len(row)):
        n_above, n_right, n_tied = _look_above(row, wanted, i)
        for n_before in range(n_tied):
            if n_above + n_before > 0:
                shares += (n_right + n_before / 2) / (n_above + n_before) / n_tied
    value[0] = 2 * shares / (len(row) - 1) - 1 if is_defined else np.nan


@pair
def spearman(estimate: Row, reference: Row, value: Row) -> None:
    """Correlate average ranks, doubled and centred to stay whole numbers."""
    row, wanted, is_defined = _rounded(estimate, reference)
    first, second = _centred_ranks(row), _centred_ranks(wanted)
    spread = (first * first).sum() * (second * second).sum()
    is_defined = is_defined and spread > 0
    value[0] = (first * second).sum() / math.sqrt(spread) if is_defined else np.nan


@pair
def weighted_tau(estimate: Row, reference: Row, value: Row) -> None:
    """Average the taus weighted by the order of either."""
    row, wanted, is_defined = _rounded(estimate, reference)
    both = (_half_weighted_tau(row, wanted) + _half_weighted_tau(wanted, row)) / 2
    value[0] = both if is_defined else np.nan


@pair_with_persistence
def rbo_a(estimate: Row, reference: Row, persistence: float, value: Row) -> None:
    """Average over all ways to break ties."""
    row, wanted, is_defined = _rounded(estimate, reference)
    value[0] = _rbo(row, wanted, persistence, is_cosine=False) if is_defined else np.nan


@pair_with_persistence
def rbo_b(estimate: Row, reference: Row, persistence: float, value: Row) -> None:
    """Let a tied ordering agree fully with itself."""
    row, wanted, is_defined = _rounded(estimate, reference)
    value[0] = _rbo(row, wanted, persistence, is_cosine=True) if is_defined else np.nan
