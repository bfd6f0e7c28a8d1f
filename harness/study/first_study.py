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

import numpy as np

from harness.readers.sense_check import deep_cutoffs
from harness.report.checks import leakage_checks, untested_checks
from harness.study.inputs import split_ratings
from harness.study.sections import USUAL, SplitSection
from harness.study.study import SYSTEMS, RatingsSection, Study
from harness.study.study_file import Origin, StudyFile
from qrels import Ratings, Split, describe, find_split, k_core
from qrels.ratings.datasets.rating_options import RatingOptions
from qrels.ratings.datasets.recognition import read_recognised
from qrels.ratings.datasets.split_files import SplitFiles, find_split_files, read_two_parts
from qrels.ratings.splitter import leakage
from qrels.ratings.statistics import (
    Threshold,
    are_amounts,
    candidate_thresholds,
    describe_values,
    propose_threshold,
    usual_threshold,
    value_of_unrated,
)
from runs import InputError
from runs.shared.errors import counted
from runs.tables.roles import Columns, require_settled
from runs.tables.screen import columns_as_text
from runs.tables.sniff import trec_kind
from runs.tables.source import open_source

TAKE_PROPOSALS = "Or take what is proposed: `--yes`."

FIRST_SYSTEMS = (
    *SYSTEMS,
    "als-knn",
    "bprmf",
    "rm1",
    "chi2",
    "kld",
    "lm-wsr-ub",
)
"""Systems of a first study: of six families, enough for an answer, and quick to train."""

OF_RATINGS_ALONE = ("svd",)
"""Systems that predict ratings, and so learn nothing of implicit feedback."""

FEW_TEST_ITEMS = 5
"""With a smaller median number of test items, or as many, cut-offs are `SHALLOW_CUTOFFS`."""

SHALLOW_CUTOFFS = (5, 10, 20)
"""Cut-offs for users with few test items."""

IN_TIME = ("global-time", "user-last")
"""Splits of ratings with times, from the one that tells least of the future."""

LEAST_TESTED = 0.5
"""Share of the users that a split in time tests at least, unless it is the last of them."""

TESTED_BY = {
    USUAL: "a fifth of the ratings of each user",
    "global-time": "the latest fifth of all ratings",
    "user-last": "the latest fifth of the ratings of each user",
}
"""What each split of a first study tests."""

WIDTH = 96
COMMENT_FROM = 40
"""The column where comments begin, if there is room."""


def first_study(
    data: DataDescription,
    *,
    file: Path,
    systems: Sequence[str] = (),
    takes_proposals: bool = False,
) -> str:
    """Write a study of ratings as the text of a file.

    Parameters
    ----------
    data
        The ratings, as they were recognised.
    file
        Path of the study file, which is not written here.
    systems
        Names of the systems; empty for the usual ones of such data.
    takes_proposals
        Whether roles of columns that are only proposed by values are taken.

    Raises
    ------
    InputError
        If a role is only proposed and not taken, a system is not known, the threshold is above all
        ratings, or no test user has a relevant item.
    """
    from harness.study.run import check

    if not takes_proposals:
        require_settled(
            data.columns, label=str(data.section.path), table=columns_as_text, hint=TAKE_PROPOSALS
        )
    highest = data.tested.rating.max()
    if data.threshold is not None and data.threshold > highest:
        raise InputError(
            f"`--threshold` must be at most {highest:g}, the highest test rating, got "
            f"{data.threshold:g}: no item would be relevant."
        )
    text = "\n".join(_lines(data, file, systems or data.usual_systems)) + "\n"
    # The file is not written yet: only this option can be wrong.
    origin = Origin("`--system`", "", file.parent)
    check(Study(**tomllib.loads(text) | {"_origin": origin}))
    _require_tests(data)
    return text


def _require_tests(data: DataDescription) -> None:
    """Refuse ratings of which nothing can be tested, or no test item is relevant."""
    if data.split is None:
        raise InputError(
            f"{data.section.path}: the split `{USUAL}` leaves nothing to test: no user has "
            "two ratings. Another split may: see the guide on splits."
        )
    if not data.test_facts["test_users_with_a_relevant_item"]:
        raise InputError(
            f"{data.section.path}: no test user has a relevant item, so there is nothing to "
            "measure. Lower `--threshold`, or use `--implicit`."
        )


def _lines(data: DataDescription, file: Path, systems: Sequence[str]) -> Iterator[str]:
    """Write the lines of the study file: how the ratings are read, what is relevant, the split.

    ``file`` is the path of the study file, from whose folder paths are written, if the ratings are
    in it; ``systems`` are the names to compare. A text that is yielded may hold two lines.
    """
    path = Path(data.section.path or "").resolve()
    yield f"# A study of {path.name}. Run it with: harness run {file.name}"
    yield "# All other settings have defaults; `harness schema` describes them for editors."
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", path.name.partition(".")[0]).strip("-_")
    yield _line("name", stem or "x")
    place = str(path)
    comment = ""
    folder = file.resolve().parent
    if path.is_relative_to(folder):
        place = os.path.relpath(path, folder)
        comment = "relative to the folder of this file"
    yield "\n[ratings]"
    if not data.is_split:
        yield _line("path", place, comment)
    yield from _lines_of_reading(data)
    yield from _lines_of_relevance(data)
    yield "\n[split]"
    if data.is_split:
        yield _line("method", "given", "the data come with a test set")
        yield _line("folder", place, comment)
        if data.fold is not None:
            yield _line("fold", data.fold, "the folder has several folds")
    else:
        yield _line("method", data.split_method, f"test set: {TESTED_BY[data.split_method]}")
    yield "\n[systems]"
    yield _line("names", list(systems))
    median = data.median_test_items
    if median <= FEW_TEST_ITEMS and data.shallow_cutoffs:
        yield "\n[metrics]"
        yield from _comments(
            f"Half of the test users have at most {counted(median, 'test item')}: nearly all of a "
            "deep list is not judged. Add deeper cut-offs if your lists are longer."
        )
        yield _line("cutoffs", list(data.shallow_cutoffs))


def _lines_of_reading(data: DataDescription) -> Iterator[str]:
    """Write how the file of ratings is read, as far as that is not the default.

    What was noted and what is unlikely stands above, as comments.
    """
    section = data.section
    yield from _comments(*data.notes, *data.cautions())
    if section.separator is None:
        yield _line("format", data.format)
    defaults = RatingOptions().of_file
    for name, value in section.of_file.items():
        if name in ("format", "implicit") or value == defaults[name]:
            continue
        if isinstance(value, dict):
            for key, part in value.items():
                yield _line(f"{name}.{key}", part)
        else:
            yield _line(name, value)
    for name in ("user_min", "item_min"):
        minimum = getattr(section, name)
        if minimum:
            yield _line(name, minimum)


def _lines_of_relevance(data: DataDescription) -> Iterator[str]:
    """Write which ratings are relevant, with the effect of thresholds as comments.

    The effect of a threshold is the share of the test ratings that are relevant, and the shares of
    users without relevant and without non-relevant ones. Questions that only a person can answer
    are comments, too.
    """
    if data.is_implicit:
        yield from _comments(*data.questions())
        yield _line("implicit", True, "all items in the file are relevant: no threshold")
        return
    yield from _comments(
        f"Ratings from the threshold on are relevant. All ratings: {data.distribution}."
    )
    yield from _comments(*map(str, data.thresholds))
    yield from _comments(*data.questions())
    yield _line("threshold", data.threshold)


def _comments(*sentences: str) -> Iterator[str]:
    """Write sentences as comments, each from a line of its own on."""
    for sentence in sentences:
        yield from wrap(sentence, WIDTH, initial_indent="# ", subsequent_indent="#   ")


def _line(key: str, value: Any, comment: str = "") -> str:
    """Write one setting, with a comment behind it."""
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
    columns
        The columns of the file, with their roles.
    ratings
        The ratings, after the k-core.
    split
        The split that the data come with, or that a first study makes (see `_split_of`); None
        where it leaves nothing to test.
    split_method
        Name of that split, as studies call it.
    notes
        Sentences on what was found.
    leakage
        Shares of ratings by which the split tells the future; see `leakage`.
    fold
        Which of several folds these are.
    """

    section: RatingsSection
    format: str
    columns: Columns
    ratings: Ratings
    split: Split | None
    split_method: str
    notes: tuple[str, ...]
    leakage: Mapping[str, float] = field(default_factory=dict)
    fold: int | None = None

    @property
    def tested(self) -> Ratings:
        """The test ratings; all ratings where the split leaves none."""
        return self.ratings if self.split is None else self.split.test

    @property
    def is_split(self) -> bool:
        """Whether the data are a folder with training and test ratings."""
        return self.ratings.held_out is not None

    @cached_property
    def is_implicit(self) -> bool:
        """Whether everything is relevant: the user says so, or ratings are all alike."""
        if self.section.implicit is not None:
            return self.section.implicit
        rating = self.ratings.rating
        return bool(rating.min() == rating.max())

    @property
    def usual_systems(self) -> tuple[str, ...]:
        """The systems of a first study, without those that the ratings are no use to.

        A system that predicts ratings orders items at random if all ratings are alike.
        """
        if not self.is_implicit:
            return FIRST_SYSTEMS
        return tuple(name for name in FIRST_SYSTEMS if name not in OF_RATINGS_ALONE)

    @property
    def median_test_items(self) -> int:
        """Number of test items that half of the test users do not exceed."""
        n_items = self.tested.user_counts()
        return int(np.median(n_items[n_items > 0]))

    @property
    def shallow_cutoffs(self) -> tuple[int, ...]:
        """Those of `SHALLOW_CUTOFFS`, 5, 10 and 20, that half of the items allow."""
        deep = deep_cutoffs(SHALLOW_CUTOFFS, len(self.ratings.items))
        return tuple(cutoff for cutoff in SHALLOW_CUTOFFS if cutoff not in deep)

    @cached_property
    def threshold(self) -> float | None:
        """The threshold of the user, the usual one, or the one that is proposed.

        It is the lowest relevant rating; None if everything is relevant. The usual one is that of
        the scale, if there is one.
        """
        if self.is_implicit:
            return None
        if self.section.threshold is not None:
            return self.section.threshold
        usual = usual_threshold(self.ratings)
        if usual is not None:
            return usual
        return propose_threshold(self.tested, candidate_thresholds(self.ratings.rating))

    @cached_property
    def thresholds(self) -> list[Threshold]:
        """What the threshold, and those at the quartiles, make of the test ratings; falling."""
        if self.threshold is None:
            return []
        values = {self.threshold, *candidate_thresholds(self.ratings.rating)}
        return [Threshold.evaluate(self.tested, value) for value in sorted(values, reverse=True)]

    @cached_property
    def statistics(self) -> Mapping[str, Any]:
        """Statistics of the ratings, by name; see `qrels.describe`."""
        return describe(self.ratings)

    @cached_property
    def distribution(self) -> str:
        """How often each rating occurs, in words."""
        return describe_values(self.ratings.rating)

    def facts(self) -> dict[str, Any]:
        """List what is printed of the ratings, by name."""
        facts = dict(self.statistics)
        if not self.is_implicit:
            facts["distribution"] = self.distribution
        if self.split is not None:
            facts |= self.test_facts
        return facts | dict(self.leakage)

    @cached_property
    def test_facts(self) -> dict[str, int]:
        """Count what a study of these ratings tests: users, those with a relevant item, items."""
        tested = self.tested
        is_relevant = np.ones(len(tested), dtype=np.bool_)
        if self.threshold is not None:
            is_relevant = tested.rating >= self.threshold
        return {
            "test_users": _n_users(tested),
            "test_users_with_a_relevant_item": len(np.unique(tested.user[is_relevant])),
            "test_items": int(np.count_nonzero(tested.item_counts())),
        }

    def cautions(self) -> list[str]:
        """Write what is unlikely in the split and in the users that it tests.

        Sentences: that many users are not tested, and that training ratings are newer than test
        ratings. Empty if there is nothing, or the split leaves no test ratings.
        """
        if self.split is None:
            return []
        of_split = "this split" if self.is_split else f"the split `{self.split_method}`"
        counts = self.test_facts
        checks = [
            *untested_checks(
                self.statistics["users"],
                counts["test_users"],
                counts["test_users_with_a_relevant_item"],
            ),
            *leakage_checks(self.leakage, of_split),
        ]
        return [check.sentence for check in checks]

    def questions(self) -> list[str]:
        """Write what the ratings may mean that only a person can tell.

        At most one sentence: that a number may stand for "not rated", if the user has not said so;
        of implicit feedback, that amounts are 0 or less.
        """
        if self.is_implicit:
            return self._on_returns()
        unrated = value_of_unrated(self.ratings.rating)
        if unrated is None or self.section.unrated:
            return []
        share = float((self.ratings.rating == unrated).mean())
        return [
            f'{unrated:g} may mean "not rated": {share:.0%} of the ratings are {unrated:g}. To '
            f"leave them out: `--unrated {unrated:g}`, or `unrated = [{unrated:g}]` in [ratings]."
        ]

    def _on_returns(self) -> list[str]:
        """Write that amounts are 0 or less, as of goods that were returned, if there are such.

        Empty if there are none, or all are.
        """
        amounts = self.ratings.rating
        is_return = amounts <= 0
        if not is_return.any() or is_return.all():
            return []
        n_returns = np.count_nonzero(is_return)
        highest = f"{amounts[is_return].max():g}"
        return [
            f"{n_returns:,} amounts are 0 or less, such as {highest}, as of goods "
            "that were returned; their items count as relevant, too. To leave lines with such a "
            f"value out: `--unrated {highest}`, or `unrated = [{highest}]` in [ratings]."
        ]


def describe_data(section: RatingsSection) -> DataDescription:
    """Read the ratings of a section, which need not say how; or the parts that a folder holds.

    Format and columns that the section does not name are recognised. Ratings that look like
    amounts, such as quantities, are implicit feedback if the section names no threshold. Users and
    items with too few ratings are left out (the k-core). Raises InputError if the ratings cannot be
    read, or the file is a run or qrels.
    """
    assert section.path is not None, "commands name the data"
    files, fold = _given_parts(section.path)
    source = open_source(files.train if files else section.path, encoding=section.encoding)
    trec_file = trec_kind(source.data)
    if trec_file and section.format is None:
        raise InputError(
            f"{source.label}: this is {trec_file}, not ratings. `harness evaluate` scores runs; a "
            "study file names runs in [runs] and judgements in [qrels]."
        )
    recognised = read_recognised(source, section)
    options = recognised.options.of_file
    ratings = recognised.ratings
    if files is not None:
        ratings = read_two_parts(files.train, files.test, **options)
    if options["implicit"] is None and section.threshold is None and are_amounts(ratings.rating):
        options["implicit"] = True
    ratings = k_core(ratings, user_min=section.user_min, item_min=section.item_min)
    split_method, split = _split_of(ratings)
    return DataDescription(
        section=section.model_copy(update=options),
        format=recognised.format,
        columns=recognised.columns,
        ratings=ratings,
        split=split,
        split_method=split_method,
        notes=recognised.notes,
        leakage={} if split is None else leakage(split),
        fold=fold,
    )


def _split_of(ratings: Ratings) -> tuple[str, Split | None]:
    """Split ratings as they come split, by time if they have times, or else at random.

    Returns the name of the split, and the split; None where it leaves nothing to test.
    """
    if ratings.held_out is not None:
        train = ratings.select(~ratings.held_out)
        test = ratings.select(ratings.held_out)
        return "given", Split(train, test)
    if ratings.time is not None:
        for method in IN_TIME:
            split = _split_by(ratings, method)
            if split is not None and (method == IN_TIME[-1] or _tests_enough(split, ratings)):
                return method, split
    return USUAL, _split_by(ratings, USUAL)


def _split_by(ratings: Ratings, method: str) -> Split | None:
    """Split ratings by a method with its default settings; None where nothing can be tested."""
    section = SplitSection(method=method, settings=find_split(method).settings())
    seed = StudyFile.model_fields["seed"].default
    with suppress(InputError):
        return split_ratings(ratings, section, seed=seed)
    return None


def _tests_enough(split: Split, ratings: Ratings) -> bool:
    """Tell whether a split tests at least `LEAST_TESTED`, half, of the users with ratings."""
    return _n_users(split.test) >= LEAST_TESTED * _n_users(ratings)


def _n_users(ratings: Ratings) -> int:
    """Count the users with ratings."""
    return int(np.count_nonzero(ratings.user_counts()))


def _given_parts(path: Path) -> tuple[SplitFiles | None, int | None]:
    """Find training and test ratings in a folder without a file of all; of folds, the first.

    Returns the files, and the number of the fold, 0 or 1; None without folds. Both are None if the
    path is a file, or a folder with one file of all ratings or without both parts.
    """
    if path.is_dir():
        with suppress(InputError):
            open_source(path)
            return None, None
        for fold in (None, 0, 1):
            with suppress(InputError):
                return find_split_files(path, fold=fold), fold
    return None, None
