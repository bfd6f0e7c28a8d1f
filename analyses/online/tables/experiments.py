"""Offline values and click-through rates put together: the experiments that are studied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.rates import OverTime
from analyses.online.tables.experiment import Experiment
from analyses.online.tables.rate_table import RateTable, read_rate_tables
from analyses.online.tables.value_table import ValueTable, read_value_tables
from runs import InputError

Floats = NDArray[np.float64]


def read_experiments(
    values: Path, rates: Path, *, over_time: OverTime = "thesis"
) -> list[Experiment]:
    """Read two tables that must have the same models, by experiment.

    See `read_value_tables` and `read_rate_tables`.

    Raises
    ------
    InputError
        If a table breaks a rule, a model or experiment is in one of them alone, there are fewer
        than three models, or all have one rate.
    """
    by_name = {table.experiment: table for table in read_rate_tables(rates, over_time=over_time)}
    tables = {table.experiment: table for table in read_value_tables(values)}
    for first, second, names, others in (
        (values, rates, tables, by_name),
        (rates, values, by_name, tables),
    ):
        missing = [name for name in names if name not in others]
        if missing:
            raise InputError(
                f"{first} and {second} must have the same experiments: {missing[0]!r} is in the "
                "first alone."
            )
    return [_join(table, by_name[name]) for name, table in tables.items()]


def require_different_rates(table: RateTable, models: Sequence[str]) -> None:
    """Refuse models that all have one rate, as no measure can follow it.

    Raises
    ------
    InputError
        If it is so.
    """
    found = {table.rates[model] for model in models}
    if len(found) == 1:
        raise InputError(
            f"{table.path}: all models of {table.experiment!r} have the rate {found.pop():g}, an "
            "order that no measure can follow."
        )


def rates_of(table: RateTable, models: Sequence[str]) -> tuple[Floats, Floats | None]:
    """Give the rates of some models, and their standard errors if they are known."""
    rates, errors = (
        np.array([of[model] for model in models]) for of in (table.rates, table.errors)
    )
    return rates, None if np.isnan(errors).any() else errors


def _join(values: ValueTable, rates: RateTable) -> Experiment:
    for model, line in zip(values.models, values.lines, strict=True):
        if model not in rates.rates:
            raise InputError.at(values.path, line, f"model {model!r} has no rate in {rates.path}.")
    for model, line in rates.lines.items():
        if model not in values.models:
            finding = f"model {model!r} has no offline values in {values.path}."
            raise InputError.at(rates.path, line, finding)
    found, errors = rates_of(rates, values.models)
    named = values.experiment, values.models, values.measures
    try:
        experiment = Experiment(*named, values.values, found, values.errors, errors)
    except InputError as error:
        raise InputError(f"{values.path}: {error}") from None
    require_different_rates(rates, values.models)
    return experiment
