"""Results of analyses as bytes, so that figures and tables can be made again without the work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from io import BytesIO
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from analyses.shared.measure import Measure, Measures
from runs import InputError
from runs.shared.documents import bounded_text
from runs.shared.ids import escaped

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Result = TypeVar("Result", bound=DataclassInstance)

FACTS = "facts"

FIELD_KEY = "evidence_key"
"""Key in the metadata of a dataclass's field: the field's name in evidence, if it has another."""

OWN_CLASSES = ("analyses.", "harness.")
"""Modules whose results are checked by the annotations of their fields."""

KINDS = {np.bool_: "b", np.integer: "bui", np.floating: "buif", np.str_: "U"}
"""Kinds of arrays that fit an annotation, by the class of its numbers."""

UNREADABLE = (
    ArithmeticError,
    AttributeError,
    BadZipFile,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RuntimeError,
    StopIteration,
    TypeError,
    ValueError,
)
"""Errors of a file that holds something else: a result of another class, or no result."""


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
    """Read back what `to_evidence` wrote, bit for bit.

    The file may come from anybody: nothing in it is run, it takes no more memory than its size,
    and each field of a result of ours is what its annotation says. Control characters in texts
    become escapes.
    """
    try:
        arrays = _read_arrays(path)
        facts = json.loads(str(arrays.pop(FACTS)))
        return _unpack_fields(facts, arrays, kind)
    except FileNotFoundError:
        raise InputError(f"{path}: the study has no such result.") from None
    except UNREADABLE:
        raise InputError(f"{path}: not a result of this analysis, or damaged.") from None


def _read_arrays(path: Path) -> dict[str, Any]:
    """Read the arrays of an uncompressed .npz file by name."""
    with ZipFile(path) as archive:
        members = archive.infolist()
    is_packed = any(member.compress_type != ZIP_STORED for member in members)
    if is_packed or sum(member.file_size for member in members) > path.stat().st_size:
        raise BadZipFile("the file would be larger when it is unpacked.")
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def _pack_fields(name: str, value: DataclassInstance, arrays: dict[str, Any]) -> dict[str, Any]:
    prefix = f"{name}." if name else ""
    packed = {}
    for field in fields(value):
        key = field.metadata.get(FIELD_KEY, field.name)
        packed[key] = _pack(f"{prefix}{key}", getattr(value, field.name), arrays)
    return packed


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
            "falling": sorted(value.lower_is_better_for),
            "reported": value.indices(value.reported),
            "grid": value.indices(value.grid),
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
    names = {field.metadata.get(FIELD_KEY, field.name): field.name for field in fields(kind)}
    values = {}
    for key, fact in facts.items():
        name = names.get(key, key)
        values[name] = _unpack(fact, arrays, hints.get(name))
    if f"{kind.__module__}.".startswith(OWN_CLASSES):
        for name, value in values.items():
            if not _fits(value, hints[name]):
                raise TypeError(f"{name} is not of its class.")
    return kind(**values)


def _unpack(value: Any, arrays: Mapping[str, Any], hint: Any) -> Any:
    """Give back what was packed; the annotation of a field says which class its value has."""
    if isinstance(value, str):
        return bounded_text(value)
    if isinstance(value, list):
        part = next(iter(get_args(hint)), None)
        return tuple(_unpack(each, arrays, part) for each in value)
    if not isinstance(value, dict):
        return value
    if "frame" in value:
        return _unpack_frame(value["frame"], arrays)
    if "array" in value:
        return arrays[value["array"]]
    if "measure" in value:
        return _unpack_measure(value["measure"])
    if "measures" in value:
        every = [_unpack_measure(measure) for measure in value["measures"]]
        reported, grid = ([every[n] for n in value[key]] for key in ("reported", "grid"))
        lower_is_better_for = [escaped(metric) for metric in value["falling"]]
        return Measures(
            every, lower_is_better_for=lower_is_better_for, reported=reported, grid=grid
        )
    if "fields" in value:
        kinds = [each for each in (hint, *get_args(hint)) if isinstance(each, type)]
        return _unpack_fields(value["fields"], arrays, next(filter(is_dataclass, kinds)))
    part = next(iter(get_args(hint)[1:]), None)
    return {
        bounded_text(key): _unpack(each, arrays, part) for key, each in value["mapping"].items()
    }


def _unpack_frame(columns: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    from pandas import DataFrame, Series

    series: dict[str, Any] = {}
    for name, column in columns.items():
        if isinstance(column, list):
            cells = [_unpack(cell, arrays, None) for cell in column]
            series[bounded_text(name)] = Series(cells, dtype=object)
        else:
            series[bounded_text(name)] = arrays[column["array"]]
    return DataFrame(series)


def _unpack_measure(value: Any) -> Measure:
    """Read a metric and its cut-off, which is None for whole lists."""
    metric, cutoff = value
    if not _fits(cutoff, int | None) or (cutoff is not None and cutoff < 1):
        raise ValueError(f"a cut-off is a whole number from 1 on, got {cutoff!r}.")
    return Measure(escaped(bounded_text(metric)), cutoff)


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is what an annotation says; classes that are not ours are not looked at.

    A number with a fraction may be whole.
    """
    hint = _written_out(hint)
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, argument) for argument in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is tuple:
        return isinstance(value, tuple) and _parts_fit(value, arguments)
    if origin is np.ndarray:
        (number,) = get_args(arguments[1])
        return isinstance(value, np.ndarray) and value.dtype.kind in _kinds_of(number)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        is_mapping = isinstance(value, Mapping)
        return is_mapping and all(_fits(part, arguments[1]) for part in value.values())
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)


def _written_out(hint: Any) -> Any:
    """Write out an alias of a type, as numpy's NDArray is from numpy 2.5 on."""
    alias = get_origin(hint) or hint
    value = getattr(alias, "__value__", None)
    if value is None:
        return hint
    return value[get_args(hint)] if get_args(hint) else value


def _parts_fit(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    """Tell whether all parts of a tuple are what its annotation says."""
    if hints[1:] == (...,):
        return all(_fits(value, hints[0]) for value in values)
    pairs = zip(values, hints, strict=False)
    return len(values) == len(hints) and all(_fits(value, hint) for value, hint in pairs)


def _kinds_of(number: type) -> str:
    """Give the kinds of arrays that may hold numbers of a class, or texts."""
    return next((kinds for base, kinds in KINDS.items() if issubclass(number, base)), "buifUc")
