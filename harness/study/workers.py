"""Work that runs in a process of its own: train a system, rank, and name the parts it makes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from qrels import FullRanks, Ratings, Split
from qrels.ranks.full_ranks import CandidateRanks
from qrels.ranks.judged_ranks import JudgedRanks, Validation
from recommenders.kernels.hidden_scores import rank_held_out
from recommenders.shared.full_ranks import candidate_ranks, full_ranks
from recommenders.shared.scorers import BatchScorer, HistoriesScorer
from recommenders.shared.train_and_rank import recommend, train
from recommenders.shared.user_system import is_user_system, label_of
from runs import InputError, Run
from runs.shared.arrays import Ints, Longs, Masks, Sparse
from runs.shared.parallel import CLUSTER_OPTION, LOCAL, processes_on_cluster
from runs.shared.progress import Clock, Cost


class UserCandidates(NamedTuple):
    """Numbers of users, and marks of the only items that each may be recommended.

    Marks have shape (n_users, n_items); None allows what all lists of the study may hold.
    """

    users: Ints
    items: Sparse | None


class HiddenItems(NamedTuple):
    """Test ratings whose items are hidden in turn.

    ``relevant`` marks those that are hidden, of shape (n_test_ratings,); ``validations`` are "loo"
    and "lloo", the rules by which a profile is made without the hidden item.
    """

    test: Ratings
    relevant: Masks
    validations: Sequence[Validation]


@dataclass(frozen=True, eq=False)
class TrainingTask:
    """What a system learns from, and for whom it ranks.

    Parameters
    ----------
    ratings
        The training ratings.
    users
        Numbers of the users for whom it ranks.
    seed
        Random seed of the training.
    depth
        Depth of the lists.
    candidates
        Items that may be recommended, of shape (n_items,); None for all with training ratings.
    positives
        Lowest rating that it learns from; None for all.
    shift
        What is added to ratings that it learns from.
    """

    ratings: Ratings
    users: Ints
    seed: int
    depth: int
    candidates: Masks | None = None
    positives: float | None = None
    shift: float = 0.0


@dataclass(frozen=True, eq=False)
class TrainedSystem:
    """A system that has learnt: its name in tables, its scorer, and what it learnt from."""

    label: str
    scorer: BatchScorer
    task: TrainingTask


def train_system(system: str, settings: Mapping[str, Any], task: TrainingTask) -> TrainedSystem:
    """Train a system, by name or path of its file, on the ratings that it learns from."""
    ratings = training_ratings(task.ratings, task.positives, task.shift)
    scorer = train(system, settings, ratings, seed=task.seed)
    return TrainedSystem(label_of(system), scorer, task)


def recommended_lists(trained: TrainedSystem) -> Run:
    """Recommend items to every user of the task; lists have shape (n_users, depth)."""
    task = trained.task
    return recommend(
        trained.scorer,
        task.ratings,
        task.users,
        system=trained.label,
        depth=task.depth,
        candidates=task.candidates,
    )


def relevant_ranks(trained: TrainedSystem, relevant: Ratings) -> FullRanks:
    """Rank the relevant items, given as test ratings, among all candidates."""
    task = trained.task
    return full_ranks(trained.scorer, task.ratings, relevant, candidates=task.candidates)


def hidden_ranks(trained: TrainedSystem, hidden: HiddenItems) -> JudgedRanks:
    """Rank relevant test items that are hidden in turn, among all candidates of their users.

    A profile has all else that the user rated, in training and test ("loo"), or what was rated
    before the hidden item ("lloo"). Ratings of the profiles, and the lowest that counts, are
    shifted as those of the training.
    """
    task = trained.task
    assert isinstance(trained.scorer, HistoriesScorer), "other systems are refused before"
    train_part = training_ratings(task.ratings, None, task.shift)
    test_part = training_ratings(hidden.test, None, task.shift)
    positives = None if task.positives is None else task.positives + task.shift
    return rank_held_out(
        trained.scorer,
        Split(train_part, test_part),
        hidden.relevant,
        candidates=task.candidates,
        validations=hidden.validations,
        min_rating=positives,
    )


def truly_judged_lists(trained: TrainedSystem, candidates: UserCandidates) -> Run:
    """Recommend items to the users of the truth, among those that their lists may hold."""
    task = trained.task
    return recommend(
        trained.scorer,
        task.ratings,
        candidates.users,
        system=trained.label,
        depth=task.depth,
        candidates=task.candidates if candidates.items is None else None,
        allowed_by_user=candidates.items,
    )


def all_candidate_ranks(trained: TrainedSystem, rows: Longs) -> CandidateRanks:
    """Rank all candidates of some users, given by their rows among the users of the task.

    ``rows``, (n_ranked_users,), also become the topics of the result.
    """
    task = trained.task
    return candidate_ranks(
        trained.scorer,
        task.ratings,
        task.users[rows],
        topic=rows,
        candidates=task.candidates,
    )


@dataclass(frozen=True)
class SystemPart:
    """A part of a study that every system has, or may have.

    Parameters
    ----------
    name
        What its names in the ledger begin with.
    folder, suffix
        The folder of its files, and their ending.
    make
        Makes it of a trained system and of what this part alone needs.
    """

    name: str
    folder: str
    suffix: str
    make: Callable[..., Any]

    def part_name(self, system: str) -> str:
        """Compose the name of a system's part in the ledger."""
        return f"{self.name}-{file_stem(system)}"

    def file_name(self, system: str) -> str:
        """Compose the name of a system's file in the study folder."""
        return f"{self.folder}/{file_stem(system)}.{self.suffix}"


RUN = SystemPart("run", "runs", "parquet", recommended_lists)
"""What a system recommends."""

RELEVANT_RANKS = SystemPart("ranks", "ranks", "npz", relevant_ranks)
"""Where it ranks the relevant items among all candidates."""

HIDDEN_RANKS = SystemPart("hidden", "hidden", "npz", hidden_ranks)
"""Where it ranks items that are hidden in turn."""

TRUE_RUN = SystemPart("true-run", "truth/runs", "parquet", truly_judged_lists)
"""Its lists that the truth judges."""

CANDIDATE_RANKS = SystemPart("ranks-all", "ranks/all", "npz", all_candidate_ranks)
"""Its ranks of all candidates of some users."""


def file_stem(system: str) -> str:
    """Quote, as URLs do, what a file name may not hold: two systems never share a file."""
    return re.sub(r"[^\w+=@.-]", lambda match: quote(match[0], safe=""), system)


Label = TypeVar("Label")


class Timed(NamedTuple):
    """A value, and what it cost to compute."""

    value: Any
    cost: Cost


def train_and_rank(
    system: str,
    settings: Mapping[str, Any],
    task: TrainingTask,
    parts: Mapping[SystemPart, tuple[Any, ...]],
) -> tuple[str, dict[SystemPart, Timed]]:
    """Train one system, and make parts of it.

    Parameters
    ----------
    system, settings, task
        Name of the system or path of its file, its settings, and what it learns from.
    parts
        What each part needs beside the trained system: further arguments of its function.

    Returns
    -------
    What the system is called in tables, and the parts; the cost of training is that of the first.
    """
    clock = Clock()
    trained = train_system(system, settings, task)
    values: dict[SystemPart, Timed] = {}
    for part, arguments in parts.items():
        value = part.make(trained, *arguments)
        values[part] = Timed(value, clock.cost())
        clock = Clock()
    return trained.label, values


def training_ratings(ratings: Ratings, positives: float | None, shift: float = 0.0) -> Ratings:
    """Select the ratings that a system learns from, and add a shift to each.

    These are the ratings of at least ``positives``; None selects all. Without a shift either, the
    ratings are returned as they are.
    """
    selected = ratings if positives is None else ratings.select(ratings.rating >= positives)
    return replace(selected, rating=selected.rating + shift) if shift else selected


def try_and_rank(
    label: Label, system: str, settings: Mapping[str, Any], task: TrainingTask
) -> tuple[Label, Run | str, Cost]:
    """Train a system and recommend; return the label, the run, and the cost of both.

    The cost is the time of the wall and of the CPU, in seconds. Any exception, as unusual settings
    may fail anywhere in the libraries below, becomes a sentence in place of the run, on one line.
    An error that no settings could avoid, a package that is not installed, is raised. The label,
    which tells trials apart, is returned as it came.
    """
    clock = Clock()
    try:
        _, values = train_and_rank(system, settings, task, {RUN: ()})
    except Exception as error:
        if isinstance(error.__cause__, ModuleNotFoundError):
            raise
        prefix = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        words = f"{prefix}{error}".split()
        return label, " ".join(words), clock.cost()
    return label, values[RUN].value, values[RUN].cost


@contextmanager
def trained_on(cluster: str | None, systems: Iterable[str]) -> Iterator[None]:
    """Train systems on the workers of a cluster while the block runs; None trains them here.

    ``cluster`` is an address of dask's scheduler, or "local". Raises InputError if a system is in a
    user's file, which the machines of a cluster that is not local may not have.
    """
    users_systems = [label_of(system) for system in systems if is_user_system(system)]
    if users_systems and cluster not in (None, LOCAL):
        raise InputError(
            f"the system {users_systems[0]!r} is in a file of this machine, which the workers of "
            f"{CLUSTER_OPTION} {cluster} may not have; leave out {CLUSTER_OPTION}."
        )
    with processes_on_cluster(cluster):
        yield


@contextmanager
def restarts_in_silence() -> Iterator[None]:
    """Suppress joblib's warning that it replaced a worker of much memory: nothing is lost."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        yield
