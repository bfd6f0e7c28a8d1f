"""Systems that learn from positive ratings alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.study.collection import collect
from harness.study.run import run_study
from harness.study.study import Study
from harness.study.workers import RUN, train_and_rank
from qrels import Ratings
from runs import InputError, Numbering
from runs.shared.progress import Silent
from tests.harness.small import METRICS, NO_ANALYSES, SYSTEMS, WORLD, run_text

RATINGS = 'name = "x"\n[ratings]\npath = "ratings.csv"\n'


def ranked(ratings: Ratings, *, positives: float | None) -> list[list[int]]:
    trained = train_and_rank(
        "popularity",
        {},
        ratings,
        np.array([0], dtype=np.int32),
        seed=1,
        depth=4,
        candidates=None,
        positives=positives,
    )
    return trained[RUN].value.items.tolist()


@pytest.fixture
def ratings() -> Ratings:
    """The first user rates item 0 low; others rate 1 low and often, 2 high, 3 low once."""
    user, item = np.array([[0, 1, 1, 2, 2, 3, 3], [0, 1, 2, 1, 3, 1, 2]], dtype=np.int32)
    rating = np.array([1.0, 2.0, 5.0, 2.0, 1.0, 2.0, 5.0])
    ids = Numbering.of(["a", "b", "c", "d"])
    return Ratings(ids, ids, user, item, rating)


def test_what_is_rated_low_is_not_learnt_and_no_candidate_for_who_rated_it(
    ratings: Ratings,
) -> None:
    assert ranked(ratings, positives=None) == [[1, 2, 3, -1]]
    assert ranked(ratings, positives=4.0) == [[2, 1, 3, -1]]


@pytest.mark.parametrize(
    ("positives", "sentence"),
    [
        ("[systems.positives]\nsvd = 4.0\n", "line 19: the study has no system 'svd' to set."),
        ("[systems.positives]\npuresvd = 6\n", "no training rating reaches 6: puresvd cannot"),
        ("[systems.positives]\npuresvd = nan\n", "no training rating reaches nan"),
    ],
)
def test_positives_that_cannot_be_are_answered(
    tmp_path: Path, positives: str, sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        run_text(WORLD + SYSTEMS + positives + METRICS, tmp_path, output=tmp_path / "study")
    assert sentence in str(caught.value)


def centred(folder: Path, ratings: str) -> Study:
    """Make a study of three users who rate from -10 to 10."""
    rows = [f"{u},{i},{3 * u - 2 * i - 4}" for u in range(4) for i in range(5) if u != i]
    (folder / "ratings.csv").write_text("\n".join(["user,item,rating", *rows]))
    systems = '[systems]\nnames = ["als-knn", "chi2", "popularity"]\n'
    return Study.parse(
        f"{RATINGS}threshold = 0\n{ratings}{systems}{METRICS}{NO_ANALYSES}",
        source="x.toml",
        base=folder,
        changes={"output": folder / "study"},
    )


def test_ratings_below_zero_are_told_for_all_systems_before_training(tmp_path: Path) -> None:
    for shift in ("", "shift = 2\n"):
        with pytest.raises(InputError, match=r"als-knn, chi2 cannot learn .* set `shift = 12` in"):
            run_study(centred(tmp_path, shift))


@pytest.mark.slow
def test_systems_learn_from_ratings_below_zero_with_a_shift(tmp_path: Path) -> None:
    study = centred(tmp_path, "shift = 12\n")
    systems = study.systems.model_copy(update={"names": ("chi2", "popularity")})
    run_study(study.model_copy(update={"systems": systems}), n_jobs=1, progress=Silent())
    assert (tmp_path / "study/runs/chi2.parquet").exists()


def test_a_shift_changes_training_alone(ratings: Ratings, tmp_path: Path) -> None:
    known = collect(centred(tmp_path, "shift = 12\n"))
    assert known.threshold == 0
    assert known.split is not None
    assert known.split.train.rating.min() < 0
    options: dict[str, Any] = {"seed": 1, "depth": 4, "candidates": None}
    below, users = replace(ratings, rating=ratings.rating - 3), np.arange(4, dtype=np.int32)
    found = [
        train_and_rank("chi2", {}, data, users, shift=shift, **options)[RUN].value.items.tolist()
        for data, shift in ((ratings, 0.0), (below, 3.0))
    ]
    assert found[0] == found[1]
