"""Results of analyses as bytes, so that figures and tables can be made again without the work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zipfile import BadZipFile

import numpy as np

from analyses.shared.measure import Measure
from runs import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Result = TypeVar("Result", bound=DataclassInstance)

FACTS = "facts"


def to_evidence(result: DataclassInstance) -> bytes:
    """Give the content of an uncompressed .npz file; equal results give equal bytes.

    Parameters
    ----------
    result
        A dataclass whose fields are arrays, dictionaries of arrays by name, measures, texts,
        numbers, None, and tuples of them.
    """
    arrays: dict[str, Any] = {}
    facts = {
        field.name: _pack(field.name, getattr(result, field.name), arrays)
        for field in fields(result)
    }
    stream = BytesIO()
    contents: dict[str, Any] = {FACTS: np.array(json.dumps(facts)), **arrays}
    np.savez(stream, **contents)
    return stream.getvalue()


def read_evidence(path: Path, kind: type[Result]) -> Result:
    """Read back what `to_evidence` wrote, bit for bit.

    Raises
    ------
    InputError
        If the file is missing or does not hold such a result.
    """
    try:
        with np.load(path) as file:
            stored = dict(file)
        facts = json.loads(str(stored.pop(FACTS)))
        return kind(**{name: _unpack(value, stored) for name, value in facts.items()})
    except FileNotFoundError:
        raise InputError(f"{path}: the study has no such result.") from None
    except (BadZipFile, EOFError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not a result of this analysis ({error}).") from None


def _pack(name: str, value: Any, arrays: dict[str, Any]) -> Any:
    """Put arrays aside, and say where; everything else fits JSON."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Measure):
        return {"measure": [value.metric, value.cutoff]}
    if isinstance(value, tuple):
        return [_pack(f"{name}.{n}", part, arrays) for n, part in enumerate(value)]
    if isinstance(value, Mapping):
        parts = {key: _pack(f"{name}.{key}", part, arrays) for key, part in value.items()}
        return {"mapping": parts}
    return value


def _unpack(value: Any, arrays: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return tuple(_unpack(part, arrays) for part in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "measure" in value:
        return Measure(*value["measure"])
    return {key: _unpack(part, arrays) for key, part in value["mapping"].items()}
