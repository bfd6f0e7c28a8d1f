"""Shards of a log's users: who is tested, and what models learn from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

from analyses.recall.stratification import Popularity, popularity_counts
from harness.recall.recall_question import RecallQuestion
from qrels.interactions.held_out_users import (
    Candidates,
    RobotFilter,
    filter_robots,
    removed_in_words,
    split_users,
)
from qrels.interactions.interaction_file import COLUMNS, NEEDED, read_interactions
from qrels.interactions.interactions import Interactions
from qrels.interactions.item_sets import ItemSets
from qrels.interactions.shards import Reading, cut_in_shards
from qrels.interactions.table import LogTable
from runs import InputError, Numbering
from runs.shared.parallel import processes
from runs.shared.progress import Progress

WHOLE_BYTES: Final = 150
"""Memory that an event takes while it is read, sorted, and added up for one matrix."""

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class UserShard:
    """Events of some of the users: a file or folder, or what was read of it."""

    path: Path
    robots: int | None
    known: RobotFilter | None = None

    def events(self) -> RobotFilter:
        """Read them, without those of robots, if these are asked for."""
        if self.known is not None:
            return self.known
        return filter_robots(read_interactions(self.path), most_per_day=self.robots)


@dataclass(frozen=True, eq=False)
class UserShards:
    """All users of a log: in one shard, which is in memory, or in several, in files of a folder."""

    shards: Sequence[UserShard]
    n_jobs: int = 1
    folder: Path = Path()

    def each(self, do: Callable[..., Found], *args: Any) -> list[Found]:
        """Do something with every shard, in processes or on a cluster if there are several."""
        if len(self.shards) == 1:
            return [do(self.shards[0], *args)]
        tasks = (joblib.delayed(do)(shard, *args) for shard in self.shards)
        return [*processes(self.n_jobs, return_as="generator")(tasks)]


@dataclass(frozen=True, eq=False)
class Training:
    """What models learn from: the events of users who are not tested.

    Popularity counts, users and events, and the items that users had, a shard of users after the
    other, in memory or in folders.
    """

    counts: NDArray[np.intp]
    n_users: int
    n_events: int
    item_sets: Sequence[ItemSets | Path]
    log: UserShards
    items: Numbering
    tested: Numbering

    def events(self) -> Interactions:
        """Give all events, in memory; refuse more than it holds.

        Raises
        ------
        InputError
            If there are several shards, and free memory is too little for all of them.
        """
        from psutil import virtual_memory

        need, free = WHOLE_BYTES * self.n_events, int(virtual_memory().available)
        if len(self.item_sets) > 1 and need > free:
            raise InputError(
                f"als-knn learns from all {self.n_events:,} training events at once, which takes "
                f"about {need / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free; "
                "item-cosines is learned shard by shard."
            )
        return _joined(self.log.each(_training_events, self.items, self.tested), self.items)


@contextmanager
def shards_of(
    path: Path, question: RecallQuestion, reading: Reading, progress: Progress
) -> Iterator[UserShards]:
    """Give the shards of a log, which go when the work is done."""
    table = LogTable.open(path)
    table.require(*NEEDED)
    n_shards, whole = reading.n_shards(table), UserShard(path, question.robots)
    if n_shards == 1:
        with progress("Reading", 1):
            log = UserShards([replace(whole, known=whole.events())])
        yield log
        return
    with reading.apart() as folder:
        with progress("Reading", 1):
            paths = cut_in_shards(table, COLUMNS, folder, shards=n_shards, n_jobs=reading.n_jobs)
        yield UserShards([replace(whole, path=each) for each in paths], reading.n_jobs, folder)


def read_apart(
    log: UserShards, question: RecallQuestion, progress: Progress
) -> tuple[Training, Interactions, list[str]]:
    """Draw the test users, part their events from the others, and say what was left out."""
    with progress("Splitting users", 1):
        found = log.each(_census, question.share, question.min_items, question.seed)
        items = Numbering.of(np.concatenate([each.items for each in found]))
        tested = Candidates.joined([each.candidates for each in found]).draw(question.most)
        parts = log.each(_part, items, tested, question.popularity, log.folder)
    n_events = sum(part.n_events for part in parts)
    if n_events == 0:
        raise InputError("all users are test users; nobody is left to learn from.")
    counts: NDArray[np.intp] = np.sum([part.counts for part in parts], axis=0)
    n_users = sum(part.n_users for part in parts)
    training = Training(
        counts, n_users, n_events, [part.item_sets for part in parts], log, items, tested
    )
    removed = np.sum([each.removed for each in found], axis=0)
    facts = [] if question.robots is None else [removed_in_words(*removed.tolist())]
    return training, _joined([part.test for part in parts], items), facts


class _Census(NamedTuple):
    """Who and what is in a shard: items, users who may be tested, and what robots took away."""

    items: NDArray[np.str_]
    candidates: Candidates
    removed: tuple[int, int, int]


def _census(shard: UserShard, share: float, least_items: int, seed: int) -> _Census:
    found = shard.events()
    candidates = Candidates.of(found.kept, share=share, least_items=least_items, seed=seed)
    return _Census(found.kept.items.ids, candidates, found.removed)


class _Part(NamedTuple):
    """What is learnt from a shard, and who of it is tested; see `Training`."""

    counts: NDArray[np.intp]
    n_users: int
    n_events: int
    item_sets: ItemSets | Path
    test: Interactions


def _part(
    shard: UserShard, items: Numbering, tested: Numbering, popularity: Popularity, folder: Path
) -> _Part:
    train, test = _apart(shard, items, tested)
    item_sets, place = ItemSets.of(train), folder / f"{shard.path.name}-items"
    if shard.known is None:
        item_sets.save(place)
    own = tested.select(np.flatnonzero(test.users.numbers(tested.ids) >= 0))
    return _Part(
        popularity_counts(train, of=popularity),
        int(np.count_nonzero(np.diff(train.starts))),
        len(train),
        item_sets if shard.known is not None else place,
        _over(own, test),
    )


def _apart(
    shard: UserShard, items: Numbering, tested: Numbering
) -> tuple[Interactions, Interactions]:
    """Part the events of a shard, over the items of all."""
    events = shard.events().kept
    if len(events.items) < len(items):
        item = items.numbers(events.items.ids)[events.item]
        events = replace(events, items=items, item=item)
    return split_users(events, tested)


def _training_events(shard: UserShard, items: Numbering, tested: Numbering) -> Interactions:
    return _apart(shard, items, tested)[0]


def _over(users: Numbering, events: Interactions) -> Interactions:
    """Number the users of events anew; these are all of them, in the same order."""
    first = np.diff(events.user, prepend=-1) > 0
    return replace(events, users=users, user=(np.cumsum(first) - 1).astype(np.int32))


def _joined(parts: Sequence[Interactions], items: Numbering) -> Interactions:
    """Put the events of the users of several shards together."""
    if len(parts) == 1:
        return parts[0]
    users = Numbering.of(np.concatenate([part.users.ids for part in parts]))
    user = [users.numbers(part.users.ids)[part.user] for part in parts]
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("item", "time", "value")
    }
    return Interactions.of(users, items, user=np.concatenate(user), **columns)
