"""Results of analyses as bytes, so that figures and tables can be made again without the work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints
from zipfile import BadZipFile

import numpy as np

from analyses.shared.measure import Measure, Measures
from runs import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Result = TypeVar("Result", bound=DataclassInstance)

FACTS = "facts"


def to_evidence(result: DataclassInstance) -> bytes:
    """Give the content of an uncompressed .npz file; equal results give equal bytes.

    A result is a dataclass whose fields are arrays, frames, dictionaries of them by name, measures,
    texts, numbers, None, and tuples of them; or such dataclasses, and tuples of one class of them.
    """
    arrays: dict[str, Any] = {}
    facts = _pack_fields("", result, arrays)
    stream = BytesIO()
    told = np.array(json.dumps(facts, default=lambda number: number.item()))
    contents: dict[str, Any] = {FACTS: told, **arrays}
    np.savez(stream, **contents)
    return stream.getvalue()


def read_evidence(path: Path, kind: type[Result]) -> Result:
    """Read back what `to_evidence` wrote, bit for bit."""
    try:
        with np.load(path) as file:
            stored = dict(file)
        facts = json.loads(str(stored.pop(FACTS)))
        return _unpack_fields(facts, stored, kind)
    except FileNotFoundError:
        raise InputError(f"{path}: the study has no such result.") from None
    except (BadZipFile, EOFError, KeyError, TypeError, ValueError):
        raise InputError(f"{path}: not a result of this analysis, or damaged.") from None


def _pack_fields(name: str, value: DataclassInstance, arrays: dict[str, Any]) -> dict[str, Any]:
    prefix = f"{name}." if name else ""
    return {
        field.name: _pack(f"{prefix}{field.name}", getattr(value, field.name), arrays)
        for field in fields(value)
    }


def _pack(name: str, value: Any, arrays: dict[str, Any]) -> Any:
    """Put arrays aside, and say where; everything else fits JSON."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    from pandas import DataFrame

    if isinstance(value, DataFrame):
        # Columns of texts, and of counts with gaps or beside fractions, are no arrays.
        parts = {
            key: _pack(f"{name}.{key}", column.to_numpy(), arrays)
            if isinstance(column.dtype, np.dtype) and column.dtype.kind != "O"
            else tuple(column.astype(object).where(column.notna(), None))
            for key, column in value.items()
        }
        return {"frame": parts}
    if isinstance(value, Measure):
        return {"measure": [value.metric, value.cutoff]}
    if isinstance(value, Measures):
        return {
            "measures": [[measure.metric, measure.cutoff] for measure in value],
            "falling": sorted(value.falling),
            "reported": value.numbers(value.reported),
            "grid": value.numbers(value.grid),
        }
    if is_dataclass(value) and not isinstance(value, type):
        return {"fields": _pack_fields(name, value, arrays)}
    if isinstance(value, tuple):
        return [_pack(f"{name}.{n}", part, arrays) for n, part in enumerate(value)]
    if isinstance(value, Mapping):
        parts = {key: _pack(f"{name}.{key}", part, arrays) for key, part in value.items()}
        return {"mapping": parts}
    return value


def _unpack_fields(
    facts: Mapping[str, Any], arrays: Mapping[str, Any], kind: type[Result]
) -> Result:
    import pandas

    hints = get_type_hints(kind, localns={"pd": pandas})
    return kind(**{name: _unpack(value, arrays, hints.get(name)) for name, value in facts.items()})


def _unpack(value: Any, arrays: Mapping[str, Any], hint: Any) -> Any:
    """Give back what was packed; the annotation of a field says which class its value has."""
    if isinstance(value, list):
        part = next(iter(get_args(hint)), None)
        return tuple(_unpack(each, arrays, part) for each in value)
    if not isinstance(value, dict):
        return value
    if "frame" in value:
        from pandas import DataFrame, Series

        parts = value["frame"].items()
        return DataFrame(
            {
                key: Series(each, dtype=object) if isinstance(each, list) else arrays[each["array"]]
                for key, each in parts
            }
        )
    if "array" in value:
        return arrays[value["array"]]
    if "measure" in value:
        return Measure(*value["measure"])
    if "measures" in value:
        every = [Measure(*measure) for measure in value["measures"]]
        reported, grid = ([every[n] for n in value[key]] for key in ("reported", "grid"))
        return Measures(every, falling=value["falling"], reported=reported, grid=grid)
    if "fields" in value:
        kinds = [each for each in (hint, *get_args(hint)) if isinstance(each, type)]
        return _unpack_fields(value["fields"], arrays, next(filter(is_dataclass, kinds)))
    part = next(iter(get_args(hint)[1:]), None)
    return {key: _unpack(each, arrays, part) for key, each in value["mapping"].items()}
