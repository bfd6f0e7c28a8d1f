"""A table: numbers unrounded, and the forms in which it is printed, rounded in one place."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import zip_longest
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas as pd


Cell: TypeAlias = str | int | float
Columns: TypeAlias = Mapping[str, Iterable[Any]]
Text: TypeAlias = Callable[[str], str]

SMALLEST = 1e-12
"""Exact p-values are good to about 1e-13; below this, only that is said."""

MISSING = "–"
TERMINAL = 80

BOLD = "Bold: no other measure is significantly better; none if that is true of all."
"""Explains bold numbers, where they are printed so."""

FORMULA = re.compile(r"'*[=+@-]")
SHOWN_NUMBERS = re.compile(r"[-+\d.,;%\[\] e]*")


@dataclass(frozen=True)
class Table:
    """A table with its numbers unrounded.

    The name is one word, for a label; full sentences that belong below the table are its note. A
    text may have several lines. Where rows need no headings there are none; rows begin with a name.
    Columns whose numbers have other decimals are named with these by their places.
    Numbers at the places (row, column) are printed bold where that can be: no other measure is
    significantly better.
    """

    name: str
    title: str
    note: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    bold: Collection[tuple[int, int]] = ()
    decimals: int = 4
    decimals_of_columns: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def from_columns(
        cls, name: str, title: str, note: str, columns: Columns, *, decimals: int = 4
    ) -> Table:
        """Lay out columns, such as lists and arrays, by their headings."""
        cells = [c.tolist() if hasattr(c, "tolist") else c for c in columns.values()]
        return cls(name, title, note, [*columns], [*zip(*cells, strict=True)], decimals=decimals)

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
        """Lay numbers out by row and column, in order of appearance; bold are keys of cells."""
        columns = list(dict.fromkeys(column for _, column in cells))
        rows: list[list[Cell]] = [
            [row, *(cells.get((row, column), math.nan) for column in columns)]
            for row in dict.fromkeys(row for row, _ in cells)
        ]
        names = [row[0] for row in rows]
        places = {(names.index(row), 1 + columns.index(column)) for row, column in bold}
        return cls(name, title, note, [corner, *columns], rows, places, decimals)

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
        """Round a number as a paper prints it: no 0 before the point."""
        text = self.format(cell, column)
        return _unpadded(text) if isinstance(cell, float) else text

    def to_text(self) -> str:
        """Write plain text with aligned columns: title, table and note."""
        return f"{self.title}\n\n{self.to_columns()}\n{self.note}\n"

    def to_columns(self) -> str:
        """Write the columns of `to_text` alone, without title and note.

        A table that is too wide for a terminal is printed in blocks of columns.
        """
        return fit_to_width([self.headings, *self._lines()])

    def to_markdown(self) -> str:
        """Write a table in GitHub's Markdown."""
        head, rules = map(_markdown, self.headings), ["---", *["---:"] * (len(self.headings) - 1)]
        lines = [head, rules, *self._cells(_markdown, lambda cell: f"**{cell}**")]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"**{_markdown(self.title)}**\n\n{body}\n\n{_markdown(self.typeset_note)}\n"

    def to_csv(self) -> str:
        """Write headings and rows as CSV, unrounded; texts are no formulas in a spreadsheet."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        rows = [self.headings, *self.rows]
        writer.writerows(
            [escape_formula(c) if isinstance(c, str) else c for c in row] for row in rows
        )
        return stream.getvalue()

    def __repr__(self) -> str:
        title = f"Table {self.name!r}: {self.title}"
        return overview(title, self.frame(), ".to_text(), .to_latex(), .to_markdown(), .to_csv()")

    def _repr_html_(self) -> str:
        return excerpt(self.title, self.frame(), [self.note], rows=len(self.rows))

    def frame(self) -> pd.DataFrame:
        """Give the rows as a data frame, with the headings as columns and unrounded numbers."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(self.headings), dtype=object)

    def to_latex(self) -> str:
        """Write a floating LaTeX table (booktabs).

        It is one or two columns wide, in the largest font size that fits.
        """
        lines = [
            [latex_text(h) for h in self.headings],
            *self._cells(latex_text, _bold_latex, self.typeset_cell),
        ]
        texts = [self.headings, *self._lines()]
        floating, size = latex_size([max(map(len, column)) for column in zip(*texts, strict=True)])
        head, *body = (f"    {' & '.join(line)} \\\\" for line in lines)
        return "\n".join(
            [
                r"% needs \usepackage{booktabs}",
                f"\\begin{{{floating}}}",
                f"  \\caption{{{latex_text(f'{self.title}. {self.typeset_note}')}}}",
                f"  \\label{{tab:{NO_LABEL.sub('-', self.name)}}}",
                f"  \\centering{size}",
                f"  \\begin{{tabular}}{{@{{}}l{'r' * (len(self.headings) - 1)}@{{}}}}",
                r"    \toprule",
                head,
                r"    \midrule",
                *body,
                r"    \bottomrule",
                r"  \end{tabular}",
                f"\\end{{{floating}}}",
                "",
            ]
        )

    def _lines(self) -> list[Sequence[str]]:
        """Round every cell, and lay out those of several lines one below the other."""
        rows = [
            [self.format(cell, column).split("\n") for column, cell in enumerate(row)]
            for row in self.rows
        ]
        return [line for row in rows for line in zip_longest(*row, fillvalue="")]

    def _cells(
        self, write: Text, bold: Text, show: Callable[[Cell, int], str] | None = None
    ) -> list[list[str]]:
        """Round and write every cell."""
        show = show or self.format
        written = [
            [write(show(cell, column)) for column, cell in enumerate(row)] for row in self.rows
        ]
        return [
            [bold(cell) if (r, c) in self.bold else cell for c, cell in enumerate(row)]
            for r, row in enumerate(written)
        ]


def escape_formula(text: str) -> str:
    """Put an apostrophe before a text that spreadsheets would run; numbers stay as they are."""
    is_formula = FORMULA.match(text) and not SHOWN_NUMBERS.fullmatch(text)
    return f"'{text}" if is_formula else text


def unescape_formula(text: str) -> str:
    """Give back what `escape_formula` was given."""
    return text[1:] if text[:1] == "'" and escape_formula(text[1:]) == text else text


def _each(write: Callable[[Table], str]) -> Callable[[Sequence[Table]], str]:
    return lambda tables: "\n".join(map(write, tables))


def _as_json(tables: Sequence[Table]) -> str:
    """Write the rows of all tables by the names of the tables, with all digits; null for NaN."""
    document: dict[str, list[dict[str, Cell | None]]] = {}
    for table in tables:
        # NaN alone differs from itself.
        rows = [[cell if cell == cell else None for cell in row] for row in table.rows]
        document[table.name] = [dict(zip(table.headings, row, strict=True)) for row in rows]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


FORMATS: Mapping[str, Callable[[Sequence[Table]], str]] = {
    "text": _each(Table.to_text),
    "csv": _each(Table.to_csv),
    "json": _as_json,
    "latex": _each(Table.to_latex),
    "markdown": _each(Table.to_markdown),
}
"""How tables are printed, by the name of the format."""


def format_cell(cell: Cell, *, decimals: int = 4) -> str:
    """Round a score or p-value for reading; counts and names stay as they are."""
    if not isinstance(cell, float):
        return str(cell)
    if math.isnan(cell):
        return MISSING
    if 0 < cell < SMALLEST:
        return f"< {SMALLEST:.0e}"
    is_lost = 0 < abs(cell) < 0.5 * 10**-decimals
    return f"{cell:.1e}" if is_lost else f"{cell:.{decimals}f}"


def supported_decimals(low: float, high: float) -> int:
    """Give the decimals that an interval supports: the last is at most an eighth of its width.

    Without an upper limit, they are those of 0 to the lower one; without an interval there are 3.
    More than 5 are never given.
    """
    if math.isinf(high):
        low, high = 0.0, low or 1.0
    if math.isnan(high - low) or high <= low:
        return 3
    return min(5, max(0, math.ceil(-math.log10((high - low) / 8))))


def common_decimals(lows: Iterable[float], highs: Iterable[float]) -> int:
    """Give the decimals for a table: the median of those that the intervals support."""
    decimals = sorted(map(supported_decimals, lows, highs)) or [3]
    return decimals[(len(decimals) - 1) // 2]


def rounded(value: float, decimals: int = 3) -> str:
    """Print a number as a paper does: no 0 before the point."""
    if math.isnan(value):
        return MISSING
    return _unpadded(f"{round(value, decimals) + 0.0:,.{decimals}f}").replace("inf", "∞")


def rounded_ratio(value: float, decimals: int = 3) -> str:
    """Print a number that is compared by ratio: in powers of ten where rounding would leave 0.

    Examples
    --------
    >>> rounded_ratio(11.26, 1), rounded_ratio(0.00042, 1), rounded_ratio(1e-14, 1)
    ('11.3', '4.2e-04', '< 1e-12')
    """
    is_lost = 0 < abs(value) < 0.5 * 10**-decimals
    return format_cell(value, decimals=decimals) if is_lost else rounded(value, decimals)


def percent(part: float) -> str:
    """Print a share in per cent, with two digits, or three from 99.5 % on.

    Examples
    --------
    >>> percent(0.0512), percent(0.997), percent(12.34)
    ('5.1 %', '99.7 %', '1,230 %')
    """
    number = f"{100 * round(part, 12):.{3 if part >= 0.995 else 2}g}"
    return f"{float(number):,.10g} %" if math.isfinite(part) else MISSING


def _unpadded(text: str) -> str:
    """Leave out the 0 before the point."""
    return re.sub(r"^(-?)0(?=\.)", r"\1", text)


def _markdown(text: str) -> str:
    r"""Escape what would be markup."""
    return LINE_BREAK.sub("<br>", re.sub(r"([\\|*_<`$\[])", r"\\\1", text))


def fit_to_width(lines: Sequence[Sequence[str]], *, width: int = TERMINAL) -> str:
    """Align columns, with narrow gaps if the table fits then; else in blocks, one below another.

    Every block begins with the names.
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    gap = 1 if 0 <= width - sum(widths) - len(widths) + 1 < len(widths) - 1 else 2
    blocks: list[list[int]] = [[0]]
    for column in range(1, len(widths)):
        taken = [*blocks[-1], column]
        if len(taken) > 2 and sum(widths[c] + gap for c in taken) - gap > width:
            blocks.append([0])
        blocks[-1].append(column)
    return "\n".join(
        align_columns([[line[c] for c in block] for line in lines], gap=gap) for block in blocks
    )


def align_columns(lines: Sequence[Sequence[str]], *, n_names: int = 1, gap: int = 2) -> str:
    """Align columns with spaces: the first ones, of names, left, the others, of numbers, right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [str.ljust if column < n_names else str.rjust for column in range(len(widths))]
    padded = (
        [pad(cell, width) for pad, cell, width in zip(sides, line, widths, strict=True)]
        for line in lines
    )
    return "".join((" " * gap).join(line).rstrip() + "\n" for line in padded)


COLUMN, PAGE, GAP = 229.0, 469.0, 12.0
"""Points that a table has in one or both columns of LaTeX's article, and between two numbers."""

SIZES = {"": 10, r"\small": 9, r"\footnotesize": 8}
"""Sizes of letters, in points."""

SMALLEST_SIZE = r"\scriptsize"
"""The size of letters of a table that does not fit with a larger one."""

DIGIT = 0.55
"""The width of a digit, some of them bold, as a share of the size."""

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    # At the beginning of a row these two would belong to the end of the one before.
    "[": "{[}",
    "*": "{*}",
    "≤": r"$\le$",
    "±": r"$\pm$",
    "–": "--",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
LINE_BREAK = re.compile(r"\r\n?|\n")
NO_LABEL = re.compile(r"[^\w:.-]+")
"""What a label of LaTeX does not have here: such signs would end it."""

POWER = re.compile(r"(< )?([0-9.]+)e([+-])0*([0-9]+)")
MINUS = re.compile(r"(?<![\w.-])-(?=\.?\d)")


def latex_text(text: str) -> str:
    r"""Write text as LaTeX: escape what has a meaning there, powers and signs as formulas."""
    if LINE_BREAK.search(text):
        lines = r" \\ ".join(map(latex_text, LINE_BREAK.split(text)))
        return f"\\shortstack[r]{{{lines}}}"
    found = POWER.fullmatch(text)
    if found is None:
        return MINUS.sub("$-$", "".join(SPECIAL.get(sign, sign) for sign in text))
    below, factor, sign, digits = found.groups(default="")
    power = f"10^{{{sign.strip('+')}{digits}}}"
    return f"${below}{power}$" if factor == "1" else f"${below}{factor} \\times {power}$"


def _bold_latex(text: str) -> str:
    """Print what `latex_text` wrote bold."""
    return f"\\textbf{{\\boldmath{text}}}" if text.startswith("$") else f"\\textbf{{{text}}}"


def latex_size(widths: Sequence[int]) -> tuple[str, str]:
    """Choose what floats, and the size of its letters, for columns of so many characters."""
    gaps = GAP * (len(widths) - 1)
    for floating, room in (("table", COLUMN), ("table*", PAGE)):
        for size, points in SIZES.items():
            if sum(widths) * points * DIGIT + gaps <= room:
                return floating, size
    return "table*", SMALLEST_SIZE


NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""Classes of HTML in which notebooks look for no formulas between dollar signs."""

ROWS, COLUMNS = 6, 12
"""Rows that a view of a frame shows by default, and columns that its HTML shows."""


LONGEST = 240
"""Characters of a line of names."""


def excerpt(
    caption: str, frame: pd.DataFrame | None, sentences: Sequence[str], *, rows: int = ROWS
) -> str:
    """Write HTML: the caption, the first rows of a frame, rounded, and sentences below it."""
    parts = [f"<p>{escape(sentence)}</p>" for sentence in (caption, *sentences)]
    if frame is not None:
        table = frame.head(rows).to_html(
            index=False, border=0, max_cols=COLUMNS, float_format=format_cell, na_rep=MISSING
        )
        is_whole = len(frame) <= rows and len(frame.columns) <= COLUMNS
        parts.insert(1, table if is_whole else f"{table}<p>{_size(frame, rows)}</p>")
    return f'<div class="{NO_FORMULAS}">{"".join(parts)}</div>'


def overview(title: str, frame: pd.DataFrame, calls: str, *, rows: int = ROWS) -> str:
    """Write text: a title, the first rows of a frame, rounded, and what can be called next.

    Columns for which the terminal has no room are left out.
    """
    table = frame.head(rows).to_string(
        index=False, max_cols=0, line_width=TERMINAL, float_format=format_cell, na_rep=MISSING
    )
    return f"{title}\n\n{table}\n\n{_size(frame, rows)} Next: {calls}"


def listing(title: str, named: Mapping[str, Iterable[object]], calls: str) -> str:
    """Write text: a title, a line of names for each key, and what can be called next."""
    lines = (f"{key}: {', '.join(map(str, names))}" for key, names in named.items())
    short = (shorten(line, LONGEST, placeholder=" ...") for line in lines)
    return "\n".join([title, *short, f"Next: {calls}"])


def _size(frame: pd.DataFrame, rows: int) -> str:
    n_rows, n_columns = frame.shape
    # Help on commands, which imports this module, is quick without numpy.
    from runs.shared.errors import counted

    return f"{min(n_rows, rows):,} of {counted(n_rows, 'row')}, {counted(n_columns, 'column')}."


def frame_table(
    name: str, title: str, frame: pd.DataFrame, note: str, *, decimals: int = 4
) -> Table:
    """Show a frame, its fractions with so many decimals."""
    columns = {str(heading): column for heading, column in frame.items()}
    return Table.from_columns(name, title, note, columns, decimals=decimals)
