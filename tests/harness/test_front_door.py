"""What ``import harness`` gives."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from shutil import copytree

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import harness
from tests.harness.small import (
    METRICS,
    NO_ANALYSES,
    ROOT,
    SYSTEMS,
    TREC,
    TREC_METRICS,
    WORLD,
    write_collection,
)

MISUSED = 2
PACKAGES = ("harness", "recommenders", "runs", "qrels", "analyses")


@pytest.mark.parametrize("name", harness.__all__)
def test_every_name_is_that_of_its_home(name: str) -> None:
    found = getattr(harness, name)
    assert found is getattr(import_module(harness._MODULE_OF[name]), name)
    assert name in dir(harness)


def test_every_home_has_its_name_in_the_front() -> None:
    assert sorted(harness._MODULE_OF) == sorted(harness.__all__)


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


def python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    found = f"import sys; sys.path[:0] = [{str(cwd)!r}, {str(ROOT)!r}]\n{code}"
    return subprocess.run([sys.executable, "-c", found], cwd=cwd, capture_output=True, text=True)


@pytest.mark.slow
def test_another_package_in_the_place_of_ours_is_said(tmp_path: Path) -> None:
    (tmp_path / "recommenders").mkdir()
    (tmp_path / "recommenders/__init__.py").touch()
    answer = python("import harness; harness.run_study", tmp_path)
    assert "the harness needs its own package `recommenders`" in answer.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("package", "command"), [("recommenders", "systems"), ("runs", "metrics")])
def test_commands_say_in_a_sentence_which_package_is_hidden(
    package: str, command: str, tmp_path: Path
) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    answer = python(f"from harness.cli.main import main; main([{command!r}])", tmp_path)
    assert answer.returncode == MISUSED
    assert answer.stderr.startswith(f"Error: the harness needs its own package `{package}` (")
    assert str(tmp_path) in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


@pytest.mark.slow
def test_what_trains_nothing_works_beside_another_package_recommenders(tmp_path: Path) -> None:
    (tmp_path / "recommenders").mkdir()
    (tmp_path / "recommenders/__init__.py").write_text('__title__ = "Recommenders"')
    (tmp_path / "test.qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 2.0 a\n2 Q0 a 1 2.0 a\n2 Q0 b 2 1.0 a\n")
    arguments = ["evaluate", "--qrels", "test.qrels", "-m", "RR@5", "a.run"]
    command = python(f"from harness.cli.main import main; main({arguments})", tmp_path)
    assert command.returncode == 0, command.stderr
    assert ".7500" in command.stdout
    code = (
        "sys.ps1 = ''; import harness\n"
        "scores = harness.score('a.run', 'test.qrels', ['RR@5'])\n"
        "print(scores.values.mean(), harness.ir_measure('RR@5'))"
    )
    notebook = python(code, tmp_path)
    assert notebook.stdout == "0.75 RR@5\n", notebook.stderr


@pytest.mark.slow
def test_a_script_of_the_user_that_hides_a_package_is_to_be_renamed(tmp_path: Path) -> None:
    (tmp_path / "runs.py").touch()
    answer = python("sys.ps1 = ''; import harness", tmp_path)
    assert f"finds {tmp_path / 'runs.py'}. Rename that file" in answer.stderr


@pytest.mark.slow
def test_all_works_where_another_package_recommenders_was_installed_later(tmp_path: Path) -> None:
    """Microsoft's package leaves our other modules beside its own file."""
    for name in PACKAGES:
        # What was compiled is copied along, and found by the times of its sources.
        copytree(ROOT / name, tmp_path / name)
    (tmp_path / "recommenders/__init__.py").write_text('__title__ = "Recommenders"')
    (tmp_path / "recommenders/datasets").mkdir()
    (tmp_path / "recommenders/datasets/__init__.py").write_text("raise ImportError")
    write_collection(tmp_path)
    (tmp_path / "trained.toml").write_text(WORLD + SYSTEMS + METRICS + NO_ANALYSES)
    (tmp_path / "given.toml").write_text(TREC + TREC_METRICS + NO_ANALYSES)
    code = (
        "from harness.cli.main import main\n"
        "for name in ('trained', 'given'):\n"
        "    main(['run', f'{name}.toml', '--jobs', '1', '--output', name], standalone_mode=False)"
    )
    answer = python(code, tmp_path)
    assert answer.returncode == 0, answer.stderr
    for name in ("trained", "given"):
        assert (tmp_path / name / "report.html").is_file()


@pytest.mark.slow
def test_commands_say_in_a_sentence_which_package_is_overwritten(tmp_path: Path) -> None:
    """A module that was found and not executed is as empty as one that was written over."""
    code = (
        "from importlib.util import find_spec, module_from_spec\n"
        "sys.modules['runs'] = module_from_spec(find_spec('runs'))\n"
        "from harness.cli.main import main; main(['systems'])"
    )
    answer = python(code, tmp_path)
    assert answer.returncode == MISUSED
    assert "own package `runs`" in answer.stderr
    assert "Python finds another in its place" in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


@pytest.mark.parametrize("package", PACKAGES)
def test_the_types_of_every_package_are_for_others_too(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_a_check_without_hypothesis_names_the_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from harness.cli.main import main; main(['check', 'P@5'])"
    )
    answer = python(code, tmp_path)
    assert answer.returncode == MISUSED
    assert "`pip install '.[check]'`" in answer.stderr
    assert "`uv tool install --force '.[recommenders,check]'`" in answer.stderr
    assert "`pipx install --force '.[recommenders,check]'`" in answer.stderr


def test_the_lowest_versions_are_those_that_are_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["recommenders"], *extras["check"]]
    floors = {Requirement(text).name: Requirement(text).specifier for text in asked}
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    for name, specifier in floors.items():
        lowest = next(Version(each.version) for each in specifier if each.operator == ">=")
        assert Version(tested[name]) in specifier
        assert Version(tested[name]) == lowest, name
