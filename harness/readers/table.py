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
        """Name the row at a place, from 0, before what is wrong with it.

        The index of the frame numbers the rows: in a text, 0 is line 2, below the heading; in a
        file of rows, 0 is row 1. Of an object, no row is named.
        """
        if not self.unit:
            return InputError(f"{self.label}: {finding}")
        row = int(self.frame.index[place]) + 1
        is_below_heading = self.unit == "line"
        if is_below_heading:
            row += 1
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
            raise InputError(self._missing_column(role))
        return self.frame.iloc[:, place]

    def _missing_column(self, role: Role) -> str:
        """Write that no column has a role, why, how a person names it, and what columns there are.

        The reason is the first question about the columns that mentions the role, if there is one.
        """
        kind = self.columns.kind
        names_of_role = (name for name, named_role in kind.roles.items() if named_role == role)
        role_name = next(names_of_role, role)
        # A question says why: there are two, for example.
        questions = (question for question in self.columns.questions if role_name in question)
        default = (
            f"No column is known to hold the {role_name}s. Name it: `{kind.option} "
            f"{role_name}=NAME`."
        )
        finding = next(questions, default)
        shown_columns = columns_as_text(self.columns)
        in_study = f" In a study: `columns` in {kind.section}." if kind.section else ""
        return f"{self.label}: {finding}{in_study}\n{shown_columns}"

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

        # pandas codes what is missing as -1.
        code_of_row, values = pd.factorize(self.column(role).to_numpy())
        texts = np.array([str(value) for value in values], dtype=np.str_)
        ids = np.char.strip(texts)
        is_missing = code_of_row < 0
        is_empty = ids == ""
        if is_empty.any():
            is_missing |= np.isin(code_of_row, np.flatnonzero(is_empty))
        if is_missing.any():
            place = int(is_missing.argmax())
            row = "" if self.unit else f"in row {place + 1} "
            raise self.error(place, f"{row}an id is missing.")
        numbering = Numbering.of(ids)
        number_of_code = numbering.numbers(ids)
        return numbering, number_of_code[code_of_row]

    def numbers(self, role: Role) -> Floats:
        """Read the numbers of a column, float64 of shape (n_rows,); NaN where one is missing.

        Raises InputError, at its row, for a text that is no number, and if no column has the role.
        """
        import pandas as pd

        column = self.column(role)
        try:
            is_empty = column == ""
            return np.asarray(column.mask(is_empty), dtype=np.float64)
        except (TypeError, ValueError):
            numbers = pd.to_numeric(column, errors="coerce")
            is_odd = column.notna() & numbers.isna()
            place = int(is_odd.to_numpy().argmax())
            odd_value = column.iloc[place]
            raise self.error(place, f"numbers are expected, found {odd_value!r}.") from None

    def part_by(self, role: Role) -> dict[str, Table]:
        """Part the table by the values of a column; categories that no row has are no parts."""
        values = self.column(role).to_numpy()
        parts = self.frame.groupby(values, sort=False, observed=True)
        return {str(value): replace(self, frame=rows) for value, rows in parts}


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
    samples = []
    for place in range(frame.shape[1]):
        values = first_rows.iloc[:, place]
        samples.append(Sample(["" if value is None else str(value) for value in values]))
    column_of_role = dict(named or {})
    # What a person says overrules what is known.
    column_of_role.update(named_roles(columns, kind))
    assigned_columns = assign_roles(
        names=[str(name) for name in frame.columns],
        samples=samples,
        kind=kind,
        named=column_of_role,
        has_heading=has_heading,
        label=label,
    )
    return Table(frame, assigned_columns, label, unit)
