"""Ratings in a Parquet file: one rating a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from qrels.ratings.datasets.column_positions import locate
from qrels.ratings.datasets.fields import Columns, Record, Rows
from runs import InputError

UNITS_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class ParquetRows(Rows):
    """Ratings in the rows of a Parquet file.

    Ids are text or integers; ratings and times are numbers, or text as in a text file; times may
    be timestamps, which count as UTC without a time zone.
    """

    unit = "row"

    def names(self) -> list[str]:
        """Give the names that the schema has."""
        return list(self._opened().schema_arrow.names)

    def beginning(self, n: int) -> list[list[str]]:
        """Give the first rows; a missing value is empty."""
        batch = next(self._opened().iter_batches(batch_size=n), None)
        columns = [] if batch is None else [column.to_pylist() for column in batch.columns]
        return [list(map(_text, values)) for values in zip(*columns, strict=True)]

    def records(self) -> Iterator[Record]:
        """Give the rows as text; a missing value is empty."""
        columns = {role: column.to_pylist() for role, column in self.columns().items()}
        for row, values in enumerate(zip(*columns.values(), strict=True), start=1):
            yield row, dict(zip(columns, map(_text, values), strict=True))

    def columns(self) -> Columns:
        """Read whole columns."""
        import pyarrow as pa

        names = self.names()
        positions = locate(names, self.layout, fail=self._fail)
        try:
            table = self._opened().read(columns=[names[at] for at in positions.values()])
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from error
        return {role: self._convert(role, table[names[at]]) for role, at in positions.items()}

    def _opened(self) -> Any:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return parquet.ParquetFile(pa.py_buffer(self.source.data))
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> InputError:
        return self._fail(f"not a Parquet file that can be read ({error}).")

    def _fail(self, finding: str) -> InputError:
        return InputError(f"{self.source.label}: {finding}")

    def _convert(self, role: str, column: Any) -> Any:
        import pyarrow as pa

        kind = column.type
        if pa.types.is_dictionary(kind):
            return self._convert(role, column.cast(kind.value_type))
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return column.cast(pa.string())
        if role in ("user", "item"):
            if pa.types.is_integer(kind):
                return column.cast(pa.string())
            raise self._fail(f"the {role} column must hold text or integers, found {kind}.")
        if role == "time" and pa.types.is_date(kind):
            return _seconds(column.cast(pa.timestamp("s")))
        if role == "time" and pa.types.is_timestamp(kind):
            return _seconds(column)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return column
        raise self._fail(f"the {role} column must hold numbers, found {kind}.")


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _seconds(column: Any) -> Any:
    """Whole seconds since 1970 of timestamps, rounded down."""
    import pyarrow as pa
    import pyarrow.compute as compute

    units = UNITS_PER_SECOND[column.type.unit]
    counts = column.cast(pa.int64())
    # Division of integers rounds towards zero: up, before 1970.
    seconds = compute.divide(counts, units)
    rounded_up = compute.greater(compute.multiply(seconds, units), counts)
    return compute.subtract(seconds, rounded_up.cast(pa.int64()))
