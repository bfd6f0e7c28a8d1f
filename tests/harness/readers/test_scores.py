from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analyses.shared.measure import Measure, Scores
from harness import compare_systems
from harness.readers.scores import (
    all_reported,
    read_score_tables,
    scores_from_parquet,
    scores_of,
    scores_to_parquet,
)
from runs import InputError
from tests.harness.small import ROOT

SHARED = ROOT.parent / "shared" / "data" / "trec-per-topic"
TABLE = "a,b\n0.5,1\n0.25,0\n"


def written(folder: Path, **tables: str) -> list[Path]:
    """Write tables by name, and give their paths."""
    paths = []
    for name, text in tables.items():
        path = folder / f"{name}.csv"
        path.write_bytes(text.encode())
        paths.append(path)
    return paths


def test_columns_are_systems_and_rows_are_topics(tmp_path: Path) -> None:
    scores = read_score_tables(written(tmp_path, ap=TABLE))
    assert scores.systems == ("a", "b")
    assert scores.users.tolist() == ["1", "2"]
    np.testing.assert_array_equal(scores.values, [[[0.5, 0.25], [1, 0]]])


@pytest.mark.parametrize(
    "text",
    [
        "a\tb\n0.5\t1\n0.25\t0\n",
        "\ufeffa,b\r\n0.5,1\r\n0.25,0\r\n",
        '"a","b"\n"0.5",1\n0.25,0',
        "a,b\n\n0.5, 1\n 0.25,0\n\n",
    ],
    ids=["tabs", "byte order mark and CRLF", "quotes", "blank lines and spaces"],
)
def test_dialects_are_read_alike(tmp_path: Path, text: str) -> None:
    scores = read_score_tables(written(tmp_path, ap=text))
    np.testing.assert_array_equal(scores.values, [[[0.5, 0.25], [1, 0]]])


@pytest.mark.parametrize("heading", ["topic", "Topic", "user", "query", "qid", ""])
def test_a_first_column_with_a_heading_of_ids_has_ids(tmp_path: Path, heading: str) -> None:
    scores = read_score_tables(written(tmp_path, ap=f"{heading},a,b\n301,1,2\n302,3,4\n"))
    assert scores.users.tolist() == ["301", "302"]
    assert scores.systems == ("a", "b")


def test_a_first_column_of_numbers_is_a_system(tmp_path: Path) -> None:
    assert read_score_tables(written(tmp_path, ap="x,a,b\n1,1,2\n")).systems == ("x", "a", "b")


@pytest.mark.parametrize(
    ("names", "measures"),
    [
        (["adhoc5_ap"], [Measure("adhoc5_ap")]),
        (["adhoc5_ap", "adhoc5_p10"], [Measure("ap"), Measure("p10")]),
        (["ap", "ab"], [Measure("ap"), Measure("ab")]),
        (["x-nDCG@10", "x-nDCG@5"], [Measure("nDCG", 10), Measure("nDCG", 5)]),
        (["P@5"], [Measure("P", 5)]),
    ],
)
def test_measures_are_called_as_their_files(
    tmp_path: Path, names: list[str], measures: list[Measure]
) -> None:
    paths = written(tmp_path, **dict.fromkeys(names, TABLE))
    assert list(read_score_tables(paths).measures) == measures


def test_systems_and_topics_are_put_in_the_order_of_the_first_table(tmp_path: Path) -> None:
    first, second = "qid,a,b\n1,1,2\n2,3,4\n", "qid,b,a\n2,4,3\n1,2,1\n"
    scores = read_score_tables(written(tmp_path, ap=first, rr=second))
    np.testing.assert_array_equal(scores.values[0], scores.values[1])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "ap.csv: the file is empty."),
        ("a,b\n", "ap.csv, line 1: the table has a heading but no scores."),
        ("a,b\n1,x\n", "ap.csv, line 2: column 'b': a number expected, found 'x'."),
        ("a,b\n1,2\n1,\n", "ap.csv, line 3: column 'b': a score is missing."),
        ("a,b\n1,inf\n", "ap.csv, line 2: column 'b': a number expected, found 'inf'."),
        ("a,b\nnan,1\n", "ap.csv, line 2: column 'a': a number expected, found 'nan'."),
        ("a,b\n1,2,3\n", "ap.csv, line 2: 2 fields expected, as in the heading, found 3."),
        ("a,a\n1,2\n", "ap.csv, line 1: system 'a' is duplicated."),
        ("a,b,\n1,2,3\n", "ap.csv, line 1: a system has no name."),
        ("a\n1\n", "ap.csv, line 1: two or more systems expected, found 'a'."),
        ("user\nu1\n", "ap.csv, line 1: two or more systems expected, found none."),
        ("qid,a,b\n7,1,2\n7,1,2\n", "ap.csv, line 3: topic '7' is duplicated."),
        ('a,b\n1,"2\n', "ap.csv, line 2: not valid CSV"),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        read_score_tables(written(tmp_path, ap=text))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ("a,b,c\n1,2,3\n1,2,3\n", r"rr.csv and .*ap.csv must have the same systems: system 'c'"),
        ("a,c\n1,2\n1,2\n", r"must have the same systems: system 'b'"),
        ("a,b\n1,2\n", r"rr.csv and .*ap.csv must have the same topics: topic '2'"),
    ],
)
def test_tables_that_differ_are_both_named(tmp_path: Path, other: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_score_tables(written(tmp_path, ap=TABLE, rr=other))


def test_two_tables_of_one_measure_are_both_named(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    paths = [*written(tmp_path, ap=TABLE), *written(tmp_path / "other", ap=TABLE)]
    with pytest.raises(InputError, match=r"ap.csv and .*other/ap.csv both hold ap"):
        read_score_tables(paths)


def test_the_scores_of_a_study_are_read_from_its_folder(finished: Path) -> None:
    scores = read_score_tables([finished])
    assert Measure("nDCG", 20) in scores.measures
    assert scores.systems == ("random", "popularity", "puresvd")


def study_scores(path: Path, users: str, values: object, systems: str = "ab") -> Path:
    measures = all_reported([Measure("P", 10)])
    scores = Scores(np.array([values], dtype=float), measures, tuple(systems), np.array([*users]))
    path.write_bytes(scores_to_parquet(scores))
    return path


def test_scores_of_several_studies_are_means_over_those_that_test_the_user(tmp_path: Path) -> None:
    first = study_scores(tmp_path / "1.parquet", "uw", [[0.5, 1.0], [0.0, 0.4]])
    second = study_scores(tmp_path / "2.parquet", "vw", [[0.3, 0.0], [0.1, 0.2]])
    scores = read_score_tables([first, second])
    assert scores.users.tolist() == ["u", "v", "w"]
    assert scores.values.tolist() == [[[0.5, 0.3, 0.5], [0.0, 0.1, 0.3]]]
    assert (scores.systems, scores.measures) == (("a", "b"), (Measure("P", 10),))


def test_studies_of_other_systems_have_no_mean(tmp_path: Path) -> None:
    paths = [
        study_scores(tmp_path / f"{systems}.parquet", "u", [[0.5], [0.0]], systems)
        for systems in ("ab", "ac")
    ]
    sentence = r"ac.parquet and .*ab.parquet differ in their systems or measures"
    with pytest.raises(InputError, match=sentence):
        read_score_tables(paths)


def test_scores_of_real_systems_are_read() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent")
    scores = read_score_tables([SHARED / f"adhoc8_{name}.csv" for name in ("ap", "p10", "rr")])
    assert scores.values.shape == (3, 129, 50)
    assert scores.measures.metrics == ("ap", "p10", "rr")


@pytest.mark.parametrize(
    ("heading", "counted_as"), [("topic", "3 topics"), ("qid", "3 topics"), ("user", "3 users")]
)
def test_scores_are_of_topics_where_their_heading_says_so(heading: str, counted_as: str) -> None:
    frame = pd.DataFrame({heading: ["1", "2", "3"], "a": [0.1, 0.2, 0.3], "b": [0.3, 0.1, 0.1]})
    scores = scores_of(frame)
    assert counted_as in repr(scores)
    compared = compare_systems(scores)
    assert counted_as in compared.caption()
    assert counted_as in compared.to_latex()


def test_what_scores_are_of_is_kept_with_them(tmp_path: Path) -> None:
    frame = pd.DataFrame({"topic": ["1", "2"], "a": [0.1, 0.2], "b": [0.3, 0.1]})
    kept = scores_from_parquet(scores_to_parquet(scores_of(frame)))
    assert kept.unit == "topic"
    frame.to_csv(tmp_path / "ap.csv", index=False)
    assert read_score_tables([tmp_path / "ap.csv"]).unit == "topic"
