"""Offline measures and clicks on the command line."""

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from harness.cli.main import main
from tests.analyses.online.examples import RATES, VALUES, write, write_grid

pytestmark = pytest.mark.slow

MISUSED = 2

Paths = tuple[Path, Path]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    folder = tmp_path_factory.mktemp("plain")
    return write(folder, "values.csv", VALUES), write(folder, "rates.csv", RATES)


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    return write_grid(tmp_path_factory.mktemp("grid"))


def online(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["online", "--quiet", *map(str, arguments)])


def test_the_best_measure_is_printed_first_and_the_conclusion_below(plain: Paths) -> None:
    answer = online(*plain)
    assert answer.exit_code == 0, answer.stderr
    name, *numbers = answer.stdout.splitlines()[2].split()
    assert name == "nDCG@5"
    assert numbers == [*["1.0000"] * 4, "0.1667", "0.3333"]
    assert "nDCG@5 agrees best" in answer.stdout


def test_csv_and_json_have_every_measure_and_null_where_nothing_is_known(grid: Paths) -> None:
    rows = list(csv.DictReader(io.StringIO(online(*grid, "--format", "csv").stdout)))
    document = json.loads(online(*grid, "--format", "json").stdout)
    by_name = {row["measure"]: row for row in document["online"]}
    assert len(rows) == len(by_name) == 11
    assert by_name["AUC"]["beta"] is None
    assert by_name["LOO(beta=1)@5"]["beta"] == 1.0


def test_files_written_twice_are_the_same_bytes(grid: Paths, tmp_path: Path) -> None:
    folders = tmp_path / "once", tmp_path / "again"
    once, again = (
        {path.name: path.read_bytes() for path in folder.iterdir()}
        for folder in folders
        if online(*grid, "--permutations", "99", "--output", folder).exit_code == 0
    )
    assert once == again
    assert {"online.csv", "thesis2021-table4.9.csv", "online_rhos.svg"} <= set(once)


def test_several_folders_are_several_data_sets(grid: Paths, tmp_path: Path) -> None:
    """X and Y in folders of their own, one of them a study's: the same tables as in one file."""
    for path in grid:
        frame = pd.read_csv(path)
        for name, place in (("X", tmp_path / "X"), ("Y", tmp_path / "Y" / "tables")):
            place.mkdir(parents=True, exist_ok=True)
            own = frame[frame["experiment"] == name].drop(columns="experiment")
            own.to_csv(place / path.name, index=False)
    together = json.loads(online(*grid, "--format", "json").stdout)
    apart = online(tmp_path / "X", tmp_path / "Y", "--format", "json")
    assert apart.exit_code == 0, apart.stderr
    assert json.loads(apart.stdout) == together


def test_data_sets_chosen_after_looking_have_tables_of_their_own(
    grid: Paths, tmp_path: Path
) -> None:
    answer = online(*grid, "--chosen", "X", "--output", tmp_path)
    assert "Data sets: X" in answer.stderr
    crossed = pd.read_csv(tmp_path / "thesis2021-table4.11.csv")
    assert set(crossed["datasets"]) == {"X"}


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (("--chosen", "Z"), "no experiment is called 'Z'; there are X, Y."),
        (("--over-time", "pooled"), "the columns recommendations and accepted are needed"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(
    grid: Paths, asked: tuple[str, ...], sentence: str
) -> None:
    answer = online(*grid, *asked)
    assert answer.exit_code == MISUSED
    assert answer.stderr.startswith("Error: ")
    assert sentence in answer.stderr


def test_a_study_file_is_run_by_another_command(tmp_path: Path) -> None:
    answer = online(tmp_path / "study.toml")
    assert answer.exit_code == MISUSED
    assert "a study file is run by `harness run" in answer.stderr
