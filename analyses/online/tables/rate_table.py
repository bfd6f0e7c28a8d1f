"""Tables of click-through rates: a line for each model, or for each model and period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.rates import TAIL, OverTime
from analyses.online.tables.value_table import EXPERIMENT, Row, experiment_of, name_in, read_models
from analyses.shared.estimate import REACH
from runs import InputError
from runs.shared.errors import nearest
from runs.shared.fields import read_number

COUNTS: Final = ("recommendations", "accepted")
COLUMNS: Final = ("rate", "error", "period", "users", *COUNTS, EXPERIMENT)


class RateRow(NamedTuple):
    """A model's rate in a period, as it stands in the file; counts are 0 where there are none.

    The error is the standard error that the file gives, or that of independent lists.
    """

    line: int
    rate: float
    users: int
    recommendations: int
    accepted: int
    error: float = float("nan")


@dataclass(frozen=True, eq=False)
class RateTable:
    """Click-through rates of the models of one experiment, periods being averaged.

    All are by model: the rate, its standard error (NaN if neither errors nor counts are given), and
    the first line of the file that has it. An experiment that the file does not name is called
    `ONE_EXPERIMENT`.
    """

    path: Path
    experiment: str
    rates: Mapping[str, float]
    errors: Mapping[str, float]
    lines: Mapping[str, int]

    def of(self, models: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Give the rates of some models, and their standard errors if they are known."""
        rates, errors = (
            np.array([of[name] for name in models]) for of in (self.rates, self.errors)
        )
        return rates, None if np.isnan(errors).any() else errors

    def require_different(self, models: Sequence[str]) -> None:
        """Refuse models that all have one rate, as no measure can follow it."""
        found = {self.rates[model] for model in models}
        if len(found) == 1:
            raise InputError(
                f"{self.path}: all models of {self.experiment!r} have the rate {found.pop():g}, an "
                "order that no measure can follow."
            )


def read_rate_tables(path: Path, *, over_time: OverTime = "thesis") -> tuple[RateTable, ...]:
    """Read click-through rates of models, by experiment.

    The table, UTF-8 text with tabs or commas, has the columns model (or arm, system) and rate, and
    may have error, period, users, recommendations, accepted and experiment. The rate may be left
    out where recommendations and accepted are there; without errors, these give that of
    independent lists, too.

    Periods of a model are averaged: ``"thesis"``, the mean of their rates, weighted by users if
    there is a column for them (equations 2.6 and 2.7 of Kasalický 2021); ``"pooled"``, all that was
    accepted over all recommendations. Experiments are in the order of the file.

    Raises
    ------
    InputError
        If the file is missing, empty or no such table, a number is missing or impossible, or a
        model has two rates for one period.
    """
    first, names, body = read_models(path)
    _check_columns(path, first, names, over_time)
    found: dict[str, dict[str, dict[str, RateRow]]] = {}
    for line, row in body:
        experiment, model = experiment_of(path, line, row), name_in(path, line, row, names[0])
        period = name_in(path, line, row, "period") if "period" in row else ""
        periods = found.setdefault(experiment, {}).setdefault(model, {})
        own = _row(path, line, row)
        before = periods.setdefault(period, own)
        if before is not own:
            hint = (
                f" for period {period!r}" if "period" in row else "; periods need a column period"
            )
            finding = f"model {model!r} has a second rate, after line {before.line}{hint}."
            raise InputError.at(path, line, finding)
    if not found:
        raise InputError.at(path, first, "the table has a heading but no rates.")
    return tuple(_table(path, name, models, over_time) for name, models in found.items())


def average(rows: Sequence[RateRow], *, over_time: OverTime) -> tuple[float, float]:
    """Give a model's rate over all periods, see `read_rate_tables`, and its standard error.

    Examples
    --------
    >>> periods = [RateRow(2, 0.1, 30, 100, 10), RateRow(3, 0.3, 10, 900, 270)]
    >>> [round(average(periods, over_time=mode)[0], 9) for mode in ("thesis", "pooled")]
    [0.15, 0.28]
    """
    pooled = over_time == "pooled"
    weights = np.array([row.recommendations if pooled else row.users or 1 for row in rows])
    rates = [row.accepted / row.recommendations if pooled else row.rate for row in rows]
    shares = weights / weights.sum()
    return float(shares @ rates), float(np.linalg.norm(shares * [row.error for row in rows]))


def _check_columns(path: Path, line: int, names: Sequence[str], over_time: OverTime) -> None:
    for name in names[1:]:
        if name not in COLUMNS:
            finding = f"a table of rates has no column {name!r}; {nearest(name, COLUMNS)}"
            raise InputError.at(path, line, finding)
    has_counts = set(COUNTS) <= set(names)
    if over_time == "pooled" and not has_counts:
        finding = "pooled rates need the columns recommendations and accepted."
        raise InputError.at(path, line, finding)
    if "rate" not in names and not has_counts:
        finding = "a column rate is needed, or both recommendations and accepted."
        raise InputError.at(path, line, finding)


def _row(path: Path, line: int, row: Row) -> RateRow:
    shown = _count(path, line, row, "recommendations", least=1)
    accepted = _count(path, line, row, "accepted", least=0)
    if "recommendations" in row and accepted > shown:
        finding = f"{accepted} recommendations were accepted, of {shown}."
        raise InputError.at(path, line, finding)
    rate = read_number(path, line, "rate", row["rate"]) if "rate" in row else accepted / shown
    users = _count(path, line, row, "users", least=1)
    return RateRow(line, rate, users, shown, accepted, _error(path, line, row, shown, accepted))


def _error(path: Path, line: int, row: Row, shown: int, accepted: int) -> float:
    """Read the standard error of a rate; or take lists for independent, if they are counted."""
    if "error" in row:
        error = read_number(path, line, "error", row["error"])
        if error < 0:
            raise InputError.at(
                path, line, f"column 'error': at least 0 expected, found {error:g}."
            )
        return error
    if not shown:
        return float("nan")
    if accepted in (0, shown):
        # As long as the interval of Clopper and Pearson, which is no point.
        return float((1 - TAIL ** (1 / shown)) / REACH)
    return float((accepted * (shown - accepted) / shown**3) ** 0.5)


def _count(path: Path, line: int, row: Row, column: str, *, least: int) -> int:
    """Read a whole number; 0 if there is no such column."""
    text = row.get(column)
    if text is None:
        return 0
    if not text.isdecimal() or int(text) < least:
        finding = f"column {column!r}: a whole number from {least} expected, found {text!r}."
        raise InputError.at(path, line, finding)
    return int(text)


def _table(
    path: Path, name: str, models: Mapping[str, Mapping[str, RateRow]], over_time: OverTime
) -> RateTable:
    rows = {model: [*periods.values()] for model, periods in models.items()}
    averages = {model: average(own, over_time=over_time) for model, own in rows.items()}
    return RateTable(
        path,
        name,
        {model: rate for model, (rate, _) in averages.items()},
        {model: error for model, (_, error) in averages.items()},
        {model: own[0].line for model, own in rows.items()},
    )
