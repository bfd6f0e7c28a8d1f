"""Metrics of the ranks of relevant items, full or sampled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from qrels import FullRanks
from runs import InputError
from runs.shared.errors import nearest
from runs.shared.settings import read_by

Floats = NDArray[np.float64]
Value = TypeVar("Value")
Divisor = Literal["relevant", "reachable"]

NAMES = ("AUC", "AP", "RR", "nDCG", "P", "Recall")
OTHER_NAMES = {"Precision": "P", "NDCG": "nDCG", "MRR": "RR", "MAP": "AP"}
NAME = re.compile(r"([A-Za-z]+)(?:\(divisor=([a-z]+)\))?(?:@([0-9]+))?")


@dataclass(frozen=True)
class RankMetric:
    r"""A metric of the ranks of the relevant items.

    With one of them, at rank r of n, it is

    ===========  =========================================
    AUC          :math:`(n - r) / (n - 1)`
    P@k          :math:`[r \le k] / k`
    Recall@k     :math:`[r \le k]`
    AP@k, RR@k   :math:`[r \le k] / r`
    nDCG@k       :math:`[r \le k] / \log_2(r + 1)`
    ===========  =========================================

    Without a cut-off k is n. Ranks may lie between whole numbers.

    Parameters
    ----------
    name
        One of ``NAMES``.
    cutoff
        Ranks considered; all of them by default. AUC takes none.
    divisor
        What AP divides by for users with q relevant items: q, ``"relevant"``, as trec_eval, or
        min(q, k), ``"reachable"``, as Krichene & Rendle.

    Notes
    -----
    Krichene & Rendle (2020), equations 7 to 13; several relevant items as in trec_eval.

    Examples
    --------
    >>> metric = RankMetric("nDCG", cutoff=10)
    >>> str(metric), metric([1, 3, 11], n=100).tolist()
    ('nDCG@10', [1.0, 0.5, 0.0])
    """

    name: str
    cutoff: int | None = None
    divisor: Divisor = "relevant"

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            meant = nearest(self.name, NAMES)
            raise InputError(f"no metric of ranks is called {self.name!r}; {meant}")
        if self.cutoff is not None and self.name == "AUC":
            raise InputError(f"AUC looks at all ranks and takes no cut-off, got {self.cutoff}.")
        if self.cutoff is not None and self.cutoff < 1:
            raise InputError(f"the cut-off must be at least 1, got {self.cutoff}.")
        if self.divisor not in get_args(Divisor):
            raise InputError(f"`divisor` must be relevant or reachable, got {self.divisor!r}.")
        if self.divisor != "relevant" and self.name != "AP":
            raise InputError(f"{self.name} takes no `divisor`; AP does.")

    def __str__(self) -> str:
        options = "" if self.divisor == "relevant" else f"(divisor={self.divisor})"
        return self.name + options + ("" if self.cutoff is None else f"@{self.cutoff}")

    def __call__(self, ranks: ArrayLike, *, n: ArrayLike) -> Floats:
        """Score users with one relevant item, of ranks from 1 to n: values in [0, 1]."""
        return self.summands(ranks, n=n, order=1, n_relevant=1)

    def exact(self, ranks: FullRanks) -> float:
        """Give the mean over the users of the metric among all candidates."""
        return float(self.of_users(ranks).mean())

    def of_users(self, ranks: FullRanks) -> Floats:
        """Give the metric of every user among all candidates: (n_users,)."""
        asked = {"order": ranks.order, "n_relevant": ranks.n_relevant}
        terms = self.summands(ranks.rank, n=ranks.n_candidates, **asked)
        _, place = np.unique(ranks.user, return_inverse=True)
        return np.bincount(place, weights=terms).astype(np.float64)

    def summands(
        self, ranks: ArrayLike, *, n: ArrayLike, order: ArrayLike, n_relevant: ArrayLike
    ) -> Floats:
        r"""Give what each relevant item adds to the metric of its user.

        With :math:`t_j` the rank of relevant item j of q, terms are :math:`[t_j \le k] / q` for
        Recall, :math:`[t_j \le k] / k` for P, :math:`[t_j \le k] \, j / (t_j d)` for AP,
        :math:`[t_1 \le k] / t_1` for RR (j = 1 alone),
        :math:`[t_j \le k] / (\log_2(t_j + 1) \, \mathrm{IDCG})` for nDCG and
        :math:`(1 - (t_j - j) / (n - q)) / q` for AUC. n is the length of the list, all candidates
        or m + q for a sample.

        Examples
        --------
        A user with relevant items at ranks 1 and 3 has an AP of (1 + 2/3) / 2:

        >>> RankMetric("AP").summands([1, 3], n=7, order=[1, 2], n_relevant=2).round(4)
        array([0.5   , 0.3333])
        """
        t, j, q = (np.asarray(some, dtype=np.float64) for some in (ranks, order, n_relevant))
        length = np.asarray(n, dtype=np.float64)
        if self.name == "AUC":
            return np.asarray((1 - (t - j) / (length - q)) / q)
        depth = length if self.cutoff is None else np.asarray(float(self.cutoff))
        return np.where(t <= depth, self._within(t, j, q, depth), 0.0)

    def rescaling(
        self, order: ArrayLike, n_relevant: ArrayLike, *, n_irrelevant: ArrayLike
    ) -> Floats:
        """Give the terms of item j for q relevant items, divided by those for j of them.

        They are 0 where the terms are.
        """

        def at_top(relevant: ArrayLike) -> Floats:
            n = np.add(n_irrelevant, relevant)
            return self.summands(order, n=n, order=order, n_relevant=relevant)

        base, own = at_top(order), at_top(n_relevant)
        return np.divide(own, base, out=np.zeros_like(own), where=base != 0)

    def _within(self, t: Floats, j: Floats, q: Floats, depth: Floats) -> Floats:
        match self.name:
            case "P":
                return 1 / depth
            case "Recall":
                return 1 / q
            case "RR":
                return (j == 1) / t
            case "AP":
                return j / (t * (q if self.divisor == "relevant" else np.minimum(q, depth)))
            case _:
                return 1 / (np.log2(t + 1) * _ideal_dcg(np.minimum(q, depth)))


def _ideal_dcg(n_found: Floats) -> Floats:
    gains = 1 / np.log2(np.arange(2, int(n_found.max(initial=1)) + 2))
    return np.asarray(np.cumsum(gains)[n_found.astype(np.intp) - 1])


def rank_metric(text: str | RankMetric) -> RankMetric:
    """Read a metric's name: ``AUC``, ``Recall@10``, ``AP(divisor=reachable)@10``."""
    if isinstance(text, RankMetric):
        return text
    found = NAME.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{text!r} is no metric of ranks: it is written NAME or NAME@10.")
    name, divisor, cutoff = found.groups(default="")
    options: dict[str, Any] = {"divisor": divisor} if divisor else {}
    return RankMetric(OTHER_NAMES.get(name, name), int(cutoff) if cutoff else None, **options)


def read_metrics(names: Sequence[str | RankMetric]) -> tuple[RankMetric, ...]:
    """Read different metrics, by which systems can differ."""
    read = distinct([rank_metric(name) for name in names], "metric")
    if RankMetric("P") in read:
        raise InputError("P of a whole list is the same for all systems: give a cut-off, as P@10.")
    return read


def distinct(values: Sequence[Value], what: str) -> tuple[Value, ...]:
    """Refuse no values, and duplicates."""
    if not values:
        raise InputError(f"there must be at least one {what}.")
    for number, value in enumerate(values):
        if value in values[:number]:
            raise InputError(f"the {what} {value} is duplicated.")
    return tuple(values)


METRICS = ("Recall@10", "nDCG@10", "AP", "AUC")
MetricNames = Annotated[
    tuple[str, ...],
    read_by(read_metrics),
    Field(description="Metrics of ranks: AUC, AP, RR, nDCG, P, Recall, with or without cut-off."),
]
