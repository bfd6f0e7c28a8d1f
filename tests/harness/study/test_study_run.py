"""Any run of a study: its results and what is drawn of them, its manifest and its report."""

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from analyses.discrimination import Discrimination
from analyses.shared.analysis import Analysis, AnalysisSettings, analysis, built_in_analyses
from analyses.shared.evidence import read_evidence
from analyses.shared.figure_options import FigureOptions
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.scores import Scores
from analyses.shared.table import Table
from analyses.shared.work import ScoresWork
from harness.report.answer import Answer, answer_of
from harness.report.manifest import read_manifest
from harness.study import study_run
from harness.study.input_files import world_files
from harness.study.parts import Parts
from harness.study.store import Store
from harness.study.study_file import StudyFile
from harness.study.study_run import (
    StudyRun,
    drawing_methods,
    machine,
    result_files,
    run_to_report,
    users_result_files,
    versions,
)
from harness.version import __version__
from recommenders import find_system
from runs import InputError
from runs.shared.progress import Cost
from tests.harness.small import Recorded

# What is drawn of a result


@dataclass(frozen=True, eq=False)
class Inner(Result):
    """A part of a result."""

    def caption(self) -> str:
        """Describe it."""
        return "The inner part."


@dataclass(frozen=True, eq=False)
class Drawn(Result):
    """A result with a table and figures, one of which is of a part that may be missing."""

    values: Any = field(default_factory=lambda: np.arange(2.0))
    inner: Inner | None = None

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give two tables."""
        first = pd.DataFrame({"name": ["=1+1", "b"], "value": self.values})
        return {"first": first, "second": first.head(1)}

    def caption(self) -> str:
        """Describe it."""
        return "The whole."

    def helper(self) -> int:
        """Help nobody."""
        return 1

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of panels."""
        return ("one", "two")

    @cached_property
    def part(self) -> Inner | None:
        """The inner part."""
        return self.inner

    @table("first", "a table")
    def tabulate(self) -> Table:
        """Tabulate."""
        return Table("first", "First", "", ["a"], [["b"]])

    @figure("lines", "Lines", number=7, panels="group")
    def plot_lines(self, ax: Axes, *, group: str = "one") -> None:
        """Draw."""
        ax.plot(self.values)

    @figure("parts", "Parts", part="part")
    def plot_part(self, ax: Axes) -> None:
        """Draw."""
        ax.plot(self.values)


@dataclass(frozen=True, eq=False)
class Plain(Result):
    """A result without figures."""

    number: int = 1

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give a table."""
        return {"plain": pd.DataFrame({"number": [self.number]})}

    def caption(self) -> str:
        """Describe it."""
        return "A number."


def test_what_is_drawn_of_a_result_is_made_by_the_methods_that_show_it() -> None:
    methods = drawing_methods(Drawn)
    shown = ["frames", "caption", "plot_lines", "groups", "plot_part", "part"]
    assert methods == [vars(Drawn)[name] for name in shown]
    assert drawing_methods(Plain) == [Plain.frames, Plain.caption]


@pytest.mark.usefixtures("blank_figures")
def test_a_result_has_a_file_for_each_table_and_three_for_each_figure() -> None:
    files = result_files("drawn", Drawn(), FigureOptions())
    assert [*files] == [
        *("tables/first.csv", "tables/second.csv"),
        *("figures/figure7_lines.svg", "figures/figure7_lines.pdf", "figures/figure7_lines.txt"),
    ]
    # A text that a spreadsheet would run is guarded.
    assert files["tables/first.csv"] == b"name,value\n'=1+1,0.0\nb,1.0\n"
    assert files["tables/second.csv"] == b"name,value\n'=1+1,0.0\n"
    assert b"The whole." in files["figures/figure7_lines.txt"]
    assert files["figures/figure7_lines.svg"].startswith(b"<?xml")


@pytest.mark.usefixtures("blank_figures")
def test_a_figure_of_a_part_is_drawn_where_there_is_one() -> None:
    files = result_files("drawn", Drawn(inner=Inner()), FigureOptions())
    assert b"The inner part." in files["figures/parts.txt"]
    assert "figures/parts.svg" in files


def test_what_a_users_analysis_shows_is_kept_whole() -> None:
    files = users_result_files("mine", Plain(), FigureOptions())
    assert [*files] == ["evidence/mine.shown.npz", "tables/plain.csv"]


# Runs


def run_in(folder: Path, **options: Any) -> StudyRun:
    study = StudyFile(name="small", seed=5, output=folder, **options)
    return StudyRun(study, Parts(Store(folder)), n_jobs=3, progress=Recorded())


@pytest.fixture
def run(tmp_path: Path) -> StudyRun:
    return run_in(tmp_path / "study")


def keep(run: StudyRun, number: int, calls: list[int] | None = None, **options: Any) -> None:
    def find() -> Plain:
        if calls is not None:
            calls.append(number)
        return Plain(number)

    key = run.parts.key(world_files, number)
    run.keep_result("plain", key, Plain, find, **options)


@pytest.mark.slow
def test_a_result_is_kept_with_what_is_drawn_of_it(run: StudyRun) -> None:
    keep(run, 7)
    assert run.parts.names == ["plain", "drawn-plain"]
    assert read_evidence(run.folder / "evidence/plain.npz", Plain).number == 7
    assert (run.folder / "tables/plain.csv").read_text() == "number\n7\n"
    assert not (run.folder / "evidence/plain.shown.npz").exists()
    progress: Any = run.progress
    assert progress.begun == [("Drawing figures", 1)]
    assert len(progress.done) == 1


@pytest.mark.slow
def test_what_is_drawn_is_made_again_with_the_result_or_other_options(run: StudyRun) -> None:
    calls: list[int] = []
    progress: Any = run.progress
    keep(run, 7, calls)
    keep(run, 7, calls)
    assert (calls, len(progress.begun)) == ([7], 1)
    keep(run, 8, calls)
    assert (calls, len(progress.begun)) == ([7, 8], 2)
    assert (run.folder / "tables/plain.csv").read_text() == "number\n8\n"
    wide = run_in(run.folder, figures={"width": 5.0})
    keep(wide, 8, calls)
    progress = wide.progress
    assert (calls, len(progress.begun)) == ([7, 8], 1)


@pytest.mark.slow
def test_what_a_users_result_shows_is_drawn_with_it(run: StudyRun) -> None:
    keep(run, 7, is_users=True)
    assert (run.folder / "evidence/plain.shown.npz").exists()
    assert (run.folder / "tables/plain.csv").exists()


SCORES = Scores(
    np.random.default_rng(1).random((1, 3, 6)),
    Measures([Measure("P", 5)]),
    ("a", "b", "c"),
    np.array(list("uvwxyz")),
)


class MySettings(AnalysisSettings):
    number: int = 2


@analysis("mine", source="-")
def mine(work: Any, settings: MySettings) -> Plain:
    """Give the number."""
    if settings.number < 0:
        raise InputError("the number is negative.")
    return Plain(settings.number)


def keep_analysis(
    run: StudyRun, kept: Analysis[Any, Any], settings: Any, *made_from: Any, makers: Any = ()
) -> None:
    run.keep_analysis(kept, settings, lambda: ScoresWork(SCORES), *made_from, makers=makers)


@pytest.mark.slow
def test_an_analysis_is_kept_by_its_settings_its_seed_and_what_it_is_made_from(
    run: StudyRun,
) -> None:
    progress: Any = run.progress
    keep_analysis(run, mine, MySettings())
    keep_analysis(run, mine, MySettings())
    entry = run.parts.store.ledger.entry("mine")
    assert entry is not None
    assert read_evidence(run.folder / "evidence/mine.npz", Plain).number == 2
    # What a user's analysis shows is kept.
    assert (run.folder / "evidence/mine.shown.npz").exists()
    keys = {entry.key}
    other = run_in(run.folder)
    object.__setattr__(other, "study", other.study.model_copy(update={"seed": 6}))
    for anew, settings, made_from in [
        (run, MySettings(number=3), ()),
        (run, MySettings(), ("scores",)),
        (other, MySettings(), ()),
    ]:
        keep_analysis(anew, mine, settings, *made_from)
        entry = run.parts.store.ledger.entry("mine")
        assert entry is not None
        keys.add(entry.key)
    assert len(keys) == 4
    assert progress.notes == []


@pytest.mark.slow
def test_an_analysis_is_made_again_by_other_makers(run: StudyRun) -> None:
    codes = []
    for makers in ((), (find_system("random").make,)):
        keep_analysis(run, mine, MySettings(), makers=makers)
        entry = run.parts.store.ledger.entry("mine")
        assert entry is not None
        codes.append(entry.made_by["code"])
    assert codes[0] != codes[1]


@pytest.mark.slow
def test_what_an_analysis_refuses_is_named_with_its_section(tmp_path: Path) -> None:
    class WithAnalyses(StudyFile):
        analyses: Any = None

    text = 'name = "x"\n[analyses.mine]\nnumber = -1\n'
    study = WithAnalyses.parse(text, source="study.toml")
    run = StudyRun(study, Parts(Store(tmp_path / "study")), 1, Recorded())
    with pytest.raises(InputError, match=r"^study\.toml, line 2: the number is negative\.$"):
        keep_analysis(run, mine, MySettings(number=-1))
    assert not (run.folder / "evidence").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_of_an_analysis_of_the_project_only_the_result_is_kept(run: StudyRun) -> None:
    discrimination = built_in_analyses()["discrimination"]
    settings = discrimination.settings(replicates=2)
    keep_analysis(run, discrimination, settings)
    found = read_evidence(run.folder / "evidence/discrimination.npz", Discrimination)
    assert found.systems == ("a", "b", "c")
    assert not (run.folder / "evidence/discrimination.shown.npz").exists()
    assert (run.folder / "tables/pvalues.csv").exists()


# Manifests and reports

FACTS = {
    "lead": "Can it be trusted?",
    "data": "Data: none.",
    "results": [],
    "collection": {},
    "systems": ["a"],
}


def report(
    run: StudyRun,
    *,
    make: Callable[[], None] = lambda: None,
    facts: Mapping[str, Any] | None = None,
    remarks: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Make the parts and the report; give the manifest."""
    path = run_to_report(
        run,
        make=make,
        facts=lambda: {"inputs": [], **FACTS, **(facts or {})},
        completed_study=lambda: b"name = 'as run'\n",
        remarks=remarks,
    )
    assert path == run.folder / "report.html"
    assert path.exists()
    manifest: dict[str, Any] = json.loads((run.folder / "manifest.json").read_text("utf-8"))
    return manifest


@pytest.mark.slow
def test_a_manifest_says_what_a_study_was_made_from_by_what_and_at_what_cost(run: StudyRun) -> None:
    manifest = report(run, make=lambda: keep(run, 7), facts={"ranked for": "topics"})
    assert read_manifest(run.folder).study == "small"
    assert (manifest["study"], manifest["seed"], manifest["workers"]) == ("small", 5, 3)
    assert manifest["figures"] == {}
    assert (manifest["lead"], manifest["systems"]) == ("Can it be trusted?", ["a"])
    assert manifest["ranked for"] == "topics"
    assert (manifest["warnings"], manifest["inputs"]) == ([], [])
    entries = {name: run.parts.store.ledger.entry(name) for name in ("plain", "drawn-plain")}
    assert manifest["seconds"] == {
        name: {"wall": entry.seconds, "cpu": entry.cpu_seconds}
        for name, entry in entries.items()
        if entry is not None
    }
    assert manifest["made by"] == {
        name: entry.made_by for name, entry in entries.items() if entry is not None
    }
    assert len(manifest["seconds"]) == 2
    assert (run.folder / "study.toml").read_bytes() == b"name = 'as run'\n"


def test_options_of_figures_are_in_the_manifest(tmp_path: Path) -> None:
    manifest = report(run_in(tmp_path / "study", figures={"width": 5.0}))
    assert manifest["figures"] == {"width": 5.0}


def test_a_part_that_is_not_kept_has_no_cost(run: StudyRun) -> None:
    run.parts.names.append("missing")
    assert report(run)["seconds"] == {}


def test_paths_in_a_manifest_count_from_the_study_folder(tmp_path: Path) -> None:
    run = run_in(tmp_path / "a" / "study")
    inputs = [
        {"path": str(tmp_path), "sha256": "1"},
        {"path": str(tmp_path / "a" / "b.run"), "sha256": "2"},
        {"world": {"n_users": 3}},
    ]
    remarks = (f"{tmp_path}/a/b.run: odd, and {tmp_path}: too.",)
    manifest = report(run, facts={"inputs": inputs}, remarks=remarks)
    assert manifest["inputs"] == [
        {"path": "../..", "sha256": "1"},
        {"path": "../b.run", "sha256": "2"},
        {"world": {"n_users": 3}},
    ]
    assert manifest["warnings"] == ["../b.run: odd, and ../..: too."]


def test_warnings_are_said_before_the_work_and_not_again(run: StudyRun) -> None:
    progress: Any = run.progress
    said: list[str] = []
    report(run, make=lambda: said.extend(progress.notes), remarks=("It is odd.",))
    assert said == ["Warning: It is odd."]
    assert progress.notes == said


@pytest.mark.slow
def test_a_second_run_says_that_nothing_is_to_do(run: StudyRun) -> None:
    report(run, make=lambda: keep(run, 7))
    again = run_in(run.folder)
    report(again, make=lambda: keep(again, 7))
    changed = run_in(run.folder)
    report(changed, make=lambda: keep(changed, 8))

    def is_said(told: StudyRun) -> bool:
        progress: Any = told.progress
        return any("Nothing is to do" in note for note in progress.notes)

    assert [is_said(told) for told in (run, again, changed)] == [False, True, False]


def test_cautions_are_said_at_the_end(run: StudyRun) -> None:
    split = {"test_ratings_older_than_training": 0.5, "training_ratings_newer_than_test": 0.25}
    report(run, facts={"collection": {"split": split}})
    progress: Any = run.progress
    assert progress.notes
    assert all(note.startswith("To bear in mind: ") for note in progress.notes)


@pytest.mark.slow
def test_parts_that_a_study_no_longer_has_are_removed(run: StudyRun) -> None:
    report(run, make=lambda: keep(run, 7))
    again = run_in(run.folder)
    report(again)
    assert not (run.folder / "tables/plain.csv").exists()
    assert not (run.folder / "evidence/plain.npz").exists()


def test_a_study_that_cannot_be_made_is_not_finished(run: StudyRun) -> None:
    def fail() -> None:
        run.parts.write("a", run.parts.key(world_files), {"file": b"1"}, Cost(0.0, 0.0))
        raise InputError("wrong.")

    report(run)
    with pytest.raises(InputError, match=r"^wrong\.$"):
        report(run, make=fail)
    assert not (run.folder / "manifest.json").exists()


def test_what_refuses_to_be_made_leaves_a_finished_study_finished(run: StudyRun) -> None:
    def refuse() -> None:
        raise InputError("wrong.")

    report(run)
    with pytest.raises(InputError, match=r"^wrong\.$"):
        report(run, make=refuse)
    assert (run.folder / "manifest.json").exists()


def test_a_style_that_there_is_not_is_refused_before_the_work(tmp_path: Path) -> None:
    run = run_in(tmp_path / "study", figures={"style": "no-such-style"})
    with pytest.raises(InputError, match="no-such-style"):
        report(run, make=lambda: pytest.fail("the work began"))


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_the_answer_is_said_when_a_study_is_finished(run: StudyRun) -> None:
    discrimination = built_in_analyses()["discrimination"]
    result = discrimination(ScoresWork(SCORES), discrimination.settings(replicates=20))
    answer = answer_of({"discrimination": result})

    def make() -> None:
        run.keep_result("answer", run.parts.key(answer_of), Answer, lambda: answer)

    report(run, make=make, facts={"results": ["answer"]})
    progress: Any = run.progress
    assert answer.findings()
    assert progress.notes == [f"Answer: {sentence}" for sentence in answer.findings()]


def test_versions_are_those_of_what_computes() -> None:
    found = versions()
    assert found["python"] == platform.python_version()
    assert found["harness"] == __version__
    assert found["numpy"] == np.__version__
    assert found["pandas"] == pd.__version__
    assert "pytest" not in found


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in place of the project's, whose commit nobody has asked for yet."""
    monkeypatch.setattr(study_run, "ROOT", tmp_path)
    study_run._commit.cache_clear()
    yield tmp_path
    study_run._commit.cache_clear()


def test_outside_of_git_there_is_no_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.study.study_run.subprocess.run", None)
    assert "commit" not in versions()


def test_the_commit_is_that_of_the_harness(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Done:
        stdout = "0123456789ab-dirty\n"

    def describe(command: list[str], **options: Any) -> Done:
        asked.append((command, options))
        return Done()

    monkeypatch.setattr("harness.study.study_run.subprocess.run", describe)
    (checkout / ".git").mkdir()
    assert versions()["commit"] == "0123456789ab-dirty"
    # It stays what it was when the first study of the process was made.
    assert versions()["commit"] == "0123456789ab-dirty"
    ((command, options),) = asked
    assert command[:3] == ["git", "-C", str(checkout)]
    assert {"--always", "--dirty", "--abbrev=12"} <= {*command}
    assert options == {"capture_output": True, "text": True, "check": True}


def test_without_git_there_is_no_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise FileNotFoundError("git")

    (checkout / ".git").mkdir()
    monkeypatch.setattr("harness.study.study_run.subprocess.run", fail)
    assert "commit" not in versions()


def test_a_machine_is_described_by_its_system_and_its_linear_algebra() -> None:
    found = machine()
    assert found["system"] == platform.platform()
    assert found["processor"] == platform.machine()
    assert found["blas"] == sorted(set(found["blas"]))
    assert all(len(text.split(" ")) == 3 for text in found["blas"])
    assert any("blas" in text or "mkl" in text for text in found["blas"])
