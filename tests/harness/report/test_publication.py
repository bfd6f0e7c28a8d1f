from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from harness.cli.main import main
from harness.report.publication import Publication, read_published
from harness.report.study_folder import FinishedStudy
from tests.harness.page import Page

pytestmark = pytest.mark.slow


def compare(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def beside(study: Path, rows: pd.DataFrame, folder: Path) -> Publication:
    path = folder / "published.csv"
    rows.to_csv(path, index=False)
    return Publication.of([study], [path])


def own(study: Path) -> pd.DataFrame:
    means = FinishedStudy.at(study).means.frames()["means"]
    measure = means.metric + "@" + means.cutoff.astype(str)
    return means.assign(measure=measure, value=means["mean"])[["system", "measure", "value"]]


def test_a_study_agrees_with_itself(finished: Path, tmp_path: Path) -> None:
    made = beside(finished, own(finished), tmp_path)
    assert len(made.frame()) == len(own(finished))
    assert np.allclose(made.frame().ratio, 1)
    assert (made.orderings()["tau-b"] == 1).all()
    assert (made.orderings()["within 10 %"] == made.orderings().numbers).all()


def test_ranks_have_an_order_alone(finished: Path, tmp_path: Path) -> None:
    rows = own(finished).query("measure == 'nDCG@20'")
    ranks = rows.assign(rank=rows.value.rank()).drop(columns="value")
    made = beside(finished, ranks, tmp_path)
    assert made.orderings()["tau-b"].tolist() == [-1]
    assert made.frame().ratio.isna().all()


def test_numbers_of_measures_are_compared_by_quantity(finished: Path, tmp_path: Path) -> None:
    found = FinishedStudy.at(finished).result("sparsity").estimates()
    assert found is not None
    values = dict(zip(map(str, found.measures), found.values, strict=True))
    rows = [
        {"quantity": found.name, "measure": measure, "value": 2 * value}
        for measure, value in values.items()
    ]
    frame = beside(finished, pd.DataFrame(rows), tmp_path).frame()
    assert len(frame) == len(values)
    assert frame.ratio.tolist() == [0.5] * len(values)


def test_what_the_study_lacks_is_named(finished: Path, tmp_path: Path) -> None:
    other = pd.DataFrame([{"system": "ease", "measure": "P@20", "value": 0.3}])
    made = beside(finished, pd.concat([own(finished), other]), tmp_path)
    assert made.lacking == ("ease P 20",)


def test_the_command_writes_a_page(finished: Path, tmp_path: Path) -> None:
    own(finished).to_csv(tmp_path / "published.csv", index=False)
    result = compare(finished, tmp_path / "published.csv", "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "within 10 %" in result.output
    page = Page((tmp_path / "out/comparison.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert len(pd.read_csv(tmp_path / "out/tables/comparison.csv")) == len(own(finished))


@pytest.mark.parametrize(
    ("row", "finding"),
    [
        ("puresvd,nDGC@20,1", "no 'nDGC'; did you mean 'nDCG'?"),
        ("purevsd,nDCG@20,1", "no 'purevsd'; did you mean 'puresvd'?"),
        ('puresvd,nDCG@20,"0,216"', "line 2: column 'value': a number expected, such as 0.216"),
        ("puresvd,nDCG@20,abc", "found 'abc'; "),
        ("puresvd,nDCG@20,21.7%", "found '21.7%'; % is written in a column `unit`."),
    ],
)
def test_numbers_that_a_study_lacks_or_that_are_none_are_refused(
    row: str, finding: str, finished: Path, tmp_path: Path
) -> None:
    path = tmp_path / "published.csv"
    path.write_text(f"system,measure,value\n{row}\n", encoding="utf-8")
    result = compare(finished, path)
    assert result.exit_code == 2
    assert finding in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("text", "value", "step"),
    [
        *(("1,463", 1463, 1), ("2.8m", 2.8e6, 1e5), ("-.26", -0.26, 0.01)),
        *(("1.5e-05", 1.5e-5, 1e-6), ("12", 12, 1)),
    ],
)
def test_published_numbers_are_read_as_printed(
    text: str, value: float, step: float, tmp_path: Path
) -> None:
    path = tmp_path / "published.csv"
    path.write_text(f'system,value\nslim,"{text}"\nease,\nx,6 - 12k\n', encoding="utf-8")
    frame, _ = read_published(path)
    assert frame[["published", "step"]].to_numpy() == pytest.approx(np.array([[value, step]]))


@pytest.mark.parametrize("n_studies", [0, 2])
def test_a_table_is_compared_with_one_study(n_studies: int, finished: Path, tmp_path: Path) -> None:
    result = compare(*[finished] * n_studies, tmp_path / "published.csv")
    assert result.exit_code == 2
    assert f"with one study, got {n_studies} and 1." in result.output
