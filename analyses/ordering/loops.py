"""The coefficients, compiled: each compares rows of scores; in one file, imported when needed.

Scores are first brought to a grid of 1e-12, so that equal systems tie; loops return NaN where a
score is NaN. Loops over pairs of systems need no sorting, and no memory beyond a few rows.

Plain functions, and no ufuncs: numba keeps those of two processes that compile at once in parts
that do not fit each other, and calls nothing where a part is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from analyses.ordering.agreement import DECIMALS
from runs.shared.arrays import Floats
from runs.shared.compiled import jit

Row: TypeAlias = Floats
"""Scores of the systems, of shape (n_systems,): multiples of the grid."""

Rows: TypeAlias = Floats
"""Rows of scores, of shape (n_rows, n_systems)."""


def over_rows(
    loop: Callable[..., Floats], estimates: Floats, reference: Floats, *options: float
) -> Floats:
    """Compare arrays of scores, (..., n_systems), by a loop over rows; other axes broadcast.

    The loop takes two arrays of shape (n_rows, n_systems), of scores as whole numbers of 1e-12, and
    the options, and returns (n_rows,). The result has the shape (...); it is a number if there are
    no other axes.
    """
    broadcast_estimates, broadcast_reference = np.broadcast_arrays(estimates, reference)
    estimate_rows = _on_grid(broadcast_estimates, n_axes=2)
    reference_rows = _on_grid(broadcast_reference, n_axes=2)
    values = loop(estimate_rows, reference_rows, *options)
    shaped_values = np.asarray(values.reshape(broadcast_estimates.shape[:-1]))
    # An array without axes becomes a number.
    return shaped_values[()]


def over_samples(loop: Callable[..., Floats], estimates: Floats, references: Floats) -> Floats:
    """Compare samples of estimates with a reference each, by a loop over both.

    Estimates have the shape (..., n_samples, n_systems), references (..., n_systems); other axes
    broadcast. The loop takes arrays of shape (n, n_samples, n_systems) and (n, n_systems), of
    scores as whole numbers of 1e-12, and returns (n, n_samples). The result has the shape (...,
    n_samples).
    """
    *_, n_samples, n_systems = estimates.shape
    shape = np.broadcast_shapes(estimates.shape[:-2], references.shape[:-1])
    broadcast_estimates = np.broadcast_to(estimates, (*shape, n_samples, n_systems))
    broadcast_references = np.broadcast_to(references, (*shape, references.shape[-1]))
    samples = _on_grid(broadcast_estimates, n_axes=3)
    reference_rows = _on_grid(broadcast_references, n_axes=2)
    return loop(samples, reference_rows).reshape(*shape, n_samples)


def _on_grid(scores: Floats, *, n_axes: int) -> Floats:
    """Join the first axes, so that ``n_axes`` are left, and round scores to whole grid units.

    A unit is 10^-12: the result has scores as whole numbers of units.
    """
    n_joined = scores.ndim - n_axes + 1
    n_rows = math.prod(scores.shape[:n_joined])
    joined = scores.reshape(n_rows, *scores.shape[n_joined:])
    contiguous = np.ascontiguousarray(joined, dtype=np.float64)
    return np.rint(contiguous * 10.0**DECIMALS)


@jit()
def _are_numbers(row: Row) -> bool:
    """Tell whether no score of a row, of shape (n_systems,), is NaN."""
    n_undefined = 0
    for score in row:
        n_undefined += np.isnan(score)
    return n_undefined == 0


@jit()
def _are_comparable(estimate: Row, reference: Row) -> bool:
    """Tell whether there are two systems at least, and all scores are numbers."""
    return len(estimate) > 1 and _are_numbers(estimate) and _are_numbers(reference)


@jit()
def _pair_signs(row: Row) -> NDArray[np.int64]:
    """Compare every pair of systems i < j: 1 if j is better, -1 if it is worse, 0 if they tie.

    ``row`` has scores of shape (n,), of which higher ones are better. Pairs are in the order
    (0, 1), (0, 2), ..., (1, 2), ...: the result has n (n - 1) / 2 signs.
    """
    n_pairs = len(row) * (len(row) - 1) // 2
    signs = np.empty(n_pairs, dtype=np.int64)
    pair = 0
    for i in range(len(row)):
        for j in range(i + 1, len(row)):
            signs[pair] = np.sign(row[j] - row[i])
            pair += 1
    return signs


@jit()
def _agreement(row: Row, signs: NDArray[np.int64]) -> tuple[int, int]:
    """Compare the pairs i < j of a row with the signs of a reference.

    ``row`` has scores of shape (n,). ``signs``, of n (n - 1) / 2 pairs in the order (0, 1), (0, 2),
    ..., (1, 2), ..., are 1 if j is better, -1 if it is worse, 0 if they tie. The results are the
    number of pairs in the same order less those in the opposite one, and the number of pairs that
    are not tied in the row.
    """
    agreement = 0
    n_untied = 0
    # Position of the pair (i, i + 1).
    first_pair = 0
    for i in range(len(row)):
        score = row[i]
        for j in range(i + 1, len(row)):
            sign = (row[j] > score) - (row[j] < score)
            agreement += sign * signs[first_pair + j - i - 1]
            n_untied += sign * sign
        first_pair += len(row) - i - 1
    return agreement, n_untied


@jit()
def _n_above_and_tied(row: Row) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count, for every system, who is above it, and who is tied with it, itself among them.

    ``row`` has scores of shape (n_systems,), as have both results.
    """
    n_above = np.zeros(len(row), dtype=np.int64)
    n_tied = np.zeros(len(row), dtype=np.int64)
    for i in range(len(row)):
        for j in range(len(row)):
            n_above[i] += row[j] > row[i]
            n_tied[i] += row[j] == row[i]
    return n_above, n_tied


@jit()
def _has_ties(row: Row) -> bool:
    """Tell whether two systems tie."""
    _, n_tied = _n_above_and_tied(row)
    return n_tied.sum() > len(row)


@jit()
def _share_in_top(depth: int, n_above: int, n_tied: int) -> float:
    """Compute the share with which a system is among the top ones, down to a depth.

    It is (depth - n_above) / n_tied, cut to [0, 1], where ``n_above`` systems are above it and
    ``n_tied``, itself among them, tie.
    """
    return min(max((depth - n_above) / n_tied, 0.0), 1.0)


@jit()
def _rbo(estimate: Row, reference: Row, persistence: float) -> float:
    r"""Compute rank-biased overlap: the weighted mean of the agreement of the tops at all depths.

    .. math:: \mathrm{RBO} = \sum_{d=1}^{n} (1 - p) p^{d-1} A_d + p^n A_n, \quad
              A_d = \sum c c' / \sqrt{\sum c^2 \sum c'^2}

    with the persistence p, and c the share with which a system is among the top d of a row. The
    agreement at the last depth counts for all deeper ones. Both rows have scores of the same
    systems, two at least, and no NaN.
    """
    n_above, n_tied = _n_above_and_tied(estimate)
    n_above_in_reference, n_tied_in_reference = _n_above_and_tied(reference)
    total = 0.0
    weight = 1.0 - persistence
    agreement = 0.0
    for depth in range(1, len(estimate) + 1):
        overlap = 0.0
        estimate_squares = 0.0
        reference_squares = 0.0
        for i in range(len(estimate)):
            share = _share_in_top(depth, n_above[i], n_tied[i])
            reference_share = _share_in_top(depth, n_above_in_reference[i], n_tied_in_reference[i])
            overlap += share * reference_share
            estimate_squares += share * share
            reference_squares += reference_share * reference_share
        agreement = overlap / math.sqrt(estimate_squares * reference_squares)
        total += weight * agreement
        weight *= persistence
    return total + persistence ** len(estimate) * agreement


@jit()
def tau_b(estimates: Floats, references: Rows) -> Floats:
    """Compute Kendall's tau-b of samples with their reference, whose pairs are compared once.

    Estimates have the shape (n, n_samples, n_systems), references (n, n_systems), and the result
    (n, n_samples): NaN where all systems of a row tie, or a score is NaN.
    """
    values = np.full(estimates.shape[:2], np.nan)
    for n in range(len(references)):
        is_reference_defined = _are_numbers(references[n])
        signs = _pair_signs(references[n])
        n_untied_in_reference = np.count_nonzero(signs)
        for sample in range(estimates.shape[1]):
            row = estimates[n, sample]
            agreement, n_untied = _agreement(row, signs)
            squared_norm = n_untied_in_reference * n_untied
            is_defined = is_reference_defined and _are_numbers(row)
            if is_defined and squared_norm > 0:
                values[n, sample] = agreement / math.sqrt(squared_norm)
    return values


@jit()
def tau_ap(estimates: Rows, references: Rows) -> Floats:
    """Compute tau_AP of rows without ties, (n_rows, n_systems) each: values of shape (n_rows,).

    NaN where a row of either has ties, fewer than two systems, or NaN. Without ties `tau_ap_a` is
    tau_AP.
    """
    values = tau_ap_a(estimates, references)
    for n in range(len(values)):
        if _has_ties(estimates[n]):
            values[n] = np.nan
    return values


@jit()
def tau_ap_a(estimates: Rows, references: Rows) -> Floats:
    """Compute the mean of tau_AP over all ways to break the ties of the estimates.

    Estimates and references have the shape (n_rows, n_systems), the result (n_rows,): NaN where a
    reference has ties, or a row fewer than two systems, or NaN.
    """
    values = np.full(len(estimates), np.nan)
    for n in range(len(values)):
        estimate = estimates[n]
        reference = references[n]
        if not _are_comparable(estimate, reference) or _has_ties(reference):
            continue
        n_above, n_tied = _n_above_and_tied(estimate)
        excess = 0.0
        for i in range(len(estimate)):
            is_above_in_both = (estimate > estimate[i]) & (reference > reference[i])
            n_right = is_above_in_both.sum()
            # Ways to break ties: as many systems above i, each of them as likely.
            for n_better in range(n_above[i], n_above[i] + n_tied[i]):
                if n_better > 0:
                    excess += (2 * n_right - n_above[i]) / n_better / n_tied[i]
        values[n] = excess / (len(estimate) - 1)
    return values


@jit()
def rbo(estimates: Rows, references: Rows, persistence: float) -> Floats:
    """Compute rank-biased overlap of rows, (n_rows, n_systems) each: values of shape (n_rows,).

    NaN where a row has fewer than two systems, or NaN.
    """
    values = np.full(len(estimates), np.nan)
    for n in range(len(values)):
        if _are_comparable(estimates[n], references[n]):
            values[n] = _rbo(estimates[n], references[n], persistence)
    return values


@jit(error_model="numpy")
def _round_samples(
    estimates: Floats, scale: float, rounded: Floats, lowest: Row, highest: Row
) -> None:
    """Multiply scores by a scale and round them; find the lowest and highest of each system.

    ``estimates`` are scores of shape (n_systems, n_samples). The results are written in place into
    ``rounded``, of the same shape, and ``lowest`` and ``highest``, over samples, (n_systems,).
    """
    for system in range(len(estimates)):
        low = np.inf
        high = -np.inf
        for sample in range(estimates.shape[1]):
            score = np.rint(estimates[system, sample] * scale)
            rounded[system, sample] = score
            low = min(low, score)
            high = max(high, score)
        lowest[system] = low
        highest[system] = high


@jit(error_model="numpy", inline="always")
def _add_pair(
    first: Floats, second: Floats, sign: float, agreement: Floats, n_untied: Floats
) -> None:
    """Compare two systems in every sample, and add up agreement with a reference and ties.

    ``first`` and ``second`` are their scores, ``sign`` is 1.0 if the first is better in the
    reference, -1.0 if it is worse, 0.0 if they tie there. ``agreement`` and ``n_untied`` are
    updated; all arrays are of shape (n_samples,). The function is inlined, so that it vectorises.
    """
    for sample in range(len(first)):
        is_above = 1.0 if first[sample] > second[sample] else 0.0
        is_below = 1.0 if first[sample] < second[sample] else 0.0
        agreement[sample] += sign * (is_above - is_below)
        n_untied[sample] += is_above + is_below


@jit(error_model="numpy", inline="always")
def _write_taus(
    agreement: Floats,
    common_agreement: float,
    n_untied: Floats,
    n_common: int,
    n_untied_in_reference: int,
    taus: Floats,
) -> None:
    """Compute tau-b of every sample from agreement and numbers of untied pairs, into ``taus``.

    Agreement is the number of pairs in the order of the reference less those in the opposite one.
    ``agreement``, ``n_untied`` and ``taus`` are of shape (n_samples,). The common agreement and
    number of pairs, of pairs that have one order in all samples, are added to those of each. NaN
    where all pairs tie in the sample or in the reference. The function is inlined, so that it
    vectorises.
    """
    for sample in range(len(taus)):
        squared_norm = (n_untied[sample] + n_common) * n_untied_in_reference
        total = agreement[sample] + common_agreement
        taus[sample] = total / np.sqrt(squared_norm)


@jit(error_model="numpy")
def sample_taus(estimates: Floats, references: Rows, scale: float) -> Floats:
    """Compute tau-b of the ordering of the systems in every sample with that of the reference.

    The loops run over the samples, and vectorise: most pairs of systems have one order in all
    samples of a replicate, and need no loop. Tests hold it equal to `tau_b`.

    Parameters
    ----------
    estimates
        Scores of shape (n_replicates, n_systems, n_samples).
    references
        Scores of shape (n_replicates, n_systems).
    scale
        Scores that are the same whole number when multiplied by the scale, and rounded, are tied.

    Returns
    -------
    Tau-b, of shape (n_replicates, n_samples); NaN where all systems tie.
    """
    n_replicates, n_systems, n_samples = estimates.shape
    taus = np.empty((n_replicates, n_samples))
    rounded = np.empty((n_systems, n_samples))
    lowest = np.empty(n_systems)
    highest = np.empty(n_systems)
    agreement = np.empty(n_samples)
    n_untied = np.empty(n_samples)
    for replicate in range(n_replicates):
        reference = np.rint(references[replicate] * scale)
        _round_samples(estimates[replicate], scale, rounded, lowest, highest)
        agreement[:] = 0.0
        n_untied[:] = 0.0
        n_untied_in_reference = 0
        # Of pairs that have one order in all samples.
        common_agreement = 0.0
        n_common = 0
        for i in range(n_systems):
            for j in range(i + 1, n_systems):
                sign = np.sign(reference[i] - reference[j])
                n_untied_in_reference += sign != 0.0
                if lowest[i] > highest[j]:
                    common_agreement += sign
                    n_common += 1
                elif highest[i] < lowest[j]:
                    common_agreement -= sign
                    n_common += 1
                else:
                    _add_pair(rounded[i], rounded[j], sign, agreement, n_untied)
        _write_taus(
            agreement, common_agreement, n_untied, n_common, n_untied_in_reference, taus[replicate]
        )
    return taus


@jit(error_model="numpy", inline="always")
def _compare_pair(first: Floats, second: Floats, sign: float, products: Floats) -> None:
    """Compare two systems in every sample with the reference: 1.0 if alike, -1.0 if opposite.

    ``first`` and ``second`` are their scores, ``sign`` is 1.0 if the first is better in the
    reference, -1.0 if it is worse, 0.0 if they tie there. The products, 0.0 for a tie in either,
    are written into ``products``; arrays are of shape (n_samples,). The function is inlined, so
    that it vectorises.
    """
    for sample in range(len(first)):
        is_above = 1.0 if first[sample] > second[sample] else 0.0
        is_below = 1.0 if first[sample] < second[sample] else 0.0
        products[sample] = sign * (is_above - is_below)


@jit(error_model="numpy")
def pair_agreements(
    estimates: Floats, references: Rows, scale: float, is_counted: NDArray[np.bool_]
) -> Floats:
    """Count the pairs of some sets that samples order as the reference does, less the opposite.

    Parameters
    ----------
    estimates
        Scores of shape (n_replicates, n_systems, n_samples).
    references
        Scores of shape (n_replicates, n_systems).
    scale
        Scores that are the same whole number when multiplied by the scale, and rounded, are tied. A
        pair that is tied in a sample or in the reference counts as 0.
    is_counted
        Marks of the pairs i < j of each set, first by i, then by j: (n_sets, n_pairs).

    Returns
    -------
    Numbers of pairs in the same order less those in the opposite one, of shape (n_replicates,
    n_sets, n_samples).
    """
    n_replicates, n_systems, n_samples = estimates.shape
    n_sets = len(is_counted)
    agreements = np.zeros((n_replicates, n_sets, n_samples))
    rounded = np.empty((n_systems, n_samples))
    lowest = np.empty(n_systems)
    highest = np.empty(n_systems)
    products = np.empty(n_samples)
    for replicate in range(n_replicates):
        reference = np.rint(references[replicate] * scale)
        _round_samples(estimates[replicate], scale, rounded, lowest, highest)
        pair = -1
        for i in range(n_systems):
            for j in range(i + 1, n_systems):
                pair += 1
                if not is_counted[:, pair].any():
                    continue
                sign = np.sign(reference[i] - reference[j])
                _compare_pair(rounded[i], rounded[j], sign, products)
                for number in range(n_sets):
                    if is_counted[number, pair]:
                        agreements[replicate, number] += products
    return agreements
