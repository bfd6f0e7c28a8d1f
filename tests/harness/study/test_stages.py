from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.study.store import digest
from qrels.ratings.datasets import read_ratings
from qrels.trec import read_qrels
from runs.formats import read_run


def test_arrays_of_different_shapes_have_different_digests() -> None:
    row = np.arange(4)
    assert digest(row) != digest(row.reshape(2, 2))


def test_where_one_array_ends_matters_to_the_digest() -> None:
    assert digest(np.arange(2), np.arange(3)) != digest(np.arange(3), np.arange(2))


def test_an_array_and_its_copy_have_equal_digests() -> None:
    every_other = np.arange(6)[::2]
    assert digest(every_other) == digest(every_other.copy())


def test_every_run_carries_the_name_of_its_system(finished: Path) -> None:
    names = {path.stem: read_run(path).system for path in finished.glob("runs/*.parquet")}
    assert names == {name: name for name in ("random", "popularity", "puresvd")}


def test_runs_list_the_users_of_the_qrels(finished: Path) -> None:
    topics = read_qrels(finished / "qrels/test.qrels").users.ids.tolist()
    assert read_run(finished / "runs/popularity.parquet").users.ids.tolist() == topics


def test_runs_do_not_list_what_the_user_rated_in_training(finished: Path) -> None:
    ratings = read_ratings(finished / "split/train.csv")
    run = read_run(finished / "runs/popularity.parquet")
    rated = pairs(ratings.users.ids[ratings.user], ratings.items.ids[ratings.item])
    listed = pairs(run.users.ids[run.user], run.items.ids[run.item])
    assert listed.isdisjoint(rated)


def pairs(users: NDArray[np.str_], items: NDArray[np.str_]) -> set[tuple[str, str]]:
    return set(zip(users.tolist(), items.tolist(), strict=True))
