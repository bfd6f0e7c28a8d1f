"""A table: numbers unrounded, and the forms in which it is printed, rounded in one place."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pandas as pd


Cell: TypeAlias = str | int | float
Best: TypeAlias = Callable[[Sequence[float]], float]
Text: TypeAlias = Callable[[str], str]

SMALLEST = 1e-12
"""Exact p-values are good to about 1e-13; below this, only that is said."""

MISSING = "–"
TERMINAL = 80


@dataclass(frozen=True)
class Table:
    """A table with its numbers unrounded.

    The name is one word, for a label; full sentences that belong below the table are its note.
    Where rows need no headings there are none; rows begin with a name. For columns with a best
    value, best says how it is chosen: min or max.
    """

    name: str
    title: str
    note: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    best: Mapping[int, Best] = field(default_factory=dict)

    @classmethod
    def crossed(
        cls,
        name: str,
        title: str,
        note: str,
        corner: str,
        cells: Mapping[tuple[str, str], float],
        *,
        best: Callable[[str], Best | None] | None = None,
    ) -> Table:
        """Lay numbers out by row and column, in order of appearance."""
        columns = list(dict.fromkeys(column for _, column in cells))
        rows: list[list[Cell]] = [
            [row, *(cells.get((row, column), math.nan) for column in columns)]
            for row in dict.fromkeys(row for row, _ in cells)
        ]
        found = [(n, best(column)) for n, column in enumerate(columns, start=1)] if best else []
        chosen = {n: choose for n, choose in found if choose is not None}
        return cls(name, title, note, [corner, *columns], rows, chosen)

    def is_best(self, row: int, column: int) -> bool:
        """Whether no other row shows a better number in the column.

        Ties are all best, unless all rows tie.
        """
        choose = self.best.get(column)
        if choose is None:
            return False
        numbers = [float(cells[column]) for cells in self.rows]
        defined = [value for value in numbers if not math.isnan(value)]
        if len({shown(value) for value in defined}) < 2:
            return False
        return shown(self.rows[row][column]) == shown(choose(defined))

    def to_text(self) -> str:
        """Align the columns with spaces: names left, numbers right."""
        return f"{self.title}\n\n{self.to_columns()}\n{self.note}\n"

    def to_columns(self) -> str:
        """Do as `to_text`, without title and note.

        A table that is too wide for a terminal is printed in blocks of columns.
        """
        return fitted([self.headings, *([shown(cell) for cell in row] for row in self.rows)])

    def to_markdown(self) -> str:
        """Write a table of GitHub's Markdown, the best number of a column bold."""
        rules = ["---", *["---:"] * (len(self.headings) - 1)]
        lines = [
            [_markdown(h) for h in self.headings],
            rules,
            *self._cells(_markdown, lambda cell: f"**{cell}**"),
        ]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"**{_markdown(self.title)}**\n\n{body}\n\n{_markdown(self.note)}\n"

    def to_csv(self) -> str:
        """Write all digits."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([self.headings, *self.rows])
        return stream.getvalue()

    def to_latex(self) -> str:
        """Write a floating table for the package booktabs, the best number of a column bold.

        It is as wide as one column, or both, in the largest letters that fit.
        """
        lines = [[latex(h) for h in self.headings], *self._cells(latex, bold_latex)]
        texts = [self.headings, *([shown(cell) for cell in row] for row in self.rows)]
        floating, size = room_for([max(map(len, column)) for column in zip(*texts, strict=True)])
        head, *body = (f"    {' & '.join(line)} \\\\" for line in lines)
        return "\n".join(
            [
                r"% needs \usepackage{booktabs}",
                f"\\begin{{{floating}}}",
                f"  \\caption{{{latex(f'{self.title}. {self.note}')}}}",
                f"  \\label{{tab:{self.name}}}",
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

    def _cells(self, write: Text, bold: Text) -> list[list[str]]:
        """Round and write every cell, the best of its column in bold."""
        written = [[write(shown(cell)) for cell in row] for row in self.rows]
        return [
            [bold(cell) if self.is_best(r, c) else cell for c, cell in enumerate(row)]
            for r, row in enumerate(written)
        ]


def _each(write: Callable[[Table], str]) -> Callable[[Sequence[Table]], str]:
    return lambda tables: "\n".join(map(write, tables))


def as_json(tables: Sequence[Table]) -> str:
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
    "json": as_json,
    "latex": _each(Table.to_latex),
    "markdown": _each(Table.to_markdown),
}
"""How tables are printed, by the name of the format."""


def shown(cell: Cell, *, decimals: int = 4) -> str:
    """Round a score or p-value for reading; counts and names stay as they are."""
    if not isinstance(cell, float):
        return str(cell)
    if math.isnan(cell):
        return MISSING
    if 0 < cell < SMALLEST:
        return f"< {SMALLEST:.0e}"
    is_lost = 0 < abs(cell) < 0.5 * 10**-decimals
    return f"{cell:.1e}" if is_lost else f"{cell:.{decimals}f}"


def _markdown(text: str) -> str:
    r"""Escape what would be markup."""
    return re.sub(r"([\\|*_<`\[])", r"\\\1", text)


def fitted(lines: Sequence[Sequence[str]], *, width: int = TERMINAL) -> str:
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
        aligned([[line[c] for c in block] for line in lines], gap=gap) for block in blocks
    )


def aligned(lines: Sequence[Sequence[str]], *, n_names: int = 1, gap: int = 2) -> str:
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

SIZES = {"": 10, r"\small": 9, r"\footnotesize": 8, r"\scriptsize": 7}
"""Sizes of letters, in points."""

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
POWER = re.compile(r"(< )?([0-9.]+)e([+-])0*([0-9]+)")
MINUS = re.compile(r"(?<![\w.])-(?=\d)")


def latex(text: str) -> str:
    r"""Write text as LaTeX: escape what has a meaning there, powers and signs as formulas."""
    found = POWER.fullmatch(text)
    if found is None:
        return MINUS.sub("$-$", "".join(SPECIAL.get(sign, sign) for sign in text))
    below, factor, sign, digits = found.groups(default="")
    power = f"10^{{{sign.strip('+')}{digits}}}"
    return f"${below}{power}$" if factor == "1" else f"${below}{factor} \\times {power}$"


def bold_latex(text: str) -> str:
    """Print what `latex` wrote bold."""
    return f"\\textbf{{\\boldmath{text}}}" if text.startswith("$") else f"\\textbf{{{text}}}"


def room_for(widths: Sequence[int]) -> tuple[str, str]:
    """Choose what floats, and the size of its letters, for columns of so many characters."""
    gaps = GAP * (len(widths) - 1)
    for floating, room, least in (("table", COLUMN, 8), ("table*", PAGE, 7)):
        for size, points in SIZES.items():
            if points >= least and sum(widths) * points * DIGIT + gaps <= room:
                return floating, size
    return "table*", list(SIZES)[-1]


ROWS, COLUMNS = 6, 8
"""So many are shown of a frame."""


def excerpt(caption: str, frame: pd.DataFrame | None, sentences: Sequence[str]) -> str:
    """Write HTML: the caption, the first rows of a frame, rounded, and sentences below it."""
    notes = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return (
        f"<div><p>{escape(caption)}</p>{'' if frame is None else _first_rows(frame)}{notes}</div>"
    )


def _first_rows(frame: pd.DataFrame) -> str:
    rows = frame.head(ROWS).to_html(
        index=False, border=0, max_cols=COLUMNS, float_format=shown, na_rep=MISSING
    )
    n_rows, n_columns = frame.shape
    if n_rows <= ROWS and n_columns <= COLUMNS:
        return rows
    return f"{rows}<p>{min(n_rows, ROWS):,} of {n_rows:,} rows, {n_columns:,} columns.</p>"


def frame_table(
    name: str, title: str, frame: pd.DataFrame, note: str, *, decimals: int | None = None
) -> Table:
    """Show a frame as it is, or its fractions with so many decimals."""
    rows = [list(row) for row in frame.astype(object).itertuples(index=False)]
    if decimals is not None:
        rows = [
            [shown(cell, decimals=decimals) if isinstance(cell, float) else cell for cell in row]
            for row in rows
        ]
    return Table(name, title, note, [str(column) for column in frame], rows)
