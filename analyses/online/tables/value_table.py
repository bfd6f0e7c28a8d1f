"""Tables of offline values: models down and measures across, or one value a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure
from runs import InputError
from runs.shared.lines import check_width, distinct, read_cutoff, read_lines, read_number

MODEL_HEADERS: Final = ("model", "arm", "system")
EXPERIMENT: Final = "experiment"
ONE_EXPERIMENT: Final = "data"
"""What the data set is called where tables do not name it; it is part of the key of the draws."""

LONG: Final = ("measure", "value")
ERROR: Final = "error"
OF_A_STUDY: Final = ("metric", "cutoff", "mean")

Row = tuple[int, dict[str, str]]
"""Number of a line, and its fields by column."""


class Value(NamedTuple):
    """A value as it stands in the file."""

    line: int
    experiment: str
    model: str
    measure: str
    value: float
    error: float = float("nan")


@dataclass(frozen=True, eq=False)
class ValueTable:
    """Offline values of the models of one experiment.

    Parameters
    ----------
    path
        The file.
    experiment
        Name of the data set; `ONE_EXPERIMENT` if the file names none.
    models, measures
        Labels of the axes.
    values, errors
        float64 of shape (n_measures, n_models); errors are standard ones, None if there are none.
    lines
        For each model the first line that has it.
    """

    path: Path
    experiment: str
    models: tuple[str, ...]
    measures: tuple[str, ...]
    values: NDArray[np.float64]
    lines: tuple[int, ...]
    errors: NDArray[np.float64] | None = None


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
    values_of = _layout(path, first, names)
    found = [value for line, row in rows for value in values_of(line, row)]
    if not found:
        raise InputError.at(path, first, "the table has a heading but no values.")
    experiments = dict.fromkeys(value.experiment for value in found)
    measures = tuple(dict.fromkeys(value.measure for value in found))
    return tuple(
        _table(path, name, measures, [value for value in found if value.experiment == name])
        for name in experiments
    )


def read_models(path: Path) -> tuple[int, tuple[str, ...], Iterator[Row]]:
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


def experiment_of(path: Path, line: int, row: dict[str, str]) -> str:
    """Give the data set of a line, which must have a name where there is a column for it."""
    return name_in(path, line, row, EXPERIMENT) if EXPERIMENT in row else ONE_EXPERIMENT


def name_in(path: Path, line: int, row: dict[str, str], column: str) -> str:
    """Give a name, which must not be empty."""
    if not row[column]:
        raise InputError.at(path, line, f"column {column!r}: a name is missing.")
    return row[column]


def _layout(
    path: Path, first: int, names: Sequence[str]
) -> Callable[[int, dict[str, str]], Iterator[Value]]:
    """Choose how values are read from a line."""
    kept_apart = {EXPERIMENT, ERROR} if set(LONG) <= set(names) else {EXPERIMENT}
    measures = [name for name in names[1:] if name not in kept_apart]
    of_a_study, is_long = set(OF_A_STUDY) <= set(names), set(LONG) <= set(names)
    unknown = [name for name in measures if name not in LONG]
    if is_long and not of_a_study and unknown:
        known = ", ".join((names[0], *LONG, ERROR, EXPERIMENT))
        finding = f"a long table has no column {unknown[0]!r}, only {known}."
        raise InputError.at(path, first, finding)
    if not measures:
        raise InputError.at(path, first, "the table has no measure.")

    has_errors = is_long and ERROR in names

    def cells(line: int, row: dict[str, str]) -> Iterator[tuple[str, str]]:
        """Give the measures of a line, and the columns that have their values."""
        if of_a_study:
            cutoff = read_cutoff(path, line, row["cutoff"])
            yield str(Measure(name_in(path, line, row, "metric"), cutoff)), "mean"
        elif is_long:
            yield name_in(path, line, row, "measure"), "value"
        else:
            yield from zip(measures, measures, strict=True)

    def values(line: int, row: dict[str, str]) -> Iterator[Value]:
        model, experiment = name_in(path, line, row, names[0]), experiment_of(path, line, row)
        for measure, column in cells(line, row):
            value = read_number(path, line, column, row[column])
            error = read_number(path, line, ERROR, row[ERROR]) if has_errors else float("nan")
            yield Value(line, experiment, model, measure, value, error)

    return values


def _table(
    path: Path, experiment: str, measures: tuple[str, ...], found: Sequence[Value]
) -> ValueTable:
    """Lay the values of one experiment out, every measure of every model."""
    cells: dict[tuple[str, str], tuple[float, float]] = {}
    lines: dict[str, int] = {}
    for value in found:
        if (value.measure, value.model) in cells:
            finding = f"model {value.model!r} has {value.measure} twice{_within(experiment)}."
            raise InputError.at(path, value.line, finding)
        cells[value.measure, value.model] = value.value, value.error
        lines.setdefault(value.model, value.line)
    for model, line in lines.items():
        for measure in measures:
            if (measure, model) not in cells:
                finding = f"model {model!r} has no {measure}{_within(experiment)}."
                raise InputError.at(path, line, finding)
    both = np.array([[cells[measure, model] for model in lines] for measure in measures])
    values, errors = np.moveaxis(both, 2, 0)
    models, known = tuple(lines), None if np.isnan(errors).any() else errors
    return ValueTable(path, experiment, models, measures, values, tuple(lines.values()), known)


def _within(experiment: str) -> str:
    return "" if experiment == ONE_EXPERIMENT else f" in the experiment {experiment!r}"
