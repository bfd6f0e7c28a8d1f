"""The lines of a run file, and the ranked lists that evaluators read from them."""

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
    """The lines of a run file, over a numbering of their own.

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
        """Order the lines as trec_eval does: by falling score, and by falling item id in ties.

        ``self.user``, ``self.item`` and ``self.score`` are columns of shape (n_lines,), of numbers
        of the ids in ``self.users`` and ``self.items``.

        Parameters
        ----------
        topics
            Ids of the topics; lines of other users are left out.
        items
            Ids that give the items their numbers; it holds all items of the file.
        precision
            Precision in which scores are compared: "double", or "single" as in trec_eval 9.

        Returns
        -------
        The items of all topics, topic by topic, and whether each has the score of the next one in
        its list. A topic without lines has an empty list.

        Warns
        -----
        NearTies
            If scores of neighbours are equal in single precision only.
        """
        topic = topics.numbers(self.users.ids)[self.user]
        is_own_numbering = items is self.items
        item = self.item if is_own_numbering else items.numbers(self.items.ids)[self.item]
        # Beyond the range of float32 scores are infinite.
        with np.errstate(over="ignore", under="ignore"):
            single_scores = self.score.astype(np.float32)
        scores: NDArray[np.floating] = single_scores if precision == "single" else self.score
        order = _ranking(topic, scores, item)
        # Users who are no topics have the number -1.
        order = order[topic[order] >= 0]
        topic = topic[order]
        same_topic = topic[1:] == topic[:-1]
        tied = same_topic & _equal_to_next(scores[order])
        tied_in_single = same_topic & _equal_to_next(single_scores[order])
        n_near_ties = int(np.count_nonzero(tied_in_single & ~tied))
        if n_near_ties:
            warnings.warn(NearTies(self.path, n_near_ties), stacklevel=2)
        lengths = np.bincount(topic, minlength=len(topics))
        # The last line has no next one; without lines there is none.
        tied_with_next = np.append(tied, False)[: len(order)]
        return RankedLists(
            path=self.path,
            system=self.system,
            topics=topics,
            offsets=offsets_of(lengths),
            item=item[order],
            tied=tied_with_next,
        )

    def to_run(self, topics: Numbering, items: Numbering, *, depth: int | None = None) -> Run:
        """Lay the ranked lists of all topics in rows, in the order of the topics.

        Lists are cut at ``depth``, by default the length of the longest. Raises InputError if the
        table would be too large; see `RankedLists.to_run`.
        """
        all_topics = np.arange(len(topics))
        return self.ranked_lists(topics, items).to_run(all_topics, depth=depth)


MAX_CELLS = 1 << 26
"""Number of cells, topics times ranks, that the table of a run may always have: 256 MB."""

MAX_CELLS_PER_LINE = 20
"""Number of cells that the table of a run may have for each of its lines."""


@dataclass(frozen=True, eq=False)
class RankedLists:
    """The items of a run, topic by topic, best first, in memory of the size of its lines.

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

        The list of topic t is a part of the columns ``item`` and ``tied``, from line ``offsets[t]``
        on.

        Parameters
        ----------
        topics
            Numbers of the topics, of shape (n_rows,).
        depth
            Number of ranks; lists are cut there. Default: as many as the longest list has.

        Returns
        -------
        Run
            Its items and its mask of ties are of shape (n_rows, depth); row r is the list of
            ``topics[r]``, and ends with -1 if it is shorter.

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
        if n_cells > max(MAX_CELLS, MAX_CELLS_PER_LINE * len(self.item)):
            raise self._too_long(len(topics), depth)
        lengths = np.minimum(lengths, depth)
        first_cells = offsets_of(lengths)[:-1]
        row = np.repeat(np.arange(len(topics)), lengths)
        column = np.arange(lengths.sum()) - np.repeat(first_cells, lengths)
        line = self.offsets[topics][row] + column
        items = np.full((len(topics), depth), NO_ITEM, dtype=np.int32)
        items[row, column] = self.item[line]
        tied = np.zeros(items.shape, dtype=np.bool_)
        tied[row, column] = self.tied[line]
        return Run(self.system, items, tied)

    def _too_long(self, n_topics: int, depth: int) -> InputError:
        """Word the error of a table of (n_topics, depth) that would be nearly empty.

        ``self.lengths`` has the number of lines of each topic, (n_topics,).
        """
        longest = int(self.lengths.argmax())
        bytes_per_cell = np.dtype(np.int32).itemsize + np.dtype(np.bool_).itemsize
        n_bytes = n_topics * depth * bytes_per_cell
        topic = str(self.topics.ids[longest])
        n_items = self.lengths[longest]
        return InputError(
            f"{self.path}: the list of topic {topic!r} has {n_items:,} items. A table of {depth:,} "
            f"ranks for {n_topics:,} topics, most of them empty, would take {n_bytes / 1e9:,.1f} "
            "GB. Cut the lists of the run, for example at rank 1,000; `harness evaluate` scores "
            "them as they are."
        )


def _equal_to_next(values: NDArray[np.floating]) -> Masks:
    """Mark the values of a column that equal the next one, of shape (n - 1,); 0 if n is 0."""
    return values[1:] == values[:-1]


def _ranking(topic: Ints, score: NDArray[np.floating], item: Ints) -> Numbers:
    """Order lines by topic, then falling score, then falling item.

    Columns and the result, line numbers, are of shape (n_lines,). Only the topics whose scores rise
    somewhere, and items of equal score, are sorted.
    """
    order = np.argsort(topic, kind="stable")
    topics = topic[order]
    scores = score[order]
    same_topic = topics[:-1] == topics[1:]
    rises = same_topic & (scores[:-1] < scores[1:])
    is_rising = np.isin(topics, topics[1:][rises])
    lines = order[is_rising]
    sorted_places = np.lexsort((-item[lines], -score[lines], topic[lines]))
    order[is_rising] = lines[sorted_places]
    # In the other topics, items of equal score stand side by side.
    tied_with_next = same_topic & (scores[:-1] == scores[1:])
    begins_a_group = np.append(True, ~tied_with_next)[: len(order)]
    group_numbers = np.cumsum(begins_a_group)
    is_tied = np.append(tied_with_next, False)[: len(order)] | ~begins_a_group
    rows = np.flatnonzero(is_tied & ~is_rising)
    sorted_rows = rows[np.lexsort((-item[order[rows]], group_numbers[rows]))]
    order[rows] = order[sorted_rows]
    return order


def common_items(
    files: Sequence[RunFile], judged_items: Numbering, more_ids: Sequence[str] = ()
) -> Numbering:
    """Number all items that are judged, that a run file ranks, or whose ids are given."""
    ids = [judged_items.ids]
    ids.extend(file.items.ids for file in files)
    ids.append(np.array(more_ids, dtype=np.str_))
    return Numbering.of(np.concatenate(ids))


def require_known_users(file: RunFile, topics: Numbering) -> None:
    """Raise InputError if no user of a run file is among the topics; warn if some are not."""
    n_unknown = np.count_nonzero(topics.numbers(file.users.ids) < 0)
    if n_unknown == len(file.users):
        raise InputError(
            f"{file.path}: none of its {n_unknown} users is in the qrels: users are written as "
            f"{str(file.users.ids[0])!r} there, and as {str(topics.ids[0])!r} in the qrels."
        )
    if n_unknown:
        warn(f"{file.path}: {n_unknown} of its users are not in the qrels and are left out.")
