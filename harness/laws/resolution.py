"""Resolution: how finely a metric tells users apart, beside metrics that everybody knows."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from analyses.shared.table import Table
from harness.laws.lists import MAX_MISSED, Bench, Shape, UserList
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import built_in_metrics
from qrels import Judged
from runs import InputError

COMPARED_WITH = ("nDCG", "P")
"""Metrics that everybody knows."""

N_LISTS = 500
SEED = 20261126

SHARES = (0.5, 0.3, 0.2)
"""Shares of unjudged, judged non-relevant and relevant items in a random list."""

DIGITS = 9
"""Scores are compared after rounding to these digits."""


def resolution(metric: Metric, cutoff: int | None) -> Table | None:
    """Tabulate ties, distinct scores and mean of random lists, of a metric and well-known ones.

    The 500 lists, of one user each, are the same for all metrics; without a cut-off they are scored
    whole. Tied pairs are those of users with the same score, as a share of all pairs. None if one
    of the metrics cannot score the lists.
    """
    shape = Bench(metric, cutoff).shape
    built_in = built_in_metrics()
    metrics = [metric, *(built_in[name] for name in COMPARED_WITH if name != metric.label)]
    rows: list[tuple[str, float, int, float]] = []
    for compared_metric in metrics:
        try:
            scores = compared_metric(_random_lists(shape), cutoff=cutoff)
        except InputError:
            return None
        _, counts = np.unique(scores.round(DIGITS), return_counts=True)
        n_tied_pairs = (counts * (counts - 1)).sum()
        n_pairs = N_LISTS * (N_LISTS - 1)
        tied_share = float(n_tied_pairs / n_pairs)
        rows.append((compared_metric.label, tied_share, len(counts), float(scores.mean())))
    depth = "without a cut-off" if cutoff is None else f"at cut-off {cutoff}"
    note = f"Resolution {depth}: the scores of {N_LISTS} users with random lists."
    headings = ["metric", "tied pairs", "distinct scores", "mean score"]
    return Table("resolution", "Resolution", note, headings, rows, decimals=3)


@lru_cache(maxsize=16)
def _random_lists(shape: Shape) -> Judged:
    """Draw 500 (`N_LISTS`) lists of items in random order, one user each: the same every time.

    Items are drawn by their grades: unjudged, non-relevant or relevant, with `SHARES`. A list has
    ``shape.depth`` items. Judgements that it misses are drawn in the same way; unjudged ones among
    these are left out.
    """
    generator = np.random.default_rng(SEED)
    grades: list[int | None] = []
    chances: list[float] = []
    # In the order of the shares; all grades of a group have the same chance.
    groups = ((None,), shape.nonrelevant_grades, shape.relevant_grades)
    for share, grades_of_group in zip(SHARES, groups, strict=True):
        for grade in grades_of_group:
            grades.append(grade)
            chances.append(share / len(grades_of_group))
    lists = []
    for _ in range(N_LISTS):
        indices = generator.choice(len(grades), size=shape.depth + MAX_MISSED, p=chances)
        grades_of_user = [grades[index] for index in indices]
        ranked = tuple(grades_of_user[: shape.depth])
        missed = tuple(grade for grade in grades_of_user[shape.depth :] if grade is not None)
        lists.append(UserList(ranked, missed))
    return shape.judged(lists)
