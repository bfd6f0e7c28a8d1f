"""Shares of the contested pairs of systems: what a measure does with them, in one respect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyses.shared.contested_pairs import ContestedPairs
from analyses.shared.families import SubsetValues
from analyses.shared.limits import TAU_FACTOR, arcsine_limits, variance_stabilised
from analyses.shared.measure_estimates import Estimates
from runs.shared.arrays import Floats


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
        return Estimates(
            name=f"contested pairs: {best}",
            quantity="share of the contested pairs",
            subject=subject,
            best=best,
            measures=self.pairs.measures,
            values=self.shares,
            low=(1 + low) / 2,
            high=(1 + high) / 2,
            replicates=(1 + stabilised) / 2,
            systems=self.within,
        )


def shares_of_counts(agreements: Floats, n_pairs: Floats) -> Floats:
    """Turn counts of pairs in order less those not in order into shares of pairs in order.

    ``agreements`` and the numbers of pairs, whose shapes broadcast, give shares in [0, 1], in which
    a tied pair counts half; NaN where there is no pair.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        balance = agreements / n_pairs
    return np.asarray((1 + balance) / 2)
