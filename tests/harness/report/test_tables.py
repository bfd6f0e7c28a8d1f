import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analyses.shared.measure import Measure
from analyses.shared.result import Result as AnalysisResult
from analyses.shared.table import FORMATS, Table
from harness.cli.main import main
from harness.report.answer import answer_of
from harness.report.study_folder import FinishedStudy
from harness.report.tables import table_titles, tabulate
from runs import InputError
from tests.harness.results import choose_coefficient, popularity_of, sparsity_of


def table(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["table", *map(str, arguments)])


def column(made: Table, heading: str) -> dict[str, object]:
    place = list(made.headings).index(heading)
    return {str(row[0]): row[place] for row in made.rows}


def test_table_2_has_the_means_at_the_deepest_cutoff(finished: Path) -> None:
    study = FinishedStudy.open(finished)
    means = study.means
    values = means.values[means.measures.index(Measure("P", 20))].tolist()
    assert column(tabulate(study, "table2"), "P") == dict(zip(means.systems, values, strict=True))


def test_table_3_has_metrics_and_cutoffs(finished: Path) -> None:
    made = tabulate(FinishedStudy.open(finished), "table3")
    assert list(made.headings) == ["metric", "@5", "@20"]
    assert [row[0] for row in made.rows] == ["P", "nDCG"]


def test_the_paper_sums_each_pair_twice(finished: Path) -> None:
    study = FinishedStudy.open(finished)
    once, twice = (
        column(tabulate(study, "table3", convention=name), "@5") for name in ("dp", "dp_ordered")
    )
    assert twice == {metric: 2 * float(str(dp)) for metric, dp in once.items()}


@pytest.mark.parametrize("name", ["table2", "table3", "correlation", "coverage"])
def test_the_note_says_what_the_data_are(finished: Path, name: str) -> None:
    study = FinishedStudy.open(finished)
    assert tabulate(study, name).note.endswith(study.manifest.data)


NEEDLESS = {
    *("analyses.online", "analyses.sampled", "analyses.shared.end_labels"),
    *("lenskit", "matplotlib", "numba", "scipy.special", "scipy.stats", "torch"),
}
"""What a table of means has no use for, and would be slow to import."""


@pytest.mark.slow
def test_a_table_of_means_imports_nothing_slow(finished: Path) -> None:
    code = (
        f"import sys; sys.argv = ['harness', 'table', {str(finished)!r}, 'means']\n"
        "from harness.cli.main import main\n"
        f"try: main()\nfinally: print(sorted(set({NEEDLESS}) & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.splitlines()[-1] == "[]", answer.stderr


def test_agreement_is_called_by_the_chosen_coefficient(copied: Path) -> None:
    choose_coefficient(copied, "rbo")
    made = tabulate(FinishedStudy.open(copied), "correlation")
    assert made.note.startswith("Rank-biased overlap")


@pytest.mark.parametrize("format_", FORMATS)
def test_the_command_prints_every_format(finished: Path, format_: str) -> None:
    answer = table(finished, "table2", "--format", format_)
    assert answer.exit_code == 0
    assert answer.output == FORMATS[format_]([tabulate(FinishedStudy.open(finished), "table2")])


def test_without_a_name_the_tables_are_listed(finished: Path) -> None:
    answer = table(finished)
    assert answer.exit_code == 0
    assert "(table3)" in answer.output
    assert "pvalues.csv" in answer.output.replace("\n", " ")


def test_every_table_that_is_listed_can_be_printed(given: Path) -> None:
    listed = table_titles(FinishedStudy.open(given))
    assert "answer" in listed
    assert all(tabulate(FinishedStudy.open(given), name).rows for name in listed)


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (["tabel2"], "no table called 'tabel2'; did you mean 'table2'?"),
        (["table2", "--cutoff", "7"], "the table 'means' has no cut-off 7; it has 5, 20."),
        (["table2", "--convention", "dp"], "the table 'means' has no convention to choose."),
        (["coverage", "--cutoff", "5"], "the table 'coverage' has no cut-off to choose."),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(
    finished: Path, arguments: list[str], finding: str
) -> None:
    answer = table(finished, *arguments)
    assert answer.exit_code == 2
    assert finding in answer.output


def test_a_study_without_the_analysis_says_which_tables_there_are(scored: Path) -> None:
    with pytest.raises(InputError, match=r"no table called 'power'; there are means, table2, cov"):
        tabulate(FinishedStudy.open(scored), "power")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sampled", "sampled_orders"])
def test_sampled_metrics_have_tables_without_cutoffs(ranked: Path, name: str) -> None:
    table = tabulate(FinishedStudy.open(ranked), name)
    assert any("BV(gamma=0.1" in str(cell) for row in [table.headings, *table.rows] for cell in row)
    with pytest.raises(InputError, match="has no cut-off to choose"):
        tabulate(FinishedStudy.open(ranked), name, cutoff=5)


@pytest.mark.slow
def test_the_end_of_a_name_finds_the_table_of_a_paper(ranked: Path) -> None:
    study = FinishedStudy.open(ranked)
    assert tabulate(study, "table4").rows == tabulate(study, "kdd2020-table4").rows


def test_a_study_without_sampled_metrics_says_so(scored: Path) -> None:
    with pytest.raises(InputError, match="the study has no table called 'sampled'; there are"):
        tabulate(FinishedStudy.open(scored), "sampled")


def test_the_numbers_of_all_analyses_stand_side_by_side() -> None:
    results: dict[str, AnalysisResult] = {
        "sparsity": sparsity_of({("P", 20): 0.9, ("nDCG", 20): 0.8}, margin=0.05),
        "popularity": popularity_of({("P", 20): 0.5}, margin=0.05),
    }
    made = answer_of(results).table()
    assert [row[:3] for row in made.rows] == [
        ["P@20", 0.9, "[.84, .94]"],
        ["nDCG@20", 0.8, "[.75, .85]"],
    ]
    assert made.rows[0][3] == 0.5


def test_json_has_all_digits_and_null_for_nan() -> None:
    table = Table("t", "", "", ["name", "value"], [("a", 1 / 3), ("b", math.nan)])
    found = json.loads(FORMATS["json"]([table]))
    assert found == {"t": [{"name": "a", "value": 1 / 3}, {"name": "b", "value": None}]}


def test_keys_of_json_have_no_blanks() -> None:
    table = Table("t", "", "", ["measure", "share p < .05"], [("P@5", 0.5)])
    found = json.loads(FORMATS["json"]([table]))
    assert found == {"t": [{"measure": "P@5", "share_p_<_.05": 0.5}]}


@pytest.mark.parametrize("n_columns", [5, 9, 30])
def test_no_row_is_wider_than_a_terminal_or_broken_in_two(n_columns: int) -> None:
    headings = ["", *(f"column{number}" for number in range(n_columns))]
    rows: list[list[str | float]] = [
        [f"measure@{row}", *map(float, range(n_columns))] for row in range(3)
    ]
    lines = Table("t", "", "", headings, rows).to_columns().splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.startswith(("measure@", " ")) or not line for line in lines)
    assert sum(line.count(".0000") for line in lines) == 3 * n_columns
