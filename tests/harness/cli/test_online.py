"""Offline measures and clicks on the command line."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import main
from tests.analyses.online.tables.tables import RATES, VALUES, write, write_grid

pytestmark = pytest.mark.slow

MISUSED = 2
FIGURES = {
    f"online_{name}.{kind}"
    for name in ("rhos", "best")
    for kind in ("svg", "png", "txt")
}  # fmt: skip
TABLES = {
    "online.csv", "online_models.csv", "online_rhos.csv", "online_orderings.csv",
    "online_bins.csv",
}  # fmt: skip
OF_THE_GRID = {
    "online_levels.csv", "online_validations.csv", "online_betas.csv", "online_crossed.csv",
}  # fmt: skip

Paths = tuple[Path, Path]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    folder = tmp_path_factory.mktemp("plain")
    return write(folder, "values.csv", VALUES), write(folder, "rates.csv", RATES)


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    return write_grid(tmp_path_factory.mktemp("grid"))


@pytest.fixture(scope="module")
def written(grid: Paths, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What --output writes."""
    folder = tmp_path_factory.mktemp("written") / "out"
    online(*grid, "--permutations", "99", "--output", folder)
    return folder


def online(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["online", "--quiet", *map(str, arguments)])


def test_the_best_measure_is_printed_first(plain: Paths) -> None:
    answer = online(*plain)
    assert answer.exit_code == 0, answer.stderr
    name, *numbers = answer.stdout.splitlines()[2].split()
    assert name == "nDCG@5"
    assert numbers == ["1.0000", "1.0000", "0.1667", "0.3333"]


def test_the_conclusion_stands_below_the_tables(plain: Paths) -> None:
    *_, conclusion = online(*plain).stdout.splitlines()
    assert conclusion.startswith("The best of 2 measures, nDCG@5, has rho = +1.00 over 3 models")


def test_what_was_done_is_said_beside_the_tables(plain: Paths) -> None:
    said = online(*plain).stderr
    assert "Spearman's rho between 2 offline measures" in said
    assert "dealt out among the 3 models in all 6 orders" in said


def test_csv_has_a_line_for_each_measure(grid: Paths) -> None:
    rows = list(csv.DictReader(io.StringIO(online(*grid, "--format", "csv").stdout)))
    assert len(rows) == 11
    assert float(rows[0]["p_adjusted"]) <= float(rows[-1]["p_adjusted"])


def test_json_has_null_where_nothing_is_known(grid: Paths) -> None:
    document = json.loads(online(*grid, "--format", "json").stdout)
    by_name = {row["measure"]: row for row in document["online"]}
    assert by_name["AUC"]["beta"] is None
    assert by_name["LOO(beta=1)@5"]["beta"] == 1.0
    assert set(document["captions"]) == {"online"}
    assert document["findings"][0].startswith("The best of 11 measures")


def test_latex_has_every_table(grid: Paths) -> None:
    text = online(*grid, "--format", "latex").stdout
    for name in ("online", "online_levels", "online_crossed"):
        assert f"\\label{{tab:{name}}}" in text


def test_the_same_command_prints_the_same(grid: Paths) -> None:
    assert online(*grid).stdout == online(*grid).stdout


def test_files_written_twice_are_the_same_bytes(grid: Paths, written: Path) -> None:
    again = written.parent / "again"
    online(*grid, "--permutations", "99", "--output", again)
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in written.iterdir()
    }


def test_the_folder_holds_tables_figures_and_captions(written: Path) -> None:
    assert {path.name for path in written.iterdir()} == FIGURES | TABLES | OF_THE_GRID


def test_without_a_grid_the_folder_lacks_its_tables(plain: Paths, tmp_path: Path) -> None:
    online(*plain, "--output", tmp_path / "plain")
    assert {path.name for path in (tmp_path / "plain").iterdir()} == FIGURES | TABLES


def test_experiments_chosen_after_looking_are_named(grid: Paths) -> None:
    answer = online(*grid, "--chosen", "X")
    assert "X were chosen among 2 data sets after looking" in answer.stderr
    assert "\nX, Y: equal" in answer.stdout
    assert "\nX: equal" in answer.stdout


def test_periods_may_be_pooled(plain: Paths, tmp_path: Path) -> None:
    rates = "model,period,recommendations,accepted\n" + "".join(
        f"{model},{period},{shown},{accepted}\n"
        for model, accepted in (("a", 1), ("b", 2), ("c", 3))
        for period, shown in (("1", 10), ("2", 1000))
    )
    path = write(tmp_path, "rates.csv", rates)
    answer = online(plain[0], path, "--over-time", "pooled", "--format", "json")
    models = json.loads(answer.stdout)["online_models"]
    assert [row["rate"] for row in models] == [2 / 1010, 4 / 1010, 6 / 1010]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (("--chosen", "Z"), "no experiment is called 'Z'; there are X, Y."),
        (("--over-time", "pooled"), "line 1: pooled rates need the columns recommendations"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(
    grid: Paths, asked: tuple[str, ...], sentence: str
) -> None:
    answer = online(*grid, *asked)
    assert answer.exit_code == MISUSED
    assert answer.stderr.startswith("Error: ")
    assert sentence in answer.stderr


def test_a_missing_file_is_named(plain: Paths, tmp_path: Path) -> None:
    answer = online(plain[0], tmp_path / "none.csv")
    assert answer.exit_code == MISUSED
    assert "none.csv: there is no such file." in answer.stderr
