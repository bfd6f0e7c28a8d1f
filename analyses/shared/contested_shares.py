"""Shares of the contested pairs of systems: what a measure does with them, in one respect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyses.ordering.agreement import DECIMALS, ratio_or_nan
from analyses.shared.contested_pairs import ContestedPairs
from analyses.shared.families import SubsetValues
from analyses.shared.limits import TAU_FACTOR, arcsine_limits, variance_stabilised
from analyses.shared.measure_estimates import Estimates
from runs.shared.arrays import Floats, Masks


@dataclass(frozen=True, eq=False, repr=False)
class ContestedShares:
    """For each candidate measure: the share of the contested pairs that it gets right.

    What "right" means depends on the respect: a pair keeps its order when judgements are lost, is
    told apart, or is in the true order. A tie counts half. Shares are in [0, 1]; NaN where no pair
    is contested.

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
    within
        Shares within random subsets of the families of systems, (n_candidates, n_subsets).
    factor
        Standard deviation of shares over samples of users, relative to that of the replicates.
    """

    pairs: ContestedPairs
    shares: Floats
    shares_within_reach: Floats
    replicates: Floats
    within: SubsetValues
    factor: float = TAU_FACTOR

    def estimates(self, subject: str, best: str) -> Estimates:
        """Collect the shares with their 95 % intervals over users, for comparisons of measures.

        ``subject`` is what they are about ("Robustness to random loss of judgements"), ``best``
        what the best measure is most. Limits and replicates are those of differences of pairs in
        order and not in order, in [-1, 1], as for tau: on the scale of arcsines.
        """
        balances = 2 * self.shares - 1
        balances_of_replicates = 2 * self.replicates - 1
        low, high = arcsine_limits(balances, balances_of_replicates, factor=self.factor)
        stabilised = variance_stabilised(balances, balances_of_replicates, factor=self.factor)
        replicates = (1 + stabilised) / 2
        return Estimates(
            name=f"contested pairs: {best}",
            quantity="share of the contested pairs",
            subject=subject,
            best=best,
            measures=self.pairs.measures,
            values=self.shares,
            low=(1 + low) / 2,
            high=(1 + high) / 2,
            replicates=replicates,
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
