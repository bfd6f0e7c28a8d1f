"""Offline values and click-through rates put together: the experiments that are studied."""

from __future__ import annotations

from pathlib import Path

from analyses.online.clicks.rates import OverTime
from analyses.online.tables.experiment import Experiment
from analyses.online.tables.rate_table import RateTable, read_rate_tables
from analyses.online.tables.value_table import ValueTable, read_value_tables
from runs import InputError


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


def _join(values: ValueTable, rates: RateTable) -> Experiment:
    for one, other, lacking in (
        (values, rates, "rate in"),
        (rates, values, "offline values in"),
    ):
        for model, line in one.lines.items():
            if model not in other.lines:
                finding = f"model {model!r} has no {lacking} {other.path}."
                raise InputError.at(one.path, line, finding)
    found, errors = rates.of(values.models)
    named = values.experiment, values.models, values.measures
    try:
        experiment = Experiment(*named, values.values, found, values.errors, errors)
    except InputError as error:
        raise InputError(f"{values.path}: {error}") from None
    rates.require_different(values.models)
    return experiment
