"""Runs, qrels and scores as other tools write them, each with its own objects or files."""

import json
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import feather

from harness import InputError, Study, score
from harness.cli.main import main
from harness.readers.judgements import judgements_in, judgements_of
from harness.readers.objects import frame_of, is_frame, with_index
from harness.readers.rankings import read_run_files
from harness.readers.score_files import read_score_tables
from harness.readers.table import table_of
from harness.readers.table_files import read_table
from harness.study.collection import collect
from runs import InputWarning
from runs.tables.options import TextOptions
from runs.tables.roles import QRELS as QRELS_KIND
from runs.tables.roles import RUNS, Kind, Role
from runs.tables.sniff import trec_kind

RUN = pd.DataFrame(
    [("1", "a", 3.0), ("1", "b", 2.0), ("2", "b", 5.0), ("2", "a", 4.5)],
    columns=["user", "item", "score"],
)
RANKED = RUN[["user", "item"]].assign(rank=[1.0, 2.0, 1.0, 2.0])
QRELS = {"1": {"b": 2, "a": 0}, "2": {"b": 1}}
MEASURES = ["nDCG@2", "RR"]


def lists() -> Any:
    """Give the run as LensKit has it."""
    data = pytest.importorskip("lenskit.data")
    found = data.ItemListCollection(data.UserIDKey)
    for user, own in RUN.groupby("user"):
        own_list = data.ItemList(item_ids=own["item"].to_numpy(), scores=own["score"], ordered=True)
        found.add(own_list, user_id=user)
    return found


def harness(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def by_topic(frame: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {
        str(t): dict(zip(own["item"], own["score"], strict=True))
        for t, own in frame.groupby("user")
    }


def named(*names: str) -> pd.DataFrame:
    return RUN.set_axis(names, axis=1)


def compressed(run: dict[str, dict[str, float]]) -> bytes:
    """Write CBOR and compress it twice, as ranx does."""
    content: bytes = pytest.importorskip("cbor2").dumps(run)
    for _ in range(2):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "lz4") as stream:
            stream.write(content)
        content = sink.getvalue().to_pybytes()
    return content


FILES: dict[str, Callable[[Path], object]] = {
    "any.csv": lambda path: RUN.to_csv(path, index=False),
    "bom.csv": lambda path: RUN.to_csv(path, index=False, encoding="utf-8-sig"),
    "recbole.inter": lambda path: named("user_id:token", "item_id:token", "score:float").to_csv(
        path, sep="\t", index=False
    ),
    "pyterrier.csv": lambda path: (
        named("qid", "docno", "score")
        .assign(docid=7, rank=0, query="of words")
        .to_csv(path, index=False)
    ),
    "ranks.csv": lambda path: RANKED.to_csv(path, index=False),
    "records.json": lambda path: RUN.to_json(path, orient="records"),
    "arrow.feather": lambda path: feather.write_feather(RUN, path),
    # ranx 0.3 writes Runs and Qrels as JSON by topic, and as Parquet with these columns.
    "ranx.json": lambda path: path.write_text(json.dumps(by_topic(RUN))),
    "ranx.parquet": lambda path: named("q_id", "doc_id", "score").to_parquet(path),
    "lines.json": lambda path: RUN.to_json(path, orient="records", lines=True),
    "elliot.tsv": lambda path: RUN.to_csv(path, sep="\t", index=False, header=False),
    "warprec.tsv": lambda path: named("user_id", "item_id", "rating").to_csv(
        path, sep="\t", index=False
    ),
    "ranx.lz4": lambda path: path.write_bytes(compressed(by_topic(RUN))),
    "nested.parquet": lambda path: lists().save_parquet(path),
    "flat.parquet": lambda path: lists().save_parquet(path, layout="flat"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_other_tools_hold_the_same_run(name: str, tmp_path: Path) -> None:
    FILES[name](tmp_path / name)
    found = score(tmp_path / name, QRELS, MEASURES)
    assert found.systems == (Path(name).stem,)
    assert found.values.tolist() == score({"a": RUN}, QRELS, MEASURES).values.tolist()


def test_a_third_field_that_counts_is_the_rank(tmp_path: Path) -> None:
    path, listed = tmp_path / "marco.tsv", {"1": {"a": 2, "b": 1}, "2": {"b": 2, "a": 1}}
    RANKED.astype({"rank": int}).to_csv(path, sep="\t", index=False, header=False)
    with pytest.warns(InputWarning, match="marco.tsv: the third field counts 1, 2, 3"):
        found = score(path, QRELS, MEASURES)
    assert found.values.tolist() == score({"a": listed}, QRELS, MEASURES).values.tolist()


@pytest.mark.parametrize("make", [lists, lambda: pa.table(RUN), lambda: RANKED])
def test_objects_of_other_tools_hold_the_same_run(make: Callable[[], Any]) -> None:
    found, expected = (score({"a": run}, QRELS, MEASURES) for run in (make(), RUN))
    assert np.array_equal(found.values, expected.values)


def test_a_file_may_hold_several_runs_and_a_table_the_judgements(tmp_path: Path) -> None:
    runs, qrels = tmp_path / "runs.csv", tmp_path / "qrels.parquet"
    pd.concat([RUN.assign(model="x"), RUN.assign(model="y", score=-RUN.score)]).to_csv(runs)
    rows = [(t, item, grade) for t, own in QRELS.items() for item, grade in own.items()]
    pd.DataFrame(rows, columns=["q_id", "doc_id", "score"]).to_parquet(qrels)
    answer = harness("evaluate", "--qrels", qrels, runs, "-m", "RR", "--format", "csv")
    assert [line.split(",")[1:] for line in answer.stdout.splitlines()[1:]] == [
        ["x", "RR", "all", "0.75"],
        ["y", "RR", "all", "0.75"],
    ]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("user,item,score\nu,i,1\nu,j,abc\n", "bad.csv, line 3: numbers are expected, found 'abc'"),
        ("user,item,score\nu,i,1\nu,i,2\n", "bad.csv, line 3: item 'i' of topic 'u' is dupl"),
        ("user,item,score\nu,i,1\nu,,2\n", "bad.csv, line 3: an id is missing."),
        ("user,item,score\nu,i,1\nu,j\n", "line 3: 3 fields between ',' expected, found 2."),
        ("user,item,age\nu,i,1\n", "No column is known to hold the scores"),
        ("user,item,score\n", "bad.csv: the table has a heading but no rows."),
        ("u\ti\t2\nu\ti\t1\n", "bad.csv, line 2: item 'i' of topic 'u' is dupl"),
    ],
)
def test_a_bad_table_is_told_with_its_place(text: str, finding: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        score({"a": tmp_path / "bad.csv"}, QRELS, MEASURES)
    assert finding in str(caught.value)


def test_lz4_of_ranx_asks_for_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.lz4").write_bytes(b"\x04\x22\x4d\x18")
    monkeypatch.setitem(sys.modules, "cbor2", None)
    with pytest.raises(InputError, match=r"a\.lz4: lz4 of ranx needs the package cbor2;.*`pip"):
        score(tmp_path / "a.lz4", QRELS, MEASURES)


NAMED = {"user": "guest", "item": "what", "score": "s", "system": "by"}


def odd_files(folder: Path) -> tuple[Path, Path]:
    """Write a run and judgements with odd names of columns, beside others that are known."""
    odd = pd.concat([RUN.assign(by=name) for name in "xy"]).assign(user="a", score=0, model="m")
    odd = odd.assign(guest=[*RUN.user] * 2, what=odd["item"], item="b", s=[*RUN.score] * 2)
    rows = [(t, item, grade) for t, own in QRELS.items() for item, grade in own.items()]
    odd.to_csv(folder / "odd.csv", index=False)
    pd.DataFrame(rows, columns=["guest", "item", "g"]).to_csv(folder / "qrels.csv", index=False)
    return folder / "odd.csv", folder / "qrels.csv"


def test_columns_of_runs_and_judgements_can_be_named(tmp_path: Path) -> None:
    runs, qrels = odd_files(tmp_path)
    of_qrels = {"user": "guest", "grade": "g"}
    known = collect(
        Study(
            name="odd",
            runs={"paths": [str(runs)], "columns": NAMED},
            qrels={"path": qrels, "columns": of_qrels},
        )
    )
    assert [run.system for run in known.runs] == ["x", "y"]
    asked = [f"--column={key}={name}" for key, name in NAMED.items()]
    asked += [f"--qrels-column={key}={name}" for key, name in of_qrels.items()]
    answer = harness("evaluate", "--qrels", qrels, runs, "-m", "RR", *asked)
    values = [line.split()[-1] for line in answer.stdout.splitlines()]
    assert values == ["x", "0.7500", "y", "0.7500"]


@pytest.mark.parametrize(
    ("asked", "finding"),
    [
        ("usr=guest", "no column of runs is called 'usr'; did you mean 'user'?"),
        ("user=gest", "no column is called 'gest'; did you mean 'guest'?"),
    ],
)
def test_a_named_column_that_is_not_there_is_told(asked: str, finding: str, tmp_path: Path) -> None:
    runs, qrels = odd_files(tmp_path)
    named = "--qrels-column=user=guest", "--qrels-column=grade=g", "--column", asked
    assert finding in harness("evaluate", "--qrels", qrels, runs, *named).stderr


@pytest.mark.parametrize(("odd", "option"), [("runs", "--column"), ("qrels", "--qrels-column")])
def test_a_heading_without_users_is_answered_with_the_option(
    odd: str, option: str, tmp_path: Path
) -> None:
    paths = {name: tmp_path / f"{name}.csv" for name in ("runs", "qrels")}
    for name, path in paths.items():
        path.write_text("q,d,s\nu,i,1\n" if name == odd else "user,item,rating\nu,i,1\n")
    answer = harness("evaluate", "--qrels", paths["qrels"], paths["runs"]).stderr
    assert f"{odd}.csv: No column is known to hold the items." in answer
    assert f"`{option} item=NAME`" in answer


def test_a_comment_with_a_comma_is_no_heading(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("# one, two\nu Q0 i 1 1 a\n")
    assert score(tmp_path / "a.run", {"u": {"i": 1}}, "P@1").values.tolist() == [[[1.0]]]


def test_columns_of_scores_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "any.csv").write_text("guest,x,y\nu,.1,.2\nv,.3,.4\n")
    found = read_score_tables([tmp_path / "any.csv"], TextOptions(columns={"user": "guest"}))
    assert (found.systems, found.users.tolist()) == (("x", "y"), ["u", "v"])


class TrecQrel(NamedTuple):
    """A judgement as ir_datasets has it."""

    query_id: str
    doc_id: str
    relevance: int


class Dataset:
    """What ir_datasets gives for an id."""

    def __init__(self, rows: list[TrecQrel]) -> None:
        self.rows = rows

    def has_qrels(self) -> bool:
        return True

    def documentation(self) -> dict[str, list[str]]:
        return {"official_measures": ["nDCG@10", "RR(rel=2)"]}

    def qrels_iter(self) -> Iterator[TrecQrel]:
        return iter(self.rows)


def test_ids_of_ir_datasets_are_judgements(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = [TrecQrel(t, i, grade) for t, own in QRELS.items() for i, grade in own.items()]
    installed = ModuleType("ir_datasets")
    installed.__spec__ = ModuleSpec("ir_datasets", None)
    vars(installed).update(registry={"any/test"}, load=lambda _: Dataset(rows))
    monkeypatch.setitem(sys.modules, "ir_datasets", installed)
    with pytest.warns(InputWarning, match="any/test: official measures take grades from 2 on"):
        assert score({"a": RUN}, "any/test", ["RR"]).values.tolist() == [[[0.5, 1.0]]]
    named("user", "item", "score").assign(system=["x", "y"] * 2).to_csv(tmp_path / "runs.csv")
    runs = {"paths": [str(tmp_path / "runs.csv")]}
    known = collect(Study(name="any", runs=runs, qrels={"ir_datasets": "any/test"}))
    assert known.qrels.relevance_level == 2
    with pytest.raises(InputError, match="ir_datasets has no data set 'any/tst'"):
        collect(Study(name="any", runs=runs, qrels={"ir_datasets": "any/tst"}))


def test_ir_datasets_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(InputError, match=r"ir_datasets need that package; .*`pip install ir"):
        judgements_in("any")


def test_a_negative_grade_of_any_size_means_not_judged() -> None:
    frame = pd.DataFrame({"user": ["u", "u", "u"], "item": ["a", "b", "c"], "grade": [-7, 0, 2]})
    assert judgements_of(frame).grade.tolist() == [-1, 0, 2]


@pytest.mark.parametrize("line", ["u Q0 {} 1 2.5 s", "u 0 {} 1"])
def test_a_trec_file_is_known_though_its_beginning_ends_within_a_line(line: str) -> None:
    content = "\n".join(line.format(f"{'x' * 900}{n}") for n in range(9))
    assert trec_kind(content.encode()) == ("a TREC run" if "Q0" in line else "a qrels file")


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (["u Q0 i 1 2.5 s"] * 2, "a TREC run"),
        (["u Q0 i x 2.5 s"] * 2, ""),
        (["u Q0 i 1 x s"] * 2, ""),
        (["u Q0 i 1 2.5"] * 2, ""),
        (["u 0 i 1"] * 2, "a qrels file"),
        (["u Q0 i -10"] * 2, "a qrels file"),
        (["u 1 i 1"] * 2, ""),
        (["u 0 i 1.5"] * 2, ""),
        (["u 0 i 1000"] * 2, ""),
        (["# u 0", "", "u 0 i 1", "u 0 i 2"], "a qrels file"),
        (["u 0 i 1"], "a qrels file"),
        (["u 0 i 1", "u Q0 i 1 2 s", "u 0 i 1"], ""),
        (["u 0 i 1"] * 19 + ["u,v", "u"], "a qrels file"),
        (["u 0 i 1"] * 18 + ["u,v", "u"], ""),
        ([], ""),
    ],
)
def test_a_file_of_trec_is_known_by_its_first_lines(lines: list[str], kind: str) -> None:
    assert trec_kind("\n".join(lines).encode()) == kind


def place(names: list[Any], role: Role, **columns: str) -> int | None:
    frame = pd.DataFrame([["1"] * len(names)], columns=names)
    return table_of(frame, RUNS, label="any", columns=columns).columns.place(role)


@pytest.mark.parametrize("name", ["user_id", "User ID", "user-id:token", " USERID ", "userId"])
def test_how_a_column_is_spelled_does_not_matter(name: str) -> None:
    assert place(["x", name], Role.USER) == 1


def test_the_name_that_is_known_best_counts() -> None:
    assert place(["user", "qid", "item"], Role.USER) == 1
    assert place(["rating", "Score"], Role.SCORE) == 1
    assert place([3, "x"], Role.USER) is None


def test_two_columns_of_one_name_are_asked_about() -> None:
    frame = pd.DataFrame([["1", "2", "3"]], columns=["User", "user", "item"])
    with pytest.raises(InputError, match="Several columns may be the user: 'User', 'user'"):
        table_of(frame, RUNS, label="any").column(Role.USER)


def test_a_column_that_is_named_counts_before_others_of_its_role() -> None:
    names = ["who", "user", "item", "score", "rank", "run"]
    assert place(names, Role.USER, user="who") == 0
    assert place(names, Role.SCORE, user="who") == 3
    assert place(names, Role.RANK, rank="run") == 5
    with pytest.raises(InputError, match="no column of qrels is called 'score'"):
        table_of(
            pd.DataFrame([["1"]], columns=["x"]), QRELS_KIND, label="any", columns={"score": "x"}
        )


FRAME = pd.DataFrame({"user": ["u", ""], "score": ["1", ""], "rank": [None, "a"]})


@pytest.mark.parametrize(
    ("unit", "place"), [("", "any: "), ("line", "any, line 3: "), ("row", "any, row 2: ")]
)
def test_an_error_in_a_table_has_the_place_of_a_file(unit: str, place: str) -> None:
    table = table_of(FRAME, RUNS, label="any", unit=unit)
    assert str(table.error(1, "odd.")) == f"{place}odd."
    numbers = table.numbers(Role.SCORE)
    assert numbers[0] == 1
    assert np.isnan(numbers[1])
    with pytest.raises(InputError) as caught:
        table.numbers(Role.RANK)
    assert str(caught.value) == f"{place}numbers are expected, found 'a'."
    with pytest.raises(InputError) as caught:
        table.ids(Role.USER)
    row = "" if unit else "in row 2 "
    assert str(caught.value) == f"{place}{row}an id is missing."


def test_a_column_that_is_missing_is_answered_with_all_columns() -> None:
    with pytest.raises(InputError) as caught:
        table_of(FRAME, RUNS, label="any").column(Role.ITEM)
    answer = str(caught.value)
    assert answer.startswith("any: No column is known to hold the items.")
    assert all(name in answer for name in FRAME.columns)


def test_ids_have_no_blanks_around_them() -> None:
    frame = pd.DataFrame({"user": [" u", "v\t"], "item": ["a", "b"], "score": [1, 2]})
    assert table_of(frame, RUNS, label="any").ids(Role.USER).tolist() == ["u", "v"]


def test_a_table_is_parted_in_the_order_of_its_rows() -> None:
    frame = pd.DataFrame({"system": ["b", "a", "b"], "n": [1, 2, 3]})
    parts = table_of(frame, RUNS, label="any", unit="line").part_by(Role.SYSTEM)
    assert list(parts) == ["b", "a"]
    assert str(parts["b"].error(1, "odd.")) == "any, line 4: odd."


class Lazy:
    """A lazy frame of polars, which must be collected."""

    def collect(self) -> pd.DataFrame:
        return RUN


@pytest.mark.parametrize(
    ("data", "is_one"), [(RUN, True), (Lazy(), True), ({"a": 1}, False), ([1], False)]
)
def test_a_frame_is_told_by_what_it_can(data: object, is_one: bool) -> None:
    assert is_frame(data) == is_one


def test_frames_and_dictionaries_of_columns_are_frames() -> None:
    assert frame_of(Lazy()) is RUN
    assert frame_of({"a": [1, 2], "b": np.array([3, 4])})["b"].tolist() == [3, 4]
    for odd in ({}, {"a": 1}, {"a": [1], "b": 2}, 3):
        with pytest.raises(InputError, match=f"{type(odd).__name__} is no table: give"):
            frame_of(odd)
    with pytest.raises(InputError, match="dict is no table that can be read"):
        frame_of({"a": [1, 2], "b": [1]})


def test_an_index_with_names_is_a_column_and_rows_are_numbered_from_0() -> None:
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index([7, 9], name="user"))
    assert with_index(frame).to_dict("list") == {"user": [7, 9], "x": [1, 2]}
    assert with_index(frame).index.tolist() == [0, 1]
    unnamed = frame.rename_axis(None)
    assert (with_index(unnamed).columns.tolist(), with_index(unnamed).index.tolist()) == (
        ["x"],
        [0, 1],
    )


def read(text: str, kind: Kind = RUNS, **options: Any) -> Any:
    return read_table(Path("any"), text.encode(), kind, **options)


def roles(table: Any) -> list[str]:
    return [column.role.value for column in table.columns.columns]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user,item\nu,i\n", ["user", "item"]),
        ("user;item\nu;i\n", ["user", "item"]),
        ("user\titem, or so\nu\ti\n", ["user", "item"]),
        ('"user","item"\r\nu,i\r\n', ["user", "item"]),
        ("u\ti\t0.5\n", ["user", "item", "score"]),
        ("u\ti\t-1e3\nu\tj\t2\n", ["user", "item", "score"]),
        ("u,i,3\nu,j,2\n", ["user", "item", "score"]),
        ("qid docno score\nu i 3\n", ["user", "item", "score"]),
    ],
)
def test_a_heading_or_three_fields_make_a_table(text: str, expected: list[str]) -> None:
    table = read(text)
    assert roles(table) == expected
    assert (table.label, table.unit) == ("any", "line")
    has_heading = text.startswith(("user", '"user', "qid"))
    assert str(table.error(0, "odd.")) == f"any, line {1 + has_heading}: odd."


@pytest.mark.parametrize("text", ["u Q0 i 1 2 s\n", "user\nu\n", "u\ti\tx\ty\n"])
def test_what_has_no_such_heading_is_no_table(text: str) -> None:
    assert read(text) is None


def test_a_heading_without_users_is_answered_where_columns_can_be_named() -> None:
    with pytest.raises(InputError, match=r"any: No column is known .* `--column user=NAME`"):
        read("a,b,c\n1,2,3\n").column(Role.USER)
    assert read("# a,b\n1,2,3\n") is None
    assert read("a, b c d,e\n") is None  # as wide as a line of TREC


def test_json_is_by_topic_or_by_row() -> None:
    assert read('{"u": {"i": 1}}') == {"u": {"i": 1}}
    assert read(' [{"user": "u"}, {"user": "v"}]').frame["user"].tolist() == ["u", "v"]
    lines = read('{"user": "u"}\n\n{"user": "v"}\n')
    assert (lines.frame["user"].tolist(), lines.unit) == (["u", "v"], "row")
    with pytest.raises(InputError, match="any: the table cannot be read"):
        read("[1, 2")


def test_the_third_field_counts_in_every_list_or_is_a_score() -> None:
    with pytest.warns(InputWarning, match="any: the third field counts 1, 2, 3"):
        ranks = read("u\ti\t1\nv\tj\t1\nu\tk\t2\n")
    assert roles(ranks) == ["user", "item", "rank"]
    for text in ("u\ti\t1\nv\tj\t1\n", "u\ti\t2\nu\tj\t1\n", "u\ti\t1\nu\tj\t3\n"):
        assert roles(read(text)) == ["user", "item", "score"]
    assert roles(read("u\ti\t1\nu\tj\t2\n", QRELS_KIND)) == ["user", "item", "rating"]
    chosen = read("u\ti\t1\nu\tj\t2\n", options=TextOptions(columns={"score": 2}))
    assert roles(chosen) == ["user", "item", "score"]


@pytest.mark.parametrize(
    ("official", "level"),
    [(["nDCG@10"], 1), (["RR(rel=2)", "P(rel=3)@5"], 3), ([], 1), (None, 1), (["P(rel=12)"], 12)],
)
def test_the_level_of_a_data_set_is_the_highest_of_its_official_measures(
    official: list[str] | None, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = Dataset([TrecQrel("u", "i", 1)])
    monkeypatch.setattr(Dataset, "documentation", lambda _: {"official_measures": official})
    installed = ModuleType("ir_datasets")
    vars(installed).update(registry={"any/test"}, load=lambda _: dataset)
    monkeypatch.setitem(sys.modules, "ir_datasets", installed)
    found, its_level = judgements_in("any/test")
    assert (found.grade.tolist(), its_level) == ([1], level)
    monkeypatch.setattr(Dataset, "documentation", lambda _: None)
    assert judgements_in("any/test")[1] == 1
    monkeypatch.setattr(Dataset, "has_qrels", lambda _: False)
    with pytest.raises(InputError, match="'any/test' of ir_datasets has no qrels"):
        judgements_in("any/test")


def test_an_unread_column_that_may_name_systems_is_named(tmp_path: Path) -> None:
    path = tmp_path / "both.csv"
    rows = ["1,a,3.0,bm25", "1,b,2.0,bm25", "2,a,1.0,bm25", "1,c,2.5,ease", "2,c,2.0,ease"]
    path.write_text("\n".join(["topic,docno,score,foo", *rows, "2,b,1.5,ease"]) + "\n")
    with pytest.warns(InputWarning, match="column 'foo' .* `--column system=foo`"):
        run_files = read_run_files([path])
    assert [run.system for run in run_files] == ["both"]
    parts = read_run_files([path], TextOptions(columns={"system": "foo"}))
    assert [run.system for run in parts] == ["bm25", "ease"]
