"""What a run file says, and the order that evaluators read from it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runs.run import NO_ITEM, Run
from runs.shared.arrays import Floats, Ints, Numbers
from runs.shared.errors import InputError, NearTies, warn
from runs.shared.fields import place_in_group
from runs.shared.ids import Numbering

Precision: TypeAlias = Literal["double", "single"]


@dataclass(frozen=True, eq=False)
class RunFile:
    """What a run file says, line by line, over a numbering of its own.

    ``path``, ``system``: the file, or what it is called in messages, and the tag of its lines;
    ``users``, ``items``: the ids in the file; ``user``, ``item``: numbers, int32 of shape
    (n_lines,); ``score``: float64 of shape (n_lines,).
    """

    path: Path | str
    system: str
    users: Numbering
    items: Numbering
    user: Ints
    item: Ints
    score: Floats

    def to_run(
        self,
        topics: Numbering,
        items: Numbering,
        *,
        depth: int | None = None,
        precision: Precision = "double",
    ) -> Run:
        """Order the lines as trec_eval does: score falling, equal scores by item id falling."""
        topic = topics.numbers(self.users.ids)[self.user]
        item = items.numbers(self.items.ids)[self.item]
        # Beyond the range of float32 scores are infinite.
        with np.errstate(over="ignore", under="ignore"):
            single = self.score.astype(np.float32)
        score: NDArray[np.floating] = single if precision == "single" else self.score
        order = _ranking(topic, score, item)
        order = order[topic[order] >= 0]
        topic, item, falling, rounded = topic[order], item[order], score[order], single[order]
        same_topic = topic[1:] == topic[:-1]
        tie = same_topic & (falling[1:] == falling[:-1])
        coinciding = int(np.count_nonzero(same_topic & (rounded[1:] == rounded[:-1]) & ~tie))
        if coinciding:
            warnings.warn(NearTies(self.path, coinciding), stacklevel=2)
        lengths = np.bincount(topic, minlength=len(topics))
        column = place_in_group(topic) - 1
        depth = int(lengths.max(initial=1)) if depth is None else depth
        ranked = np.full((len(topics), depth), NO_ITEM, dtype=np.int32)
        within = column < depth
        ranked[topic[within], column[within]] = item[within]
        tied = np.zeros(ranked.shape, dtype=np.bool_)
        tied[topic[within], column[within]] = np.append(tie, False)[within]
        return Run(self.system, ranked, tied)


def _ranking(topic: Ints, score: NDArray[np.floating], item: Ints) -> Numbers:
    """Sort by topic, then falling score, then falling item; most lists are in order already."""
    order = np.argsort(topic, kind="stable")
    topics, scores, items = topic[order], score[order], item[order]
    ranks_above = (scores[:-1] > scores[1:]) | (
        (scores[:-1] == scores[1:]) & (items[:-1] > items[1:])
    )
    unordered = np.isin(topics, topics[1:][~ranks_above & (topics[:-1] == topics[1:])])
    lines = order[unordered]
    order[unordered] = lines[np.lexsort((-item[lines], -score[lines], topic[lines]))]
    return order


def common_items(
    files: Sequence[RunFile], judged: Numbering, others: Sequence[str] = ()
) -> Numbering:
    """Number every item that the judgements or a run name, and others."""
    named = (judged.ids, *(file.items.ids for file in files), np.array(others, dtype=np.str_))
    return Numbering.of(np.concatenate(named))


def require_known_users(file: RunFile, topics: Numbering) -> None:
    """Refuse a run for none of the topics; warn of users that are no topic."""
    unknown = np.count_nonzero(topics.numbers(file.users.ids) < 0)
    if unknown == len(file.users):
        raise InputError(
            f"{file.path}: none of its {unknown} users is in the qrels; do the ids match?"
        )
    if unknown:
        warn(f"{file.path}: {unknown} of its users are not in the qrels and are left out.")
