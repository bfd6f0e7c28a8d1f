"""Measured and true scores of the same systems: regret, and right and wrong differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import draw_ranges, random_blocks, resample_means, run_noise
from analyses.ordering import DECIMALS
from analyses.ordering.agreement import ratio_or_nan
from analyses.shared.families import N_CROSSED
from analyses.shared.scores import RunDeviations, Scores
from analyses.shared.sentences import listed
from analyses.shared.work import ScoresWork
from analyses.significance.paired_tests import t_of_moments
from analyses.significance.permutation import pair_differences, pair_indices
from analyses.significance.question import (
    ADJUSTMENTS,
    TESTS_OF_MEANS,
    Question,
    correct,
    pair_tests,
)
from runs import InputError
from runs.shared.arrays import Floats, Masks, Numbers

if TYPE_CHECKING:
    from analyses.shared.work import Work


def oriented(scores: Scores) -> Scores:
    """Change the sign of the scores of which less is better: more is better then by all."""
    signs = scores.measures.signs
    if (signs == 1).all():
        return scores
    values = scores.values * signs[:, np.newaxis, np.newaxis]
    runs = None if scores.runs is None else scores.runs.select([*range(len(signs))], signs)
    return replace(scores, values=values, runs=runs)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Measures and what they are compared with; more is better by all.

    Parameters
    ----------
    measured, true
        Scores of the same systems.
    references
        Numbers of the true measures that each measure is compared with, of shape (n_truths,
        n_measures): the measure itself, then the references of the truth.
    """

    measured: Scores
    true: Scores
    references: Numbers

    @classmethod
    def of(cls, work: Work) -> Comparison:
        """Take the measures that have a value on the truth."""
        truth, scores = work.truth, work.scores
        known = scores.measures.restricted_to(truth.scores.measures)
        if not known:
            names = listed([*map(str, scores.measures)])
            raise InputError(f"the truth has no scores of {names}.")
        some = scores.select(known)
        some.require("validity")
        truth.scores.require("a truth")
        if some.systems != truth.scores.systems:
            raise InputError(
                "the truth must have the same systems in the same order, "
                f"{listed(some.systems)}, got {listed(truth.scores.systems)}."
            )
        places = truth.scores.measures.indices
        each = [[number] * len(known) for number in places(truth.references)]
        references = np.array([places(known), *each], dtype=np.intp)
        return cls(oriented(some), oriented(truth.scores), references)

    def means(self) -> tuple[Floats, Floats]:
        """Give means, (n_measures, n_systems), and true ones, (n_truths, n_measures, n_systems)."""
        return self.measured.mean_values(), np.asarray(self.true.mean_values()[self.references])

    def p_values(self, work: Work, question: Question) -> tuple[Floats, Floats]:
        """Test measured and true differences, (n_measures, n_pairs) and with n_truths in front."""
        p, true_p = (_p_values(scores, work, question) for scores in (self.measured, self.true))
        return p, np.asarray(true_p[self.references])

    def attainable(self) -> Floats:
        r"""Give the tau that is expected of a measure that is right, but for chance over users.

        .. math:: \frac{2}{\pi} \arcsin \sqrt{\alpha_x \alpha_t}

        of the reliabilities of measure and truth: the correlation that two noisy values of one
        thing can have (Spearman 1904), and its tau, where systems are normally distributed
        (Kendall). Of shape (n_truths, n_measures).
        """
        true = reliability(self.true.values)[self.references]
        measured = reliability(self.measured.values)
        return np.asarray(2 / np.pi * np.arcsin(np.sqrt(measured * true)))


def _p_values(scores: Scores, work: Work, question: Question) -> Floats:
    alone = ScoresWork(scores, seed=work.seed, n_jobs=work.n_jobs)
    every = np.arange(len(pair_indices(len(scores.systems))[0]))
    found = pair_tests(alone, question, every, advance=lambda _: None)
    adjusted = correct(found.p, alone, question)
    return found.p if adjusted is None else adjusted


def reliability(values: Floats) -> Floats:
    r"""Give the reliability of mean scores of systems: Cronbach's alpha with users as items.

    .. math:: \alpha = \frac{n}{n - 1} \left(1 - \frac{\sum_u \mathrm{var}_s(x_{su})}
        {\mathrm{var}_s(\sum_u x_{su})}\right)

    This is the mean, over all ways to halve the users, of the correlation between the systems' two
    means, stepped up to all users (Cronbach 1951; Bodoff & Li 2007 on test collections). Values
    are of shape (..., n_systems, n_users), the result of (...), in [0, 1]: negative values are set
    to 0, and NaN is for one user, or systems whose means are all equal.
    """
    n_users = values.shape[-1]
    whole = values.sum(axis=-1).var(axis=-1)
    apart = values.var(axis=-2).sum(axis=-1)
    if n_users < 2:
        return np.full(whole.shape, np.nan)
    return np.clip(n_users / (n_users - 1) * (1 - ratio_or_nan(apart, whole)), 0.0, 1.0)


def put_first(estimates: Floats) -> Masks:
    """Mark the system with the highest score along the last axis; several, if they tie."""
    rounded = estimates.round(DECIMALS)
    return np.asarray(rounded == rounded.max(axis=-1, keepdims=True))


def regret(estimates: Floats, truth: Floats) -> Floats:
    r"""Give how much truth is lost by choosing the system with the highest estimate.

    .. math:: \max_s t_s - t_{\arg\max_s x_s}

    Scores of the systems are along the last axis, more is better; other axes broadcast. Of systems
    that tie as first, one is chosen at random: their mean counts. NaN where a score is undefined.
    """
    first = put_first(estimates)
    chosen = ratio_or_nan((truth * first).sum(axis=-1), first.sum(axis=-1))
    return np.asarray(np.maximum(truth.max(axis=-1) - chosen, 0.0))


def regret_share(lost: Floats, truth: Floats) -> Floats:
    """Divide regret by the range of the truth; NaN where all systems are equally good."""
    return ratio_or_nan(lost, np.ptp(truth, axis=-1))


@dataclass(frozen=True, eq=False)
class JointUsers:
    """Users drawn from all that the study or the truth knows, given by their sorted ids.

    Who has the same id is the same user, and is drawn on both sides; users of one side alone are
    drawn on their own.
    """

    users: NDArray[np.str_]
    replicates: int
    seed: int

    @classmethod
    def of(cls, first: Scores, second: Scores, *, replicates: int, seed: int) -> JointUsers:
        """Draw from the users of both."""
        return cls(np.union1d(first.users, second.users), replicates, seed)

    def means(
        self, values: Floats, users: NDArray[np.str_], runs: RunDeviations | None = None
    ) -> Floats:
        """Resample the means of values of some users, the last axis, and of runs.

        The means are of shape (..., n_replicates); NaN where none of these users was drawn.
        """
        filled = np.zeros((*values.shape[:-1], len(self.users)))
        filled[..., np.searchsorted(self.users, users)] = values
        return ratio_or_nan(self._resampled(filled), self.shares(users)) + self.noise(runs)

    def noise(self, runs: RunDeviations | None) -> Floats | float:
        """Draw runs: the same numbers on either side."""
        return run_noise(runs, replicates=self.replicates, seed=self.seed)

    def shares(self, users: NDArray[np.str_]) -> Floats:
        """Give the share of some of the users among those drawn, of shape (n_replicates,)."""
        return self._resampled(np.isin(self.users, users).astype(np.float64))

    def _resampled(self, values: Floats) -> Floats:
        return resample_means(values, replicates=self.replicates, seed=self.seed)


def block_sums(scores: Scores, users: NDArray[np.str_], blocks: Numbers, *, seed: int) -> Floats:
    """Add up scores in the blocks of the users who have the same ids; others get a random block.

    The sums are of shape (n_measures, n_blocks, n_systems).
    """
    n_blocks = int(blocks.max()) + 1
    own = random_blocks(len(scores.users), n_blocks=n_blocks, seed=seed)
    order = np.argsort(users, kind="stable")
    places = order[np.minimum(np.searchsorted(users[order], scores.users), len(users) - 1)]
    own = np.where(users[places] == scores.users, blocks[places], own)
    sums = [scores.weighted_values[:, :, own == block].sum(axis=2) for block in range(n_blocks)]
    return np.stack(sums, axis=1)


VERDICTS = ("right", "wrong", "false positive", "missed", "no difference")
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

    significant: Masks
    sure: Masks
    agree: Masks
    oppose: Masks

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
        return cls.of(pair_differences(means), p, pair_differences(true), true_p, alpha=alpha)

    @property
    def right(self) -> Masks:
        """A true difference that is found."""
        return self.significant & self.sure & self.agree

    @property
    def wrong(self) -> Masks:
        """A significant difference whose true one has the other sign: an error of type III."""
        return self.significant & self.sure & self.oppose

    @property
    def false_positive(self) -> Masks:
        """A significant difference whose true one is not significant."""
        return self.significant & ~(self.right | self.wrong)

    @property
    def missed(self) -> Masks:
        """A true difference that is not significant."""
        return self.sure & ~self.significant

    @property
    def inverted(self) -> Masks:
        """A true difference whose measured one has the other sign, significant or not."""
        return self.sure & self.oppose

    def shares(self) -> Floats:
        """Give the shares of pairs by verdict, (..., n_verdicts): they add up to 1."""
        marks = [self.right, self.wrong, self.false_positive, self.missed]
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


def ratio_of(some: Masks, among: Masks, weights: Floats | None = None) -> Floats:
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
    return ratio_or_nan(counted, others)


def resampled_rates(
    comparison: Comparison,
    numbers: list[int],
    users: JointUsers,
    question: Question,
    groups: Floats,
) -> tuple[Floats, Floats]:
    """Test all pairs of systems anew over resampled users, by Student's t, for some measures.

    Shares are of shape (n_rates, n_truths, n_measures, n_replicates): NaN for other measures, and
    where the test or its correction is of another kind. Without replicates there are none. Groups
    of pairs, (n_groups, n_pairs), are as those of `resample_power`: the shares in each for the
    first replicates have one more axis.
    """
    references = comparison.references
    rates = np.full((len(RATES), *references.shape, users.replicates), np.nan)
    crossed = np.repeat(rates[..., :N_CROSSED, np.newaxis], len(groups), axis=-1)
    # Student's t is like any test of means.
    adjustments = ("none", *ADJUSTMENTS)
    if question.test not in TESTS_OF_MEANS or question.correction not in adjustments:
        return rates, crossed
    # References are few, and tested once.
    tested = lru_cache(maxsize=8)(lambda number: _tested(comparison.true, number, users, question))
    for number in numbers:
        own = _tested(comparison.measured, number, users, question)
        for truth, reference in enumerate(references[:, number].tolist()):
            pairs = (*own, *tested(reference))
            some = PairVerdicts.of(*(each[:N_CROSSED] for each in pairs), alpha=question.alpha)
            rates[:, truth, number] = PairVerdicts.of(*pairs, alpha=question.alpha).rates()
            crossed[:, truth, number] = np.moveaxis(some.rates(groups), 0, -1)
    return rates, crossed


def _tested(
    scores: Scores, number: int, users: JointUsers, question: Question
) -> tuple[Floats, Floats]:
    """Give differences over resampled users and their p-values, of (n_replicates, n_pairs)."""
    first, second = pair_indices(len(scores.systems))
    values, parts = scores.weighted_values[number], []
    for start, stop in draw_ranges(len(first), max(1, AT_ONCE // values.shape[1])):
        differences = values[first[start:stop]] - values[second[start:stop]]
        moments = users.means(np.stack([differences, differences**2]), scores.users)
        parts.append(moments.swapaxes(1, 2))
    means, squares = np.concatenate(parts, axis=2)
    drawn = users.shares(scores.users)[:, np.newaxis] * len(users.users)
    variances = squares - means**2
    if scores.runs is not None:
        noise = np.asarray(users.noise(scores.runs.select([number])))[0]
        means = means + (noise[first] - noise[second]).T
    freedom = np.maximum(drawn - 1, 1)
    p = t_of_moments(means, np.sqrt(np.maximum(variances, 0) * drawn / freedom), n_users=drawn)
    adjust = ADJUSTMENTS.get(question.correction)
    return means, p if adjust is None else adjust(p)
