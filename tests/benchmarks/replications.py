"""The page on replications: every printed table beside the studies of the papers.

Run with ``make replications FOLDER=... PRINT=...``, which runs the studies of ``studies/`` first:
FOLDER gets their folders, and PRINT has the printed numbers, a CSV file a table. The printed
numbers themselves are not written.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from click.testing import CliRunner

from analyses.shared.number_format import Cell, rounded
from harness.cli.main import main as harness
from harness.report.publication import Publication
from runs import InputError
from tests.benchmarks.conclusions import write_conclusions
from tests.benchmarks.page_digests import EXAMPLE, PAGE, source_of, write

HEADINGS = (
    *("table", "command", "printed", "compared", "independent", "within rounding", "within noise"),
    *("mean error", "unit", "tau-b", "remark"),
)
"""Columns of the table of all tables."""

STEP_OF_TAU = 2 / 210
"""Least difference of two correlations of 21 systems, which are 210 pairs."""

OF_OTHER_DATA = ("aaai2023-table5", "thesis2021-table3.1")
"""Tables that describe the data of the print, which are not ours."""

DERIVED = ("predicted rank", "density", "total")
"""Labels of numbers that are no results: ranks that are given, and what follows from others."""


def remarks() -> dict[str, str]:
    """Read what is said of tables and figures that cannot be compared, or only in part."""
    with (PAGE / "remarks.csv").open(encoding="utf-8", newline="") as file:
        return {row["table"]: row["remark"] for row in csv.DictReader(file)}


def write_kept_table(name: str, folder: Path) -> None:
    """Write our numbers of a table, as the page has them, so that they can be compared.

    Nothing is written if the page does not have the table.
    """
    path = PAGE / f"{name}.csv"
    if path.exists():
        folder.mkdir(exist_ok=True)
        kept_table = pd.read_csv(path, dtype=str).rename(columns={"ours": "value"})
        # Percentages stay as they are.
        kept_table.assign(unit="").to_csv(folder / f"{name}.csv", index=False)


def compared(folder: Path, printed: Path, kept_tables: Path) -> Iterator[dict[str, Cell]]:
    """Compare every printed table, and write our own numbers of it.

    Of studies that are not in the folder, the numbers of the page are compared: ``kept_tables`` is
    a folder for them.
    """
    said = remarks()
    tables = {path.stem: path for path in sorted(printed.glob("*.csv"))}
    counted: set[tuple[str, ...]] = set()
    for name in sorted({*tables, *said}, key=in_order):
        source = source_of(name)
        place = folder / (EXAMPLE if source == EXAMPLE else f"study-{source}")
        row: dict[str, Cell] = {"table": name, "remark": said.get(name, "")}
        if name in tables and not name.endswith("-text"):
            is_made = place.exists()
            if not is_made:
                place = kept_tables / source
                write_kept_table(name, place)
            try:
                made = Publication.of_tables([place], [tables[name]])
            except InputError as error:
                if name not in said:
                    sys.exit(f"{name}: no remark says why it is not compared. {error}")
            else:
                row |= summary(made, tables[name], counted)
                command = "sampled --example" if source == EXAMPLE else f"run studies/{source}.toml"
                row["command"] = command
                if is_made:
                    ours = made.frame()[[*made.labels, "ours"]]
                    ours.to_csv(PAGE / f"{name}.csv", index=False, float_format="%.7g")
        elif name not in said:
            sys.exit(f"{name}: no remark says why it is not compared.")
        yield row


def summary(made: Publication, printed: Path, counted: set[tuple[str, ...]]) -> dict[str, Cell]:
    """Count the numbers of a table, and average how far ours are from the print.

    Errors are of the independent numbers: in standard errors where the print has deviations (for
    counts of repeats, binomial ones), in steps of tau for correlations, else in points of
    percentages or as printed. What was counted for earlier tables is in ``counted``, to which the
    numbers of this one are added.
    """
    row = made.summary()
    frame = made.frame()
    published = pd.read_csv(printed, dtype=str, keep_default_na=False)
    is_independent = independent(frame, made.labels, counted)
    differences = (frame["ours"] - frame["published"]).abs()[is_independent]
    standard_errors = made.joined["noise"][is_independent] / 2
    units = set(published.get("unit", ""))
    unit = "points" if units == {"%"} else "as printed"
    if (standard_errors > 0).any():
        differences = (differences / standard_errors)[standard_errors > 0]
        unit = "standard errors"
    elif set(published.get("quantity", "")) == {"Kendall tau"}:
        differences = differences / STEP_OF_TAU
        unit = "steps of tau"
    row["printed"] = len(published)
    row["independent"] = int(is_independent.sum())
    has_errors = is_independent.any() and not made.are_ranks
    if has_errors and printed.stem not in OF_OTHER_DATA:
        row["mean error"] = f"{differences.mean():.3g}"
        row["unit"] = unit
    return row


def independent(
    frame: pd.DataFrame, labels: tuple[str, ...], counted: set[tuple[str, ...]]
) -> "pd.Series[bool]":
    """Mark the numbers of a table that no other number of the page gives: (n_numbers,).

    Of a symmetric table that is one half, without the diagonal. Counts are marked, their shares are
    not; nor is what is derived (`DERIVED`), nor what earlier tables have with the same labels. The
    keys of the numbers are added to ``counted``.
    """
    has_counts = "quantity" in frame and not frame["quantity"].str.contains("share|portion").all()
    is_independent = []
    for number in frame.to_dict("records"):
        texts = [str(number[label]) for label in labels if number[label] != ""]
        sides = {number[label] for label in labels if label.endswith(("_row", "_column"))}
        key = (*sorted(texts), str(number["published"]))
        is_share = any(text.startswith(("share", "portion")) for text in texts)
        is_derived = any(text in DERIVED for text in texts) or (is_share and has_counts)
        is_diagonal = len(sides) == 1
        is_independent.append(key not in counted and not is_derived and not is_diagonal)
        counted.add(key)
    return pd.Series(np.array(is_independent), index=frame.index)


def in_order(name: str) -> tuple[str, int, list[int]]:
    """Sort by paper, kind and number."""
    paper, _, part = name.partition("-")
    kind = part.rstrip("0123456789.")
    numbers = [int(number) for number in part.removeprefix(kind).split(".") if number]
    return paper, ["table", "figure"].index(kind) if kind in ("table", "figure") else 2, numbers


def errors(folder: Path) -> pd.DataFrame:
    """Average over systems the relative error of whole curves, in %, by estimator and size."""
    rows = pd.read_csv(folder / "study-aaai2023/tables/sampled.csv").query("cutoff == 10")
    keys = ["estimator", "m"]
    items = rows.groupby(keys, sort=False)["scored"].mean().rename("items of a user")
    of_metrics = rows.pivot_table("error", keys, "metric", sort=False)
    return pd.concat([items, of_metrics], axis=1).map("{:.1f}".format).reset_index(["m"])


def main() -> None:
    """Write every table of the page, with the digests of what made it.

    Studies that are not in the folder are left out.
    """
    folder, printed = map(Path, sys.argv[1:])
    example = ["sampled", "--example", "--output", str(folder / EXAMPLE)]
    CliRunner().invoke(harness, example, catch_exceptions=False)
    with TemporaryDirectory() as kept_tables:
        rows = list(compared(folder, printed, Path(kept_tables)))
    made = [str(row["table"]) for row in rows if has_source(str(row["table"]), folder)]
    if has_source("aaai2023", folder):
        errors(folder).to_csv(PAGE / "aaai2023-errors.csv")
        made.append("aaai2023-errors")
    with (PAGE / "tables.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADINGS)
        for row in rows:
            tau = row.get("tau-b", "")
            row["tau-b"] = rounded(tau, 2) if isinstance(tau, float) else tau
            writer.writerow([row.get(heading, "") for heading in HEADINGS])
    write_conclusions(PAGE, printed)
    write(table for table in made if (PAGE / f"{table}.csv").exists())


def has_source(table: str, folder: Path) -> bool:
    """Check whether the folder has the study, or the example, that makes a table."""
    source = source_of(table)
    return (folder / (EXAMPLE if source == EXAMPLE else f"study-{source}")).exists()


if __name__ == "__main__":
    main()
