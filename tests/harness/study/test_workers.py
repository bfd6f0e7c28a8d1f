"""Work in a process of its own: training, the parts of each system, and their names."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness.study import workers
from harness.study.workers import (
    CANDIDATE_RANKS,
    HIDDEN_RANKS,
    RELEVANT_RANKS,
    RUN,
    TRUE_RUN,
    HiddenItems,
    TrainedSystem,
    TrainingTask,
    UserCandidates,
    all_candidate_ranks,
    file_stem,
    hidden_ranks,
    recommended_lists,
    relevant_ranks,
    restarts_in_silence,
    train_and_rank,
    train_system,
    trained_on,
    training_ratings,
    truly_judged_lists,
    try_and_rank,
)
from qrels import Ratings
from qrels.ranks.hidden_ranks import MISS
from recommenders.shared.scorers import TrainedOnRatings
from runs import InputError, Numbering, Run
from runs.shared.arrays import Ints, Singles, Sparse
from runs.shared.parallel import LOCAL

IDS = Numbering.of(["a", "b", "c", "d"])


def ratings_of(rows: list[tuple[int, int, float]]) -> Ratings:
    """Ratings of four users and four items: user, item, rating."""
    user, item, rating = zip(*rows, strict=True)
    return Ratings(IDS, IDS, np.array(user, np.int32), np.array(item, np.int32), np.array(rating))


RATINGS = ratings_of(
    [
        *((0, 0, 1.0), (1, 1, 2.0), (1, 2, 5.0), (2, 1, 2.0)),
        *((2, 3, 1.0), (3, 1, 2.0), (3, 2, 5.0)),
    ]
)
"""Items have 1, 3, 2, 1 ratings. The first user rates item 0 low; others rate 1 low and often."""

TASK = TrainingTask(RATINGS, np.arange(4, dtype=np.int32), seed=1, depth=3)
WITHOUT_ITEM_1 = np.array([True, False, True, True])


@dataclass(frozen=True, eq=False)
class Counts(TrainedOnRatings):
    """Scores every item by its number of ratings, and keeps the profiles that it is shown."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "profiles", [])

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score for training users."""
        return np.tile(self.ratings.item_counts().astype(np.float32), (len(user_numbers), 1))

    def score_histories(self, histories: Sparse) -> Singles:
        """Score for anybody."""
        vars(self)["profiles"] += histories.toarray().tolist()
        return self.score_batch(np.zeros(histories.shape[0], np.int32))


def trained(**options: Any) -> TrainedSystem:
    task = replace(TASK, **options)
    learnt = training_ratings(task.ratings, task.positives, task.shift)
    return TrainedSystem("counts", Counts(learnt), task)


# Names of parts


def test_every_kind_of_part_has_names_in_the_ledger_and_the_folder() -> None:
    parts = (RUN, RELEVANT_RANKS, HIDDEN_RANKS, TRUE_RUN, CANDIDATE_RANKS)
    names = {part.part_name("a/b"): part.file_name("a/b") for part in parts}
    assert names == {
        "run-a%2Fb": "runs/a%2Fb.parquet",
        "ranks-a%2Fb": "ranks/a%2Fb.npz",
        "hidden-a%2Fb": "hidden/a%2Fb.npz",
        "true-run-a%2Fb": "truth/runs/a%2Fb.parquet",
        "ranks-all-a%2Fb": "ranks/all/a%2Fb.npz",
    }


def test_what_a_file_name_may_not_hold_is_written_as_in_urls() -> None:
    assert file_stem("item-knn_2+a=b@c.d") == "item-knn_2+a=b@c.d"
    assert file_stem("mine.py:Mine 2") == "mine.py%3AMine%202"
    assert file_stem("größe") == "größe"
    assert file_stem("50%") == "50%25"


@pytest.mark.slow
@given(st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True))
def test_two_systems_never_share_a_file(systems: list[str]) -> None:
    assert RUN.file_name(systems[0]) != RUN.file_name(systems[1])


# What a system learns from


def test_ratings_from_the_lowest_positive_one_on_are_learnt() -> None:
    assert training_ratings(RATINGS, None) is RATINGS
    assert training_ratings(RATINGS, 2.0).rating.tolist() == [2, 5, 2, 2, 5]
    assert training_ratings(RATINGS, 2.5).rating.tolist() == [5, 5]


def test_a_shift_is_added_to_what_is_learnt() -> None:
    assert training_ratings(RATINGS, 2.5, 3.0).rating.tolist() == [8, 8]
    assert training_ratings(RATINGS, None, -1.0).rating.tolist() == [0, 1, 4, 1, 0, 1, 4]
    assert RATINGS.rating.tolist() == [1, 2, 5, 2, 1, 2, 5]


def test_by_default_all_ratings_are_learnt_as_they_are() -> None:
    assert (TASK.candidates, TASK.positives, TASK.shift) == (None, None, 0.0)


COUNTS = '''
import time

import numpy as np

from recommenders import Settings, system
from recommenders.shared.scorers import TrainedOnRatings


class Counts(TrainedOnRatings):
    def score_batch(self, user_numbers):
        return np.tile(self.ratings.item_counts().astype(np.float32), (len(user_numbers), 1))


class CountsSettings(Settings):
    seconds: float = 0.0


@system("counts", family="mine", source="-")
def counts(ratings, settings: CountsSettings, *, seed) -> Counts:
    """Score items by their number of ratings."""
    time.sleep(settings.seconds)
    return Counts(ratings)
'''


@pytest.fixture
def counts(tmp_path: Path) -> str:
    """The name of a system in a file of the user."""
    (tmp_path / "mine.py").write_text(COUNTS)
    return f"{tmp_path}/mine.py:counts"


def test_a_system_is_trained_on_what_it_learns_from(counts: str) -> None:
    task = replace(TASK, positives=2.5, shift=3.0)
    system = train_system(counts, {}, task)
    assert system.label == "mine.py:counts"
    assert system.task is task
    scorer: Any = system.scorer
    assert scorer.ratings.rating.tolist() == [8, 8]


# Lists


def test_lists_hold_what_the_user_has_not_rated_down_to_the_depth() -> None:
    run = recommended_lists(trained())
    assert run.system == "counts"
    assert run.items.tolist() == [[1, 2, 3], [0, 3, -1], [2, 0, -1], [0, 3, -1]]
    assert recommended_lists(trained(depth=1)).items.tolist() == [[1], [0], [2], [0]]


def test_lists_are_of_the_users_and_candidates_of_the_study() -> None:
    users = np.array([3, 0], dtype=np.int32)
    run = recommended_lists(trained(users=users, candidates=WITHOUT_ITEM_1))
    assert run.items.tolist() == [[0, 3, -1], [2, 3, -1]]


def test_what_is_rated_low_is_not_learnt_and_no_candidate_for_who_rated_it() -> None:
    assert recommended_lists(trained(positives=4.0)).items[0].tolist() == [2, 1, 3]
    assert recommended_lists(trained(positives=4.0)).items[2].tolist() == [2, 0, -1]


def test_lists_of_their_own_hold_what_is_marked_alone() -> None:
    marks = csr_array(np.array([[0, 0, 1, 1], [1, 1, 0, 0]], dtype=np.bool_))
    lists = UserCandidates(np.array([0, 3], dtype=np.int32), marks)
    found = truly_judged_lists(trained(candidates=WITHOUT_ITEM_1), lists)
    assert found.system == "counts"
    assert found.items.tolist() == [[2, 3, -1], [0, -1, -1]]
    # Item 1 is marked: what else may be recommended does not matter.
    marks = csr_array(np.array([[0, 1, 0, 1]], dtype=np.bool_))
    lists = UserCandidates(np.array([0], dtype=np.int32), marks)
    found = truly_judged_lists(trained(candidates=WITHOUT_ITEM_1), lists)
    assert found.items.tolist() == [[1, 3, -1]]


def test_lists_of_other_users_without_marks_hold_the_candidates() -> None:
    lists = UserCandidates(np.array([0], dtype=np.int32), None)
    assert truly_judged_lists(trained(), lists).items.tolist() == [[1, 2, 3]]
    found = truly_judged_lists(trained(candidates=WITHOUT_ITEM_1), lists)
    assert found.items.tolist() == [[2, 3, -1]]


# Ranks


def test_relevant_items_are_ranked_among_all_candidates() -> None:
    relevant = ratings_of([(0, 2, 5.0), (3, 3, 5.0)])
    ranks = relevant_ranks(trained(depth=1), relevant)
    assert ranks.rank.tolist() == [2, 2]
    assert ranks.n_candidates.tolist() == [3, 2]
    ranks = relevant_ranks(trained(candidates=WITHOUT_ITEM_1), relevant)
    assert ranks.rank.tolist() == [1, 2]
    assert ranks.n_candidates.tolist() == [2, 2]


def test_all_candidates_of_the_users_in_some_rows_are_ranked() -> None:
    users = np.array([3, 2, 1, 0], dtype=np.int32)
    ranks = all_candidate_ranks(trained(users=users), np.array([0, 3]))
    assert ranks.topic.tolist() == [0, 3]
    assert ranks.rank.tolist() == [[1, 0, 0, 2], [0, 1, 2, 3]]
    options = {"users": users, "candidates": WITHOUT_ITEM_1}
    ranks = all_candidate_ranks(trained(**options), np.array([0, 3]))
    assert ranks.rank.tolist() == [[1, 0, 0, 2], [0, 0, 1, 2]]


TESTED = ratings_of([(0, 2, 4.0), (0, 3, 5.0)])


def hidden(*relevant: bool) -> HiddenItems:
    return HiddenItems(TESTED, np.array(relevant), ("loo",))


def test_hidden_items_are_ranked_by_all_else_that_their_user_rated() -> None:
    """Without item 2, the user rated items 0 and 3; candidates are 1, rated more often, and 2."""
    system = trained()
    ranks = hidden_ranks(system, hidden(True, False))
    assert ranks.require("loo").tolist() == [2, MISS]
    assert ranks.lloo is None
    assert vars(system.scorer)["profiles"] == [[1, 0, 0, 5]]
    without = hidden_ranks(trained(candidates=WITHOUT_ITEM_1), hidden(True, False))
    assert without.require("loo").tolist() == [1, MISS]


def test_profiles_of_hidden_items_hold_what_the_system_learns_from() -> None:
    system = trained(shift=10.0)
    hidden_ranks(system, hidden(True, False))
    assert vars(system.scorer)["profiles"] == [[11, 0, 0, 15]]
    system = trained(shift=10.0, positives=2.0)
    hidden_ranks(system, hidden(True, False))
    assert vars(system.scorer)["profiles"] == [[0, 0, 0, 15]]
    system = trained(shift=-10.0, positives=1.0)
    hidden_ranks(system, hidden(True, False))
    assert vars(system.scorer)["profiles"] == [[-9, 0, 0, -5]]


# Training and ranking


def test_a_system_is_trained_once_and_makes_each_part_that_is_asked_for(counts: str) -> None:
    relevant = ratings_of([(0, 2, 5.0)])
    parts = {RUN: (), RELEVANT_RANKS: (relevant,), CANDIDATE_RANKS: (np.array([0]),)}
    label, made = train_and_rank(counts, {}, TASK, parts)
    assert label == "mine.py:counts"
    assert [*made] == [RUN, RELEVANT_RANKS, CANDIDATE_RANKS]
    assert made[RUN].value.items.tolist()[0] == [1, 2, 3]
    assert made[RELEVANT_RANKS].value.rank.tolist() == [2]
    assert made[CANDIDATE_RANKS].value.rank.tolist() == [[0, 1, 2, 3]]


@pytest.mark.slow
def test_the_cost_of_training_is_that_of_the_first_part(counts: str) -> None:
    parts = {RUN: (), CANDIDATE_RANKS: (np.array([0]),)}
    _, made = train_and_rank(counts, {"seconds": 0.2}, TASK, parts)
    assert made[RUN].cost.seconds >= 0.2 > made[CANDIDATE_RANKS].cost.seconds


def test_a_trial_gives_its_lists(counts: str) -> None:
    label, run, cost = try_and_rank(7, counts, {}, TASK)
    assert label == 7
    assert isinstance(run, Run)
    assert run.items.tolist()[0] == [1, 2, 3]
    assert cost.seconds >= 0


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> str | Run:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(workers, "train", fail)
    return try_and_rank(7, "random", {}, TASK)[1]


def test_a_trial_that_fails_says_why_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ZeroDivisionError("division\n  by zero")
    assert failing(monkeypatch, error) == "ZeroDivisionError: division by zero"
    assert failing(monkeypatch, InputError("too deep.")) == "too deep."


def test_a_package_that_is_not_installed_stops_the_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = InputError("lenskit is not installed.")
    missing.__cause__ = ModuleNotFoundError("lenskit")
    with pytest.raises(InputError, match="lenskit is not installed"):
        failing(monkeypatch, missing)


def test_a_shift_changes_training_alone() -> None:
    below = replace(RATINGS, rating=RATINGS.rating - 3)
    shifted = replace(TASK, ratings=below, shift=3.0)
    found, expected = (
        train_and_rank("chi2", {}, task, {RUN: ()})[1][RUN].value for task in (shifted, TASK)
    )
    assert found.items.tolist() == expected.items.tolist()


# Clusters


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The clusters on which processes were asked for; none is connected to."""
    asked: list[str | None] = []

    @contextmanager
    def connect(cluster: str | None) -> Iterator[None]:
        asked.append(cluster)
        yield

    monkeypatch.setattr(workers, "processes_on_cluster", connect)
    return asked


def test_systems_are_trained_on_the_cluster(clusters: list[str | None]) -> None:
    for cluster, systems in [
        ("tcp://there:8786", ["random"]),
        (LOCAL, ["mine.py:A"]),
        (None, ["mine.py:A"]),
    ]:
        with trained_on(cluster, systems):
            pass
    assert clusters == ["tcp://there:8786", LOCAL, None]


def test_files_of_this_machine_are_not_on_other_machines(clusters: list[str | None]) -> None:
    systems = ["random", "/here/mine.py:A", "mine.py:B"]
    finding = r"the system 'mine\.py:A' is in a file of this machine"
    with pytest.raises(InputError, match=finding), trained_on("tcp://there:8786", systems):
        pass
    assert clusters == []


def test_only_what_joblib_says_of_its_workers_is_passed_over() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with restarts_in_silence():
            warnings.warn("A worker stopped while some jobs were given.", UserWarning, stacklevel=1)
            warnings.warn("Something else.", UserWarning, stacklevel=1)
    assert [str(warning.message) for warning in caught] == ["Something else."]
