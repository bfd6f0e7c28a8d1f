"""What sampling does to metrics, on the command line."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from harness.cli.main import main
from tests.conftest import WrittenExample

SMALL = ("--candidates", "300", "--negatives", "20", "--repeats", "2", "--measure", "AP")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ranks of two systems for 40 users, one twice as good as the other."""
    ranks = np.random.default_rng(1).integers(1, 100, 40)
    path = tmp_path_factory.mktemp("ranks") / "ranks.csv"
    pd.DataFrame({"good": ranks, "poor": 2 * ranks}).to_csv(path, index=False)
    return path


def sampled(*arguments: str | Path) -> Result:
    given = ["sampled", "--jobs", "1", "--quiet", *map(str, arguments)]
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, given)


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_the_folder_holds_tables_figures_and_captions(table: Path, tmp_path: Path) -> None:
    answer = sampled(table, *SMALL, "--output", tmp_path, "--study", "all")
    assert answer.exit_code == 0, answer.stderr
    made = {path.name for path in tmp_path.iterdir()}
    frames = ("sampled", "sampled_repeats", "sampled_orders", "sampled_advice", "sampled_ranks")
    figures = ("aaai2023-figure1a", "aaai2023-figure1b", "kdd2020-figure5", "kdd2020-figure6")
    assert {f"{name}.csv" for name in (*frames, "sampled_sizes")} <= made
    assert {f"{name}.{kind}" for name in figures for kind in ("svg", "png", "txt")} <= made
    for title in ("Exact metrics", "Bias and noise", "Ranks of", "Agreement (tau-b)"):
        assert title in answer.stdout


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ((), "line 1: the number of candidates is missing"),
        (("--candidates", "150"), "a rank must not be above the candidates, 150"),
        (("--candidates", "300", "--measure", "nDGC"), "`--measure`: no metric of ranks"),
        (("--study", "sizes", "--repeats", "5"), "--repeats does not apply to sizes"),
        ((*SMALL, "--study", "all", "--format", "csv"), "csv is one table, and there are 3"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(
    table: Path, asked: tuple[str, ...], sentence: str
) -> None:
    answer = sampled(table, *asked)
    assert answer.exit_code == 2
    assert sentence in answer.stderr


@pytest.mark.slow
def test_the_example_has_the_tables_of_two_papers_and_four_figures(
    written_example: WrittenExample,
) -> None:
    tables = {path.name for path in written_example.folder.glob("*.csv")}
    papers = {f"{p}-table{n}.csv" for p in ("kdd2020", "rendle2019") for n in (1, 2)}
    assert tables == {*papers, "example_orders.csv"}
    assert {path.name for path in written_example.folder.glob("*.svg")} == {
        f"kdd2020-figure{n}.svg" for n in (1, 2, 3, 4)
    }
    assert len(written_example.printed.splitlines()) > 3
