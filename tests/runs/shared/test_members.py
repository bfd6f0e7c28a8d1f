"""Members of lists: declared in files, installed, loaded from files of users."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from runs import InputError
from runs.shared.members import (
    Member,
    find_member,
    import_modules,
    installed_entry_points,
    load_installed,
    load_module,
    user_code,
)

if TYPE_CHECKING:
    from runs.shared.settings import Section


def weigh(settings: "Section", missing: "Unknown") -> float:  # type: ignore[name-defined] # noqa: F821
    """Weigh items.

    More about it.
    """
    return 1.0


class Declared(Member[Any]):
    """A member of a list of this file."""


WEIGH: Declared = Declared("weigh", "a paper", weigh)


def test_a_member_says_what_its_function_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the annotation of the settings is resolved."""
    monkeypatch.setitem(globals(), "Section", dict)
    assert WEIGH.summary == "Weigh items."
    assert WEIGH.settings is dict
    assert Declared("none", "a paper", lambda: None).summary == ""


def test_an_annotation_that_is_no_text_is_taken_as_it_is() -> None:
    def plain(settings: Any) -> None: ...

    plain.__annotations__["settings"] = list
    assert Declared("plain", "a paper", plain).settings is list


def test_a_module_declares_what_it_or_its_modules_make() -> None:
    def made_in(module: str) -> Callable[[], None]:
        def make() -> None: ...

        make.__module__ = module
        return make

    own, within, other, similar = (
        Declared(name, "a paper", made_in(module))
        for name, module in zip("abcd", ("pack", "pack.part", "elsewhere", "packs"), strict=True)
    )
    module = ModuleType("pack")
    vars(module).update(own=own, within=within, other=other, similar=similar, number=3)
    assert Declared.declared_in(module) == [own, within]


def test_members_of_a_folder_are_listed_by_name_without_folders_within() -> None:
    from recommenders.shared.system import SystemSpec

    names = [module.__name__ for module in import_modules("recommenders")]
    assert "recommenders.ease" in names
    assert "recommenders.kernels" not in names
    systems = SystemSpec.declared_below("recommenders")
    assert [*systems] == sorted(systems)
    assert systems["ease"].name == "ease"


class Point:
    """An entry point of a distribution of version 1."""

    def __init__(self, name: str, owner: str | None, found: Any) -> None:
        self.name = name
        self.value = f"{owner}.members:{name}"
        self.dist = None if owner is None else SimpleNamespace(name=owner, version="1")
        self.found = found

    def load(self) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Point]]:
    """Entry points of all groups, to be filled."""
    found: list[Point] = []
    groups: list[str] = []

    def entry_points(*, group: str) -> list[Point]:
        groups.append(group)
        return found

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    installed_entry_points.cache_clear()
    yield found
    installed_entry_points.cache_clear()
    assert set(groups) <= {"metric_robustness.metrics"}


def test_an_installed_member_is_loaded_by_its_name(points: list[Point]) -> None:
    points += [Point("weigh", "mine", WEIGH), Point("weigh", "mine", WEIGH)]
    assert [*installed_entry_points("metrics")] == ["weigh"]
    assert load_installed("metrics", "weigh", Declared) is WEIGH
    assert load_installed("metrics", "other", Declared) is None


def test_a_name_that_two_distributions_claim_is_refused(points: list[Point]) -> None:
    points += [Point("weigh", "your", WEIGH), Point("weigh", "mine", WEIGH)]
    with pytest.raises(InputError, match="claimed by two distributions, mine 1 and your 1"):
        load_installed("metrics", "weigh", Declared)


@pytest.mark.parametrize("found", [3, Declared("other", "a paper", weigh)])
def test_an_installed_thing_must_be_declared_under_its_name(
    points: list[Point], found: Any
) -> None:
    points.append(Point("weigh", "mine", found))
    with pytest.raises(InputError, match=r"mine\.members:weigh, which mine 1 installs as 'weigh'"):
        load_installed("metrics", "weigh", Declared)


def test_a_thing_without_a_name_is_called_as_it_is_installed(points: list[Point]) -> None:
    points.append(Point("weigh", None, weigh))
    found = load_installed("metrics", "weigh", type(weigh))
    assert found is weigh


def test_an_installed_member_that_cannot_be_imported_is_named(points: list[Point]) -> None:
    points.append(Point("weigh", "mine", ImportError("no module")))
    with pytest.raises(InputError, match="fails with ImportError: no module"):
        load_installed("metrics", "weigh", Declared)


def test_members_of_the_folder_come_before_installed_ones(points: list[Point]) -> None:
    points += [Point("weigh", "mine", 3), Point("wait", "mine", Declared("wait", "", weigh))]
    assert find_member("metrics", "weigh", {"weigh": WEIGH}, Declared) is WEIGH
    assert find_member("metrics", "wait", {"weigh": WEIGH}, Declared).name == "wait"
    with pytest.raises(InputError, match="no metric is called 'waits'; did you mean 'wait'"):
        find_member("metrics", "waits", {"weigh": WEIGH}, Declared)


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_run_once_until_it_changes(tmp_path: Path) -> None:
    path = write(tmp_path, "value = object()\n")
    first = load_module(path, description="plug-in")
    assert load_module(path, description="plug-in") is first
    write(tmp_path, "value = 2\n")
    assert load_module(path, description="plug-in").value == 2
    assert sys.modules["harness_plugin_mine"].value == 2
    assert first.__file__ == str(path)


def test_a_file_that_changed_within_a_second_is_run_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    for value in range(3):
        path = write(tmp_path, f"value = {value}\n")
        assert load_module(path, description="file").value == value
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_missing_or_no_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"mine\.py: the metric plug-in does not exist"):
        load_module(tmp_path / "mine.py", description="metric plug-in")
    with pytest.raises(InputError, match=r"mine\.txt: an analysis plug-in must be a Python file"):
        load_module(write(tmp_path, "", "mine.txt"), description="analysis plug-in")


@pytest.mark.parametrize(
    ("text", "line", "finding"),
    [
        ("value = 1\n\nvalue = = 2\n", 3, "SyntaxError"),
        ("def f():\n    return 1 / 0\n\n\nf()\n", 2, "ZeroDivisionError: division by zero"),
        ("import json\njson.loads('')\n", 2, "JSONDecodeError"),
        ("\nimport broken\n", 2, "SyntaxError"),
        ("\0", 1, ""),
    ],
)
def test_the_last_line_of_the_file_that_fails_is_named(
    tmp_path: Path, text: str, line: int, finding: str
) -> None:
    write(tmp_path, "\n\n\n(", "broken.py")
    path = write(tmp_path, text)
    with pytest.raises(
        InputError, match=rf"mine\.py, line {line}: the plug-in fails with {finding}"
    ):
        load_module(path, description="plug-in")


def test_code_of_users_that_fails_is_named_with_its_place_and_notes() -> None:
    error = ValueError("odd")
    error.add_note("in block 3")
    with pytest.raises(InputError) as refused, user_code("the metric 'mine'"):
        raise error
    message = str(refused.value)
    assert message.startswith(f"the metric 'mine' fails in {__file__}, line ")
    assert message.endswith(": ValueError: odd (in block 3)")


def test_code_of_users_is_named_where_it_fails_however_deep() -> None:
    def innermost() -> None:
        raise ValueError("odd")

    def between() -> None:
        innermost()

    line = innermost.__code__.co_firstlineno + 1
    with (
        pytest.raises(InputError, match=f"line {line}: ValueError"),
        user_code("the metric 'mine'"),
    ):
        between()


def test_what_code_of_users_refuses_itself_is_told_as_it_is() -> None:
    with pytest.raises(InputError, match=r"^odd$"), user_code("the metric 'mine'"):
        raise InputError("odd")
