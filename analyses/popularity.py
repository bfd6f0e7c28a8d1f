"""Popularity bias: what loss of the judgements of popular items does to the ordering.

Figures 3 and 7 of Valcarce et al. (2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.areas import Curves
from analyses.intervals.bands import Resampling, SumSamples
from analyses.ordering import tau_b
from analyses.ordering.agreement import IN_TABLES, further_coefficients
from analyses.shared.drawing import axes_or_new, curves_of, draw_agreement
from analyses.shared.measure import Measure
from qrels import Qrels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

CountedIn = Literal["train", "test", "all"]
Cut = Literal["items", "ratings"]
Removed = Literal["most popular", "least popular"]

RATINGS_IN_WORDS = {"train": "training ratings", "test": "judgements", "all": "ratings"}
TOLERANCE = 1e-9
"""Share of all ratings by which a sum of them may miss what is asked for: rounding of levels."""


@dataclass(frozen=True, eq=False)
class Popularity:
    """Agreement of every measure with itself when judgements of popular items are lost.

    Parameters
    ----------
    measures
        Label of the first axis.
    levels
        Shares kept, label of the second axis.
    taus
        Kendall's tau-b with the full judgements, float64 of shape (n_measures, n_levels); NaN
        where all systems tie or no relevant judgement is left.
    coefficients
        The same by further coefficient; NaN too where it is undefined.
    replicates
        The same with other users, drawn with replacement from those that there are; float64 of
        shape (n_measures, n_levels, n_replicates).
    n_kept
        Judgements left, of shape (n_levels,).
    cut
        What levels are shares of: the items, or the ratings that these have.
    removed
        Which items go first.
    counted_in
        The ratings in which popularity was counted: training, test, or both.
    n_items, n_systems, n_users, seed
        Facts for the caption.
    """

    measures: tuple[Measure, ...]
    levels: tuple[float, ...]
    taus: NDArray[np.float64]
    coefficients: Mapping[str, NDArray[np.float64]]
    replicates: NDArray[np.float64]
    n_kept: NDArray[np.int64]
    cut: Cut
    removed: Removed
    counted_in: CountedIn
    n_items: int
    n_systems: int
    n_users: int
    seed: int

    def band(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """95 % band of the taus over users, of shape (n_measures, n_levels) each."""
        return self._curves().band()

    def areas(self) -> pd.DataFrame:
        """Areas under the curves with their intervals: `analyses.intervals.areas.Curves`."""
        return self._curves().areas()

    def area_differences(self, *, cutoff: int | None = None) -> pd.DataFrame:
        """Paired differences of areas; see `analyses.intervals.areas.Curves.differences`."""
        return self._curves().differences(cutoff=cutoff)

    def _curves(self) -> Curves:
        return Curves(self.measures, self.levels, self.taus, self.replicates)

    def to_frame(self) -> pd.DataFrame:
        """One row per measure and level.

        Returns
        -------
        Columns metric, cutoff, level, tau, low, high (95 %, over users), judgements (left), cut,
        removed, counted_in, and one for each further coefficient, by its name.
        """
        import pandas as pd

        n_measures, n_levels = self.taus.shape
        low, high = self.band()
        return pd.DataFrame(
            {
                "metric": np.repeat([m.metric for m in self.measures], n_levels),
                "cutoff": np.repeat([m.cutoff for m in self.measures], n_levels),
                "level": np.tile(self.levels, n_measures),
                "tau": self.taus.ravel(),
                "low": low.ravel(),
                "high": high.ravel(),
                "judgements": np.tile(self.n_kept, n_measures),
                "cut": self.cut,
                "removed": self.removed,
                "counted_in": self.counted_in,
                **{name: values.ravel() for name, values in self.coefficients.items()},
            }
        )

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw tau against the share kept: cut-offs of one metric, or metrics at one cut-off.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric, cutoff
            Exactly one of them. Metrics at one cut-off have their bands drawn.
        """
        curves = curves_of(self.measures, metric=metric, cutoff=cutoff)
        band = self.band() if cutoff is not None and self.replicates.size else None
        ax = draw_agreement(axes_or_new(ax), self.levels, self.taus, curves, band=band)
        stay = "least popular" if self.removed == "most popular" else "most popular"
        of = "items" if self.cut == "items" else "items' share of the ratings"
        ax.set_xlabel(f"{stay} {of} kept (%)")
        ax.set_title(metric if metric is not None else f"cut-off {cutoff}")
        return ax

    def caption(self) -> str:
        """Say what the curves are, and where popularity was counted."""
        stay = "least popular" if self.removed == "most popular" else "most popular"
        of = "items" if self.cut == "items" else "ratings that the items have,"
        return (
            f"Kendall's tau-b between the ordering of {self.n_systems} systems on the judgements "
            f"of the {stay} items and their ordering on all judgements of {self.n_users:,} "
            f"users. Popularity is the number of {RATINGS_IN_WORDS[self.counted_in]} of an item; "
            f"levels count {of} of {self.n_items:,} in the catalogue. Runs are left as they are."
            f"{self._band_in_words()}{IN_TABLES}"
        )

    def _band_in_words(self) -> str:
        n_replicates = self.replicates.shape[2]
        return (
            " Bands, drawn for metrics at one cut-off, and intervals in tables: 95 % bootstrap "
            f"({n_replicates:,} replicates, seed {self.seed}) over users, in random blocks, "
            "centred on the curve."
            if n_replicates
            else ""
        )


def popularity(
    sum_samples: SumSamples,
    qrels: Qrels,
    *,
    measures: Sequence[Measure],
    levels: Sequence[float],
    counts: NDArray[np.integer],
    counted_in: CountedIn,
    cut: Cut = "items",
    removed: Removed = "most popular",
    replicates: int = 0,
    seed: int = 0,
) -> Popularity:
    """Score systems on the judgements of the least popular items, and compare their orderings.

    Parameters
    ----------
    sum_samples
        Scores the systems under the judgements left at each level.
    qrels
        All judgements.
    measures
        Label of the first axis of what ``sum_samples`` returns.
    levels
        Shares of the items, or of their ratings, to keep; in (0, 1].
    counts
        Number of ratings of every item, of shape (n_items,); -1 for those that are not in the
        catalogue.
    counted_in
        Where they were counted.
    cut
        What levels are shares of.
    removed
        "least popular" is the control: what as many items, or ratings, do that are not popular.
    replicates, seed
        Bootstrap replicates of each curve, 0 for none, and their seed.
    """
    resampling = Resampling.of(qrels.n_users, replicates=replicates, seed=seed)
    kept = keep_items(qrels, counts, levels=levels, cut=cut, removed=removed)
    everything = np.ones((len(qrels.items), 1), dtype=np.bool_)
    both = np.concatenate([kept, everything], axis=1)
    sums = sum_samples(both, blocks=resampling.blocks)
    means = sums.sum(axis=1).swapaxes(1, 2) / qrels.n_users
    taus = tau_b(means[:, :-1], means[:, -1:])
    coefficients = further_coefficients(means[:, :-1], means[:, -1:])
    replicated = resampling.taus(sums[..., :-1], sums[..., -1])
    without_relevant = ~(kept & qrels.relevant[:, None]).any(axis=0)
    for agreements in (taus, replicated, *coefficients.values()):
        agreements[:, without_relevant] = np.nan
    return Popularity(
        measures=tuple(measures),
        levels=tuple(levels),
        taus=taus,
        coefficients=coefficients,
        replicates=replicated,
        n_kept=kept.sum(axis=0),
        cut=cut,
        removed=removed,
        counted_in=counted_in,
        n_items=int(np.count_nonzero(counts >= 0)),
        n_systems=means.shape[2],
        n_users=qrels.n_users,
        seed=seed,
    )


def keep_items(
    qrels: Qrels,
    counts: NDArray[np.integer],
    *,
    levels: Sequence[float],
    cut: Cut = "items",
    removed: Removed = "most popular",
) -> NDArray[np.bool_]:
    """Keep the judgements of items that are not among the most (or least) popular.

    Of the n_items of the catalogue, those whose count is not -1, round(level * n_items) are kept;
    or, where levels are shares of the ratings, the fewest items are removed that together have at
    least 1 - level of them. Of equally popular items the one with the higher number counts as
    more popular, so that levels are nested.

    Returns
    -------
    Masks of shape (n_judgements, n_levels).

    Examples
    --------
    Items 0, 1, 2 with 5, 9 and 5 ratings; two of three items are kept, then one:

    >>> qrels = Qrels(np.array([0, 3]), np.arange(3, dtype=np.int32),
    ...               np.ones(3, dtype=np.int32), relevance_level=1)
    >>> keep_items(qrels, np.array([5, 9, 5]), levels=[2 / 3, 1 / 3]).T
    array([[ True, False,  True],
           [ True, False, False]])

    Item 1 alone has more than 40 % of the 19 ratings:

    >>> keep_items(qrels, np.array([5, 9, 5]), levels=[1.0, 0.6], cut="ratings").T
    array([[ True,  True,  True],
           [ True, False,  True]])
    """
    n_items = int(np.count_nonzero(counts >= 0))
    by_count = np.argsort(counts, kind="stable")[len(counts) - n_items :]
    leaving = by_count[::-1] if removed == "most popular" else by_count
    place = np.full(len(counts), n_items)
    place[leaving] = np.arange(n_items)
    n_removed = [_n_removed(counts[leaving], level, cut=cut) for level in levels]
    return place[qrels.items][:, None] >= np.array(n_removed)


def _n_removed(counts: NDArray[np.integer], level: float, *, cut: Cut) -> int:
    """Say how many items go, given the ratings of each in the order in which they go."""
    if cut == "items":
        return len(counts) - round(level * len(counts))
    gone = np.concatenate([[0], np.cumsum(counts)])
    return int(np.searchsorted(gone, (1 - level - TOLERANCE) * gone[-1]))
