"""The files of what a study begins with: judgements, split, world, truth."""

from __future__ import annotations

from typing import NamedTuple

from harness.report.study_folder import SUBTOPICS_FILE, TEST_FILE, TRAIN_FILE, TRUE_SUBTOPICS_FILE
from harness.study.collection import Collection
from harness.study.parts import Files, Parts
from qrels import Qrels, Ratings
from qrels.ratings.datasets.rating_lines import format_rating_lines
from qrels.ratings.world import Truth
from qrels.trec import format_qrels, format_subtopics
from runs import Numbering
from runs.shared.ids import id_table

TRUE_QRELS = "true-qrels"
"""Name of the part that is the truth."""


class TrecIds(NamedTuple):
    """Users or items: ids as TREC files write them, and ids of the input, in the same order.

    Both are the same object where the ids of the input fit TREC files.
    """

    written: Numbering
    ids: Numbering

    @property
    def are_replaced(self) -> bool:
        """Whether numbers are written in the place of ids."""
        return self.written is not self.ids


def keep_input(parts: Parts, collection: Collection) -> None:
    """Write what a study begins with into its folder, in up to four parts.

    These are the qrels; training and test ratings, if ratings were split; true ratings, if a world
    is simulated; true judgements, if they are known. A part whose content is already in the folder
    is not written again.
    """
    topics = TrecIds(collection.trec_topics, collection.topics)
    items = TrecIds(collection.trec_items, collection.items)
    parts.keep("qrels", qrels_files, collection.qrels, topics, items)
    if collection.split is not None:
        parts.keep("split", split_files, collection.split.train, collection.split.test)
    if collection.truth is not None:
        parts.keep("world", world_files, collection.truth)
    true_judgements = collection.true_judgements
    if true_judgements is not None:
        true_topics = TrecIds(true_judgements.trec_topics, true_judgements.topics)
        parts.keep(TRUE_QRELS, true_qrels_files, true_judgements.qrels, true_topics, items.written)


def qrels_files(qrels: Qrels, topics: TrecIds, items: TrecIds) -> Files:
    """Format judgements as TREC qrels; where numbers replace ids of users or items, add ids.csv.

    That is a table of the numbers and the ids. Topics are called users in it. Judgements of
    subtopics have a file of their own, beside the highest grades.
    """
    files = _trec_files(
        qrels,
        topics.written,
        items.written,
        name="qrels/test.qrels",
        subtopics_name=SUBTOPICS_FILE,
    )
    ids_by_kind = {"user": topics, "item": items}
    replaced = {kind: ids for kind, ids in ids_by_kind.items() if ids.are_replaced}
    if replaced:
        files["ids.csv"] = id_table(replaced)
    return files


def _trec_files(
    qrels: Qrels, topics: Numbering, items: Numbering, *, name: str, subtopics_name: str
) -> Files:
    """Format judgements as TREC qrels, in a file as trec_eval reads it: an item once in a topic.

    If the judgements are of subtopics, a second file has the grade of each subtopic, as ndeval
    reads it.
    """
    files = {name: format_qrels(qrels, topics, items)}
    if qrels.subtopics is not None:
        files[subtopics_name] = format_subtopics(qrels, qrels.subtopics, topics, items)
    return files


def split_files(train: Ratings, test: Ratings) -> Files:
    """Format training and test ratings as tables."""
    return {TRAIN_FILE: format_rating_lines(train), TEST_FILE: format_rating_lines(test)}


def world_files(truth: Truth) -> Files:
    """Write the true ratings of a simulated world."""
    return {"world/truth.npz": truth.to_bytes()}


def true_qrels_files(qrels: Qrels, topics: TrecIds, trec_items: Numbering) -> Files:
    """Format the true judgements as TREC qrels; where numbers replace ids, add a table of both."""
    files = _trec_files(
        qrels,
        topics.written,
        trec_items,
        name="truth/true.qrels",
        subtopics_name=TRUE_SUBTOPICS_FILE,
    )
    if topics.are_replaced:
        files["truth/ids.csv"] = id_table({"user": topics})
    return files
