"""Click-through rates of a log, on the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from harness.cli.main import main
from tests.analyses.online.click_logs import CLICKS, LISTS, experiment, write_csv, written
from tests.exact_csv import read_exactly

pytestmark = pytest.mark.usefixtures("logs_of_1970")

MISUSED = 2
FIGURES = {"thesis2021-figure4.1"}
TABLES = {
    "rates", "arms", "differences", "facts", "sample_ratio", "split", "periods", "days",
    "thesis2021-table4.2",
}  # fmt: skip


def clicks(*arguments: str | Path) -> Result:
    given = ["clicks", "--quiet", *map(str, arguments)]
    return CliRunner().invoke(main, given)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A log of four days and two versions, whose users begin on every day."""
    columns = experiment({"A": (60, 0.2), "B": (60, 0.6)}, days=4)
    first = [int(user[1:]) % 4 for user in columns["lists"]["user"]]
    day = [int(rec_id.split("-")[1]) for rec_id in columns["lists"]["rec_id"]]
    kept = [begin <= now for begin, now in zip(first, day, strict=True)]
    columns["lists"] = {
        name: [value for value, is_kept in zip(values, kept, strict=True) if is_kept]
        for name, values in columns["lists"].items()
    }
    del columns["clicks"]["rec_id"]
    return written(tmp_path_factory.mktemp("log"), columns)


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return written(tmp_path_factory.mktemp("uneven"), experiment({"A": (90, 0.1), "B": (10, 0.9)}))


@pytest.mark.slow
def test_a_folder_holds_tables_and_figures_with_captions(log: list[Path], tmp_path: Path) -> None:
    answer = clicks(*log, "--window", "10 min", "--robots", "50", "--output", tmp_path)
    assert answer.exit_code == 0, answer.stderr
    figures = {f"{name}.{kind}" for name in FIGURES for kind in ("svg", "png", "txt")}
    tables = {f"{name}.csv" for name in TABLES}
    assert {path.name for path in tmp_path.iterdir()} == figures | tables


@pytest.mark.slow
def test_rates_are_written_for_the_comparison_with_offline_metrics(
    log: list[Path], tmp_path: Path
) -> None:
    clicks(*log, "--window", "10 min", "--output", tmp_path)
    rates = read_exactly(tmp_path / "rates.csv")
    assert [*rates] == [
        *("model", "period", "rate", "error", "users", "recommendations", "accepted")
    ]
    assert rates["model"].tolist() == ["A", "B", "A", "B"]
    assert rates["period"].tolist() == ["v0", "v0", "v1", "v1"]
    assert (rates["rate"] == rates["accepted"] / rates["recommendations"]).all()


MARKS: dict[str, Callable[[Result], bool]] = {
    "text": lambda answer: "SAMPLE-RATIO MISMATCH" in answer.stdout,
    "csv": lambda answer: "SAMPLE-RATIO MISMATCH" in answer.stderr,
    "json": lambda answer: "SAMPLE-RATIO" in json.loads(answer.stdout)["findings"][0],
    "latex": lambda answer: "SAMPLE-RATIO MISMATCH" in answer.stdout,
}


@pytest.mark.slow
@pytest.mark.parametrize("form", MARKS)
def test_every_output_marks_a_mismatch(uneven: list[Path], form: str) -> None:
    answer = clicks(*uneven, "--window", "10 min", "--format", form)
    assert MARKS[form](answer)
    assert "Arm " not in answer.stdout


BROKEN: dict[str, tuple[dict[str, str], list[str], str]] = {
    "no window": ({}, [], "say within which time after a list was shown"),
    "no unit": (
        {},
        ["--window", "10"],
        "must be a number with a unit (ms, s, min, h, d), got '10'",
    ),
    "both": ({}, ["--window", "1 h", "--explicit"], "or --explicit, if clicks name"),
    "no such share": (
        {},
        ["--window", "1 h", "--shares", "A"],
        "`--shares` must be a value for each name",
    ),
    "unknown arm": (
        {},
        ["--window", "1 h", "--shares", "A=1,C=1"],
        "lists.csv, row 3, column 'arm': the arms are A, C, got 'B'.",
    ),
    "no column": (
        {"lists": LISTS.replace("user", "usr")},
        ["--window", "1 h"],
        "lists.csv: there is no column 'user' among",
    ),
    "local time": (
        {
            "clicks": CLICKS.replace("2500", "2026-01-01T00:00:00").replace(
                "1500", "1970-01-01T00:00:01Z"
            )
        },
        ["--window", "1 h"],
        "clicks.csv, row 2, column 'time': a time must be whole milliseconds since 1970 in UTC",
    ),
    "no file": ({}, ["--window", "1 h", "--models", "none.csv"], "none.csv: cannot be read"),
}


@pytest.mark.parametrize(("tables", "options", "sentence"), BROKEN.values(), ids=BROKEN.keys())
def test_a_mistake_is_answered_with_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tables: dict[str, str],
    options: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(Path(), **({"lists": LISTS, "clicks": CLICKS} | tables))
    answer = clicks("lists.csv", "clicks.csv", *options)
    assert (answer.exit_code, answer.stdout) == (MISUSED, "")
    assert sentence in " ".join(answer.stderr.split())


@pytest.mark.slow
def test_an_arm_without_lists_has_no_rate(tmp_path: Path) -> None:
    paths = written(tmp_path, experiment())
    answer = clicks(
        *paths, "--window", "1 h", "--shares", "A=1,B=1,C=1e-9", "--output", tmp_path / "out"
    )
    assert answer.stdout.splitlines()[4].split()[:5] == ["C", "0", "0", "0", "–"]
    assert pd.read_csv(tmp_path / "out/rates.csv")["model"].unique().tolist() == ["A", "B"]
