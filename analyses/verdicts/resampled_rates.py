"""Power, errors of type III and inversions over resampled users."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from analyses.intervals.resampling import ranges
from analyses.shared.measure import Scores
from analyses.significance.permutation import pair_indices
from analyses.significance.question import ADJUSTMENTS, OF_MEANS, Question
from analyses.verdicts.joint_users import JointUsers
from analyses.verdicts.pair_verdicts import RATES, PairVerdicts

Floats = NDArray[np.float64]

AT_ONCE = 1 << 22
"""Pairs times users that are held at a time."""


def can_be_resampled(question: Question) -> bool:
    """Tell whether a test is of means, and its correction is of p-values: Student's t is like it.

    Examples
    --------
    >>> can_be_resampled(Question(test="exact")), can_be_resampled(Question(test="sign"))
    (True, False)
    """
    return question.test in OF_MEANS and question.correction in ("none", *ADJUSTMENTS)


@dataclass(frozen=True, eq=False)
class Tested:
    """Differences between systems over resampled users; of shape (n_replicates, n_pairs)."""

    differences: Floats
    p: Floats


def resampled_rates(
    measured: Scores,
    true: Scores,
    rulers: NDArray[np.intp],
    numbers: list[int],
    users: JointUsers,
    question: Question,
) -> Floats:
    """Judge all pairs of systems anew over resampled users, by Student's t.

    Parameters
    ----------
    measured, true
        Scores such that more is better.
    rulers
        The true measures that each measure is compared with, of shape (n_truths, n_measures).
    numbers
        The measures for which it is done.
    users, question
        Who is drawn, and what is asked of pairs.

    Returns
    -------
    Shares of shape (n_rates, n_truths, n_measures, n_replicates): NaN for other measures, and
    where the test or its correction is of another kind. Without replicates it is empty.
    """
    shape = (len(RATES), *rulers.shape, users.replicates)
    rates = np.full(shape, np.nan)
    if users.replicates == 0 or not can_be_resampled(question):
        return rates
    references = cache(lambda number: _tested(true, number, users, question))
    for number in numbers:
        own = _tested(measured, number, users, question)
        for place, ruler in enumerate(rulers[:, number]):
            truly = references(ruler) if place else _tested(true, ruler, users, question)
            verdicts = PairVerdicts.of(
                own.differences, own.p, truly.differences, truly.p, alpha=question.alpha
            )
            rates[:, place, number] = verdicts.rates()
    return rates


def _tested(scores: Scores, number: int, users: JointUsers, question: Question) -> Tested:
    first, second = pair_indices(len(scores.systems))
    values, parts = scores.values[number], []
    for start, stop in ranges(len(first), max(1, AT_ONCE // values.shape[1])):
        differences = values[first[start:stop]] - values[second[start:stop]]
        moments = users.means(np.stack([differences, differences**2]), scores.users)
        parts.append(moments.swapaxes(1, 2))
    means, squares = np.concatenate(parts, axis=2)
    drawn = users.shares(scores.users)[:, np.newaxis] * len(users.users)
    variances = squares - means**2
    if scores.runs is not None:
        noise = np.asarray(users.noise(scores.runs.of([number])))[0]
        means = means + (noise[first] - noise[second]).T
    p = _p_values(means, variances, drawn)
    adjust = ADJUSTMENTS.get(question.correction)
    return Tested(means, p if adjust is None else adjust(p))


def _p_values(means: Floats, variances: Floats, n_users: Floats) -> Floats:
    """Test means by Student's t; without a difference, or with one user, p is 1."""
    freedom = np.maximum(n_users - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = np.abs(means) / np.sqrt(np.maximum(variances, 0.0) / freedom)
        p = 2 * np.asarray(stdtr(freedom, -statistics))
    return np.where((means == 0) | (n_users < 2) | np.isnan(p), 1.0, p)
