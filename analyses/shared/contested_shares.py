"""Shares of the contested pairs of systems: what a measure does with them, in one respect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyses.ordering.agreement import DECIMALS, mean_of_defined, ratio_or_nan
from analyses.shared.contested_pairs import ContestedPairs
from analyses.shared.draws import Draws
from analyses.shared.families import SubsetValues
from analyses.shared.limits import NORMAL_QUANTILE, standard_deviations
from analyses.shared.measure_estimates import Estimates
from runs.shared.arrays import Floats, Masks


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
        What the replicates draw, of users and of runs of systems.
    within
        Shares within random subsets of the families of systems, (n_candidates, n_subsets).

    References
    ----------
    Breiman (1996), Bagging predictors, Machine Learning 24. Buhlmann & Yu (2002), Analyzing
    bagging, The Annals of Statistics 30(4).
    """

    pairs: ContestedPairs
    shares: Floats
    shares_within_reach: Floats
    replicates: Floats
    draws: Draws
    within: SubsetValues

    def mean_shares(self) -> Floats:
        """Average the shares over resampled users, (n_candidates,); as they are without these."""
        if not self.replicates.shape[1]:
            return self.shares
        return mean_of_defined(self.replicates)

    def deviations(self) -> Floats:
        """Compute how mean shares vary over samples of users: (n_candidates, n_replicates).

        Deviations of the replicates from their means, made smaller: a mean varies by what of them
        is linear in the draws (`Draws.linear_share`). The share that is linear is one for all
        candidates, that of their differences from one another, which are what is compared.
        """
        deviations = self.replicates - self.mean_shares()[:, np.newaxis]
        defined = np.nan_to_num(deviations)
        if len(defined) > 1:
            defined = defined - defined.mean(axis=0)
        return deviations * np.sqrt(self.draws.linear_share(defined))

    def estimates(self, subject: str, best: str) -> Estimates:
        """Collect the mean shares with their 95 % intervals over users, to compare measures.

        ``subject`` is what they are about ("Robustness to random loss of judgements"), ``best``
        what the best measure is most. Intervals are normal ones.
        """
        means = self.mean_shares()
        deviations = self.deviations()
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
