"""Residuals: how much the items that nobody judged could change scores and orderings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.shared.analysis import AnalysisSettings, Need, analysis
from analyses.shared.drawing import draw_rows, panel_index
from analyses.shared.measure import Measures, pair_labels, tidy
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import listed
from analyses.shared.table import Table
from analyses.significance.permutation import pair_indices
from qrels import judge
from runs import InputError, Run
from runs.shared.arrays import Floats, Integers, Masks, Numbers
from runs.shared.errors import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

NO_BOUNDS = (
    "judging more items relevant does not always raise their score, so that the extremes are no "
    "bounds"
)
"""Why a metric such as AP, nDCG, Recall, bpref or infAP has no residual."""


COMPARED_AT_ONCE = 1 << 24
"""Pairs of items of two lists that are compared at a time: a byte each, in three arrays."""


class Settings(AnalysisSettings):
    """There is nothing to choose."""


@analysis(
    "residuals",
    source="Moffat & Zobel (2008)",
    needs=(Need.SINGLE_LISTS,),
    on_request=True,
    question="Could the unjudged items change the order of the systems?",
)
def residuals(work: Work, settings: Settings) -> Residuals:
    """Give the lowest and the highest score of each system over all judgements of unjudged items.

    Unjudged items count as non-relevant in the lowest, and as having the highest grade of the qrels
    in the highest. For two systems, the limits are of the difference of their means: an item that
    both recommend is judged alike in both lists.
    """
    reported = work.scores.measures.reported
    kinds = {measure: work.accumulation(measure) for measure in reported}
    bounded = [measure for measure, kind in kinds.items() if kind]
    others = tuple(str(measure) for measure, kind in kinds.items() if not kind)
    if not bounded:
        raise InputError(
            f"no report measure has residuals, as P, Success, RR, DCG, RBP and ERR(top=...) have: "
            f"by {listed(others)}, {NO_BOUNDS}."
        )
    lists = [*work.recommended.values()]
    top = float(work.qrels.grades.max(initial=work.qrels.relevance_level))
    runs = [Run(name, items) for name, items in work.recommended.items()]
    grades = [judge(run, work.qrels).grades for run in runs]
    unjudged = [(items >= 0) & ~(own >= 0) for items, own in zip(lists, grades, strict=True)]
    filled = [np.where(open_, top, own) for own, open_ in zip(grades, unjudged, strict=True)]
    one_each = np.where(np.eye(lists[0].shape[1], dtype=np.bool_), top, np.nan)
    low, high = (
        np.stack([[work.score_lists(m, own) for own in each] for m in bounded])
        for each in (grades, filled)
    )
    weights = [work.score_lists(measure, one_each) for measure in bounded]
    first, second = pair_indices(len(lists))
    gains = np.empty((2, len(bounded), len(first)))
    pairs = zip(first, second, strict=True)
    for pair, (a, b) in work.steps("Bounding differences", len(first), enumerate(pairs)):
        for side, (i, j) in enumerate([(a, b), (b, a)]):
            other = columns_in(lists[i], lists[j])
            for n, measure in enumerate(bounded):
                facts = unjudged[i], other, low[n, i], low[n, j], high[n, i]
                gains[side, n, pair] = largest_gain(kinds[measure], weights[n], *facts).mean()
    return Residuals(
        measures=Measures(bounded, reported=bounded),
        systems=tuple(work.recommended),
        low=low.mean(axis=2),
        high=high.mean(axis=2),
        least=-gains[1],
        most=gains[0],
        others=others,
        n_users=work.qrels.n_users,
        top=top,
    )


def columns_in(items: Integers, other_items: Integers) -> Numbers:
    """Find the column of each item of one list in another, -1 if it is not there.

    Items are of shape (n_users, depth), -1 where a list has ended; depths may differ. Of users,
    about 2^24 pairs of items are compared at a time.

    The result: columns of shape (n_users, depth).
    """
    columns = np.full(items.shape, -1, dtype=np.intp)
    at_once = max(1, COMPARED_AT_ONCE // max(1, items.shape[1] * other_items.shape[1]))
    for start in range(0, len(items), at_once):
        users = slice(start, start + at_once)
        user_items = items[users, :, None]
        same = (user_items == other_items[users, None, :]) & (user_items >= 0)
        columns[users] = np.where(same.any(axis=2), same.argmax(axis=2), -1)
    return columns


def largest_gain(
    kind: str,
    weights: Floats,
    unjudged: Masks,
    other: NDArray[np.intp],
    own: Floats,
    its: Floats,
    highest: Floats,
) -> Floats:
    """Give the largest difference of a system's scores to another's, of shape (n_users,).

    Parameters
    ----------
    kind
        How relevant items add up: "sum", "max" or "cascade".
    weights
        The score of a list with one item of the highest grade, by its rank: (depth,).
    unjudged, other
        Which of the system's items are unjudged, and where the other ranks them: (n_users, depth).
    own, its, highest
        Scores of the system and of the other if unjudged items are not relevant, and the highest
        score of the system: (n_users,).
    """
    if kind == "cascade":
        return highest - its
    mine = np.where(unjudged, weights, 0.0)
    theirs = np.where(unjudged & (other >= 0), weights[other], 0.0)
    if kind == "sum":
        return own - its + np.maximum(mine - theirs, 0.0).sum(axis=1)
    judged_so = np.maximum(own[:, None], mine) - np.maximum(its[:, None], theirs)
    return np.maximum(own - its, judged_so.max(axis=1))


@dataclass(frozen=True, eq=False)
class Residuals(Result):
    """Limits of scores and of differences over all judgements of the unjudged items.

    Parameters
    ----------
    measures, systems
        Labels: the report measures that have residuals, and the systems.
    low, high
        Limits of the mean score, of shape (n_measures, n_systems); the residual is their distance.
    least, most
        Limits of the difference of the means of systems i < j, first minus second, of shape
        (n_measures, n_pairs), pairs first by i, then by j.
    others
        Report measures without residuals.
    n_users, top
        Number of users, and the highest grade.
    """

    measures: Measures
    systems: tuple[str, ...]
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    others: tuple[str, ...]
    n_users: int
    top: float

    def settled(self) -> Masks:
        """Mark the pairs whose order no judgement can change, of shape (n_measures, n_pairs)."""
        return (self.least > 0) | (self.most < 0)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``residuals`` and ``residual_pairs``.

        Columns metric, cutoff, system, low, high and residual; and metric, cutoff, first, second,
        least and most (limits of the difference of the means) and settled.
        """
        scores = {"low": self.low, "high": self.high, "residual": self.high - self.low}
        limits = {"least": self.least, "most": self.most, "settled": self.settled()}
        pairs = pair_labels(self.systems, "first", "second")
        return {
            "residuals": tidy(self.measures, {"system": self.systems}, **scores),
            "residual_pairs": tidy(self.measures, pairs, **limits),
        }

    def caption(self) -> str:
        """Say what the limits are."""
        return (
            "Lowest and highest mean score of each system over "
            f"{counted(self.n_users, self.unit)}: "
            f"unjudged items are not relevant, or all have the highest grade ({self.top:g}). An "
            "ordered pair is one whose order no judgement of the unjudged items can change; an "
            "item that both systems recommend is judged alike in both lists."
        )

    def findings(self) -> Sequence[str]:
        """Count the pairs whose order is certain."""
        counts = [
            f"{n:,} under {label}"
            for label, n in zip(self.labels, self.settled().sum(axis=1), strict=True)
        ]
        n_pairs = self.least.shape[1]
        return (
            f"Of {counted(n_pairs, 'pair of systems')}, no judgement of the unjudged items can "
            "change the "
            f"order of {listed(counts)}.",
        )

    def cautions(self) -> Sequence[str]:
        """Name the measures that have no residuals."""
        return [f"Residuals leave out {listed(self.others)}: {NO_BOUNDS}."] * bool(self.others)

    @table("residuals", "residuals of the measures, and pairs in a certain order")
    def table(self) -> Table:
        """Tabulate the mean and the largest residual, and the ordered pairs, by measure."""
        residual, settled = self.high - self.low, self.settled()
        columns = {
            "measure": self.labels,
            "mean residual": residual.mean(axis=1),
            "largest": residual.max(axis=1),
            "system": [self.systems[worst] for worst in residual.argmax(axis=1)],
            "ordered pairs": [f"{marks.sum():,} of {len(marks):,}" for marks in settled],
        }
        return Table.from_columns("residuals", "Residuals", self.caption(), columns, decimals=3)

    @figure("residuals", "Limits of the scores", panels="label", comparable=False, wide=True)
    def plot(self, ax: Axes, *, label: str | None = None) -> None:
        """Draw a line a system from its lowest to its highest mean score."""
        number = panel_index(self.labels, label)
        low, high = self.low[number], self.high[number]
        explanation = "Points: mean scores as judged. Lines: from the lowest to the highest."
        draw_rows(ax, self.systems, low, (low, high), explanation=explanation)
        ax.set(xlabel="mean score", title=self.labels[number])
