"""The example of Krichene & Rendle on the command line."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analyses.sampled.example import Example, example
from analyses.shared.figures import draw_figure
from analyses.shared.result import figures_of
from harness.cli.main import main

pytestmark = pytest.mark.slow

MISUSED = 2


@pytest.fixture(scope="module")
def found() -> Example:
    return example()


def _example(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["sampled", "--example", *map(str, arguments)])


def test_the_exact_order_of_the_lists_is_not_that_of_samples(found: Example) -> None:
    orders = found.orders().rows
    of_ap = [row[1] for row in orders if row[0] == "AP"]
    assert (of_ap[0], of_ap[-1]) == ("A > C > B", "C > B > A")


def test_expected_metrics_stand_beside_the_exact_ones() -> None:
    rows = {str(row[0]): row for row in example().means().rows}
    assert rows["AP, A"][2] == "0.6366 ± 0.1304"
    assert rows["Recall@10, C"][1:] == [0.2, "0.5694 ± 0.0902"]


def test_the_folder_holds_both_tables_and_four_figures(tmp_path: Path) -> None:
    answer = _example("--output", tmp_path / "out")
    assert answer.exit_code == 0, answer.stderr
    kinds = [path.suffix for path in (tmp_path / "out").iterdir()]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        ".csv": 2, ".svg": 4, ".png": 4, ".txt": 4,
    }  # fmt: skip


def test_every_estimator_of_a_figure_has_one_colour(found: Example) -> None:
    figure = draw_figure(found, figures_of(Example)[-1])
    left, right = (
        {str(line.get_label()): line.get_color() for line in axes.lines} for axes in figure.axes
    )
    assert left.items() <= right.items()


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["ranks.csv"], "give a table of ranks, or --example"),
        (["--format", "csv"], "the example is two tables"),
    ],
)
def test_what_the_example_cannot_do_is_said(asked: list[str], sentence: str) -> None:
    answer = _example(*asked)
    assert answer.exit_code == MISUSED
    assert sentence in answer.stderr
