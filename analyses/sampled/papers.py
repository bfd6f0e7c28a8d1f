"""The tables of Krichene & Rendle (2020) and Li et al. (2023), row by row as they print them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators import Estimator, find_estimator
from analyses.sampled.metrics import rank_metric
from analyses.shared.result import table
from analyses.shared.table import Cell, Table

Floats = NDArray[np.float64]
Rows: TypeAlias = "Iterator[dict[str, Cell]]"
Estimates: TypeAlias = Any
"""`analyses.sampled.estimates.Estimates`, a module that imports this one."""

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
    """Give the columns of a paper's table that name a metric."""
    read = rank_metric(name)
    whole = "" if read.name == "AUC" else "none"
    printed = "NDCG" if read.name == "nDCG" else read.name
    return {"metric": read.name, "paper_metric": printed, "cutoff": read.cutoff or whole}


def _kdd_estimator(one: Estimator) -> dict[str, Cell]:
    """Give the columns that name an estimator of Krichene & Rendle; none for others."""
    if one.name not in KDD_NAMES or one.prior not in ("", "uniform"):
        return {}
    name, printed = KDD_NAMES[one.name]
    gamma = dict(one.options).get("gamma", "")
    text = f"{printed} {gamma:g}" if gamma else printed
    return {"estimator": name, "paper_estimator": text, "gamma": gamma}


def _aaai_estimator(one: Estimator) -> str:
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
    no_sample: dict[str, Cell] = {"estimator": "exact", "paper_estimator": "Exact", "gamma": ""}
    no_sample |= {"m_negatives": "", "repeats": ""}
    for s, n in np.ndindex(len(found.systems), len(found.metrics)):
        labels = {"dataset": found.study, "system": found.systems[s]}
        labels |= paper_metric(found.metrics[n])
        yield labels | no_sample | {"value": 100 * found.exact[n, s], "sd": "", "unit": "%"}
        for way, one in enumerate(map(find_estimator, found.estimators)):
            names = _kdd_estimator(one)
            if names and found.drawings[way] == "uniform":
                sizes = {"m_negatives": found.negatives[way], "repeats": found.n_repeats}
                numbers = {"value": mean[way, n, s], "sd": sd[way, n, s], "unit": "%"}
                yield labels | names | sizes | numbers


def _kdd_orders(found: Estimates) -> Rows:
    columns = ["metric", "cutoff", "system_1", "system_2", "estimator", "m", "repeats", "correct"]
    orders = found.orders().query("drawing == 'uniform'")[columns].astype(object)
    for metric, k, one, other, estimator, *numbers in orders.to_numpy():
        if names := _kdd_estimator(find_estimator(estimator)):
            labels = {"dataset": found.study, "pair": f"{one} vs {other}"}
            labels |= {"system_1": one, "system_2": other}
            labels |= paper_metric(f"{metric}@{k}" if isinstance(k, int) else metric)
            counts = dict(zip(("m_negatives", "repeats", "value"), numbers, strict=True))
            yield (
                labels | names | counts | {"unit": f"correct orders out of {found.n_repeats} runs"}
            )


def _aaai_ways(found: Estimates, adaptive: bool, size: int) -> Rows:
    for way, one in enumerate(found.estimators):
        name = _aaai_estimator(find_estimator(one))
        of_table = name in BESIDE_ADAPTIVE if adaptive else name not in ("", ADAPTIVE)
        if of_table and (name == ADAPTIVE or found.negatives[way] == found.sizes[size]):
            items = "adaptive" if name == ADAPTIVE else found.negatives[way] + 1
            yield {"way": way, "estimator": name, "sample_set_size": items}


def _aaai_errors(
    metric: str, *, adaptive: bool = False, size: int = -1
) -> Callable[[Estimates], Rows]:
    def rows(found: Estimates) -> Rows:
        curves = [n for n, name in enumerate(found.metrics) if rank_metric(name).name == metric]
        names = paper_metric(metric) | {"cutoff": "1-50 (mean over K)"}
        for number, s in np.ndindex(len(curves[:1]), len(found.systems)):
            place = {"dataset": found.study, "system": found.systems[s]}
            for labels in _aaai_ways(found, adaptive, size):
                way = labels.pop("way")
                errors, scored = (
                    found.errors[way, curves[number], s],
                    found.scored_by_repeat[way, s],
                )
                yield (
                    place
                    | names
                    | labels
                    | {"quantity": "average relative error", **_spread(errors), "unit": "%"}
                )
                if labels["estimator"] == ADAPTIVE:
                    yield (
                        place
                        | dict.fromkeys(names, "")
                        | labels
                        | {
                            "quantity": "average sample set size",
                            **_spread(scored),
                            "unit": "items",
                        }
                    )

    return rows


def _spread(values: Floats) -> dict[str, Cell]:
    return {"value": values.mean(), "sd": values.std(ddof=1)}


def _aaai_winners(found: Estimates) -> Rows:
    unit = f"correct winners out of {found.n_repeats} repeats"
    for number, metric in enumerate(found.metrics):
        for labels in _aaai_ways(found, adaptive=True, size=-1):
            share = found.advice_numbers[5, labels.pop("way"), number]
            if rank_metric(metric).name != "AUC" and not np.isnan(share):
                count = {"value": round(share * found.n_repeats), "unit": unit}
                yield {"dataset": found.study} | paper_metric(metric) | labels | count


def paper_table(name: str, title: str, rows: Callable[..., Rows]) -> Any:
    """Declare a table of a paper, a method of a result; its rows are by heading."""

    def make(self: Any) -> Table:
        every = [*rows(self)]
        # Exact values and BV alone are no table: BV is an estimator of both papers.
        if {row.get("estimator") for row in every} <= {"exact", "BV"}:
            every = []
        headings, cells = [*(every[0] if every else ())], [[*row.values()] for row in every]
        return Table(name, f"{title[0].upper()}{title[1:]}", self.caption(), headings, cells)

    make.__name__ = name.replace("-", "_")
    return table(name, title)(make)


Kind = TypeVar("Kind")
TABLES = (
    ("kdd2020-table3", "exact metrics and all corrections, in per cent", _kdd_values),
    ("kdd2020-table4", "repeats that have pairs of systems in true order", _kdd_orders),
    ("aaai2023-table1", "errors of Recall", _aaai_errors("Recall", size=0)),
    ("aaai2023-table2", "errors of nDCG, adaptive", _aaai_errors("nDCG", adaptive=True)),
    ("aaai2023-table3", "repeats that find the best system", _aaai_winners),
    ("aaai2023-table6", "errors of Recall", _aaai_errors("Recall", size=0)),
    ("aaai2023-table7", "errors of nDCG, adaptive", _aaai_errors("nDCG", adaptive=True)),
    ("aaai2023-table8", "repeats that find the best system", _aaai_winners),
    ("aaai2023-table9", "errors of AP", _aaai_errors("AP", size=0)),
    ("aaai2023-table10", "errors of nDCG", _aaai_errors("nDCG")),
    ("aaai2023-table11", "errors of Recall, adaptive", _aaai_errors("Recall", adaptive=True)),
)
"""Tables by name, title and what gives their rows."""


def with_paper_tables(kind: type[Kind]) -> type[Kind]:
    """Give a class of results the tables of the papers."""
    for name, title, rows in TABLES:
        setattr(kind, name.replace("-", "_"), paper_table(name, title, rows))
    return kind
