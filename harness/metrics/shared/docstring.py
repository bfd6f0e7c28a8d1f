"""What the docstring of a metric says: formulas, words, parameters."""

from __future__ import annotations

import re

FORMULA = re.compile(r"\.\. math::\s*(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
ROLE = re.compile(r":math:`([^`]*)`|``([^`]*)``|\*([^*]+)\*")
UPRIGHT = re.compile(r"\\mathrm\{(\w+)\}")
PARAMETERS = "\nParameters\n"


def formulas_in(doc: str) -> list[str]:
    r"""Give the formulas, as TeX.

    Examples
    --------
    >>> print(*formulas_in("Hits.\n\n.. math:: x\n    = 1\n\nOf all."))
    x = 1
    """
    return [" ".join(tex.split()) for tex in FORMULA.findall(doc)]


def words_in(doc: str) -> list[str]:
    r"""Give the paragraphs between the first and the parameters, formulas aside.

    Examples
    --------
    >>> words_in("Hits.\n\nOf the :math:`n_k` *judged* items.\n")
    ['Of the n_k judged items.']
    """
    paragraphs = FORMULA.sub("\n\n", doc.partition(PARAMETERS)[0]).split("\n\n")[1:]
    return [words for words in map(plain, paragraphs) if words]


def parameter_in(doc: str, name: str) -> str:
    r"""Give what is said of a parameter; "" if nothing is.

    Examples
    --------
    >>> parameter_in("Hits.\n\nParameters\n----------\np\n    Patience, ``p``.\n", "p")
    'Patience, p.'
    """
    told = re.search(rf"^{name}\b.*\n((?: +.+\n?)+)", doc.partition(PARAMETERS)[2], re.MULTILINE)
    return plain(told[1]) if told else ""


def plain(text: str) -> str:
    """Take marks away, and line breaks."""
    unmarked = ROLE.sub(lambda m: m[1] or m[2] or m[3], " ".join(text.split()))
    return UPRIGHT.sub(r"\1", unmarked)
