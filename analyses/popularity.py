"""Popularity: how loss of the judgements of popular items changes the ordering.

Figures 3 and 7 of Valcarce et al. (2018).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.intervals.areas import HIGHER_IS_BETTER, Curves, area, areas_in_words
from analyses.intervals.block_resampling import Resampling
from analyses.intervals.contested_loss import ContestedComparison
from analyses.intervals.resampling import sum_over_runs
from analyses.intervals.systems import subset_taus
from analyses.intervals.yardsticks import Yardsticks, consistency_of_halves, taus_with_others
from analyses.ordering import tau_b
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.ordering.coefficients import further_coefficients
from analyses.shared.analysis import analysis
from analyses.shared.contested_shares import ContestedShares
from analyses.shared.families import Families, SubsetValues
from analyses.shared.judgement_samples import RATINGS_IN_WORDS, CountedSettings, percent_grid
from analyses.shared.measure import Measures, tidy
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


class RemovalRule(NamedTuple):
    """What a level is a share of, which items go first, and where popularity is counted."""

    cut: Cut
    removed: Removed
    counted_in: CountedIn


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

    Kendall's tau-b between both orderings is computed at each level: the share that is kept of the
    items, or of their ratings. Checks hold the results of other choices: levels as shares of the
    items or of their ratings, popularity counted in other ratings, and, as a control, removal of
    the least popular items.
    """
    counted_in, item_counts = settings.item_counts(work)
    chosen_rule = RemovalRule(settings.cut, "most popular", counted_in)
    rules = [chosen_rule]
    for combination in product(get_args(Cut), get_args(Removed), work.popularity_counts):
        rule = RemovalRule(*combination)
        if rule != chosen_rule:
            rules.append(rule)
    n_levels = len(settings.levels)
    n_checks = len(rules) - 1
    sum_samples = work.rescorer(n_levels * (settings.orders + n_checks))
    removals = []
    for rule in work.steps("Taking popular items away", len(rules), rules):
        is_chosen = rule == chosen_rule
        removals.append(_removal(rule, sum_samples, work, settings, is_chosen=is_chosen))
    chosen, *checks = removals
    is_in_catalogue = item_counts >= 0
    return Popularity(
        measures=work.scores.measures,
        levels=settings.levels,
        orders=settings.orders,
        chosen=chosen,
        checks=tuple(checks),
        n_items=int(np.count_nonzero(is_in_catalogue)),
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
    contested
        Shares of the contested pairs of systems that keep their order; None if nothing is lost, and
        for checks.
    yardsticks
        What the areas under the curves are read beside; None for checks.
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
    contested: ContestedShares | None
    n_kept: Floats
    yardsticks: Yardsticks | None = None


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
        Number of random orders of equally popular items, over which ``chosen`` is averaged.
    chosen
        The results with the chosen settings.
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
        return Curves(
            self.measures,
            self.levels,
            self.chosen.taus,
            self.chosen.replicates,
            self.chosen.within,
            self.families,
            yardsticks=self.chosen.yardsticks,
        )

    def estimates(self) -> Estimates:
        """Estimate the areas under the curves with their intervals."""
        return self.curves.estimates(
            loss="loss of the judgements of popular items", threshold=LEAST_AREA
        )

    def contested_shares(self) -> ContestedShares | None:
        """Look up the shares of the contested pairs that keep their order; None without a loss."""
        return self.chosen.contested

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``popularity`` with ``..._areas`` and ``..._area_differences``, and the checks.

        The curves have columns metric, cutoff, level, tau, sd (over orders), low, high (95 %, over
        users), judgements, cut, removed, counted_in and further coefficients; checks lack the
        limits.
        """
        import pandas as pd

        frame = self._tabulate(self.chosen)
        low, high = self.curves.band
        after_deviation = 1 + list(frame).index("sd")
        frame.insert(after_deviation, "low", low.ravel())
        frame.insert(after_deviation + 1, "high", high.ravel())
        checks = [self._tabulate(check) for check in self.checks]
        return {
            "popularity": frame,
            "popularity_areas": self.curves.areas(),
            "popularity_area_differences": self.estimates().differences(),
            "popularity_checks": pd.concat(checks, ignore_index=True),
        }

    def publications(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate Figures 3 and 7 of Valcarce et al. (2018): tau by the items kept, in percent."""
        frame = self._tabulate(self.chosen)
        kept_items = (100 * frame["level"]).round(6)
        values = frame[["metric", "cutoff"]].assign(kept_items=kept_items, value=frame["tau"])
        return {"recsys2018-figure3": values}

    def _tabulate(self, removal: Removal) -> pd.DataFrame:
        """Tabulate the curves of one removal: a row for each measure and level.

        Columns metric, cutoff, level, tau (mean over random orders of equally popular items), sd
        (over these orders), judgements (left), cut, removed, counted_in, and further coefficients.
        """
        return tidy(
            self.measures,
            {"level": self.levels},
            tau=removal.taus,
            sd=removal.deviations,
            judgements=removal.n_kept,
            cut=removal.cut,
            removed=removal.removed,
            counted_in=removal.counted_in,
            **removal.coefficients,
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

        Without a metric, curves are of the report measures, with their 95 % bands over users.
        """
        self.curves.plot(ax, metric=metric, over=self.units)
        items = "items" if self.chosen.cut == "items" else "items, by ratings,"
        ax.set_xlabel(f"least popular {items} kept (%)")

    def cautions(self) -> Sequence[str]:
        """Name the metrics whose ordering never changes."""
        return self.curves.cautions()

    def caption(self) -> str:
        """Write what the curves are, and where popularity was counted."""
        ratings = RATINGS_IN_WORDS[self.chosen.counted_in]
        shares = f"the {self.n_items:,} items"
        if self.chosen.cut == "ratings":
            shares = f"the {ratings} of {shares}"
        n_systems = self.families.n_systems
        users = counted(self.n_users, self.unit)
        orders = counted(self.orders, "order")
        return (
            f"Kendall's tau-b between the orderings of {n_systems} systems on the judgements of "
            f"the least popular items and on all judgements of {users}. Shares are of {shares}. "
            f"{areas_in_words(self.levels)} of them. Popularity is an item's number of {ratings}. "
            "Equally popular items are removed in random order: mean of "
            f"{orders}. {HIGHER_IS_BETTER}"
        )


def _removal(
    rule: RemovalRule,
    sum_samples: SumSamples,
    work: Work,
    settings: Settings,
    *,
    is_chosen: bool,
) -> Removal:
    """Compare the orderings on the judgements that one rule keeps with those on all.

    Taus are NaN where no relevant judgement is left, or all systems tie. Areas in subsets of the
    systems are of report measures and few replicates where users are resampled, too.

    Parameters
    ----------
    rule
        Which items are removed first, and what levels are shares of.
    sum_samples
        Scores samples of the judgements, in sums over blocks of users.
    work
        The study.
    settings
        Levels, numbers of replicates and of orders of equally popular items.
    is_chosen
        Only the chosen rule has bands, subsets of systems, and several orders of equally popular
        items.
    """
    levels = settings.levels
    n_orders = settings.orders if is_chosen else 1
    n_replicates = settings.replicates if is_chosen else 0
    subsets = work.families.subsets(seed=work.seed)
    if not is_chosen:
        subsets = subsets[:0]
    resampling = Resampling.of(
        work.qrels.n_users, replicates=n_replicates, seed=work.seed, runs=work.scores.runs
    )
    masks_by_order = _kept_by_order(rule, work, levels, n_orders)
    # Distinct masks, the last of all judgements, and the mask of each level and order.
    is_kept, indices = _distinct_masks(masks_by_order)
    sums = sum_samples(is_kept, blocks=resampling.blocks)
    agreements = _compare_masks(sums, work, resampling, subsets)
    is_kept_relevant = is_kept[work.qrels.relevant, :-1]
    has_relevant = is_kept_relevant.any(axis=0)
    agreements.set_undefined(np.logical_not(has_relevant))
    taus = _by_order(agreements.taus, indices)
    replicates = _by_order(agreements.replicates, indices)
    coefficients = {}
    for name, values in agreements.coefficients.items():
        coefficients[name] = mean_of_defined(_by_order(values, indices))
    areas = _areas(agreements.within, indices, levels)
    crossed_areas = _areas(agreements.crossed, indices, levels)
    areas_within = SubsetValues(work.families.n_families, areas, crossed_areas)
    contested = None
    yardsticks = None
    if is_chosen:
        yardsticks = Yardsticks(
            with_others=_areas(agreements.with_others, indices, levels),
            consistency=consistency_of_halves(work.scores, seed=work.seed),
        )
        contested = _contested_shares(sums, work, resampling, indices, levels)
    n_kept = is_kept.sum(axis=0)[indices]
    return Removal(
        cut=rule.cut,
        removed=rule.removed,
        counted_in=rule.counted_in,
        taus=mean_of_defined(taus),
        deviations=deviation_of_defined(taus),
        coefficients=coefficients,
        replicates=mean_of_defined(replicates),
        within=areas_within,
        contested=contested,
        n_kept=n_kept.mean(axis=-1),
        yardsticks=yardsticks,
    )


@dataclass(frozen=True, eq=False)
class _Agreements:
    """Agreement of the orderings under several masks of the judgements with that on all.

    Parameters
    ----------
    taus
        Kendall's tau-b, of shape (n_measures, n_masks).
    coefficients
        By further coefficient: its values, of the same shape.
    replicates
        Tau-b for resampled users, of shape (n_measures, n_masks, n_replicates).
    within
        Tau-b within subsets of the systems, of shape (n_measures, n_masks, n_subsets).
    crossed
        The same for resampled users, of shape (n_measures, n_masks, n_resamples, n_subsets).
    with_others
        Mean tau-b with the orderings by the other report measures, (n_measures, n_masks).
    """

    taus: Floats
    coefficients: Mapping[str, Floats]
    replicates: Floats
    within: Floats
    crossed: Floats
    with_others: Floats

    def set_undefined(self, is_undefined: Masks) -> None:
        """Write NaN into all values of some masks, in place: masks are their second axis.

        ``is_undefined`` marks these masks, of shape (n_masks,).
        """
        for values in (
            self.taus,
            self.replicates,
            self.within,
            self.crossed,
            self.with_others,
        ):
            values[:, is_undefined] = np.nan
        for values in self.coefficients.values():
            values[:, is_undefined] = np.nan


def _compare_masks(sums: Floats, work: Work, resampling: Resampling, subsets: Masks) -> _Agreements:
    """Compare the orderings under each mask but the last with that under the last.

    Parameters
    ----------
    sums
        Sums of scores over blocks of users, of shape (n_measures, n_blocks, n_systems, n_masks +
        1); with several runs of a system, of runs in place of systems. The last mask keeps all
        judgements.
    work
        The study.
    resampling
        The blocks, and how replicates draw them.
    subsets
        Which systems each subset has, of shape (n_subsets, n_systems).
    """
    measures = work.scores.measures
    reported = measures.indices(measures.reported)
    mask_sums = sums[..., :-1]
    reference_sums = sums[..., -1]
    totals = sum_over_runs(sums.sum(axis=1), work.scores.runs)
    # Of shape (n_measures, n_masks + 1, n_systems).
    means = totals.swapaxes(1, 2) / work.qrels.n_users
    mask_means = means[:, :-1]
    reference_means = means[:, -1:]
    within = subset_taus(mask_means, reference_means, subsets)
    crossed = resampling.subset_taus(mask_sums, reference_sums, subsets, measures=reported)
    return _Agreements(
        taus=tau_b(mask_means, reference_means),
        coefficients=further_coefficients(mask_means, reference_means),
        replicates=resampling.taus(mask_sums, reference_sums),
        within=within.swapaxes(1, 2),
        crossed=crossed,
        with_others=taus_with_others(mask_means, reference_means[:, 0], measures),
    )


def _contested_shares(
    sums: Floats, work: Work, resampling: Resampling, indices: Numbers, levels: Sequence[float]
) -> ContestedShares | None:
    """Compute shares of the contested pairs that keep their order, in the mean over levels.

    ``sums`` and the resampling are those of `_compare_masks`, ``indices``, (n_levels, n_orders),
    the numbers of the masks. None if no level is below 1.
    """
    comparison = ContestedComparison.of(work, resampling)
    by_mask = comparison.compare(sums[..., :-1], sums[..., -1])
    by_level = by_mask.transformed(lambda shares: shares[..., indices].mean(axis=-1))
    return comparison.over_levels(levels, by_level)


def _kept_by_order(
    rule: RemovalRule, work: Work, levels: Sequence[float], n_orders: int
) -> Iterator[Masks]:
    """Mark the judgements kept at each level, for each random order of equally popular items.

    Levels are shares kept. An order depends on its number and the seed of ``work`` alone. Yields
    ``n_orders`` masks of shape (n_judgements, n_levels).
    """
    counts = work.popularity_counts[rule.counted_in]
    for order in range(n_orders):
        ties = random_words(len(counts), work.seed, "popularity", order)
        yield keep_items(
            work.qrels, counts, levels=levels, cut=rule.cut, removed=rule.removed, ties=ties
        )


def _by_order(agreements: Floats, indices: Numbers) -> Floats:
    """Look up the agreements of each level and order, the orders last.

    Agreements are of shape (n_measures, n_distinct, ...), indices, the numbers of the distinct
    masks, of (n_levels, n_orders); the result is (n_measures, n_levels, ..., n_orders).
    """
    return np.moveaxis(agreements.take(indices, axis=1), 2, -1)


def _areas(agreements: Floats, indices: Numbers, levels: Sequence[float]) -> Floats:
    """Average agreements over orders, and compute the areas under the curves over the levels.

    Shapes are those of `_by_order`; the result is of shape (n_measures, ...).
    """
    means = mean_of_defined(_by_order(agreements, indices))
    return area(levels, np.moveaxis(means, 1, -1))


def _distinct_masks(masks_by_order: Iterable[Masks]) -> tuple[Masks, Numbers]:
    """Collect the masks of the first order, those of others that differ from them, and one of all.

    Where no items at a cut are equally popular, all orders keep the same judgements, which are
    scored once.

    Parameters
    ----------
    masks_by_order
        The judgements kept, of shape (n_judgements, n_levels), by random order; one at least.

    Returns
    -------
    Distinct masks, of shape (n_judgements, n_distinct + 1), the last of which keeps everything; and
    the number of the mask of each level and order, of shape (n_levels, n_orders).
    """
    orders = iter(masks_by_order)
    first = next(orders)
    distinct = [first]
    differences = [np.ones(first.shape[1], dtype=np.bool_)]
    for masks in orders:
        is_different = (masks != first).any(axis=0)
        differences.append(is_different)
        distinct.append(masks[:, is_different])
    # Of shape (n_orders, n_levels): distinct masks are numbered order by order.
    is_new = np.array(differences)
    numbers = np.cumsum(is_new).reshape(is_new.shape) - 1
    indices = np.where(is_new, numbers, numbers[0]).T
    everything = np.ones((len(first), 1), dtype=np.bool_)
    return np.concatenate([*distinct, everything], axis=1), indices


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

    Parameters
    ----------
    qrels
        The judgements.
    counts
        Number of ratings of each item, of shape (n,); -1 for an item that is not in the catalogue,
        whose judgements are kept.
    levels
        Shares that are kept, in [0, 1].
    cut
        What levels are shares of: "items", or their "ratings".
    removed
        Which items are removed first.
    ties
        Tie-breakers, of shape (n,).

    Returns
    -------
    Masks of shape (n_judgements, n_levels).

    Raises
    ------
    ValueError
        If there is not one tie-breaker for each count.
    """
    if ties is not None and ties.shape != counts.shape:
        raise ValueError(f"{len(counts):,} counts need as many tie-breakers, got {len(ties):,}.")
    n_items = int(np.count_nonzero(counts >= 0))
    if ties is None:
        ties = np.arange(len(counts))
    by_tie_breaker = np.argsort(ties, kind="stable")
    rising_counts = np.argsort(counts[by_tie_breaker], kind="stable")
    by_count = by_tie_breaker[rising_counts]
    # Items that are not in the catalogue come first.
    rising = by_count[len(counts) - n_items :]
    removal_order = rising[::-1] if removed == "most popular" else rising
    # Where each item stands in the order of removal; items outside of the catalogue are never lost.
    position = np.full(len(counts), n_items)
    position[removal_order] = np.arange(n_items)
    if cut == "items":
        n_removed = [n_items - round(level * n_items) for level in levels]
    else:
        # The number of ratings that are lost with the first 0, 1, 2 ... items.
        removed_ratings = offsets_of(counts[removal_order])
        shares_to_remove = 1 - np.array(levels) - TOLERANCE
        least_ratings = shares_to_remove * removed_ratings[-1]
        n_removed = np.searchsorted(removed_ratings, least_ratings).tolist()
    judged_positions = position[qrels.items][:, np.newaxis]
    return judged_positions >= np.array(n_removed)
