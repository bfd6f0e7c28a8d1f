import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from scipy.stats import kendalltau

from harness.cli.main import main
from harness.report.publication import Publication
from harness.report.published_table import read_published
from harness.report.study_folder import FinishedStudy
from runs import InputError
from tests.harness.page import Page


def compare(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def beside(study: Path, rows: pd.DataFrame, folder: Path) -> Publication:
    path = folder / "published.csv"
    rows.to_csv(path, index=False)
    return Publication.of_tables([study], [path])


def own(study: Path) -> pd.DataFrame:
    means = FinishedStudy.open(study).means.frames()["means"]
    measure = means.metric + "@" + means.cutoff.astype(str)
    return means.assign(measure=measure, value=means["mean"])[["system", "measure", "value"]]


@pytest.mark.slow
def test_a_study_agrees_with_itself(finished: Path, tmp_path: Path) -> None:
    made = beside(finished, own(finished), tmp_path)
    assert len(made.frame()) == len(own(finished))
    assert np.allclose(made.frame().ratio, 1)
    assert (made.orderings()["tau-b"] == 1).all()
    assert (made.orderings()["within 10 %"] == made.orderings().numbers).all()


@pytest.mark.slow
def test_ranks_have_an_order_alone(finished: Path, tmp_path: Path) -> None:
    rows = own(finished).query("measure == 'nDCG@20'")
    ranks = rows.assign(rank=rows.value.rank()).drop(columns="value")
    made = beside(finished, ranks, tmp_path)
    assert made.orderings()["tau-b"].tolist() == [-1]
    assert made.frame().ratio.isna().all()


@pytest.mark.slow
def test_numbers_of_measures_are_compared_by_quantity(finished: Path, tmp_path: Path) -> None:
    found = FinishedStudy.open(finished).result("sparsity").estimates()
    assert found is not None
    values = dict(zip(map(str, found.measures), found.values, strict=True))
    rows = [
        {"quantity": found.name, "measure": measure, "value": 2 * value}
        for measure, value in values.items()
    ]
    frame = beside(finished, pd.DataFrame(rows), tmp_path).frame()
    assert len(frame) == len(values)
    assert frame.ratio.tolist() == [0.5] * len(values)


@pytest.mark.slow
def test_what_the_study_lacks_is_named(finished: Path, tmp_path: Path) -> None:
    other = pd.DataFrame([{"system": "ease", "measure": "P@20", "value": 0.3}])
    made = beside(finished, pd.concat([own(finished), other]), tmp_path)
    assert made.missing == ("ease P 20",)


@pytest.mark.slow
def test_the_command_writes_a_page(finished: Path, tmp_path: Path) -> None:
    own(finished).to_csv(tmp_path / "published.csv", index=False)
    result = compare(finished, tmp_path / "published.csv", "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "within 10 %" in result.output
    page = Page((tmp_path / "out/comparison.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert len(pd.read_csv(tmp_path / "out/tables/comparison.csv")) == len(own(finished))


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("n_studies", [0, 2])
def test_a_table_is_compared_with_one_study(n_studies: int, finished: Path, tmp_path: Path) -> None:
    result = compare(*[finished] * n_studies, tmp_path / "published.csv")
    assert result.exit_code == 2
    assert f"with one study, got {n_studies} and 1." in result.output


# Numbers that are stated by hand


def compared_in(folder: Path, theirs: str, ours: str, *, name: str = "results") -> Publication:
    """Compare a published table with one of the same name in a folder of results."""
    results = folder / name
    results.mkdir()
    (results / "table1.csv").write_text(ours, encoding="utf-8")
    path = folder / "table1.csv"
    path.write_text(theirs, encoding="utf-8")
    return Publication.of_tables([results], [path])


def stated(
    rows: Sequence[tuple[str, ...]],
    ours: list[float],
    published: list[float],
    *,
    labels: tuple[str, ...] = ("system",),
    **facts: Any,
) -> Publication:
    """Numbers that both have, with steps of 1, and no deviations."""
    joined = pd.DataFrame(rows, columns=[*labels])
    numbers: dict[str, Any] = {"ours": ours, "published": published, "step": 1.0, "noise": np.nan}
    facts = {"name": "n", "data": (), "path": Path("table1.csv"), "missing": (), **facts}
    return Publication(joined=joined.assign(**numbers), labels=labels, **facts)


NEAR = "system,value\na,10\nb,10\nc,10.0\nd,10.0\ne,0.0\nf,-10\ng,-4\n"
OURS = "system,value\na,11\nb,11.5\nc,10.05\nd,10.06\ne,0.2\nf,-11\ng,4.5\n"


def test_values_are_near_up_to_a_tenth_and_within_rounding_up_to_half_a_digit(
    tmp_path: Path,
) -> None:
    frame = compared_in(tmp_path, NEAR, OURS).frame().set_index("system")
    ratios = [1.1, 1.15, 1.005, 1.006, np.nan, 1.1, -1.125]
    np.testing.assert_allclose(frame.ratio, ratios)
    assert frame.index[frame.near].tolist() == ["a", "c", "d", "f"]
    assert frame.index[frame.rounding].tolist() == ["c"]
    assert not frame.noise.any()


def test_the_summary_counts_what_agrees(tmp_path: Path) -> None:
    made = compared_in(tmp_path, NEAR + "h,3\n", OURS)
    tau = made.summary().pop("tau-b")
    assert {key: value for key, value in made.summary().items() if key != "tau-b"} == {
        "table": "table1",
        "printed": 8,
        "compared": 7,
        "within rounding": 1,
        "within noise": "",
        "within 10 %": 4,
        "same sign": 5,
    }
    frame = made.frame()
    assert tau == pytest.approx(kendalltau(frame.ours, frame.published).statistic)
    of_values, lacking = made.findings()
    assert of_values.startswith("4 of 7 values are within 10 % of the print; ")
    assert f"tau-b = {tau:.2f}".replace("0.", ".") in of_values
    assert lacking == "Published numbers without a counterpart: h."


def test_signs_are_compared_where_a_published_number_is_negative() -> None:
    rising = stated([("a",), ("b",)], [1.0, -2.0], [1.0, 0.0]).summary()
    assert rising["same sign"] == ""
    falling = stated([("a",), ("b",)], [1.0, -2.0], [1.0, -1.0]).summary()
    assert falling["same sign"] == 2


def test_noise_is_two_standard_errors_of_the_difference(tmp_path: Path) -> None:
    """Variances of 3² / 9 and 4² / 4 make 2 sqrt(5) = 4.472, and 2 where ours have none."""
    theirs = "system,value,sd,repeats\na,10,3,9\nb,10,3,9\nc,10,3,9\nd,10,3,9\ne,10,,\n"
    ours = "system,value,sd,repeats\na,14.47,4,4\nb,14.48,4,4\nc,12,,\nd,12.1,,\ne,10,4,4\n"
    made = compared_in(tmp_path, theirs, ours)
    assert made.joined.noise.tolist()[:4] == pytest.approx([2 * 5**0.5, 2 * 5**0.5, 2, 2])
    assert np.isnan(made.joined.noise[4])
    assert made.frame().noise.tolist() == [True, False, True, False, False]
    assert made.summary()["within noise"] == 2


def test_counts_of_repeats_have_binomial_noise(tmp_path: Path) -> None:
    """Of 100 runs, 20 and 30: variances of 100 x .2 x .8 = 16 and 100 x .3 x .7 = 21."""
    theirs = "system,value,unit\na,20,out of 100 runs\nb,20,out of 100 repeats\nc,20,points\n"
    made = compared_in(tmp_path, theirs, "system,value\na,30\nb,20\nc,20\n")
    assert made.joined.noise.tolist()[:2] == pytest.approx([2 * 37**0.5, 2 * 32**0.5])
    assert np.isnan(made.joined.noise[2])


def test_shares_are_multiplied_where_per_cent_are_published(tmp_path: Path) -> None:
    theirs = "system,value,unit\na,25,% of users\nb,25,users\n"
    ours = "system,value\na,0.25\nb,24\n"
    assert compared_in(tmp_path, theirs, ours).joined.ours.tolist() == [25, 24]


def test_numbers_that_have_a_unit_of_their_own_are_not_multiplied(tmp_path: Path) -> None:
    theirs = "system,value,unit\na,25,%\n"
    ours = "system,value,unit\na,24,%\n"
    assert compared_in(tmp_path, theirs, ours).joined.ours.tolist() == [24]


@pytest.mark.parametrize(
    ("datasets", "name", "chosen"),
    [
        (("other", "ml", "ml-100k"), "My ML-100K study", "ml-100k"),
        (("other", "ml-1", "ml-100k"), "ml100k", "ml-100k"),
        (("other", "ml"), "ml-100k", "other"),
        (("other", "ml1"), "ml1", "ml1"),
        (("ml1",), "other", "ml1"),
    ],
)
def test_rows_are_those_of_the_data_set_that_the_results_are_named_for(
    datasets: tuple[str, ...], name: str, chosen: str, tmp_path: Path
) -> None:
    """The longest name of three letters or more that is in theirs, or the first of all."""
    theirs = "dataset,system,value\n" + "".join(
        f"{dataset},a,{number}\n" for number, dataset in enumerate(datasets)
    )
    made = compared_in(tmp_path, theirs, "system,value\na,5\n", name=name)
    assert made.joined.published.tolist() == [datasets.index(chosen)]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("BPR-MF", "bpr_mf"),
        ("SLIM (lambda 2)", "slim"),
        ("1,463", "1463"),
        ("None", ""),
        ("–", "–"),
        ("NA", "NA"),
    ],
)
def test_labels_that_are_spelt_otherwise_are_the_same(
    theirs: str, ours: str, tmp_path: Path
) -> None:
    rows = f'system,value\n"{theirs}",1\nother,2\n'
    made = compared_in(tmp_path, rows, f"system,value\n{ours},1\nother,2\n")
    assert made.joined.ours.tolist() == [1, 2]


def test_columns_that_say_nothing_of_which_number_it_is_are_no_labels(tmp_path: Path) -> None:
    """Nor are those of the paper, those that ours lack, and those that ours leave empty."""
    theirs = "system,note,paper_row,place,empty,value\na,x,1,top,x,3\n"
    ours = "system,note,paper_row,empty,value\na,y,2,,4\n"
    made = compared_in(tmp_path, theirs, ours)
    assert made.labels == ("system",)
    assert made.joined[["ours", "published"]].to_numpy().tolist() == [[4, 3]]


def test_the_first_of_several_rows_of_a_label_is_compared(tmp_path: Path) -> None:
    theirs, ours = "system,value\na,1\na,2\nb,3\n", "system,value\na,5\na,6\nb,7\n"
    made = compared_in(tmp_path, theirs, ours)
    assert made.joined[["ours", "published"]].to_numpy().tolist() == [[5, 1], [7, 3]]


def test_results_without_any_label_of_the_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of these numbers: no table of its has this name"):
        compared_in(tmp_path, "system,value\na,1\n", "method,value\na,1\n")


def test_a_label_of_which_some_rows_are_known_is_not_called_unknown(tmp_path: Path) -> None:
    theirs = "system,metric,value\na,P,1\nb,AP,2\n"
    with pytest.raises(InputError, match=r"none of these numbers\.$"):
        compared_in(tmp_path, theirs, "system,metric,value\na,AP,1\nb,P,2\n")


def test_orderings_are_compared_within_what_else_labels_the_numbers() -> None:
    rows = [(system, metric) for metric in ("P", "AP") for system in "abc"]
    ours = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    published = [1.0, 2.0, 3.3, 1.0, 3.0, 2.0]
    made = stated([*rows, ("a", "RR")], [*ours, 1], [*published, 1], labels=("system", "metric"))
    orderings = made.orderings()
    assert orderings["of"].tolist() == ["P", "AP"]
    assert orderings.numbers.tolist() == [3, 3]
    assert orderings["within 10 %"].tolist() == [3, 1]
    assert orderings["tau-b"].tolist() == pytest.approx([1, 1 / 3])
    assert made.summary()["tau-b"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        (("estimator", "quantity", "sample_set_size", "metric"), ["quantity", "metric"]),
        (("estimator", "system"), ["estimator"]),
        (("quantity", "metric"), ["quantity"]),
        (("metric",), []),
    ],
)
def test_orderings_are_of_estimators_of_systems_or_of_all(
    labels: tuple[str, ...], groups: list[str]
) -> None:
    """All labels but those that are ordered are the same in an ordering."""
    rows = [tuple(f"{label}{n}" for label in labels) for n in (1, 2)]
    apart = stated(rows, [1, 2], [1, 2], labels=labels).orderings()
    assert len(apart) == (not groups)
    alike = [tuple(f"{x}" if x in groups else f"{x}{n}" for x in labels) for n in (1, 2)]
    (found,) = stated(alike, [1, 2], [1, 2], labels=labels).orderings()["of"]
    assert found == (" ".join(groups) or "all")


def test_the_mean_tau_counts_each_ordering_by_its_numbers() -> None:
    rows = [("a", "P"), ("b", "P"), ("c", "P"), ("a", "AP"), ("b", "AP")]
    ours, published = [1.0, 2.0, 3.0, 1.0, 2.0], [1.0, 2.0, 3.0, 2.0, 1.0]
    made = stated(rows, ours, published, labels=("system", "metric"))
    assert made.summary()["tau-b"] == pytest.approx((3 * 1 + 2 * -1) / 5)
    assert np.isnan(float(stated([("a",)], [1], [1]).summary()["tau-b"]))


def test_rank_1_is_the_highest_number_unless_lower_is_better() -> None:
    rows = [(system, metric) for metric in ("P", "misses") for system in "ab"]
    ours, ranks = [3.0, 1.0, 3.0, 1.0], [1.0, 2.0, 1.0, 2.0]
    made = stated(
        rows, ours, ranks, labels=("system", "metric"), are_ranks=True,
        lower_is_better_for=frozenset({"misses"}),
    )  # fmt: skip
    assert made.orderings()["tau-b"].tolist() == [1, -1]
    frame = made.frame()
    assert frame.ratio.isna().all()
    assert not frame.rounding.any()
    assert (made.summary()["within rounding"], made.summary()["within 10 %"]) == ("", "")
    assert [*made.findings()] == ["the orderings agree with tau-b = .00."]


@pytest.mark.parametrize(
    ("n_lacking", "named"),
    [
        (4, "s0, s1, s2 and s3."),
        (5, "s0, s1, s2, s3 and s4."),
        (7, "s0, s1, s2, s3, s4 and 2 more."),
    ],
)
def test_five_missing_numbers_are_named(n_lacking: int, named: str) -> None:
    lacking = tuple(f"s{number}" for number in range(n_lacking))
    _, sentence = stated([("a",)], [1.0], [1.0], missing=lacking).findings()
    assert sentence.endswith(f": {named}")


def test_the_five_most_distant_numbers_have_a_table() -> None:
    ours = [1.0, 0.2, 1.5, 1.4, 1.3, 1.1, 3.0]
    made = stated([(name,) for name in "abcdefg"], ours, [1.0] * 7)
    tables = {table.name: table for table in made.tables()}
    assert [*tables] == ["summary", "orderings", "worst", "levels"]
    assert [row[0] for row in tables["worst"].rows] == ["g", "b", "c", "d", "e"]
    assert [row[:4] for row in tables["levels"].rows][1] == ("b", 0.2, 1.0, 0.2)
    assert tables["summary"].decimals == 2


def test_without_ratios_and_orderings_there_are_no_such_tables() -> None:
    made = stated([("a",)], [1.0], [0.0])
    assert [table.name for table in made.tables()] == ["summary", "levels"]


def test_deviations_and_repeats_are_read(tmp_path: Path) -> None:
    path = tmp_path / "published.csv"
    path.write_text("system,sd,repeats,value\na,0.25,10,2.8k\nb,,,7\n", encoding="utf-8")
    frame, are_ranks = read_published(path)
    assert not are_ranks
    assert frame[["sd", "repeats"]].to_numpy() == pytest.approx(
        np.array([[0.25, 10], [np.nan, np.nan]]), nan_ok=True
    )
    assert frame[["published", "step"]].to_numpy() == pytest.approx(np.array([[2800, 100], [7, 1]]))


def test_a_measure_is_a_metric_and_a_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "published.csv"
    path.write_text("measure,rank\nP@5,1\nAP,2\n", encoding="utf-8")
    frame, are_ranks = read_published(path)
    assert are_ranks
    assert frame[["metric", "cutoff"]].to_numpy().tolist() == [["P", "5"], ["AP", ""]]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("system,value,rank\na,1,1\n", "line 1: one column `value` or `rank` expected"),
        ("system\na\n", "line 1: one column `value` or `rank` expected, found system."),
        ("system,value\na,\n", "line 1: the column value has no number."),
        ("system,rank\na,1\nb,0.5\n", "line 3: a rank is 1 or more, got 0.5."),
    ],
)
def test_a_table_without_numbers_or_with_impossible_ranks_is_refused(
    text: str, finding: str, tmp_path: Path
) -> None:
    path = tmp_path / "published.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(finding)):
        read_published(path)


@pytest.mark.parametrize(("n_studies", "n_tables"), [(1, 2), (2, 1), (0, 1), (1, 0)])
def test_one_table_is_compared_with_one_folder(n_studies: int, n_tables: int) -> None:
    with pytest.raises(InputError, match=f"got {n_studies} and {n_tables}"):
        Publication.of_tables([Path("a")] * n_studies, [Path("b.csv")] * n_tables)


@pytest.mark.slow
def test_counts_of_a_study_are_compared_with_published_ones(finished: Path, tmp_path: Path) -> None:
    facts = FinishedStudy.open(finished).manifest
    rows = [("users", 10), ("interactions", 20), ("judgements", 30), ("gini", 0.5)]
    made = beside(finished, pd.DataFrame(rows, columns=["quantity", "value"]), tmp_path)
    ours = dict(zip(made.joined.quantity, made.joined.ours, strict=True))
    assert ours == {
        "users": facts.collection["users"],
        "interactions": facts.ratings["ratings"],
        "judgements": facts.collection["judgements"],
        "gini": facts.ratings["gini"],
    }


@pytest.mark.slow
def test_a_result_has_the_numbers_of_a_publication(finished: Path, tmp_path: Path) -> None:
    """Table 3 of Valcarce et al. (2018) has DP over ordered pairs."""
    result = FinishedStudy.open(finished).result("discrimination")
    frame = result.publications()["recsys2018-table3"]
    path = tmp_path / "recsys2018-table3.csv"
    frame.assign(value=[f"{value:.4f}" for value in frame["value"]]).to_csv(path, index=False)
    made = Publication.of_tables([finished], [path])
    assert len(made.joined) == len(frame) > 1
    assert made.frame()["rounding"].all()
