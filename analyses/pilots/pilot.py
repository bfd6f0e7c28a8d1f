"""What a pilot tells of the users that measures need: numbers, before they are shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.shared.estimate import CONFIDENCE, joint_reach
from analyses.shared.measure import Measures
from analyses.significance.equivalence import Equivalence
from analyses.significance.in_words import count
from analyses.significance.permutation import pair_indices
from analyses.significance.split_halves import Agreement
from analyses.significance.variance_components import Components


@dataclass(frozen=True, eq=False)
class Pilot:
    """Users needed, by report measure, and how reliable means are.

    Numbers of users are whole float64, infinite where no number is enough.

    Parameters
    ----------
    measures
        Label of the first axis.
    systems, pairs
        Names, and numbers of the pairs that are not alike by every measure: the second axis of
        arrays (n_measures, n_pairs).
    n_users
        Of the pilot.
    means
        Absolute mean score of all systems and users, of shape (n_measures,).
    differences, deviations
        Mean difference of each pair, and its standard deviation over users: (n_measures, n_pairs).
    observed, relative
        Users with which the t-test finds the observed difference, and the relative one that was
        asked for: (n_measures, n_pairs).
    detectable
        Least mean difference that as many users as the pilot's find, (n_measures, n_pairs).
    simulated
        Power of the exact permutation test with the users of ``relative`` in the median pair, over
        users drawn from the pilot's; NaN where it was not tried: (n_measures,).
    needed
        Users with which the share of the pairs is expected to be significant, (n_measures,).
    replicates
        The same for effects that are possible given the pilot's, (n_measures, n_replicates).
    noise
        Part of the mean squared standardised difference that is the pilot's noise, (n_measures,).
    sizes, shares
        Numbers of users, and the expected share of significant pairs, (n_measures, n_sizes).
    components, halves
        Variance components, and agreement of random halves of the users.
    equivalence
        Of pairs, if a bound was named.
    difference, power, alpha, share, reliability, standardised, bound, simulations, seed
        What was asked: see :class:`analyses.design.Settings`.
    """

    measures: Measures
    systems: tuple[str, ...]
    pairs: NDArray[np.intp]
    n_users: int
    means: NDArray[np.float64]
    differences: NDArray[np.float64]
    deviations: NDArray[np.float64]
    observed: NDArray[np.float64]
    relative: NDArray[np.float64]
    detectable: NDArray[np.float64]
    simulated: NDArray[np.float64]
    needed: NDArray[np.float64]
    replicates: NDArray[np.float64]
    noise: NDArray[np.float64]
    sizes: NDArray[np.float64]
    shares: NDArray[np.float64]
    components: Components
    halves: Agreement
    equivalence: Equivalence | None
    difference: float
    power: float
    alpha: float
    share: float
    reliability: float
    standardised: str | None
    bound: float | None
    simulations: int
    seed: int

    @property
    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """95 % interval of ``needed``, each end of shape (n_measures,); NaN if unknown."""
        return _limits(self.replicates)

    def ratio(self, more: int, fewer: int) -> tuple[float, float, float]:
        """How many times the users of one measure another needs, with its 95 % interval.

        The measures, given by their numbers, see the same possible effects. Intervals are
        simultaneous: all ratios of two measures are within theirs in 95 % of the replicates (max-t
        on a logarithmic scale). NaN where nothing is known.
        """
        with np.errstate(invalid="ignore"):
            observed = float(self.needed[more] / self.needed[fewer])
        known = np.asarray(np.isfinite(self.replicates).all(axis=1))
        if self.replicates.shape[1] < 2 or not (known[more] and known[fewer]):
            return observed, np.nan, np.nan
        logs = np.log(self.replicates[known])
        first, second = pair_indices(len(logs))
        chosen = np.log(self.replicates[more]) - np.log(self.replicates[fewer])
        reach = joint_reach(logs[first] - logs[second]) * chosen.std(ddof=1)
        low, high = np.exp(chosen.mean() - reach), np.exp(chosen.mean() + reach)
        return observed, float(low), float(high)

    @property
    def detectable_shares(self) -> NDArray[np.float64]:
        """``detectable`` in the median pair, as a share of the mean score, (n_measures,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.median(self.detectable, axis=1) / self.means)

    def users_of(self, number: int) -> str:
        """Say how many users a measure needs, with the interval."""
        low, high = (end[number] for end in self.interval)
        limits = "" if np.isnan(low) else f" [{count(low)}, {count(high)}]"
        return f"{count(self.needed[number])}{limits}"


def _limits(replicates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the middle 95 % of replicates (..., n_replicates); NaN from fewer than two."""
    if replicates.shape[-1] < 2:
        return np.full(replicates.shape[:-1], np.nan), np.full(replicates.shape[:-1], np.nan)
    tails = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = np.quantile(replicates, tails, axis=-1, method="inverted_cdf")
    return low, high


def of_median_pair(users: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the users of the median pair, the lower of two."""
    return np.asarray(np.quantile(users, 0.5, axis=1, method="inverted_cdf"))
