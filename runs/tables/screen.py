"""The screen that shows how a table is read: every column, three values, its role, the reason."""

from __future__ import annotations

import shlex

from runs.tables.roles import Columns, Role

COLUMN_HEADINGS = ("column", "values", "read as", "reason")

LONGEST_SHOWN = 24
"""Characters of a value that are shown."""


def column_rows(columns: Columns) -> list[tuple[str, str, str, str]]:
    """List the columns of a table: name, values, role, and the reason or what the values are."""
    names = {role: name for name, role in columns.kind.roles.items()}
    rows = []
    for column in columns.columns:
        values = ", ".join(_shortened(value) for value in column.examples)
        role = names.get(column.role, column.role.value)
        reason = column.remark or column.reason.value
        rows.append((column.name or '""', values, role, reason))
    return rows


def columns_as_text(columns: Columns) -> str:
    """Write the columns of a table as lines of text, aligned."""
    rows = [COLUMN_HEADINGS, *column_rows(columns)]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = []
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
        lines.append("  " + "  ".join([*cells, row[3]]).rstrip())
    return "\n".join(lines)


def options_for(columns: Columns) -> str:
    """Write the options that name the columns as they are read, to be changed and given again."""
    names = {role: name for name, role in columns.kind.roles.items()}
    parts = [
        f"{columns.kind.option} {shlex.quote(f'{names[column.role]}={column.name}')}"
        for column in columns.columns
        if column.role in names and column.role not in (Role.UNREAD, Role.INDEX)
    ]
    return " ".join(parts)


def _shortened(value: str) -> str:
    is_long = len(value) > LONGEST_SHOWN
    return f"{value[: LONGEST_SHOWN - 1]}…" if is_long else value
