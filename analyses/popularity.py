"""Popularity: how loss of the judgements of popular items changes the ordering.

Figures 3 and 7 of Valcarce et al. (2018).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.intervals.areas import HIGHER_IS_BETTER, Curves, area
from analyses.intervals.block_resampling import Resampling
from analyses.intervals.resampling import sum_over_runs
from analyses.intervals.systems import subset_taus
from analyses.ordering import tau_b
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.ordering.coefficients import further_coefficients
from analyses.shared.analysis import analysis
from analyses.shared.families import Families, SubsetValues
from analyses.shared.judgement_samples import RATINGS_IN_WORDS, CountedSettings, percent_grid
from analyses.shared.measure import Measures, tidy
from analyses.shared.number_format import percent
from analyses.shared.result import Result, figure
from analyses.shared.work import CountedIn, SumSamples, Work
from qrels import Qrels
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.errors import counted
from runs.shared.fields import offsets_of
from runs.shared.settings import Levels, Repeats
from runs.shared.streams import random_words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.measure_estimates import Estimates

Cut = Literal["items", "ratings"]
Removed = Literal["most popular", "least popular"]

Choice = tuple[Cut, Removed, CountedIn]
"""What a level is a share of, which items go first, and where popularity is counted."""

LEAST_AREA = 0.5
"""Measures with a smaller mean tau are not robust; see docs/methods/thresholds.md."""

TOLERANCE = 1e-9
"""Share of all ratings by which a sum of them may miss what is asked for: rounding of levels."""


class Settings(CountedSettings):
    """Loss of the judgements of popular items."""

    section = "popularity"

    levels: Levels = Field(
        percent_grid(100, 79, -1),
        description="Shares of the items, or of their ratings, to keep.",
    )
    cut: Cut = Field(
        "items", description="Whether a level is a share of the items or of their ratings."
    )
    orders: Repeats = Field(
        10, ge=1, description="Number of random orders of equally popular items to average over."
    )
    replicates: Repeats = Field(200, ge=0, description="Bootstrap replicates; 0: no intervals.")


@analysis(
    "popularity",
    source="Valcarce et al. (2018), Figures 3 and 7",
    question="Do the measures keep their ordering without judgements of popular items?",
)
def popularity(work: Work, settings: Settings) -> Popularity:
    """Compare the orderings of the systems on the judgements of unpopular items and on all.

    Checks hold the results of other choices: levels as shares of the items or of their ratings,
    popularity counted in other ratings, and, as a control, removal of the least popular items.
    """
    counted_in, _ = settings.item_counts(work)
    counts = work.popularity_counts
    chosen: Choice = (settings.cut, "most popular", counted_in)
    every = [chosen, *(c for c in product(get_args(Cut), get_args(Removed), counts) if c != chosen)]
    sum_samples = work.rescorer(len(settings.levels) * (settings.orders + len(every) - 1))
    found = [
        _removal(choice, sum_samples, work, settings, is_chosen=choice == chosen)
        for choice in work.steps("Taking popular items away", len(every), every)
    ]
    return Popularity(
        measures=work.scores.measures,
        levels=settings.levels,
        orders=settings.orders,
        chosen=found[0],
        checks=tuple(found[1:]),
        n_items=int(np.count_nonzero(counts[counted_in] >= 0)),
        families=work.families,
        n_users=work.qrels.n_users,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Removal:
    """Agreement of every measure with itself when judgements of some items are lost.

    Parameters
    ----------
    cut
        What levels are shares of: the items, or the ratings that these have.
    removed
        The items that go first.
    counted_in
        The ratings in which popularity was counted: training, test, or both.
    taus
        Kendall's tau-b with the full judgements, in the mean over random orders of equally popular
        items in which it is defined; float64 of shape (n_measures, n_levels). NaN where all systems
        tie or no relevant judgement is left.
    deviations
        Standard deviation of tau over these orders, of the same shape; NaN below two.
    coefficients
        The mean by further coefficient; NaN too where it is undefined.
    replicates
        The mean tau with other users, drawn with replacement from those that there are; float64 of
        shape (n_measures, n_levels, n_replicates).
    within
        Areas under the curves in random subsets of the systems.
    n_kept
        Judgements left, in the mean over the orders, of shape (n_levels,).
    """

    cut: Cut
    removed: Removed
    counted_in: CountedIn
    taus: Floats
    deviations: Floats
    coefficients: Mapping[str, Floats]
    replicates: Floats
    within: SubsetValues
    n_kept: Floats


@dataclass(frozen=True, eq=False)
class Popularity(Result):
    """Agreement of every measure with itself when judgements of popular items are lost.

    Parameters
    ----------
    measures
        Label of the first axis.
    levels
        Shares kept, label of the second axis.
    orders
        Random orders of equally popular items, over which what was chosen is averaged.
    chosen
        What was found of the choice that was made.
    checks
        The same of other choices of ``cut``, of the items that go first, and of ``counted_in``;
        without replicates.
    families
        The families of the systems.
    n_items, n_users
        Facts for the caption.
    """

    measures: Measures
    levels: tuple[float, ...]
    orders: int
    chosen: Removal
    checks: tuple[Removal, ...]
    n_items: int
    families: Families
    n_users: int

    @property
    def curves(self) -> Curves:
        """The taus, with their bands and areas."""
        found = self.chosen
        return Curves(
            self.measures, self.levels, found.taus, found.replicates, found.within, self.families
        )

    def estimates(self) -> Estimates:
        """Areas under the curves with their intervals."""
        return self.curves.estimates(
            loss="loss of the judgements of popular items", threshold=LEAST_AREA
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``popularity`` with ``..._areas`` and ``..._area_differences``, and the checks."""
        import pandas as pd

        frame = self._frame(self.chosen)
        for place, limits in enumerate(self.curves.band):
            frame.insert(5 + place, ("low", "high")[place], limits.ravel())
        checks = [self._frame(check) for check in self.checks]
        return {
            "popularity": frame,
            "popularity_areas": self.curves.areas(),
            "popularity_area_differences": self.estimates().differences(),
            "popularity_checks": pd.concat(checks, ignore_index=True),
        }

    def _frame(self, found: Removal) -> pd.DataFrame:
        return tidy(
            self.measures,
            {"level": self.levels},
            tau=found.taus,
            sd=found.deviations,
            judgements=found.n_kept,
            cut=found.cut,
            removed=found.removed,
            counted_in=found.counted_in,
            **found.coefficients,
        )

    @figure(
        "popularity_cutoffs",
        "Robustness to loss of the judgements of popular items, by cut-off",
        number=3,
        panels="metric",
        over_cutoffs=True,
    )
    @figure("popularity_metrics", "Robustness to loss of the judgements of popular items", number=7)
    def plot(self, ax: Axes, *, metric: str | None = None) -> None:
        """Draw tau against the share kept: cut-offs of one metric, or metrics at one cut-off.

        Metrics have their bands drawn.
        """
        self.curves.plot(ax, metric=metric, over=self.units)
        of = "items" if self.chosen.cut == "items" else "items, by ratings,"
        ax.set_xlabel(f"least popular {of} kept (%)")

    def cautions(self) -> Sequence[str]:
        """Name the metrics whose ordering never changes."""
        return self.curves.cautions()

    def caption(self) -> str:
        """Say what the curves are, and where popularity was counted."""
        ratings = RATINGS_IN_WORDS[self.chosen.counted_in]
        shares = f"the {self.n_items:,} items"
        if self.chosen.cut == "ratings":
            shares = f"the {ratings} of {shares}"
        n_systems = self.families.n_systems
        return (
            f"Kendall's tau-b between the orderings of {n_systems} systems on the judgements "
            "of the least popular items and on all judgements of "
            f"{counted(self.n_users, self.unit)}. "
            f"Shares are of {shares}, and areas are mean taus from {percent(max(self.levels))} to "
            f"{percent(min(self.levels))} of them; popularity is an item's number of {ratings}. "
            f"Equally popular items are removed in random order: mean of "
            f"{counted(self.orders, 'order')}. "
            f"{HIGHER_IS_BETTER}"
        )


def _removal(
    choice: Choice, sum_samples: SumSamples, work: Work, settings: Settings, *, is_chosen: bool
) -> Removal:
    """Compare the orderings on the judgements kept with those on all.

    Only what is chosen has bands, subsets, and several orders of equally popular items.
    """
    qrels, runs, measures = work.qrels, work.scores.runs, work.scores.measures
    cut, removed, where = choice
    levels, counts = settings.levels, work.popularity_counts[where]
    replicates, orders = (settings.replicates, settings.orders) if is_chosen else (0, 1)
    every = work.families.subsets(seed=work.seed)
    subsets = every if is_chosen else every[:0]
    resampling = Resampling.of(qrels.n_users, replicates=replicates, seed=work.seed, runs=runs)
    ties = (random_words(len(counts), work.seed, "popularity", order) for order in range(orders))
    how: Any = {"levels": levels, "cut": cut, "removed": removed}
    kept = (keep_items(qrels, counts, ties=own, **how) for own in ties)
    # Where no items at a cut are equally popular, orders keep the same judgements.
    flat, of_order = _distinct(kept)
    sums = sum_samples(flat, blocks=resampling.blocks)
    means = sum_over_runs(sums.sum(axis=1), runs).swapaxes(1, 2) / qrels.n_users
    taus = tau_b(means[:, :-1], means[:, -1:])
    coefficients = further_coefficients(means[:, :-1], means[:, -1:])
    replicated = resampling.taus(sums[..., :-1], sums[..., -1])
    within = subset_taus(means[:, :-1], means[:, -1:], subsets).swapaxes(1, 2)
    crossed = resampling.subset_taus(
        sums[..., :-1], sums[..., -1], subsets, of=measures.indices(measures.reported)
    )
    without_relevant = ~flat[qrels.relevant, :-1].any(axis=0)
    for agreements in (taus, replicated, within, crossed, *coefficients.values()):
        agreements[:, without_relevant] = np.nan

    def by_order(agreements: Floats) -> Floats:
        """Give agreements (n_measures, n_distinct, ...) by level, with the orders last."""
        return np.moveaxis(agreements.take(of_order, axis=1), 2, -1)

    def areas_of(agreements: Floats) -> Floats:
        return area(levels, np.moveaxis(mean_of_defined(by_order(agreements)), 1, -1))

    return Removal(
        *choice,
        mean_of_defined(by_order(taus)),
        deviation_of_defined(by_order(taus)),
        {name: mean_of_defined(by_order(found)) for name, found in coefficients.items()},
        mean_of_defined(by_order(replicated)),
        SubsetValues(work.families.n_families, areas_of(within), areas_of(crossed)),
        flat.sum(axis=0)[of_order].mean(axis=-1),
    )


def _distinct(kept: Iterable[Masks]) -> tuple[Masks, Numbers]:
    """Give the masks that differ from those of the first order, and one of all; which each is.

    The last are numbers of masks, of shape (n_levels, n_orders).
    """
    orders = iter(kept)
    distinct = [first := next(orders)]
    own = [np.ones(first.shape[1], dtype=np.bool_)]
    for masks in orders:
        own.append((masks != first).any(axis=0))
        distinct.append(masks[:, own[-1]])
    number = np.cumsum(own).reshape(len(own), -1) - 1
    everything = np.ones((len(first), 1), dtype=np.bool_)
    return np.concatenate([*distinct, everything], axis=1), np.where(own, number, number[0]).T


def keep_items(
    qrels: Qrels,
    counts: NDArray[np.integer],
    *,
    levels: Sequence[float],
    cut: Cut = "items",
    removed: Removed = "most popular",
    ties: NDArray[np.integer] | None = None,
) -> Masks:
    """Keep the judgements of items that are not among the most (or least) popular.

    Of the n_items of the catalogue, those whose count is not -1, round(level * n_items) are kept;
    or, where levels are shares of the ratings, the fewest items are removed that together have at
    least 1 - level of them. Of equally popular items the one with the higher tie-breaker (by
    default: number) counts as more popular, so that levels are nested.

    The result: masks of shape (n_judgements, n_levels).
    """
    n_items = int(np.count_nonzero(counts >= 0))
    order = np.arange(len(counts)) if ties is None else np.argsort(ties, kind="stable")
    by_count = order[np.argsort(counts[order], kind="stable")][len(counts) - n_items :]
    leaving = by_count[::-1] if removed == "most popular" else by_count
    place = np.full(len(counts), n_items)
    place[leaving] = np.arange(n_items)
    if cut == "items":
        n_removed = [n_items - round(level * n_items) for level in levels]
    else:
        gone = offsets_of(counts[leaving])
        least = (1 - np.array(levels) - TOLERANCE) * gone[-1]
        n_removed = np.searchsorted(gone, least).tolist()
    return place[qrels.items][:, None] >= np.array(n_removed)
