"""Parts of a study: what they are known by, and when they are made again."""

from dataclasses import dataclass
from enum import Enum
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel
from scipy.sparse import coo_array, csr_array

from analyses.shared.measure import Measure, Measures
from harness.metrics.ndcg import ndcg
from harness.metrics.precision import precision
from harness.report.ledger import Ledger
from harness.study.input_files import split_files, world_files
from harness.study.parts import Description, Files, KeptPart, Key, Parts, content_key, digest_of
from harness.study.store import Store
from qrels import Ratings
from recommenders import find_system
from runs import Numbering
from runs.shared.progress import Cost

# Descriptions


def test_data_that_fit_json_are_described_as_they_are() -> None:
    for value in (None, True, False, 3, 2.5, "text"):
        assert Description({}).describe(value) == value
    assert digest_of(None) != digest_of("None")
    assert digest_of(1) != digest_of("1")
    assert digest_of(1) != digest_of(2)


def test_numbers_of_arrays_are_numbers() -> None:
    assert digest_of(np.int32(3)) == digest_of(3)
    assert digest_of(np.float32(0.5)) == digest_of(0.5)
    assert digest_of(np.bool_(True)) == digest_of(True)


def test_equal_arrays_have_one_description() -> None:
    assert digest_of(np.arange(6)) == digest_of(np.arange(6))
    grid = np.arange(6).reshape(2, 3)
    assert digest_of(grid[:, ::2]) == digest_of(np.array([[0, 2], [3, 5]]))


@pytest.mark.parametrize(
    "other",
    [
        np.array([0, 0, 0, 1]),
        np.zeros(3, np.int64),
        np.zeros((2, 2), np.int64),
        np.zeros(4, np.float64),
        np.zeros(8, np.int32),
    ],
)
def test_arrays_of_other_content_shape_or_type_differ(other: Any) -> None:
    """Several of them have the same bytes."""
    assert digest_of(np.zeros(4, np.int64)) != digest_of(other)


def test_an_array_is_hashed_once() -> None:
    digests: dict[int, tuple[Any, str]] = {}
    array, other = np.arange(3), np.arange(4)
    first, again, third = Description(digests).describe([array, array, other])
    assert first == again != third
    assert len(digests) == 2
    assert Description(digests).describe(array) == first
    assert len(digests) == 2
    # What was hashed is kept, so that no other array has its place in memory.
    assert {id(kept) for kept, _ in digests.values()} == {id(array), id(other)}


def test_sparse_matrices_are_described_by_their_entries() -> None:
    matrix = csr_array(np.array([[0, 2, 0], [1, 0, 3]]))
    assert digest_of(matrix) == digest_of(coo_array(matrix))
    moved = csr_array(np.array([[2, 0, 0], [1, 0, 3]]))
    changed = csr_array(np.array([[0, 2, 0], [1, 0, 4]]))
    wider = csr_array(np.array([[0, 2, 0, 0], [1, 0, 3, 0]]))
    other_rows = csr_array(np.array([[0, 2, 3], [1, 0, 0]]))
    for other in (moved, changed, wider, other_rows):
        assert digest_of(matrix) != digest_of(other)


def test_a_file_is_described_by_its_content(tmp_path: Path) -> None:
    for name, text in (("a", "one"), ("b", "one"), ("c", "two")):
        (tmp_path / name).write_text(text)
    assert digest_of(tmp_path / "a") == digest_of(tmp_path / "b")
    assert digest_of(tmp_path / "a") != digest_of(tmp_path / "c")
    assert Description({}).describe(tmp_path / "a") == sha256(b"one").hexdigest()


def folder(path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def test_a_folder_is_described_by_the_names_and_contents_of_its_files(tmp_path: Path) -> None:
    known = {"a": "one", "deep/b": "two"}
    first = folder(tmp_path / "first", known)
    assert digest_of(first) == digest_of(folder(tmp_path / "same", known))
    others = [
        {"a": "one", "deep/b": "three"},
        {"a": "one", "deep/c": "two"},
        {"a": "one", "b": "two"},
        {"a": "one"},
        {**known, "c": "three"},
    ]
    digests = {digest_of(folder(tmp_path / str(n), other)) for n, other in enumerate(others)}
    assert len(digests | {digest_of(first)}) == 6


def test_mappings_have_no_order_and_lists_have_one() -> None:
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    assert digest_of({"a": 1, "b": 2}) != digest_of({"a": 2, "b": 1})
    assert digest_of([1, 2]) == digest_of((1, 2))
    assert digest_of([1, 2]) != digest_of([2, 1])
    assert digest_of([1, 2]) != digest_of([[1, 2]])
    assert digest_of({1: "a"}) == digest_of({"1": "a"})


def test_sets_have_no_order() -> None:
    assert Description({}).describe({"c", "a", "b"}) == ["a", "b", "c"]
    assert Description({}).describe(frozenset([3, 1, 2])) == [1, 2, 3]
    assert digest_of({1, 2}) != digest_of({1, 3})


class Colour(Enum):
    RED = (1, 2)
    BLUE = (3, 4)


def test_members_of_enumerations_are_described_by_their_name() -> None:
    assert Description({}).describe(Colour.RED) == "RED"
    assert digest_of(Colour.RED) != digest_of(Colour.BLUE)


EVERY = [Measure("P", 5), Measure("P", 10), Measure("RR")]


def test_measures_are_described_with_their_roles() -> None:
    usual = digest_of(Measures(EVERY))
    assert usual == digest_of(Measures(EVERY))
    others = [
        Measures(EVERY[:2]),
        Measures(EVERY[::-1]),
        Measures(EVERY, reported=EVERY[:1]),
        Measures(EVERY, grid=EVERY[:1]),
        Measures(EVERY, lower_is_better_for=["RR"]),
    ]
    assert len({usual, *map(digest_of, others)}) == 6


IDS = Numbering.of(["a"])
RATINGS = Ratings(IDS, IDS, np.zeros(1, np.int32), np.zeros(1, np.int32), np.ones(1))


class Settings(BaseModel):
    depth: int = 3
    path: Path | None = None


@dataclass(frozen=True)
class Facts:
    name: str
    values: Any


def test_settings_are_described_by_their_fields(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    assert Description({}).describe(Settings()) == {"depth": 3, "path": None}
    assert digest_of(Settings()) != digest_of(Settings(depth=4))
    found = Description({}).describe(Settings(path=tmp_path / "a"))
    assert found == {"depth": 3, "path": sha256(b"one").hexdigest()}


def test_a_dataclass_is_described_by_its_fields_and_made_by_its_class() -> None:
    description = Description({})
    assert description.describe(Facts("a", [1, Facts("b", None)])) == {
        "name": "a",
        "values": [1, {"name": "b", "values": None}],
    }
    assert description.makers == [Facts, Facts]


def test_functions_and_classes_are_makers() -> None:
    description = Description({})
    assert description.describe([digest_of, Facts]) == [None, None]
    assert description.makers == [digest_of, Facts]


def test_a_metric_is_described_by_its_label_and_made_by_its_function() -> None:
    description = Description({})
    assert description.describe([precision, ndcg(gains="exp")]) == ["P", "nDCG(gains=exp)"]
    assert description.makers == [precision.function, ndcg(gains="exp").function]


def test_a_system_is_described_by_its_name_and_made_by_its_function() -> None:
    description = Description({})
    spec = find_system("random")
    assert description.describe({"a": spec}) == {"a": "random"}
    assert description.makers == [spec.make]


def test_data_have_no_makers() -> None:
    description = Description({})
    description.describe([1, "a", np.arange(3), Settings(), Colour.RED, {1, 2}, {"a": None}])
    assert description.makers == []


def test_a_partial_function_is_described_by_its_arguments() -> None:
    description = Description({})
    assert description.describe(partial(Facts, "a", values=2)) == {
        "arguments": ["a"],
        "keywords": {"values": 2},
    }
    assert description.makers == [Facts]


def test_what_has_no_description_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes has no description: b'a'"):
        digest_of([b"a"])


def test_content_is_hashed_without_the_order_of_keys() -> None:
    assert content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1})
    assert content_key({"a": 1}) != content_key({"a": 1}, {"a": 1})
    assert content_key() == sha256(b"[]").hexdigest()


# Parts in a folder


def made_of(*arguments: Any) -> Files:
    calls.append(arguments)
    return {"a/file.txt": repr(arguments).encode()}


calls: list[Any] = []


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    calls.clear()
    return Parts(Store(tmp_path / "study"))


def test_a_part_is_made_once(parts: Parts) -> None:
    parts.keep("part", made_of, 1, "b")
    parts.keep("part", made_of, 1, "b")
    assert calls == [(1, "b")]
    assert (parts.folder / "a/file.txt").read_text() == "(1, 'b')"
    assert parts.names == ["part"]


def test_a_part_is_made_again_of_other_arguments(parts: Parts) -> None:
    parts.keep("part", made_of, 1)
    parts.keep("part", made_of, 2)
    assert calls == [(1,), (2,)]
    assert (parts.folder / "a/file.txt").read_text() == "(2,)"


def test_other_makers_make_a_part_again(parts: Parts) -> None:
    made_by = []
    for makers in ([], [world_files], [world_files]):
        parts.keep("part", split_files, RATINGS, RATINGS, makers=makers)
        entry = Ledger(parts.folder).entry("part")
        assert entry is not None
        assert entry.made_by == parts.key(split_files, RATINGS, RATINGS, makers=makers).made_by
        made_by.append(entry.made_by["code"])
    assert made_by[0] != made_by[1] == made_by[2]


def test_makers_among_the_arguments_make_the_part_too(parts: Parts) -> None:
    alone = parts.key(split_files, None)
    with_maker = parts.key(split_files, world_files)
    assert alone.arguments == with_maker.arguments
    assert alone.made_by != with_maker.made_by
    assert with_maker.made_by == parts.key(split_files, None, makers=[world_files]).made_by
    assert parts.key(world_files, None).made_by != alone.made_by


def test_a_key_is_that_of_the_arguments(parts: Parts) -> None:
    assert parts.key(made_of, np.arange(3)) == parts.key(made_of, np.arange(3))
    assert parts.key(made_of, 1).arguments != parts.key(made_of, 1, 1).arguments
    assert parts.key(made_of, 1).arguments == digest_of(1)


def test_the_arguments_of_a_partial_function_count(parts: Parts) -> None:
    key = parts.key(partial(made_of, 1))
    assert key == parts.key(partial(made_of, 1))
    assert key.arguments != parts.key(partial(made_of, 2)).arguments
    assert key.made_by == parts.key(made_of).made_by


def test_a_part_is_lacking_until_it_is_written_and_when_it_is_damaged(parts: Parts) -> None:
    key = parts.key(made_of, 1)
    assert parts.lacks("part", key)
    parts.write("part", key, {"file": b"1"}, Cost(1.25, 0.5))
    assert not parts.lacks("part", key)
    assert parts.lacks("part", Key("another", key.made_by))
    assert parts.lacks("part", Key(key.arguments, {"code": "another"}))
    (parts.folder / "file").write_bytes(b"2")
    assert parts.lacks("part", key)


def test_what_a_part_cost_is_in_the_ledger(parts: Parts) -> None:
    parts.write("part", parts.key(made_of, 1), {"file": b"1"}, Cost(1.25, 0.5))
    entry = Ledger(parts.folder).entry("part")
    assert entry is not None
    assert (entry.seconds, entry.cpu_seconds) == (1.25, 0.5)


def test_parts_are_named_in_the_order_in_which_they_are_asked_for(parts: Parts) -> None:
    for name in ("b", "a", "b"):
        parts.build(name, parts.key(made_of, name), lambda: {})
    assert parts.names == ["b", "a"]


def test_parts_that_are_kept_are_known_by_their_files(parts: Parts) -> None:
    parts.write("part", parts.key(made_of, 1), {"file": b"1"}, Cost(0.0, 0.0))
    parts.write("other", parts.key(made_of, 1), {"else": b"2"}, Cost(0.0, 0.0))
    kept = parts.kept_parts("other", "missing", "part")
    assert kept == [
        KeptPart("other", {"else": sha256(b"2").hexdigest()}),
        KeptPart("part", {"file": sha256(b"1").hexdigest()}),
    ]
