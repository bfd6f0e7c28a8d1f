"""Metrics of the ranks of relevant items, full or sampled, and frames by metric."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from qrels import FullRanks
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import require_known, warn
from runs.shared.settings import accepted_by, without_repetition

if TYPE_CHECKING:
    import pandas as pd


NAMES = ("AUC", "AP", "RR", "nDCG", "P", "Recall")
OTHER_NAMES = {"Precision": "P", "NDCG": "nDCG", "MRR": "RR", "MAP": "AP"}
HIT_RATES = ("HR", "Hit", "HitRate", "HitRatio", "Success")
USUAL_DEPTH = 10
"""Cut-off of a hit rate that has none."""

NAME = re.compile(r"([A-Za-z]+)(?:@([0-9]+))?")


@dataclass(frozen=True)
class RankMetric:
    r"""A metric of the ranks of the relevant items.

    With one of them, at rank r of n, AUC is :math:`(n - r) / (n - 1)`, P@k :math:`[r \le k] / k`,
    Recall@k :math:`[r \le k]`, AP@k and RR@k :math:`[r \le k] / r`, and nDCG@k
    :math:`[r \le k] / \log_2(r + 1)` (Krichene & Rendle, 2020, equations 7 to 13). Several relevant
    items count as in trec_eval. Without a cut-off k is n. Ranks may lie between whole numbers.

    Parameters
    ----------
    name
        One of ``NAMES``.
    cutoff
        Ranks considered; all of them by default. AUC takes none.

    Examples
    --------
    >>> metric = RankMetric("nDCG", cutoff=10)
    >>> str(metric), metric([1, 3, 11], n=100).tolist()
    ('nDCG@10', [1.0, 0.5, 0.0])
    """

    name: str
    cutoff: int | None = None

    def __post_init__(self) -> None:
        """Refuse, with InputError, an unknown name, a cut-off of AUC, and one below 1."""
        require_known("no metric of ranks is called", [self.name], NAMES)
        if self.cutoff is not None and self.name == "AUC":
            raise InputError(f"AUC uses all ranks and has no cut-off, got {self.cutoff}.")
        if self.cutoff is not None and self.cutoff < 1:
            raise InputError(f"the cut-off must be at least 1, got {self.cutoff}.")

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    def __call__(self, ranks: ArrayLike, *, n: ArrayLike) -> Floats:
        """Score users with one relevant item, of ranks from 1 to n: values in [0, 1]."""
        return self.summands(ranks, n=n, order=1, n_relevant=1)

    def exact(self, ranks: FullRanks) -> float:
        """Compute the metric from ranks among all candidates, in the mean over the users."""
        terms = self.summands(
            ranks.rank, n=ranks.n_candidates, order=ranks.order, n_relevant=ranks.n_relevant
        )
        _, user = np.unique(ranks.user, return_inverse=True)
        return float(np.bincount(user, weights=terms).mean())

    def summands(
        self, ranks: ArrayLike, *, n: ArrayLike, order: ArrayLike, n_relevant: ArrayLike
    ) -> Floats:
        r"""Compute what each relevant item adds to the metric of its user.

        With :math:`t_j` the rank of relevant item j of q, terms are :math:`[t_j \le k] / q` for
        Recall, :math:`[t_j \le k] / k` for P, :math:`[t_j \le k] \, j / (t_j q)` for AP,
        :math:`[t_1 \le k] / t_1` for RR (j = 1 alone),
        :math:`[t_j \le k] / (\log_2(t_j + 1) \, \mathrm{IDCG})` for nDCG and
        :math:`(1 - (t_j - j) / (n - q)) / q` for AUC. n is the length of the list, all candidates
        or m + q for a sample. IDCG is the best possible DCG of q items with cut-off k; without a
        cut-off, k is n. ``ranks`` are t_j, ``order`` is j (from 1) and ``n_relevant`` q; arguments
        fit each other in shape, as does the result. NaN or infinite for AUC if n is q.
        """
        t = np.asarray(ranks, dtype=np.float64)
        j = np.asarray(order, dtype=np.float64)
        q = np.asarray(n_relevant, dtype=np.float64)
        length = np.asarray(n, dtype=np.float64)
        if self.name == "AUC":
            return np.asarray((1 - (t - j) / (length - q)) / q)
        depth = length if self.cutoff is None else np.asarray(float(self.cutoff))
        return np.where(t <= depth, self._within(t, j, q, depth), 0.0)

    def rescaling(self, order: ArrayLike, n_relevant: ArrayLike, *, n_irrelevant: int) -> Floats:
        """Compute factors from the terms of item j of j relevant items to those of item j of q.

        As a term for q items is that for j, times a factor that does not depend on the rank, both
        are taken at the best rank, j. 0 where j is beyond the cut-off. ``order`` (j),
        ``n_relevant`` (q) and the result are of one shape.
        """
        for_order = self._best_summands(order, order, n_irrelevant)
        for_all = self._best_summands(order, n_relevant, n_irrelevant)
        zeros = np.zeros_like(for_all)
        return np.divide(for_all, for_order, out=zeros, where=for_order != 0)

    def _best_summands(self, order: ArrayLike, n_relevant: ArrayLike, n_irrelevant: int) -> Floats:
        """Compute the terms of relevant items whose ranks are their places, the best possible."""
        n = np.add(n_irrelevant, n_relevant)
        return self.summands(order, n=n, order=order, n_relevant=n_relevant)

    def _within(self, t: Floats, j: Floats, q: Floats, depth: Floats) -> Floats:
        """Compute the terms of items at ranks t within the depth; see `summands`.

        ``j``: the item's number among the q relevant ones; all arrays fit each other in shape.
        """
        match self.name:
            case "P":
                return 1 / depth
            case "Recall":
                return 1 / q
            case "RR":
                return (j == 1) / t
            case "AP":
                return j / (t * q)
        # nDCG: the ideal list has relevant items at the first ranks, as far as the cut-off.
        n_reachable = np.minimum(q, depth)
        ranks = np.arange(2, int(n_reachable.max(initial=1)) + 2)
        ideal_dcg = np.cumsum(1 / np.log2(ranks))
        ideal = ideal_dcg[n_reachable.astype(np.intp) - 1]
        return np.asarray(1 / (np.log2(t + 1) * ideal))


def rank_metric(text: str | RankMetric) -> RankMetric:
    """Read a metric's name: ``AUC`` or ``Recall@10``.

    Other names of metrics, such as MRR, are understood. A hit rate (HR, Hit, ...) is read as
    Recall, with a warning, and by default at 10. Refuse, with InputError, other forms and names, a
    cut-off of AUC, and a cut-off of 0.
    """
    if isinstance(text, RankMetric):
        return text
    match = NAME.fullmatch(text.strip())
    if match is None:
        raise InputError(f"{text!r} is no metric of ranks; write NAME or NAME@10.")
    name, cutoff = match.groups()
    if name in HIT_RATES:
        recall = RankMetric("Recall", int(cutoff or USUAL_DEPTH))
        warn(f"{text} is read as {recall}, which differs where users have several relevant items.")
        return recall
    return RankMetric(OTHER_NAMES.get(name, name), int(cutoff) if cutoff else None)


def read_metrics(names: Sequence[str | RankMetric]) -> tuple[RankMetric, ...]:
    """Read metrics; refuse one that occurs twice with ValueError.

    Refuse, with InputError, P without a cut-off, and what `rank_metric` refuses.
    """
    metrics = tuple(rank_metric(name) for name in names)
    without_repetition(tuple(str(metric) for metric in metrics))
    if RankMetric("P") in metrics:
        raise InputError("P of a whole list is the same for all systems: give a cut-off, as P@10.")
    return metrics


METRICS = ("Recall@10", "nDCG@10", "AP", "AUC")
MetricNames = Annotated[
    tuple[str, ...],
    accepted_by(read_metrics),
    Field(min_length=1, description="AUC, AP, RR, nDCG, P or Recall, with an optional cut-off."),
]


def with_cutoffs(frame: pd.DataFrame) -> pd.DataFrame:
    """Split metrics such as ``Recall@10`` into columns metric and cutoff, the first two.

    The frame is changed, and returned. A metric without a cut-off has a missing value.
    """
    import pandas as pd

    metrics = [rank_metric(name) for name in frame.pop("metric")]
    cutoffs = pd.Series([metric.cutoff for metric in metrics], dtype="Int64")
    frame.insert(0, "cutoff", cutoffs)
    frame.insert(0, "metric", [metric.name for metric in metrics])
    return frame
