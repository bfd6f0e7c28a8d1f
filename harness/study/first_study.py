"""The first study of a data set: what the ratings hold, and a commented study file for them."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import Any

from harness.readers.columns import trec_kind
from harness.report.checks import leakage_checks
from harness.study.inputs import split_ratings
from harness.study.run import check
from harness.study.sections import USUAL, usual_split
from harness.study.study import SYSTEMS, RatingsSection, Study
from harness.study.study_file import Origin, StudyFile
from qrels import Ratings, Split, describe, k_core
from qrels.ratings.datasets.layouts import FileOptions
from qrels.ratings.datasets.recognition import recognise
from qrels.ratings.datasets.source import open_source
from qrels.ratings.datasets.split_files import SplitFiles, find_split_files, read_two_parts
from qrels.ratings.splitter import leakage
from qrels.ratings.statistics import (
    Threshold,
    candidate_thresholds,
    describe_values,
    propose_threshold,
    usual_threshold,
)
from runs import InputError

WIDTH = 96
COMMENT_FROM = 40
"""The column where comments begin, if there is room."""


def first_study(data: DataDescription, *, file: Path, systems: Sequence[str] = SYSTEMS) -> str:
    """Write a study of ratings as the text of a file."""
    highest = data.tested.rating.max()
    if data.threshold is not None and data.threshold > highest:
        raise InputError(
            f"`--threshold` must be at most {highest:g}, the highest test rating, got "
            f"{data.threshold:g}: no item would be relevant."
        )
    text = "\n".join(_lines(data, file, systems)) + "\n"
    # The file is not written yet: only this option can be wrong.
    origin = Origin("`--system`", "", file.parent)
    check(Study(**tomllib.loads(text) | {"_origin": origin}))
    return text


def _lines(data: DataDescription, file: Path, systems: Sequence[str]) -> Iterator[str]:
    """Say how the file is read, as far as that is not the default, and what is relevant."""
    section = data.section
    path = Path(section.path or "").resolve()
    yield f"# A study of {path.name}. Run it with: harness run {file.name}"
    yield "# All other settings have defaults; `harness schema` describes them for editors."
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", path.name.partition(".")[0]).strip("-_")
    yield _line("name", stem or "x")
    folder = file.resolve().parent
    place = str(path), ""
    if path.is_relative_to(folder):
        place = os.path.relpath(path, folder), "relative to the folder of this file"
    yield "\n[ratings]"
    if not data.is_split:
        yield _line("path", *place)
    yield from _comments(*data.notes)
    if section.separator is None:
        yield _line("format", data.format)
    usual = FileOptions().of_file
    for name, value in section.of_file.items():
        if name not in ("format", "implicit") and value != usual[name]:
            is_table = isinstance(value, dict)
            parts = {f"{name}.{key}": v for key, v in value.items()} if is_table else {name: value}
            yield from (_line(key, part) for key, part in parts.items())
    for name in ("user_min", "item_min"):
        if value := getattr(section, name):
            yield _line(name, value)
    if data.is_implicit:
        yield _line("implicit", True, "all items in the file are relevant: no threshold")
    else:
        shares = data.facts()["distribution"]
        yield from _comments(f"Ratings from the threshold on are relevant. All ratings: {shares}.")
        yield from _comments(*map(str, data.thresholds))
        yield _line("threshold", data.threshold)
    yield "\n[split]"
    if data.is_split:
        yield _line("method", "given", "the data come with a test set")
        yield _line("folder", *place)
        if data.fold is not None:
            yield _line("fold", data.fold, "the folder has several folds")
    else:
        yield _line("method", "user-random", "test set: a fifth of the ratings of each user")
    yield "\n[systems]"
    yield _line("names", list(systems))


def _comments(*sentences: str) -> Iterator[str]:
    """Write sentences as comments, each from a line of its own on."""
    for sentence in sentences:
        yield from wrap(sentence, WIDTH, initial_indent="# ", subsequent_indent="#   ")


def _line(key: str, value: Any, comment: str = "") -> str:
    line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
    return f"{line:<{COMMENT_FROM}} # {comment}" if comment else line


@dataclass(frozen=True, eq=False)
class DataDescription:
    """Ratings as they were recognised.

    Parameters
    ----------
    section
        How they are read, and which are used.
    format
        The name of their format.
    ratings
        The ratings, after the k-core.
    tested
        The test part that the data come with, or of the usual split; all ratings where it leaves
        none.
    notes
        Sentences on what was found.
    leakage
        Shares of ratings by which the split tells the future; see `leakage`.
    fold
        Which of several folds these are.
    """

    section: RatingsSection
    format: str
    ratings: Ratings
    tested: Ratings
    notes: tuple[str, ...]
    leakage: Mapping[str, float] = field(default_factory=dict)
    fold: int | None = None

    @property
    def is_split(self) -> bool:
        """Whether the data are a folder with training and test ratings."""
        return self.ratings.held_out is not None

    @cached_property
    def is_implicit(self) -> bool:
        """Whether everything is relevant: the user says so, or ratings are all alike."""
        asked, rating = self.section.implicit, self.ratings.rating
        return bool(rating.min() == rating.max()) if asked is None else asked

    @cached_property
    def threshold(self) -> float | None:
        """The threshold of the user, the usual one, or the one that is proposed."""
        if self.is_implicit:
            return None
        asked = self.section.threshold
        usual = usual_threshold(self.ratings) if asked is None else asked
        if usual is not None:
            return usual
        return propose_threshold(self.tested, candidate_thresholds(self.ratings.rating))

    @property
    def thresholds(self) -> list[Threshold]:
        """What the threshold, and those at the quartiles, make of the test ratings; falling."""
        if self.threshold is None:
            return []
        values = {self.threshold, *candidate_thresholds(self.ratings.rating)}
        return [Threshold.evaluate(self.tested, value) for value in sorted(values, reverse=True)]

    def facts(self) -> dict[str, Any]:
        """Give what is printed of the ratings, by name."""
        columns = self.section.columns or {}
        rated = {} if self.is_implicit else {"distribution": describe_values(self.ratings.rating)}
        named = {"columns": ", ".join(f"{role} = {name}" for role, name in columns.items())}
        return (named if columns else {}) | describe(self.ratings) | rated | dict(self.leakage)


def describe_data(section: RatingsSection) -> DataDescription:
    """Read the ratings of a section, which need not say how; or the parts that a folder holds."""
    assert section.path is not None, "commands name the data"
    files, fold = _given_parts(section.path)
    source = open_source(files.train if files else section.path)
    if (kind := trec_kind(source.data)) and section.format is None:
        raise InputError(
            f"{source.label}: this is {kind}, not ratings. `harness evaluate` scores runs; a study "
            "file names runs in [runs] and judgements in [qrels]."
        )
    found = recognise(source, section)
    of_file, whole = found.options.of_file, found.ratings
    if files is not None:
        whole = read_two_parts(files.train, files.test, **of_file)
    ratings = k_core(whole, user_min=section.user_min, item_min=section.item_min)
    tested, leaked, how = ratings, {}, f"the usual split `{USUAL}`"
    if ratings.held_out is not None:
        tested, how = ratings.select(ratings.held_out), "this split"
        leaked = leakage(Split(ratings.select(~ratings.held_out), tested))
    else:
        with suppress(InputError):
            seed = StudyFile.model_fields["seed"].default
            split = split_ratings(ratings, usual_split(), seed=seed)
            tested, leaked = split.test, leakage(split)
    notes = (*found.notes, *(check.sentence for check in leakage_checks(leaked, how)))
    read_so = section.model_copy(update=of_file)
    return DataDescription(read_so, found.format, ratings, tested, notes, leaked, fold)


def _given_parts(path: Path) -> tuple[SplitFiles | None, int | None]:
    """Find training and test ratings in a folder without a file of all; of folds, the first."""
    if path.is_dir():
        with suppress(InputError):
            open_source(path)
            return None, None
        for fold in (None, 0, 1):
            with suppress(InputError):
                return find_split_files(path, fold=fold), fold
    return None, None
