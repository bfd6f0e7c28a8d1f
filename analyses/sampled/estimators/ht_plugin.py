"""The metric of ranks estimated from negatives of a known proposal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.shared.estimator import Estimator
from analyses.sampled.estimators.shared.tally import Tally
from analyses.sampled.expectation.metrics import RankMetric
from runs import InputError


@dataclass(frozen=True)
class HorvitzThompson(Estimator):
    r"""The metric of the estimated rank, :math:`\hat R = 1 + \frac1m \sum_{above} 1 / q_i`.

    The rank is estimated without bias from negatives drawn with replacement and probabilities
    :math:`q_i`; its metric is not, as that of `RankEstimate`, but for AUC. Estimates may lie below
    the last rank, where only AUC counts anything.

    References
    ----------
    Horvitz & Thompson (1952), A generalization of sampling without replacement from a finite
    universe; Hansen & Hurwitz (1943) for draws with replacement.

    Examples
    --------
    One negative, drawn with probability .25, is above:

    >>> from analyses.sampled.samples.sampled_ranks import SampledRanks
    >>> column = np.array([2])
    >>> sample = SampledRanks(
    ...     column, np.array([1]), np.array([9]), True, inverse_mass_above=np.array([4.0])
    ... )
    >>> print(HorvitzThompson().fit(sample).estimate("AP"))
    0.2
    """

    label = "HT"
    sums_ranks = False
    linear = False

    def check(self, tally: Tally) -> None:
        """Refuse samples without a proposal."""
        if tally.places is None:
            raise InputError(
                "HT needs the probabilities that negatives were drawn with (inverse_mass_above)."
            )

    def totals(
        self,
        tally: Tally,
        metrics: tuple[RankMetric, ...],
        masses: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        """Add up the metrics of the estimated ranks: (n_samples, n_metrics)."""
        irrelevant = np.array([group.n_irrelevant for group in tally.groups])
        orders, n_relevant = tally.cells[:, 1], tally.cells[:, 2]
        sizes = irrelevant[tally.cells[:, 0]] + n_relevant
        places = np.zeros(len(orders)) if tally.places is None else tally.places
        columns = [
            metric.summands(places, n=sizes, order=orders, n_relevant=n_relevant)
            for metric in metrics
        ]
        return tally.counts.T @ np.stack(columns, axis=1)
