import json
from pathlib import Path

import pytest

from harness.report.ledger import LEDGER
from harness.study.store import Store, with_portable_paths
from runs import InputError
from runs.shared.files import write_atomically
from runs.shared.progress import Cost

BY = {"code": "1", "numpy": "2.0"}
FILES = {"tables/a.csv": b"1\n", "tables/b.csv": b"2\n"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "study")


def write(store: Store, files: dict[str, bytes], *, part: str = "part", key: str = "key") -> None:
    store.write(part, key, files, cost=Cost(0.0, 0.0), made_by=BY)


def test_a_written_part_is_complete(store: Store) -> None:
    write(store, FILES)
    assert store.is_complete("part", "key", BY)


def test_a_part_made_from_something_else_is_not_complete(store: Store) -> None:
    write(store, FILES)
    assert not store.is_complete("part", "other key", BY)


@pytest.mark.parametrize("by", [{}, BY | {"code": "2"}, BY | {"numpy": "2.1"}])
def test_a_part_made_by_something_else_is_not_complete(store: Store, by: dict[str, str]) -> None:
    write(store, FILES)
    assert not store.is_complete("part", "key", by)


def test_a_part_with_a_changed_file_is_not_complete(store: Store) -> None:
    write(store, FILES)
    (store.folder / "tables/a.csv").write_bytes(b"7\n")
    assert not store.is_complete("part", "key", BY)


@pytest.mark.parametrize("page", ["", "{", "null", '{"key": "key"}'])
def test_a_part_with_a_damaged_page_is_not_complete(store: Store, page: str) -> None:
    write(store, FILES)
    (store.folder / LEDGER / "part.json").write_text(page)
    assert not store.is_complete("part", "key", BY)


def test_a_file_that_a_part_no_longer_has_is_removed(store: Store) -> None:
    write(store, FILES)
    write(store, {"tables/a.csv": b"3\n"})
    assert [path.name for path in (store.folder / "tables").iterdir()] == ["a.csv"]


def test_files_of_parts_that_left_are_removed(store: Store) -> None:
    write(store, {"runs/a.run": b"1\n"}, part="run-a")
    write(store, {"runs/b.run": b"1\n"}, part="run-b")
    store.remove_others({"run-b"})
    assert [path.name for path in (store.folder / "runs").iterdir()] == ["b.run"]


def test_a_study_is_no_longer_finished_when_a_part_is_written(store: Store) -> None:
    store.folder.mkdir()
    (store.folder / "manifest.json").write_text("{}")
    write(store, FILES)
    assert not (store.folder / "manifest.json").exists()


def test_changed_and_lost_files_are_named(store: Store) -> None:
    write(store, FILES | {"tables/c.csv": b"3\n"})
    (store.folder / "tables/a.csv").write_bytes(b"7\n")
    (store.folder / "tables/b.csv").unlink()
    assert list(store.ledger.changed_files()) == ["tables/a.csv", "tables/b.csv"]


def test_files_of_a_part_that_was_never_finished_are_known(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_at_b(path: Path, content: bytes) -> None:
        if path.name == "b.csv":
            raise KeyboardInterrupt
        write_atomically(path, content)

    monkeypatch.setattr("harness.study.store.write_atomically", fail_at_b)
    with pytest.raises(KeyboardInterrupt):
        write(store, FILES)
    store.remove_others(set())
    assert list((store.folder / "tables").iterdir()) == []


def test_a_part_that_was_never_finished_is_not_complete(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, FILES)
    monkeypatch.setattr(Path, "replace", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(store, FILES, key="new")
    assert not store.is_complete("part", "new", BY)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_half_written_files_of_a_killed_process_are_swept_up(store: Store) -> None:
    debris = store.folder / "tables" / ".a.csv.01234567.partial"
    debris.parent.mkdir(parents=True)
    debris.touch()
    (store.folder / LEDGER).mkdir()
    with store.locked():
        assert not debris.exists()


def test_a_folder_is_held_by_one_at_a_time(store: Store) -> None:
    second = Store(store.folder)
    with store.locked(), pytest.raises(InputError, match="another process is using"):
        second.locked().__enter__()


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match="not empty and holds no study"):
        Store(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file" / "study")
    with pytest.raises(InputError, match="cannot be made"):
        store.locked().__enter__()


OUTSIDE = ["../mine.txt", "tables/../../mine.txt", "/mine.txt", "", ".", "..", "a\0b"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_part_whose_files_lead_out_of_the_folder_is_not_written(store: Store, name: str) -> None:
    with pytest.raises(InputError, match="is not in the folder"):
        write(store, {name: b"1"})


def forge(store: Store, name: str) -> None:
    """Write a page of the ledger that names a file."""
    page = store.folder / LEDGER / "part.json"
    page.parent.mkdir(parents=True)
    page.write_text(json.dumps({"key": "", "files": {name: ""}, "seconds": 0, "cpu_seconds": 0}))


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_page_that_names_files_outside_is_refused(store: Store, name: str) -> None:
    forge(store, name)
    with pytest.raises(InputError, match=r"part.json: the file .* No study wrote this"):
        store.ledger.entry("part")


def test_files_that_a_link_leads_out_to_are_not_removed(store: Store, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "a.csv").touch()
    store.folder.mkdir()
    (store.folder / "tables").symlink_to(mine)
    forge(store, "tables/a.csv")
    with pytest.raises(InputError):
        store.remove_others(set())
    assert (mine / "a.csv").exists()


@pytest.mark.parametrize("link", [LEDGER, f"{LEDGER}/lock"])
def test_a_lock_that_a_link_leads_out_to_is_not_touched(
    store: Store, tmp_path: Path, link: str
) -> None:
    mine = tmp_path / "mine"
    place = store.folder / link
    place.parent.mkdir(parents=True)
    if link == LEDGER:
        mine.mkdir()
    else:
        mine.write_text("mine")
    place.symlink_to(mine)
    with pytest.raises(InputError, match="is not in the folder"), store.locked():
        pass
    assert mine.is_dir() or mine.read_text() == "mine"
    assert not mine.is_dir() or list(mine.iterdir()) == []


def test_files_that_were_changed_or_lost_are_named(store: Store) -> None:
    write(store, FILES)
    (store.folder / "tables/a.csv").write_bytes(b"7\n")
    (store.folder / "tables/b.csv").unlink()
    assert list(store.ledger.changed_files()) == ["tables/a.csv", "tables/b.csv"]


@pytest.mark.parametrize(
    ("study", "expected"), [("home/study", "../data.csv"), ("other/study", "~/data.csv")]
)
def test_a_path_counts_from_home_only_for_a_study_that_is_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    named = {"path": str(tmp_path / "home" / "data.csv")}
    assert with_portable_paths(named, tmp_path / study) == {"path": expected}
