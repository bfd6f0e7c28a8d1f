"""A table: numbers unrounded, and the forms in which it is printed, rounded in one place."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from itertools import zip_longest
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any, TypeAlias

from analyses.shared.latex import (
    GAP,
    LINE_BREAK,
    NO_LABEL,
    SUPERSCRIPT_SIZE,
    bold_latex,
    latex_size,
    latex_text,
    split_caption,
)
from analyses.shared.number_format import MISSING, Cell, format_cell, without_zero

if TYPE_CHECKING:
    import pandas as pd


Columns: TypeAlias = Mapping[str, Iterable[Any]]
TextWriter: TypeAlias = Callable[[str], str]

HEADING_WIDTH = 12
"""Characters that a line of a heading in LaTeX may have, even where the cells are shorter."""

TERMINAL = 80
"""Width of a terminal, in characters."""

BOLD = "Bold: no other of its column is significantly better; none if that holds for all of them."
"""Explains bold numbers, where they are printed so."""

FORMULA = re.compile(r"'*[=+@-]")
"""The beginning of a text that a spreadsheet would run, or of such a text with apostrophes."""

PRINTED_NUMBERS = re.compile(r"[-+\d.,;%\[\] e]*")
"""Texts of numbers alone."""


@dataclass(frozen=True)
class Table:
    """A table with its numbers unrounded.

    Parameters
    ----------
    name
        One word, for a label.
    title
        What the table shows.
    note
        Full sentences that belong below the table.
    headings
        Headings of the columns; none where rows need none.
    rows
        Cells; each row begins with a name. A text may have several lines.
    bold
        Places (row, column) of numbers that are printed bold where that can be: no other measure is
        significantly better.
    decimals
        Decimals of fractions.
    decimals_of_columns
        Decimals of columns that have others, by the number of the column.
    superscripts
        Numbers of columns of texts, such as letters of groups, that LaTeX prints as superscripts of
        the column before them; other formats have them as columns of their own.
    in_print
        The table that LaTeX has in the place of this one, with shorter rows; None: this one.
    """

    name: str
    title: str
    note: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    bold: Collection[tuple[int, int]] = ()
    decimals: int = 4
    decimals_of_columns: Mapping[int, int] = field(default_factory=dict)
    superscripts: Collection[int] = ()
    in_print: Table | None = None

    @classmethod
    def from_columns(
        cls, name: str, title: str, note: str, columns: Columns, *, decimals: int = 4
    ) -> Table:
        """Make a table of columns, such as lists and arrays of equal length, by their headings.

        The first column has the names of the rows; ``decimals`` are those of fractions when the
        table is printed. Raises ValueError if lengths differ.
        """
        headings = list(columns)
        cells = [_as_list(column) for column in columns.values()]
        rows = list(zip(*cells, strict=True))
        return cls(name, title, note, headings, rows, decimals=decimals)

    @classmethod
    def from_cells(
        cls,
        name: str,
        title: str,
        note: str,
        corner: str,
        cells: Mapping[tuple[str, str], float],
        *,
        bold: Iterable[tuple[str, str]] = (),
        decimals: int = 4,
    ) -> Table:
        """Make a table of numbers by the names of their row and column, in order of appearance.

        ``cells`` has a number by (row, column); one that is missing is NaN. ``corner`` is the
        heading of the names of rows; ``bold`` has keys of cells that are printed bold. Raises
        ValueError for a key of ``bold`` with an unknown row or column.
        """
        row_names = list(dict.fromkeys(row for row, _ in cells))
        column_names = list(dict.fromkeys(column for _, column in cells))
        rows: list[list[Cell]] = []
        for row in row_names:
            numbers = [cells.get((row, column), math.nan) for column in column_names]
            rows.append([row, *numbers])
        # The first column has the names.
        bold_positions = set()
        for row, column in bold:
            column_number = 1 + column_names.index(column)
            bold_positions.add((row_names.index(row), column_number))
        return cls(
            name,
            title,
            note,
            headings=[corner, *column_names],
            rows=rows,
            bold=bold_positions,
            decimals=decimals,
        )

    @property
    def typeset_note(self) -> str:
        """The note where bold numbers are printed so, which it then explains."""
        return f"{self.note} {BOLD}" if self.bold else self.note

    def format(self, cell: Cell, column: int | None = None) -> str:
        """Round a number to the decimals of the table, or of a column that has its own."""
        decimals = self.decimals
        if column is not None:
            decimals = self.decimals_of_columns.get(column, self.decimals)
        return format_cell(cell, decimals=decimals)

    def typeset_cell(self, cell: Cell, column: int | None = None) -> str:
        """Round a number as a paper prints it: no 0 before the point; see `format`."""
        text = self.format(cell, column)
        return without_zero(text) if isinstance(cell, float) else text

    def to_text(self) -> str:
        """Write plain text with aligned columns: title, table and note."""
        return f"{self.title}\n\n{self.to_columns()}\n{self.note}\n"

    def to_columns(self) -> str:
        """Write the columns of `to_text` alone, without title and note.

        A table that is too wide for a terminal is printed in blocks of columns.
        """
        return fit_to_width([self.headings, *self._lines()])

    def to_markdown(self) -> str:
        """Write a table in GitHub's Markdown: title, table and note, rounded.

        The first column is aligned to the left, others to the right.
        """
        headings = [_markdown(heading) for heading in self.headings]
        n_numbers = len(self.headings) - 1
        rule = ["---", *["---:"] * n_numbers]
        rows = self._written_rows(_markdown, write_bold=lambda text: f"**{text}**")
        lines = [f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows)]
        title = f"**{_markdown(self.title)}**"
        table = "\n".join(lines)
        note = _markdown(self.typeset_note)
        return f"{title}\n\n{table}\n\n{note}\n"

    def to_csv(self) -> str:
        """Write headings and rows as CSV, unrounded.

        Texts that a spreadsheet would run as formulas have an apostrophe before them.
        """
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        for row in [self.headings, *self.rows]:
            cells = [escape_formula(cell) if isinstance(cell, str) else cell for cell in row]
            writer.writerow(cells)
        return stream.getvalue()

    def __repr__(self) -> str:
        title = f"Table {self.name!r}: {self.title}"
        next_calls = ".to_text(), .to_latex(), .to_markdown(), .to_csv()"
        return overview(title, self.frame(), next_calls)

    def _repr_html_(self) -> str:
        return excerpt(self.title, self.frame(), [self.note], rows=len(self.rows))

    def frame(self) -> pd.DataFrame:
        """Make a data frame of the rows, with the headings as columns and unrounded numbers."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(self.headings), dtype=object)

    def with_note(self, sentence: str) -> Table:
        """Add a sentence to the note, also of the table in print."""
        in_print = None if self.in_print is None else self.in_print.with_note(sentence)
        return replace(self, note=f"{self.note} {sentence}", in_print=in_print)

    def to_latex(self) -> str:
        """Write a floating LaTeX table (booktabs): caption, label, the rows, rounded, and a note.

        It is one or two columns of the page wide, in the largest font size that fits. Texts are
        escaped. The caption has the title and as much of the note as 40 words hold, the rest stands
        below the rows; the label is the table's name. A table with a form in print has that one.
        """
        if self.in_print is not None:
            return self.in_print.to_latex()
        rows = self._written_rows(latex_text, write_bold=bold_latex, show=self.typeset_cell)
        body = [f"    {' & '.join(self._with_superscripts(cells))} \\\\" for cells in rows]
        floating, size, gap = latex_size(self._typeset_widths())
        caption, note = split_caption(self.title, self.typeset_note)
        label = NO_LABEL.sub("-", self.name)
        lines = [
            r"% needs \usepackage{booktabs}",
            f"\\begin{{{floating}}}",
            f"  \\caption{{{latex_text(caption)}}}",
            f"  \\label{{tab:{label}}}",
            f"  \\centering{size}",
        ]
        if gap != GAP:
            # LaTeX's length is half of the gap.
            lines.append(f"  \\setlength{{\\tabcolsep}}{{{gap / 2:g}pt}}")
        lines += [
            f"  \\begin{{tabular}}{{@{{}}{self._alignment()}@{{}}}}",
            r"    \toprule",
            f"    {' & '.join(self._typeset_headings())} \\\\",
            r"    \midrule",
            *body,
            r"    \bottomrule",
            r"  \end{tabular}",
        ]
        if note:
            note_text = rf"\footnotesize\raggedright {latex_text(note)}"
            lines += [r"  \par\smallskip", f"  \\parbox{{\\linewidth}}{{{note_text}}}"]
        lines += [f"\\end{{{floating}}}", ""]
        return "\n".join(lines)

    def _alignment(self) -> str:
        """Write LaTeX's columns: names left, numbers right, superscripts without a gap."""
        columns = ["l"]
        for column in range(1, len(self.headings)):
            columns.append("@{}l" if column in self.superscripts else "r")
        return "".join(columns)

    def _short_headings(self) -> list[str]:
        """Shorten the headings for LaTeX: long ones have several lines, superscripts have "".

        Of "P@10, ranks", right of the column "P@10" with superscripts, only "ranks" is left. A line
        is as long as the cells below it, or 12 characters (`HEADING_WIDTH`).
        """
        headings = [str(self.headings[0])] if self.headings else []
        subject = ""
        for column, heading in enumerate(self.headings[1:], start=1):
            if column in self.superscripts:
                subject = self.headings[column - 1]
                headings.append("")
            else:
                width = max(HEADING_WIDTH, self._content_width(column))
                short = heading.removeprefix(f"{subject}, ")
                headings.append(fill(short, width, break_long_words=False, break_on_hyphens=False))
        return headings

    def _typeset_headings(self) -> list[str]:
        """Write the headings for LaTeX, one over a column and its superscripts."""
        last = len(self.headings) - 1
        headings = []
        for column, heading in enumerate(self._short_headings()):
            if column in self.superscripts:
                continue
            text = latex_text(heading)
            if column + 1 in self.superscripts:
                alignment = "c@{}" if column + 1 == last else "c"
                text = f"\\multicolumn{{2}}{{{alignment}}}{{{text}}}"
            headings.append(text)
        return headings

    def _with_superscripts(self, cells: Sequence[str]) -> list[str]:
        """Raise the texts of the columns that are superscripts; ``cells`` is an escaped row."""
        return [
            f"\\textsuperscript{{{cell}}}" if cell and column in self.superscripts else cell
            for column, cell in enumerate(cells)
        ]

    def _typeset_widths(self) -> list[float]:
        """Count the characters of each column in LaTeX, those of superscripts as smaller ones.

        A superscript is part of the width of the column before it.
        """
        widths: list[float] = []
        for column, heading in enumerate(self._short_headings()):
            width: float = self._content_width(column)
            if column + 1 in self.superscripts:
                width += SUPERSCRIPT_SIZE * self._content_width(column + 1)
            if column not in self.superscripts:
                widths.append(max(width, _longest_line(heading)))
        return widths

    def _content_width(self, column: int) -> int:
        """Count the characters of the longest line of a column's cells in LaTeX; 0 without rows."""
        texts = [self.typeset_cell(row[column], column) for row in self.rows]
        return max(map(_longest_line, texts), default=0)

    def _lines(self) -> list[Sequence[str]]:
        """Round every cell, and lay out those of several lines one below the other.

        The result are lines of cells; a row with a cell of several lines becomes several.
        """
        lines: list[Sequence[str]] = []
        for row in self.rows:
            cells = [self.format(cell, column).split("\n") for column, cell in enumerate(row)]
            lines += zip_longest(*cells, fillvalue="")
        return lines

    def _written_rows(
        self,
        write: TextWriter,
        *,
        write_bold: TextWriter,
        show: Callable[[Cell, int], str] | None = None,
    ) -> list[list[str]]:
        """Write every cell, row by row: round it, escape it, and mark it if it is bold.

        ``show`` rounds a cell of a column, by default as `format` does; ``write`` escapes the text;
        ``write_bold`` marks the escaped text of a cell that is among `bold`.
        """
        show = show or self.format
        written_rows = []
        for row_number, row in enumerate(self.rows):
            texts = []
            for column, cell in enumerate(row):
                text = write(show(cell, column))
                is_bold = (row_number, column) in self.bold
                texts.append(write_bold(text) if is_bold else text)
            written_rows.append(texts)
        return written_rows


def _as_list(column: Iterable[Any]) -> list[Any]:
    """Turn a column into a list of Python's own numbers and texts."""
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _longest_line(text: str) -> int:
    """Count the characters of the longest line of a text."""
    return max(len(line) for line in LINE_BREAK.split(text))


def escape_formula(text: str) -> str:
    """Put an apostrophe before a text that spreadsheets would run; numbers stay as they are."""
    is_formula = FORMULA.match(text) and not PRINTED_NUMBERS.fullmatch(text)
    return f"'{text}" if is_formula else text


def unescape_formula(text: str) -> str:
    """Take away the apostrophe that `escape_formula` put before a text, if it did."""
    without_apostrophe = text.removeprefix("'")
    was_escaped = text.startswith("'") and escape_formula(without_apostrophe) == text
    return without_apostrophe if was_escaped else text


def _join_tables(tables: Sequence[Table], *, write: Callable[[Table], str]) -> str:
    """Write tables one after the other, with an empty line between."""
    return "\n".join(write(table) for table in tables)


def _as_json(tables: Sequence[Table]) -> str:
    """Write the rows of all tables by the names of the tables, with all digits; null for NaN.

    The keys of a row are the headings, with underscores in place of blanks.
    """
    document: dict[str, list[dict[str, Cell | None]]] = {}
    for table in tables:
        keys = [heading.replace(" ", "_") for heading in table.headings]
        document[table.name] = [
            {key: _without_nan(cell) for key, cell in zip(keys, row, strict=True)}
            for row in table.rows
        ]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _without_nan(cell: Cell) -> Cell | None:
    """Replace NaN by None."""
    # NaN alone differs from itself.
    is_nan = cell != cell
    return None if is_nan else cell


FORMATS: Mapping[str, Callable[[Sequence[Table]], str]] = {
    "text": partial(_join_tables, write=Table.to_text),
    "csv": partial(_join_tables, write=Table.to_csv),
    "json": _as_json,
    "latex": partial(_join_tables, write=Table.to_latex),
    "markdown": partial(_join_tables, write=Table.to_markdown),
}
"""How tables are printed, by the name of the format."""


def _markdown(text: str) -> str:
    r"""Escape what would be markup in Markdown; line breaks become <br>."""
    escaped = re.sub(r"([\\|*_<`$\[])", r"\\\1", text)
    return LINE_BREAK.sub("<br>", escaped)


def _column_widths(lines: Sequence[Sequence[str]]) -> list[int]:
    """Count the characters of the widest cell of each column, of lines of equal length."""
    return [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]


def fit_to_width(lines: Sequence[Sequence[str]], *, width: int = TERMINAL) -> str:
    """Align columns within a width; those that do not fit go into blocks, one below another.

    ``lines`` are the heading and the rows, each of as many cells; each block begins with the first
    column, the names, and has one more at least, however wide. Gaps between columns are narrow (one
    space) if the whole table fits only so, else two. ``width`` is in characters.
    """
    widths = _column_widths(lines)
    n_gaps = len(widths) - 1
    space_left = width - sum(widths) - n_gaps
    gap = 1 if 0 <= space_left < n_gaps else 2
    # Numbers of the columns in each block.
    blocks: list[list[int]] = [[0]]
    for column in range(1, len(widths)):
        columns = [*blocks[-1], column]
        block_width = sum(widths[number] + gap for number in columns) - gap
        if len(columns) > 2 and block_width > width:
            blocks.append([0])
        blocks[-1].append(column)
    texts = []
    for block in blocks:
        block_lines = [[line[column] for column in block] for line in lines]
        texts.append(align_columns(block_lines, gap=gap))
    return "\n".join(texts)


def align_columns(lines: Sequence[Sequence[str]], *, n_names: int = 1, gap: int = 2) -> str:
    """Align columns with spaces: the first ones, of names, left, the others, of numbers, right.

    ``lines`` are of cells; ``n_names`` is the number of columns of names, ``gap`` the number of
    spaces between columns.
    """
    widths = _column_widths(lines)
    separator = " " * gap
    aligned_lines = []
    for line in lines:
        cells = []
        for column, (cell, width) in enumerate(zip(line, widths, strict=True)):
            cells.append(cell.ljust(width) if column < n_names else cell.rjust(width))
        aligned_lines.append(separator.join(cells).rstrip() + "\n")
    return "".join(aligned_lines)


NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""Classes of HTML in which notebooks look for no formulas between dollar signs."""

ROWS = 6
"""Rows that a view of a frame shows by default."""

HTML_COLUMNS = 12
"""Columns of a frame that its HTML shows."""

LONGEST = 240
"""Characters of a line of names."""


def excerpt(
    caption: str, frame: pd.DataFrame | None, sentences: Sequence[str], *, rows: int = ROWS
) -> str:
    """Write HTML: the caption, the first rows of a frame, rounded, and sentences below it.

    Texts are escaped. At most ``rows`` rows and `HTML_COLUMNS` columns are shown; if some are left
    out, a line says how many there are. Without a frame (None) there are texts alone.
    """
    paragraphs = [f"<p>{escape(sentence)}</p>" for sentence in (caption, *sentences)]
    if frame is not None:
        table = frame.head(rows).to_html(
            index=False,
            border=0,
            max_cols=HTML_COLUMNS,
            float_format=format_cell,
            na_rep=MISSING,
        )
        is_whole = len(frame) <= rows and len(frame.columns) <= HTML_COLUMNS
        if not is_whole:
            table += f"<p>{_size(frame, rows)}</p>"
        paragraphs.insert(1, table)
    return f'<div class="{NO_FORMULAS}">{"".join(paragraphs)}</div>'


def overview(title: str, frame: pd.DataFrame, calls: str, *, rows: int = ROWS) -> str:
    """Write text: a title, the first rows of a frame, rounded, and what can be called next.

    Columns for which the terminal has no room are left out.
    """
    table = frame.head(rows).to_string(
        index=False, max_cols=0, line_width=TERMINAL, float_format=format_cell, na_rep=MISSING
    )
    return f"{title}\n\n{table}\n\n{_size(frame, rows)} Next: {calls}"


def listing(title: str, names: Mapping[str, Iterable[object]], calls: str) -> str:
    """Write text: a title, a line of names for each key, and what can be called next.

    Lines of more than `LONGEST` characters are shortened.
    """
    lines = [title]
    for key, names_of_key in names.items():
        line = f"{key}: {', '.join(map(str, names_of_key))}"
        lines.append(shorten(line, LONGEST, placeholder=" ..."))
    lines.append(f"Next: {calls}")
    return "\n".join(lines)


def _size(frame: pd.DataFrame, rows: int) -> str:
    """Write how many rows of a frame are shown, at most ``rows``, and how many it has."""
    n_rows, n_columns = frame.shape
    # Help on commands, which imports this module, is quick without numpy.
    from runs.shared.errors import counted

    return f"{min(n_rows, rows):,} of {counted(n_rows, 'row')}, {counted(n_columns, 'column')}."


def frame_table(
    name: str, title: str, frame: pd.DataFrame, note: str, *, decimals: int = 4
) -> Table:
    """Make a table of a frame, its fractions with so many decimals."""
    columns = {str(heading): column for heading, column in frame.items()}
    return Table.from_columns(name, title, note, columns, decimals=decimals)
