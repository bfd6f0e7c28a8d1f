"""Measured and true scores of the same systems: means, p-values, reliability and regret."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import (
    draw_weights,
    random_blocks,
    resample_means,
    run_noise,
    run_weights,
)
from analyses.ordering import DECIMALS
from analyses.ordering.agreement import ratio_or_nan
from analyses.shared.draws import Draws
from analyses.shared.scores import RunDeviations, Scores
from analyses.shared.sentences import listed
from analyses.shared.work import ScoresWork
from analyses.significance.permutation import pair_indices
from analyses.significance.question import Question, correct, pair_tests
from runs import InputError
from runs.shared.arrays import Floats, Masks, Numbers

if TYPE_CHECKING:
    from analyses.shared.work import Work


def with_higher_better(scores: Scores) -> Scores:
    """Change the sign of the scores by measures of which less is better, so that more is better.

    Deviations of single runs change with them. Scores without such measures are returned as they
    are.
    """
    signs = scores.measures.signs
    if (signs == 1).all():
        return scores
    values = scores.values * signs[:, np.newaxis, np.newaxis]
    if scores.runs is None:
        return replace(scores, values=values)
    all_measures = list(range(len(signs)))
    runs = scores.runs.select(all_measures, signs)
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
    def of_work(cls, work: Work) -> Comparison:
        """Select the measures that have scores on the truth, and compare them with it.

        Raises InputError if the truth has scores by none of the measures, if there are too few
        systems or users, or if the truth has other systems than the study.
        """
        truth = work.truth
        true_measures = truth.scores.measures
        measures = work.scores.measures.restricted_to(true_measures)
        if not measures:
            names = listed([str(measure) for measure in work.scores.measures])
            raise InputError(f"the truth has no scores of {names}.")
        measured = work.scores.select(measures)
        measured.require("validity")
        truth.scores.require("a truth")
        if measured.systems != truth.scores.systems:
            systems = listed(measured.systems)
            true_systems = listed(truth.scores.systems)
            raise InputError(
                "the truth must have the same systems in the same order, "
                f"{systems}, got {true_systems}."
            )
        # The first truth is the measure itself; a reference is the same for all measures.
        rows = [true_measures.indices(measures)]
        for number in true_measures.indices(truth.references):
            row = [number] * len(measures)
            rows.append(row)
        references = np.array(rows, dtype=np.intp)
        measured = with_higher_better(measured)
        true = with_higher_better(truth.scores)
        return cls(measured, true, references)

    def means(self) -> tuple[Floats, Floats]:
        """Average measured and true scores over users.

        Shapes: (n_measures, n_systems), and (n_truths, n_measures, n_systems) of the truth.
        """
        means = self.measured.mean_values()
        true_means = self.true.mean_values()[self.references]
        return means, np.asarray(true_means)

    def p_values(self, work: Work, question: Question) -> tuple[Floats, Floats]:
        """Test the measured and the true differences of all pairs of systems.

        ``work`` gives the random seed and the number of workers. p-values are corrected if the
        question has a correction; of shapes (n_measures, n_pairs), and (n_truths, n_measures,
        n_pairs) of the truth.
        """
        p = _p_values(self.measured, work, question)
        p_of_true_measures = _p_values(self.true, work, question)
        true_p = p_of_true_measures[self.references]
        return p, np.asarray(true_p)

    def attainable(self) -> Floats:
        r"""Compute the tau expected of a measure that is right, but for chance over users.

        .. math:: \frac{2}{\pi} \arcsin \sqrt{\alpha_x \alpha_t}

        of the reliabilities of measure and truth: the correlation that two noisy values of one
        thing can have (Spearman 1904), and its tau, where systems are normally distributed
        (Kendall). Of shape (n_truths, n_measures); NaN where a reliability is (see `reliability`).
        """
        true_reliability = reliability(self.true.values)[self.references]
        measured_reliability = reliability(self.measured.values)
        correlation = np.sqrt(measured_reliability * true_reliability)
        return np.asarray(2 / np.pi * np.arcsin(correlation))


def _p_values(scores: Scores, work: Work, question: Question) -> Floats:
    """Test all pairs of systems, and correct for that if the question has a correction.

    ``work`` gives the random seed and the number of workers alone. p-values have the shape
    (n_measures, n_pairs).
    """
    scores_work = ScoresWork(scores, seed=work.seed, n_jobs=work.n_jobs)
    first_systems, _ = pair_indices(len(scores.systems))
    all_pairs = np.arange(len(first_systems))
    tests = pair_tests(scores_work, question, all_pairs, advance=lambda _: None)
    adjusted = correct(tests.p, scores_work, question)
    return tests.p if adjusted is None else adjusted


def reliability(values: Floats) -> Floats:
    r"""Compute the reliability of mean scores of systems: Cronbach's alpha with users as items.

    .. math:: \alpha = \frac{n}{n - 1} \left(1 - \frac{\sum_u \mathrm{var}_s(x_{su})}
        {\mathrm{var}_s(\sum_u x_{su})}\right)

    This is the mean, over all ways to halve the users, of the correlation between the systems' two
    means, stepped up to all users (Cronbach 1951; Bodoff & Li 2007 on test collections). Values
    are of shape (..., n_systems, n_users), the result of (...), in [0, 1]: negative values are set
    to 0. It is NaN of one user, and of systems whose means are all equal.
    """
    n_users = values.shape[-1]
    variance_of_sums = values.sum(axis=-1).var(axis=-1)
    sum_of_variances = values.var(axis=-2).sum(axis=-1)
    if n_users < 2:
        return np.full(variance_of_sums.shape, np.nan)
    factor = n_users / (n_users - 1)
    unexplained = ratio_or_nan(sum_of_variances, variance_of_sums)
    alpha = factor * (1 - unexplained)
    return np.clip(alpha, 0.0, 1.0)


def mark_best_systems(means: Floats) -> Masks:
    """Mark the system with the highest score along the last axis; several, if they tie.

    ``means`` and the result have the shape (..., n_systems); scores tie to 12 decimals.
    """
    rounded = means.round(DECIMALS)
    highest = rounded.max(axis=-1, keepdims=True)
    return np.asarray(rounded == highest)


def regret(estimates: Floats, truth: Floats) -> Floats:
    r"""Compute how much truth is lost by choosing the system with the highest estimate.

    .. math:: \max_s t_s - t_{\arg\max_s x_s}

    Scores of the systems are along the last axis, more is better; other axes broadcast. Of systems
    that tie as first, one is chosen at random: their mean counts. NaN where a score is undefined.
    """
    is_chosen = mark_best_systems(estimates)
    n_chosen = is_chosen.sum(axis=-1)
    chosen_sums = (truth * is_chosen).sum(axis=-1)
    chosen = ratio_or_nan(chosen_sums, n_chosen)
    # Rounding can make the mean of several that tie a little more than the highest.
    return np.asarray(np.maximum(truth.max(axis=-1) - chosen, 0.0))


def regret_share(regrets: Floats, truth: Floats) -> Floats:
    """Divide regrets, (...), by the range of the truth, (..., n_systems); NaN where it is 0."""
    return ratio_or_nan(regrets, np.ptp(truth, axis=-1))


@dataclass(frozen=True, eq=False)
class JointUsers:
    """Users resampled from all whom the study or the truth has.

    A user of both, known by the same id, is drawn on both sides at once.

    Parameters
    ----------
    users
        Sorted ids of all users, of shape (n_users,).
    replicates
        Number of replicates.
    seed
        Random seed.
    """

    users: NDArray[np.str_]
    replicates: int
    seed: int

    @classmethod
    def of_scores(cls, measured: Scores, true: Scores, *, replicates: int, seed: int) -> JointUsers:
        """Draw from the users of both scores."""
        return cls(np.union1d(measured.users, true.users), replicates, seed)

    def means(
        self, values: Floats, users: NDArray[np.str_], runs: RunDeviations | None = None
    ) -> Floats:
        """Resample the means of the values of some users.

        Parameters
        ----------
        values
            Of shape (..., n_users); (n_measures, n_systems, n_users) with runs.
        users
            The ids of these users, all among those that are drawn.
        runs
            Deviations of several runs of a system, which are drawn as well; None without.

        Returns
        -------
        Means of shape (..., n_replicates); NaN where none of these users was drawn.

        Raises
        ------
        ValueError
            If there is not one value for each user.
        """
        *shape, n_values = values.shape
        if n_values != len(users):
            raise ValueError(f"values of shape {values.shape} do not fit {len(users):,} users.")
        # All users are resampled, with 0 for others, which the division by shares leaves out.
        values_of_all = np.zeros((*shape, len(self.users)))
        columns = np.searchsorted(self.users, users)
        values_of_all[..., columns] = values
        means_over_all = self._resampled(values_of_all)
        means = ratio_or_nan(means_over_all, self.shares(users))
        return means + self.noise(runs)

    def noise(self, runs: RunDeviations | None) -> Floats | float:
        """Draw what runs add to means, (n_measures, n_systems, n_replicates); 0 without runs.

        The random numbers are the same for measured and for true scores.
        """
        return run_noise(runs, replicates=self.replicates, seed=self.seed)

    def shares(self, users: NDArray[np.str_]) -> Floats:
        """Compute the share of the users with these ids among those drawn: (n_replicates,)."""
        is_among_them = np.isin(self.users, users)
        return self._resampled(is_among_them.astype(np.float64))

    def draws(self, runs: RunDeviations | None) -> Draws:
        """Compare what replicates draw, of users and runs: 2 bytes for each user and replicate."""
        n_users = len(self.users)
        drawn_users = np.empty((self.replicates, n_users), dtype=np.int16)
        for part, weights in draw_weights(n_users, replicates=self.replicates, seed=self.seed):
            drawn_users[part] = weights
        if runs is None:
            return Draws.of(drawn_users)
        drawn_runs = run_weights(runs.systems, replicates=self.replicates, seed=self.seed)
        return Draws.of(drawn_users, drawn_runs)

    def _resampled(self, values: Floats) -> Floats:
        """Average values of all users, (..., n_users), in each replicate: (..., n_replicates)."""
        return resample_means(values, replicates=self.replicates, seed=self.seed)


def block_sums(scores: Scores, users: NDArray[np.str_], blocks: Numbers, *, seed: int) -> Floats:
    """Add up weighted scores in blocks of users, which are given by the ids of users.

    Parameters
    ----------
    scores
        The scores, of users some of whom may have no block: these get a random one.
    users
        Ids of users who have a block, of shape (n_block_users,).
    blocks
        Number of the block of each, from 0, of the same shape.
    seed
        Random seed.

    Returns
    -------
    Sums of shape (n_measures, n_blocks, n_systems).

    Raises
    ------
    ValueError
        If there is not one block for each of the users.
    """
    if blocks.shape != users.shape:
        raise ValueError(f"blocks of shape {blocks.shape} do not fit {len(users)} users.")
    n_blocks = int(blocks.max()) + 1
    random = random_blocks(len(scores.users), n_blocks=n_blocks, seed=seed)
    order = np.argsort(users, kind="stable")
    places = np.searchsorted(users[order], scores.users)
    # For each user of the scores, the position in `users` of the same id, or of another one.
    # An id above all others has a place after the last: the last is taken.
    places = np.minimum(places, len(users) - 1)
    same_users = order[places]
    has_block = users[same_users] == scores.users
    block_of_user = np.where(has_block, blocks[same_users], random)
    sums = []
    for block in range(n_blocks):
        is_in_block = block_of_user == block
        values_in_block = scores.weighted_values[:, :, is_in_block]
        sums.append(values_in_block.sum(axis=2))
    return np.stack(sums, axis=1)
