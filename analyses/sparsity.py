"""Sparsity bias: what random loss of judgements does to the ordering of the systems.

Figures 2 and 6 of Valcarce et al. (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import joblib
import numpy as np
from numpy.typing import NDArray

from analyses.drawing import axes_or_new, curves_of, draw_agreement
from analyses.measure import Measure
from analyses.ordering import tau_b
from analyses.streams import random_words
from qrels import Qrels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class ScoreSamples(Protocol):
    """Mean scores under changed judgements."""

    def __call__(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Score masks of shape (n_judgements, n_samples): (n_measures, n_systems, n_samples)."""


@dataclass(frozen=True, eq=False)
class Sparsity:
    """Agreement of every measure with itself when judgements are lost at random.

    Parameters
    ----------
    measures
        Label of the first axis.
    levels
        Shares of the judgements kept, label of the second axis.
    taus
        Kendall's tau-b of every sample with the full judgements, float64 of shape
        (n_measures, n_levels, n_samples); NaN where all systems tie.
    without_relevant
        Mean number of users left without a relevant item, of shape (n_levels,).
    n_systems, n_users, n_judgements, seed
        Facts for the caption.
    """

    measures: tuple[Measure, ...]
    levels: tuple[float, ...]
    taus: NDArray[np.float64]
    without_relevant: NDArray[np.float64]
    n_systems: int
    n_users: int
    n_judgements: int
    seed: int

    @property
    def n_samples(self) -> int:
        """Samples per level."""
        return self.taus.shape[2]

    @property
    def undefined(self) -> NDArray[np.intp]:
        """Samples whose tau is undefined, of shape (n_measures, n_levels)."""
        return np.count_nonzero(np.isnan(self.taus), axis=2)

    def means(self) -> NDArray[np.float64]:
        """Mean tau of the samples in which it is defined, of shape (n_measures, n_levels)."""
        defined = self.n_samples - self.undefined
        total = np.nansum(self.taus, axis=2)
        return np.divide(total, defined, out=np.full(total.shape, np.nan), where=defined > 0)

    def to_frame(self) -> pd.DataFrame:
        """Columns metric, cutoff, level, tau, sd, samples, undefined, users_without_relevant."""
        import pandas as pd

        means, undefined = self.means(), self.undefined
        rows = [
            (
                measure.metric,
                measure.cutoff,
                level,
                means[i, j],
                _deviation(self.taus[i, j]),
                self.n_samples,
                undefined[i, j],
                self.without_relevant[j],
            )
            for i, measure in enumerate(self.measures)
            for j, level in enumerate(self.levels)
        ]
        columns = ["metric", "cutoff", "level", "tau", "sd", "samples", "undefined"]
        return pd.DataFrame(rows, columns=[*columns, "users_without_relevant"])

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw mean tau against the share kept: cut-offs of one metric, or metrics at one cut-off.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric, cutoff
            Exactly one of them.
        """
        curves = curves_of(self.measures, metric=metric, cutoff=cutoff)
        ax = draw_agreement(axes_or_new(ax), self.levels, self.means(), curves)
        ax.set_xlabel("judgements kept (%)")
        ax.set_title(metric if metric is not None else f"cut-off {cutoff}")
        return ax

    def caption(self) -> str:
        """Say what the curves are, and how many samples they could not use."""
        undefined = int(self.undefined.sum())
        note = (
            f" In {undefined} samples all systems tied and tau is undefined." if undefined else ""
        )
        return (
            f"Mean Kendall's tau-b between the ordering of {self.n_systems} systems on "
            f"{self.n_samples} random samples of the {self.n_judgements:,} judgements of "
            f"{self.n_users:,} users and their ordering on all of them. Judgements are drawn "
            "without replacement over the whole test set, relevant and non-relevant alike; users "
            f"left without judgements score 0 (seed {self.seed}).{note}"
        )


def sparsity(
    score_samples: ScoreSamples,
    qrels: Qrels,
    *,
    measures: Sequence[Measure],
    levels: Sequence[float],
    n_samples: int,
    seed: int,
    n_jobs: int = 1,
    advance: Callable[[], None] = lambda: None,
) -> Sparsity:
    """Score systems on random samples of the judgements, and compare their orderings.

    Parameters
    ----------
    score_samples
        Scores the systems under the judgements left in each sample.
    qrels
        All judgements.
    measures
        Label of the first axis of what ``score_samples`` returns.
    levels
        Shares of the judgements to keep, in (0, 1].
    n_samples
        Samples per level.
    seed
        Sample k of a level depends on (seed, level, k) alone.
    n_jobs
        Levels scored at a time, in threads; the result does not depend on it.
    advance
        Called after every level.

    References
    ----------
    Buckley & Voorhees (2004); Valcarce et al. (2018), section 4.1.
    """
    everything = np.ones((len(qrels.items), 1), dtype=np.bool_)
    reference = score_samples(everything)[:, :, 0]

    def study(level: float) -> tuple[NDArray[np.float64], float]:
        kept = sample_judgements(len(qrels.items), level=level, n_samples=n_samples, seed=seed)
        means = score_samples(kept).transpose(0, 2, 1)
        return tau_b(means, reference[:, None, :]), _without_relevant(qrels, kept)

    taus, without = [], []
    tasks = (joblib.delayed(study)(level) for level in levels)
    workers = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    for level_taus, users in workers(tasks):
        taus.append(level_taus)
        without.append(users)
        advance()
    return Sparsity(
        measures=tuple(measures),
        levels=tuple(levels),
        taus=np.stack(taus, axis=1),
        without_relevant=np.array(without),
        n_systems=reference.shape[1],
        n_users=qrels.n_users,
        n_judgements=len(qrels.items),
        seed=seed,
    )


def sample_judgements(
    n_judgements: int, *, level: float, n_samples: int, seed: int
) -> NDArray[np.bool_]:
    """Keep round(level * n_judgements) judgements, at least one, without replacement.

    Returns
    -------
    Masks of shape (n_judgements, n_samples).

    Examples
    --------
    >>> sample_judgements(10, level=0.35, n_samples=3, seed=1).sum(axis=0)
    array([4, 4, 4])
    """
    n_kept = max(1, round(level * n_judgements))
    kept = np.empty((n_samples, n_judgements), dtype=np.bool_)
    for sample in range(n_samples):
        words = random_words((n_judgements + 1) // 2, seed, "sparsity", round(level * 1e9), sample)
        kept[sample] = _lowest(words.astype("<u8").view("<u4")[:n_judgements], n_kept)
    return np.ascontiguousarray(kept.T)


def _lowest(keys: NDArray[np.uint32], n_kept: int) -> NDArray[np.bool_]:
    """Choose the lowest keys, of equal ones at the border the first."""
    border = np.partition(keys, n_kept - 1)[n_kept - 1]
    chosen = keys < border
    chosen[np.flatnonzero(keys == border)[: n_kept - np.count_nonzero(chosen)]] = True
    return chosen


def _without_relevant(qrels: Qrels, kept: NDArray[np.bool_]) -> float:
    """Count the users without a relevant judgement, in the mean over samples (bits of a byte)."""
    users = qrels.users[qrels.relevant]
    firsts = np.flatnonzero(np.diff(users, prepend=-1))
    samples = np.packbits(kept[qrels.relevant], axis=1)
    has_relevant = np.bitwise_or.reduceat(samples, firsts, axis=0)
    n_with = np.unpackbits(has_relevant, axis=1, count=kept.shape[1]).sum(axis=0)
    return float(qrels.n_users - n_with.mean())


def _deviation(taus: NDArray[np.float64]) -> float:
    defined = taus[~np.isnan(taus)]
    return float(defined.std(ddof=1)) if len(defined) > 1 else float("nan")
