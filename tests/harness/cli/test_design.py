import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import harness
from harness.cli.main import main

FILES = {
    "design.csv", "design_pairs.csv", "design_curves.csv",
    "design.png", "design.svg", "design.txt",
}  # fmt: skip


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two measures of four systems for 30 topics."""
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("tables")
    for name, noise in {"t_blunt": 1.0, "t_sharp": 0.1}.items():
        values = 1 + 0.1 * np.arange(4) + noise * rng.normal(size=(30, 4))
        pd.DataFrame(values.round(3), columns=list("abcd")).to_csv(
            folder / f"{name}.csv", index=False
        )
    return sorted(folder.iterdir())


def design(*arguments: str | Path) -> Result:
    quick = ["--replicates", "9", "--jobs", "1", "--quiet"]
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, ["design", *quick, *map(str, arguments)])


def test_the_measure_that_needs_the_fewest_users_stands_first(tables: list[Path]) -> None:
    answer = design(*tables)
    assert answer.exit_code == 0
    title, heading, first, second, *_ = answer.stdout.splitlines()
    assert (title, first.split()[0], second.split()[0]) == ("Users needed", "sharp", "blunt")
    assert max(map(len, (heading, first, second))) <= 80
    assert "Caution: " in answer.stderr


def test_files_are_written_and_json_has_every_frame(tables: list[Path], tmp_path: Path) -> None:
    answer = design(*tables, "--output", tmp_path, "--format", "json")
    assert {path.name for path in tmp_path.iterdir()} == FILES
    document = json.loads(answer.stdout)
    assert len(document["design_pairs"]) == 2 * 6


def test_a_notebook_gets_the_same(tables: list[Path]) -> None:
    frames = {path.stem.removeprefix("t_"): pd.read_csv(path) for path in tables}
    found = harness.design(frames, replicates=9)
    assert found.frame().needed.tolist() == [
        row["needed"] for row in json.loads(design(*tables, "--format", "json").stdout)["design"]
    ]
