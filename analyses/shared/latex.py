"""What LaTeX makes of text: signs, powers of ten, and the room that a table has."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    r"""Write text as LaTeX: escape what has a meaning there, powers and signs as formulas.

    Examples
    --------
    >>> print(latex("item_knn & 50 %"), latex("2.0e-06"), latex("< 1e-12"), latex("-1 to 2"))
    item\_knn \& 50 \% $2.0 \times 10^{-6}$ $< 10^{-12}$ $-$1 to 2
    """
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
    """Choose what floats, and the size of its letters, for columns of so many characters.

    Examples
    --------
    >>> room_for([6, 6, 6]), room_for([10] + [6] * 8)
    (('table', ''), ('table*', ''))
    """
    gaps = GAP * (len(widths) - 1)
    for floating, room, least in (("table", COLUMN, 8), ("table*", PAGE, 7)):
        for size, points in SIZES.items():
            if points >= least and sum(widths) * points * DIGIT + gaps <= room:
                return floating, size
    return "table*", list(SIZES)[-1]


MACROS = r"""\providecommand{\harnessnumber}[4]{%
  \expandafter\def\csname harness:#1:#2:#3\endcsname{#4}}
\providecommand{\harness}[3]{\ifcsname harness:#1:#2:#3\endcsname\csname harness:#1:#2:#3\endcsname
  \else\errmessage{The table #1 has no #3 of #2}\fi}
"""
"""How a paper keeps the cells of tables, and asks for one."""


def number(table: str, row: str, column: str, text: str) -> str:
    """Keep the cell of a table for `MACROS`."""
    return f"\\harnessnumber{{{table}}}{{{key(row)}}}{{{key(column)}}}{{{latex(text)}}}\n"


def key(name: str) -> str:
    """Keep what LaTeX takes as it stands.

    Examples
    --------
    >>> key("95 %"), key("& systems"), key("uir_item"), key("p < .05")
    ('95', 'systems', 'uiritem', 'p < .05')
    """
    return " ".join(re.sub(r"[^\w\s@.,:;/<>=+()*-]|_", "", name).split())
