from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from analyses.ordering import tau_b
from harness.cli.main import main
from harness.report.publication import Publication
from harness.report.study_folder import FinishedStudy
from tests.harness.page import Page

pytestmark = pytest.mark.slow


def compare(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def beside(study: Path, rows: pd.DataFrame, folder: Path) -> Publication:
    path = folder / "published.csv"
    rows.to_csv(path, index=False)
    return Publication.of([FinishedStudy.at(study)], [path])


def own(study: Path) -> pd.DataFrame:
    means = FinishedStudy.at(study).means.frames()["means"]
    measure = means.metric + "@" + means.cutoff.astype(str)
    return means.assign(measure=measure, value=means["mean"])[["system", "measure", "value"]]


def test_a_study_agrees_with_itself(finished: Path, tmp_path: Path) -> None:
    made = beside(finished, own(finished), tmp_path)
    frame = made.frame()
    assert len(frame) == len(own(finished))
    assert np.allclose(frame.ratio, 1)
    assert ((frame.low <= frame.published) & (frame.published <= frame.high)).all()
    assert [column.agreement.value for column in made.columns] == [1.0] * len(made.columns)
    assert not any(column.turned for column in made.columns)
    assert made.missing == []


def test_levels_are_shares_of_what_is_published(finished: Path, tmp_path: Path) -> None:
    twice = own(finished).assign(value=lambda rows: 2 * rows.value)
    assert np.allclose(beside(finished, twice, tmp_path).frame().ratio, 0.5)


def test_an_order_that_is_turned_round_is_beyond_noise(finished: Path, tmp_path: Path) -> None:
    rows = own(finished).query("measure == 'nDCG@20'")
    ranks = rows.assign(rank=rows.value.rank()).drop(columns="value")
    (column,) = beside(finished, ranks, tmp_path).columns
    assert column.agreement.value == -1
    assert ("popularity", "random") in column.turned
    assert np.isnan(column.ratios).all()


def test_numbers_of_measures_are_compared_by_quantity(finished: Path, tmp_path: Path) -> None:
    found = FinishedStudy.at(finished).result("sparsity").estimates()
    assert found is not None
    values = dict(zip(map(str, found.measures), found.values, strict=True))
    rows = [
        {"quantity": found.name, "measure": measure, "value": value + 0.1}
        for measure, value in values.items()
    ]
    (column,) = beside(finished, pd.DataFrame(rows), tmp_path).columns
    assert column.names == tuple(values)
    assert column.agreement.value == tau_b(column.ours, column.theirs) == 1


def test_what_the_study_lacks_is_named(finished: Path, tmp_path: Path) -> None:
    other = pd.DataFrame([{"system": "ease", "measure": "P@20", "value": 0.3}])
    made = beside(finished, pd.concat([own(finished), other]), tmp_path)
    assert [*made.findings()][-1] == "Published, and not in the study: P@20 of ease."


def test_the_command_writes_a_page(finished: Path, tmp_path: Path) -> None:
    own(finished).to_csv(tmp_path / "published.csv", index=False)
    result = compare(finished, tmp_path / "published.csv", "--to", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "ours / published" in result.output
    page = Page((tmp_path / "out/comparison.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert len(pd.read_csv(tmp_path / "out/tables/comparison.csv")) == len(own(finished))


@pytest.mark.parametrize(
    ("row", "finding"),
    [
        ("puresvd,ndcg@20,1", "no 'ndcg@20' for one; did you mean 'nDCG@20'?"),
        ("PureSVD,nDCG@20,1", "no 'PureSVD' for one; did you mean 'puresvd'?"),
    ],
)
def test_numbers_of_which_a_study_has_none_are_refused(
    row: str, finding: str, finished: Path, tmp_path: Path
) -> None:
    path = tmp_path / "published.csv"
    path.write_text(f"system,measure,value\n{row}\n", encoding="utf-8")
    result = compare(finished, path)
    assert result.exit_code == 2
    assert finding in " ".join(result.output.split())


@pytest.mark.parametrize("n_studies", [0, 2])
def test_a_table_is_compared_with_one_study(n_studies: int, finished: Path, tmp_path: Path) -> None:
    result = compare(*[finished] * n_studies, tmp_path / "published.csv")
    assert result.exit_code == 2
    assert f"with one study, got {n_studies} studies and 1 table" in result.output
