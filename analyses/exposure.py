"""Exposure: how much of the catalogue systems recommend, and how evenly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import entr

from analyses.intervals.percentile_intervals import shifted_band
from analyses.intervals.resampling import draw_weights
from analyses.ordering.agreement import mean_of_defined, ratio_or_nan
from analyses.shared.analysis import AnalysisSettings, Need, SettingError, StudyFacts, analysis
from analyses.shared.drawing import category_styles, draw_whiskers, label_curves, panel_index
from analyses.shared.judgement_samples import RATINGS_IN_WORDS
from analyses.shared.measure import pair_labels, tidy
from analyses.shared.number_format import rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import applicable
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
        """Refuse ranks that lists need not have."""
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
    recommends. Items are as popular as they are in training, or else in the judgements.
    """
    counted_in, counts = next(iter(work.popularity_counts.items()))
    runs = [Run(system, items) for system, items in work.recommended.items()]
    catalogue = counts >= 0
    for run in runs:
        catalogue[run.items[run.items >= 0]] = True
    groups = popularity_groups(counts, settings.groups)
    relevant = np.zeros((work.qrels.n_users, settings.groups))
    is_relevant = work.qrels.relevant
    cells = work.qrels.users[is_relevant], groups[work.qrels.items[is_relevant]]
    np.add.at(relevant, cells, 1.0)
    depth = max(run.depth for run in runs)
    cutoffs = sorted(settings.cutoffs or work.scores.measures.cutoffs or [depth])
    shape = (len(ASPECTS), len(cutoffs), len(runs))
    replicates = np.empty((*shape, 1 + settings.replicates))
    recalls = np.empty((settings.groups, *shape[1:]))
    for number, run in work.steps("Counting what is recommended", len(runs), enumerate(runs)):
        facts = run, work.qrels, groups, relevant, catalogue
        for some, weights in _weights(run.n_users, settings.replicates, work.seed):
            measured = _measured(*facts, weights=weights, cutoffs=cutoffs)
            for place, (evenness, found) in enumerate(measured):
                replicates[:, place, number, some] = evenness
                if some.start == 0:
                    recalls[:, place, number] = found[0]
    return Exposure(
        systems=tuple(run.system for run in runs),
        cutoffs=tuple(cutoffs),
        values=replicates[..., 0],
        replicates=replicates[..., 1:],
        recalls=recalls,
        group_sizes=np.bincount(groups[catalogue], minlength=settings.groups),
        group_relevant=relevant.sum(axis=0).astype(np.int64),
        n_items=int(np.count_nonzero(catalogue)),
        n_users=work.qrels.n_users,
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
        """Give ``exposure``, with ``..._differences`` and ``..._groups``."""
        import pandas as pd

        aspects, cutoffs = {"aspect": ASPECTS}, {"cutoff": self.cutoffs}
        systems, pairs = {"system": self.systems}, pair_labels(self.systems, "system_a", "system_b")
        low, high = self._limits_of_values()
        gaps = pair_differences(self.values)
        least, most = np.empty((2, *gaps.shape))
        for place in np.ndindex(gaps.shape[:-1]):
            resampled_gaps = pair_differences(self.replicates[place], axis=-2)
            least[place], most[place] = shifted_band(gaps[place], resampled_gaps)
        limits = {"low": least, "high": most, "beyond_noise": (least > 0) | (most < 0)}
        numbers = range(1, len(self.recalls) + 1)
        sizes = {"items": self.group_sizes, "relevant": self.group_relevant}
        groups = pd.DataFrame({"group": numbers} | sizes)
        return {
            "exposure": tidy(aspects, cutoffs, systems, value=self.values, low=low, high=high),
            "exposure_differences": tidy(aspects, cutoffs, pairs, difference=gaps, **limits),
            "exposure_groups": tidy(groups, cutoffs, systems, recall=self.recalls),
        }

    def _limits_of_values(self) -> tuple[Floats, Floats]:
        """Give intervals of the values, which end where values do."""
        low, high = shifted_band(self.values, self.replicates)
        highest = np.array([1.0, 1.0, np.log2(self.n_items), np.inf])
        return np.maximum(low, 0.0), np.minimum(high, highest[:, np.newaxis, np.newaxis])

    @table("exposure", "how evenly systems recommend the catalogue")
    def table(self, *, cutoff: int | None = None) -> Table:
        """Tabulate the aspects by system, at the deepest cut-off unless told otherwise."""
        if cutoff not in (None, *self.cutoffs):
            depths = ", ".join(map(str, self.cutoffs))
            raise InputError(f"nothing was measured at cut-off {cutoff}; there are {depths}.")
        place = -1 if cutoff is None else self.cutoffs.index(cutoff)
        columns = {"system": self.systems} | dict(zip(ASPECTS, self.values[:, place], strict=True))
        title = f"Exposure of items at cut-off {self.cutoffs[place]}"
        return Table.from_columns("exposure", title, self.caption(), columns)

    @figure(
        "exposure",
        "Exposure: how evenly systems recommend the catalogue, by cut-off",
        panels="aspect",
        comparable=False,
    )
    def plot(self, ax: Axes, *, aspect: str | None = None) -> None:
        """Draw one aspect of every system against the cut-off, with 95 % intervals."""
        number = panel_index(ASPECTS, aspect)
        values = self.values[number]
        low, high = (limits[number] for limits in self._limits_of_values())
        n_replicates = self.replicates.shape[-1]
        lines = f"Vertical lines: 95 % bootstrap over {self.units} ({n_replicates:,} replicates)."
        cutoffs = np.array(self.cutoffs)
        by_system = zip(category_styles(self.systems), values.T, low.T, high.T, strict=True)
        for (label, style), curve, *limits in by_system:
            ends = (limits[0], limits[1])
            draw_whiskers(ax, cutoffs, curve, ends, style, label=label, explanation=lines)
        ax.set(xlabel="cut-off", title=ASPECTS[number])
        label_curves(ax)

    def caption(self) -> str:
        """Say what the aspects are."""
        return (
            f"Coverage: share of the {self.n_items:,} items of the catalogue that are recommended "
            f"to any of {counted(self.n_users, self.unit)}. Gini index: 0 if all items are "
            "recommended "
            "equally often, close to 1 if only a few are. Shannon entropy of the recommendations: "
            f"in bits, at most {np.log2(self.n_items):.3g}. PopREO: standard deviation of recall "
            f"over {len(self.recalls)} groups of items by popularity "
            f"({RATINGS_IN_WORDS[self.counted_in]}), divided by its mean; 0 if all groups have the "
            "same recall."
        )

    def findings(self) -> Sequence[str]:
        """Say which systems have the extreme coverage and PopREO, at the deepest cut-off."""
        (low, high), (even, uneven) = map(self._ends, ("coverage", "PopREO"))
        return (
            f"Coverage of the catalogue at cut-off {self.cutoffs[-1]} is lowest for {low} and "
            f"highest for {high}.",
            f"PopREO, the difference in recall between popular and unpopular items, is smallest "
            f"for {even} and largest for {uneven}.",
        )

    def _ends(self, aspect: str) -> tuple[str, str]:
        """Name the systems with the lowest and the highest value at the deepest cut-off."""
        values = self.values[ASPECTS.index(aspect), -1]
        if np.isnan(values).all():
            return ("no system",) * 2
        ends = (int(np.nanargmin(values)), int(np.nanargmax(values)))
        low, high = (f"{self.systems[end]} ({rounded(float(values[end]))})" for end in ends)
        return low, high

    def cautions(self) -> Sequence[str]:
        """Say why there are no p-values, and which groups are left out."""
        empty = int(np.count_nonzero(self.group_relevant == 0))
        sentences = {
            "Coverage, Gini index, Shannon entropy and PopREO are computed over all "
            f"{self.units} at once, so paired tests do not apply; exposure_differences.csv has "
            "bootstrap intervals of the differences between systems.": True,
            f"PopREO leaves out {empty} of the {len(self.recalls)} groups of items by popularity, "
            f"which have no item that is relevant to any {self.unit}.": empty > 0,
        }
        return applicable(sentences)


def gini(counts: Floats) -> Floats:
    r"""Give the Gini index of counts along the last axis.

    .. math:: G = \frac{\sum_j (2j - n - 1) c_{(j)}}{n \sum_j c_j}

    of counts that rise with j: 0 where all are equal, (n - 1) / n where one alone is not 0, NaN
    where all are 0.
    """
    n = counts.shape[-1]
    ranked = np.sort(counts, axis=-1) @ (2.0 * np.arange(1, n + 1) - n - 1)
    return ratio_or_nan(ranked, n * counts.sum(axis=-1))


def shannon_entropy(counts: Floats) -> Floats:
    r"""Give the entropy of shares, :math:`-\sum_j p_j \log_2 p_j`, along the last axis."""
    shares = ratio_or_nan(counts, counts.sum(axis=-1, keepdims=True))
    return np.asarray(entr(shares).sum(axis=-1) / np.log(2))


def pop_reo(recalls: Floats) -> Floats:
    """Give the standard deviation over the mean of the recalls of groups, along the last axis.

    Groups without relevant items, NaN, are left out; without any that is found it is NaN.

    Zhu, Wang & Caverlee (SIGIR 2020), ranking-based equal opportunity, with groups by popularity.
    """
    means = mean_of_defined(recalls)
    squares = (recalls - means[..., np.newaxis]) ** 2
    return ratio_or_nan(np.sqrt(mean_of_defined(squares)), means)


def popularity_groups(counts: NDArray[np.integer], n_groups: int) -> Numbers:
    """Group items so that each group has about as many ratings, from the least popular to the most.

    An item belongs where the middle of its ratings falls when items are laid in a row, rising; of
    equally popular ones the higher number comes last.
    """
    known = np.maximum(counts, 0)
    order = np.argsort(known, kind="stable")
    before_middle = 2 * np.cumsum(known[order]) - known[order]
    groups = np.empty(len(counts), dtype=np.intp)
    groups[order] = n_groups * before_middle // max(2 * int(known.sum()), 1)
    return groups


def _weights(n_users: int, replicates: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """Give all users once, as replicate 0, and then resampled users, some replicates at a time."""
    draws = draw_weights(n_users, replicates=replicates, seed=seed)
    moved = ((slice(some.start + 1, some.stop + 1), weights) for some, weights in draws)
    return chain([(slice(0, 1), np.ones((1, n_users)))], moved)


def _measured(
    run: Run,
    qrels: Qrels,
    groups: Numbers,
    relevant: Floats,
    catalogue: Masks,
    *,
    weights: Floats,
    cutoffs: Sequence[int],
) -> Iterator[tuple[Floats, Floats]]:
    """Measure the lists of a system at every cut-off, users weighed, (n_replicates, n_users).

    Relevant items of users are counted by group, of shape (n_users, n_groups).
    """
    from scipy.sparse import csr_array

    known, numbers = np.count_nonzero(catalogue), np.cumsum(catalogue) - 1
    counts, found = np.zeros((len(weights), known)), np.zeros(relevant.shape)
    is_relevant = np.append(qrels.relevant, False)[match(run, qrels)]
    for first, last in pairwise([0, *cutoffs]):
        listed = run.items[:, first:last]
        user, rank = np.nonzero(listed != NO_ITEM)
        # Which items of the catalogue users are recommended.
        places = (user, numbers[listed[user, rank]])
        held = csr_array((np.ones(len(user)), places), shape=(len(listed), known))
        counts += np.asarray(held.T @ weights.T).T
        user, rank = np.nonzero(is_relevant[:, first:last])
        np.add.at(found, (user, groups[listed[user, rank]]), 1.0)
        recalls = ratio_or_nan(weights @ found, weights @ relevant)
        covered = np.count_nonzero(counts, axis=1) / known
        evenness = [covered, gini(counts), shannon_entropy(counts), pop_reo(recalls)]
        yield np.array(evenness), recalls
