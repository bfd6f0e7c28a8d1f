"""A study that is finished is known to be so, unless anything that it was made from differs."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner

from harness.cli.main import main
from harness.report.checks import FINISHED
from harness.study import completion
from harness.study.completion import NAME, Request, find_finished
from tests.harness.small import NO_ANALYSES, ROOT, SYSTEMS

RATINGS = """
name = "kept"
[ratings]
path = "ratings.csv"
[metrics]
names = ["P"]
cutoffs = [5]
"""
STUDY = RATINGS + SYSTEMS + NO_ANALYSES

NEEDLESS = {
    *("analyses.sampled", "harness.study.run", "lenskit", "matplotlib"),
    *("numba", "qrels.ratings.world.drawn_world", "scipy.stats", "torch"),
}
"""What a study has no use for that is finished, and would be slow to import."""


def write_ratings(folder: Path) -> None:
    lines = [
        f"u{user},i{item},{1 + (user * item) % 5}"
        for user in range(30)
        for item in range(20)
        if (user + item) % 3
    ]
    (folder / "ratings.csv").write_text("user,item,rating\n" + "\n".join(lines) + "\n")


def run(folder: Path, *options: str) -> str:
    """What a run of the study file in a folder prints."""
    command = ["run", str(folder / "study.toml"), "--jobs", "1", *options]
    answer = CliRunner().invoke(main, [*command, "--output", str(folder / "study")])
    assert answer.exit_code == 0, answer.output
    return answer.stderr


@pytest.fixture(scope="module")
def study_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ratings, a study file, and the study."""
    folder = tmp_path_factory.mktemp("kept")
    write_ratings(folder)
    (folder / "study.toml").write_text(STUDY)
    run(folder)
    return folder


@pytest.fixture
def made(study_made: Path, tmp_path: Path) -> Path:
    return copytree(study_made, tmp_path / "moved")


def is_finished(folder: Path, *, seed: int | None = None) -> bool:
    changes = {"output": folder / "study"} | ({} if seed is None else {"seed": seed})
    return find_finished(Request.read(folder / "study.toml", changes)) is not None


@pytest.mark.slow
def test_a_finished_study_may_be_moved_with_its_input(made: Path) -> None:
    assert is_finished(made)


@pytest.mark.slow
def test_a_finished_study_is_not_read_again(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError

    monkeypatch.setattr("harness.study.run.collect", refuse)
    assert FINISHED in run(made)


@pytest.mark.slow
def test_what_is_said_of_a_finished_study_is_what_its_run_says(made: Path) -> None:
    (made / "study" / NAME).unlink()
    said_by_run = run(made).splitlines()
    said_before = [line for line in said_by_run if not line.startswith("Reading the input")]
    assert run(made).splitlines() == said_before


@pytest.mark.slow
def test_a_finished_study_imports_nothing_slow(made: Path) -> None:
    arguments = ["harness", "run", str(made / "study.toml"), "--output", str(made / "study")]
    code = (
        f"import sys; sys.argv = {arguments}\n"
        "from harness.cli.main import main\n"
        f"try: main()\nfinally: print(sorted(set({NEEDLESS}) & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert FINISHED in answer.stderr
    assert answer.stdout.splitlines()[-1] == "[]", answer.stderr


def change_input(folder: Path) -> None:
    with (folder / "ratings.csv").open("a") as stream:
        stream.write("u1,i19,5\n")


def remove_input(folder: Path) -> None:
    (folder / "ratings.csv").unlink()


def change_study_file(folder: Path) -> None:
    text = STUDY.replace("cutoffs = [5]", "cutoffs = [10]")
    (folder / "study.toml").write_text(text)


def change_part(folder: Path) -> None:
    (folder / "study/scores.parquet").write_bytes(b"")


def remove_report(folder: Path) -> None:
    (folder / "study/report.html").unlink()


def remove_manifest(folder: Path) -> None:
    (folder / "study/manifest.json").unlink()


def break_completion(folder: Path) -> None:
    (folder / "study" / NAME).write_text("{")


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        *(change_input, remove_input, change_study_file, change_part),
        *(remove_report, remove_manifest, break_completion),
    ],
)
def test_a_study_of_which_anything_differs_is_not_taken_for_finished(
    made: Path, change: Callable[[Path], None]
) -> None:
    change(made)
    assert not is_finished(made)


@pytest.mark.slow
def test_another_seed_is_another_study(made: Path) -> None:
    assert not is_finished(made, seed=7)


@pytest.mark.slow
def test_another_code_or_package_makes_another_study(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(completion, "code_digest", lambda: "of another version")
        assert not is_finished(made)
    monkeypatch.setattr(completion, "versions_of", lambda *names: dict.fromkeys(names, "0.1"))
    assert not is_finished(made)


@pytest.mark.slow
@pytest.mark.parametrize(
    "section",
    [
        '[metrics]\nplugins = ["own.py"]\nnames = ["P", "OWN"]\ncutoffs = [5]\n',
        '[figures]\nstyle = "ggplot"\n',
    ],
)
def test_studies_that_read_more_than_they_list_are_run(tmp_path: Path, section: str) -> None:
    write_ratings(tmp_path)
    (tmp_path / "own.py").write_text(
        "from harness import metric\n\n"
        '@metric("OWN", source="here")\n'
        "def own(judged, *, cutoff=None):\n"
        '    """Count relevant items."""\n'
        "    return judged.relevant[:, :cutoff].sum(axis=1) * 1.0\n"
    )
    text = STUDY + section
    if "[metrics]" in section:
        text = STUDY.replace('[metrics]\nnames = ["P"]\ncutoffs = [5]\n', section)
    (tmp_path / "study.toml").write_text(text)
    run(tmp_path)
    assert not (tmp_path / "study" / NAME).exists()
    assert not is_finished(tmp_path)
