"""What the user says about a file: the format's layout with changes, checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Literal

from pydantic import Field

from qrels.ratings.datasets.layouts import LAYOUTS, REQUIRED, ROLES, Column, Layout
from runs import InputError
from runs.shared.members import Section


class FileOptions(Section):
    """How a file of ratings is read."""

    format: str | None = Field(None, description="Name of the format; guessed if absent.")
    columns: dict[str, str | int] | None = Field(
        None,
        description="Name or number (from 0) of the columns user, item and, where there are any, "
        "rating and time.",
    )
    separator: str | None = Field(None, description="What separates the fields of a line.")
    header: bool | None = Field(None, description="Whether the first line names the columns.")
    decimal: Literal[".", ","] = Field(".", description="Decimal sign of numbers.")
    implicit: bool | None = Field(
        None,
        description="Whether everything in the file is relevant, and ratings, if there are any, "
        "count or weigh what was used; by default if there are no different ratings.",
    )
    missing: Literal["error", "drop"] = Field(
        "error", description="A rating without user, item, value or time: refuse, or leave out."
    )
    duplicates: Literal["error", "last"] = Field(
        "error", description="A pair rated twice: refuse, or keep the last in time."
    )

    @property
    def of_file(self) -> dict[str, Any]:
        """The options by their names, without those that a section adds."""
        return {name: getattr(self, name) for name in FileOptions.model_fields}


def require_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Raise an InputError unless the value is among the choices."""
    if value not in choices:
        close = get_close_matches(value, choices, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise InputError(f"`{name}` must be one of {', '.join(choices)}, got {value!r}{hint}")


def adapted_layout(
    format: str,
    *,
    columns: Mapping[str, str | int] | None = None,
    separator: str | None = None,
    header: bool | None = None,
    decimal: str = ".",
    implicit: bool | None = None,
) -> Layout:
    """Give the layout of a format with the user's changes; None leaves what the format says.

    Raises
    ------
    InputError
        If the changes contradict the format or one another.
    """
    layout = LAYOUTS[format]
    if not layout.separator and (separator, header) != (None, None):
        raise InputError(f"the format {format!r} takes no `separator` and no `header`.")
    if layout.is_matrix and (columns, header) != (None, None):
        raise InputError(
            f"the format {format!r} is a matrix of users by items: it takes no `columns` and no "
            "`header`."
        )
    if implicit:
        layout = replace(layout, optional=(*layout.optional, "rating"))
    if columns is not None:
        layout = _with_columns(layout, columns)
    if header is not None:
        layout = replace(layout, header=header)
    if separator is not None:
        layout = _with_separator(layout, separator)
    _check_names(layout)
    return replace(layout, decimal=decimal)


def _with_columns(layout: Layout, columns: Mapping[str, str | int]) -> Layout:
    for role in columns:
        require_choice("columns", role, ROLES)
    for role in REQUIRED:
        if role not in columns:
            raise InputError(f"`columns` must say where the {role} stands.")
    for role, column in columns.items():
        if isinstance(column, int) and column < 0:
            raise InputError(f"columns count from 0, got {column} for the {role}.")
    if len(set(columns.values())) < len(columns):
        raise InputError(f"`columns` must be different, got {dict(columns)}.")
    chosen: dict[str, Column] = {
        role: column if isinstance(column, int) else (column,) for role, column in columns.items()
    }
    header = layout.header and any(isinstance(column, str) for column in columns.values())
    return replace(layout, columns=chosen, header=header, width=None, optional=())


def _with_separator(layout: Layout, separator: str) -> Layout:
    if not separator or set(separator) & set('\r\n"'):
        raise InputError(
            "`separator` must be one or more characters, no quotes or line breaks, "
            f"got {separator!r}."
        )
    return replace(layout, separator=separator, quoted=layout.quoted and len(separator) == 1)


def _check_names(layout: Layout) -> None:
    named = [role for role, column in layout.columns.items() if not isinstance(column, int)]
    if named and layout.separator and not layout.header:
        raise InputError(
            f"without a header columns are positions from 0, but the {named[0]} has a name; "
            "give `columns`."
        )
