"""Right and wrong differences of pairs of systems, and their rates over resampled users."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from analyses.intervals.resampling import draw_ranges
from analyses.ordering.agreement import ratio_or_nan
from analyses.shared.families import N_CROSSED
from analyses.shared.scores import Scores
from analyses.significance.paired_tests import t_of_moments
from analyses.significance.permutation import pair_differences, pair_indices
from analyses.significance.question import ADJUSTMENTS, TESTS_OF_MEANS, Question
from analyses.validity.comparison import Comparison, JointUsers
from runs.shared.arrays import Floats, Masks

VERDICTS = ("right", "wrong", "false positive", "missed", "no difference")
"""Every pair is one of these; see `PairVerdicts`."""

RATES = ("power", "type III", "inverted")
"""Shares that sum pairs up; see `PairVerdicts.rates`."""

CELLS_AT_ONCE = 1 << 22
"""Pairs times users that are held at a time."""


@dataclass(frozen=True, eq=False)
class PairVerdicts:
    """Marks of pairs of systems, each of shape (..., n_pairs).

    Parameters
    ----------
    significant
        The measured difference is significant.
    truly_significant
        The true difference is significant.
    agree, oppose
        Measured and true difference have the same sign, or opposite ones; neither if one is 0.
    """

    significant: Masks
    truly_significant: Masks
    agree: Masks
    oppose: Masks

    @classmethod
    def of_differences(
        cls, differences: Floats, p: Floats, true: Floats, true_p: Floats, *, alpha: float
    ) -> PairVerdicts:
        """Compare measured and true differences of pairs, and their p-values.

        Arrays have the shape (..., n_pairs), and broadcast; ``true`` are true differences. A
        p-value of at most ``alpha`` is significant.
        """
        agreement = np.sign(differences) * np.sign(true)
        significant, truly_significant = np.broadcast_arrays(p <= alpha, true_p <= alpha)
        agree = agreement > 0
        oppose = agreement < 0
        return cls(significant, truly_significant, agree, oppose)

    @classmethod
    def of_means(
        cls, means: Floats, p: Floats, true_means: Floats, true_p: Floats, *, alpha: float
    ) -> PairVerdicts:
        """Compare all pairs of systems.

        Means have the shape (..., n_systems), p-values (..., n_pairs); arrays broadcast.
        """
        differences = pair_differences(means)
        true_differences = pair_differences(true_means)
        return cls.of_differences(differences, p, true_differences, true_p, alpha=alpha)

    @property
    def right(self) -> Masks:
        """A significant difference that is truly significant, with the same sign."""
        return self.significant & self.truly_significant & self.agree

    @property
    def wrong(self) -> Masks:
        """A significant difference whose true one has the other sign: an error of type III."""
        return self.significant & self.truly_significant & self.oppose

    @property
    def false_positive(self) -> Masks:
        """A significant difference whose true one is not significant."""
        return self.significant & ~(self.right | self.wrong)

    @property
    def missed(self) -> Masks:
        """A truly significant difference that is not significant by the measure."""
        return self.truly_significant & ~self.significant

    @property
    def no_difference(self) -> Masks:
        """Neither the measured nor the true difference is significant."""
        return ~(self.significant | self.truly_significant)

    @property
    def inverted(self) -> Masks:
        """A truly significant difference whose measured one has the other sign, at any p-value."""
        return self.truly_significant & self.oppose

    def shares(self) -> Floats:
        """Compute the shares of pairs by verdict, (..., n_verdicts): they add up to 1."""
        marks = (self.right, self.wrong, self.false_positive, self.missed, self.no_difference)
        shares = [is_verdict.mean(axis=-1) for is_verdict in marks]
        return np.stack(shares, axis=-1)

    def rates(self, weights: Floats | None = None) -> Floats:
        """Compute power, type III and inverted, in the order of `RATES`.

        Power and inverted are shares of the truly significant pairs, type III of the significant
        ones; NaN where there are none. ``weights``, of shape (n_subsets, n_pairs), say how often
        each subset counts a pair. The result has the shape (n_rates, ...), or (n_subsets,
        n_rates, ...) with weights.
        """
        power = share_of_pairs(self.right, self.truly_significant, weights)
        type_iii = share_of_pairs(self.wrong, self.significant, weights)
        inverted = share_of_pairs(self.inverted, self.truly_significant, weights)
        rates = [power, type_iii, inverted]
        return np.stack(rates, axis=0 if weights is None else 1)


def share_of_pairs(marked: Masks, among: Masks, weights: Floats | None = None) -> Floats:
    """Divide the number of marked pairs by that of the pairs among which they are.

    Masks have the shape (..., n_pairs), the result (...); NaN where it divides by 0. ``weights``,
    of shape (n_subsets, n_pairs), say how often each subset counts a pair: the result has then the
    shape (n_subsets, ...).
    """
    if weights is None:
        n_marked = marked.sum(axis=-1)
        n_among = among.sum(axis=-1)
        return ratio_or_nan(n_marked, n_among)
    marked_by_subset = marked.astype(float) @ weights.T
    among_by_subset = among @ weights.T
    n_marked = np.moveaxis(marked_by_subset, -1, 0)
    n_among = np.moveaxis(among_by_subset, -1, 0)
    return ratio_or_nan(n_marked, n_among)


class ResampledTests(NamedTuple):
    """Differences of pairs and their p-values, both of shape (n_replicates, n_pairs)."""

    differences: Floats
    p: Floats

    def first_replicates(self) -> ResampledTests:
        """Select the first `N_CROSSED` replicates."""
        return ResampledTests(self.differences[:N_CROSSED], self.p[:N_CROSSED])


def resampled_rates(
    comparison: Comparison,
    numbers: list[int],
    users: JointUsers,
    question: Question,
    groups: Floats,
) -> tuple[Floats, Floats]:
    """Test all pairs of systems anew over resampled users, by Student's t, for some measures.

    Parameters
    ----------
    comparison
        Measured and true scores.
    numbers
        Positions of the measures.
    users
        The users that are resampled.
    question
        The test, its correction and alpha. Any test of means is replaced by Student's t.
    groups
        Weights of the pairs in groups of them, of shape (n_groups, n_pairs).

    Returns
    -------
    The rates of all pairs, of shape (n_rates, n_truths, n_measures, n_replicates), and those in
    each group for the first 20 (`N_CROSSED`) replicates, of shape (n_rates, n_truths, n_measures,
    20, n_groups), or fewer if there are fewer. NaN for other measures, and throughout if the test
    is not one of means or its correction is not one of p-values. Without replicates there are none.
    """
    references = comparison.references
    shape = (len(RATES), *references.shape, users.replicates)
    rates = np.full(shape, np.nan)
    n_groups = len(groups)
    first_rates = rates[..., :N_CROSSED, np.newaxis]
    crossed = np.repeat(first_rates, n_groups, axis=-1)
    # Student's t is like any test of means.
    adjustments = ("none", *ADJUSTMENTS)
    if question.test not in TESTS_OF_MEANS or question.correction not in adjustments:
        return rates, crossed

    # References are few, and tested once.
    @lru_cache(maxsize=8)
    def true_tests(reference: int) -> ResampledTests:
        """Test all pairs by true scores of the measure at the position ``reference``."""
        return _resampled_tests(comparison.true, reference, users, question)

    for number in numbers:
        tests = _resampled_tests(comparison.measured, number, users, question)
        first_tests = tests.first_replicates()
        references_of_measure = references[:, number].tolist()
        for truth, reference in enumerate(references_of_measure):
            tests_of_truth = true_tests(reference)
            verdicts = _verdicts(tests, tests_of_truth, question)
            rates[:, truth, number] = verdicts.rates()
            first_tests_of_truth = tests_of_truth.first_replicates()
            first_verdicts = _verdicts(first_tests, first_tests_of_truth, question)
            crossed[:, truth, number] = np.moveaxis(first_verdicts.rates(groups), 0, -1)
    return rates, crossed


def _verdicts(
    tests: ResampledTests, true_tests: ResampledTests, question: Question
) -> PairVerdicts:
    """Compare measured and true differences of all replicates, at the question's alpha."""
    return PairVerdicts.of_differences(
        tests.differences,
        tests.p,
        true_tests.differences,
        true_tests.p,
        alpha=question.alpha,
    )


def _resampled_tests(
    scores: Scores, number: int, users: JointUsers, question: Question
) -> ResampledTests:
    """Test all pairs of systems by one measure over resampled users, by Student's t.

    ``number`` is the position of the measure. Mean differences and their p-values, corrected if
    the question has a correction of p-values, have the shape (n_replicates, n_pairs). Noise of runs
    is added to mean differences, not to variances. Differences are NaN where none of the users of
    the scores was drawn; p is 1 where fewer than two were.
    """
    first, second = pair_indices(len(scores.systems))
    means, squares = _resampled_moments(scores, number, users)
    # The users of these scores among those that are drawn, of the study and the truth together.
    shares_drawn = users.shares(scores.users)[:, np.newaxis]
    n_drawn = shares_drawn * len(users.users)
    variances = np.maximum(squares - means**2, 0)
    if scores.runs is not None:
        runs_of_measure = scores.runs.select([number])
        noise_by_measure = np.asarray(users.noise(runs_of_measure))
        noise = noise_by_measure[0]
        noise_of_pairs = noise[first] - noise[second]
        means = means + noise_of_pairs.T
    degrees_of_freedom = np.maximum(n_drawn - 1, 1)
    deviations = np.sqrt(variances * n_drawn / degrees_of_freedom)
    p = t_of_moments(means, deviations, n_users=n_drawn)
    if question.correction in ADJUSTMENTS:
        p = ADJUSTMENTS[question.correction](p)
    return ResampledTests(means, p)


def _resampled_moments(scores: Scores, number: int, users: JointUsers) -> tuple[Floats, Floats]:
    """Average the differences of all pairs of systems, and their squares, over resampled users.

    ``number`` is the position of the measure. Both have the shape (n_replicates, n_pairs).
    """
    values = scores.weighted_values[number]
    first, second = pair_indices(len(scores.systems))
    pairs_at_once = max(1, CELLS_AT_ONCE // values.shape[1])
    means = []
    squares = []
    for start, stop in draw_ranges(len(first), pairs_at_once):
        first_systems = first[start:stop]
        second_systems = second[start:stop]
        differences = values[first_systems] - values[second_systems]
        differences_and_squares = np.stack([differences, differences**2])
        moments = users.means(differences_and_squares, scores.users)
        mean_differences, mean_squares = moments.swapaxes(1, 2)
        means.append(mean_differences)
        squares.append(mean_squares)
    means_of_pairs = np.concatenate(means, axis=1)
    squares_of_pairs = np.concatenate(squares, axis=1)
    return means_of_pairs, squares_of_pairs
