"""Arrow columns of a log, checked, as numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runs import InputError, Numbering

# Makes an error of a place (from 0) and a finding.
Fail = Callable[[int, str], InputError]

UNITS_PER_MILLISECOND: Final = {"ms": 1, "us": 10**3, "ns": 10**6}
MIXED: Final = "the times of a column must be of one kind, got {} beside others."
COUNTED: Final = r"^-?\d{1,18}$"
WITH_ZONE: Final = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)$"
TIMES: Final = (
    "a time must be whole milliseconds since 1970 in UTC, or a timestamp with its time zone such "
    "as 2026-01-31T20:15:00Z"
)


@dataclass(frozen=True, eq=False)
class Ids:
    """Ids as read: the distinct ones, in the order in which they first occur.

    Places are those of each row's among them, of shape (n_rows,); -1 where there is none.
    """

    ids: NDArray[np.str_]
    places: NDArray[np.int64]

    def numbers(self, numbering: Numbering) -> NDArray[np.int32]:
        """Give the number of each row's id; -1 where there is none, or it is unknown."""
        return np.append(numbering.numbers(self.ids), np.int32(-1))[self.places]

    def renamed(self, names: Mapping[str, str]) -> Ids:
        """Give some ids other names, which may make them one."""
        new, places = np.unique(
            [names.get(str(one), str(one)) for one in self.ids], return_inverse=True
        )
        return Ids(new.astype(np.str_), np.append(places, -1)[self.places])

    def repetition(self) -> tuple[int, int] | None:
        """Find the first row whose id occurs before, and the row where; None if all differ."""
        if len(self.ids) == len(self.places):
            return None
        _, heads = np.unique(self.places, return_index=True)
        row = int((heads[self.places] != np.arange(len(self.places))).argmax())
        return row, int(heads[self.places[row]])

    def __getitem__(self, row: int) -> str:
        """Give the id of a row."""
        return str(self.ids[self.places[row]])


def is_text(kind: Any) -> bool:
    """Tell whether an Arrow type is text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def id_kind(column: Any, fail: Fail) -> Any:
    """Give the Arrow type of ids, in a dictionary or not; refuse all but text and whole numbers."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise fail(0, f"ids must be text or whole numbers, found {kind}.")
    return kind


def read_ids(column: Any, fail: Fail, *, optional: bool = False) -> Ids:
    """Read an Arrow array of text or whole numbers as ids, which may be missing if ``optional``."""
    import pyarrow as pa

    kind = id_kind(column, fail)
    encoded = _encoded(column, kind)
    ids = np.array(encoded.dictionary.to_pylist(), dtype=np.str_)
    places = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    missing = (places < 0) | np.isin(places, np.flatnonzero(ids == ""))
    if missing.any() and not optional:
        raise fail(int(missing.argmax()), "an id must not be empty.")
    return Ids(ids, np.where(missing, -1, places))


def _encoded(column: Any, kind: Any) -> Any:
    """Put ids as text into a dictionary, in the order in which they first occur."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.cast(pa.large_string()).dictionary_encode()
    texts = column.dictionary.cast(kind).cast(pa.large_string())
    if texts.null_count or len(texts.unique()) < len(texts):
        return _encoded(column.cast(kind), kind)
    # The dictionary of a file may hold ids that no row has, in any order.
    codes = column.indices.dictionary_encode()
    return pa.DictionaryArray.from_arrays(codes.indices, texts.take(codes.dictionary))


def read_times(column: Any, fail: Fail) -> NDArray[np.int64]:
    """Read times as milliseconds since 1970 in UTC, rounded down; local times are refused."""
    import pyarrow as pa

    _require_all(column, fail, "a time must be given.")
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is None:
        raise fail(0, f"{TIMES}; the column has timestamps without one.")
    if pa.types.is_timestamp(kind):
        return _milliseconds(column)
    if is_text(kind):
        return _times_of_text(column, fail)
    if not pa.types.is_integer(kind):
        raise fail(0, f"{TIMES}, found {kind}.")
    return _cast(column, "int64", fail, f"{TIMES}, got {{}}.")


def _times_of_text(column: Any, fail: Fail) -> NDArray[np.int64]:
    import pyarrow as pa
    import pyarrow.compute as compute

    rule = f"{TIMES}, got {{}}."
    counted = compute.match_substring_regex(column, COUNTED)
    if compute.all(counted).as_py():
        return _cast(column, "int64", fail, rule)
    zoned = compute.match_substring_regex(column, WITH_ZONE)
    _require(compute.or_(counted, zoned), column, fail, rule)
    _require(zoned, column, fail, MIXED)
    return _milliseconds(_converted(column, pa.timestamp("ns", tz="UTC"), fail, rule))


def _milliseconds(column: Any) -> NDArray[np.int64]:
    import pyarrow as pa

    counts: NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    if column.type.unit == "s":
        return counts * 1000
    return counts // UNITS_PER_MILLISECOND[column.type.unit]


def read_floats(column: Any, fail: Fail) -> NDArray[np.float64]:
    """Read finite numbers."""
    values = _cast(column, "float64", fail, "a number must be given, got {}.")
    if not np.isfinite(values).all():
        raise fail(int((~np.isfinite(values)).argmax()), "a number must be finite.")
    return values


def read_positions(column: Any, fail: Fail) -> NDArray[np.int64]:
    """Read whole numbers."""
    return _cast(column, "int64", fail, "a position must be a whole number, got {}.")


def read_flags(column: Any, fail: Fail) -> NDArray[np.bool_]:
    """Read true and false, or 1 and 0."""
    return _cast(column, "bool", fail, "a click must be true or false, got {}.").astype(np.bool_)


def _cast(column: Any, kind: str, fail: Fail, rule: str) -> NDArray[Any]:
    """Change the type of a column without missing values, as a numpy array."""
    _require_all(column, fail, rule.format("nothing"))
    values: NDArray[Any] = _converted(column, kind, fail, rule).to_numpy(zero_copy_only=False)
    return values


def _converted(column: Any, kind: Any, fail: Fail, rule: str) -> Any:
    """Change the type of a column; one value after the other, if one of them cannot be."""
    import pyarrow as pa

    try:
        return column.cast(kind)
    except pa.ArrowException:
        for place, value in enumerate(column):
            try:
                value.cast(kind)
            except pa.ArrowException:
                raise fail(place, rule.format(repr(value.as_py()))) from None
        raise


def _require_all(column: Any, fail: Fail, finding: str) -> None:
    if column.null_count:
        missing = column.is_null().to_numpy(zero_copy_only=False)
        raise fail(int(missing.argmax()), finding)


def _require(kept: Any, column: Any, fail: Fail, rule: str) -> None:
    wrong = ~kept.to_numpy(zero_copy_only=False).astype(np.bool_)
    if wrong.any():
        place = int(wrong.argmax())
        raise fail(place, rule.format(repr(column[place].as_py())))
