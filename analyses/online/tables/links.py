"""What tables of offline values and of rates say of the same models, or of systems of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.rates import OverTime
from analyses.online.tables.experiment import Experiment
from analyses.online.tables.rate_table import RateTable, read_rate_tables
from analyses.online.tables.value_table import ValueTable, read_value_tables
from analyses.shared.measure import Scores
from runs import InputError

Table = TypeVar("Table", RateTable, ValueTable)

FEWEST_SYSTEMS = 3


@dataclass(frozen=True, eq=False)
class Linked:
    """Systems of a study that have a rate and, where there is such a table, offline values.

    The other systems, and models of the tables that the study does not have, are left out.
    """

    systems: tuple[str, ...]
    left_out: tuple[str, ...]
    rates: RateTable
    offline: ValueTable | None

    def further(self, measures: Sequence[str]) -> tuple[str, ...]:
        """Give the measures of the table of offline values; refuse one that the study has, too."""
        if self.offline is None:
            return ()
        repeated = [name for name in self.offline.measures if name in measures]
        if repeated:
            raise InputError(
                f"{self.offline.path}: the study measures {repeated[0]} itself; call that of the "
                "table otherwise."
            )
        return self.offline.measures

    def experiment(self, name: str, scores: Scores) -> Experiment:
        """Put mean scores, further measures and rates of the systems together.

        Means of metrics of which less is better are taken negative, so that rho is positive where
        they agree with the rates.
        """
        measures = [str(measure) for measure in scores.measures]
        falling = scores.measures.falling
        places = [scores.systems.index(system) for system in self.systems]
        signs = np.array([-1.0 if m.metric in falling else 1.0 for m in scores.measures])
        values = [signs[:, np.newaxis] * scores.means()[:, places]]
        errors = [_errors(scores.values[:, places])]
        if self.offline is not None:
            columns = [self.offline.models.index(system) for system in self.systems]
            values.append(self.offline.values[:, columns])
            known = self.offline.errors
            errors.append(np.zeros(values[1].shape) if known is None else known[:, columns])
        rates, rate_errors = self.rates.of(self.systems)
        return Experiment(
            name,
            self.systems,
            (*measures, *self.further(measures)),
            np.concatenate(values),
            rates,
            np.concatenate(errors),
            rate_errors,
        )


def _errors(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give standard errors of means over users, without what moves all systems together.

    Scores are of shape (n_measures, n_systems, n_users), errors (n_measures, n_systems).
    """
    apart = scores - scores.mean(axis=1, keepdims=True)
    n_users = scores.shape[2]
    if n_users < 2:
        return np.zeros(scores.shape[:2])
    return np.asarray(apart.std(axis=2, ddof=1) / np.sqrt(n_users))


def link(
    systems: Sequence[str], *, rates: Path, offline: Path | None, over_time: OverTime
) -> Linked:
    """Find the systems of a study in tables of rates, and of further measures.

    See `read_rate_tables` and `read_value_tables`.

    Raises
    ------
    InputError
        If a table breaks a rule or is of several experiments, fewer than three systems are
        known on all sides, or all of them have one rate.
    """
    of_rates = _only(read_rate_tables(rates, over_time=over_time), rates)
    values = None if offline is None else _only(read_value_tables(offline), offline)
    sides = [systems, [*of_rates.rates], *([] if values is None else [values.models])]
    known = [system for system in systems if all(system in side for side in sides)]
    everyone = dict.fromkeys(system for side in sides for system in side)
    left_out = [system for system in everyone if system not in known]
    if len(known) < FEWEST_SYSTEMS:
        raise InputError(
            f"{rates}: at least {FEWEST_SYSTEMS} systems of the study must have a rate"
            f"{'' if values is None else f', and values in {values.path}'}, found {len(known)}; "
            f"unknown on one side: {', '.join(left_out)}."
        )
    of_rates.require_different(known)
    return Linked(tuple(known), tuple(left_out), of_rates, values)


def _only(tables: Sequence[Table], path: Path) -> Table:
    """Give the one table."""
    if len(tables) > 1:
        names = ", ".join(table.experiment for table in tables)
        raise InputError(f"{path}: a study has one experiment, found {len(tables)}: {names}.")
    return tables[0]


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
