"""Results of analyses as bytes, so that figures and tables can be made again without the work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
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
    import pandas as pd
    from _typeshed import DataclassInstance

    Result = TypeVar("Result", bound=DataclassInstance)

FACTS = "facts"
"""Name of the array that holds, as JSON, all that is not an array."""

FIELD_KEY = "evidence_key"
"""Key in the metadata of a dataclass's field: the field's name in evidence, if it has another."""

OWN_MODULES = ("analyses.", "harness.")
"""Beginnings of the names of modules whose results are checked by the annotations of fields."""

ARRAY_KINDS = {np.bool_: "b", np.integer: "bui", np.floating: "buif", np.str_: "U"}
"""Letters of numpy's kinds of arrays that fit an annotation, by the class of its numbers."""

ANY_ARRAY_KIND = "buifUc"
"""The same for another class of numbers."""

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
    """Write a result as the content of an uncompressed .npz file; equal results are equal bytes.

    A result is a dataclass whose fields are arrays, frames, dictionaries of them by name, measures,
    texts, numbers, None, and tuples of them; or such dataclasses, and tuples of one class of them.
    Arrays are members of the file by the name of their field; all else is in one member, `FACTS`,
    as JSON.
    """
    arrays: dict[str, Any] = {}
    facts = _pack_fields("", result, arrays)
    facts_as_json = json.dumps(facts, default=lambda number: number.item())
    contents: dict[str, Any] = {FACTS: np.array(facts_as_json), **arrays}
    stream = BytesIO()
    np.savez(stream, **contents)
    return stream.getvalue()


def read_evidence(path: Path, result_class: type[Result]) -> Result:
    """Read back what `to_evidence` wrote, bit for bit.

    The file may come from anybody: nothing in it is run, it takes no more memory than its size,
    and each field of a result of ours is what its annotation says. Control characters in texts
    become escapes.

    Raises
    ------
    InputError
        If there is no such file, or it holds something else.
    """
    try:
        arrays = _read_arrays(path)
        facts = json.loads(str(arrays.pop(FACTS)))
        return _unpack_fields(facts, arrays, result_class)
    except FileNotFoundError:
        raise InputError(f"{path}: the study has no such result.") from None
    except UNREADABLE:
        raise InputError(f"{path}: not a result of this analysis, or damaged.") from None


def _read_arrays(path: Path) -> dict[str, Any]:
    """Read the arrays of an uncompressed .npz file by name.

    Raises BadZipFile if a member is compressed or its stated size does not fit into the file.
    """
    with ZipFile(path) as archive:
        members = archive.infolist()
    is_compressed = any(member.compress_type != ZIP_STORED for member in members)
    unpacked_size = sum(member.file_size for member in members)
    if is_compressed or unpacked_size > path.stat().st_size:
        raise BadZipFile("the file would be larger when it is unpacked.")
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def _pack_fields(name: str, value: DataclassInstance, arrays: dict[str, Any]) -> dict[str, Any]:
    """Turn the fields of a dataclass into JSON's types by key; add arrays to ``arrays``.

    ``name`` is where the dataclass stands in the result, such as "families", and "" for the result
    itself: an array in its field "of" is called "families.of", and is added to ``arrays`` in place.
    The key of a field is its name, or another one from its metadata; see `FIELD_KEY`.
    """
    prefix = f"{name}." if name else ""
    packed = {}
    for field in fields(value):
        key = _key_of(field)
        content = getattr(value, field.name)
        packed[key] = _pack(f"{prefix}{key}", content, arrays)
    return packed


def _key_of(field: Field[Any]) -> str:
    """Look up the name of a dataclass's field in evidence, which may differ; see `FIELD_KEY`."""
    key: str = field.metadata.get(FIELD_KEY, field.name)
    return key


def _pack(name: str, value: Any, arrays: dict[str, Any]) -> Any:
    """Turn a value into what JSON can hold; add arrays to ``arrays``, in place, under the name.

    Arrays, frames, a measure, dataclasses and dictionaries become a dictionary with one key, which
    tells the kind of value; Measures become one with the key "measures" and others for their roles.
    Tuples become lists; other values stay.
    """
    from pandas import DataFrame

    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, DataFrame):
        return {"frame": _pack_columns(name, value, arrays)}
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
        return [_pack(f"{name}.{place}", part, arrays) for place, part in enumerate(value)]
    if isinstance(value, Mapping):
        parts = {key: _pack(f"{name}.{key}", part, arrays) for key, part in value.items()}
        return {"mapping": parts}
    return value


def _pack_columns(name: str, frame: pd.DataFrame, arrays: dict[str, Any]) -> dict[Any, Any]:
    """Turn the columns of a frame into arrays, or into tuples of cells, by their names.

    A column of a dtype of numpy, other than object, becomes ``{"array": "name.column"}``, and is
    added to ``arrays`` under this name, in place. Other columns, of texts, and of counts with gaps
    or beside fractions, become tuples of texts and numbers, None where one is missing.
    """
    packed: dict[Any, Any] = {}
    for column_name, column in frame.items():
        if isinstance(column.dtype, np.dtype) and column.dtype.kind != "O":
            packed[column_name] = _pack(f"{name}.{column_name}", column.to_numpy(), arrays)
        else:
            packed[column_name] = tuple(column.astype(object).where(column.notna(), None))
    return packed


def _unpack_fields(
    facts: Mapping[str, Any], arrays: Mapping[str, Any], result_class: type[Result]
) -> Result:
    """Make a dataclass from what `_pack_fields` made of its fields.

    ``facts`` are packed values by the key of their field, ``arrays`` those of the file by name.
    Raises TypeError if a field is missing, or if a field of one of our own classes (of
    `OWN_MODULES`) is not what its annotation says; other errors, as for an unknown field, are among
    `UNREADABLE`.
    """
    import pandas

    hints = get_type_hints(result_class, localns={"pd": pandas})
    names = {_key_of(field): field.name for field in fields(result_class)}
    values = {}
    for key, fact in facts.items():
        name = names.get(key, key)
        values[name] = _unpack(fact, arrays, hints.get(name))
    is_own = f"{result_class.__module__}.".startswith(OWN_MODULES)
    if is_own:
        for name, value in values.items():
            if not _fits(value, hints[name]):
                raise TypeError(f"{name} is not of its class.")
    return result_class(**values)


def _unpack(packed: Any, arrays: Mapping[str, Any], hint: Any) -> Any:
    """Restore a value from what `_pack` made of it.

    ``arrays`` are those of the file by name; ``hint`` is the annotation of the field, which says
    which class a dataclass has. Lists become tuples, and control characters in texts escapes. An
    unknown form raises one of the errors `UNREADABLE`.
    """
    if isinstance(packed, str):
        return bounded_text(packed)
    if isinstance(packed, list):
        part_hint = next(iter(get_args(hint)), None)
        return tuple(_unpack(part, arrays, part_hint) for part in packed)
    if not isinstance(packed, dict):
        return packed
    if "frame" in packed:
        return _unpack_frame(packed["frame"], arrays)
    if "array" in packed:
        return arrays[packed["array"]]
    if "measure" in packed:
        return _unpack_measure(packed["measure"])
    if "measures" in packed:
        return _unpack_measures(packed)
    if "fields" in packed:
        classes = [part for part in (hint, *get_args(hint)) if isinstance(part, type)]
        return _unpack_fields(packed["fields"], arrays, next(filter(is_dataclass, classes)))
    value_hint = next(iter(get_args(hint)[1:]), None)
    return {
        bounded_text(key): _unpack(part, arrays, value_hint)
        for key, part in packed["mapping"].items()
    }


def _unpack_frame(columns: Mapping[str, Any], arrays: Mapping[str, Any]) -> pd.DataFrame:
    """Make a frame of columns: lists of cells, or names of arrays among ``arrays``."""
    from pandas import DataFrame, Series

    series: dict[str, Any] = {}
    for name, column in columns.items():
        if isinstance(column, list):
            cells = [_unpack(cell, arrays, None) for cell in column]
            series[bounded_text(name)] = Series(cells, dtype=object)
        else:
            series[bounded_text(name)] = arrays[column["array"]]
    return DataFrame(series)


def _unpack_measures(packed: Mapping[str, Any]) -> Measures:
    """Make measures with their roles from a dictionary of lists.

    "measures" are pairs of metric and cut-off, "falling" the metrics of which lower values are
    better, and "reported" and "grid" positions of measures. Raises ValueError for a cut-off that is
    none, KeyError or IndexError for what is missing.
    """
    measures = [_unpack_measure(measure) for measure in packed["measures"]]
    lower_is_better_for = [escaped(metric) for metric in packed["falling"]]
    reported = [measures[index] for index in packed["reported"]]
    grid = [measures[index] for index in packed["grid"]]
    return Measures(measures, lower_is_better_for=lower_is_better_for, reported=reported, grid=grid)


def _unpack_measure(packed: Any) -> Measure:
    """Make a measure from a list of metric and cut-off, which is None for whole lists.

    Raises ValueError if the cut-off is not a whole number from 1 on.
    """
    metric, cutoff = packed
    is_valid = cutoff is None or (_fits(cutoff, int) and cutoff >= 1)
    if not is_valid:
        raise ValueError(f"a cut-off is a whole number from 1 on, got {cutoff!r}.")
    return Measure(escaped(bounded_text(metric)), cutoff)


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is what an annotation says.

    Parts of tuples, values of mappings and the numbers of arrays are looked at, too. Where a number
    may have a fraction, a whole one fits. True or False is no number. An annotation that is no
    class, and none of the forms here, fits everything.
    """
    hint = _without_alias(hint)
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, argument) for argument in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is tuple:
        return isinstance(value, tuple) and _parts_fit(value, arguments)
    if origin is np.ndarray:
        # The annotation is ndarray[shape, dtype[class of numbers]].
        (number_class,) = get_args(arguments[1])
        return isinstance(value, np.ndarray) and value.dtype.kind in _kinds_of(number_class)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        is_mapping = isinstance(value, Mapping)
        return is_mapping and all(_fits(part, arguments[1]) for part in value.values())
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)


def _without_alias(hint: Any) -> Any:
    """Replace an alias of a type, with its arguments, by the type; other annotations stay.

    numpy's NDArray is an alias from numpy 2.5 on.
    """
    alias = get_origin(hint) or hint
    aliased = getattr(alias, "__value__", None)
    if aliased is None:
        return hint
    arguments = get_args(hint)
    return aliased[arguments] if arguments else aliased


def _parts_fit(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    """Tell whether the parts of a tuple are what its annotation says, whose arguments are given.

    ``(X, ...)`` fits any number of parts; else there must be as many parts as hints.
    """
    if hints[1:] == (...,):
        return all(_fits(value, hints[0]) for value in values)
    if len(values) != len(hints):
        return False
    return all(_fits(value, hint) for value, hint in zip(values, hints, strict=True))


def _kinds_of(number_class: type) -> str:
    """Look up the letters of numpy's kinds of arrays that may hold numbers of a class, or texts."""
    for base_class, kinds in ARRAY_KINDS.items():
        if issubclass(number_class, base_class):
            return kinds
    return ANY_ARRAY_KIND
