"""Popularity bias: what loss of the judgements of popular items does to the ordering.

Figures 3 and 7 of Valcarce et al. (2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.drawing import axes_or_new, curves_of, draw_agreement
from analyses.measure import Measure
from analyses.ordering import tau_b
from analyses.sparsity import ScoreSamples
from qrels import Qrels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

CountedIn = Literal["train", "test", "all"]


@dataclass(frozen=True, eq=False)
class Popularity:
    """Agreement of every measure with itself when judgements of popular items are lost.

    Parameters
    ----------
    measures
        Label of the first axis.
    levels
        Shares of the items kept, the least popular first; label of the second axis.
    taus
        Kendall's tau-b with the full judgements, float64 of shape (n_measures, n_levels); NaN
        where all systems tie or no relevant judgement is left.
    n_kept
        Judgements left, of shape (n_levels,).
    counted_in
        The ratings in which popularity was counted: training, test, or both.
    n_items, n_systems, n_users
        Facts for the caption.
    """

    measures: tuple[Measure, ...]
    levels: tuple[float, ...]
    taus: NDArray[np.float64]
    n_kept: NDArray[np.int64]
    counted_in: CountedIn
    n_items: int
    n_systems: int
    n_users: int

    def to_frame(self) -> pd.DataFrame:
        """Columns metric, cutoff, level, tau, judgements, popularity."""
        import pandas as pd

        rows = [
            (
                measure.metric,
                measure.cutoff,
                level,
                self.taus[i, j],
                self.n_kept[j],
                self.counted_in,
            )
            for i, measure in enumerate(self.measures)
            for j, level in enumerate(self.levels)
        ]
        columns = ["metric", "cutoff", "level", "tau", "judgements", "popularity"]
        return pd.DataFrame(rows, columns=columns)

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw tau against the share of items kept: cut-offs of one metric, or the reverse.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric, cutoff
            Exactly one of them.
        """
        curves = curves_of(self.measures, metric=metric, cutoff=cutoff)
        ax = draw_agreement(axes_or_new(ax), self.levels, self.taus, curves)
        ax.set_xlabel("least popular items kept (%)")
        ax.set_title(metric if metric is not None else f"cut-off {cutoff}")
        return ax

    def caption(self) -> str:
        """Say what the curves are, and where popularity was counted."""
        where = {"train": "training ratings", "test": "judgements", "all": "ratings"}
        return (
            f"Kendall's tau-b between the ordering of {self.n_systems} systems on the judgements "
            f"of the least popular items and their ordering on all judgements of {self.n_users} "
            f"users. Popularity is the number of {where[self.counted_in]} of an item; levels "
            f"count items, of {self.n_items:,} in the catalogue. Runs are left as they are."
        )


def popularity(
    score_samples: ScoreSamples,
    qrels: Qrels,
    *,
    measures: Sequence[Measure],
    levels: Sequence[float],
    counts: NDArray[np.integer],
    counted_in: CountedIn,
) -> Popularity:
    """Score systems on the judgements of the least popular items, and compare their orderings.

    Parameters
    ----------
    score_samples
        Scores the systems under the judgements left at each level.
    qrels
        All judgements.
    measures
        Label of the first axis of what ``score_samples`` returns.
    levels
        Shares of the items to keep, in (0, 1].
    counts
        Number of ratings of every item, of shape (n_items,); -1 for those that are not in the
        catalogue.
    counted_in
        Where they were counted.
    """
    kept = keep_least_popular(qrels, counts, levels=levels)
    everything = np.ones((len(qrels.items), 1), dtype=np.bool_)
    means = score_samples(np.concatenate([everything, kept], axis=1)).transpose(0, 2, 1)
    taus = tau_b(means[:, 1:], means[:, :1])
    taus[:, ~(kept & qrels.relevant[:, None]).any(axis=0)] = np.nan
    return Popularity(
        measures=tuple(measures),
        levels=tuple(levels),
        taus=taus,
        n_kept=kept.sum(axis=0),
        counted_in=counted_in,
        n_items=int(np.count_nonzero(counts >= 0)),
        n_systems=means.shape[2],
        n_users=qrels.n_users,
    )


def keep_least_popular(
    qrels: Qrels, counts: NDArray[np.integer], *, levels: Sequence[float]
) -> NDArray[np.bool_]:
    """Keep the judgements of the round(level * n_items) least popular items.

    Equally popular items are taken by item number, so that levels are nested. The n_items of the
    catalogue are those whose count is not -1.

    Returns
    -------
    Masks of shape (n_judgements, n_levels).

    Examples
    --------
    Items 0, 1, 2 with 5, 9 and 5 ratings; two of three items are kept, then one:

    >>> qrels = Qrels(np.array([0, 3]), np.arange(3, dtype=np.int32),
    ...               np.ones(3, dtype=np.int32), relevance_level=1)
    >>> keep_least_popular(qrels, np.array([5, 9, 5]), levels=[2 / 3, 1 / 3]).T
    array([[ True, False,  True],
           [ True, False, False]])
    """
    n_items = np.count_nonzero(counts >= 0)
    place = np.empty(len(counts), dtype=np.int64)
    place[np.argsort(counts, kind="stable")] = np.arange(len(counts)) - (len(counts) - n_items)
    n_kept = [round(level * n_items) for level in levels]
    return place[qrels.items][:, None] < np.array(n_kept)
