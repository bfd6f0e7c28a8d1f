"""The screen that shows how a table is read: every column, three values, its role, the reason."""

from __future__ import annotations

import shlex

from runs.tables.roles import Columns, Role

COLUMN_HEADINGS = ("column", "values", "read as", "reason")

LONGEST_SHOWN = 24
"""Characters of a value that are shown."""


def column_rows(columns: Columns) -> list[tuple[str, str, str, str]]:
    """List the columns of a table: name, values, role, and the reason or what the values are.

    Values are up to three examples, cut off; roles have the names by which a person calls them.
    """
    name_of_role = {role: name for name, role in columns.kind.roles.items()}
    rows = []
    for column in columns.columns:
        column_name = column.name or '""'
        values = ", ".join(_shortened(value) for value in column.examples)
        role_name = name_of_role.get(column.role, column.role.value)
        reason = column.remark or column.reason.value
        rows.append((column_name, values, role_name, reason))
    return rows


def columns_as_text(columns: Columns) -> str:
    """Write the columns of a table as lines of text, aligned."""
    rows = [COLUMN_HEADINGS, *column_rows(columns)]
    name_width = max(len(name) for name, _, _, _ in rows)
    values_width = max(len(values) for _, values, _, _ in rows)
    role_width = max(len(role) for _, _, role, _ in rows)
    lines = []
    for name, values, role, reason in rows:
        cells = [
            name.ljust(name_width),
            values.ljust(values_width),
            role.ljust(role_width),
            reason,
        ]
        line = "  ".join(cells).rstrip()
        lines.append(f"  {line}")
    return "\n".join(lines)


def options_for(columns: Columns) -> str:
    """Write the options that name the columns as they are read, to be changed and given again.

    Such as "--column user=visitor --column item=sku"; columns that are not read are left out.
    """
    kind = columns.kind
    name_of_role = {role: name for name, role in kind.roles.items()}
    options = []
    for column in columns.columns:
        if column.role not in name_of_role or column.role in (Role.UNREAD, Role.INDEX):
            continue
        role_name = name_of_role[column.role]
        argument = shlex.quote(f"{role_name}={column.name}")
        options.append(f"{kind.option} {argument}")
    return " ".join(options)


def _shortened(value: str) -> str:
    """Cut a value off after `LONGEST_SHOWN` characters, the last of which is then an ellipsis."""
    if len(value) <= LONGEST_SHOWN:
        return value
    beginning = value[: LONGEST_SHOWN - 1]
    return f"{beginning}…"
