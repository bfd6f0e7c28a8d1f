"""What measures are compared with: themselves on the truth, and references."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.ordering import tau_b
from analyses.shared.measure import Measures, Scores
from analyses.shared.sentences import listed
from analyses.shared.work import ScoresAlone
from analyses.significance.permutation import pair_indices
from analyses.significance.question import Question, answer, correct
from analyses.users import random_order, subset_means, usual_sizes
from runs import InputError

if TYPE_CHECKING:
    from analyses.shared.work import Truth, Work

Floats = NDArray[np.float64]


def known_to(truth: Truth, scores: Scores) -> Scores:
    """Take the measures that have a value on the truth.

    Raises
    ------
    InputError
        If none has.
    """
    known = scores.measures.among(truth.scores.measures)
    if not known:
        raise InputError(
            f"the truth has no scores of {listed([*map(str, scores.measures)])}, to compare with."
        )
    numbers = scores.measures.numbers(known)
    runs = None if scores.runs is None else scores.runs.of(numbers)
    return replace(scores, values=scores.values[numbers], measures=known, runs=runs)


def rulers_of(measures: Measures, truth: Truth) -> NDArray[np.intp]:
    """Number the true measures that each measure is compared with, (n_truths, n_measures).

    The first is the measure itself, the others are the references.
    """
    known = truth.scores.measures
    each = [[number] * len(measures) for number in known.numbers(truth.references)]
    return np.array([known.numbers(measures), *each], dtype=np.intp)


def check_truth(scores: Scores, truth: Scores) -> None:
    """Refuse a truth of other systems, and fewer than two of them.

    Raises
    ------
    InputError
        If it is so.
    """
    if len(scores.systems) < 2 or len(scores.users) == 0 or len(truth.users) == 0:
        raise InputError(
            "validity needs at least two systems, a user and a user of the truth, got "
            f"{len(scores.systems)}, {len(scores.users)} and {len(truth.users)}."
        )
    if scores.systems != truth.systems:
        raise InputError(
            f"the truth must be of the same systems in the same order, {listed(scores.systems)}, "
            f"got {listed(truth.systems)}."
        )


def signs_of(measures: Measures) -> Floats:
    """Give -1 for measures of which less is better, else 1."""
    return np.array([-1.0 if m.metric in measures.falling else 1.0 for m in measures])


def oriented(scores: Scores) -> Scores:
    """Turn round the scores of which less is better."""
    signs = signs_of(scores.measures)
    if (signs == 1).all():
        return scores
    values = scores.values * signs[:, np.newaxis, np.newaxis]
    runs = None if scores.runs is None else scores.runs.of([*range(len(signs))], signs)
    return replace(scores, values=values, runs=runs)


def p_values_of(scores: Scores, work: Work, question: Question) -> Floats:
    """Test all pairs of systems, and correct if that is asked for: p of (n_measures, n_pairs)."""
    alone = ScoresAlone(scores, seed=work.seed, n_jobs=work.n_jobs)
    every = np.arange(len(pair_indices(len(scores.systems))[0]))
    found = answer(alone, question, every, advance=lambda _: None)
    adjusted = correct(found.p, alone, question)
    return found.p if adjusted is None else adjusted


def over_sizes(
    scores: Scores, worth: Floats, *, seed: int, repeats: int
) -> tuple[tuple[int, ...], Floats]:
    """Compare random subsets of the users with the truth, (n_truths, n_measures, n_systems).

    Returns
    -------
    Sizes, and taus of shape (n_truths, n_measures, n_sizes, n_repeats).
    """
    n_users = len(scores.users)
    sizes = (*usual_sizes(n_users), n_users)
    orders = np.stack([random_order(n_users, seed, repeat) for repeat in range(repeats)])
    taus = []
    for size in sizes:
        means, _ = subset_means(scores, orders[:, :size])
        taus.append(np.stack([tau_b(means, true[:, np.newaxis]) for true in worth]))
    return sizes, np.stack(taus, axis=2)
