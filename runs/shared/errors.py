"""Errors and warnings about a user's input, and the parts of their sentences."""

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

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class InputError(ValueError):
    """Input or an argument breaks a rule; the message names the thing, the rule and the value.

    Examples
    --------
    >>> import harness
    >>> try:
    ...     harness.nDCG @ 0
    ... except harness.InputError as error:
    ...     print(error)
    nDCG: the cut-off must be a whole number from 1 to 10,000,000, got 0.
    """

    __module__ = "runs"

    @classmethod
    def at_line(
        cls, path: str | PathLike[str], line: int, finding: str, *, unit: str = "line"
    ) -> InputError:
        """Put a file and a line before a finding, as in "als.run, line 12: it has two fields.".

        ``line`` is the number of the physical line, or of another unit such as "row", from 1.
        """
        return cls(f"{path}, {unit} {line}: {finding}")


@contextmanager
def prefixed_errors(place: object) -> Iterator[None]:
    """Put a place, such as a path, and a colon before the message of an InputError raised within.

    The error is raised again as an InputError; other exceptions pass unchanged.
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


class ErrorCollector:
    """Collects what is wrong with several names, and refuses all of it in one error."""

    def __init__(self) -> None:
        self._sentences: list[str] = []

    def add(self, sentence: str) -> None:
        """Collect a sentence, unless it is collected already."""
        if sentence not in self._sentences:
            self._sentences.append(sentence)

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Collect the message of an InputError raised within; the code behind goes on."""
        try:
            yield
        except InputError as error:
            self.add(str(error))

    def raise_any(self) -> None:
        """Raise an InputError with all collected sentences; do nothing if there is none.

        Each sentence but the first gets an upper-case letter in front.
        """
        if self._sentences:
            first, *later = self._sentences
            capitalised = [sentence[:1].upper() + sentence[1:] for sentence in later]
            raise InputError(" ".join([first, *capitalised]))


@contextmanager
def as_input_error(sentence: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn exceptions of these types that are raised within into an InputError.

    Its message is the sentence, without a full stop, and the message of the exception in brackets.
    An InputError passes unchanged, as do exceptions of other types.
    """
    try:
        yield
    except InputError:
        raise
    except errors as error:
        raise InputError(f"{sentence} ({error}).") from error


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
    first_word, space, further_words = noun.partition(" ")
    if count != 1 and first_word.endswith("y"):
        first_word = f"{first_word[:-1]}ies"
    elif count != 1:
        first_word = f"{first_word}s"
    return f"{count:,} {first_word}{space}{further_words}"


def with_article(noun: str) -> str:
    """Put the indefinite article before a noun, by its first letter.

    Examples
    --------
    >>> with_article("analysis"), with_article("metric")
    ('an analysis', 'a metric')
    """
    article = "an" if noun[:1].lower() in "aeio" else "a"
    return f"{article} {noun}"


def suggestion(name: str, names: Sequence[str]) -> str:
    """Suggest the most similar of ``names`` for an unknown ``name``, or list all of them.

    The result is a clause: "did you mean 'nDCG'?", or "there are P, nDCG." if none is similar. Case
    does not count.
    """
    by_folded_name = {known_name.casefold(): known_name for known_name in names}
    close_names = get_close_matches(name.casefold(), by_folded_name, n=1)
    if close_names:
        return f"did you mean {by_folded_name[close_names[0]]!r}?"
    return f"there are {', '.join(names)}."


def require_known(prefix: str, names: Iterable[Any], known_names: Sequence[str]) -> None:
    """Raise one InputError for all of ``names`` that are not among ``known_names``; else nothing.

    The sentence of each is the prefix, such as "there is no preset", the name, and a suggestion.
    """
    errors = ErrorCollector()
    for name in names:
        if name not in known_names:
            errors.add(f"{prefix} {name!r}; {suggestion(str(name), known_names)}")
    errors.raise_any()


def require_choice(argument: str, value: str, choices: Sequence[str]) -> None:
    """Raise InputError if the value of an argument is none of the choices.

    ``argument`` is the name of the argument in the message, which suggests a similar choice.
    """
    if value not in choices:
        close_choices = get_close_matches(value, choices, n=1)
        hint = f"; did you mean {close_choices[0]!r}?" if close_choices else "."
        raise InputError(f"`{argument}` must be one of {', '.join(choices)}, got {value!r}{hint}")


def refuse_unknown_keywords(
    function: Callable[Parameters, Returned],
) -> Callable[Parameters, Returned]:
    """Decorate a function so that unknown keywords raise an InputError, not a TypeError.

    The error suggests a similar keyword.
    """
    parameter_names = list(signature(function).parameters)

    @wraps(function)
    def call(*args: Parameters.args, **keywords: Parameters.kwargs) -> Returned:
        require_known(f"{function.__name__}() has no argument", keywords, parameter_names)
        return function(*args, **keywords)

    return call


@contextmanager
def needed_by(subject: str, *, extra: str) -> Iterator[None]:
    """Turn a ModuleNotFoundError raised within into an InputError that says how to install it.

    ``subject`` is what needs the package, such as "`harness tune`"; ``extra`` is the extra of the
    harness that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        remedy = how_to_install(extra)
        raise InputError(f"{subject} needs the package {package!r}; {remedy}") from error


def how_to_install(extra: str) -> str:
    """Word how to install an extra of the harness, in a clause that ends with a full stop.

    ``extra`` is its name in pyproject.toml. uv and pipx make their environments anew, so that the
    extra `recommenders`, which is installed already, is named, too.

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
    """Word how to install a package that no extra has, in a clause that ends with a full stop."""
    return (
        f"install it with `pip install {package}`; if uv or pipx installed the harness, with `uv "
        f"tool install --force --with {package} '.[recommenders]'` in the folder of its code, or "
        f"`pipx inject metric-robustness-harness {package}`."
    )


class NearTies(InputWarning):
    """Neighbours in the lists of a run file whose scores are ties in single precision alone.

    ``path``: the run file; ``count``: how many neighbours.
    """

    def __init__(self, path: Path | str, count: int) -> None:
        """Word the warning for a run file with so many near-ties."""
        self.path = path
        self.count = count
        super().__init__(f"{path}: {_near_ties(count)}")


def warning_sentences(caught: Iterable[WarningMessage]) -> list[str]:
    """List the sentences of warnings that were caught, each once and in their order.

    Warnings of near-ties (scores that are equal in single precision only) of several run files
    become one sentence, in the place of the first.
    """
    messages = [warning.message for warning in caught]
    near_ties = [message for message in messages if isinstance(message, NearTies)]
    sentences = [
        _joined(near_ties) if isinstance(message, NearTies) else str(message)
        for message in messages
    ]
    return list(dict.fromkeys(sentences))


def _joined(near_ties: list[NearTies]) -> str:
    """Word the warnings of near-ties of run files, at least one, in one sentence with their total.

    Near-ties are pairs of scores that are equal in single precision only.
    """
    first, *later = near_ties
    if not later:
        return str(first)
    total = sum(warning.count for warning in near_ties)
    return f"{len(near_ties)} run files (the first is {first.path}): {_near_ties(total)}"


def _near_ties(count: int) -> str:
    return (
        f"{count} neighbours in the lists have scores that differ in double precision only; "
        "trec_eval 9 and pytrec_eval rank them as ties."
    )


def warn(sentence: str) -> None:
    """Warn the caller of the caller of something remarkable about the input."""
    warnings.warn(sentence, InputWarning, stacklevel=3)
