"""The files of what a study begins with."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.study.collection import Collection, collect
from harness.study.input_files import (
    TrecIds,
    keep_input,
    qrels_files,
    split_files,
    true_qrels_files,
    world_files,
)
from harness.study.parts import Parts
from harness.study.store import Store
from harness.study.study import Study
from qrels import Qrels, Ratings
from runs import Numbering
from tests.harness.small import WORLD, contents

TOPICS, ITEMS = Numbering.of(["u1", "u2"]), Numbering.of(["a", "b"])
NUMBERS = Numbering.of(["1", "2"])
QRELS = Qrels(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([1, 0, 2], np.int32), 1)


def test_judgements_of_ids_that_trec_files_carry_are_one_file() -> None:
    files = qrels_files(QRELS, TrecIds(TOPICS, TOPICS), TrecIds(ITEMS, ITEMS))
    assert files == {"qrels/test.qrels": b"u1 0 a 1\nu1 0 b 0\nu2 0 b 2\n"}


def test_a_table_says_which_number_stands_for_which_id() -> None:
    files = qrels_files(QRELS, TrecIds(NUMBERS, TOPICS), TrecIds(ITEMS, ITEMS))
    assert files["qrels/test.qrels"] == b"1 0 a 1\n1 0 b 0\n2 0 b 2\n"
    assert files["ids.csv"] == b"kind,number,id\nuser,1,u1\nuser,2,u2\n"
    files = qrels_files(QRELS, TrecIds(NUMBERS, TOPICS), TrecIds(NUMBERS, ITEMS))
    assert files["qrels/test.qrels"] == b"1 0 1 1\n1 0 2 0\n2 0 2 2\n"
    expected = b"kind,number,id\nuser,1,u1\nuser,2,u2\nitem,1,a\nitem,2,b\n"
    assert files["ids.csv"] == expected


def test_true_judgements_have_a_table_of_their_own() -> None:
    assert true_qrels_files(QRELS, TrecIds(TOPICS, TOPICS), NUMBERS) == {
        "truth/true.qrels": b"u1 0 1 1\nu1 0 2 0\nu2 0 2 2\n"
    }
    assert true_qrels_files(QRELS, TrecIds(NUMBERS, TOPICS), ITEMS) == {
        "truth/true.qrels": b"1 0 a 1\n1 0 b 0\n2 0 b 2\n",
        "truth/ids.csv": b"kind,number,id\nuser,1,u1\nuser,2,u2\n",
    }


def test_training_and_test_ratings_are_tables() -> None:
    user, item = np.array([0, 1], np.int32), np.array([1, 0], np.int32)
    train = Ratings(TOPICS, ITEMS, user, item, np.array([4.0, 2.5]))
    files = split_files(train, train.select(user == 1))
    assert [*files] == ["split/train.csv", "split/test.csv"]
    rows = {name: content.decode().splitlines()[1:] for name, content in files.items()}
    assert rows["split/train.csv"] == ["u1,b,4", "u2,a,2.5"]
    assert rows["split/test.csv"] == ["u2,a,2.5"]


@pytest.fixture(scope="module")
def world() -> Collection:
    return collect(Study.parse(WORLD, source="study.toml"))


def kept(collection: Collection, folder: Path) -> tuple[list[str], set[str]]:
    """Names of the parts that are kept, and of their files."""
    parts = Parts(Store(folder))
    keep_input(parts, collection)
    files = {name for name in contents(folder, "**/*") if not name.startswith(".")}
    return parts.names, files


def test_a_study_of_a_world_keeps_its_split_and_its_truth(
    world: Collection, tmp_path: Path
) -> None:
    parts, files = kept(world, tmp_path)
    assert parts == ["qrels", "split", "world", "true-qrels"]
    split = {"split/train.csv", "split/test.csv"}
    assert files == {"qrels/test.qrels", *split, "world/truth.npz", "truth/true.qrels"}
    assert world.true_judgements is not None
    lines = (tmp_path / "truth/true.qrels").read_text().splitlines()
    assert len(lines) == len(world.true_judgements.qrels.items)
    assert world.truth is not None
    assert world_files(world.truth) == contents(tmp_path, "world/*")
    with np.load(tmp_path / "world/truth.npz") as truth:
        assert len(truth["users"]) == 60


def test_what_a_study_does_not_begin_with_is_not_kept(world: Collection, tmp_path: Path) -> None:
    alone = replace(world, split=None, truth=None, true_judgements=None)
    assert kept(alone, tmp_path / "a") == (["qrels"], {"qrels/test.qrels"})
    of_file = replace(world, truth=None)
    assert kept(of_file, tmp_path / "b")[0] == ["qrels", "split", "true-qrels"]
