"""Pairs of systems that a measure tells apart, rightly or wrongly; and over resampled users."""

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
from analyses.validity.comparison import Comparison, JointUsers

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

VERDICTS = ("right", "wrong", "unsure", "unfound", "no difference")
"""Every pair is one of these; see `PairVerdicts`."""

RATES = ("power", "type III", "inverted")
"""Shares that sum pairs up; see `PairVerdicts.rates`."""

AT_ONCE = 1 << 22
"""Pairs times users that are held at a time."""


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
        """Compare differences between systems, and their p-values; arrays broadcast."""
        agreement = np.sign(measured) * np.sign(true)
        significant, sure = np.broadcast_arrays(p <= alpha, true_p <= alpha)
        return cls(significant, sure, agreement > 0, agreement < 0)

    @classmethod
    def of_means(
        cls, means: Floats, p: Floats, true: Floats, true_p: Floats, *, alpha: float
    ) -> PairVerdicts:
        """Compare all pairs of systems, the last axis of means."""
        first, second = pair_indices(means.shape[-1])
        measured, truly = (each[..., first] - each[..., second] for each in (means, true))
        return cls.of(measured, p, truly, true_p, alpha=alpha)

    @property
    def right(self) -> Marks:
        """A true difference that is found."""
        return self.significant & self.sure & self.agree

    @property
    def wrong(self) -> Marks:
        """A significant difference whose true one has the other sign: an error of type III."""
        return self.significant & self.sure & self.oppose

    @property
    def unsure(self) -> Marks:
        """A significant difference whose true one is not beyond noise."""
        return self.significant & ~(self.right | self.wrong)

    @property
    def unfound(self) -> Marks:
        """A true difference that is not significant."""
        return self.sure & ~self.significant

    @property
    def inverted(self) -> Marks:
        """A true difference whose measured one has the other sign, significant or not."""
        return self.sure & self.oppose

    def shares(self) -> Floats:
        """Give the shares of pairs by verdict, (..., n_verdicts): they add up to 1."""
        marks = [self.right, self.wrong, self.unsure, self.unfound]
        marks.append(~(self.significant | self.sure))
        return np.stack([mark.mean(axis=-1) for mark in marks], axis=-1)

    def rates(self, weights: Floats | None = None) -> Floats:
        """Give right and inverted ones of the true differences, wrong ones of the significant.

        Weights of pairs, (n_subsets, n_pairs), count each so often. Power, type III and inverted
        are of shape (n_rates, ...), or (n_subsets, n_rates, ...).
        """
        parts = (self.right, self.wrong, self.inverted)
        wholes = (self.sure, self.significant, self.sure)
        shares = [ratio_of(*both, weights) for both in zip(parts, wholes, strict=True)]
        return np.stack(shares, axis=0 if weights is None else 1)


def ratio_of(some: Marks, among: Marks, weights: Floats | None = None) -> Floats:
    """Divide the number of pairs by that of others, along the last axis; NaN where there are none.

    Weights of pairs, (n_subsets, n_pairs), count each so often: the result is of shape (n_subsets,
    ...).
    """
    if weights is None:
        counted, others = some.sum(axis=-1), among.sum(axis=-1)
    else:
        counted, others = (
            np.moveaxis(marks @ weights.T, -1, 0) for marks in (some.astype(float), among)
        )
    return np.divide(counted, others, out=np.full(others.shape, np.nan), where=others > 0)


def can_be_resampled(question: Question) -> bool:
    """Tell whether a test is of means and its correction of p-values: Student's t is like it."""
    return question.test in OF_MEANS and question.correction in ("none", *ADJUSTMENTS)


def resampled_rates(
    comparison: Comparison, numbers: list[int], users: JointUsers, question: Question
) -> Floats:
    """Test all pairs of systems anew over resampled users, by Student's t, for some measures.

    Shares are of shape (n_rates, n_truths, n_measures, n_replicates): NaN for other measures, and
    where the test or its correction is of another kind. Without replicates there are none.
    """
    references = comparison.references
    rates = np.full((len(RATES), *references.shape, users.replicates), np.nan)
    if users.replicates == 0 or not can_be_resampled(question):
        return rates
    tested_reference = cache(lambda number: _tested(comparison.true, number, users, question))
    for number in numbers:
        own = _tested(comparison.measured, number, users, question)
        for truth, reference in enumerate(references[:, number]):
            true = (
                tested_reference(reference)
                if truth
                else _tested(comparison.true, reference, users, question)
            )
            verdicts = PairVerdicts.of(*own, *true, alpha=question.alpha)
            rates[:, truth, number] = verdicts.rates()
    return rates


def _tested(
    scores: Scores, number: int, users: JointUsers, question: Question
) -> tuple[Floats, Floats]:
    """Give differences over resampled users and their p-values, of (n_replicates, n_pairs)."""
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
    return means, p if adjust is None else adjust(p)


def _p_values(means: Floats, variances: Floats, n_users: Floats) -> Floats:
    """Test means by Student's t; without a difference, or with one user, p is 1."""
    freedom = np.maximum(n_users - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = np.abs(means) / np.sqrt(np.maximum(variances, 0.0) / freedom)
        p = 2 * np.asarray(stdtr(freedom, -statistics))
    return np.where((means == 0) | (n_users < 2) | np.isnan(p), 1.0, p)
