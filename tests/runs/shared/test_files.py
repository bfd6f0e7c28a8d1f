"""Files: where they may be written by names from data, and what is read of them."""

import errno
import gzip
import os
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from runs import InputError
from runs.shared.files import (
    parquet_bytes,
    path_within,
    read_bytes,
    read_within_memory,
    write_atomically,
    write_within,
)

INSIDE = ["a.csv", "tables/a.csv", "runs/a b.run", "é/ü=@.npz", "..a", "a..b/c"]
OUTSIDE = ["", ".", "..", "../a", "a/../../b", "a/..", "/a", "//host/a", "C:a", "C:/a", r"a\b"]
UNFIT = ["a\0b", "a\nb", "\x1b[2J", "\ud800"]


@pytest.mark.parametrize("name", INSIDE)
def test_a_name_within_the_folder_is_written_there(tmp_path: Path, name: str) -> None:
    assert write_within(tmp_path, name, b"1") == tmp_path / name
    assert (tmp_path / name).read_bytes() == b"1"


@pytest.mark.parametrize("name", OUTSIDE + UNFIT)
def test_any_other_name_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    target = tmp_path / "target"
    with pytest.raises(InputError, match="is not in the folder"):
        write_within(target, name, b"1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["link/a.csv", "link", "loop/a.csv"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    target.mkdir()
    elsewhere.mkdir()
    (target / "link").symlink_to(elsewhere)
    (target / "loop").symlink_to("loop")
    with pytest.raises(InputError, match="is not in the folder"):
        path_within(target, name)


def test_a_folder_may_be_a_link_itself_and_have_links_within(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/runs").mkdir()
    (tmp_path / "real/again").symlink_to("runs")
    (tmp_path / "study").symlink_to("real")
    write_within(tmp_path / "study", "again/a.run", b"1")
    assert (tmp_path / "real/runs/a.run").read_bytes() == b"1"


def test_folders_that_are_missing_are_made_and_no_part_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.csv"
    write_atomically(path, b"1")
    write_atomically(path, b"22")
    assert path.read_bytes() == b"22"
    assert [each.name for each in path.parent.iterdir()] == ["c.csv"]


def test_a_file_that_cannot_be_written_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    write_atomically(path, b"1")

    def fail(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(path, b"2")
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"1"
    assert list(tmp_path.iterdir()) == [path]


def test_a_space_is_no_control_character(tmp_path: Path) -> None:
    assert path_within(tmp_path, "a b") == tmp_path / "a b"
    with pytest.raises(InputError, match="is not in the folder"):
        path_within(tmp_path, "a\x1fb")


def test_a_parquet_file_is_compressed_if_nothing_else_is_said() -> None:
    def compression(**options: Any) -> str:
        content = parquet_bytes(pa.table({"a": [1]}), **options)
        return str(parquet.read_metadata(BytesIO(content)).row_group(0).column(0).compression)

    assert compression() == "ZSTD"
    assert compression(compression="snappy") == "SNAPPY"


@pytest.fixture
def room_of_100_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let free memory be 800 bytes, of which a file that is read takes eight times its length."""
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=807))


def read(content: bytes, size: int | None = None) -> bytes:
    return read_within_memory("a", BytesIO(content), len(content) if size is None else size)


@pytest.mark.usefixtures("room_of_100_bytes")
@pytest.mark.parametrize("n_bytes", [1, 99, 100])
def test_a_file_may_be_as_long_as_there_is_room(n_bytes: int) -> None:
    content = bytes(range(n_bytes))
    assert read(content) == content
    assert read(content, size=0) == content
    assert read(gzip.compress(bytes(n_bytes))) == bytes(n_bytes)


@pytest.mark.usefixtures("room_of_100_bytes")
def test_several_packed_files_are_read_one_after_the_other() -> None:
    parts = [bytes(20), bytes(range(40)), bytes(40)]
    assert read(b"".join(map(gzip.compress, parts[:2]))) == parts[0] + parts[1]
    with pytest.raises(InputError, match="or more"):
        read(gzip.compress(bytes(100)) + gzip.compress(bytes(100)))


@pytest.mark.usefixtures("room_of_100_bytes")
@pytest.mark.parametrize(
    ("content", "size"),
    [(bytes(101), None), (bytes(101), 0), (b"", 101), (gzip.compress(bytes(101)), None)],
)
def test_a_file_that_is_longer_is_refused(content: bytes, size: int | None) -> None:
    with pytest.raises(InputError, match=r"^a: a file may have at most 0\.0 MB unpacked"):
        read(content, size)


def test_a_file_is_refused_by_the_length_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it has 3 MB, and there is room for 2.5 MB."""
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=20_000_000))
    content = gzip.compress(bytes(3_000_000))
    with pytest.raises(InputError) as refused:
        read(content)
    assert str(refused.value) == (
        "a: a file may have at most 2.5 MB unpacked, by the memory that is free now; it has 3.0 MB "
        "according to its last bytes, or is cut short."
    )


@pytest.mark.usefixtures("room_of_100_bytes")
def test_last_bytes_that_say_what_cannot_be_are_not_believed() -> None:
    """At most 1,032 bytes are made of one: here they say 4 GB, and the file is cut short."""
    content = gzip.compress(bytes(range(50)))[:-4] + b"\xff" * 4
    with pytest.raises(OSError, match="Incorrect length of data"):
        read(content)


def test_memory_that_runs_out_is_named() -> None:
    class Full(BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise MemoryError

    with pytest.raises(InputError, match="memory ran out while the file was read"):
        read_within_memory("a", Full(), 1)


def test_small_files_need_no_look_at_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small are those below 65,536 bytes that are not packed."""
    path = tmp_path / "a"
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=0))
    for content, is_small in ((b"1" * 65_535, True), (b"1" * 65_536, False), (PACKED, False)):
        path.write_bytes(content)
        with nullcontext() if is_small else pytest.raises(InputError, match=r"at most 0\.0 MB"):
            assert read_bytes(path) == content


PACKED = gzip.compress(b"1")


@pytest.mark.parametrize(
    ("content", "finding"),
    [(b"", "is empty"), (b" \n", "is empty"), (PACKED[:-9], "cannot be read"), (None, "not exist")],
)
def test_a_file_without_content_is_refused(
    tmp_path: Path, content: bytes | None, finding: str
) -> None:
    path = tmp_path / "a"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=rf"a: the file .*{finding}"):
        read_bytes(path)


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(PACKED)
    assert read_bytes(tmp_path / "a") == b"1"
