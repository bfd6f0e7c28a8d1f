"""Work that runs in a process of its own: train a system, rank, and name the parts it makes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from qrels import Ratings, Split
from qrels.ranks.judged_ranks import Validation
from recommenders import candidate_ranks, full_ranks, is_user_system, label_of, recommend, train
from recommenders.kernels.hidden_scores import rank_held_out
from recommenders.shared.scorers import HistoriesScorer
from runs import InputError, Run
from runs.shared.arrays import Ints, Longs, Masks, Sparse
from runs.shared.parallel import LOCAL, processes_on_cluster
from runs.shared.progress import Clock, Cost


@dataclass(frozen=True)
class SystemPart:
    """A part of a study that every system has, or may have: the beginning and end of its names."""

    name: str
    folder: str
    suffix: str

    def of(self, system: str) -> str:
        """Name the part in the ledger."""
        return f"{self.name}-{file_stem(system)}"

    def file(self, system: str) -> str:
        """Name its file."""
        return f"{self.folder}/{file_stem(system)}.{self.suffix}"


RUN = SystemPart("run", "runs", "parquet")
"""What a system recommends."""

RANKS = SystemPart("ranks", "ranks", "npz")
"""Where it ranks the relevant items among all candidates."""

HIDDEN = SystemPart("hidden", "hidden", "npz")
"""Where it ranks items that are hidden in turn."""

TRUE_RUN = SystemPart("true-run", "truth/runs", "parquet")
"""Its lists that the truth judges."""

WHOLE = SystemPart("ranks-all", "ranks/all", "npz")
"""Its ranks of all candidates of some users."""


def file_stem(system: str) -> str:
    """Write what a file name may not hold in the manner of URLs: two systems never share a file."""
    return re.sub(r"[^\w+=@.-]", lambda match: quote(match[0], safe=""), system)


Label = TypeVar("Label")


class Timed(NamedTuple):
    """What was made, and what it cost."""

    value: Any
    cost: Cost


class OwnLists(NamedTuple):
    """Users for whom other lists are made, and marks of what alone each may hold.

    Without marks, of shape (n_users, n_items), they hold what all lists may.
    """

    users: Ints
    items: Sparse | None


class Hidden(NamedTuple):
    """What is hidden in turn: a split, which of its test ratings, and under which validations."""

    split: Split
    relevant: Masks
    validations: Sequence[Validation]


def train_and_rank(
    system: str,
    settings: dict[str, Any],
    ratings: Ratings,
    users: Ints,
    *,
    seed: int,
    depth: int,
    candidates: Masks | None,
    relevant: Ratings | None = None,
    positives: float | None = None,
    shift: float = 0.0,
    hidden: Hidden | None = None,
    lists: OwnLists | None = None,
    ranked_whole: Longs | None = None,
) -> dict[SystemPart, Timed]:
    """Train one system, rank for the users, and find full and hidden ranks of relevant items."""
    made: dict[SystemPart, Timed] = {}
    clock = Clock()

    def keep(part: SystemPart, value: Any) -> None:
        nonlocal clock
        made[part] = Timed(value, clock.cost())
        clock = Clock()

    scorer = train(system, settings, learnt_from(ratings, positives, shift), seed=seed)
    ranked = partial(recommend, scorer, ratings, system=label_of(system), depth=depth)
    keep(RUN, ranked(users, candidates=candidates))
    if relevant is not None:
        keep(RANKS, full_ranks(scorer, ratings, relevant, candidates=candidates))
    if hidden is not None:
        assert isinstance(scorer, HistoriesScorer), "other systems are refused before"
        split = Split(*(learnt_from(part, None, shift) for part in (ratings, hidden.split.test)))
        lowest = None if positives is None else positives + shift
        ranks = partial(rank_held_out, scorer, split, hidden.relevant, candidates=candidates)
        keep(HIDDEN, ranks(validations=hidden.validations, positives=lowest))
    if lists is not None:
        listed = candidates if lists.items is None else None
        keep(TRUE_RUN, ranked(lists.users, candidates=listed, own=lists.items))
    if ranked_whole is not None:
        asked = users[ranked_whole]
        whole = candidate_ranks(scorer, ratings, asked, topic=ranked_whole, candidates=candidates)
        keep(WHOLE, whole)
    return made


def learnt_from(ratings: Ratings, positives: float | None, shift: float = 0.0) -> Ratings:
    """Give the ratings that a system learns from: those from the lowest positive one on, or all.

    To each of them the shift is added.
    """
    learnt = ratings if positives is None else ratings.select(ratings.rating >= positives)
    return replace(learnt, rating=learnt.rating + shift) if shift else learnt


def try_and_rank(label: Label, **asked: Any) -> tuple[Label, Run | str, Cost]:
    """Train and rank as `train_and_rank` does, or say in a sentence why that failed.

    Unusual settings may fail anywhere in the libraries below. What no settings could mend, a
    package that is not installed, is raised.
    """
    clock = Clock()
    try:
        return label, *train_and_rank(**asked)[RUN]
    except Exception as error:
        if isinstance(error.__cause__, ModuleNotFoundError):
            raise
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        return label, " ".join(f"{kind}{error}".split()), clock.cost()


@contextmanager
def trained_on(dask: str | None, systems: Iterable[str]) -> Iterator[None]:
    """Let systems be trained by the workers of a Dask cluster, or here for None."""
    own = [label_of(system) for system in systems if is_user_system(system)]
    if own and dask not in (None, LOCAL):
        raise InputError(
            f"the system {own[0]!r} is in a file of this machine, which the workers of --dask "
            f"{dask} may not have; leave out --dask."
        )
    with processes_on_cluster(dask):
        yield


@contextmanager
def restarts_in_silence() -> Iterator[None]:
    """Do not warn when joblib replaces a worker that holds much memory: nothing is lost."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        yield
