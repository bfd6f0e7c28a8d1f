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
from recommenders import candidate_ranks, full_ranks, is_user_system, label_of, recommend, train
from recommenders.kernels.hidden_scores import rank_held_out
from recommenders.shared.scorers import BatchScorer, HistoriesScorer
from runs import InputError, Run
from runs.shared.arrays import Ints, Longs, Masks, Sparse
from runs.shared.parallel import CLUSTER_OPTION, LOCAL, processes_on_cluster
from runs.shared.progress import Clock, Cost


class OwnLists(NamedTuple):
    """Users for whom other lists are made, and marks of what alone each may hold.

    Without marks, of shape (n_users, n_items), they hold what all lists may.
    """

    users: Ints
    items: Sparse | None


class Hidden(NamedTuple):
    """What is hidden in turn: test ratings, which of them, and under which validations."""

    test: Ratings
    relevant: Masks
    validations: Sequence[Validation]


@dataclass(frozen=True, eq=False)
class Learning:
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
    learning: Learning


def train_system(system: str, settings: Mapping[str, Any], learning: Learning) -> TrainedSystem:
    """Train a system."""
    ratings = learnt_from(learning.ratings, learning.positives, learning.shift)
    scorer = train(system, settings, ratings, seed=learning.seed)
    return TrainedSystem(label_of(system), scorer, learning)


def recommended_lists(trained: TrainedSystem) -> Run:
    """Recommend items to every user."""
    learning = trained.learning
    return recommend(
        trained.scorer,
        learning.ratings,
        learning.users,
        system=trained.label,
        depth=learning.depth,
        candidates=learning.candidates,
    )


def relevant_ranks(trained: TrainedSystem, relevant: Ratings) -> FullRanks:
    """Rank the relevant items among all candidates."""
    learning = trained.learning
    return full_ranks(trained.scorer, learning.ratings, relevant, candidates=learning.candidates)


def hidden_ranks(trained: TrainedSystem, hidden: Hidden) -> JudgedRanks:
    """Rank items that are hidden in turn."""
    learning = trained.learning
    assert isinstance(trained.scorer, HistoriesScorer), "other systems are refused before"
    split = Split(
        learnt_from(learning.ratings, None, learning.shift),
        learnt_from(hidden.test, None, learning.shift),
    )
    lowest = None if learning.positives is None else learning.positives + learning.shift
    return rank_held_out(
        trained.scorer,
        split,
        hidden.relevant,
        candidates=learning.candidates,
        validations=hidden.validations,
        positives=lowest,
    )


def truly_judged_lists(trained: TrainedSystem, lists: OwnLists) -> Run:
    """Rank for the users of the truth what their lists may hold."""
    learning = trained.learning
    return recommend(
        trained.scorer,
        learning.ratings,
        lists.users,
        system=trained.label,
        depth=learning.depth,
        candidates=learning.candidates if lists.items is None else None,
        own=lists.items,
    )


def all_candidate_ranks(trained: TrainedSystem, rows: Longs) -> CandidateRanks:
    """Rank all candidates of the users in some rows."""
    learning = trained.learning
    return candidate_ranks(
        trained.scorer,
        learning.ratings,
        learning.users[rows],
        topic=rows,
        candidates=learning.candidates,
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

    def of(self, system: str) -> str:
        """Name the part in the ledger."""
        return f"{self.name}-{file_stem(system)}"

    def file(self, system: str) -> str:
        """Name its file."""
        return f"{self.folder}/{file_stem(system)}.{self.suffix}"


RUN = SystemPart("run", "runs", "parquet", recommended_lists)
"""What a system recommends."""

RANKS = SystemPart("ranks", "ranks", "npz", relevant_ranks)
"""Where it ranks the relevant items among all candidates."""

HIDDEN = SystemPart("hidden", "hidden", "npz", hidden_ranks)
"""Where it ranks items that are hidden in turn."""

TRUE_RUN = SystemPart("true-run", "truth/runs", "parquet", truly_judged_lists)
"""Its lists that the truth judges."""

WHOLE = SystemPart("ranks-all", "ranks/all", "npz", all_candidate_ranks)
"""Its ranks of all candidates of some users."""


def file_stem(system: str) -> str:
    """Write what a file name may not hold in the manner of URLs: two systems never share a file."""
    return re.sub(r"[^\w+=@.-]", lambda match: quote(match[0], safe=""), system)


Label = TypeVar("Label")


class Timed(NamedTuple):
    """What was made, and what it cost."""

    value: Any
    cost: Cost


def train_and_rank(
    system: str,
    settings: Mapping[str, Any],
    learning: Learning,
    parts: Mapping[SystemPart, tuple[Any, ...]],
) -> tuple[str, dict[SystemPart, Timed]]:
    """Train one system, and make parts of it.

    Parameters
    ----------
    system, settings, learning
        See `train_system`.
    parts
        What each part needs beside the trained system.

    Returns
    -------
    What the system is called in tables, and the parts; the cost of training is that of the first.
    """
    clock = Clock()
    trained = train_system(system, settings, learning)
    made: dict[SystemPart, Timed] = {}
    for part, arguments in parts.items():
        value = part.make(trained, *arguments)
        made[part] = Timed(value, clock.cost())
        clock = Clock()
    return trained.label, made


def learnt_from(ratings: Ratings, positives: float | None, shift: float = 0.0) -> Ratings:
    """Give the ratings that a system learns from: those from the lowest positive one on, or all.

    To each of them the shift is added.
    """
    learnt = ratings if positives is None else ratings.select(ratings.rating >= positives)
    return replace(learnt, rating=learnt.rating + shift) if shift else learnt


def try_and_rank(
    label: Label, system: str, settings: Mapping[str, Any], learning: Learning
) -> tuple[Label, Run | str, Cost]:
    """Train and recommend as `train_and_rank` does, or say in a sentence why that failed.

    Unusual settings may fail anywhere in the libraries below. What no settings could mend, a
    package that is not installed, is raised.
    """
    clock = Clock()
    try:
        _, made = train_and_rank(system, settings, learning, {RUN: ()})
        return label, *made[RUN]
    except Exception as error:
        if isinstance(error.__cause__, ModuleNotFoundError):
            raise
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        return label, " ".join(f"{kind}{error}".split()), clock.cost()


@contextmanager
def trained_on(cluster: str | None, systems: Iterable[str]) -> Iterator[None]:
    """Let systems be trained by the workers of a cluster, or here for None."""
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
    """Do not warn when joblib replaces a worker that holds much memory: nothing is lost."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        yield
