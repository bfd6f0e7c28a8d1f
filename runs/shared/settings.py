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

    def with_absolute_paths(self, anchor: Callable[[Path], Path]) -> Self:
        """Make the paths that are values absolute, in the sections within, too."""

        def absolute(value: Any) -> Any:
            match value:
                case Path():
                    return anchor(value)
                case Section():
                    return value.with_absolute_paths(anchor)
                case tuple():
                    return tuple(map(absolute, value))
            return value

        made = {name: new for name, value in self if (new := absolute(value)) != value}
        return self.model_copy(update=made)


def check_settings(what: str, kind: type[ModelT], given: Mapping[str, Any]) -> ModelT:
    """Check the settings of what is named; refuse the first that breaks a rule."""
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        fault = error.errors()[0]
    setting, known = ".".join(map(str, fault["loc"])), [*kind.model_fields]
    if fault["type"] == "extra_forbidden":
        hint = suggestion(setting, known) if known else "it has none."
        raise InputError(f"{what} has no setting {setting!r}; {hint}")
    raise InputError(broken_rule(f"{what}: the setting {setting!r}" if setting else what, fault))


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
"""Patterns in the messages of pydantic, and what they become."""


def shortened(value: Any, *, length: int = 200) -> str:
    """Print a value, cut off where it is long."""
    try:
        text = repr(value[:length] if isinstance(value, str) else value)
    except RecursionError:
        return "a value that is nested too deeply"
    return text if len(text) <= length else f"{text[:length]}..."


def broken_rule(subject: str, fault: Mapping[str, Any]) -> str:
    """Say in a sentence which rule the subject, which may be empty, breaks, as pydantic found."""
    rule = fault["msg"].removeprefix("Value error, ").removesuffix(".")
    if fault["type"] != "value_error":
        for pattern, words in WORDING.items():
            rule = re.sub(pattern, words, rule)
        rule = f"{rule[0].lower()}{rule[1:]}, got {shortened(fault['input'])}"
    joined = " " if rule.startswith("must ") else ": "
    return f"{subject}{joined if subject else ''}{rule}{'' if rule.endswith('?') else '.'}"


def without_repetition(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse a value that is given twice."""
    repeated = {value for value in values if values.count(value) > 1}
    if repeated:
        raise ValueError(f"{min(repeated)!r} is duplicated")
    return values


def not_above(name: str) -> AfterValidator:
    """Refuse a number above another setting, which comes before it."""

    def check(number: int, others: ValidationInfo) -> int:
        most = others.data.get(name, number)
        if number > most:
            raise ValueError(f"must be at most {most}, got {number}")
        return number

    return AfterValidator(check)


def accepted_by(reader: Callable[[Any], Any]) -> AfterValidator:
    """Refuse a name, or names, that a reader refuses with an `InputError`."""

    def check(names: Any) -> Any:
        try:
            reader(names)
        except InputError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return names

    return AfterValidator(check)


Whole = Annotated[int, Field(strict=True)]
Repeats = Annotated[int, Field(strict=True, le=100_000)]
"""A number of random samples, replicates or repeats: results are kept for each."""

Permutations = Annotated[int, Field(strict=True, le=1_000_000)]
"""A number of random permutations: a statistic is kept for each."""

Depth = Annotated[int, Field(strict=True, ge=1, le=DEEPEST_RANK)]
"""A cut-off, or the depth of a ranking."""

DISTINCT = AfterValidator(without_repetition)
Names = Annotated[tuple[str, ...], DISTINCT]
Sizes = Annotated[tuple[Annotated[int, Field(strict=True, ge=1)], ...], DISTINCT]
Cutoffs = Annotated[tuple[Depth, ...], DISTINCT]
Levels = Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1), DISTINCT]
