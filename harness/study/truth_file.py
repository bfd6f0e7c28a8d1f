"""True judgements as a file has them: ratings in any layout, or TREC qrels."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.study.truth_section import QRELS, TruthSection
from qrels import Ratings, Scale, rating_scale
from qrels.grades import GradeRule
from qrels.ratings.datasets import FORMATS, read_ratings
from qrels.ratings.datasets.options import require_choice
from qrels.ratings.datasets.source import open_source
from qrels.ratings.thresholds import distribution, usual_threshold
from qrels.trec import read_qrels
from runs import InputError, Numbering
from runs.shared.files import read_bytes


@dataclass(frozen=True, eq=False)
class TruthFile:
    """What a file of true judgements says, over a numbering of its own.

    Parameters
    ----------
    label
        What it is called in messages.
    users, items
        The ids in the file.
    user, item, grade
        Columns, int32 of shape (n_judgements,).
    level
        Lowest relevant grade.
    facts
        How it was graded, for the manifest.
    input
        Path and sha256.
    is_trec
        Whether ids are those that TREC files carry.
    """

    label: str
    users: Numbering
    items: Numbering
    user: NDArray[np.int32]
    item: NDArray[np.int32]
    grade: NDArray[np.int32]
    level: int
    facts: dict[str, Any]
    input: dict[str, Any]
    is_trec: bool = False


def read_truth(
    section: TruthSection, *, threshold: float | None = None, rule: GradeRule | None = None
) -> TruthFile:
    """Read the file that a section names.

    Parameters
    ----------
    section
        What the study says.
    threshold, rule
        The threshold of the study's ratings, and how they are graded, where there are any.

    Raises
    ------
    InputError
        If there is no file, it breaks a rule, or nothing in it is relevant.
    """
    if section.path is None:
        raise InputError("`path` in [truth] is needed: only a simulated world knows its own truth.")
    if section.is_qrels:
        return _of_qrels(section, section.path)
    if section.format is not None:
        require_choice("format", section.format, (*FORMATS, QRELS))
    source = open_source(section.path)
    ratings = read_ratings(source, **section.of_file)
    if section.threshold is not None:
        threshold, rule = section.threshold, None
    scale = _scale(section, ratings, threshold, rule)
    grade = scale.grades_of(ratings.rating)
    if not (grade >= scale.level).any():
        raise InputError(
            f"{source.label}: no true rating reaches the threshold {scale.threshold:g}: nothing is "
            f"truly relevant. The ratings are: {distribution(ratings.rating)}."
        )
    return TruthFile(
        source.label,
        ratings.users,
        ratings.items,
        ratings.user,
        ratings.item,
        grade,
        scale.level,
        {"threshold": scale.threshold, "grades": scale.rule},
        {"path": source.label, "sha256": sha256(source.data).hexdigest()},
    )


def _scale(
    section: TruthSection, ratings: Ratings, threshold: float | None, rule: GradeRule | None
) -> Scale:
    lowest = float(ratings.rating.min())
    if section.implicit:
        threshold = lowest
    elif threshold is None:
        threshold = usual_threshold(ratings)
    if threshold is None:
        raise InputError(
            "`threshold` in [truth] is needed: true ratings from there on are relevant. They are: "
            f"{distribution(ratings.rating)}."
        )
    return rating_scale(ratings, threshold=threshold, rule=rule)


def _of_qrels(section: TruthSection, path: Path) -> TruthFile:
    level = 1.0 if section.threshold is None else section.threshold
    if level < 1 or not level.is_integer():
        raise InputError(
            "`threshold` in [truth] is the lowest relevant grade of qrels, a whole number of at "
            f"least 1, got {level:g}."
        )
    file = read_qrels(path)
    if file.grade.max() < level:
        raise InputError(
            f"{path}: no judgement is relevant: the highest grade is {file.grade.max()}, the "
            f"threshold {level:g}."
        )
    return TruthFile(
        str(path),
        file.users,
        file.items,
        file.user,
        file.item,
        file.grade,
        int(level),
        {"grades": "those of the qrels"},
        {"path": str(path), "sha256": sha256(read_bytes(path)).hexdigest()},
        is_trec=True,
    )
