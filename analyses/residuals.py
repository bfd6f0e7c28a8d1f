"""Residuals: how much the items that nobody judged could change scores and orderings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.shared.analysis import AnalysisSettings, Need, analysis
from analyses.shared.drawing import draw_rows, panel_index
from analyses.shared.measure import Measure, Measures, pair_labels, tidy
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import listed
from analyses.shared.table import Table
from analyses.significance.permutation import pair_indices
from qrels import Qrels, judge
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
    """Compute the lowest and the highest scores of systems, whatever the unjudged items are.

    Unjudged items count as non-relevant in the lowest, and as having the highest grade of the qrels
    in the highest. For two systems, the limits are of the difference of their means: an item that
    both recommend is judged alike in both lists. Raises InputError if no report measure has
    residuals.
    """
    bounded, unbounded = _measures_by_bounds(work)
    lists = list(work.recommended.values())
    # By system: grades, NaN without one, and marks of unjudged items, both (n_users, depth).
    grades = []
    unjudged = []
    for system, items in work.recommended.items():
        judged = judge(Run(system, items), work.qrels)
        grades.append(judged.grades)
        unjudged.append((items >= 0) & ~(judged.grades >= 0))
    bounds = [_ScoreBounds.of(work, measure, grades, unjudged) for measure in bounded]
    first_systems, second_systems = pair_indices(len(lists))
    pairs = list(zip(first_systems, second_systems, strict=True))
    n_pairs = len(pairs)
    gains = np.empty((len(bounded), n_pairs))
    losses = np.empty((len(bounded), n_pairs))
    for pair, (first, second) in work.steps("Bounding differences", n_pairs, enumerate(pairs)):
        # Of each item of the first, its column in the lists of the second, -1 where it is not.
        columns_in_second = columns_in(lists[first], lists[second])
        columns_in_first = columns_in(lists[second], lists[first])
        for number, score_bounds in enumerate(bounds):
            gains[number, pair] = score_bounds.mean_gain(first, second, columns_in_second)
            losses[number, pair] = score_bounds.mean_gain(second, first, columns_in_first)
    low = np.stack([score_bounds.low for score_bounds in bounds])
    high = np.stack([score_bounds.high for score_bounds in bounds])
    return Residuals(
        measures=Measures(bounded, reported=bounded),
        systems=tuple(work.recommended),
        low=low.mean(axis=2),
        high=high.mean(axis=2),
        least=-losses,
        most=gains,
        others=unbounded,
        n_users=work.qrels.n_users,
        top=_highest_grade(work.qrels),
    )


def _measures_by_bounds(work: Work) -> tuple[list[Measure], tuple[str, ...]]:
    """List the report measures that have residuals, and the names of those that have none.

    A measure has residuals if its scores are bounded by judging all unjudged items non-relevant,
    and all relevant. Raises InputError if none has.
    """
    bounded = []
    unbounded = []
    for measure in work.scores.measures.reported:
        if work.accumulation(measure):
            bounded.append(measure)
        else:
            unbounded.append(str(measure))
    if not bounded:
        raise InputError(
            f"no report measure has residuals, as P, Success, RR, DCG, RBP and ERR(top=...) have: "
            f"by {listed(unbounded)}, {NO_BOUNDS}."
        )
    return bounded, tuple(unbounded)


def _highest_grade(qrels: Qrels) -> float:
    """Look up the highest grade of the qrels; at least the lowest relevant one."""
    return float(qrels.grades.max(initial=qrels.relevance_level))


@dataclass(frozen=True, eq=False)
class _ScoreBounds:
    """Lowest and highest scores by one measure over all judgements of the unjudged items.

    Parameters
    ----------
    accumulation
        How relevant items add up: "sum", "max" or "cascade".
    weights
        By system: the score of a list of its depth with one item of the highest grade, by the rank
        of that item, of shape (depth,).
    unjudged
        By system: which items of its lists are unjudged, of shape (n_users, depth).
    low, high
        Scores if unjudged items are not relevant, or all have the highest grade, of shape
        (n_systems, n_users).
    """

    accumulation: str
    weights: Sequence[Floats]
    unjudged: Sequence[Masks]
    low: Floats
    high: Floats

    @classmethod
    def of(
        cls, work: Work, measure: Measure, grades: Sequence[Floats], unjudged: Sequence[Masks]
    ) -> _ScoreBounds:
        """Score the lists of every system by a measure, with and without their unjudged items.

        Parameters
        ----------
        work
            The study.
        measure
            A measure with residuals.
        grades
            By system: grades of its items, of shape (n_users, depth); NaN where there is none.
        unjudged
            By system: which of its items are unjudged, of the same shape.
        """
        highest_grade = _highest_grade(work.qrels)
        low = []
        high = []
        weights = []
        for system_grades, is_unjudged in zip(grades, unjudged, strict=True):
            highest_grades = np.where(is_unjudged, highest_grade, system_grades)
            low.append(work.score_lists(measure, system_grades))
            high.append(work.score_lists(measure, highest_grades))
            is_only_item = np.eye(system_grades.shape[1], dtype=np.bool_)
            # Lists with one item of the highest grade, at each rank: of shape (depth, depth).
            single_items = np.where(is_only_item, highest_grade, np.nan)
            weights.append(work.score_lists(measure, single_items))
        return cls(
            accumulation=work.accumulation(measure),
            weights=weights,
            unjudged=unjudged,
            low=np.stack(low),
            high=np.stack(high),
        )

    def mean_gain(self, system: int, other: int, other_columns: Numbers) -> float:
        """Average, over users, the largest difference: a system's score less another's.

        It is the largest over all judgements of the unjudged items. Both systems are given by their
        numbers; ``other_columns`` has the column of each item of the system in the lists of the
        other, of shape (n_users, depth), -1 where it is not. ``self.low`` and ``self.high`` are the
        lowest and highest scores, (n_systems, n_users).
        """
        gains = largest_gain(
            self.accumulation,
            self.weights[system],
            self.weights[other],
            is_unjudged=self.unjudged[system],
            other_columns=other_columns,
            scores=self.low[system],
            other_scores=self.low[other],
            highest_scores=self.high[system],
        )
        return float(gains.mean())


def columns_in(items: Integers, other_items: Integers) -> Numbers:
    """Look up the column of each item of one system's lists in another's, -1 if it is not there.

    Items are of shape (n_users, depth), -1 where a list has ended; depths may differ. The lists of
    one user are compared. Users are taken some at a time: about 2^24 pairs of items.

    The result: columns in ``other_items``, of the shape of ``items``.
    """
    columns = np.full(items.shape, -1, dtype=np.intp)
    n_pairs_of_user = items.shape[1] * other_items.shape[1]
    at_once = max(1, COMPARED_AT_ONCE // max(1, n_pairs_of_user))
    for start in range(0, len(items), at_once):
        users = slice(start, start + at_once)
        user_items = items[users, :, np.newaxis]
        user_other_items = other_items[users, np.newaxis, :]
        is_same = (user_items == user_other_items) & (user_items >= 0)
        is_listed = is_same.any(axis=2)
        first_columns = is_same.argmax(axis=2)
        columns[users] = np.where(is_listed, first_columns, -1)
    return columns


def largest_gain(
    accumulation: str,
    weights: Floats,
    other_weights: Floats,
    *,
    is_unjudged: Masks,
    other_columns: NDArray[np.intp],
    scores: Floats,
    other_scores: Floats,
    highest_scores: Floats,
) -> Floats:
    """Compute the largest score of a system less that of another, of shape (n_users,).

    It is the largest over all judgements of the unjudged items, from non-relevant to the highest
    grade; an item of both lists has the same judgement in both. With "sum", a score is the sum over
    its items, and with "max" the largest of them. With "cascade", a relevant item lowers what those
    below it add; the result is then an upper bound: the highest score of the system less the lowest
    of the other.

    Parameters
    ----------
    accumulation
        How relevant items add up: "sum", "max" or "cascade".
    weights, other_weights
        The score of a list of the system, and of the other, with one item of the highest grade, by
        the rank of that item, each of shape (depth,); depths may differ.
    is_unjudged
        Which of the system's items are unjudged, of shape (n_users, depth).
    other_columns
        The column of each of the system's items in the other's lists, of the same shape; -1 where
        it is not.
    scores, other_scores
        Scores of the system and of the other if unjudged items are not relevant, of shape
        (n_users,).
    highest_scores
        Highest scores of the system, of shape (n_users,).
    """
    if accumulation == "cascade":
        return highest_scores - other_scores
    is_shared = is_unjudged & (other_columns >= 0)
    item_scores = np.where(is_unjudged, weights, 0.0)
    item_scores_of_other = np.where(is_shared, other_weights[other_columns], 0.0)
    differences = scores - other_scores
    if accumulation == "sum":
        gains = np.maximum(item_scores - item_scores_of_other, 0.0)
        return differences + gains.sum(axis=1)
    # With one unjudged item of the highest grade: more of them do not make the difference larger.
    scores_with_item = np.maximum(scores[:, np.newaxis], item_scores)
    other_scores_with_item = np.maximum(other_scores[:, np.newaxis], item_scores_of_other)
    differences_with_item = scores_with_item - other_scores_with_item
    return np.maximum(differences, differences_with_item.max(axis=1))


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
        """Tabulate ``residuals`` and ``residual_pairs``.

        Columns metric, cutoff, system, low, high (limits of the mean score) and residual (their
        distance); and metric, cutoff, first, second (systems), least and most (limits of the
        difference of the means) and settled (whether both have the same sign).
        """
        by_system = tidy(
            self.measures,
            {"system": self.systems},
            low=self.low,
            high=self.high,
            residual=self.high - self.low,
        )
        by_pair = tidy(
            self.measures,
            pair_labels(self.systems, "first", "second"),
            least=self.least,
            most=self.most,
            settled=self.settled(),
        )
        return {"residuals": by_system, "residual_pairs": by_pair}

    def caption(self) -> str:
        """Write what the limits are."""
        users = counted(self.n_users, self.unit)
        return (
            f"Lowest and highest mean score of each system over {users}: unjudged items are not "
            f"relevant, or all have the highest grade ({self.top:g}). An ordered pair is one whose "
            "order no judgement of the unjudged items can change; an item that both systems "
            "recommend is judged alike in both lists."
        )

    def findings(self) -> Sequence[str]:
        """Count the pairs of systems whose order is certain, under each measure; one sentence.

        The order is certain if no judgement of the unjudged items can change it.
        """
        n_settled = self.settled().sum(axis=1)
        counts = []
        for label, n in zip(self.labels, n_settled, strict=True):
            counts.append(f"{n:,} under {label}")
        ordered = listed(counts)
        pairs = counted(self.least.shape[1], "pair of systems")
        return (
            f"Of {pairs}, no judgement of the unjudged items can change the order of {ordered}.",
        )

    def cautions(self) -> Sequence[str]:
        """Name the measures that have no residuals."""
        if not self.others:
            return []
        return [f"Residuals leave out {listed(self.others)}: {NO_BOUNDS}."]

    @table("residuals", "residuals of the measures, and pairs in a certain order")
    def table(self) -> Table:
        """Tabulate the mean and the largest residual over systems, and the ordered pairs.

        A row for each measure. The residual is the highest less the lowest mean score of a system;
        an ordered pair is one whose order no judgement of the unjudged items can change.
        """
        residual = self.high - self.low
        n_pairs = self.least.shape[1]
        n_settled = self.settled().sum(axis=1)
        systems = [self.systems[index] for index in residual.argmax(axis=1)]
        ordered_pairs = [f"{n:,} of {n_pairs:,}" for n in n_settled]
        columns = {
            "measure": self.labels,
            "mean residual": residual.mean(axis=1),
            "largest": residual.max(axis=1),
            "system": systems,
            "ordered pairs": ordered_pairs,
        }
        return Table.from_columns("residuals", "Residuals", self.caption(), columns, decimals=3)

    @figure("residuals", "Limits of the scores", panels="label", comparable=False, wide=True)
    def plot(self, ax: Axes, *, label: str | None = None) -> None:
        """Draw a line for each system from its lowest to its highest mean score, by one measure.

        ``label`` is the name of a report measure, by default the first; InputError if there is none
        of this name.
        """
        number = panel_index(self.labels, label)
        limits = (self.low[number], self.high[number])
        explanation = "Points: mean scores as judged. Lines: from the lowest to the highest."
        draw_rows(ax, self.systems, self.low[number], limits, explanation=explanation)
        ax.set(xlabel="mean score", title=self.labels[number])
