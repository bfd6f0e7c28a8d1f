"""What sampling does to metrics: printed, and kept in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.sampled import Sampled
from harness.table import Cell, Table, shown

if TYPE_CHECKING:
    import pandas as pd

FIGURE = "sampled_against_exact"
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


def as_table(result: Sampled) -> str:
    """Print both tables in aligned columns, rounded, and what they say."""
    tables = (estimates_table(result), orders_table(result))
    return "\n".join([*(table.to_columns() for table in tables), conclusion(result) + "\n"])


def as_csv(result: Sampled) -> str:
    """Print the estimates with every column, in full precision."""
    return result.to_frame().to_csv(index=False, lineterminator="\n")


def as_json(result: Sampled) -> str:
    """Print estimates, orders and winners in full precision; null where nothing is known."""
    document: dict[str, Any] = {
        name: frame.astype(object).where(frame.notna(), None).to_dict("records")
        for name, frame in tables_of(result).items()
    }
    return json.dumps(document | {"caption": result.caption()}, indent=2, ensure_ascii=False) + "\n"


def as_latex(result: Sampled) -> str:
    """Print both tables for a paper; see `Table.to_latex`."""
    return "\n".join([estimates_table(result).to_latex(), orders_table(result).to_latex()])


FORMATS: Mapping[str, Callable[[Sampled], str]] = {
    "table": as_table,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}


def conclusion(result: Sampled) -> str:
    """Say for each metric which estimator came closest to the exact values."""
    return "\n".join(
        f"{metric}: closest to the exact values was {result.estimators[off.argmin()]}, off by "
        f"{shown(float(off.min()))}."
        for metric, off in zip(result.metrics, result.distance.T, strict=True)
    )


def tables_of(result: Sampled) -> dict[str, pd.DataFrame]:
    """Give the tables by name, in full."""
    return {
        "sampled": result.to_frame(),
        "sampled_orders": result.orders(),
        "sampled_winners": result.winners(),
    }


def write_files(result: Sampled, folder: Path) -> None:
    """Write the tables, and the figure with its caption."""
    from harness.catalogue import by_sampled_metric
    from harness.figures import as_png, as_svg
    from runs.files import write_whole

    for name, frame in tables_of(result).items():
        write_whole(folder / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n").encode())
    figure = by_sampled_metric(result)
    write_whole(folder / f"{FIGURE}.svg", as_svg(figure))
    write_whole(folder / f"{FIGURE}.png", as_png(figure))
    write_whole(folder / f"{FIGURE}.txt", (result.caption() + "\n").encode())
