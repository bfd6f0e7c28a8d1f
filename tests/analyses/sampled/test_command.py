"""What sampling does to metrics, on the command line."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from matplotlib.image import imread

from analyses.sampled.estimates import Estimates, estimates
from analyses.shared.analysis import Analysis, members_of
from analyses.shared.publish import PRINTED
from harness.cli.main import main
from qrels import FullRanks
from tests.analyses.sampled.studied import study

MISUSED = 2
SMALL = ("--candidates", "300", "--negatives", "20", "--repeats", "2", "--metric", "AP")
FILES = {
    "sampled.csv", "sampled_advice.csv", "sampled_estimates.png", "sampled_estimates.svg",
    "sampled_estimates.txt", "sampled_orders.csv",
}  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ranks of two systems for 40 users, one twice as good as the other."""
    ranks = np.random.default_rng(1).integers(1, 100, 40)
    path = tmp_path_factory.mktemp("ranks") / "ranks.csv"
    pd.DataFrame({"good": ranks, "poor": 2 * ranks}).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def result() -> Estimates:
    ranks = FullRanks.of(range(1, 41), n_candidates=200)
    asked: dict[str, Any] = {"metrics": ["AP", "Recall@5"], "negatives": 20, "repeats": 3}
    return study(estimates, {"a": ranks}, **asked, seed=1)


def sampled(*arguments: str | Path) -> Result:
    given = ["sampled", "--jobs", "1", "--quiet", "--repeats", "5", *map(str, arguments)]
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, given)


@pytest.mark.slow
def test_a_table_of_ranks_is_estimated(table: Path) -> None:
    answer = sampled(table, "--candidates", "300", "--metric", "AP")
    assert answer.exit_code == 0, answer.stderr
    assert answer.stdout.splitlines()[2].startswith("AP, good")


@pytest.mark.slow
def test_what_was_sampled_is_said_beside_the_table(table: Path) -> None:
    answer = sampled(table, "--candidates", "300", "--negatives", "30", "--without-replacement")
    assert "drawn uniformly without replacement, by a random number" in answer.stderr


@pytest.mark.slow
def test_the_same_command_prints_the_same(table: Path) -> None:
    asked = (table, "--candidates", "300", "--format", "csv")
    assert sampled(*asked).stdout == sampled(*asked, "--jobs", "3").stdout


@pytest.mark.slow
def test_the_seed_changes_the_samples(table: Path) -> None:
    asked = (table, "--candidates", "300", "--format", "csv")
    assert sampled(*asked).stdout != sampled(*asked, "--seed", "5").stdout


def test_only_the_estimators_that_are_asked_for_are_printed(table: Path) -> None:
    asked = ("--estimator", "uncorrected", "--estimator", "bv(gamma=0.5)", "--format", "csv")
    rows = csv.DictReader(io.StringIO(sampled(table, "--candidates", "300", *asked).stdout))
    assert {row["estimator"] for row in rows} == {"Uncorrected", "BV(gamma=0.5,prior=uniform)"}


@pytest.mark.slow
def test_the_folder_holds_tables_figure_and_caption(table: Path, tmp_path: Path) -> None:
    sampled(table, "--candidates", "300", "--output", tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ((), "line 1: the number of candidates must be given"),
        (("--candidates", "150"), "a rank must not be above the candidates, 150"),
        (("--candidates", "300", "--metric", "nDGC"), "`--metric`: no metric of ranks"),
        (("--candidates", "300", "--estimator", "bw"), "`--estimator`: no estimator is called"),
        (("--candidates", "300", "--size", "5", "--size", "5"), "`--size`: 5 is duplicated."),
    ],
)
def test_mistakes_are_answered_with_a_sentence(
    table: Path, asked: tuple[str, ...], sentence: str
) -> None:
    answer = sampled(table, *asked)
    assert answer.exit_code == MISUSED
    assert answer.stderr.startswith("Error: ")
    assert sentence in answer.stderr


def test_json_has_null_where_nothing_is_known(result: Estimates) -> None:
    document = json.loads(PRINTED["json"]({"estimates": result}, ()))
    assert document["sampled"][0]["cutoff"] is None
    assert document["sampled"][0]["mean"] == result.estimated[0, 0, 0].mean()


def test_latex_has_both_tables(result: Estimates) -> None:
    text = PRINTED["latex"]({"estimates": result}, ())
    assert r"\label{tab:sampled}" in text
    assert r"\label{tab:sampled_orders}" in text
    assert r"$\pm$" in text


@pytest.mark.slow
def test_long_names_leave_room_for_a_single_panel(table: Path, tmp_path: Path) -> None:
    asked = ("--candidates", "300", "--metric", "nDCG@10", "--output", tmp_path)
    answer = sampled(table, *asked)
    assert answer.exit_code == 0, answer.exception
    height, width = imread(tmp_path / "sampled_estimates.png").shape[:2]
    assert width > 1.8 * height


def test_a_row_shows_the_exact_value_before_the_estimates(result: Estimates) -> None:
    assert result.means().rows[1][:2] == ["Recall@5, a", 5 / 40]


def test_one_system_has_no_order(result: Estimates) -> None:
    assert np.isnan([row[3:5] for row in result.distances().rows]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ranks", "sizes", "cost", "adaptive", "iterations", "priors"])
def test_every_study_has_tables_a_figure_and_a_caption(
    table: Path, tmp_path: Path, name: str
) -> None:
    answer = sampled(table, *SMALL, "--study", name, "--output", tmp_path)
    assert answer.exit_code == 0, answer.stderr
    made = {path.name for path in tmp_path.iterdir()}
    files = {f"sampled_{name}.{ending}" for ending in ("csv", "svg", "png", "txt")}
    assert files <= made
    assert (tmp_path / f"sampled_{name}.txt").read_text(encoding="utf-8") in answer.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "member", [m for m in members_of("sampled") if "full_ranks" in m.needs], ids=lambda m: m.name
)
def test_every_study_prints_latex_and_json(table: Path, member: Analysis[Any, Any]) -> None:
    asked = (table, *SMALL, "--study", member.name)
    assert r"\begin{tabular}" in sampled(*asked, "--format", "latex").stdout
    document = json.loads(sampled(*asked, "--format", "json").stdout)
    assert document["sampled" if member.name == "estimates" else member.key]
    assert document["captions"][member.key]


def test_a_table_of_ranks_is_not_enough_for_strategies(table: Path) -> None:
    answer = sampled(table, *SMALL, "--study", "strategies")
    assert answer.exit_code == MISUSED
    assert "'strategies' is not one of" in answer.stderr


@pytest.mark.slow
def test_all_studies_are_printed_under_their_titles(table: Path) -> None:
    answer = sampled(table, *SMALL, "--study", "all")
    assert answer.exit_code == 0, answer.stderr
    for title in ("Exact metrics", "Ranks of", "Agreement (tau-b)", "What to choose", "by prior"):
        assert title in answer.stdout


@pytest.mark.slow
def test_csv_is_one_table(table: Path) -> None:
    answer = sampled(table, *SMALL, "--study", "all", "--format", "csv")
    assert answer.exit_code == MISUSED
    assert "csv is one table, and there are 6: sampled_estimates" in answer.stderr


def test_the_winner_s_share_is_that_of_the_samples(result: Estimates) -> None:
    better = FullRanks.of(range(1, 41), n_candidates=200)
    worse = FullRanks.of(range(101, 141), n_candidates=200)
    asked: dict[str, Any] = {"metrics": ["AUC"], "negatives": 50, "repeats": 3, "seed": 1}
    found = study(estimates, {"a": better, "b": worse}, **asked)
    assert [row[-1] for row in found.distances().rows] == [1.0] * len(found.estimators)


def test_items_scored_stand_above_the_errors(result: Estimates) -> None:
    first, *others = result.curve_errors().rows
    assert first[:2] == ["items scored for a user, a", "21.0"]
    assert [row[0] for row in others] == ["AP, a", "Recall, a"]
