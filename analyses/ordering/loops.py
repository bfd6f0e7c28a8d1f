"""The coefficients, compiled: each compares rows of scores; in one file, imported when needed.

Scores are first brought to a grid of 1e-12, so that equal systems tie; loops answer NaN to NaN.
Loops over pairs of systems need no sorting, and no memory beyond a few rows.

Plain functions, and no ufuncs: numba keeps those of two processes that compile at once in parts
that do not fit each other, and calls nothing where a part is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from analyses.ordering.agreement import DECIMALS
from runs.shared.arrays import Floats
from runs.shared.compiled import jit

Row = Floats


def over_rows(loop: Callable[..., Row], estimates: Row, reference: Row, *more: float) -> Row:
    """Compare whole arrays of rows, whose other axes broadcast."""
    some = np.broadcast_arrays(estimates, reference)
    found = loop(*(_rounded(each, 2) for each in some), *more)
    return np.asarray(found.reshape(some[0].shape[:-1]))[()]


def over_samples(loop: Callable[..., Row], estimates: Row, reference: Row) -> Row:
    """Compare estimates (..., n_samples, n_systems) with a reference (..., n_systems) of each."""
    shape = np.broadcast_shapes(estimates.shape[:-2], reference.shape[:-1])
    samples = np.broadcast_to(estimates, (*shape, *estimates.shape[-2:]))
    known = np.broadcast_to(reference, (*shape, reference.shape[-1]))
    return loop(_rounded(samples, 3), _rounded(known, 2)).reshape(samples.shape[:-1])


def _rounded(values: Row, n_axes: int) -> Row:
    """Join the first axes, so that so many are left; give scores as multiples of the grid."""
    shape = values.shape[values.ndim - n_axes + 1 :]
    flat = values.reshape(math.prod(values.shape[: values.ndim - n_axes + 1]), *shape)
    return np.rint(np.ascontiguousarray(flat, dtype=np.float64) * 10.0**DECIMALS)


@jit()
def _are_numbers(row: Row) -> bool:
    n_numbers = 0
    for system in range(len(row)):
        n_numbers += row[system] == row[system]
    return n_numbers == len(row)


@jit()
def _are_comparable(estimate: Row, reference: Row) -> bool:
    """Tell whether there are two systems at least, and all scores are numbers."""
    return _are_numbers(estimate) & _are_numbers(reference) and len(estimate) > 1


@jit()
def _pair_signs(row: Row) -> NDArray[np.int64]:
    """Tell of every pair i < j whether j is better (1), worse (-1) or equal (0)."""
    signs = np.empty(len(row) * (len(row) - 1) // 2, dtype=np.int64)
    place = 0
    for i in range(len(row)):
        for j in range(i + 1, len(row)):
            signs[place] = np.sign(row[j] - row[i])
            place += 1
    return signs


@jit()
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


@jit()
def _places(row: Row) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count, for every system, who is above it, and who is tied with it, itself among them."""
    above, tied = np.zeros((2, len(row)), dtype=np.int64)
    for i in range(len(row)):
        for j in range(len(row)):
            above[i] += row[j] > row[i]
            tied[i] += row[j] == row[i]
    return above, tied


@jit()
def _has_ties(row: Row) -> bool:
    return _places(row)[1].sum() > len(row)


@jit()
def _rbo(row: Row, wanted: Row, persistence: float) -> float:
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
        agreement = overlap / math.sqrt(own * own_wanted)
        total += weight * agreement
        weight *= persistence
    return total + persistence ** len(row) * agreement


@jit()
def tau_b(estimates: Row, references: Row) -> Row:
    """Compare many orderings with one, whose pairs are looked at once."""
    values = np.full(estimates.shape[:2], np.nan)
    for n in range(len(references)):
        is_complete = _are_numbers(references[n])
        signs = _pair_signs(references[n])
        n_untied = np.count_nonzero(signs)
        for sample in range(estimates.shape[1]):
            row = estimates[n, sample]
            is_defined = is_complete and _are_numbers(row)
            agreement, n_untied_here = _agree(row, signs)
            untied = n_untied * n_untied_here if is_defined else 0
            if untied > 0:
                values[n, sample] = agreement / math.sqrt(untied)
    return values


@jit()
def tau_ap(estimates: Row, references: Row) -> Row:
    """Refuse ties."""
    values = tau_ap_a(estimates, references)
    for n in range(len(values)):
        if _has_ties(estimates[n]):
            values[n] = np.nan
    return values


@jit()
def tau_ap_a(estimates: Row, references: Row) -> Row:
    """Average over all ways to break the ties of the estimate."""
    values = np.full(len(estimates), np.nan)
    for n in range(len(values)):
        row, wanted = estimates[n], references[n]
        if not _are_comparable(row, wanted) or _has_ties(wanted):
            continue
        excess, (above, tied) = 0.0, _places(row)
        for i in range(len(row)):
            n_right = ((row > row[i]) & (wanted > wanted[i])).sum()
            for n_better in range(above[i], above[i] + tied[i]):
                if n_better > 0:
                    excess += (2 * n_right - above[i]) / n_better / tied[i]
        values[n] = excess / (len(row) - 1)
    return values


@jit()
def rbo(estimates: Row, references: Row, persistence: float) -> Row:
    """Let a tied ordering agree fully with itself."""
    values = np.full(len(estimates), np.nan)
    for n in range(len(values)):
        row, wanted = estimates[n], references[n]
        if _are_comparable(row, wanted):
            values[n] = _rbo(row, wanted, persistence)
    return values


@jit(error_model="numpy")
def sample_taus(estimates: Floats, references: Floats, scale: float) -> Floats:
    """Compare the ordering of the systems in every sample with that of the reference by tau-b.

    The loops run over the samples, and vectorise: most pairs of systems have one order in all
    samples of a replicate, and need no loop. Tests hold it equal to `tau_b`.

    Estimates are scores of shape (n_replicates, n_systems, n_samples), references of (n_replicates,
    n_systems). Scores that are the same whole number when multiplied by the scale are tied.

    The result: tau-b, of shape (n_replicates, n_samples); NaN where all systems tie.
    """
    n_replicates, n_systems, n_samples = estimates.shape
    taus = np.empty((n_replicates, n_samples))
    rounded = np.empty((n_systems, n_samples))
    lowest, highest = np.empty(n_systems), np.empty(n_systems)
    agreement = np.empty(n_samples)
    untied = np.empty(n_samples)
    for replicate in range(n_replicates):
        reference = np.rint(references[replicate] * scale)
        for i in range(n_systems):
            low, high = np.inf, -np.inf
            for w in range(n_samples):
                value = np.rint(estimates[replicate, i, w] * scale)
                rounded[i, w] = value
                low, high = min(low, value), max(high, value)
            lowest[i], highest[i] = low, high
        agreement[:] = 0.0
        untied[:] = 0.0
        n_untied, agreement_of_all, untied_in_all = 0, 0.0, 0
        for i in range(n_systems):
            for j in range(i + 1, n_systems):
                sign = np.sign(reference[i] - reference[j])
                n_untied += sign != 0.0
                if lowest[i] > highest[j] or highest[i] < lowest[j]:
                    agreement_of_all += sign if lowest[i] > highest[j] else -sign
                    untied_in_all += 1
                    continue
                for w in range(n_samples):
                    above = 1.0 if rounded[i, w] > rounded[j, w] else 0.0
                    below = 1.0 if rounded[i, w] < rounded[j, w] else 0.0
                    agreement[w] += sign * (above - below)
                    untied[w] += above + below
        for w in range(n_samples):
            n_both = (untied[w] + untied_in_all) * n_untied
            taus[replicate, w] = (agreement[w] + agreement_of_all) / np.sqrt(n_both)
    return taus
