from pathlib import Path

import pandas as pd
import pytest

from tests.harness.cli.test_main import harness


def test_a_study_as_it_was_written_has_no_changed_file(finished: Path) -> None:
    answer = harness("verify", finished)
    assert answer.exit_code == 0
    assert "Files that are not as the study wrote them: 0 of" in answer.stdout
    assert "scores: by code" in answer.stdout.replace("true-scores", "").replace(", ", "")


@pytest.mark.parametrize("name", ["tables/means.csv", "qrels/test.qrels", "evidence/means.npz"])
def test_a_changed_file_is_named_and_the_exit_code_is_1(copied: Path, name: str) -> None:
    (copied / name).write_bytes((copied / name).read_bytes() + b"\n")
    answer = harness("verify", copied)
    assert answer.exit_code == 1
    assert f"{copied / name}: not as the study wrote it" in answer.stdout


def test_a_folder_without_a_study_has_nothing_to_verify(tmp_path: Path) -> None:
    answer = harness("verify", tmp_path)
    assert answer.exit_code == 2
    assert "no finished study is here" in answer.stderr


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (["table", "means"], "tables/means.csv"),
        (["report"], "evidence/means.npz"),
        (["figure", "fig1"], "tables/means.csv"),
    ],
)
def test_who_reads_a_changed_study_is_told(
    copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], file: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name, *rest = command
    content = (copied / file).read_bytes()
    (copied / file).write_bytes(content if file.endswith("npz") else content + b"\n")
    page = copied / ".ledger" / "scores.json"
    page.write_text(page.read_text().replace('"evidence/means.npz": "', '"evidence/means.npz": "0'))
    answer = harness(name, copied, *rest)
    assert f"{file}: not as the study wrote it" in answer.stderr


def test_who_exports_a_changed_run_is_told(copied: Path, tmp_path: Path) -> None:
    run = next((copied / "runs").glob("*.parquet"))
    pd.read_parquet(run)[:-1].to_parquet(run)
    answer = harness("export", copied, "--output", tmp_path / "exported")
    assert f"{run}: not as the study wrote it" in answer.stderr
