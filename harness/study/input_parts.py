"""What a study begins with, as parts of it: judgements, the split, a world and its truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from harness.report.study_folder import TEST_FILE, TRAIN_FILE
from harness.study.collection import Collection
from harness.study.digests import ratings_digest
from harness.study.provenance import made_by
from harness.study.store import content_key
from harness.study.true_judgements import TrueJudgements
from qrels import Split
from qrels.ratings.datasets.rating_lines import format_rating_lines
from qrels.ratings.world import Truth
from qrels.trec import format_qrels
from runs.shared.ids import id_table

TRUE_QRELS = "true-qrels"
"""Name of the part that is the truth."""


@dataclass(frozen=True)
class InputPart:
    """A part of a study that is made from nothing but its input."""

    key: str
    build: Callable[[], Mapping[str, bytes]]
    made_by: Mapping[str, str]


def input_parts(known: Collection, makers: Iterable[str | Path]) -> dict[str, InputPart]:
    """Give the parts of a study that are its input, by name.

    The makers are the homes of the members that the input is made with, such as the split.
    """
    by = made_by([__name__, *makers])
    parts = {
        "qrels": InputPart(content_key(known.judged_key), partial(_qrels_files, known), by),
    }
    if known.split is not None:
        key = content_key(known.trained_key, ratings_digest(known.split.test))
        build = partial(_split_files, known.split)
        parts["split"] = InputPart(key, build, by)
    if known.split is not None and known.truth is not None:
        build = partial(_world_files, known.split, known.truth)
        parts["world"] = InputPart(content_key(known.inputs), build, by)
    if known.judged_truly is not None:
        build = partial(_true_files, known, known.judged_truly)
        parts[TRUE_QRELS] = InputPart(known.truly_judged_key, build, by)
    return parts


def _qrels_files(known: Collection) -> dict[str, bytes]:
    table = known.id_table()
    lines = format_qrels(known.qrels, *known.carried)
    return {"qrels/test.qrels": lines} | ({} if table is None else {"ids.csv": table})


def _true_files(known: Collection, truth: TrueJudgements) -> dict[str, bytes]:
    lines = {"truth/true.qrels": format_qrels(truth.qrels, truth.carried, known.carried[1])}
    if truth.carried is truth.topics:
        return lines
    return lines | {"truth/ids.csv": id_table({"user": (truth.carried, truth.topics)})}


def _split_files(split: Split) -> dict[str, bytes]:
    parts = {TRAIN_FILE: split.train, TEST_FILE: split.test}
    return {name: format_rating_lines(part) for name, part in parts.items()}


def _world_files(split: Split, truth: Truth) -> dict[str, bytes]:
    return {"world/ratings.csv": _format_ratings(split), "world/truth.npz": truth.to_bytes()}


def _format_ratings(split: Split) -> bytes:
    """Write all ratings of a split as a MovieLens csv file."""
    lines = []
    for ratings in (split.train, split.test):
        times = np.zeros(len(ratings), np.int64) if ratings.time is None else ratings.time
        users, items = ratings.users.ids[ratings.user], ratings.items.ids[ratings.item]
        columns = (column.tolist() for column in (users, items, ratings.rating, times))
        lines += [
            f"{user},{item},{rating:g},{time}\n"
            for user, item, rating, time in zip(*columns, strict=True)
        ]
    return ("userId,movieId,rating,timestamp\n" + "".join(sorted(lines))).encode()
