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

from harness import InputError, Study, discriminate, score
from harness.cli.main import main
from harness.readers.columns import trec_kind
from harness.readers.rankings import judgements_in, judgements_of
from harness.readers.scores import read_score_tables, scores_of
from harness.study.collection import collect
from runs import InputWarning

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
        ("user,item,score\nu,i,1\nu,j\n", "Row #3: Expected 3 columns, got 2: u,j"),
        ("user,item,age\nu,i,1\n", "no column holds the scores; it is called score or sim or"),
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
        ("user=gest", "no column is called 'gest' (user); there are user, item, score, "),
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
    assert f"{odd}.csv, line 1: " in answer
    assert f"`{option}`" in answer


def test_a_comment_with_a_comma_is_no_heading(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("# one, two\nu Q0 i 1 1 a\n")
    assert score(tmp_path / "a.run", {"u": {"i": 1}}, "P@1").values.tolist() == [[[1.0]]]


def test_columns_of_scores_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "any.csv").write_text("guest,x,y\nu,.1,.2\nv,.3,.4\n")
    found = read_score_tables([tmp_path / "any.csv"], {"user": "guest"})
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
    assert finding in harness("discriminate", tmp_path / "any.csv").stderr


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


def test_a_negative_grade_of_any_size_means_not_judged() -> None:
    frame = pd.DataFrame({"user": ["u", "u", "u"], "item": ["a", "b", "c"], "grade": [-7, 0, 2]})
    assert judgements_of(frame).grade.tolist() == [-1, 0, 2]


@pytest.mark.parametrize("line", ["u Q0 {} 1 2.5 s", "u 0 {} 1"])
def test_a_trec_file_is_known_though_its_beginning_ends_within_a_line(line: str) -> None:
    content = "\n".join(line.format(f"{'x' * 900}{n}") for n in range(9))
    assert trec_kind(content.encode()) == ("a TREC run" if "Q0" in line else "a qrels file")
