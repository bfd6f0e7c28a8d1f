"""A log read block after block, so that its text is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.columns import Fail, id_kind, is_text
from qrels.interactions.table import LogTable
from runs import InputError, Numbering

BLOCK_ROWS: Final = 500_000


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a table: the number of the first, from 0, and Arrow arrays by name."""

    table: LogTable
    first: int
    columns: dict[str, Any]

    def fail(self, name: str) -> Fail:
        """Make errors about one column that name the row of the file."""
        return lambda row, finding: self.table.error(name, self.first + row, finding)


def read_blocks(
    table: LogTable, names: Sequence[str], *, rows: int = BLOCK_ROWS
) -> Iterator[Block]:
    """Read some columns, a number of rows at a time; a CSV file, which is small, at once.

    Text of a Parquet file that is kept in dictionaries is left there.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    import pyarrow as pa

    for part in table.parts:
        yield from read_blocks(part, names, rows=rows)
    if table.parts:
        return
    if table.file is None:
        yield Block(table, 0, {name: table.column(name) for name in names})
        return
    first = 0
    try:
        for batch in _batches(table, names, rows):
            yield Block(table, first, dict(zip(names, batch.select(names).columns, strict=True)))
            first += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{table.path}: cannot be read as Parquet ({error}).") from error


def _batches(table: LogTable, names: Sequence[str], rows: int) -> Any:
    from pyarrow import parquet

    kinds = table.file.schema_arrow
    texts = [name for name in names if is_text(kinds.field(name).type)]
    # A file that is mapped counts as memory of the process, and buffers ahead are that of all rows.
    file = parquet.ParquetFile(table.path, read_dictionary=texts, pre_buffer=False)
    return file.iter_batches(batch_size=rows, columns=list(names))


@dataclass(frozen=True, eq=False)
class IdColumn:
    """A column of ids as it is gathered: four bytes a row, and every id about once a block.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pathlib import Path
    >>> column = IdColumn()
    >>> table = LogTable(Path("log.csv"), ("user",))
    >>> column.add(Block(table, 0, {"user": pa.array(["bob", "ann"])}), "user")
    >>> column.add(Block(table, 2, {"user": pa.array(["cid", "bob"])}), "user")
    >>> numbering, numbers = column.numbered()
    >>> numbering.ids.tolist(), numbers.tolist()
    (['ann', 'bob', 'cid'], [1, 0, 2, 1])
    """

    chunks: list[Any] = field(default_factory=list)

    def add(self, block: Block, name: str) -> None:
        """Gather the ids of a block; see `encoded_ids` for what is refused."""
        self.chunks.append(encoded_ids(block.columns[name], block.fail(name)))

    def numbered(self) -> tuple[Numbering, NDArray[np.int32]]:
        """Number the ids that occur, and give the number of every row."""
        import pyarrow as pa

        shared = pa.chunked_array(self.chunks).unify_dictionaries()
        codes = np.concatenate([chunk.indices.to_numpy() for chunk in shared.chunks])
        return _in_order(shared.chunk(0).dictionary, codes)


def encoded_ids(column: Any, fail: Fail) -> Any:
    """Give ids as codes in a dictionary of text.

    Raises
    ------
    InputError
        If they are neither text nor whole numbers, or one is missing or empty.
    """
    import pyarrow as pa

    id_kind(column, fail)
    codes = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    ids = codes.dictionary.cast(pa.large_string())
    missing = _are_missing(codes, ids)
    if missing.any():
        raise fail(int(missing.argmax()), "an id must not be empty.")
    return pa.DictionaryArray.from_arrays(codes.indices.cast(pa.int32()), ids)


def _are_missing(codes: Any, ids: Any) -> NDArray[np.bool_]:
    import pyarrow.compute as compute

    places = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    empty = np.flatnonzero(compute.equal(ids, "").to_numpy(zero_copy_only=False).astype(np.bool_))
    missing: NDArray[np.bool_] = places < 0
    return missing | np.isin(places, empty) if len(empty) else missing


def _in_order(ids: Any, codes: NDArray[np.int32]) -> tuple[Numbering, NDArray[np.int32]]:
    """Number the ids that have a code in the order of their text."""
    import pyarrow.compute as compute

    used = np.flatnonzero(np.bincount(codes, minlength=len(ids)))
    # Arrow sorts the bytes of UTF-8, which is the order of code points.
    ordered = used[compute.array_sort_indices(ids.take(used)).to_numpy()]
    numbers = np.empty(len(ids), dtype=np.int32)
    numbers[ordered] = np.arange(len(ordered), dtype=np.int32)
    return Numbering(np.array(ids.take(ordered).to_pylist(), dtype=np.str_)), numbers[codes]
