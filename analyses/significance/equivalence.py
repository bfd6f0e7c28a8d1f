"""Whether two systems are equivalent: differences within a bound that somebody named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr

from analyses.significance.paired import t_test
from analyses.significance.paired.user_differences import pair_means_and_deviations
from analyses.significance.permutation import pair_indices
from runs.shared.streams import random_words

PRIOR = 0.5
"""Weight of a difference of 0 that is added to those of the users (Benavoli et al. 2014)."""

WEIGHTS_AT_ONCE = 1 << 21


@dataclass(frozen=True, eq=False)
class Equivalence:
    """Whether pairs differ, or are equivalent; arrays are (n_measures, n_pairs).

    Parameters
    ----------
    bounds
        Differences up to here count as none, (n_measures,).
    p_different, p_equivalent
        p-values of the t-test, and of `equivalence_test`.
    posterior
        Chances that the second is practically better, none, or the first, of shape (n_measures,
        n_pairs, 3); see `signed_rank_posterior`. None if not asked for.
    """

    bounds: NDArray[np.float64]
    p_different: NDArray[np.float64]
    p_equivalent: NDArray[np.float64]
    posterior: NDArray[np.float64] | None

    def verdicts(self, alpha: float) -> NDArray[np.str_]:
        """Say "equivalent", "different" or, where neither is sure, "undecided"."""
        sure = [self.p_equivalent <= alpha, self.p_different <= alpha]
        return np.select(sure, ["equivalent", "different"], default="undecided")

    def columns(self, alpha: float) -> dict[str, NDArray[np.generic]]:
        """Give what stands in the table of pairs."""
        n_pairs = self.p_different.shape[1]
        columns: dict[str, NDArray[np.generic]] = {
            "bound": self.bounds.repeat(n_pairs),
            "p_different": self.p_different.ravel(),
            "p_equivalent": self.p_equivalent.ravel(),
            "verdict": self.verdicts(alpha).ravel(),
        }
        if self.posterior is not None:
            names = ("b_better", "neither", "a_better")
            chances = self.posterior.reshape(-1, 3).T
            columns |= dict(zip(names, chances, strict=True))
        return columns


def equivalence_of(
    values: NDArray[np.float64],
    pairs: NDArray[np.intp],
    bounds: NDArray[np.float64],
    *,
    draws: int,
    seed: int,
) -> Equivalence:
    """Test pairs, given by their numbers, of systems; without draws there is no posterior.

    Scores are of shape (n_measures, n_systems, n_users), bounds of (n_measures,).
    """
    first, second = (side[pairs] for side in pair_indices(values.shape[1]))
    means, deviations = (each[:, pairs] for each in pair_means_and_deviations(values))
    n_users = values.shape[2]
    posteriors = [
        signed_rank_posterior(scores[first] - scores[second], bound, draws=draws, seed=seed)
        for scores, bound in zip(values, bounds, strict=True)
        if draws > 0
    ]
    return Equivalence(
        bounds=bounds,
        p_different=t_test(values)[:, pairs],
        p_equivalent=equivalence_test(means, deviations, bounds[:, None], n_users=n_users),
        posterior=np.stack(posteriors) if posteriors else None,
    )


def equivalence_test(
    means: NDArray[np.float64],
    deviations: NDArray[np.float64],
    bounds: NDArray[np.float64],
    *,
    n_users: int,
) -> NDArray[np.float64]:
    r"""Test by two one-sided t-tests whether mean differences lie within bounds (TOST).

    The null hypothesis is that the difference is as large as the bound b, or larger:

    .. math:: p = P\left(T_{n-1} \ge \frac{b - |\bar d|}{s_d / \sqrt n}\right)

    is the larger of the two p-values. It is at most .05 where the 90 % interval of the difference
    lies within the bound.

    Parameters
    ----------
    means, deviations
        Of the differences of each pair, and their standard deviations.
    bounds
        Of a shape that goes with theirs.

    Returns
    -------
    p-values; where no user differs from another 0 within the bound, and 1 elsewhere.

    References
    ----------
    Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach.

    Examples
    --------
    The differences 0, 1 and 2 are surely within 5 of 0, and not surely within 2:

    >>> equivalence_test(np.array(1.0), np.array(1.0), np.array([5.0, 2.0]), n_users=3).round(3)
    array([0.01 , 0.113])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = (bounds - np.abs(means)) * np.sqrt(n_users) / deviations
    p = np.asarray(stdtr(n_users - 1, -statistics))
    return np.where(np.isnan(p), 1.0, p)


def signed_rank_posterior(
    differences: NDArray[np.float64], bounds: NDArray[np.float64], *, draws: int, seed: int
) -> NDArray[np.float64]:
    r"""Give the chances that one system, none, or the other is practically better.

    By the Bayesian signed-rank test with a region of practical equivalence: with random
    weights w of the users' differences z (a Dirichlet process whose prior is a difference of 0
    with the weight 0.5) a draw has

    .. math:: \theta_{>} = \sum_{i,j} w_i w_j \, [z_i + z_j > 2b],

    and so for those below -2 b and for the rest; it goes to the largest of the three. As Wilcoxon's
    test it is about the median of the means of two users, not about the mean.

    Parameters
    ----------
    differences
        First less second system, of shape (n_pairs, n_users).
    bounds
        Of shape (n_pairs,), or one.
    draws, seed
        Number of draws, the same for all pairs, and their seed.

    Returns
    -------
    Shares of the draws, of shape (n_pairs, 3): second better, equivalent, first better.

    References
    ----------
    Benavoli, Mangili, Corani, Zaffalon & Ruggeri (2014), A Bayesian Wilcoxon signed-rank test based
    on the Dirichlet process; Benavoli, Corani, Demšar & Zaffalon (2017), Time for a change.

    Examples
    --------
    >>> found = signed_rank_posterior(np.array([[0.3] * 20]), np.array([0.1]), draws=50, seed=0)
    >>> found
    array([[0., 0., 1.]])
    """
    n_pairs, n_users = differences.shape
    counts = np.zeros((n_pairs, 3))
    bounds = np.broadcast_to(bounds, n_pairs)
    at_once = max(1, WEIGHTS_AT_ONCE // (n_users + 1))
    for start in range(0, draws, at_once):
        weights = _weights(start, min(start + at_once, draws), n_users=n_users, seed=seed)
        for count, row, bound in zip(counts, differences, bounds, strict=True):
            count += np.bincount(_winners(row, float(bound), weights), minlength=3)
    return counts / draws


def _weights(start: int, stop: int, *, n_users: int, seed: int) -> NDArray[np.float64]:
    """Draw Dirichlet weights of the prior's difference and the users', (n_draws, 1 + n_users)."""
    words = np.stack([random_words(n_users + 1, seed, "dirichlet", n) for n in range(start, stop)])
    uniforms = ((words >> np.uint64(11)) + 0.5) * 2.0**-53
    drawn = -np.log(uniforms)
    # Gamma distributed with the shape 1/2, as half a squared normal is.
    drawn[:, 0] = ndtri(uniforms[:, 0]) ** 2 / 2
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


def _winners(
    differences: NDArray[np.float64], bound: float, weights: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Say which of the three is largest in each draw, for weights (n_draws, 1 + n_users)."""
    values = np.concatenate([[0.0], differences])
    order = np.argsort(values, kind="stable")
    ranked, shares = values[order], weights[:, order]
    summed = np.concatenate([np.zeros((len(shares), 1)), shares.cumsum(axis=1)], axis=1)
    below = (shares * _below(ranked, -2 * bound, summed)).sum(axis=1)
    above = (shares * (summed[:, -1:] - _below(ranked, 2 * bound, summed))).sum(axis=1)
    return np.argmax(np.stack([below, 1 - below - above, above]), axis=0)


def _below(
    ranked: NDArray[np.float64], limit: float, summed: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum the weights of what makes less than the limit with each value; half of what makes it."""
    partners = limit - ranked
    ends = [np.searchsorted(ranked, partners, side=side) for side in ("left", "right")]
    return np.asarray((summed[:, ends[0]] + summed[:, ends[1]]) / 2)
