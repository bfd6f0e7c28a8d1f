"""LaTeX: texts, powers and signs, and the size at which a table fits its page."""

from __future__ import annotations

import re
from collections.abc import Sequence

COLUMN_WIDTH = 229.0
PAGE_WIDTH = 469.0
"""Points that a table has in one or both columns of LaTeX's article."""

GAP = 12.0
NARROW_GAP = 6.0
"""Points between two columns: as LaTeX has it, and where the table would not fit its page so."""

SIZES = {"": 10, r"\small": 9, r"\footnotesize": 8}
"""Sizes of letters, in points."""

SMALLEST_SIZE = r"\scriptsize"
"""The size of letters of a table that does not fit with a larger one."""

DIGIT_WIDTH = 0.55
"""The width of a digit, some of them bold, as a share of the size."""

SUPERSCRIPT_SIZE = 0.7
"""The size of superscripts, as a share of the size of the letters beside them."""

MAX_CAPTION_WORDS = 40
"""Captions are not longer; what is left stands in a note below the table."""

SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")
"""The space between two sentences."""

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
"""A number in powers of ten, such as "1.5e-04" or "< 1e-12"."""

MINUS = re.compile(r"(?<![\w.-])-(?=\.?\d)")
"""The minus before a number."""


def latex_text(text: str) -> str:
    r"""Write text as LaTeX: escape what has a meaning there, powers and signs as formulas.

    A text that is a number in powers of ten, such as "< 1e-12", becomes a formula; in others, so do
    single signs, such as "<" and the minus before a number. Lines of a text stand one below the
    other, in a \shortstack.
    """
    if LINE_BREAK.search(text):
        lines = [latex_text(line) for line in LINE_BREAK.split(text)]
        stacked = r" \\ ".join(lines)
        return f"\\shortstack[r]{{{stacked}}}"
    power = POWER.fullmatch(text)
    if power is None:
        escaped = "".join(SPECIAL.get(sign, sign) for sign in text)
        return MINUS.sub("$-$", escaped)
    less_than, factor, sign, digits = power.groups(default="")
    exponent = f"-{digits}" if sign == "-" else digits
    power_of_ten = f"10^{{{exponent}}}"
    if factor == "1":
        return f"${less_than}{power_of_ten}$"
    return f"${less_than}{factor} \\times {power_of_ten}$"


def bold_latex(text: str) -> str:
    """Print bold what `latex_text` wrote: a text, or a formula between dollar signs."""
    if text.startswith("$"):
        return f"\\textbf{{\\boldmath{text}}}"
    return f"\\textbf{{{text}}}"


def split_caption(title: str, note: str) -> tuple[str, str]:
    """Split a title and a note into a caption of at most 40 words, and the rest of the note.

    The caption has the title and the first sentences of the note, as many as fit
    (`MAX_CAPTION_WORDS`); either part of the result may be empty. A longer title stays whole.
    """
    sentences = [f"{title}.", *SENTENCE_END.split(note)]
    n_in_caption = 1
    n_words = len(title.split())
    for sentence in sentences[1:]:
        n_words += len(sentence.split())
        if n_words > MAX_CAPTION_WORDS:
            break
        n_in_caption += 1
    caption = " ".join(sentences[:n_in_caption])
    rest = " ".join(sentences[n_in_caption:])
    return caption.strip(), rest


def latex_size(widths: Sequence[float]) -> tuple[str, str, float]:
    """Choose the floating environment, the size of its letters and the gap in which a table fits.

    ``widths`` are the numbers of characters of its columns. The results are "table", of one column
    of the page, or else "table*", of the whole page; the command for the largest of the `SIZES`
    that fits, "" for the usual size; and the points between columns, which are narrow where no size
    fits without that. If none fits even the page, the command is `SMALLEST_SIZE`.
    """
    layouts = (
        ("table", COLUMN_WIDTH, GAP),
        ("table", COLUMN_WIDTH, NARROW_GAP),
        ("table*", PAGE_WIDTH, GAP),
        ("table*", PAGE_WIDTH, NARROW_GAP),
    )
    n_gaps = len(widths) - 1
    for environment, available, gap in layouts:
        for command, points in SIZES.items():
            if sum(widths) * points * DIGIT_WIDTH + gap * n_gaps <= available:
                return environment, command, gap
    return "table*", SMALLEST_SIZE, NARROW_GAP
