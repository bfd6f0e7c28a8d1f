"""The files of what a study begins with: judgements, split, world, truth."""

from __future__ import annotations

from typing import TypeAlias

from harness.report.study_folder import TEST_FILE, TRAIN_FILE
from harness.study.collection import Collection
from harness.study.parts import Files, Parts
from qrels import Qrels, Ratings
from qrels.ratings.datasets.rating_tables import format_rating_lines
from qrels.ratings.world import Truth
from qrels.trec import format_qrels
from runs import Numbering
from runs.shared.ids import id_table

TRUE_QRELS = "true-qrels"
"""Name of the part that is the truth."""

Names: TypeAlias = tuple[Numbering, Numbering]
"""Users or items: as TREC files carry them, and by their ids."""


def keep_input(parts: Parts, collection: Collection) -> None:
    """Keep what a study begins with."""
    topics, items = collection.names
    parts.keep("qrels", qrels_files, collection.qrels, topics, items)
    if collection.split is not None:
        parts.keep("split", split_files, collection.split.train, collection.split.test)
    if collection.truth is not None:
        parts.keep("world", world_files, collection.truth)
    known = collection.judged_truly
    if known is not None:
        parts.keep(
            TRUE_QRELS, true_qrels_files, known.qrels, (known.trec_ids, known.topics), items[0]
        )


def qrels_files(qrels: Qrels, topics: Names, items: Names) -> Files:
    """Write judgements, and which number stands for which id where TREC files cannot carry ids."""
    files = {"qrels/test.qrels": format_qrels(qrels, topics[0], items[0])}
    named = {"user": topics, "item": items}
    numbered = {kind: names for kind, names in named.items() if names[0] is not names[1]}
    if numbered:
        files["ids.csv"] = id_table(numbered)
    return files


def split_files(train: Ratings, test: Ratings) -> Files:
    """Write training and test ratings."""
    return {TRAIN_FILE: format_rating_lines(train), TEST_FILE: format_rating_lines(test)}


def world_files(truth: Truth) -> Files:
    """Write the truth of a simulated world."""
    return {"world/truth.npz": truth.to_bytes()}


def true_qrels_files(qrels: Qrels, topics: Names, items: Numbering) -> Files:
    """Write the true judgements, and which number stands for which id."""
    trec_ids, named = topics
    files = {"truth/true.qrels": format_qrels(qrels, trec_ids, items)}
    if trec_ids is not named:
        files["truth/ids.csv"] = id_table({"user": topics})
    return files
