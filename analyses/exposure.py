"""Exposure: how much of the catalogue systems recommend, and how evenly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field

from analyses.intervals.percentile_intervals import shifted_band
from analyses.intervals.resampling import draw_weights
from analyses.ordering.agreement import mean_of_defined, ratio_or_nan
from analyses.shared.analysis import AnalysisSettings, Need, SettingError, StudyFacts, analysis
from analyses.shared.drawing import category_styles, draw_whiskers, label_curves, panel_index
from analyses.shared.judgement_samples import RATINGS_IN_WORDS
from analyses.shared.measure import pair_labels, tidy
from analyses.shared.number_format import rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table
from analyses.shared.work import CountedIn, Work
from analyses.significance.permutation import pair_differences
from qrels import Qrels, match
from runs import NO_ITEM, InputError, Run
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.errors import counted
from runs.shared.settings import Cutoffs, Repeats, Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


ASPECTS = ("coverage", "Gini index", "Shannon entropy", "PopREO")


class Settings(AnalysisSettings):
    """How evenly systems recommend the catalogue, and find relevant items."""

    cutoffs: Cutoffs | None = Field(
        None,
        min_length=1,
        description="Cut-offs; default: those of the metrics, or else whole lists.",
    )
    groups: Whole = Field(
        5,
        ge=2,
        le=1000,
        description="Number of groups of items by popularity, with equally many ratings.",
    )
    replicates: Repeats = Field(200, ge=0, description="Bootstrap replicates; 0: no intervals.")

    def check(self, study: StudyFacts) -> None:
        """Refuse, with SettingError, cut-offs that are deeper than the deepest of the metrics.

        If no metric has a cut-off, none is refused.
        """
        deepest = max(study.measures.cutoffs, default=inf)
        if self.cutoffs is not None and max(self.cutoffs) > deepest:
            raise SettingError(
                "cutoffs",
                "`cutoffs` in [analyses.exposure] must not be deeper than those of the metrics, "
                f"{deepest}, got {max(self.cutoffs)}.",
            )


@analysis(
    "exposure",
    source="Castells, Hurley & Vargas (2015); Zhu, Wang & Caverlee (2020)",
    needs=(Need.SINGLE_LISTS,),
    on_request=True,
    question="Which items do the systems recommend, and how evenly?",
)
def exposure(work: Work, settings: Settings) -> Exposure:
    """Measure which items the lists of each system hold, taken together.

    The catalogue is every item that has a rating (without ratings: a judgement), or that a system
    recommends. Items are as popular as they are in training, or else in the judgements. Values are
    those of all users and of resampled ones, at each cut-off.
    """
    qrels = work.qrels
    # The first count of ratings is the default.
    counted_in, *_ = work.popularity_counts
    counts = work.popularity_counts[counted_in]
    runs = [Run(system, items) for system, items in work.recommended.items()]
    # Marks of items, (n_items,): counts are -1 for items that are not in the catalogue.
    catalogue = counts >= 0
    for run in runs:
        recommended_items = run.items[run.items >= 0]
        catalogue[recommended_items] = True
    n_groups = settings.groups
    groups = popularity_groups(counts, n_groups)
    items = _JudgedItems.of(qrels, groups, catalogue, n_groups=n_groups)
    deepest = max(run.depth for run in runs)
    cutoffs = sorted(settings.cutoffs or work.scores.measures.cutoffs or [deepest])
    # The first of the replicates has every user once.
    n_replicates = 1 + settings.replicates
    n_cutoffs = len(cutoffs)
    n_systems = len(runs)
    values = np.empty((len(ASPECTS), n_cutoffs, n_systems, n_replicates))
    recalls = np.empty((n_groups, n_cutoffs, n_systems))
    for system, run in work.steps("Counting what is recommended", n_systems, enumerate(runs)):
        for replicates, weights in _user_weights(run.n_users, settings.replicates, work.seed):
            by_cutoff = items.measure(run, weights=weights, cutoffs=cutoffs)
            for index, (aspects, group_recalls) in enumerate(by_cutoff):
                values[:, index, system, replicates] = aspects
                if replicates.start == 0:
                    recalls[:, index, system] = group_recalls[0]
    group_sizes = np.bincount(groups[catalogue], minlength=n_groups)
    # Summed over users, who are the first axis.
    group_relevant = items.relevant.sum(axis=0).astype(np.int64)
    systems = tuple(run.system for run in runs)
    return Exposure(
        systems=systems,
        cutoffs=tuple(cutoffs),
        values=values[..., 0],
        replicates=values[..., 1:],
        recalls=recalls,
        group_sizes=group_sizes,
        group_relevant=group_relevant,
        n_items=items.n_items,
        n_users=qrels.n_users,
        counted_in=counted_in,
    )


@dataclass(frozen=True, eq=False)
class Exposure(Result):
    """Coverage, Gini index, Shannon entropy and PopREO of what systems recommend.

    Parameters
    ----------
    systems, cutoffs
        Labels of the last and the second axis.
    values
        float64 of shape (n_aspects, n_cutoffs, n_systems), aspects as in `ASPECTS`.
    replicates
        The same of resampled users, with their number as the last axis.
    recalls
        Share of the relevant items of each group that are found, of shape (n_groups, n_cutoffs,
        n_systems), from the least popular group; NaN where none is relevant.
    group_sizes, group_relevant
        Items, and relevant judgements, of each group, of shape (n_groups,).
    n_items, n_users, counted_in
        Facts for the caption.
    """

    systems: tuple[str, ...]
    cutoffs: tuple[int, ...]
    values: Floats
    replicates: Floats
    recalls: Floats
    group_sizes: NDArray[np.int64]
    group_relevant: NDArray[np.int64]
    n_items: int
    n_users: int
    counted_in: CountedIn

    aspects = ASPECTS
    """Panels of the figure."""

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``exposure``, with ``..._differences`` and ``..._groups``.

        Columns aspect, cutoff, system, value, low, high; aspect, cutoff, system_a, system_b,
        difference, low, high, beyond_noise; and group, items, relevant, cutoff, system, recall.
        """
        import pandas as pd

        aspects = {"aspect": ASPECTS}
        cutoffs = {"cutoff": self.cutoffs}
        systems = {"system": self.systems}
        pairs = pair_labels(self.systems, "system_a", "system_b")
        low, high = self._limits_of_values()
        differences = pair_differences(self.values)
        least, most = self._limits_of_differences(differences)
        groups = pd.DataFrame({"items": self.group_sizes, "relevant": self.group_relevant})
        groups.insert(0, "group", np.arange(len(groups)) + 1)
        is_beyond_noise = (least > 0) | (most < 0)
        by_system = tidy(aspects, cutoffs, systems, value=self.values, low=low, high=high)
        by_pair = tidy(
            aspects,
            cutoffs,
            pairs,
            difference=differences,
            low=least,
            high=most,
            beyond_noise=is_beyond_noise,
        )
        by_group = tidy(groups, cutoffs, systems, recall=self.recalls)
        return {
            "exposure": by_system,
            "exposure_differences": by_pair,
            "exposure_groups": by_group,
        }

    def _limits_of_values(self) -> tuple[Floats, Floats]:
        """Compute 95 % intervals of the values, within the range of each aspect.

        Both limits have the shape (n_aspects, n_cutoffs, n_systems) of ``self.values``. They are
        percentiles of the replicates, shifted so that their mean is the value; NaN without any.
        """
        low, high = shifted_band(self.values, self.replicates)
        # Of coverage, Gini index, entropy in bits, and PopREO.
        most_bits = np.log2(self.n_items)
        highest = np.array([1.0, 1.0, most_bits, np.inf])[:, np.newaxis, np.newaxis]
        return np.maximum(low, 0.0), np.minimum(high, highest)

    def _limits_of_differences(self, differences: Floats) -> tuple[Floats, Floats]:
        """Compute 95 % intervals of the differences of every two systems.

        Differences, and both limits, are of shape (n_aspects, n_cutoffs, n_pairs). Limits are
        percentiles of the differences for resampled users, from ``self.replicates``, (n_aspects,
        n_cutoffs, n_systems, n_replicates), shifted so that their mean is the difference; NaN
        without replicates. They are held for one aspect and cut-off at a time.
        """
        low = np.empty(differences.shape)
        high = np.empty(differences.shape)
        for index in np.ndindex(differences.shape[:-1]):
            resampled = pair_differences(self.replicates[index], axis=-2)
            limits = shifted_band(differences[index], resampled)
            low[index], high[index] = limits
        return low, high

    @table("exposure", "how evenly systems recommend the catalogue")
    def table(self, *, cutoff: int | None = None) -> Table:
        """Tabulate the aspects by system, at a cut-off or at the deepest one.

        Raises InputError if nothing was measured at the cut-off.
        """
        if cutoff is None:
            cutoff = self.cutoffs[-1]
        if cutoff not in self.cutoffs:
            depths = ", ".join(map(str, self.cutoffs))
            raise InputError(f"nothing was measured at cut-off {cutoff}; there are {depths}.")
        index = self.cutoffs.index(cutoff)
        values = self.values[:, index]
        columns: dict[str, Any] = {"system": self.systems}
        columns |= dict(zip(ASPECTS, values, strict=True))
        title = f"Exposure of items at cut-off {cutoff}"
        return Table.from_columns("exposure", title, self.caption(), columns)

    @figure(
        "exposure",
        "Exposure: how evenly systems recommend the catalogue, by cut-off",
        panels="aspect",
        comparable=False,
    )
    def plot(self, ax: Axes, *, aspect: str | None = None) -> None:
        """Draw one aspect of every system against the cut-off, with 95 % intervals.

        ``aspect`` is one of `ASPECTS`, by default the first; InputError if it is another.
        """
        aspect_number = panel_index(ASPECTS, aspect)
        values = self.values[aspect_number]
        low, high = self._limits_of_values()
        lows = low[aspect_number]
        highs = high[aspect_number]
        n_replicates = self.replicates.shape[-1]
        lines = f"Vertical lines: 95 % bootstrap over {self.units} ({n_replicates:,} replicates)."
        cutoffs = np.array(self.cutoffs)
        for system, (label, style) in enumerate(category_styles(self.systems)):
            limits = (lows[:, system], highs[:, system])
            draw_whiskers(
                ax, cutoffs, values[:, system], limits, style, label=label, explanation=lines
            )
        ax.set(xlabel="cut-off", title=ASPECTS[aspect_number])
        label_curves(ax)

    def caption(self) -> str:
        """Write what the aspects are."""
        users = counted(self.n_users, self.unit)
        most_bits = np.log2(self.n_items)
        ratings = RATINGS_IN_WORDS[self.counted_in]
        return (
            f"Coverage: share of the {self.n_items:,} items of the catalogue that are recommended "
            f"to any of {users}. Gini index: 0 if all items are recommended equally often, close "
            "to 1 if only a few are. Shannon entropy of the recommendations: in bits, at most "
            f"{most_bits:.3g}. PopREO: standard deviation of recall over {len(self.recalls)} "
            f"groups of items by popularity ({ratings}), divided by its mean; 0 if all groups have "
            "the same recall."
        )

    def findings(self) -> Sequence[str]:
        """Name the systems with the extreme coverage and PopREO, at the deepest cut-off."""
        lowest, highest = self._extreme_systems("coverage")
        most_even, least_even = self._extreme_systems("PopREO")
        return (
            f"Coverage of the catalogue at cut-off {self.cutoffs[-1]} is lowest for {lowest} and "
            f"highest for {highest}.",
            f"PopREO, the difference in recall between popular and unpopular items, is smallest "
            f"for {most_even} and largest for {least_even}.",
        )

    def _extreme_systems(self, aspect: str) -> tuple[str, str]:
        """Name the systems with the lowest and the highest value at the deepest cut-off.

        ``aspect`` is one of `ASPECTS`; ``self.values`` are of shape (n_aspects, n_cutoffs,
        n_systems). Each name has its value in brackets. Systems with an undefined value are left
        out; both names are "no system" if every value is undefined.
        """
        values = self.values[ASPECTS.index(aspect), -1]
        if np.isnan(values).all():
            return "no system", "no system"
        lowest = int(np.nanargmin(values))
        highest = int(np.nanargmax(values))
        lowest_in_words = self._with_value(lowest, values)
        highest_in_words = self._with_value(highest, values)
        return lowest_in_words, highest_in_words

    def _with_value(self, system: int, values: Floats) -> str:
        """Write the name of a system, by number, with its value among those of all (n_systems,)."""
        value = rounded(float(values[system]))
        return f"{self.systems[system]} ({value})"

    def cautions(self) -> Sequence[str]:
        """Write why there are no p-values, and which groups are left out."""
        n_empty = int(np.count_nonzero(self.group_relevant == 0))
        cautions = [
            "Coverage, Gini index, Shannon entropy and PopREO are computed over all "
            f"{self.units} at once, so paired tests do not apply; exposure_differences.csv has "
            "bootstrap intervals of the differences between systems."
        ]
        if n_empty > 0:
            cautions.append(
                f"PopREO leaves out {n_empty} of the {len(self.recalls)} groups of items by "
                f"popularity, which have no item that is relevant to any {self.unit}."
            )
        return cautions


def gini(counts: Floats) -> Floats:
    r"""Compute the Gini index of counts along the last axis: (..., n) to (...).

    .. math:: G = \frac{\sum_j (2j - n - 1) c_{(j)}}{n \sum_j c_j}

    of counts, at least 0, that rise with j: 0 where all are equal, (n - 1) / n where one alone is
    not 0, NaN where all are 0.
    """
    n = counts.shape[-1]
    ranks = np.arange(1, n + 1)
    coefficients = 2.0 * ranks - n - 1
    weighted_sums = np.sort(counts, axis=-1) @ coefficients
    totals = counts.sum(axis=-1)
    return ratio_or_nan(weighted_sums, n * totals)


def shannon_entropy(counts: Floats) -> Floats:
    r"""Compute the entropy in bits of shares, :math:`-\sum_j p_j \log_2 p_j`, along the last axis.

    Counts of shape (..., n) are divided by their sums; the result is of shape (...), NaN where all
    counts are 0.
    """
    totals = counts.sum(axis=-1, keepdims=True)
    shares = ratio_or_nan(counts, totals)
    nats = scipy.special.entr(shares).sum(axis=-1)
    return np.asarray(nats / np.log(2))


def pop_reo(recalls: Floats) -> Floats:
    """Divide the standard deviation of the recalls of groups by their mean.

    The deviation is that of a population (divided by n). Recalls are of shape (..., n_groups), the
    result of (...). Groups without relevant items, whose recall is NaN, are left out. NaN where
    nothing relevant is found in any group.

    Zhu, Wang & Caverlee (SIGIR 2020), ranking-based equal opportunity, with groups by popularity.
    """
    means = mean_of_defined(recalls)
    deviations = recalls - means[..., np.newaxis]
    variances = mean_of_defined(deviations**2)
    return ratio_or_nan(np.sqrt(variances), means)


def popularity_groups(counts: NDArray[np.integer], n_groups: int) -> Numbers:
    """Group items so that each group has about as many ratings, from the least popular to the most.

    Items are laid in a row by rising number of ratings, of equally popular ones the higher item
    number last. The row of ratings is cut into ``n_groups`` equal parts, and an item belongs to the
    part in which the middle of its ratings lies.

    Counts are numbers of ratings, of shape (n_items,); those below 0, of items that are not in the
    catalogue, count as 0. The result has the group of each item, from 0 for the least popular, of
    the same shape.
    """
    n_ratings = np.maximum(counts, 0)
    order = np.argsort(n_ratings, kind="stable")
    rising = n_ratings[order]
    # Twice the number of ratings before the middle of each item.
    doubled_middles = 2 * np.cumsum(rising) - rising
    doubled_total = max(2 * int(n_ratings.sum()), 1)
    groups = np.empty(len(counts), dtype=np.intp)
    groups[order] = n_groups * doubled_middles // doubled_total
    return groups


def _user_weights(n_users: int, replicates: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """Draw how often users count: all once, as replicate 0, then some replicates at a time.

    Yields the replicates as a slice of all, and the weights of shape (n_replicates, n_users).
    """
    yield slice(0, 1), np.ones((1, n_users))
    for resampled, weights in draw_weights(n_users, replicates=replicates, seed=seed):
        yield slice(resampled.start + 1, resampled.stop + 1), weights


@dataclass(frozen=True, eq=False)
class _JudgedItems:
    """Items of a catalogue in groups by popularity, with the judgements of the users.

    Parameters
    ----------
    qrels
        The judgements.
    groups
        Number of the group of each item, of shape (n_items,).
    catalogue
        Which items are in the catalogue, of shape (n_items,).
    relevant
        Number of relevant items of each user in each group, of shape (n_users, n_groups).
    """

    qrels: Qrels
    groups: Numbers
    catalogue: Masks
    relevant: Floats

    @classmethod
    def of(cls, qrels: Qrels, groups: Numbers, catalogue: Masks, *, n_groups: int) -> _JudgedItems:
        """Count the relevant items of each user in each group.

        ``groups`` has the group of each item, from 0, and ``catalogue`` marks the items that are in
        it; both are of shape (n_items,), and relevant items outside of it count, too.
        """
        users = qrels.users[qrels.relevant]
        item_groups = groups[qrels.items[qrels.relevant]]
        relevant = np.zeros((qrels.n_users, n_groups))
        np.add.at(relevant, (users, item_groups), 1.0)
        return cls(qrels, groups, catalogue, relevant)

    @cached_property
    def n_items(self) -> int:
        """Number of items in the catalogue."""
        return int(np.count_nonzero(self.catalogue))

    def measure(
        self, run: Run, *, weights: Floats, cutoffs: Sequence[int]
    ) -> Iterator[tuple[Floats, Floats]]:
        """Measure the lists of a system at every cut-off, with users weighed.

        Parameters
        ----------
        run
            The lists.
        weights
            Weights of the users in each replicate, of shape (n_replicates, n_users).
        cutoffs
            Rising.

        Yields
        ------
        For each cut-off the values of `ASPECTS`, of shape (n_aspects, n_replicates), and the recall
        of each group, of shape (n_replicates, n_groups); NaN where nothing is relevant.
        """
        from scipy.sparse import csr_array

        # Positions of the items among those of the catalogue.
        columns = np.cumsum(self.catalogue) - 1
        # How often each item is recommended, and relevant items found, down to a cut-off.
        counts = np.zeros((len(weights), self.n_items))
        n_found = np.zeros(self.relevant.shape)
        # The position of the judgement of the item at each rank, (n_users, depth), -1 without one.
        judgements = match(run, self.qrels)
        # Position -1, of items without a judgement, is that of the last entry: not relevant.
        relevant_or_unjudged = np.append(self.qrels.relevant, False)
        is_relevant = relevant_or_unjudged[judgements]
        for first, last in pairwise([0, *cutoffs]):
            # Only the ranks that this cut-off adds.
            items = run.items[:, first:last]
            user, rank = np.nonzero(items != NO_ITEM)
            recommended = items[user, rank]
            entries = (user, columns[recommended])
            ones = np.ones(len(user))
            shape = (len(items), self.n_items)
            is_recommended = csr_array((ones, entries), shape=shape)
            counts += np.asarray(is_recommended.T @ weights.T).T
            user, rank = np.nonzero(is_relevant[:, first:last])
            found_groups = self.groups[items[user, rank]]
            np.add.at(n_found, (user, found_groups), 1.0)
            recalls = ratio_or_nan(weights @ n_found, weights @ self.relevant)
            coverage = np.count_nonzero(counts, axis=1) / self.n_items
            aspects = [coverage, gini(counts), shannon_entropy(counts), pop_reo(recalls)]
            yield np.array(aspects), recalls
