"""What a file seems to be: its layout, and the role of every column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from runs.shared.errors import require_choice
from runs.tables.assignment import assign_roles
from runs.tables.columnar_rows import ColumnarRows
from runs.tables.layouts import COLUMNAR, FORMATS, IN_ORDER, LAYOUTS, Layout, Shape
from runs.tables.options import TableOptions, require_separator
from runs.tables.roles import Columns, Kind, Role, named_roles
from runs.tables.rows import DelimitedRows, ItemsRows, MatrixRows, Rows
from runs.tables.sniff import Sniffed, sniff, split_line
from runs.tables.source import Source
from runs.tables.values import Sample

FORMAT_OF_SEPARATOR: Final = {",": "csv", "\t": "tsv"}
"""Formats by what separates their fields."""

N_FIELDS_OF_MOVIELENS: Final = 4


@dataclass(frozen=True, eq=False)
class RecognisedTable:
    """A file, how it is laid out, and what its columns hold.

    Parameters
    ----------
    rows
        Reads the file.
    format
        Name of the format.
    separator
        The separator, if the name of the format does not say it; else None.
    columns
        The columns with their roles.
    """

    rows: Rows
    format: str
    separator: str | None
    columns: Columns

    @property
    def places(self) -> dict[Role, int]:
        """Places of the columns that are read, by role."""
        return {
            column.role: column.place
            for column in self.columns.columns
            if column.role in self.columns.kind.meanings
        }


def recognise_table(
    source: Source,
    kind: Kind,
    options: TableOptions,
    *,
    format: str | None = None,
    is_without_numbers: bool = False,
) -> RecognisedTable:
    """Find out how a file is laid out, and what its columns hold.

    Parameters
    ----------
    source
        The file.
    kind
        What it should hold.
    options
        What a person says of it.
    format
        Name of its format; None to recognise it.
    is_without_numbers
        Whether a person says that nothing is rated.

    Raises
    ------
    InputError
        If the format is not known, or the file or an option does not fit it. Columns that only a
        person can tell are no error here: see `Columns.questions`.
    """
    if format is not None:
        require_choice("format", format, FORMATS)
    is_numbered = False
    separator: str | None = None
    if format is None:
        require_separator(options.separator)
        layout, format, separator, is_numbered = _sniffed_layout(source, kind, options)
    else:
        require_separator(options.separator, LAYOUTS[format])
        layout = _with_options(LAYOUTS[format], options)
    rows = _rows_of(source, layout)
    has_names = layout.separator == COLUMNAR or (layout.header and not is_numbered)
    columns = assign_roles(
        rows.names,
        rows.samples(),
        kind,
        named=named_roles(options.columns, kind),
        of_format=named_roles(layout.columns, kind),
        has_heading=has_names,
        is_without_numbers=is_without_numbers,
        label=source.label,
    )
    return RecognisedTable(rows, format, separator, columns)


def _rows_of(source: Source, layout: Layout) -> Rows:
    """Choose what reads a file of a layout."""
    if layout.separator == COLUMNAR:
        return ColumnarRows(source, layout)
    if layout.shape == Shape.MATRIX:
        return MatrixRows(source, layout)
    if layout.shape == Shape.ITEMS:
        return ItemsRows(source, layout)
    return DelimitedRows(source, layout)


def _with_options(layout: Layout, options: TableOptions) -> Layout:
    """Change a layout as a person says: heading and separator.

    If a person names columns by their places alone, and does not say otherwise, there is no
    heading. With a separator of several characters fields are not quoted.
    """
    columns = (options.columns or {}).values()
    if options.header is not None:
        layout = replace(layout, header=options.header)
    elif columns and all(isinstance(column, int) for column in columns):
        layout = replace(layout, header=False)
    if options.separator is not None:
        is_quoted = layout.quoted and len(options.separator) == 1
        layout = replace(layout, separator=options.separator, quoted=is_quoted)
    return layout


def _sniffed_layout(
    source: Source, kind: Kind, options: TableOptions
) -> tuple[Layout, str, str | None, bool]:
    """Recognise layout and format of a file.

    Returns
    -------
    The layout, the name of the format, the separator if the format does not say it, and whether
    the heading holds only the numbers of the columns.
    """
    columnar = {"parquet": source.is_parquet, "arrow": source.is_arrow, "json": source.is_json}
    for format, is_format in columnar.items():
        if is_format:
            return LAYOUTS[format], format, None, False
    lines = source.first_lines()
    header = options.header
    named_columns = (options.columns or {}).values()
    has_names = any(isinstance(column, str) for column in named_columns)
    if header is None and has_names:
        header = True
    is_recbole = source.name.endswith(".inter") or "user_id:token" in lines[0].split("\t")
    if is_recbole:
        return _with_options(LAYOUTS["inter"], options), "inter", None, False
    sniffed = sniff(
        lines,
        kind,
        label=source.label,
        separator=options.separator,
        header=header,
        are_places_named=bool(named_columns) and not has_names,
    )
    if sniffed.shape == Shape.ITEMS:
        return LAYOUTS["user-items"], "user-items", None, False
    has_roles_of_ratings = set(kind.roles) >= set(IN_ORDER)
    if has_roles_of_ratings and is_movielens(lines, sniffed):
        format = "movielens-dat" if sniffed.separator == "::" else "movielens-u.data"
        return LAYOUTS[format], format, None, False
    layout = Layout(
        separator=sniffed.separator,
        header=sniffed.header,
        quoted=len(sniffed.separator) == 1 and sniffed.separator != " ",
    )
    format = _format_of(sniffed, lines[0])
    separator = None if LAYOUTS[format].separator == sniffed.separator else sniffed.separator
    return layout, format, separator, sniffed.is_numbered


def is_movielens(lines: Sequence[str], sniffed: Sniffed) -> bool:
    """Tell user, item, rating and time of MovieLens, without a heading, from other four fields.

    Fields between ``::`` are; fields between tabs are if the third and the fourth are numbers and
    the first does not just count the lines. ``lines`` are the first ones of the file.
    """
    if sniffed.header or sniffed.separator not in ("::", "\t"):
        return False
    rows = [split_line(line, sniffed.separator) for line in lines]
    if any(len(row) != N_FIELDS_OF_MOVIELENS for row in rows):
        # Lines of another width are refused when all are read.
        return sniffed.separator == "::" and len(rows[0]) == N_FIELDS_OF_MOVIELENS
    users, _, ratings, times = (Sample(texts) for texts in zip(*rows, strict=True))
    if sniffed.separator == "::":
        return True
    is_index = users.is_index and not (times.is_unix_time or ratings.is_rating)
    return ratings.is_numeric and times.is_numeric and not is_index


def _format_of(sniffed: Sniffed, first_line: str) -> str:
    """Name the format of lines with this separator."""
    fields = first_line.split(sniffed.separator)
    if sniffed.separator == "," and {"userId", "movieId"} <= set(fields):
        return "movielens-csv"
    return FORMAT_OF_SEPARATOR.get(sniffed.separator, "csv")
