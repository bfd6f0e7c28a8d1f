"""The page on replications: every printed table beside the studies of the papers.

Run with ``make replications FOLDER=... PRINT=...``: FOLDER has the studies of ``studies/`` as
``harness run`` leaves them, and PRINT the printed numbers, a CSV file a table. The printed numbers
themselves are not written.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from click.testing import CliRunner

from analyses.shared.number_format import Cell, rounded
from harness.cli.main import main as harness
from harness.report.publication import Publication
from runs import InputError

PAGE = Path(__file__).parents[2] / "docs/replications"

OF_EXAMPLE = ("kdd2020-table1", "kdd2020-table2", "rendle2019-table1", "rendle2019-table2")
"""Tables that need no data."""

HEADINGS = (
    *("table", "command", "printed", "compared", "within rounding", "within noise"),
    *("within 10 %", "same sign", "tau-b", "remark"),
)
"""Columns of the table of all tables."""


def remarks() -> dict[str, str]:
    """Read what is said of tables and figures that cannot be compared, or only in part."""
    with (PAGE / "remarks.csv").open(encoding="utf-8", newline="") as file:
        return {row["table"]: row["remark"] for row in csv.DictReader(file)}


def compared(folder: Path, printed: Path) -> Iterator[dict[str, Cell]]:
    """Compare every printed table, and write our own numbers of it."""
    said = remarks()
    tables = {path.stem: path for path in sorted(printed.glob("*.csv"))}
    for name in sorted({*tables, *said}, key=in_order):
        paper = name.partition("-")[0]
        is_example = name in OF_EXAMPLE
        place = folder / ("example" if is_example else f"study-{paper}")
        row: dict[str, Cell] = {"table": name, "remark": said.get(name, "")}
        if name in tables and not name.endswith("-text"):
            try:
                made = Publication.of_tables([place], [tables[name]])
            except InputError as error:
                if name not in said:
                    sys.exit(f"{name}: no remark says why it is not compared. {error}")
            else:
                row |= made.summary()
                row["command"] = "sampled --example" if is_example else f"run studies/{paper}.toml"
                ours = made.frame()[[*made.labels, "ours"]]
                ours.to_csv(PAGE / f"{name}.csv", index=False, float_format="%.6g")
        elif name not in said:
            sys.exit(f"{name}: no remark says why it is not compared.")
        yield row


def in_order(name: str) -> tuple[str, int, list[int]]:
    """Sort by paper, kind and number."""
    paper, _, part = name.partition("-")
    kind = part.rstrip("0123456789.")
    numbers = [int(number) for number in part.removeprefix(kind).split(".") if number]
    return paper, ["table", "figure"].index(kind) if kind in ("table", "figure") else 2, numbers


def errors(folder: Path) -> pd.DataFrame:
    """Average over systems the relative error of whole curves, in %, by estimator and size."""
    found = pd.read_csv(folder / "study-aaai2023/tables/sampled.csv").query("cutoff == 10")
    keys = ["estimator", "m"]
    items = found.groupby(keys, sort=False)["scored"].mean().rename("items of a user")
    of_metrics = found.pivot_table("error", keys, "metric", sort=False)
    return pd.concat([items, of_metrics], axis=1).map("{:.1f}".format).reset_index(["m"])


def main() -> None:
    """Write every table of the page."""
    folder, printed = map(Path, sys.argv[1:])
    errors(folder).to_csv(PAGE / "aaai2023-errors.csv")
    example = ["sampled", "--example", "--output", str(folder / "example")]
    CliRunner().invoke(harness, example, catch_exceptions=False)
    with (PAGE / "tables.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADINGS)
        for row in compared(folder, printed):
            tau = row.get("tau-b", "")
            row["tau-b"] = rounded(tau, 2) if isinstance(tau, float) else ""
            writer.writerow([row.get(heading, "") for heading in HEADINGS])


if __name__ == "__main__":
    main()
