"""Names of measures: ``P(rel=4)@10`` says metric, options and depth, and reads back the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from runs import InputError
from runs.shared.arrays import DEEPEST_RANK
from runs.shared.errors import prefixed_errors

Value: TypeAlias = int | float | str | dict[int, float]

NAME = re.compile(r"((?:ir_measures:)?[A-Za-z][A-Za-z0-9_.-]*)(?:\((.*)\))?", re.DOTALL)
INTEGER = re.compile(r"[+-]?[0-9]+")
DECIMAL = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][+-]?[0-9]+)?")
SWITCHES = {"true": True, "false": False}
WORD = re.compile(r"[A-Za-z0-9_.+-]+")
GRAMMAR = "a metric is written NAME, NAME@10, NAME@all or NAME(option=value, ...)@10"
MOST_DIGITS = 18
"""Digits of a number that is read."""

WHOLE = "all"
"""What stands behind the ``@`` for whole lists."""

BECOMES: Mapping[str, str] = {
    "bpref": "equals Recall",
    "infAP": "is Recall less at most .5 / (number of relevant items)",
    "infAP_trec": "equals AP",
    "AUC": "is 0",
}
"""Values of metrics for a user without judged non-relevant items."""


@dataclass(frozen=True)
class ParsedName:
    """A name taken apart: the metric, what stands in brackets, and behind the ``@``.

    Without an ``@``, as for whole lists, there is no cut-off; ``is_whole`` tells which it is.
    """

    name: str
    options: Mapping[str, Value]
    cutoff: int | None
    is_whole: bool = False

    @property
    def label(self) -> str:
        """The metric with its options."""
        return print_name(self.name, self.options)

    @property
    def has_depth(self) -> bool:
        """Whether the name says how deep is measured."""
        return self.is_whole or self.cutoff is not None


def split_depth(text: str) -> tuple[str, int | None, bool]:
    """Part a name from its depth: the cut-off, None without one, and whether it is ``@all``."""
    name, sign, depth = text.strip().partition("@")
    if not sign or depth == WHOLE:
        return name, None, depth == WHOLE
    with prefixed_errors(f"{text!r}: behind the @ stands a cut-off, or {WHOLE!r} for whole lists"):
        return name, read_cutoff(depth), False


def read_cutoff(text: str) -> int:
    """Read a cut-off.

    >>> read_cutoff("10")
    10
    """
    is_whole = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
    if not (is_whole and 1 <= int(text) <= DEEPEST_RANK):
        raise InputError(
            f"a cut-off must be a whole number from 1 to {DEEPEST_RANK:,}, got {text!r}."
        )
    return int(text)


def parse_name(text: str) -> ParsedName:
    """Take a name apart."""
    whole_name, cutoff, is_whole = split_depth(text)
    found = NAME.fullmatch(whole_name)
    if found is None:
        raise InputError(f"{text!r} is no metric's name: {GRAMMAR}.")
    name, inside = found.groups()
    options: dict[str, Value] = {}
    outside_braces = re.split(r",(?![^{]*\})", inside or "")
    for part in filter(str.strip, outside_braces):
        key, equals, value = part.partition("=")
        if not equals or not key.strip().isidentifier():
            raise InputError(f"{text!r}: {part.strip()!r} is no option=value; {GRAMMAR}.")
        if key.strip() in options:
            raise InputError(f"{text!r}: the option {key.strip()!r} is duplicated.")
        options[key.strip()] = _value(value.strip(), text)
    return ParsedName(name, options, cutoff, is_whole)


def print_name(name: str, options: Mapping[str, Value], cutoff: int | None = None) -> str:
    """Write a metric's name; what it prints reads back the same."""
    inside = ",".join(f"{key}={print_value(value)}" for key, value in options.items())
    brackets = f"({inside})" if inside else ""
    return f"{name}{brackets}" + ("" if cutoff is None else f"@{cutoff}")


def _value(text: str, whole: str) -> Value:
    if INTEGER.fullmatch(text):
        return int(text)
    if DECIMAL.fullmatch(text):
        return float(text)
    if text in SWITCHES:
        return SWITCHES[text]
    if text.startswith("{") and text.endswith("}"):
        return dict(_entry(part, whole) for part in text[1:-1].split(",") if part.strip())
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and WORD.fullmatch(text[1:-1]):
        return text[1:-1]
    if WORD.fullmatch(text):
        return text
    raise InputError(f"{whole!r}: {text!r} is no number, no word and no {{grade:gain, ...}}.")


def _entry(part: str, whole: str) -> tuple[int, float]:
    key, _, value = (piece.strip() for piece in part.partition(":"))
    if not INTEGER.fullmatch(key) or not DECIMAL.fullmatch(value):
        raise InputError(f"{whole!r}: {part.strip()!r} is no grade:gain.")
    return int(key), int(value) if INTEGER.fullmatch(value) else float(value)


def print_value(value: Value) -> str:
    """Write the value of an option, as in a name."""
    if isinstance(value, dict):
        entries = (f"{key}:{print_value(gain)}" for key, gain in sorted(value.items()))
        return "{" + ",".join(entries) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)
