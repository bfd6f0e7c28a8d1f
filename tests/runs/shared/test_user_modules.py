"""Modules that plug-in files import: from beside them, or from elsewhere on the path."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runs import InputError
from runs.shared import user_modules
from runs.shared.members import load_module

EAGER = "from gains import GAIN\ndef gain(): return GAIN\n"
INSIDE = "def gain():\n    from gains import GAIN\n    return GAIN\n"
INDIRECT = "from middle import gain\n"
IN_PACKAGE = "from weights.gains import GAIN\ndef gain(): return GAIN\n"
IN_NAMESPACE = "def gain():\n    import space.gains\n    return space.gains.GAIN\n"


@pytest.fixture(autouse=True)
def imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the path and the modules as they were."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(user_modules, "_plugin_folders", [])
    yield
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if user_modules.is_users_file(file):
            del sys.modules[name]


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def loaded(path: Path) -> Any:
    return load_module(path, description="metric plug-in")


@pytest.mark.parametrize(
    ("plugin", "module"),
    [
        (EAGER, "gains.py"),
        (INSIDE, "gains.py"),
        (INDIRECT, "gains.py"),
        (IN_PACKAGE, "weights/gains.py"),
        (IN_NAMESPACE, "space/gains.py"),
    ],
)
@pytest.mark.parametrize("is_beside", [True, False])
def test_what_a_plugin_imports_is_found_and_read_again_when_it_changes(
    plugin: str, module: str, is_beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    if not is_beside:
        monkeypatch.syspath_prepend(library)
    folder = tmp_path / "study" if is_beside else library
    write(folder, {module: "GAIN = 1.0\n", "middle.py": EAGER, "weights/__init__.py": ""})
    path = write(tmp_path / "study", {"mine.py": plugin}) / "mine.py"
    assert loaded(path).gain() == 1.0
    write(folder, {module: "GAIN = 0.5\n"})
    assert loaded(path).gain() == 0.5


def test_a_plugin_is_run_again_only_if_something_changed(tmp_path: Path) -> None:
    path = write(tmp_path, {"mine.py": EAGER, "gains.py": "GAIN = 1\n"}) / "mine.py"
    module = loaded(path)
    assert loaded(path) is module


def test_modules_of_the_project_and_of_python_come_before_those_beside_a_plugin(
    tmp_path: Path,
) -> None:
    others = dict.fromkeys(("runs.py", "json.py", "numpy.py"), "value = 1\n")
    path = write(tmp_path, {"mine.py": "import json, numpy, runs\n", **others}) / "mine.py"
    module = loaded(path)
    assert module.runs.InputError is InputError
    assert module.json.loads("1") == 1
    assert module.numpy.sqrt(4) == 2
    assert sys.path[-1] == str(tmp_path)


def test_each_plugin_imports_the_module_beside_it(tmp_path: Path) -> None:
    for name, gain in (("one", 1), ("two", 2)):
        write(tmp_path / name, {f"{name}.py": EAGER, "gains.py": f"GAIN = {gain}\n"})
    for name, gain in (("one", 1), ("two", 2), ("one", 1)):
        assert loaded(tmp_path / name / f"{name}.py").gain() == gain


def test_a_folder_that_the_user_put_on_the_path_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    path = write(tmp_path, {"mine.py": EAGER, "gains.py": "GAIN = 1\n"}) / "mine.py"
    other = write(tmp_path / "other", {"other.py": ""}) / "other.py"
    for plugin in (path, other, path):
        loaded(plugin)
        assert sys.path[0] == str(tmp_path)


@pytest.mark.parametrize("text", ["import sys\nsys.exit(3)\n", "import missing_module\n"])
def test_a_plugin_that_cannot_be_run_is_refused_with_its_line(text: str, tmp_path: Path) -> None:
    path = write(tmp_path, {"mine.py": text}) / "mine.py"
    with pytest.raises(InputError, match=r"mine.py, line [12]: the metric plug-in fails with"):
        loaded(path)
