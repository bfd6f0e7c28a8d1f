from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.datasets import read_ratings
from runs.formats import read_run


def test_runs_do_not_list_what_the_user_rated_in_training(finished: Path) -> None:
    ratings = read_ratings(finished / "split/train.csv")
    run = read_run(finished / "runs/popularity.parquet")
    rated = pairs(ratings.users.ids[ratings.user], ratings.items.ids[ratings.item])
    listed = pairs(run.users.ids[run.user], run.items.ids[run.item])
    assert listed.isdisjoint(rated)


def pairs(users: NDArray[np.str_], items: NDArray[np.str_]) -> set[tuple[str, str]]:
    return set(zip(users.tolist(), items.tolist(), strict=True))
