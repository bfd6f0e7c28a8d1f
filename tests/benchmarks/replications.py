"""The page on replications: every printed table beside the studies of the papers.

Run with ``make replications FOLDER=... PRINT=...``, which runs the studies of ``studies/`` first:
FOLDER gets their folders, and PRINT has the printed numbers, a CSV file a table. The printed
numbers themselves are not written; numbers of the authors' notebooks are in the folder `AUTHORS`.
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
from tests.benchmarks.thesis_worlds import ARMS_FILE, N_WORLDS

HEADINGS = (
    *("table", "command", "printed", "compared", "independent", "within rounding", "within noise"),
    *("mean error", "unit", "tau-b", "remark"),
)
"""Columns of the table of all tables."""

AUTHORS = PAGE / "authors"
"""Folder of numbers that papers do not print, but the notebooks of their authors."""

STEP_OF_TAU = 2 / 210
"""Least difference of two correlations of 21 systems, which are 210 pairs."""

OF_OTHER_DATA = ("aaai2023-table5",)
"""Tables that describe the data of the print, which are not ours."""

OF_SEVERAL_WORLDS = tuple(f"thesis2021-table4.{number}" for number in (4, 6, 8, 9))
"""Tables with a part for each data set, which are compared in the mean over all of them."""

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
    paths = [*printed.glob("*.csv"), *AUTHORS.glob("*.csv")]
    tables = {path.stem: path for path in sorted(paths)}
    counted: set[tuple[str, ...]] = set()
    for name in sorted({*tables, *said}, key=in_order):
        source = source_of(name)
        place = folder / (EXAMPLE if source == EXAMPLE else f"study-{source}")
        row: dict[str, Cell] = {"table": name, "remark": said.get(name, "")}
        if name in tables and not name.endswith("-text"):
            is_made = place.exists()
            if is_made and name in OF_SEVERAL_WORLDS:
                of_all_worlds = pd.read_csv(place / f"{name}.csv").drop(columns="note")
                of_all_worlds.rename(columns={"value": "ours"}).to_csv(
                    PAGE / f"{name}.csv", index=False, float_format="%.7g"
                )
            if not is_made:
                place = kept_tables / source
                write_kept_table(name, place)
            published = tables[name]
            if name in OF_SEVERAL_WORLDS:
                published = write_means(tables[name], kept_tables / "printed")
                write_means(PAGE / f"{name}.csv", kept_tables / "worlds")
                place = kept_tables / "worlds"
            try:
                made = Publication.of_tables([place], [published])
            except InputError as error:
                if name not in said:
                    sys.exit(f"{name}: no remark says why it is not compared. {error}")
            else:
                row |= summary(made, published, counted)
                row["printed"] = len(pd.read_csv(tables[name], dtype=str))
                row["command"] = command_of(source)
                if is_made and name not in OF_SEVERAL_WORLDS:
                    ours = made.frame()[[*made.labels, "ours"]]
                    ours.to_csv(PAGE / f"{name}.csv", index=False, float_format="%.7g")
        elif name not in said:
            sys.exit(f"{name}: no remark says why it is not compared.")
        yield row


def command_of(source: str) -> str:
    """Word by which command the numbers of a table are made."""
    if source == EXAMPLE:
        return "sampled --example"
    if source == "thesis2021":
        return f"run, in {N_WORLDS} worlds"
    return f"run studies/{source}.toml"


def write_means(path: Path, folder: Path) -> Path:
    """Write the percentages of a table in the mean over its data sets, which are of one size.

    Totals and groups of data sets, such as "A + D + E", are left out. The path of the new file is
    returned; it has the name of the table.
    """
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table = table.rename(columns={"ours": "value"})
    is_of_several = (table["dataset"] == "total") | table["dataset"].str.contains("+", regex=False)
    shares = table[(table["unit"] == "%") & ~is_of_several]
    labels = [column for column in table if column not in ("dataset", "value", "unit", "note")]
    values = shares.assign(value=shares["value"].astype(float))
    means = values.groupby(labels, sort=False)["value"].mean().map("{:.2f}".format)
    folder.mkdir(exist_ok=True)
    new_path = folder / path.name
    means.reset_index().assign(unit="%").to_csv(new_path, index=False)
    return new_path


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


def curves(folder: Path, analysis: str) -> pd.DataFrame:
    """Tabulate the curves of an analysis of loss: tau by metric and cut-off, a column for a level.

    Levels are percentages that are kept. Without loss tau is 1: that level is left out.
    """
    rows = pd.read_csv(folder / f"study-recsys2018/tables/{analysis}.csv").query("level < 1")
    percentages = (100 * rows["level"]).round().astype(int)
    wide = rows.assign(level=percentages).pivot_table(
        "tau", ["metric", "cutoff"], "level", sort=False
    )
    return wide.reset_index()


def powers(folder: Path) -> pd.DataFrame:
    """Tabulate DP by metric and cut-off: the sum of p-values over ordered pairs, as in Table 3."""
    rows = pd.read_csv(folder / "study-recsys2018/tables/discrimination.csv")
    unordered = rows["dp_without_alike"] if "dp_without_alike" in rows else rows["dp"]
    return rows[["metric", "cutoff"]].assign(value=2 * unordered)


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
    if has_source("recsys2018", folder):
        for analysis in ("sparsity", "popularity"):
            table = f"recsys2018-{analysis}"
            curves(folder, analysis).to_csv(PAGE / f"{table}.csv", index=False, float_format="%.4f")
            made.append(table)
        powers(folder).to_csv(
            PAGE / "recsys2018-discrimination.csv", index=False, float_format="%.7g"
        )
        made.append("recsys2018-discrimination")
    if has_source("thesis2021", folder):
        arms = pd.read_csv(folder / "study-thesis2021" / ARMS_FILE, dtype=str)
        arms.to_csv(PAGE / ARMS_FILE, index=False)
        made.append(Path(ARMS_FILE).stem)
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
