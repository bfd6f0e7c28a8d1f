"""Tables of offline values: models down and measures across, or one value a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure
from runs import InputError
from runs.shared.fields import check_width, distinct, read_cutoff, read_lines, read_number

MODEL_HEADERS: Final = ("model", "arm", "system")
EXPERIMENT: Final = "experiment"
ONE_EXPERIMENT: Final = "data"
"""What the data set is called where tables do not name it; it is part of the key of the draws."""

LONG: Final = ("measure", "value")
ERROR: Final = "error"
OF_A_STUDY: Final = ("metric", "cutoff", "mean")

Row: TypeAlias = dict[str, str]
"""Fields of a line by column."""

Cells: TypeAlias = dict[tuple[str, str], tuple[float, float]]
"""Values and their errors, by measure and model."""


@dataclass(frozen=True, eq=False)
class ValueTable:
    """Offline values of the models of one experiment.

    Values, and standard errors if there are any, are of shape (n_measures, n_models); models come
    with the first line of the file that has them. A data set that the file does not name is called
    `ONE_EXPERIMENT`.
    """

    path: Path
    experiment: str
    lines: Mapping[str, int]
    measures: tuple[str, ...]
    values: NDArray[np.float64]
    errors: NDArray[np.float64] | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.lines)


def read_value_tables(path: Path) -> tuple[ValueTable, ...]:
    """Read offline values of models, by experiment.

    A table is UTF-8 text with a heading line; fields are separated by tabs if that line has one,
    else by commas. The first column is called model, arm or system. In a wide table every other
    column is a measure, such as ``nDCG@10`` or ``LLOO(beta=0.35)@5``; a long one has the columns
    measure, value and perhaps error, or metric, cutoff and mean as ``tables/means.csv`` of a study,
    which is meant by the folder of a study. A column experiment names data sets, in the order of
    the file.

    Raises
    ------
    InputError
        If the file is missing, empty or no such table, a value is missing, is duplicated or is no
        finite number, or experiments differ in measures.
    """
    path = table_at(path)
    first, names, rows = read_models(path)
    cells_of = _layout(path, first, names)
    has_errors = {*LONG, ERROR} <= set(names)
    found: dict[str, tuple[Cells, dict[str, int]]] = {}
    for line, row in rows:
        model, experiment = name_in(path, line, row, names[0]), experiment_of(path, line, row)
        cells, lines = found.setdefault(experiment, ({}, {}))
        lines.setdefault(model, line)
        for measure, column in cells_of(line, row):
            value = read_number(path, line, column, row[column])
            error = read_number(path, line, ERROR, row[ERROR]) if has_errors else float("nan")
            if (measure, model) in cells:
                finding = f"model {model!r} has {measure} twice{_within(experiment)}."
                raise InputError.at(path, line, finding)
            cells[measure, model] = value, error
    if not found:
        raise InputError.at(path, first, "the table has a heading but no values.")
    measures = tuple(dict.fromkeys(measure for cells, _ in found.values() for measure, _ in cells))
    return tuple(_table(path, name, measures, *parts) for name, parts in found.items())


def read_models(path: Path) -> tuple[int, tuple[str, ...], Iterator[tuple[int, Row]]]:
    """Read a table whose first column names models: line of the heading, columns, and rows.

    Raises
    ------
    InputError
        If the file is missing, empty or no such table.
    """
    lines = read_lines(path)
    first, heading = next(lines, (0, []))
    if not first:
        raise InputError(f"{path}: the file is empty.")
    names = distinct(path, [(first, name) for name in heading], "column")
    if names[0] not in MODEL_HEADERS:
        finding = f"the first column must be {' or '.join(MODEL_HEADERS)}, found {names[0]!r}."
        raise InputError.at(path, first, finding)
    rows = (
        (line, dict(zip(names, check_width(path, line, row, heading), strict=True)))
        for line, row in lines
    )
    return first, names, rows


def table_at(path: Path) -> Path:
    """Give the table itself, where the folder of a study may stand for its means."""
    return path / "tables" / "means.csv" if path.is_dir() else path


def experiment_of(path: Path, line: int, row: Row) -> str:
    """Give the data set of a line, which must have a name where there is a column for it."""
    return name_in(path, line, row, EXPERIMENT) if EXPERIMENT in row else ONE_EXPERIMENT


def name_in(path: Path, line: int, row: Row, column: str) -> str:
    """Give a name, which must not be empty."""
    if not row[column]:
        raise InputError.at(path, line, f"column {column!r}: a name is missing.")
    return row[column]


def _layout(
    path: Path, first: int, names: Sequence[str]
) -> Callable[[int, Row], list[tuple[str, str]]]:
    """Choose what gives the measures of a line, and the columns that have their values."""
    others = [name for name in names[1:] if name != EXPERIMENT]
    if not others:
        raise InputError.at(path, first, "the table has no measure.")
    if set(OF_A_STUDY) <= set(names):
        return lambda line, row: [(_measure_of_a_study(path, line, row), "mean")]
    if not set(LONG) <= set(names):
        return lambda line, row: [(name, name) for name in others]
    unknown = [name for name in others if name not in (*LONG, ERROR)]
    if unknown:
        known = ", ".join((names[0], *LONG, ERROR, EXPERIMENT))
        finding = f"a long table has no column {unknown[0]!r}, only {known}."
        raise InputError.at(path, first, finding)
    return lambda line, row: [(name_in(path, line, row, "measure"), "value")]


def _measure_of_a_study(path: Path, line: int, row: Row) -> str:
    cutoff = read_cutoff(path, line, row["cutoff"])
    return str(Measure(name_in(path, line, row, "metric"), cutoff))


def _table(
    path: Path, experiment: str, measures: tuple[str, ...], cells: Cells, lines: Mapping[str, int]
) -> ValueTable:
    """Lay the values of one experiment out, every measure of every model."""
    for model, line in lines.items():
        for measure in measures:
            if (measure, model) not in cells:
                finding = f"model {model!r} has no {measure}{_within(experiment)}."
                raise InputError.at(path, line, finding)
    both = np.array([[cells[measure, model] for model in lines] for measure in measures])
    values, errors = np.moveaxis(both, 2, 0)
    known = None if np.isnan(errors).any() else errors
    return ValueTable(path, experiment, lines, measures, values, known)


def _within(experiment: str) -> str:
    return "" if experiment == ONE_EXPERIMENT else f" in the experiment {experiment!r}"
