"""The first study of a data set: what the ratings hold, and a commented study file for them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import Any

from harness.study.inputs import split_ratings
from harness.study.run import check
from harness.study.sections import usual_split
from harness.study.study import SYSTEMS, RatingsSection, parse_study
from harness.study.study_file import StudyFile
from qrels import Ratings, describe, k_core
from qrels.ratings.datasets.layouts import FileOptions
from qrels.ratings.datasets.recognition import recognise
from qrels.ratings.datasets.source import open_source
from qrels.ratings.datasets.split_files import (
    SplitFiles,
    find_folds,
    find_split_files,
    read_two_parts,
)
from qrels.ratings.statistics import (
    Threshold,
    candidate_thresholds,
    distribution,
    proposed_threshold,
    usual_threshold,
)
from recommenders import require_memory
from runs import InputError

WIDTH = 96
COMMENT_FROM = 40
"""The column where comments begin, if there is room."""


def first_study(data: DataDescription, *, file: Path, systems: Sequence[str] | None = None) -> str:
    """Write a study of ratings as the text of a file."""
    text = "\n".join(_lines(data, file, systems)) + "\n"
    check(parse_study(text, source=str(file), base=file.parent, changes={}))
    return text


def _lines(data: DataDescription, file: Path, systems: Sequence[str] | None) -> Iterator[str]:
    path = Path(data.section.path or "").resolve()
    yield f"# A study of {path.name}, as it was found. Run it with: harness run {file.name}"
    yield "# What is not said has a default; `harness schema` describes every key to an editor."
    yield _line("name", _study_name(path))
    yield ""
    place = _relative(path, file.resolve().parent), "counts from the folder of this file"
    yield "[ratings]"
    if not data.is_split:
        yield _line("path", *place)
    yield from _reading(data)
    yield from _relevance(data)
    yield ""
    yield "[split]"
    if data.is_split:
        yield _line("method", "given", "what is tested is what the data's test file holds")
        yield _line("folder", *place)
        if data.folds:
            yield _line("fold", data.folds[0], f"there are {', '.join(map(str, data.folds))}")
    else:
        yield _line("method", "user-random", "a fifth of the ratings of each user is tested")
    yield ""
    yield "[systems]"
    if systems is None:
        systems, left_out = _fitting(data)
        yield from _comments(*(f"{name} is left out: {why}" for name, why in left_out.items()))
    yield _line("names", list(systems))


def _reading(data: DataDescription) -> Iterator[str]:
    """Say how the file is read, as far as that is not the default."""
    yield from _comments(*data.notes)
    section = data.section
    if section.separator is None:
        yield _line("format", data.format)
    usual = FileOptions().of_file
    for name, value in section.of_file.items():
        if name not in ("format", "implicit") and value != usual[name]:
            yield _line(name, value)
    for name in ("user_min", "item_min"):
        if getattr(section, name):
            yield _line(name, getattr(section, name))


def _relevance(data: DataDescription) -> Iterator[str]:
    """Say which ratings are relevant, and what other thresholds would make of them."""
    if data.is_implicit:
        yield _line("implicit", True, "everything in the file is relevant: no threshold")
        return
    shares = data.facts()["distribution"]
    yield from _comments(f"Ratings from the threshold on are relevant. They are {shares}.")
    yield from _comments(*map(str, data.thresholds))
    yield _line("threshold", data.threshold)


def _fitting(data: DataDescription) -> tuple[list[str], dict[str, str]]:
    """Name the usual systems that memory allows, and say what the others would need."""
    left_out: dict[str, str] = {}
    for name in SYSTEMS:
        try:
            require_memory(name, {}, data.train)
        except InputError as error:
            left_out[name] = str(error)
    return [name for name in SYSTEMS if name not in left_out], left_out


def _comments(*sentences: str) -> Iterator[str]:
    """Write sentences as comments, each from a line of its own on."""
    for sentence in sentences:
        yield from wrap(sentence, WIDTH, initial_indent="# ", subsequent_indent="#   ")


def _line(key: str, value: Any, comment: str = "") -> str:
    line = f"{key} = {_toml(value)}"
    return f"{line:<{COMMENT_FROM}} # {comment}" if comment else line


def _toml(value: Any) -> str:
    """Write a value in one line."""
    import tomli_w

    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(part)}' for key, part in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return tomli_w.dumps({"value": value}).removeprefix("value = ").rstrip("\n")


def _study_name(path: Path) -> str:
    """Make a name of a file's, with nothing in it that the name of a study may not have."""
    stem = path.name.partition(".")[0]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-_") or "ratings"


def _relative(path: Path, folder: Path) -> str:
    """Give a path from a folder, if it is below it; else from the root."""
    whole = path.resolve()
    return os.path.relpath(whole, folder) if whole.is_relative_to(folder) else str(whole)


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
    train, tested
        The parts that the data come in, or of the usual split; both are all ratings where it leaves
        no test ratings.
    notes
        Sentences on what was found.
    folds
        Numbers of the folds that the data come in; these are the parts of the first.
    """

    section: RatingsSection
    format: str
    ratings: Ratings
    train: Ratings
    tested: Ratings
    notes: tuple[str, ...]
    folds: tuple[int, ...] = ()

    @property
    def is_split(self) -> bool:
        """Whether the data are a folder with training and test ratings."""
        return self.ratings.held_out is not None

    @cached_property
    def is_implicit(self) -> bool:
        """Whether everything is relevant: the user says so, or ratings are all alike."""
        said, rating = self.section.implicit, self.ratings.rating
        return bool(rating.min() == rating.max()) if said is None else said

    @cached_property
    def threshold(self) -> float | None:
        """The threshold of the user, the usual one, or the one that is proposed."""
        if self.is_implicit:
            return None
        said = self.section.threshold
        usual = usual_threshold(self.ratings) if said is None else said
        return proposed_threshold(self.tested, self.candidates) if usual is None else usual

    @cached_property
    def candidates(self) -> tuple[float, ...]:
        """Thresholds at the quartiles."""
        return candidate_thresholds(self.ratings.rating)

    @property
    def thresholds(self) -> list[Threshold]:
        """What the threshold, and those at the quartiles, make of the test ratings; falling."""
        if self.threshold is None:
            return []
        values = {self.threshold, *self.candidates}
        return [Threshold.over(self.tested, value) for value in sorted(values, reverse=True)]

    def facts(self) -> dict[str, Any]:
        """Give what is printed of the ratings, by name."""
        columns = self.section.columns or {}
        rated = {} if self.is_implicit else {"distribution": distribution(self.ratings.rating)}
        named = {"columns": ", ".join(f"{role} = {name}" for role, name in columns.items())}
        found = describe(self.ratings).to_frame().iloc[0].to_dict()
        return (named if columns else {}) | {str(k): v for k, v in found.items()} | rated


def describe_data(section: RatingsSection) -> DataDescription:
    """Read the ratings of a section, which need not say how; or the parts that a folder holds."""
    if section.path is None:
        raise InputError("a simulated world is described by its settings: `harness schema`.")
    files, folds = _given_parts(section.path)
    found = recognise(open_source(section.path if files is None else files.train), section)
    whole = found.ratings
    if files is not None:
        whole = read_two_parts(files.train, files.test, **found.options.of_file)
    ratings = k_core(whole, user_min=section.user_min, item_min=section.item_min)
    train, tested = _parts(ratings)
    read_so = section.model_copy(update=found.options.of_file)
    return DataDescription(read_so, found.format, ratings, train, tested, found.notes, folds)


def _given_parts(path: Path) -> tuple[SplitFiles | None, tuple[int, ...]]:
    """Find training and test ratings in a folder without a file of all, of the first fold."""
    try:
        open_source(path)
    except InputError:
        try:
            return find_split_files(path), ()
        except InputError:
            folds = find_folds(path)
            return (find_split_files(path, fold=folds[0]) if folds else None), folds
    return None, ()


def _parts(ratings: Ratings) -> tuple[Ratings, Ratings]:
    if ratings.held_out is not None:
        return ratings.select(~ratings.held_out), ratings.select(ratings.held_out)
    seed = StudyFile.model_fields["seed"].default
    try:
        split = split_ratings(ratings, usual_split(), seed=seed)
    except InputError:
        return ratings, ratings
    return split.train, split.test
