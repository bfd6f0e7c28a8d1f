"""What ``import harness`` gives."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import harness
from tests.harness.small import ROOT

PACKAGES = ("harness", "recommenders", "runs", "qrels", "analyses")


@pytest.mark.parametrize("name", harness.__all__)
def test_every_name_is_that_of_its_home(name: str) -> None:
    found = getattr(harness, name)
    assert found is getattr(import_module(harness._HOMES[name]), name)
    assert name in dir(harness)


def test_every_home_has_its_name_in_the_front() -> None:
    assert sorted(harness._HOMES) == sorted(harness.__all__)


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'harness' has no attribute 'scores'"):
        getattr(harness, "scores")  # noqa: B009


def test_importing_the_front_imports_nothing_behind_it() -> None:
    code = (
        "import sys, harness; "
        "print({'numpy', 'pydantic', 'click', 'runs', 'recommenders'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.stdout == "set()\n", answer.stderr


def test_another_package_in_the_place_of_ours_is_said(tmp_path: Path) -> None:
    (tmp_path / "recommenders").mkdir()
    (tmp_path / "recommenders/__init__.py").touch()
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; import harness"
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert "the harness needs its own package `recommenders`" in answer.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_the_types_of_every_package_are_for_others_too(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()
