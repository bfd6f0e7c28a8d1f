"""What made a part: where the code or the packages differ, it is made again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import __version__
from harness.report.ledger import LEDGER
from harness.study import provenance
from harness.study.run import run_study
from harness.study.study import parse_study
from runs.shared.progress import Lines
from tests.harness.small import WHOLE, contents, made_again, made_at, manifest_of, run_text

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("blank_figures")]

ANALYSED = {"correlation", "sparsity", "popularity", "users", "discrimination", "validity"}
RUNS = {"run-random", "run-popularity", "run-puresvd"}
INPUT = {"qrels", "split", "world", "true-qrels"}
SCORED = {"scores", "true-scores"}
SHOWN = {*SCORED, *ANALYSED, "answer"}


def page_of(folder: Path, part: str) -> Path:
    return folder / LEDGER / f"{part}.json"


def change_entry(folder: Path, part: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Let the ledger say something else of a part."""
    entry = json.loads(page_of(folder, part).read_text(encoding="utf-8"))
    change(entry)
    page_of(folder, part).write_text(json.dumps(entry), encoding="utf-8")


@pytest.mark.parametrize("part", ["qrels", "split", "world", "run-puresvd", "scores", "users"])
@pytest.mark.parametrize("fact", ["code", "numpy"])
def test_a_part_that_something_else_made_is_made_again_alone(
    copied: Path, part: str, fact: str
) -> None:
    change_entry(copied, part, lambda entry: entry["made_by"].update({fact: "another"}))
    before = made_at(copied)
    run_text(WHOLE, copied, output=copied)
    assert made_again(copied, before) == {part}


def test_what_is_made_again_has_the_bytes_that_it_had(finished: Path, copied: Path) -> None:
    change_entry(copied, "scores", lambda entry: entry["made_by"].update(code="another"))
    run_text(WHOLE, copied, output=copied)
    for pattern in ("tables/*", "evidence/*", "scores.parquet"):
        assert contents(copied, pattern) == contents(finished, pattern)


@pytest.mark.parametrize(
    ("package", "parts"),
    [
        ("lenskit", RUNS),
        ("matplotlib", SHOWN),
        ("pyarrow", {"split", *SCORED}),
        ("numpy", {*INPUT, *RUNS, *SHOWN}),
        ("joblib", set()),
    ],
)
def test_another_version_of_a_package_makes_again_what_depends_on_it(
    copied: Path, monkeypatch: pytest.MonkeyPatch, package: str, parts: set[str]
) -> None:
    installed = provenance.versions_of

    def versions_of(*packages: str) -> dict[str, str]:
        return {name: "0" if name == package else v for name, v in installed(*packages).items()}

    monkeypatch.setattr(provenance, "versions_of", versions_of)
    before = made_at(copied)
    run_text(WHOLE, copied, output=copied)
    assert made_again(copied, before) == parts


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        ("recommenders", RUNS),
        ("harness.metrics", SHOWN),
        ("analyses.intervals", ANALYSED),
        ("analyses.users", {"users"}),
        ("analyses", {"answer"}),
        ("qrels", {*INPUT, *RUNS, *SHOWN}),
    ],
)
def test_other_code_makes_again_what_depends_on_it(
    copied: Path, monkeypatch: pytest.MonkeyPatch, changed: str, parts: set[str]
) -> None:
    usual = provenance.code_digest

    def code_digest(*names: str) -> str:
        return usual(*names) + "changed" * (changed in names)

    monkeypatch.setattr(provenance, "code_digest", code_digest)
    before = made_at(copied)
    run_text(WHOLE, copied, output=copied)
    assert made_again(copied, before) == parts


def test_the_digest_of_code_is_that_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package/a.py").write_text("x = 1\n")
    (tmp_path / "other.py").write_text("x = 1\n")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    digest = provenance.code_digest.__wrapped__
    before = {names: digest(*names) for names in (("package",), ("other",), ("package", "other"))}
    (tmp_path / "package/a.py").write_text("x = 2\n")
    changed = {names for names, known in before.items() if digest(*names) != known}
    assert changed == {("package",), ("package", "other")}


def test_the_manifest_says_what_every_part_was_made_by(finished: Path) -> None:
    made_by: Any = manifest_of(finished)["made by"]
    parts = {*INPUT, *RUNS, *SHOWN}
    entries = {part: json.loads(page_of(finished, part).read_text()) for part in parts}
    assert made_by == {part: entry["made_by"] for part, entry in entries.items()}
    assert all({"code", "numpy"} <= by.keys() for by in made_by.values())
    assert "lenskit" in made_by["run-random"]
    assert "lenskit" not in made_by["users"]


def test_the_manifest_names_commit_and_blas(finished: Path) -> None:
    manifest: Any = manifest_of(finished)
    assert manifest["versions"]["commit"]
    assert manifest["host"]["blas"]


# Folders of older versions


@pytest.fixture
def older(copied: Path) -> Path:
    """A folder as version 0.2.0 left it, which kept neither results nor what made them."""
    manifest = manifest_of(copied)
    manifest |= {"versions": {"harness": "0.2.0"}, "figures": [], "metrics": ["P", "nDCG"]}
    for key in ("results", "made by", "lead", "data", "notes"):
        del manifest[key]
    (copied / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for page in (copied / LEDGER).glob("*.json"):
        change_entry(copied, page.stem, lambda entry: entry.pop("made_by"))
    return copied


def test_a_folder_of_an_older_version_is_made_again_and_says_so(
    older: Path, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = made_at(older)
    study = parse_study(WHOLE, source="study.toml", base=older, changes={"output": older})
    run_study(study, n_jobs=1, progress=Lines())
    assert (
        f"{older} was made by the harness 0.2.0; this is {__version__}, and what differs is made "
        "again." in capsys.readouterr().err
    )
    assert made_again(older, before) == set(before)
    assert contents(older, "tables/*") == contents(finished, "tables/*")
