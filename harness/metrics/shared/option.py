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
"""The values that an option takes: in words, and as a test of a value."""

PLAIN_TYPES: Mapping[Any, Rule] = {
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
"""Bounds of `annotated_types`: their attribute that holds the number, the words, the test."""


@dataclass(frozen=True)
class Option:
    """An option of a metric, as data.

    The name is the keyword of the metric's function; a default is not printed in names of metrics.
    ``allowed_values`` describes the values in words, ``description`` what the option does;
    ``accepts`` tests a value.
    """

    name: str
    default: Value | None
    allowed_values: str
    description: str
    accepts: Callable[[Any], bool]

    @property
    def help(self) -> str:
        """One line of help: allowed values, default and description."""
        default = "" if self.default is None else f"; {print_value(self.default)} by default"
        return f"{self.allowed_values}{default}. {self.description}".rstrip(". ")


def options_of(function: Callable[..., Any]) -> tuple[Option, ...]:
    """Read the options of a metric's function: its keyword-only parameters but for the cut-off.

    The annotation defines the allowed values, or without one the type of the default. The
    description is that of the parameter in the docstring.

    Raises
    ------
    InputError
        If an option has no default, a type that options cannot have, or a default that is not
        allowed.

    Examples
    --------
    >>> def patient(judged, *, cutoff=None, p: Annotated[float, Gt(0), Lt(1)] = 0.9): ...
    >>> [(option.name, option.help) for option in options_of(patient)]
    [('p', 'a number, above 0 and below 1; 0.9 by default')]
    """
    doc = inspect.getdoc(function) or ""
    options = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name != "cutoff":
            description = _parameter_description(doc, parameter.name)
            options.append(_option(function, parameter, description))
    return tuple(options)


def _option(function: Callable[..., Any], parameter: inspect.Parameter, description: str) -> Option:
    """Make the option of a keyword-only parameter of a metric's function.

    Raises InputError if the parameter has no default, its type is none that options can have, or
    the default is not among the allowed values.
    """
    subject = f"the keyword {parameter.name!r} of {function.__name__}"
    if parameter.default is parameter.empty:
        raise InputError(f"{subject} is an option, and needs a default.")
    try:
        allowed_values, accepts = _rule_of(_annotation(function, parameter))
    except (NameError, LookupError, TypeError, ValueError):
        raise InputError(
            f"{subject} is an option, whose type must be int, float, bool, str, a Literal of words "
            "or Mapping[int, float]; numbers may have bounds: Annotated[float, Gt(0)]."
        ) from None
    if parameter.default is not None and not accepts(parameter.default):
        raise InputError(
            f"{subject} must be {allowed_values}, got the default {parameter.default!r}."
        )
    return Option(parameter.name, parameter.default, allowed_values, description, accepts)


def _annotation(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Return the annotated type of a parameter, or the type of its default if it has none.

    An annotation that is a text is evaluated, this one alone: others may be of names that are
    imported for type checkers only.
    """
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return type(parameter.default)
    if isinstance(annotation, str):
        return eval(annotation, inspect.unwrap(function).__globals__)
    return annotation


def _rule_of(annotation: Any) -> Rule:
    """Describe the values that an annotated type allows, and make the test of a value.

    Returns the description in words, and a function that is true for an allowed value. Raises
    KeyError, TypeError or ValueError for a type that options cannot have.

    Examples
    --------
    >>> _rule_of(Literal["up", "nearest"] | Mapping[int, float])[0]
    'up, nearest or {grade:gain, ...}'
    """
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        return _bounded_rule(_rule_of(arguments[0]), arguments[1:])
    if origin in (Literal, Union, UnionType):
        return _any_rule(list(_alternatives(annotation)))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        grade_type, gain_type = arguments
        return _mapping_rule(grade=_rule_of(grade_type), gain=_rule_of(gain_type))
    return PLAIN_TYPES[annotation]


def _alternatives(annotation: Any) -> Iterator[Rule]:
    """Yield the rule of every word of a Literal, or of every type of a Union; None is left out.

    A rule is a description in words and a test of a value. Raises KeyError, TypeError or ValueError
    for a type that options cannot have.
    """
    for argument in get_args(annotation):
        if get_origin(annotation) is Literal:
            yield str(argument), partial(eq, argument)
        elif get_origin(argument) is Literal:
            yield from _alternatives(argument)
        elif argument is not NoneType:
            yield _rule_of(argument)


def _any_rule(rules: list[Rule]) -> Rule:
    """Join rules, at least one, to a rule that accepts a value if any of them does.

    A rule is a description in words and a test of a value, which is true if it is accepted.
    """
    *descriptions, last = [description for description, _ in rules]
    joined = f"{', '.join(descriptions)} or {last}" if descriptions else last
    tests = [accepts for _, accepts in rules]
    return joined, lambda value: any(accepts(value) for accepts in tests)


def _mapping_rule(*, grade: Rule, gain: Rule) -> Rule:
    """Make the rule of a mapping of grades to gains, which may not be empty.

    A rule is a description in words and a test of a value; ``grade`` and ``gain`` are those of the
    keys and values.
    """
    _, accepts_grade = grade
    _, accepts_gain = gain

    def accepts(value: Any) -> bool:
        if not isinstance(value, Mapping) or len(value) == 0:
            return False
        return all(accepts_grade(k) and accepts_gain(v) for k, v in value.items())

    return "{grade:gain, ...}", accepts


def _bounded_rule(rule: Rule, bounds: tuple[Any, ...]) -> Rule:
    """Restrict the rule of a number by bounds of `annotated_types`, such as ``Gt(0)``.

    A rule is a description in words and a test of a value. The result accepts what the rule and all
    bounds accept. Raises KeyError for any other kind of bound.
    """
    description, accepts = rule
    descriptions = []
    tests: list[Callable[[Any], bool]] = []
    for bound in bounds:
        attribute, comparison, compare = BOUNDS[type(bound)]
        limit = getattr(bound, attribute)
        descriptions.append(f"{comparison} {limit:g}")
        tests.append(partial(_compare_with, compare, limit))
    bounded_description = f"{description}, {' and '.join(descriptions)}"
    return bounded_description, lambda value: accepts(value) and all(test(value) for test in tests)


def _compare_with(compare: Callable[[Any, Any], bool], limit: float, value: Any) -> bool:
    return compare(value, limit)


FORMULA = re.compile(r"\.\. math::\s*(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
MARKED_TEXT = re.compile(r":math:`([^`]*)`|``([^`]*)``|\*([^*]+)\*")
UPRIGHT = re.compile(r"\\mathrm\{(\w+)\}")
PARAMETERS = "\nParameters\n"
SECTIONS = re.compile(r"\n(?:Parameters|Returns|Notes|References|Examples)\n-+\n")


def formulas_in(doc: str) -> list[str]:
    r"""Return the formulas of a docstring, as TeX in one line each."""
    return [" ".join(tex.split()) for tex in FORMULA.findall(doc)]


def paragraphs_in(doc: str) -> list[str]:
    r"""Return the paragraphs of a docstring after the first, up to its first section.

    They are plain text in one line each; formulas are left out.
    """
    before_sections = SECTIONS.split(doc)[0]
    paragraphs = FORMULA.sub("\n\n", before_sections).split("\n\n")
    texts = [plain_text(paragraph) for paragraph in paragraphs[1:]]
    return [text for text in texts if text]


def _parameter_description(doc: str, name: str) -> str:
    r"""Return the description of a parameter in a docstring, as one line; "" if it has none."""
    _, _, parameters = doc.partition(PARAMETERS)
    match = re.search(rf"^{name}\b.*\n((?: +.+\n?)+)", parameters, re.MULTILINE)
    return plain_text(match[1]) if match else ""


def plain_text(text: str) -> str:
    """Remove line breaks and the marks of formulas, code and emphasis from a text in reST."""
    in_one_line = " ".join(text.split())
    unmarked = MARKED_TEXT.sub(lambda match: match[1] or match[2] or match[3], in_one_line)
    return UPRIGHT.sub(r"\1", unmarked)
