"""Options of metrics: keywords with a default, and what a docstring says of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import eq
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt

from harness.metrics.shared.names import Value, print_value
from runs import InputError

Rule: TypeAlias = tuple[str, Callable[[Any], bool]]
"""Which values an option takes: in words, and as a test."""

PLAIN: Mapping[Any, Rule] = {
    bool: ("true or false", lambda value: type(value) is bool),
    int: ("a whole number", lambda value: isinstance(value, int) and type(value) is not bool),
    float: ("a number", lambda value: isinstance(value, int | float) and type(value) is not bool),
    str: ("a word", lambda value: type(value) is str),
}

BOUNDS: Mapping[type, tuple[str, str, Callable[[Any, Any], bool]]] = {
    Gt: ("gt", "above", lambda value, bound: value > bound),
    Ge: ("ge", "at least", lambda value, bound: value >= bound),
    Lt: ("lt", "below", lambda value, bound: value < bound),
    Le: ("le", "at most", lambda value, bound: value <= bound),
}
"""Bounds of `annotated_types`: what they call the number, the words, the test."""


@dataclass(frozen=True)
class Option:
    """An option of a metric, as data.

    The name is the keyword of the definition; the default is not printed in names of metrics.
    ``values`` say in words which values it takes, and ``accepts`` tells whether one will do.
    """

    name: str
    default: Value | None
    values: str
    text: str
    accepts: Callable[[Any], bool]

    @property
    def help(self) -> str:
        """Everything in a line: values, default, what it does."""
        default = "" if self.default is None else f"; {print_value(self.default)} by default"
        return f"{self.values}{default}. {self.text}".rstrip(". ")


def options_of(function: Callable[..., Any]) -> tuple[Option, ...]:
    """Give the options of a definition: its keyword-only parameters, but for the cut-off.

    The annotation says which values an option takes, or else the type of the default does; the
    docstring, among the parameters, what it does.

    Examples
    --------
    >>> def patient(judged, *, cutoff=None, p: Annotated[float, Gt(0), Lt(1)] = 0.9): ...
    >>> [(option.name, option.help) for option in options_of(patient)]
    [('p', 'a number, above 0 and below 1; 0.9 by default')]
    """
    doc = inspect.getdoc(function) or ""
    return tuple(
        _option(function, parameter, _parameter_in(doc, parameter.name))
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name != "cutoff"
    )


def _option(function: Callable[..., Any], parameter: inspect.Parameter, text: str) -> Option:
    place = f"the keyword {parameter.name!r} of {function.__name__}"
    if parameter.default is parameter.empty:
        raise InputError(f"{place} is an option, and needs a default.")
    try:
        values, accepts = _rule_of(_annotation(function, parameter))
    except (NameError, LookupError, TypeError):
        raise InputError(
            f"{place} is an option, whose type must be int, float, bool, str, a Literal of words "
            "or Mapping[int, float]; numbers may have bounds: Annotated[float, Gt(0)]."
        ) from None
    if parameter.default is not None and not accepts(parameter.default):
        raise InputError(f"{place} must be {values}, got the default {parameter.default!r}.")
    return Option(parameter.name, parameter.default, values, text, accepts)


def _annotation(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Resolve one annotation alone: others may be imported for type checkers only."""
    hint = parameter.annotation
    if hint is parameter.empty:
        return type(parameter.default)
    return eval(hint, inspect.unwrap(function).__globals__) if isinstance(hint, str) else hint


def _rule_of(hint: Any) -> Rule:
    """Say which values an annotation allows.

    Examples
    --------
    >>> _rule_of(Literal["up", "nearest"] | Mapping[int, float])[0]
    'up, nearest or {grade:gain, ...}'
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bounded(_rule_of(parts[0]), parts[1:])
    if origin in (Literal, Union, UnionType):
        return _either(list(_alternatives(hint)))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(*map(_rule_of, parts))
    return PLAIN[hint]


def _alternatives(hint: Any) -> Iterator[Rule]:
    for part in get_args(hint):
        if get_origin(hint) is Literal:
            yield str(part), partial(eq, part)
        elif get_origin(part) is Literal:
            yield from _alternatives(part)
        elif part is not NoneType:
            yield _rule_of(part)


def _either(rules: list[Rule]) -> Rule:
    *words, last = [words for words, _ in rules]
    listed = f"{', '.join(words)} or {last}" if words else last
    return listed, lambda value: any(accepts(value) for _, accepts in rules)


def _mapping(key: Rule, gain: Rule) -> Rule:
    def accepts(value: Any) -> bool:
        is_map = isinstance(value, Mapping) and len(value) > 0
        return is_map and all(key[1](k) and gain[1](v) for k, v in value.items())

    return "{grade:gain, ...}", accepts


def _bounded(rule: Rule, bounds: tuple[Any, ...]) -> Rule:
    words, accepts = rule
    limits = [(*BOUNDS[type(b)][1:], getattr(b, BOUNDS[type(b)][0])) for b in bounds]
    listed = " and ".join(f"{word} {limit:g}" for word, _, limit in limits)
    return (
        f"{words}, {listed}",
        lambda value: accepts(value) and all(holds(value, limit) for _, holds, limit in limits),
    )


FORMULA = re.compile(r"\.\. math::\s*(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
ROLE = re.compile(r":math:`([^`]*)`|``([^`]*)``|\*([^*]+)\*")
UPRIGHT = re.compile(r"\\mathrm\{(\w+)\}")
PARAMETERS = "\nParameters\n"
SECTIONS = re.compile(r"\n(?:Parameters|Returns|Notes|References|Examples)\n-+\n")


def formulas_in(doc: str) -> list[str]:
    r"""Give the formulas, as TeX."""
    return [" ".join(tex.split()) for tex in FORMULA.findall(doc)]


def words_in(doc: str) -> list[str]:
    r"""Give the paragraphs between the first and the first section, formulas aside."""
    paragraphs = FORMULA.sub("\n\n", SECTIONS.split(doc)[0]).split("\n\n")[1:]
    return [words for words in map(plain, paragraphs) if words]


def _parameter_in(doc: str, name: str) -> str:
    r"""Give what is said of a parameter; "" if nothing is."""
    told = re.search(rf"^{name}\b.*\n((?: +.+\n?)+)", doc.partition(PARAMETERS)[2], re.MULTILINE)
    return plain(told[1]) if told else ""


def plain(text: str) -> str:
    """Take marks away, and line breaks."""
    unmarked = ROLE.sub(lambda m: m[1] or m[2] or m[3], " ".join(text.split()))
    return UPRIGHT.sub(r"\1", unmarked)
