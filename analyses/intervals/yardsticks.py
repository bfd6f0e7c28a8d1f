"""What robustness is read beside: agreement with other measures, and of two halves of the users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analyses.intervals.split_halves import N_SPLITS, random_order, split_half_taus
from analyses.ordering import tau_b
from analyses.ordering.agreement import mean_of_defined
from runs.shared.arrays import Floats

if TYPE_CHECKING:
    from analyses.shared.measure import Measures
    from analyses.shared.scores import Scores


@dataclass(frozen=True, eq=False)
class Yardsticks:
    """What a measure's robustness, its agreement with itself, is read beside.

    Parameters
    ----------
    with_others
        Mean tau-b, over the levels of loss, between the ordering on the judgements that are left
        and those by the other report measures on all judgements, of shape (n_measures,).
    consistency
        Mean tau-b between the orderings on two halves of the users, of shape (n_measures,).
    """

    with_others: Floats
    consistency: Floats


def taus_with_others(means: Floats, references: Floats, measures: Measures) -> Floats:
    """Compare orderings on samples of the judgements with those of the other report measures.

    The other measures order the systems by all judgements. Where lower scores are better, orderings
    are reversed.

    Parameters
    ----------
    means
        Mean scores on each sample, of shape (n_measures, n_samples, n_systems).
    references
        Mean scores by all judgements, of shape (n_measures, n_systems).
    measures
        The measures.

    Returns
    -------
    Mean tau-b over the other report measures, of shape (n_measures, n_samples). NaN for measures
    that are not reported, where no tau is defined, and without another report measure.
    """
    signs = measures.signs
    reported = measures.indices(measures.reported)
    taus = np.full(means.shape[:2], np.nan)
    for index in reported:
        others = [other for other in reported if other != index]
        if not others:
            continue
        samples = signs[index] * means[index]
        orderings = signs[others][:, np.newaxis] * references[others]
        # Of shape (n_others, n_samples).
        of_others = np.stack([tau_b(samples, ordering) for ordering in orderings])
        taus[index] = mean_of_defined(of_others.T)
    return taus


def consistency_of_halves(scores: Scores, *, seed: int) -> Floats:
    """Compute the system ranking consistency of each report measure, of shape (n_measures,).

    It is the mean tau-b between the orderings on two disjoint random halves of the users, over 50
    splits (`N_SPLITS`), which the analysis `users` makes, too, with the same seed. NaN for measures
    that are not reported, and where all systems tie in a half.
    """
    reported = scores.measures.indices(scores.measures.reported)
    values = scores.weighted_values[reported]
    n_users = len(scores.users)
    orders = [random_order(n_users, seed, split) for split in range(N_SPLITS)]
    taus = split_half_taus(values, np.stack(orders))
    consistency = np.full(len(scores.measures), np.nan)
    consistency[reported] = mean_of_defined(taus)
    return consistency
