"""What ratings hold, and what thresholds would make of them, before there is a study."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.study.split_section import usual_split
from harness.study.study import RatingsSection
from harness.study.study_file import StudyFile
from harness.study.study_ratings import split_ratings
from qrels import Ratings, describe, k_core
from qrels.ratings.datasets.recognition import recognise
from qrels.ratings.datasets.source import open_source
from qrels.ratings.datasets.split_files import SplitFiles, find_folds, find_split_files
from qrels.ratings.datasets.two_parts import read_two_parts
from qrels.ratings.thresholds import (
    Threshold,
    candidate_thresholds,
    distribution,
    proposed_threshold,
    usual_threshold,
)
from runs import InputError


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
    """Read the ratings of a section, which need not say how; or the parts that a folder holds.

    Raises
    ------
    InputError
        If they cannot be read, or the section names none.
    """
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
