from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from harness import compare_systems, discriminate
from harness.cli.main import main
from harness.readers.score_files import read_score_tables
from harness.readers.score_parquet import scores_from_parquet, scores_to_parquet
from harness.readers.scores import all_reported, are_metrics, measure_named, scores_of
from runs import InputError
from runs.tables.options import TextOptions
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
        ("a,b\n1,2,3\n", "ap.csv, line 2: 2 fields between ',' expected, found 3."),
        ("a,a\n1,2\n", "ap.csv, line 1: system 'a' is duplicated."),
        ("a,b,\n1,2,3\n", "ap.csv, line 1: a system has no name."),
        ("a\n1\n", "ap.csv, line 1: two or more systems expected, found 'a'."),
        ("user\nu1\n", "ap.csv, line 1: two or more systems expected, found none."),
        ("qid,a,b\n7,1,2\n7,1,2\n", "ap.csv, line 3: topic '7' is duplicated."),
        ('a,b\n1,"2\n', "ap.csv, line 2: the line is not valid CSV"),
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


def study_scores(path: Path, users: str, values: object, systems: str = "ab") -> Path:
    measures = all_reported([Measure("P", 10)])
    scores = Scores(np.array([values], dtype=float), measures, tuple(systems), np.array([*users]))
    path.write_bytes(scores_to_parquet(scores))
    return path


def test_the_scores_of_a_study_are_read_from_its_folder(tmp_path: Path) -> None:
    path = study_scores(tmp_path / "scores.parquet", "uv", [[0.5, 1.0], [0.0, 0.4]])
    for place in (tmp_path, path):
        scores = read_score_tables([place])
        assert (scores.systems, scores.measures) == (("a", "b"), (Measure("P", 10),))
        assert scores.values.tolist() == [[[0.5, 1.0], [0.0, 0.4]]]


def test_what_is_no_finished_study_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"scores\.parquet: .* no such file; the study is not fin"):
        read_score_tables([tmp_path])
    with pytest.raises(InputError, match="no such file; the study is not finished"):
        read_score_tables([tmp_path / "x.parquet"])
    (tmp_path / "odd.parquet").write_bytes(b"scores")
    with pytest.raises(InputError, match=r"odd\.parquet: not the scores of a study"):
        read_score_tables([tmp_path / "odd.parquet"])
    pd.DataFrame({"cutoff": [1]}).to_parquet(tmp_path / "few.parquet")
    with pytest.raises(InputError, match=r"few\.parquet: not the scores of a study"):
        read_score_tables([tmp_path / "few.parquet"])
    with pytest.raises(InputError, match="no table of scores was given"):
        read_score_tables([])


def test_parquet_of_another_tool_is_a_table(tmp_path: Path) -> None:
    frame = pd.DataFrame({"model": ["x", "y"] * 2, "user": ["u", "u", "v", "v"]})
    frame.assign(RR=[0.5, 1, 0.25, 0]).to_parquet(tmp_path / "any.parquet")
    scores = read_score_tables([tmp_path / "any.parquet"])
    assert (scores.systems, scores.values.tolist()) == (("x", "y"), [[[0.5, 0.25], [1, 0]]])


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


@pytest.fixture
def scores() -> Scores:
    measures = Measures(Measure(f"m{n}", cutoff) for n in range(7) for cutoff in range(1, 12))
    users = np.array([f"u{n}" for n in range(60)])
    values = np.random.default_rng(7).random((77, 7, 60))
    return Scores(values, measures, tuple("abcdefg"), users)


def test_equal_scores_are_equal_bytes_whatever_memory_held_before(scores: Scores) -> None:
    written = set()
    for n in range(8):
        before = [np.full(1000 * n + 1, n) for _ in range(50)]
        del before
        written.add(scores_to_parquet(scores))
    assert len(written) == 1


def test_scores_are_read_back_as_they_were(scores: Scores) -> None:
    back = scores_from_parquet(scores_to_parquet(scores))
    assert back.measures == scores.measures
    assert (back.values == scores.values).all()


def test_what_is_reported_of_whole_lists_too_is_read_back(scores: Scores) -> None:
    every = [Measure("P", 5), Measure("P", 10), Measure("bpref")]
    measures = Measures(
        every, lower_is_better_for=["P"], reported=[every[2], every[0]], grid=every[:2]
    )
    few = Scores(scores.values[:3], measures, scores.systems, scores.users)
    back = scores_from_parquet(scores_to_parquet(few)).measures
    assert (back, back.lower_is_better_for) == (measures, measures.lower_is_better_for)
    assert (back.reported, back.grid) == (measures.reported, measures.grid)


def list_metrics(*models: str) -> pd.DataFrame:
    """Measure the run as LensKit does: a row for each list, a column for each metric."""
    data, metrics = (pytest.importorskip(f"lenskit.{name}") for name in ("data", "metrics"))
    fields = ["model", "user_id"] if models else ["user_id"]
    runs, test = data.ItemListCollection(fields), data.ItemListCollection(data.UserIDKey)
    for user in "12":
        test.add(data.ItemList(item_ids=["b"], rating=[4.0]), user_id=user)
        for place, model in enumerate(models or ("",)):
            own = {"model": model} if models else {}
            items = data.ItemList(item_ids=["ab", "ba"][place], ordered=True)
            runs.add(items, user_id=user, **own)
    analysis = metrics.RunAnalysis()
    analysis.add_metric(metrics.NDCG(n=2))
    analysis.add_metric(metrics.RecipRank())
    return analysis.measure(runs, test).list_metrics()


@pytest.mark.filterwarnings("ignore:RunAnalysis is dep:DeprecationWarning")
def test_metrics_of_lenskit_are_measures_and_no_systems(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least two systems and one user, got 1 and"):
        discriminate(list_metrics())
    found = scores_of(list_metrics("x", "y"))
    assert (found.systems, [*map(str, found.measures)]) == (("x", "y"), ["NDCG@2", "RecipRank"])
    assert found.values[1].tolist() == [[0.5, 0.5], [1.0, 1.0]]
    for name, model in (("x", "x"), ("y", "y")):
        list_metrics("x", "y").loc[model].to_csv(tmp_path / f"{name}.csv")
    of_files = read_score_tables([tmp_path / "x.csv", tmp_path / "y.csv"])
    assert np.array_equal(of_files.values, found.values)


def test_frames_of_pyterrier_are_read_topic_by_topic(tmp_path: Path) -> None:
    """Experiment(perquery=True) gives the columns name, qid, measure and value."""
    systems, names = {"BM25": 0.5, "DPH": 0.75}, ("map", "P_5")
    rows = [(s, t, m, v) for s, v in systems.items() for t in "12" for m in names]
    frame = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    frame.to_csv(tmp_path / "any.csv", index=False)
    for found in (scores_of(frame), read_score_tables([tmp_path / "any.csv"])):
        assert (found.systems, [*map(str, found.measures)]) == (("BM25", "DPH"), ["map", "P_5"])
        assert found.values.tolist() == [[[0.5] * 2, [0.75] * 2]] * 2


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("nDCG@2,RR\n.5,.5\n", "any.csv, line 1: the columns are measures (nDCG@2, RR), not sys"),
        ("x,item,y\n1,2,3\n", "any.csv, line 1: the column 'item' holds items"),
        ("user,RR\nu,.5\nu,.5\n", "any.csv, line 3: RR of system 'any' for topic 'u' is duplic"),
        ("user,RR\nu,.5\nv,\n", "any.csv, line 3: RR of system 'any' for topic 'v' has no num"),
        ("user,model,RR\nu,x,1\nu,y,1\nv,x,1\n", "topic 'v' has no score of system 'y' by RR"),
        ("u Q0 i 1 2 sys\nu Q0 j 2 1 sys\n", "this is a TREC run, not scores; `harness evaluate`"),
    ],
)
def test_scores_that_cannot_be_read_are_told(text: str, finding: str, tmp_path: Path) -> None:
    (tmp_path / "any.csv").write_text(text)
    assert finding in CliRunner().invoke(main, ["discriminate", str(tmp_path / "any.csv")]).stderr


def test_the_column_of_the_users_may_stand_anywhere(tmp_path: Path) -> None:
    (tmp_path / "any.csv").write_text("x,y,user\n.1,.2,u\n.3,.4,v\n")
    found = read_score_tables([tmp_path / "any.csv"])
    assert (found.systems, found.users.tolist()) == (("x", "y"), ["u", "v"])


def test_scores_by_user_of_warprec_have_the_cut_off_of_their_file(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}_k_{k}_per_user_1.tsv" for name in "ab" for k in (5, 10)]
    for path in paths:
        path.write_text("user_id\tnDCG\nu\t.5\nv\t.25\n")
    found = read_score_tables(paths)
    assert (found.systems, [*map(str, found.measures)]) == (("a", "b"), ["nDCG@5", "nDCG@10"])


def test_a_column_of_users_in_frames_of_measures_is_no_system() -> None:
    frame = pd.DataFrame({"user": ["3", "4"], "x": [0.1, 0.2], "y": [0.3, 0.4]})
    found = scores_of({"nDCG@10": frame})
    assert (found.systems, found.users.tolist()) == (("x", "y"), ["3", "4"])


@pytest.mark.parametrize(
    ("names", "measures"),
    [
        (["run.ap", "run.rr"], ["ap", "rr"]),
        (["run-ap", "run-rr"], ["ap", "rr"]),
        (["a_b_ap", "a_b_rr"], ["ap", "rr"]),
        (["a_b-ap", "a_b-ap2"], ["ap", "ap2"]),
        (["ap", "ap_2"], ["ap", "ap_2"]),
        (["x_", "x_rr"], ["x_", "rr"]),
        (["nDCG@all", "nDCG@5"], ["nDCG", "nDCG@5"]),
    ],
)
def test_what_names_of_files_share_up_to_a_separator_is_left_out(
    tmp_path: Path, names: list[str], measures: list[str]
) -> None:
    paths = written(tmp_path, **dict.fromkeys(names, TABLE))
    assert [*map(str, read_score_tables(paths).measures)] == measures


def test_a_cut_off_in_the_name_of_a_file_is_one(tmp_path: Path) -> None:
    assert measure_named("P@5") == Measure("P", 5)
    assert measure_named("P@all") == measure_named("P") == Measure("P")
    with pytest.raises(InputError, match=r"P@0\.csv: .*a cut-off must be a whole number"):
        read_score_tables(written(tmp_path, **{"P@0": TABLE}))


def test_a_measure_stands_once_among_those_that_are_compared() -> None:
    found = all_reported([Measure("P", 5), Measure("P", 10)])
    assert found.reported == (Measure("P", 5), Measure("P", 10))
    with pytest.raises(InputError, match="the measure P@5 is duplicated"):
        all_reported([Measure("P", 5), Measure("P", 10), Measure("P", 5)])


@pytest.mark.parametrize(
    ("names", "are"),
    [
        (["RR", "nDCG@2"], True),
        (["map", "P_5"], True),
        (["RR", "bm25"], False),
        (["RR@10", "bm25"], True),  # no system has such a name
        (["bm25@3", "lm"], False),
        (["bm25", "lm"], False),
        ([3, 4], False),
    ],
)
def test_columns_are_measures_where_all_or_one_with_a_cut_off_are(
    names: list[object], are: bool
) -> None:
    assert are_metrics(names) == are


def test_rows_are_numbered_where_nothing_names_them(tmp_path: Path) -> None:
    named = read_score_tables(written(tmp_path, ap="x,a,b\nq,1,2\nr,3,4\n"))
    assert (named.users.tolist(), named.systems) == (["q", "r"], ("a", "b"))
    mixed = read_score_tables(written(tmp_path, ap="x,a\n7,1\n8,2\n"))
    assert (mixed.users.tolist(), mixed.systems) == (["1", "2"], ("x", "a"))
    # A name among numbers is no score.
    with pytest.raises(InputError, match="line 3: column 'x': a number expected, found 'r'"):
        read_score_tables(written(tmp_path, ap="x,a\n7,1\nr,2\n"))


def test_a_frame_of_topics_and_systems_is_a_measure_called_score() -> None:
    found = scores_of(pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4]}, index=["u", "v"]))
    assert (found.measures, found.systems) == ((Measure("score"),), ("a", "b"))
    assert (found.users.tolist(), found.unit) == (["u", "v"], "user")
    assert scores_of(found) is found


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({}, "there is no measure: give a frame for each, by its name"),
        ({"AP": np.ones((2, 2))}, "'AP' has ndarray. If these are scores by system"),
        (
            {"AP": pd.DataFrame({"a": [1.0]}), "RR": pd.DataFrame({"b": [1.0]})},
            "'AP' and 'RR' have different systems, or another order",
        ),
        (
            {"AP": pd.DataFrame({"a": [1.0]}, ["u"]), "RR": pd.DataFrame({"a": [1.0]}, ["v"])},
            "'AP' and 'RR' have different topics, or another order",
        ),
        ({"AP": pd.DataFrame({"a": ["high"]})}, "scores must be numbers"),
    ],
)
def test_frames_that_hold_no_scores_are_told(data: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        scores_of(data)
    assert sentence in str(caught.value)


def test_a_long_frame_has_a_score_in_each_row(tmp_path: Path) -> None:
    rows = [("RR", "y", "v", 0.1), ("RR", "x", "v", 0.2), ("AP", "y", "v", 0.3)]
    rows += [("AP", "x", "v", 0.4), ("RR", "y", "u", 0.5), ("RR", "x", "u", 0.6)]
    rows += [("AP", "y", "u", 0.7), ("AP", "x", "u", 0.8)]
    frame = pd.DataFrame(rows, columns=["measure", "system", "qid", "score"])
    found = scores_of(frame)
    assert ([*map(str, found.measures)], found.systems) == (["RR", "AP"], ("x", "y"))
    assert (found.users.tolist(), found.unit) == (["u", "v"], "topic")
    assert found.values.tolist() == [[[0.6, 0.2], [0.5, 0.1]], [[0.8, 0.4], [0.7, 0.3]]]
    frame[frame.system == "x"].to_csv(tmp_path / "x.csv", index=False)
    frame[frame.system == "y"].to_csv(tmp_path / "y.csv", index=False)
    paths = [tmp_path / "x.csv", tmp_path / "y.csv"]
    assert read_score_tables(paths).values.tolist() == found.values.tolist()
    with pytest.raises(InputError, match="the system 'x' is in two files"):
        read_score_tables([paths[0], paths[0]])
    with pytest.raises(InputError, match="topic 'u' has no score of system 'x' by AP"):
        scores_of(frame[:-1].assign(extra=1))


def test_a_name_of_the_user_stands_for_a_role(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": ["u", "u"], "by": ["x", "y"], "how": ["RR"] * 2, "s": [0.5, 1]})
    frame.to_csv(tmp_path / "any.csv", index=False)
    columns = {"user": "who", "system": "by", "measure": "how", "score": "s"}
    found = read_score_tables([tmp_path / "any.csv"], TextOptions(columns=columns))
    assert (found.systems, found.values.tolist()) == (("x", "y"), [[[0.5], [1.0]]])


def test_scores_are_written_in_long_form_users_fastest(
    scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Scores(
        np.arange(8.0).reshape(2, 2, 2),
        Measures([Measure("P", 5), Measure("P")]),
        ("a", "b"),
        np.array(["u", "v"]),
        unit="topic",
    )
    for rows in (3, 8, 100):
        monkeypatch.setattr("harness.readers.score_parquet.ROWS_AT_ONCE", rows)
        content = scores_to_parquet(few)
        file = parquet.ParquetFile(pa.BufferReader(content))
        assert file.num_row_groups == -(-8 // rows)
        columns = file.read().to_pydict()
        assert columns == {
            "metric": ["P"] * 8,
            "cutoff": [5] * 4 + [None] * 4,
            "system": ["a", "a", "b", "b"] * 2,
            "user": ["u", "v"] * 4,
            "score": [*range(8)],
        }
        back = scores_from_parquet(content)
        assert (back.values == few.values).all()
        assert (back.systems, back.users.tolist(), back.unit) == (("a", "b"), ["u", "v"], "topic")


def test_a_file_that_says_nothing_of_its_measures_reports_all(scores: Scores) -> None:
    table = parquet.read_table(pa.BufferReader(scores_to_parquet(scores)))
    stream = pa.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata(None), stream)
    back = scores_from_parquet(stream.getvalue().to_pybytes())
    assert (back.measures, {*back.measures.lower_is_better_for}, back.unit) == (
        scores.measures,
        set(),
        "user",
    )
