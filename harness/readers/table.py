"""A table of runs, qrels or scores: a data frame whose columns have roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runs import InputError, Numbering
from runs.shared.arrays import Floats, Ints
from runs.tables.assignment import assign_roles
from runs.tables.roles import ColumnNames, Columns, Kind, Role, named_roles
from runs.tables.screen import columns_as_text
from runs.tables.source import LOOKED_AT
from runs.tables.values import Sample

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Table:
    """A data frame whose rows are numbered in its index, and the roles of its columns.

    Parameters
    ----------
    frame
        The table.
    columns
        Its columns, in the order of the frame, with their roles.
    label
        The object or the file, for messages.
    unit
        What an error counts in a file, lines or rows; "" for an object.
    """

    frame: pd.DataFrame
    columns: Columns
    label: str
    unit: str = ""

    def error(self, place: int, finding: str) -> InputError:
        """Name the row at a place, from 0, before what is wrong with it."""
        if not self.unit:
            return InputError(f"{self.label}: {finding}")
        is_below_heading = self.unit == "line"
        row = int(self.frame.index[place]) + 1 + is_below_heading
        return InputError.at_line(self.label, row, finding, unit=self.unit)

    def has(self, role: Role) -> bool:
        """Tell whether a column has a role."""
        return self.columns.place(role) is not None

    def column(self, role: Role) -> pd.Series[Any]:
        """Look up the column with a role; refuses a table that has none.

        Raises
        ------
        InputError
            If no column has the role, with what the columns were taken for.
        """
        place = self.columns.place(role)
        if place is None:
            kind = self.columns.kind
            called = next((name for name, each in kind.roles.items() if each == role), role)
            finding = f"No column is known to hold the {called}s."
            # A question says why: there are two, for example.
            finding = next((q for q in self.columns.questions if called in q), finding)
            raise InputError(
                f"{self.label}: {finding} Name it: `{kind.option} {called}=NAME`, or "
                f"`{kind.key}`.\n{columns_as_text(self.columns)}"
            )
        return self.frame.iloc[:, place]

    def ids(self, role: Role) -> NDArray[np.str_]:
        """Read the ids of a column, (n_rows,), without blanks around them, all there."""
        numbering, number_of_row = self.numbered_ids(role)
        return numbering.ids[number_of_row]

    def numbered_ids(self, role: Role) -> tuple[Numbering, Ints]:
        """Number the ids of a column, without blanks around them.

        Returns
        -------
        The numbering, and the number of each row, int32 of shape (n_rows,).

        Raises
        ------
        InputError
            If an id is missing, at its row.
        """
        import pandas as pd

        code_of_row, values = pd.factorize(self.column(role).to_numpy())
        ids = np.char.strip(np.array([str(value) for value in values], dtype=np.str_))
        is_missing = code_of_row < 0
        if (ids == "").any():
            is_missing |= np.isin(code_of_row, np.flatnonzero(ids == ""))
        for place in np.flatnonzero(is_missing)[:1]:
            row = "" if self.unit else f"in row {place + 1} "
            raise self.error(int(place), f"{row}an id is missing.")
        numbering = Numbering.of(ids)
        return numbering, numbering.numbers(ids)[code_of_row]

    def numbers(self, role: Role) -> Floats:
        """Read the numbers of a column, float64 of shape (n_rows,); NaN where one is missing."""
        import pandas as pd

        column = self.column(role)
        try:
            return np.asarray(column.mask(column == ""), dtype=np.float64)
        except (TypeError, ValueError):
            is_odd = column.notna() & pd.to_numeric(column, errors="coerce").isna()
            place = int(is_odd.to_numpy().argmax())
            finding = f"numbers are expected, found {column.iloc[place]!r}."
            raise self.error(place, finding) from None

    def part_by(self, role: Role) -> dict[str, Table]:
        """Part the table by the values of a column; categories that no row has are no parts."""
        key = self.column(role)
        rows = self.frame.groupby(key.to_numpy(), sort=False, observed=True)
        return {str(name): replace(self, frame=part) for name, part in rows}


def table_of(
    frame: pd.DataFrame,
    kind: Kind,
    *,
    label: str,
    unit: str = "",
    columns: ColumnNames | None = None,
    named: Mapping[Role, str | int] | None = None,
    has_heading: bool = True,
) -> Table:
    """Find the roles of the columns of a data frame.

    Parameters
    ----------
    frame
        The frame, with rows that are numbered.
    kind
        What it holds.
    label, unit
        See `Table`.
    columns
        Names of columns that a person gives, by what they hold.
    named
        Places of columns whose roles are known, by role.
    has_heading
        Whether names say what columns hold; otherwise their order does.
    """
    first_rows = frame.head(LOOKED_AT)
    samples = [
        Sample(["" if value is None else str(value) for value in first_rows.iloc[:, place]])
        for place in range(frame.shape[1])
    ]
    roles = assign_roles(
        list(map(str, frame.columns)),
        samples,
        kind,
        named={**(named or {}), **named_roles(columns, kind)},
        has_heading=has_heading,
        label=label,
    )
    return Table(frame, roles, label, unit)
