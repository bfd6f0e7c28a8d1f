"""The error that says what is wrong with a user's input, and warnings about it, each given once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from warnings import WarningMessage

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


class InputError(ValueError):
    """Input or an argument breaks a rule; the message names the thing, the rule and the value."""

    __module__ = "runs"

    @classmethod
    def at_line(
        cls, path: str | PathLike[str], line: int, finding: str, *, unit: str = "line"
    ) -> InputError:
        """Name the file and its physical line, or row, from 1 before the finding."""
        return cls(f"{path}, {unit} {line}: {finding}")


@contextmanager
def prefixed_errors(place: object) -> Iterator[None]:
    """Put a place, such as a file, before what is found wrong there."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


class ErrorCollector:
    """What is wrong with several names, told in one error."""

    def __init__(self) -> None:
        self._sentences: list[str] = []

    def add(self, finding: str) -> None:
        """Note a finding, each once."""
        if finding not in self._sentences:
            self._sentences.append(finding)

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Note what is found within, and go on."""
        try:
            yield
        except InputError as error:
            self.add(str(error))

    def raise_any(self) -> None:
        """Refuse the input if anything was found."""
        if self._sentences:
            first, *others = self._sentences
            raise InputError(" ".join([first, *(text[:1].upper() + text[1:] for text in others)]))


@contextmanager
def as_input_error(finding: str, *errors: type[Exception]) -> Iterator[None]:
    """Say what is wrong with the input where one of these errors occurs, which tells why."""
    try:
        yield
    except InputError:
        raise
    except errors as error:
        raise InputError(f"{finding} ({error}).") from error


class InputWarning(UserWarning):
    """Input that can be used, but may not be what the user meant."""

    __module__ = "runs"


def counted(count: int, noun: str) -> str:
    """Print a count before its noun, in the plural unless it is 1.

    Of several words the first is the noun: "pair of systems".

    Examples
    --------
    >>> counted(1, "pair of systems"), counted(1200, "pair of systems"), counted(2, "family")
    ('1 pair of systems', '1,200 pairs of systems', '2 families')
    """
    first, space, others = noun.partition(" ")
    if count != 1:
        first = f"{first[:-1]}ies" if first.endswith("y") else f"{first}s"
    return f"{count:,} {first}{space}{others}"


def with_article(noun: str) -> str:
    """Put the indefinite article before a noun.

    Examples
    --------
    >>> with_article("analysis"), with_article("metric")
    ('an analysis', 'a metric')
    """
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


def suggestion(name: str, names: Sequence[str]) -> str:
    """Say which name may have been meant, or which there are."""
    folded = {known.casefold(): known for known in names}
    close = get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    return f"there are {', '.join(names)}."


def require_known(what: str, names: Iterable[Any], known: Sequence[str]) -> None:
    """Refuse names that are not known, each after what it is not, and name a similar one."""
    errors = ErrorCollector()
    for name in names:
        if name not in known:
            errors.add(f"{what} {name!r}; {suggestion(str(name), known)}")
    errors.raise_any()


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse what is none of the choices."""
    if value not in choices:
        close = get_close_matches(value, choices, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise InputError(f"`{name}` must be one of {', '.join(choices)}, got {value!r}{hint}")


def refuse_unknown_keywords(function: Callable[Asked, Answer]) -> Callable[Asked, Answer]:
    """Refuse keywords that a function does not have in a sentence that names a similar one."""
    known = signature(function).parameters

    @wraps(function)
    def call(*args: Asked.args, **keywords: Asked.kwargs) -> Answer:
        require_known(f"{function.__name__}() has no argument", keywords, [*known])
        return function(*args, **keywords)

    return call


@contextmanager
def needed_by(subject: str, *, extra: str) -> Iterator[None]:
    """Say which package is missing, and how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        remedy = how_to_install(extra)
        raise InputError(f"{subject} needs the package {package!r}; {remedy}") from error


def how_to_install(extra: str) -> str:
    """Say how to install an extra, in a clause.

    Tools that keep programs in environments of their own make these anew, so that what is there
    already is named, too.

    Examples
    --------
    >>> "`pip install '.[tune]'`" in how_to_install("tune")
    True
    """
    extras = ",".join(dict.fromkeys(["recommenders", extra]))
    return (
        f"in the folder of the harness's code, install it with `pip install '.[{extra}]'`; if uv "
        f"or pipx installed the harness, with `uv tool install --force '.[{extras}]'` or `pipx "
        f"install --force '.[{extras}]'`."
    )


def how_to_add(package: str) -> str:
    """Say how to install a package that no extra has, in a clause."""
    return (
        f"install it with `pip install {package}`; if uv or pipx installed the harness, with `uv "
        f"tool install --force --with {package} '.[recommenders]'` in the folder of its code, or "
        f"`pipx inject metric-robustness-harness {package}`."
    )


class NearTies(InputWarning):
    """Neighbours in the lists of a run file whose scores are ties in single precision alone."""

    def __init__(self, path: Path | str, count: int) -> None:
        self.path, self.count = path, count
        super().__init__(f"{path}: {_near_ties(count)}")


def warning_sentences(caught: Iterable[WarningMessage]) -> list[str]:
    """Give what was warned of, each sentence once, near-ties of all run files in one."""
    found = [warning.message for warning in caught]
    near = [each for each in found if isinstance(each, NearTies)]
    told = [_joined(near) if isinstance(each, NearTies) else str(each) for each in found]
    return list(dict.fromkeys(told))


def _joined(near: list[NearTies]) -> str:
    first, *others = near
    if not others:
        return str(first)
    total = sum(each.count for each in near)
    return f"{len(near)} run files (the first is {first.path}): {_near_ties(total)}"


def _near_ties(count: int) -> str:
    return (
        f"{count} neighbours in the lists have scores that differ in double precision only; "
        "trec_eval 9 and pytrec_eval rank them as ties."
    )


def warn(finding: str) -> None:
    """Warn of what is remarkable about the input."""
    warnings.warn(finding, InputWarning, stacklevel=3)
