"""The tables of Krichene & Rendle (2020) and Li et al. (2023), row by row as they print them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np

from analyses.sampled.estimators import Estimator, find_estimator
from analyses.sampled.metrics import rank_metric
from analyses.shared.result import table
from analyses.shared.table import Cell, Table

Rows: TypeAlias = "Iterator[dict[str, Cell]]"
Estimates: TypeAlias = Any
"""`analyses.sampled.estimates.Estimates`, a module that imports this one."""

Kind = TypeVar("Kind")

KDD_NAMES = {
    "uncorrected": ("uncorrected", "Sampled (uncorrected)"),
    "rank-estimate": ("rank estimate", "Rank Estimate"),
    "cls": ("CLS", "CLS"),
    "bv": ("BV", "BV"),
}
"""Estimators of Krichene & Rendle by our names, and as they print them."""

ADAPTIVE = "adaptive MLE"
BESIDE_ADAPTIVE = ("BV_MES", "BV_MLE", "MN_MES", "MN_MLE", ADAPTIVE)
"""Estimators of the tables with adaptive samples; the others have those of samples of one size."""


def paper_metric(name: str) -> dict[str, Cell]:
    """Give the columns that name a metric."""
    read = rank_metric(name)
    whole = "" if read.name == "AUC" else "none"
    printed = "NDCG" if read.name == "nDCG" else read.name
    return {"metric": read.name, "paper_metric": printed, "cutoff": read.cutoff or whole}


def kdd_estimator(one: Estimator) -> dict[str, Cell] | None:
    """Give the columns that name an estimator of Krichene & Rendle; None for others."""
    if one.name not in KDD_NAMES or one.prior not in ("", "uniform"):
        return None
    name, printed = KDD_NAMES[one.name]
    gamma = dict(one.options).get("gamma", "")
    text = f"{printed} {gamma:g}" if gamma else printed
    return {"estimator": name, "paper_estimator": text, "gamma": gamma}


def aaai_estimator(one: Estimator) -> str:
    """Name an estimator as Li et al. print it; nothing if it is none of theirs."""
    prior = one.prior.removeprefix("pooled:").partition("@")[0].upper()
    if one.name in ("mes", "mle"):
        return one.name.upper()
    if one.name == "adaptive-mle":
        return ADAPTIVE
    if prior in ("MES", "MLE"):
        return f"{one.name.upper()}_{prior}"
    return "BV" if one.prior == "uniform" and dict(one.options).get("gamma") == 0.01 else ""


def _kdd_values(found: Estimates) -> Rows:
    mean, sd = 100 * found.estimated.mean(axis=3), 100 * found.sd
    for s, system in enumerate(found.systems):
        for n, metric in enumerate(found.metrics):
            place: dict[str, Cell] = {"dataset": found.study, "system": system}
            place |= paper_metric(metric)
            exact: dict[str, Cell] = {"estimator": "exact", "paper_estimator": "Exact", "gamma": ""}
            exact |= {"m_negatives": "", "repeats": "", "value": 100 * float(found.exact[n, s])}
            yield place | exact | {"sd": "", "unit": "%"}
            for way, one in enumerate(map(find_estimator, found.estimators)):
                names = kdd_estimator(one)
                if names and found.drawings[way] == "uniform":
                    sizes = {"m_negatives": found.negatives[way], "repeats": found.n_repeats}
                    numbers = {"value": float(mean[way, n, s]), "sd": float(sd[way, n, s])}
                    yield place | names | sizes | numbers | {"unit": "%"}


def _kdd_orders(found: Estimates) -> Rows:
    orders = found.orders().query("drawing == 'uniform'")
    columns = ("metric", "cutoff", "system_1", "system_2", "estimator", "m", "repeats", "correct")
    for metric, k, one, other, estimator, *numbers in orders[[*columns]].astype(object).to_numpy():
        if names := kdd_estimator(find_estimator(estimator)):
            place: dict[str, Cell] = {"dataset": found.study, "pair": f"{one} vs {other}"}
            place |= {"system_1": one, "system_2": other}
            place |= paper_metric(f"{metric}@{k}" if isinstance(k, int) else metric)
            place |= names | dict(zip(("m_negatives", "repeats", "value"), numbers, strict=True))
            yield place | {"unit": f"correct orders out of {found.n_repeats} runs"}


def _aaai_ways(
    found: Estimates, *, adaptive: bool, size: int
) -> Iterator[tuple[int, dict[str, Cell]]]:
    every = [aaai_estimator(find_estimator(one)) for one in found.estimators]
    for way, name in enumerate(every):
        of_table = name in BESIDE_ADAPTIVE if adaptive else name not in ("", ADAPTIVE)
        if of_table and (name == ADAPTIVE or found.negatives[way] == found.sizes[size]):
            items: Cell = "adaptive" if name == ADAPTIVE else found.negatives[way] + 1
            yield way, {"estimator": name, "sample_set_size": items}


def _aaai_errors(
    metric: str, *, adaptive: bool = False, size: int = -1
) -> Callable[[Estimates], Rows]:
    def rows(found: Estimates) -> Rows:
        curves = [n for n, name in enumerate(found.metrics) if rank_metric(name).name == metric]
        error, sd = found.errors.mean(axis=3), found.errors.std(axis=3, ddof=1)
        for number in curves[:1]:
            names = paper_metric(metric) | {"cutoff": "1-50 (mean over K)"}
            for s, system in enumerate(found.systems):
                place: dict[str, Cell] = {"dataset": found.study, "system": system}
                for way, labels in _aaai_ways(found, adaptive=adaptive, size=size):
                    quantity = {"quantity": "average relative error"}
                    numbers = {
                        "value": float(error[way, number, s]),
                        "sd": float(sd[way, number, s]),
                    }
                    yield {**place, **names, **labels, **quantity, **numbers, "unit": "%"}
                    if labels["estimator"] == ADAPTIVE:
                        scored = found.scored_by_repeat[way, s]
                        spread = {"value": float(scored.mean()), "sd": float(scored.std(ddof=1))}
                        quantity = {"quantity": "average sample set size"}
                        empty = dict.fromkeys(names, "")
                        yield {**place, **empty, **labels, **quantity, **spread, "unit": "items"}

    return rows


def _aaai_winners(found: Estimates) -> Rows:
    for number, metric in enumerate(found.metrics):
        for way, labels in _aaai_ways(found, adaptive=True, size=-1):
            share = found.advice_numbers[5, way, number]
            if rank_metric(metric).name != "AUC" and not np.isnan(share):
                unit = f"correct winners out of {found.n_repeats} repeats"
                value = round(share * found.n_repeats)
                dataset = {"dataset": found.study}
                yield {**dataset, **paper_metric(metric), **labels, "value": value, "unit": unit}


def _paper_table(name: str, title: str, rows: Callable[[Estimates], Rows]) -> Any:
    def make(self: Any) -> Table:
        every = [*rows(self)]
        # Exact values and BV alone are no table: BV is an estimator of both papers.
        if {row["estimator"] for row in every} <= {"exact", "BV"}:
            every = []
        headings = [*(every[0] if every else ())]
        cells = [[row[heading] for heading in headings] for row in every]
        return Table(name, f"{title[0].upper()}{title[1:]}", self.caption(), headings, cells)

    make.__name__ = name.replace("-", "_")
    return table(name, title)(make)


TABLES: dict[str, tuple[str, Callable[[Estimates], Rows]]] = {
    "kdd2020-table3": ("exact metrics and all corrections, in per cent", _kdd_values),
    "kdd2020-table4": ("repeats that have pairs of systems in true order", _kdd_orders),
    "aaai2023-table1": ("errors of Recall", _aaai_errors("Recall", size=0)),
    "aaai2023-table2": ("errors of nDCG, adaptive", _aaai_errors("nDCG", adaptive=True)),
    "aaai2023-table3": ("repeats that find the best system", _aaai_winners),
    "aaai2023-table6": ("errors of Recall", _aaai_errors("Recall", size=0)),
    "aaai2023-table7": ("errors of nDCG, adaptive", _aaai_errors("nDCG", adaptive=True)),
    "aaai2023-table8": ("repeats that find the best system", _aaai_winners),
    "aaai2023-table9": ("errors of AP", _aaai_errors("AP", size=0)),
    "aaai2023-table10": ("errors of nDCG", _aaai_errors("nDCG")),
    "aaai2023-table11": ("errors of Recall, adaptive", _aaai_errors("Recall", adaptive=True)),
}


def with_paper_tables(kind: type[Kind]) -> type[Kind]:
    """Give a class of results the tables of the papers."""
    for name, (title, rows) in TABLES.items():
        setattr(kind, name.replace("-", "_"), _paper_table(name, title, rows))
    return kind
