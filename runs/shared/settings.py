"""Settings that a user writes: sections of a file, and types that check their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo

from runs.shared.arrays import DEEPEST_RANK
from runs.shared.errors import InputError, suggestion

ModelT = TypeVar("ModelT", bound=BaseModel)

CHANGES_NO_NUMBER = True
"""Checking settings changes no number: the versions of packages that this module uses do not."""


class Section(BaseModel):
    """A table of a file of settings: frozen, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def with_absolute_paths(self, to_absolute: Callable[[Path], Path]) -> Self:
        """Make all paths absolute, also those in tuples and in the sections within.

        ``to_absolute`` makes one path absolute. A new section is returned.
        """

        def convert(value: Any) -> Any:
            """Make a path absolute, or the paths in a section or tuple; keep other values."""
            match value:
                case Path():
                    return to_absolute(value)
                case Section():
                    return value.with_absolute_paths(to_absolute)
                case tuple():
                    return tuple(map(convert, value))
            return value

        changed_values = {}
        for name, value in self:
            converted = convert(value)
            if converted != value:
                changed_values[name] = converted
        return self.model_copy(update=changed_values)


def check_settings(owner: str, model: type[ModelT], values: Mapping[str, Any]) -> ModelT:
    """Check the values of settings, and return them as an instance of the pydantic model.

    Settings without a value have their defaults. ``owner`` is what messages call the owner of the
    settings, such as "system 'ease'". Raises InputError for the first setting that does not exist
    or breaks a rule.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        fault = error.errors()[0]
    setting = ".".join(map(str, fault["loc"]))
    setting_names = list(model.model_fields)
    if fault["type"] == "extra_forbidden":
        hint = suggestion(setting, setting_names) if setting_names else "it has none."
        raise InputError(f"{owner} has no setting {setting!r}; {hint}")
    subject = f"{owner}: the setting {setting!r}" if setting else owner
    raise InputError(broken_rule(subject, fault))


WORDING = {
    r"^[A-Z]\w+ should ": "must ",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "a valid tuple": "a list",
    "a valid dictionary": "a table of names and values",
    r"match pattern '\^\[A-Za-z0-9\].*'": (
        "begin with a letter or digit, and have letters, digits, '.', '_' and '-' only"
    ),
    r"^Input is not a valid path for .*": "must be a path",
    " after validation, not .*|, unable to parse .*": "",
}
"""Regular expressions for words in the messages of pydantic, and what replaces them."""


def shortened(value: Any, *, length: int = 200) -> str:
    """Write a value as Python prints it (``repr``), cut off with dots after ``length`` characters.

    A value that is nested too deeply to be printed is described in words.
    """
    try:
        text = repr(value[:length] if isinstance(value, str) else value)
    except RecursionError:
        return "a value that is nested too deeply"
    return text if len(text) <= length else f"{text[:length]}..."


def broken_rule(subject: str, fault: Mapping[str, Any]) -> str:
    """Word a fault that pydantic found as a sentence: subject, rule and value.

    Parameters
    ----------
    subject
        What breaks the rule, such as "`n`"; may be empty.
    fault
        One of the ``errors()`` of a ``ValidationError``.

    Returns
    -------
    A sentence such as "`n` must be at least 1, got 0." The value is left out where the rule is a
    validator's own ValueError, whose message stays as it is.
    """
    rule = fault["msg"].removeprefix("Value error, ").removesuffix(".")
    if fault["type"] != "value_error":
        for pattern, words in WORDING.items():
            rule = re.sub(pattern, words, rule)
        lower_case = f"{rule[0].lower()}{rule[1:]}"
        rule = f"{lower_case}, got {shortened(fault['input'])}"
    end = "" if rule.endswith("?") else "."
    if not subject:
        return f"{rule}{end}"
    separator = " " if rule.startswith("must ") else ": "
    return f"{subject}{separator}{rule}{end}"


def without_repetition(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse, with ValueError, values of which one is duplicated; return them as they are."""
    repeated = {value for value in values if values.count(value) > 1}
    if repeated:
        raise ValueError(f"{min(repeated)!r} is duplicated")
    return values


def not_above(name: str) -> AfterValidator:
    """Make a validator that refuses a number above the value of another setting.

    That setting, called ``name``, must be declared before. If its own value is refused, the number
    is accepted.
    """

    def check(number: int, validation: ValidationInfo) -> int:
        """Refuse, with ValueError, a number above the other setting; return it."""
        limit = validation.data.get(name, number)
        if number > limit:
            raise ValueError(f"must be at most {limit}, got {number}")
        return number

    return AfterValidator(check)


def accepted_by(reader: Callable[[Any], Any]) -> AfterValidator:
    """Make a validator that refuses values that a reader refuses with an `InputError`.

    The values, such as names, stay as they are; what the reader returns is not used.
    """

    def check(names: Any) -> Any:
        """Refuse, with ValueError, what the reader refuses; return it as it is."""
        try:
            reader(names)
        except InputError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return names

    return AfterValidator(check)


Whole = Annotated[int, Field(strict=True)]
"""A whole number."""

Repeats = Annotated[int, Field(strict=True, le=100_000)]
"""A number of random samples, replicates or repeats: results are kept for each."""

Permutations = Annotated[int, Field(strict=True, le=1_000_000)]
"""A number of random permutations: a statistic is kept for each."""

Depth = Annotated[int, Field(strict=True, ge=1, le=DEEPEST_RANK)]
"""A cut-off, or the depth of a ranking."""

DISTINCT = AfterValidator(without_repetition)
"""Refuses a value that is given twice."""

Names = Annotated[tuple[str, ...], DISTINCT]
Sizes = Annotated[tuple[Annotated[int, Field(strict=True, ge=1)], ...], DISTINCT]
Cutoffs = Annotated[tuple[Depth, ...], DISTINCT]
Levels = Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1), DISTINCT]
