"""The coefficients, compiled: each compares rows of scores; in one file, imported when needed.

Every loop first brings the scores to a grid of 1e-12, so that equal systems tie, and answers NaN to
NaN. Loops over pairs of systems need no sorting, and no memory beyond a few rows.

Plain functions, and no ufuncs: numba keeps those of two processes that compile at once in parts
that do not fit each other, and calls nothing where a part is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from analyses.ordering.decimals import DECIMALS

Row = NDArray[np.float64]

jit = numba.njit(nogil=True, cache=True)


def over_rows(loop: Callable[..., Row], estimates: Row, reference: Row, *more: float) -> Row:
    """Compare whole arrays of rows, whose other axes broadcast."""
    some = np.broadcast_arrays(estimates, reference)
    found = loop(*(_flat(each, 2) for each in some), *more)
    return np.asarray(found.reshape(some[0].shape[:-1]))[()]


def over_samples(loop: Callable[..., Row], estimates: Row, reference: Row) -> Row:
    """Compare estimates (..., n_samples, n_systems) with a reference (..., n_systems) of each."""
    shape = np.broadcast_shapes(estimates.shape[:-2], reference.shape[:-1])
    samples = np.broadcast_to(estimates, (*shape, *estimates.shape[-2:]))
    known = np.broadcast_to(reference, (*shape, reference.shape[-1]))
    return loop(_flat(samples, 3), _flat(known, 2)).reshape(samples.shape[:-1])


def _flat(values: Row, n_axes: int) -> Row:
    """Join the first axes, so that so many are left."""
    shape = values.shape[values.ndim - n_axes + 1 :]
    flat = values.reshape(math.prod(values.shape[: values.ndim - n_axes + 1]), *shape)
    return np.ascontiguousarray(flat, dtype=np.float64)


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


@jit
def tau_b(estimates: Row, references: Row) -> Row:
    """Compare many orderings with one, whose pairs are looked at once."""
    values, row = np.full(estimates.shape[:2], np.nan), np.empty(references.shape[1])
    for n in range(len(references)):
        is_complete = _round(references[n], row)
        signs = _pair_signs(row)
        n_untied = np.count_nonzero(signs)
        for sample in range(estimates.shape[1]):
            is_defined = _round(estimates[n, sample], row) and is_complete
            agreement, n_untied_here = _agree(row, signs)
            untied = n_untied * n_untied_here if is_defined else 0
            if untied > 0:
                values[n, sample] = agreement / math.sqrt(untied)
    return values


@jit
def tau_a(estimates: Row, references: Row) -> Row:
    """Compare many orderings with one, whose pairs are looked at once."""
    values, row = np.full(estimates.shape[:2], np.nan), np.empty(references.shape[1])
    for n in range(len(references)):
        is_complete = _round(references[n], row)
        signs = _pair_signs(row)
        for sample in range(estimates.shape[1]):
            if _round(estimates[n, sample], row) and is_complete and len(signs) > 0:
                values[n, sample] = _agree(row, signs)[0] / len(signs)
    return values


@jit
def tau_ap(estimates: Row, references: Row) -> Row:
    """Refuse ties."""
    values = np.full(len(estimates), np.nan)
    for n in range(len(values)):
        row, wanted, is_defined = _rounded(estimates[n], references[n])
        if is_defined and not _has_ties(row) and not _has_ties(wanted):
            values[n] = _half_tau_ap(row, wanted)
    return values


@jit
def tau_ap_b(estimates: Row, references: Row) -> Row:
    """Walk down both orderings."""
    values = np.full(len(estimates), np.nan)
    for n in range(len(values)):
        row, wanted, is_defined = _rounded(estimates[n], references[n])
        if is_defined:
            values[n] = (_half_tau_ap(row, wanted) + _half_tau_ap(wanted, row)) / 2
    return values


@jit
def tau_ap_a(estimates: Row, references: Row) -> Row:
    """Average over all ways to break the ties of the estimate."""
    values = np.full(len(estimates), np.nan)
    for n in range(len(values)):
        row, wanted, is_defined = _rounded(estimates[n], references[n])
        if not is_defined or _has_ties(wanted):
            continue
        excess = 0.0
        for i in range(len(row)):
            n_above, n_right, n_tied = _look_above(row, wanted, i)
            for n_before in range(n_tied):
                if n_above + n_before > 0:
                    excess += (2 * n_right - n_above) / (n_above + n_before) / n_tied
        values[n] = excess / (len(row) - 1)
    return values


@jit
def spearman(estimates: Row, references: Row) -> Row:
    """Correlate average ranks, doubled and centred to stay whole numbers."""
    values = np.full(len(estimates), np.nan)
    for n in range(len(values)):
        row, wanted, is_defined = _rounded(estimates[n], references[n])
        first, second = _centred_ranks(row), _centred_ranks(wanted)
        spread = (first * first).sum() * (second * second).sum()
        if is_defined and spread > 0:
            values[n] = (first * second).sum() / math.sqrt(spread)
    return values


@jit
def weighted_tau(estimates: Row, references: Row) -> Row:
    """Average the taus weighted by the order of either."""
    values = np.full(len(estimates), np.nan)
    for n in range(len(values)):
        row, wanted, is_defined = _rounded(estimates[n], references[n])
        if is_defined:
            values[n] = (_half_weighted_tau(row, wanted) + _half_weighted_tau(wanted, row)) / 2
    return values


@jit
def rbo(estimates: Row, references: Row, persistence: float, is_cosine: bool) -> Row:
    """Average over all ways to break ties, or let a tied ordering agree fully with itself."""
    values = np.full(len(estimates), np.nan)
    for n in range(len(values)):
        row, wanted, is_defined = _rounded(estimates[n], references[n])
        if is_defined:
            values[n] = _rbo(row, wanted, persistence, is_cosine)
    return values
