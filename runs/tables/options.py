"""Options by which a person says how a table is read; the same for all that read tables."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from runs.shared.encodings import UTF_8
from runs.shared.errors import InputError
from runs.shared.settings import Section
from runs.tables.layouts import COLUMNAR, Layout


class TextOptions(Section):
    """How the text of a table is read, and which column holds what."""

    columns: dict[str, str | int] | None = Field(
        None,
        description="Name or number (from 0) of columns, by what they hold. Those that are not "
        "named are recognised.",
    )
    separator: str | None = Field(None, description="Separator between the fields of a line.")
    encoding: str = Field(UTF_8, description="Encoding of text, such as latin-1.")


class TableOptions(TextOptions):
    """How a table of numbers and times is read."""

    columns: dict[str, str | int] | None = Field(
        None,
        description="Name or number (from 0) of columns: user, item, rating or count, time, "
        "event. Those that are not named are recognised.",
    )
    header: bool | None = Field(None, description="Whether the first line names the columns.")
    decimal: Literal[".", ","] = Field(".", description="Decimal sign of numbers.")
    dates: Literal["day-first", "month-first"] | None = Field(
        None,
        description="Order of dates whose year stands last; default: the order in which all of "
        "them exist.",
    )
    missing: Literal["error", "drop"] = Field(
        "error", description="Lines with missing values: report an error, or drop them."
    )


def require_separator(separator: str | None, layout: Layout | None = None) -> None:
    """Refuse a separator that cannot part fields, or one for a format without lines.

    None is no separator, and fits. Raises InputError.
    """
    if separator is None:
        return
    if layout is not None and layout.separator == COLUMNAR:
        raise InputError("a table in columns, such as Parquet, takes no `separator`.")
    if not separator or set(separator) & set('\r\n"'):
        raise InputError(
            "`separator` must be one or more characters, no quotes or line breaks, "
            f"got {separator!r}."
        )
