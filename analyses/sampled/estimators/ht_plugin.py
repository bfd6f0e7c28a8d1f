"""The metric of ranks estimated from negatives of a known proposal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import draw_weights
from analyses.sampled.estimators.shared.cells import Cells
from analyses.sampled.estimators.shared.estimator import Estimator, Fits
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.samples.sampled_ranks import SampledRanks
from runs import InputError

Floats = NDArray[np.float64]


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
    >>> one = SampledRanks.of([2], n_negatives=1, n_candidates=9)
    >>> sample = replace(one, inverse_mass_above=np.array([4.0]))
    >>> HorvitzThompson().fit(sample).estimate("AP")
    array([0.2])
    """

    label = "HT"
    linear = False

    def fit_repeats(self, samples: Sequence[SampledRanks], *, path: str = "grid") -> WeightedFits:
        """Fit samples of a proposal; every user's own number of candidates is taken."""
        if any(one.inverse_mass_above is None for one in samples):
            raise InputError(
                "HT needs the probabilities that negatives were drawn with (inverse_mass_above)."
            )
        plain = [replace(one, inverse_mass_above=None) for one in samples]
        cells = Cells.of(plain, path=path)
        return WeightedFits(self, cells, self.learn, samples=tuple(samples))


@dataclass(frozen=True, eq=False)
class WeightedFits(Fits):
    """What `HorvitzThompson` makes of samples, or of resampled users of the first.

    Times are how often users were drawn: (n_replicates, n_users).
    """

    samples: tuple[SampledRanks, ...] = ()
    times: Floats | None = None

    def estimates(self, names: Sequence[str | RankMetric]) -> Floats:
        """Average the metrics of the estimated ranks: (n_samples, n_metrics)."""
        metrics = [rank_metric(name) for name in names]
        if self.times is not None:
            return self.times @ _of_users(self.samples[0], metrics) / self.times.shape[1]
        return np.stack([_of_users(one, metrics).mean(axis=0) for one in self.samples])

    def bootstrap(self, replicates: int, *, seed: int) -> WeightedFits:
        """Redraw users of the first sample, as `Fits.bootstrap` does."""
        draws = draw_weights(self.cells.n_users, replicates=replicates, seed=seed)
        return replace(self, times=np.concatenate([times for _, times in draws]))


def _of_users(sample: SampledRanks, metrics: Sequence[RankMetric]) -> Floats:
    """Score the estimated ranks of each user: (n_users, n_metrics)."""
    masses = np.zeros(len(sample)) if (of := sample.inverse_mass_above) is None else of
    ranks = masses / sample.n_negatives + sample.order
    asked = {"order": sample.order, "n_relevant": sample.n_relevant}
    scores = [metric.summands(ranks, n=sample.n_candidates, **asked) for metric in metrics]
    _, user = np.unique(sample.user, return_inverse=True)
    return np.stack([np.bincount(user, weights=each) for each in scores], axis=1)
