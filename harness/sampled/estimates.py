"""Tables of metrics that are estimated from samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sampled import Sampled
from analyses.sampled.estimators import uncorrected
from analyses.sampled.expectation.metrics import rank_metric
from analyses.shared.table import Cell, Table, shown

Floats = NDArray[np.float64]

OF_ORDERS = (
    "Off by: root mean square of estimate minus exact value over systems and samples, bias and "
    "noise together. In order: the share of pairs of systems and samples in the true order."
)


def estimates_table(result: Sampled, *, note: str = "") -> Table:
    """Tabulate exact values, and means and deviations of estimates, by metric and system."""
    rows: list[list[Cell]] = []
    for number, metric in enumerate(result.metrics):
        for place, system in enumerate(result.systems):
            values = zip(result.mean[:, number, place], result.sd[:, number, place], strict=True)
            cells = [f"{shown(float(mean))} ± {shown(float(sd))}" for mean, sd in values]
            rows.append([f"{metric}, {system}", float(result.exact[number, place]), *cells])
    return Table(
        name="sampled",
        title="Exact metrics, and estimates from samples",
        note=note or result.caption(),
        headings=["metric, system", "exact", *result.estimators],
        rows=rows,
        best={},
    )


def orders_table(result: Sampled, *, note: str = "") -> Table:
    """Tabulate how far estimates are off, and how often they order pairs of systems rightly."""
    headings = [f"{metric}, {what}" for metric in result.metrics for what in ("off by", "in order")]
    numbers = np.stack([result.distance, result.in_order()], axis=2)
    rows = [
        [estimator, *row.ravel().tolist()]
        for estimator, row in zip(result.estimators, numbers, strict=True)
    ]
    return Table(
        name="sampled_orders",
        title="Distance of estimates from exact metrics, and pairs of systems in the true order",
        note=f"{OF_ORDERS} {note or result.caption()}",
        headings=["estimator", *headings],
        rows=rows,
        best={column: max if column % 2 == 0 else min for column in range(1, len(headings) + 1)},
    )


def errors_table(result: Sampled, *, note: str = "") -> Table:
    """Tabulate how many items are scored, and relative errors of curves, by system."""
    rows: list[list[Cell]] = [
        [f"items scored for a user, {system}", *(f"{scored:,.1f}" for scored in of_system)]
        for system, of_system in zip(result.systems, result.scored.T, strict=True)
    ]
    for number, name in enumerate(map(rank_metric, result.metrics)):
        if name.cutoff is None:
            continue
        for place, system in enumerate(result.systems):
            errors = result.errors[:, number, place]
            values = zip(errors.mean(axis=1), errors.std(axis=1, ddof=1), strict=True)
            cells = [f"{mean:.2f} ± {sd:.2f}" for mean, sd in values]
            rows.append([f"{replace(name, cutoff=None)}, {system}", *cells])
    return Table(
        name="sampled_errors",
        title="Relative error of the curve over the cut-offs 1 to 50, in per cent",
        note=note or result.caption(),
        headings=["metric, system", *result.estimators],
        rows=list({tuple(row): row for row in rows}.values()),
        best={},
    )


def winners_table(result: Sampled, *, note: str = "") -> Table:
    """Tabulate the share of the samples that find the best system."""
    found = result.winners()
    shares = (found["correct"] / found["repeats"].where(found["repeats"] > 0)).to_numpy(dtype=float)
    by_estimator = shares.reshape(len(result.metrics), len(result.estimators)).T
    return Table(
        name="sampled_winners",
        title="Share of the samples that find the best system",
        note=note or result.caption(),
        headings=["estimator", *result.metrics],
        rows=[[e, *row.tolist()] for e, row in zip(result.estimators, by_estimator, strict=True)],
        best=dict.fromkeys(range(1, len(result.metrics) + 1), max),
    )


def conclusion(result: Sampled) -> str:
    """Say for each metric which estimator came closest, and how samples order the systems."""
    in_order = result.in_order()
    return "\n".join(
        f"{metric}: closest to the exact values was {result.estimators[off.argmin()]}, off by "
        f"{shown(float(off.min()))}{_of_order(result.estimators, shares, int(off.argmin()))}."
        for metric, off, shares in zip(result.metrics, result.distance.T, in_order.T, strict=True)
    )


def _of_order(estimators: Sequence[str], shares: Floats, closest: int) -> str:
    """Say which share of the pairs of systems the sampled metric, and the closest, order truly."""
    plain = str(uncorrected())
    if np.isnan(shares).any() or plain not in estimators:
        return ""
    said = (
        f"; the uncorrected metric has {100 * shares[estimators.index(plain)]:.0f} % of the pairs"
    )
    if estimators[closest] == plain:
        return f"{said} of systems in their true order"
    return f"{said} of systems in their true order, the closest {100 * shares[closest]:.0f} %"


def in_short(result: Sampled) -> str:
    """Say which estimators came closest, to which metrics, and how samples order the systems."""
    closest = [result.estimators[off.argmin()] for off in result.distance.T]
    metrics_of: dict[str, list[str]] = {}
    for metric, name in zip(result.metrics, closest, strict=True):
        metrics_of.setdefault(name, []).append(metric)
    found = "; ".join(f"{name} for {', '.join(some)}" for name, some in metrics_of.items())
    return f"closest to the exact values came {found}.{_orders_in_short(result, closest)}"


def _orders_in_short(result: Sampled, closest: Sequence[str]) -> str:
    plain, shares = str(uncorrected()), 100 * result.in_order()
    if np.isnan(shares).any() or plain not in result.estimators:
        return ""
    each = "; ".join(
        f"{metric} {of[result.estimators.index(plain)]:.0f} % and "
        f"{of[result.estimators.index(best)]:.0f} %"
        for metric, of, best in zip(result.metrics, shares.T, closest, strict=True)
    )
    return f" Pairs of systems in their true order, uncorrected and by the closest: {each}."


def frames_of(result: Sampled) -> Mapping[str, pd.DataFrame]:
    """Give the tables by name, in full."""
    return {
        "sampled": result.to_frame(),
        "sampled_orders": result.orders(),
        "sampled_winners": result.winners(),
    }
