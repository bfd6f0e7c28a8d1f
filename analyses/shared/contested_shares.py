"""Shares of the contested pairs of systems: what a measure does with them, in one respect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyses.ordering.agreement import DECIMALS, mean_of_defined, ratio_or_nan
from analyses.shared.contested_pairs import ContestedPairs
from analyses.shared.families import SubsetValues
from analyses.shared.limits import NORMAL_QUANTILE, standard_deviations
from analyses.shared.measure_estimates import Estimates
from runs.shared.arrays import Floats, Masks

DEVIATION_FACTOR = 1.5
"""Standard deviation of shares over samples of users, relative to that of `linear_replicates`.

Replicates compare the pairs that are contested by all users; of other users, others are contested.
Measured: 1.0 to 1.4 for losses and 1.1 to 2.0 for power, in the simulations of
docs/methods/answer.md.
"""


@dataclass(frozen=True, eq=False, repr=False)
class ContestedShares:
    """For each candidate measure: the share of the contested pairs that it gets right.

    What "right" means depends on the respect: a pair keeps its order when judgements are lost, is
    told apart, or is in the true order. A tie counts half. Shares are in [0, 1]; NaN where no pair
    is contested.

    A pair of systems with nearly equal scores is right or not by chance. Measures are compared by
    means of shares over resampled users (bagging), which vary about half as much over samples of
    users as the shares do.

    Parameters
    ----------
    pairs
        The contested pairs, and the candidates.
    shares
        Shares of the contested pairs, of shape (n_candidates,).
    shares_within_reach
        The same of all pairs of systems within reach.
    replicates
        Shares of the contested pairs with other users, (n_candidates, n_replicates).
    draws
        How often each replicate draws each group of users, and each run of a system, of shape
        (n_replicates, n_draws).
    within
        Shares within random subsets of the families of systems, (n_candidates, n_subsets).

    References
    ----------
    Breiman (1996), Bagging predictors. Buhlmann & Yu (2002), Analyzing bagging, Annals of
    Statistics 30(4). Efron (2014), Estimation and accuracy after model selection, Journal of the
    American Statistical Association 109(507).
    """

    pairs: ContestedPairs
    shares: Floats
    shares_within_reach: Floats
    replicates: Floats
    draws: Floats
    within: SubsetValues

    def mean_shares(self) -> Floats:
        """Average the shares over resampled users, (n_candidates,); as they are without these."""
        if not self.replicates.shape[1]:
            return self.shares
        return mean_of_defined(self.replicates)

    def linear_replicates(self) -> Floats:
        """Compute what of the replicates is linear in the draws, (n_candidates, n_replicates).

        Mean shares vary by this over samples of users: the rest is averaged away. It is found by
        least squares, in place of the covariances with the draws of single users (Efron 2014),
        which would need more replicates than users.
        """
        if not self.replicates.shape[1]:
            return self.replicates
        deviations = self.replicates - self.mean_shares()[:, np.newaxis]
        is_undefined = np.isnan(deviations)
        draws = self.draws - self.draws.mean(axis=0)
        effects, *_ = np.linalg.lstsq(draws, np.where(is_undefined, 0.0, deviations).T)
        linear = (draws @ effects).T
        return np.where(is_undefined, np.nan, linear)

    def estimates(self, subject: str, best: str) -> Estimates:
        """Collect the mean shares with their 95 % intervals over users, to compare measures.

        ``subject`` is what they are about ("Robustness to random loss of judgements"), ``best``
        what the best measure is most. Intervals are normal ones.
        """
        means = self.mean_shares()
        deviations = DEVIATION_FACTOR * self.linear_replicates()
        half_widths = NORMAL_QUANTILE * standard_deviations(deviations)
        return Estimates(
            name=f"contested pairs: {best}",
            quantity="share of the contested pairs",
            subject=subject,
            best=best,
            measures=self.pairs.measures,
            values=means,
            low=np.maximum(means - half_widths, 0.0),
            high=np.minimum(means + half_widths, 1.0),
            replicates=means[:, np.newaxis] + deviations,
            systems=self.within,
        )


def shares_in_order(
    estimates: Floats, references: Floats, sets: Masks, *, scale: float = 10.0**DECIMALS
) -> Floats:
    """Compute the share of the pairs of each set that samples order as the reference does.

    A pair that ties in a sample or in the reference counts half. NaN for a set without pairs.

    Parameters
    ----------
    estimates
        Scores of shape (n_replicates, n_systems, n_samples), of which higher ones are better.
    references
        Scores of shape (n_replicates, n_systems), likewise.
    sets
        Marks of the pairs of each set, of shape (n_sets, n_pairs).
    scale
        Scores that are the same whole number when multiplied by the scale, and rounded, are tied.

    Returns
    -------
    Shares in [0, 1], of shape (n_replicates, n_sets, n_samples).
    """
    from analyses.ordering.loops import pair_agreements

    n_pairs_of_sets = np.count_nonzero(sets, axis=1)[:, np.newaxis]
    agreements = pair_agreements(estimates, references, scale, sets)
    return (1 + ratio_or_nan(agreements, n_pairs_of_sets)) / 2
