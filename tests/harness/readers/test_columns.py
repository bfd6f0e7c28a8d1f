"""Runs, qrels and scores as other tools write them, each with its own objects or files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import feather

from harness import InputError, score
from harness.cli.main import main

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
    "nested.parquet": lambda path: lists().save_parquet(path),
    "flat.parquet": lambda path: lists().save_parquet(path, layout="flat"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_other_tools_hold_the_same_run(name: str, tmp_path: Path) -> None:
    FILES[name](tmp_path / name)
    found = score(tmp_path / name, QRELS, MEASURES)
    assert found.systems == (Path(name).stem,)
    assert found.values.tolist() == score({"a": RUN}, QRELS, MEASURES).values.tolist()


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
        ("\x04\x22\x4d\x18", "save it with kind='json' or 'parquet'"),
    ],
)
def test_a_bad_table_is_told_with_its_place(text: str, finding: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        score({"a": tmp_path / "bad.csv"}, QRELS, MEASURES)
    assert finding in str(caught.value)
