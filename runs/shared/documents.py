"""JSON that others may have written: read through a model, and refused in a sentence."""

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

DEEPEST = 3
"""How deep lists and objects may be nested in a value."""

UNSEEN = {"Cc", "Cs"}
"""Unicode's categories of control characters and of surrogates."""

DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn round what stands beside them."""


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
    return "".join(_escape(sign) if _is_obeyed(sign) else sign for sign in text)


def _is_obeyed(sign: str) -> bool:
    is_unseen = unicodedata.category(sign) in UNSEEN and sign not in "\t\n"
    return is_unseen or sign in DIRECTIONS


def _escape(sign: str) -> str:
    return sign.encode("unicode_escape").decode()


def bounded_text(value: Any) -> str:
    """Check a text, and write its control characters as escapes."""
    if not isinstance(value, str):
        raise ValueError(f"must be a text, got {shortened(value)}")
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"must have at most {LONGEST_TEXT:,} characters, got {len(value):,}")
    return without_controls(value)


def _file_name(value: Any) -> str:
    name = bounded_text(value)
    if len(name.encode()) > LONGEST_NAME:
        raise ValueError(f"must have at most {LONGEST_NAME} bytes, got {len(name.encode())}")
    if name in ("", ".", "..") or name != escaped(name) or "/" in name or "\\" in name:
        raise ValueError(f"must be the name of a file, without a folder, got {shortened(value)}")
    return name


def _fact(value: Any, *, depth: int) -> Any:
    """Check numbers and texts, and lists and objects of them."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        if abs(value) >= LARGEST_NUMBER:
            raise ValueError("must be a number below 2 to the power of 63")
        return value
    if isinstance(value, str):
        return bounded_text(value)
    if depth == 0:
        raise ValueError(f"must be a text or a number, got {shortened(value)}")
    if isinstance(value, list | tuple):
        return [_fact(part, depth=depth - 1) for part in value]
    if isinstance(value, dict):
        return {bounded_text(key): _fact(part, depth=depth - 1) for key, part in value.items()}
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

Fact: TypeAlias = Annotated[Any, PlainValidator(partial(_fact, depth=DEEPEST))]
"""A number, a text, or a list or object of them."""


def read_document(path: Path, kind: type[DocumentT], *, what: str) -> DocumentT:
    """Read a JSON file through a model.

    Parameters
    ----------
    path
        The file.
    kind
        The model, which refuses what does not fit.
    what
        What the file is, such as "the manifest of a study".

    Raises
    ------
    InputError
        If the file is not what it should be.
    FileNotFoundError, NotADirectoryError
        If there is no such file.
    """
    return checked_document(path, read_json(path, what=what), kind, what=what)


def read_json(path: Path, *, what: str) -> Any:
    """Read the value in a JSON file that is not large, and in which no key is duplicated."""
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise InputError(
                f"{path} is not {what}: it may have at most {LARGEST_FILE / 1e6:,.0f} MB, got "
                f"{size / 1e6:,.0f}."
            )
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_distinct)
    except (FileNotFoundError, NotADirectoryError, InputError):
        raise
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read ({error}).") from None
    except RecursionError:
        raise InputError(f"{path} is not {what}: its values are nested too deeply.") from None
    except ValueError as error:
        raise InputError(f"{path} is not {what}: {str(error).rstrip('.')}.") from None


def checked_document(path: Path, value: Any, kind: type[DocumentT], *, what: str) -> DocumentT:
    """Check what was read from a file by a model; the first key that does not fit is named."""
    if not isinstance(value, dict):
        raise InputError(f"{path} is not {what}: it must be an object, got {shortened(value)}.")
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
    key = f"`{shortened('.'.join(map(str, fault['loc'])))[1:-1]}`" if fault["loc"] else ""
    if fault["type"] == "missing":
        raise InputError(f"{path} is not {what}: {key} is missing.")
    if fault["type"] == "extra_forbidden":
        raise InputError(f"{path} is not {what}: there is no {key}.")
    raise InputError(f"{path} is not {what}: {broken_rule(key, fault)}")


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is given twice: readers differ in which value counts."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in values if keys.count(key) > 1)
        raise ValueError(f"the key {shortened(repeated)} is duplicated")
    return values
