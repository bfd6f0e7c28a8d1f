"""Resolution: how finely a metric tells users apart, beside metrics that everybody knows."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from analyses.shared.table import Table
from harness.laws.lists import MOST_MISSED, Bench, Shape, UserList
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import built_in_metrics
from qrels import Judged
from runs import InputError

BESIDE = ("nDCG", "P")
N_LISTS = 500
SEED = 20261126
SHARES = (0.5, 0.3, 0.2)
"""Shares of unjudged, judged non-relevant and relevant items in a random list."""

DIGITS = 9
"""Scores are compared after rounding to these digits."""


def resolution(metric: Metric, cutoff: int | None) -> Table | None:
    """Tabulate ties, distinct scores and mean of random lists; None if these have no scores.

    Tied pairs are a share of all pairs of users.
    """
    shape = Bench(metric, cutoff).shape
    compared = [metric, *(built_in_metrics()[name] for name in BESIDE if name != metric.label)]
    rows: list[tuple[str, float, int, float]] = []
    for each in compared:
        try:
            scores = each(_random_lists(shape), cutoff=cutoff)
        except InputError:
            return None
        counts = np.unique(scores.round(DIGITS), return_counts=True)[1]
        n_tied, n_pairs = (counts * (counts - 1)).sum(), N_LISTS * (N_LISTS - 1)
        rows.append((each.label, float(n_tied / n_pairs), len(counts), float(scores.mean())))
    depth = "without a cut-off" if cutoff is None else f"at cut-off {cutoff}"
    note = f"Resolution {depth}: the scores of {N_LISTS} users with random lists."
    headings = ["metric", "tied pairs", "distinct scores", "mean score"]
    return Table("resolution", "Resolution", note, headings, rows, decimals=3)


@lru_cache(maxsize=16)
def _random_lists(shape: Shape) -> Judged:
    """Draw lists of items in random order: the same every time."""
    generator = np.random.default_rng(SEED)
    kinds = ((None,), shape.nonrelevant_grades, shape.relevant_grades)
    grades = [grade for kind in kinds for grade in kind]
    chances = [share / len(kind) for share, kind in zip(SHARES, kinds, strict=True) for _ in kind]
    lists = []
    for _ in range(N_LISTS):
        marks = generator.choice(len(grades), size=shape.depth + MOST_MISSED, p=chances)
        drawn = [grades[mark] for mark in marks]
        missed = tuple(grade for grade in drawn[shape.depth :] if grade is not None)
        lists.append(UserList(tuple(drawn[: shape.depth]), missed))
    return shape.judged(lists)
