"""What a run file says, and the order that evaluators read from it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runs.run import NO_ITEM, Run
from runs.shared.arrays import Floats, Ints, Longs, Masks, Numbers
from runs.shared.errors import InputError, NearTies, warn
from runs.shared.fields import offsets_of
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

    def ranked_lists(
        self, topics: Numbering, items: Numbering, *, precision: Precision = "double"
    ) -> RankedLists:
        """Order the lines as trec_eval does: score falling, equal scores by item id falling."""
        topic = topics.numbers(self.users.ids)[self.user]
        item = items.numbers(self.items.ids)[self.item]
        # Beyond the range of float32 scores are infinite.
        with np.errstate(over="ignore", under="ignore"):
            single = self.score.astype(np.float32)
        score: NDArray[np.floating] = single if precision == "single" else self.score
        order = _ranking(topic, score, item)
        order = order[topic[order] >= 0]
        topic = topic[order]
        falling = score[order]
        rounded = single[order]
        same_topic = topic[1:] == topic[:-1]
        tie = same_topic & (falling[1:] == falling[:-1])
        coinciding = int(np.count_nonzero(same_topic & (rounded[1:] == rounded[:-1]) & ~tie))
        if coinciding:
            warnings.warn(NearTies(self.path, coinciding), stacklevel=2)
        return RankedLists(
            path=self.path,
            system=self.system,
            topics=topics,
            offsets=offsets_of(np.bincount(topic, minlength=len(topics))),
            item=item[order],
            tied=np.append(tie, False)[: len(order)],
        )

    def to_run(self, topics: Numbering, items: Numbering, *, depth: int | None = None) -> Run:
        """Lay the ranked lists of all topics in rows; see `RankedLists.to_run`."""
        return self.ranked_lists(topics, items).to_run(np.arange(len(topics)), depth=depth)


MOST_CELLS = 1 << 26
"""Ranks of all topics that a run always has room for: 256 MB."""

MOST_CELLS_PER_LINE = 20
"""Ranks of all topics that a run has room for, for each of its lines."""


@dataclass(frozen=True, eq=False)
class RankedLists:
    """The items of a run, topic by topic, best first: memory for as many as the run has lines.

    ``topics``: ids of the topics; ``offsets``: the list of topic t is
    ``item[offsets[t]:offsets[t + 1]]``, int64 of shape (n_topics + 1,); ``item``: item numbers,
    int32 of shape (n_lines,); ``tied``: whether an item has the score of the next one in its list,
    of shape (n_lines,).
    """

    path: Path | str
    system: str
    topics: Numbering
    offsets: Longs
    item: Ints
    tied: Masks

    @cached_property
    def lengths(self) -> Longs:
        """Number of items in the list of each topic, of shape (n_topics,)."""
        return np.diff(self.offsets)

    def to_run(self, topics: Numbers, *, depth: int | None = None) -> Run:
        """Lay the lists of some topics in rows.

        Parameters
        ----------
        topics
            Numbers of the topics, of shape (n_rows,).
        depth
            Number of ranks; lists are cut there. Default: as many as the longest list has.

        Returns
        -------
        Run
            Its items are of shape (n_rows, depth).

        Raises
        ------
        InputError
            If the table has more than 67 million cells, and more than 20 for each line of the run:
            a few long lists among many short ones.
        """
        lengths = self.lengths[topics]
        if depth is None:
            depth = int(lengths.max(initial=1))
        n_cells = len(topics) * depth
        if n_cells > max(MOST_CELLS, MOST_CELLS_PER_LINE * len(self.item)):
            raise self._too_long(len(topics), depth)
        lengths = np.minimum(lengths, depth)
        row = np.repeat(np.arange(len(topics)), lengths)
        column = np.arange(lengths.sum()) - np.repeat(offsets_of(lengths)[:-1], lengths)
        line = self.offsets[topics][row] + column
        ranked = np.full((len(topics), depth), NO_ITEM, dtype=np.int32)
        ranked[row, column] = self.item[line]
        tied = np.zeros(ranked.shape, dtype=np.bool_)
        tied[row, column] = self.tied[line]
        return Run(self.system, ranked, tied)

    def _too_long(self, n_topics: int, depth: int) -> InputError:
        longest = int(self.lengths.argmax())
        n_bytes = n_topics * depth * (np.dtype(np.int32).itemsize + np.dtype(np.bool_).itemsize)
        return InputError(
            f"{self.path}: the list of topic {str(self.topics.ids[longest])!r} has "
            f"{self.lengths[longest]:,} items. A table of {depth:,} ranks for {n_topics:,} "
            f"topics, most of them empty, would take {n_bytes / 1e9:,.1f} GB. Cut the lists of "
            "the run, for example at rank 1,000; `harness evaluate` scores them as they are."
        )


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
