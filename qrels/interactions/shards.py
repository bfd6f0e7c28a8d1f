"""A log in shards of its users, each of which is small enough to be read by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import joblib
import numpy as np
from numpy.typing import NDArray

from qrels.interactions.blocks import Block, encoded_ids, read_blocks
from qrels.interactions.table import ORIGIN, LogTable
from runs import InputError
from runs.shared.parallel import LOCAL, processes, processes_on_cluster

BYTES_PER_VALUE: Final = 100
"""Memory that a value of the longest column takes while a log is read, ids included."""

SHARE_OF_MEMORY: Final = 4
"""A log that takes more than one in so many bytes of free memory is read in shards."""


SHARDS_ON_CLUSTER: Final = 16
"""Shards for the workers of a cluster, if each has a million values or more."""

MOST_SHARDS: Final = 500
"""Files that a process writes at once, of which systems allow about a thousand."""


@dataclass(frozen=True)
class Reading:
    """How a log is read.

    Parameters
    ----------
    shards
        Parts of the users; None for as many as memory asks for.
    scratch
        The folder that has them while they are needed; None for one of the system.
    dask
        Scheduler of a cluster that reads them.
    n_jobs
        Workers here that read them otherwise.
    """

    shards: int | None = None
    scratch: Path | None = None
    dask: str | None = None
    n_jobs: int = 1

    def n_shards(self, *tables: LogTable) -> int:
        """Say into how many shards logs are cut for memory to hold those that are read at once."""
        from psutil import virtual_memory

        n_values = sum(map(longest_column, tables))
        need, room = BYTES_PER_VALUE * n_values, int(virtual_memory().available) // SHARE_OF_MEMORY
        least = 1 if self.dask is None else min(n_values // 1_000_000, SHARDS_ON_CLUSTER)
        needed = 1 if need <= room else -(-need * self.n_jobs // room)
        asked = min(self.shards or max(needed, least), MOST_SHARDS)
        return min(asked, n_values) if n_values else asked

    @contextmanager
    def apart(self) -> Iterator[Path]:
        """Give a folder for shards, which goes when the work is done, and work on the cluster.

        Raises
        ------
        InputError
            If there is no such folder, or a cluster elsewhere has none that its workers see.
        """
        if self.scratch is None and self.dask not in (None, LOCAL):
            raise InputError(
                "the workers of a cluster share the shards of a log: say --scratch, with a folder "
                "that all of them see."
            )
        if self.scratch is not None and not self.scratch.is_dir():
            raise InputError(f"--scratch {self.scratch}: there is no such folder.")
        with (
            TemporaryDirectory(prefix="harness-shards-", dir=self.scratch) as folder,
            processes_on_cluster(self.dask),
        ):
            yield Path(folder).resolve()


def longest_column(table: LogTable) -> int:
    """Count the values of the longest column: rows, or what is in lists; 0 for CSV."""
    if table.file is None:
        return sum(map(longest_column, table.parts))
    metadata = table.file.metadata
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return sum(
        max(group.column(number).num_values for number in range(group.num_columns))
        for group in groups
    )


def cut_in_shards(
    table: LogTable,
    names: Sequence[str],
    folder: Path,
    *,
    shards: int,
    people: Mapping[str, str] | None = None,
    n_jobs: int,
) -> list[Path]:
    """Write the rows of each shard of users to a folder of Parquet files, in their order.

    Of a folder every file is read by itself, in processes or on a cluster, block by block. Whose
    rows are where depends on the ids of users alone, of people if they are said. Errors about rows
    of a shard name the file and row of the log.

    Raises
    ------
    InputError
        If a file cannot be read, or a user has no id.
    """
    chosen = [name for name in names if name in table]
    tasks = (
        joblib.delayed(_cut)(part.path, number, chosen, folder, shards, people)
        for number, part in enumerate(table.parts or (table,))
    )
    for _ in processes(n_jobs, return_as="generator")(tasks):
        pass
    return [_shard(folder, number) for number in range(shards)]


def _cut(
    path: Path,
    part: int,
    names: Sequence[str],
    folder: Path,
    shards: int,
    people: Mapping[str, str] | None,
) -> None:
    """Cut one file."""
    import pyarrow as pa
    from pyarrow import parquet

    with ExitStack() as stack:
        writers: list[Any] = []
        for block in read_blocks(LogTable.open(path), names):
            shard = _shard_of_rows(block, shards, people)
            order = np.argsort(shard, kind="stable")
            rows = pa.table({name: _plain(column) for name, column in block.columns.items()})
            rows = rows.append_column(ORIGIN, pa.array(np.arange(len(rows)) + block.first))
            rows = rows.take(order).replace_schema_metadata({ORIGIN: str(path)})
            for number in range(len(writers), shards):
                target = _shard(folder, number) / f"{part:06}.parquet"
                target.parent.mkdir(parents=True, exist_ok=True)
                writers.append(stack.enter_context(parquet.ParquetWriter(target, rows.schema)))
            ends = np.searchsorted(shard[order], np.arange(shards + 1))
            for writer, (first, last) in zip(writers, pairwise(ends.tolist()), strict=True):
                writer.write_table(rows.slice(first, last - first))


def _shard(folder: Path, number: int) -> Path:
    return folder / f"shard-{number:04}"


def _plain(column: Any) -> Any:
    """Give a column without the dictionary of its block, most of which no shard has."""
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _shard_of_rows(
    block: Block, shards: int, people: Mapping[str, str] | None
) -> NDArray[np.integer]:
    """Give the shard of the user of each row."""
    codes = encoded_ids(block.columns["user"], block.fail("user"))
    ids = codes.dictionary.to_pylist()
    return (hashed([(people or {}).get(one, one) for one in ids]) % shards)[codes.indices]


def hashed(ids: Sequence[str]) -> NDArray[np.uint64]:
    """Hash ids, faster than for draws, of which nothing that is measured may depend on these."""
    from pandas.util import hash_array

    return hash_array(np.array(ids, dtype=object), categorize=False)
