"""The systems of a study, and what tables from elsewhere say of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from analyses.online.tables.experiment import Experiment
from analyses.online.tables.experiments import require_different_rates
from analyses.online.tables.rate_table import RateTable, read_rate_tables
from analyses.online.tables.value_table import ValueTable, read_value_tables, table_at
from analyses.shared.measure import Scores
from runs import InputError

if TYPE_CHECKING:
    from harness.study.study import OnlineSection

Table = TypeVar("Table", RateTable, ValueTable)

FEWEST_SYSTEMS = 3


@dataclass(frozen=True, eq=False)
class Linked:
    """Systems that are known on all sides.

    Parameters
    ----------
    systems
        Those of the study that have a rate and, where there is such a table, offline values.
    left_out
        The other systems of the study, and models of the tables that the study does not have.
    rates, offline
        What the tables say.
    """

    systems: tuple[str, ...]
    left_out: tuple[str, ...]
    rates: RateTable
    offline: ValueTable | None

    def experiment(self, name: str, scores: Scores, *, falling: Collection[str] = ()) -> Experiment:
        """Put mean scores, further measures and rates of the systems together.

        Parameters
        ----------
        name
            What the experiment is called.
        scores
            Of all systems of the study.
        falling
            Metrics of which less is better: their means are taken negative, so that rho is positive
            where they agree with the rates.

        Raises
        ------
        InputError
            If a further measure is called as one of the study.
        """
        places = [scores.systems.index(system) for system in self.systems]
        signs = np.array([-1.0 if m.metric in falling else 1.0 for m in scores.measures])
        values = [signs[:, np.newaxis] * scores.means()[:, places]]
        measures = [str(measure) for measure in scores.measures]
        if self.offline is not None:
            repeated = [name for name in self.offline.measures if name in measures]
            if repeated:
                raise InputError(
                    f"{self.offline.path}: the study measures {repeated[0]} itself; call that of "
                    "the table otherwise."
                )
            columns = [self.offline.models.index(system) for system in self.systems]
            values.append(self.offline.values[:, columns])
            measures += self.offline.measures
        rates = np.array([self.rates.rates[system] for system in self.systems])
        return Experiment(name, self.systems, tuple(measures), np.concatenate(values), rates)


def link(section: OnlineSection, systems: Sequence[str]) -> Linked:
    """Find the systems of a study in the tables that its section names.

    Raises
    ------
    InputError
        If a table breaks a rule or is of several experiments, fewer than three systems are
        known on all sides, or all of them have one rate.
    """
    rates = _only(read_rate_tables(section.rates, over_time=section.over_time), section.rates)
    offline = None
    if section.offline is not None:
        offline = _only(read_value_tables(section.offline), section.offline)
    sides = [systems, [*rates.rates], *([] if offline is None else [offline.models])]
    known = [system for system in systems if all(system in side for side in sides)]
    everyone = dict.fromkeys(system for side in sides for system in side)
    left_out = [system for system in everyone if system not in known]
    if len(known) < FEWEST_SYSTEMS:
        raise InputError(
            f"{rates.path}: at least {FEWEST_SYSTEMS} systems of the study must have a rate"
            f"{'' if offline is None else f', and values in {offline.path}'}, found {len(known)}; "
            f"unknown on one side: {', '.join(left_out)}."
        )
    require_different_rates(rates, known)
    return Linked(tuple(known), tuple(left_out), rates, offline)


def paths_of(section: OnlineSection) -> list[Path]:
    """Give the paths of the tables that a section names."""
    return [section.rates, *([] if section.offline is None else [table_at(section.offline)])]


def _only(tables: Sequence[Table], path: Path) -> Table:
    """Give the one table."""
    if len(tables) > 1:
        names = ", ".join(table.experiment for table in tables)
        raise InputError(f"{path}: a study has one experiment, found {len(tables)}: {names}.")
    return tables[0]
