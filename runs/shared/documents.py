"""JSON files that others may have written, read through pydantic models, refused in sentences."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from runs.shared.errors import InputError
from runs.shared.ids import escaped
from runs.shared.settings import broken_rule, shortened

DocumentT = TypeVar("DocumentT", bound="Document")

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""Pattern of the name of a study, which names its folder and files."""

LONGEST_NAME = 200
"""Characters or bytes that a name may have: that of a file, with endings, has at most 255."""

LONGEST_TEXT = 100_000
"""Characters that a text of a document may have."""

LARGEST_NUMBER = 2**63
"""Whole numbers of a document are smaller."""

LARGEST_FILE = 1 << 26
"""Bytes that a document may have."""

MAX_NESTING = 3
"""How deep lists and objects may be nested in a value."""

INVISIBLE_CATEGORIES = {"Cc", "Cs"}
"""Unicode's categories of control characters and of surrogates."""

DIRECTION_MARKS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that reverse the direction of the text around them."""


class Document(BaseModel):
    """A JSON object that is read from a file; keys that nothing reads are left out."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


def without_controls(text: str) -> str:
    r"""Write control characters, surrogates and marks of direction as escapes.

    Tabs and line breaks stay.

    Examples
    --------
    >>> without_controls("a\x1b[2Jb\n")
    'a\\x1b[2Jb\n'
    """
    if text.isprintable():
        return text
    escapes = {character: _escape(character) for character in set(text) if _is_control(character)}
    return "".join(escapes.get(character, character) for character in text)


def _is_control(character: str) -> bool:
    """Test whether a terminal or a page would obey a character, instead of showing it."""
    is_invisible = unicodedata.category(character) in INVISIBLE_CATEGORIES
    is_layout = character in "\t\n"
    return (is_invisible and not is_layout) or character in DIRECTION_MARKS


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def bounded_text(value: Any) -> str:
    """Check that a value is a text, and return it with its control characters as escapes.

    Raises ValueError if it is no text, or has more than 100,000 characters.
    """
    if not isinstance(value, str):
        raise ValueError(f"must be a text, got {shortened(value)}")
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"must have at most {LONGEST_TEXT:,} characters, got {len(value):,}")
    return without_controls(value)


def _file_name(value: Any) -> str:
    """Check that a value is the name of a file without a folder, and return it.

    Raises ValueError if the value is no text, has more than 200 bytes, is empty, "." or "..", or
    has a slash, a backslash or a control character.
    """
    name = bounded_text(value)
    n_bytes = len(name.encode())
    if n_bytes > LONGEST_NAME:
        raise ValueError(f"must have at most {LONGEST_NAME} bytes, got {n_bytes}")
    if name in ("", ".", "..") or name != escaped(name) or "/" in name or "\\" in name:
        raise ValueError(f"must be the name of a file, without a folder, got {shortened(value)}")
    return name


def _json_value(value: Any, *, max_nesting: int) -> Any:
    """Check a value that was read from JSON, and return it with tuples as lists.

    It may be None, a truth value, a number or a text, or lists and objects of these, nested up to
    ``max_nesting`` deep. Control characters of texts become escapes. Raises ValueError for whole
    numbers of size 2^63 or more, texts of more than 100,000 characters, values of other types, and
    deeper nesting.
    """
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        if abs(value) >= LARGEST_NUMBER:
            raise ValueError("must be a number below 2 to the power of 63")
        return value
    if isinstance(value, str):
        return bounded_text(value)
    if max_nesting == 0:
        raise ValueError(f"must be a text or a number, got {shortened(value)}")
    check_part = partial(_json_value, max_nesting=max_nesting - 1)
    if isinstance(value, list | tuple):
        return [check_part(part) for part in value]
    if isinstance(value, dict):
        return {bounded_text(key): check_part(part) for key, part in value.items()}
    raise ValueError(f"must be a text or a number, got {shortened(value)}")


Text: TypeAlias = Annotated[str, PlainValidator(bounded_text)]
"""A text of bounded length, whose control characters are written as escapes."""

FileName: TypeAlias = Annotated[str, PlainValidator(_file_name)]
"""The name of a file or of a part that has files, without a folder."""

StudyName: TypeAlias = Annotated[str, Field(pattern=f"^{NAME}$", max_length=LONGEST_NAME)]
"""The name of a study."""

Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, lt=LARGEST_NUMBER)]
"""A whole number from 0 on."""

Duration: TypeAlias = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
"""A number of seconds."""

Fact: TypeAlias = Annotated[Any, PlainValidator(partial(_json_value, max_nesting=MAX_NESTING))]
"""A number, a text, or a list or object of them."""


def read_document(path: Path, model: type[DocumentT], *, description: str) -> DocumentT:
    """Read a JSON file through a model.

    Parameters
    ----------
    path
        The file.
    model
        Class of the result; it refuses values that do not fit.
    description
        What the file is, such as "the manifest of a study".

    Raises
    ------
    InputError
        If the file is not what it should be.
    FileNotFoundError, NotADirectoryError
        If there is no such file.
    """
    value = read_json(path, description=description)
    return checked_document(path, value, model, description=description)


def read_json(path: Path, *, description: str) -> Any:
    """Read the value in a JSON file; ``description`` is what messages say that it should be.

    Raises
    ------
    InputError
        If the file cannot be read, has more than 67 MB, is no JSON, is nested too deeply, or has an
        object with a duplicated key.
    FileNotFoundError, NotADirectoryError
        If there is no such file.
    """
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise InputError(
                f"{path} is not {description}: it may have at most {LARGEST_FILE / 1e6:,.0f} MB, "
                f"got {size / 1e6:,.0f}."
            )
        text = path.read_text(encoding="utf-8")
        return json.loads(text, object_pairs_hook=_distinct)
    except (FileNotFoundError, NotADirectoryError, InputError):
        raise
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read ({error}).") from None
    except RecursionError:
        raise InputError(
            f"{path} is not {description}: its values are nested too deeply."
        ) from None
    except ValueError as error:
        fault = str(error).rstrip(".")
        raise InputError(f"{path} is not {description}: {fault}.") from None


def checked_document(
    path: Path, value: Any, model: type[DocumentT], *, description: str
) -> DocumentT:
    """Check the value that was read from a JSON file, and return it as an instance of ``model``.

    ``model`` is a pydantic model: the keys and their types. Raises InputError if the value is no
    object, or for the first key that is missing, unknown, or has a value that is not allowed.
    ``description`` is what messages say that the file at ``path`` should be.
    """
    prefix = f"{path} is not {description}"
    if not isinstance(value, dict):
        raise InputError(f"{prefix}: it must be an object, got {shortened(value)}.")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
    key = ""
    if fault["loc"]:
        quoted_key = shortened(".".join(map(str, fault["loc"])))
        key = f"`{quoted_key[1:-1]}`"
    if fault["type"] == "missing":
        raise InputError(f"{prefix}: {key} is missing.")
    if fault["type"] == "extra_forbidden":
        raise InputError(f"{prefix}: there is no {key}.")
    raise InputError(f"{prefix}: {broken_rule(key, fault)}")


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict of the keys and values of a JSON object.

    Raises ValueError if a key is duplicated: readers of JSON differ in which value counts.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated_key = next(key for key in values if keys.count(key) > 1)
        raise ValueError(f"the key {shortened(repeated_key)} is duplicated")
    return values
