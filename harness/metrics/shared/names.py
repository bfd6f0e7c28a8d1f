"""Names of measures: ``P(rel=4)@10`` holds metric, options and depth, and reads back the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from runs import InputError
from runs.shared.arrays import DEEPEST_RANK
from runs.shared.errors import prefixed_errors

Value: TypeAlias = int | float | str | dict[int, float]
"""Value of an option; a dictionary maps grades to gains."""

NAME = re.compile(r"((?:ir_measures:)?[A-Za-z][A-Za-z0-9_.-]*)(?:\((.*)\))?", re.DOTALL)
INTEGER = re.compile(r"[+-]?[0-9]+")
DECIMAL = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][+-]?[0-9]+)?")
SWITCHES = {"true": True, "false": False}
WORD = re.compile(r"[A-Za-z0-9_.+-]+")
GRAMMAR = "a metric is written NAME, NAME@10, NAME@all or NAME(option=value, ...)@10"
MAX_CUTOFF_DIGITS = 18
"""Maximum number of digits of a cut-off that is converted to a number."""

WHOLE_LISTS = "all"
"""Text behind the ``@`` for whole lists."""

VALUES_WITHOUT_NONRELEVANT: Mapping[str, str] = {
    "bpref": "equals Recall",
    "infAP": "is Recall less at most .5 / (number of relevant items)",
    "infAP_trec": "equals AP",
    "AUC": "is 0",
}
"""Value of metrics for a user without judged non-relevant items, as the end of a sentence."""


@dataclass(frozen=True)
class ParsedName:
    """The parts of a measure's name: metric, options in brackets, cut-off behind the ``@``.

    The cut-off is None without an ``@``, and for ``@all``, where ``is_whole`` is true.
    """

    name: str
    options: Mapping[str, Value]
    cutoff: int | None
    is_whole: bool = False

    @property
    def label(self) -> str:
        """Name of the metric with its options, without the depth."""
        return print_name(self.name, self.options)

    @property
    def has_depth(self) -> bool:
        """Whether the name has a cut-off or ``@all``."""
        return self.is_whole or self.cutoff is not None


def split_depth(text: str) -> tuple[str, int | None, bool]:
    """Split a name at the ``@`` into the rest, the cut-off, and whether the depth is ``@all``.

    The cut-off is None without ``@`` and for ``@all``. Raises InputError for any other text behind
    the ``@``.
    """
    name, at_sign, depth = text.strip().partition("@")
    if not at_sign or depth == WHOLE_LISTS:
        return name, None, depth == WHOLE_LISTS
    rule = f"behind the @ stands a cut-off, or {WHOLE_LISTS!r} for whole lists"
    with prefixed_errors(f"{text!r}: {rule}"):
        return name, read_cutoff(depth), False


def read_cutoff(text: str) -> int:
    """Convert a text to a cut-off; InputError unless it is a whole number in the allowed range.

    >>> read_cutoff("10")
    10
    """
    is_whole_number = text.isascii() and text.isdigit() and len(text) <= MAX_CUTOFF_DIGITS
    if not (is_whole_number and 1 <= int(text) <= DEEPEST_RANK):
        raise InputError(
            f"a cut-off must be a whole number from 1 to {DEEPEST_RANK:,}, got {text!r}."
        )
    return int(text)


def parse_name(text: str) -> ParsedName:
    """Parse the name of a measure, such as ``P(rel=4)@10``.

    Raises InputError if the text is no name, an option is not written ``option=value``, is given
    twice, or has a value that cannot be read, or the cut-off is not allowed.
    """
    name_and_options, cutoff, is_whole = split_depth(text)
    match = NAME.fullmatch(name_and_options)
    if match is None:
        raise InputError(f"{text!r} is no metric's name: {GRAMMAR}.")
    name, in_brackets = match.groups()
    options: dict[str, Value] = {}
    # Commas within braces do not separate options.
    assignments = re.split(r",(?![^{]*\})", in_brackets or "")
    for assignment in filter(str.strip, assignments):
        key, equals_sign, value = assignment.partition("=")
        option = key.strip()
        if not equals_sign or not option.isidentifier():
            raise InputError(f"{text!r}: {assignment.strip()!r} is no option=value; {GRAMMAR}.")
        if option in options:
            raise InputError(f"{text!r}: the option {option!r} is duplicated.")
        options[option] = _read_value(value.strip(), text)
    return ParsedName(name, options, cutoff, is_whole)


def print_name(name: str, options: Mapping[str, Value], cutoff: int | None = None) -> str:
    """Write the full name of a measure, such as "P(rel=4)@10", which `parse_name` reads back.

    ``options`` are values by the name of the option; a ``cutoff`` of None is left out.
    """
    assignments = ",".join(f"{option}={print_value(value)}" for option, value in options.items())
    brackets = f"({assignments})" if assignments else ""
    depth = "" if cutoff is None else f"@{cutoff}"
    return f"{name}{brackets}{depth}"


def _read_value(text: str, measure: str) -> Value:
    """Convert the text of an option's value to a number, a truth value, gains or a word.

    ``{1:0.5, 2:1}`` are gains of grades; quotes around a word are removed. Raises InputError, which
    quotes the name of the measure, if the text is none of these.
    """
    if INTEGER.fullmatch(text):
        return int(text)
    if DECIMAL.fullmatch(text):
        return float(text)
    if text in SWITCHES:
        return SWITCHES[text]
    if text.startswith("{") and text.endswith("}"):
        entries = [entry for entry in text[1:-1].split(",") if entry.strip()]
        return dict(_read_gain(entry, measure) for entry in entries)
    quote = text[:1]
    is_quoted = quote in ("'", '"') and text[-1:] == quote
    if is_quoted and WORD.fullmatch(text[1:-1]):
        return text[1:-1]
    if WORD.fullmatch(text):
        return text
    raise InputError(f"{measure!r}: {text!r} is no number, no word and no {{grade:gain, ...}}.")


def _read_gain(text: str, measure: str) -> tuple[int, float]:
    """Convert the text ``grade:gain`` to the grade and its gain.

    Raises InputError, which quotes the name of the measure, if it is not of this form.
    """
    grade, _, gain = (part.strip() for part in text.partition(":"))
    if not INTEGER.fullmatch(grade) or not DECIMAL.fullmatch(gain):
        raise InputError(f"{measure!r}: {text.strip()!r} is no grade:gain.")
    gain_number = int(gain) if INTEGER.fullmatch(gain) else float(gain)
    return int(grade), gain_number


def print_value(value: Value) -> str:
    """Write the value of an option as in the name of a measure.

    Gains are sorted by grade; a float that is a whole number has no decimals.
    """
    if isinstance(value, dict):
        entries = (f"{key}:{print_value(gain)}" for key, gain in sorted(value.items()))
        return "{" + ",".join(entries) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)
