import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from analyses.discrimination import Discrimination, Settings, discrimination
from analyses.shared.publish import PRINTED
from analyses.shared.work import ScoresWork
from harness.cli.main import main
from harness.readers.score_files import read_score_tables
from tests.harness.small import ROOT

MISUSED = 2
FILES = {
    "discrimination.csv", "power_differences.csv", "pvalues.csv",
    "pvalues_metrics.png", "pvalues_metrics.svg", "pvalues_metrics.txt",
    "systems.csv", "systems.png", "systems.svg", "systems.txt",
}  # fmt: skip


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two measures of four systems for 30 topics: sharp tells them apart, blunt does not."""
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("tables")
    topics = rng.random((30, 1)) + 0.2 * np.arange(4)
    noises = {"t_blunt": 1.0, "t_sharp": 0.1}
    paths = []
    for name, noise in noises.items():
        values = topics + noise * rng.normal(size=(30, 4))
        frame = pd.DataFrame(values.round(3), columns=["a", "b", "c", "d"])
        frame.to_csv(folder / f"{name}.csv", index=False)
        paths.append(folder / f"{name}.csv")
    return paths


@pytest.fixture(scope="module")
def result(tables: list[Path]) -> Discrimination:
    return discrimination(ScoresWork(read_score_tables(tables)), Settings(replicates=50))


def printed(result: Discrimination, format_: str) -> str:
    return PRINTED[format_]({"discrimination": result}, ["conventions"])


def discriminate(*arguments: str | Path) -> Result:
    given = ["discriminate", "--jobs", "1", "--quiet", "--replicates", "20", *map(str, arguments)]
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, given)


def test_the_most_discriminative_measure_stands_first(tables: list[Path]) -> None:
    answer = discriminate(*tables)
    assert answer.exit_code == 0
    _, _, power = answer.stdout.partition("Discriminative power\n")
    heading, *rows = power.splitlines()
    assert heading.split()[:3] == ["measure", "mid-p", "DP"]
    assert [row.split()[0] for row in rows[:2]] == ["sharp", "blunt"]


def test_the_systems_come_first_from_the_best(tables: list[Path]) -> None:
    title, heading, *rows = discriminate(tables[1]).stdout.splitlines()
    assert title == "Comparison of the systems under t_sharp"
    assert heading.split() == ["system", "mean", "letters", "95", "%", "ranks"]
    means = pd.read_csv(tables[1]).mean()
    assert [row.split()[0] for row in rows[:4]] == ["d", "c", "b", "a"]
    assert float(rows[0].split()[1]) == pytest.approx(means["d"], abs=0.0005)


def test_latex_is_a_table_with_its_caption(result: Discrimination) -> None:
    text = printed(result, "latex")
    assert r"\caption{Discriminative power. " in text


@pytest.mark.slow
def test_the_output_folder_holds_tables_figure_and_caption(
    tables: list[Path], tmp_path: Path
) -> None:
    assert discriminate(*tables, "--output", tmp_path / "new").exit_code == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == FILES


def test_a_caution_is_said_on_standard_error(tables: list[Path]) -> None:
    of_t, of_exact = (discriminate(*tables, *asked).stderr for asked in (["--test", "t"], []))
    assert "Caution: " in of_t
    assert {*of_exact.splitlines()} < {*of_t.splitlines()}


@pytest.mark.slow
def test_a_study_can_be_asked_again(finished: Path) -> None:
    answer = discriminate(finished, "--test", "wilcoxon")
    assert answer.exit_code == 0
    assert "nDCG@20" in answer.stdout


def test_a_mistake_is_answered_with_a_sentence(tables: list[Path]) -> None:
    answer = discriminate(*tables, "--baseline", "z")
    assert answer.exit_code == MISUSED
    assert answer.stderr == "Error: no system is called 'z'; there are a, b, c, d.\n"


@pytest.mark.slow
def test_no_recommender_library_is_imported(tables: list[Path]) -> None:
    code = (
        f"import sys; sys.argv = ['harness', 'discriminate', {str(tables[0])!r}, '--quiet']\n"
        "from harness.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: print({'lenskit', 'torch', 'sklearn'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.stdout.splitlines()[-1] == "set()", answer.stderr


def test_deeply_nested_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 3000)
    answer = CliRunner().invoke(main, ["discriminate", str(path)])
    assert answer.exit_code == MISUSED
    assert answer.stderr.startswith(f"Error: {path}: the table cannot be read")
