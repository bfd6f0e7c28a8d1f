"""The input of a study: ratings, read or simulated, and runs that were made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from harness.readers.rankings import named_apart, read_run_files
from harness.study.sections import SplitSection, number_replicates, system_names
from harness.study.study import RatingsSection, Study
from qrels import Qrels, Ratings, Scale, Split, k_core, qrels_from_columns
from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.split_files import read_two_parts
from qrels.ratings.statistics import (
    USUAL_THRESHOLD,
    Threshold,
    candidate_thresholds,
    describe_values,
    usual_threshold,
)
from qrels.ratings.world import World, fit_world, like_settings, make_world, world_settings
from runs import InputError, Numbering, Run
from runs.run_file import RunFile, require_known_users
from runs.shared.errors import prefixed_errors, warn
from runs.shared.files import read_bytes
from runs.shared.ids import require_fit_name
from runs.tables.source import Source, open_source

MAX_TAG_LENGTH = 150
"""Maximum number of characters of a run's tag, written as it is in names of files."""


class LoadedRatings(NamedTuple):
    """Ratings, and where they are from.

    ``inputs`` has a dictionary for each file (path, sha256) or the settings of the world; ``world``
    is the simulated world, None for ratings that were read.
    """

    ratings: Ratings
    inputs: list[dict[str, Any]]
    world: World | None


def load_ratings(section: RatingsSection, split: SplitSection) -> LoadedRatings:
    """Read the ratings of a study from files, or simulate them.

    A split given as files has its own ratings: those of both parts. ``section`` is [ratings] of the
    study, which has the options of the reader. Raises InputError if a file cannot be read, or
    settings of the world are out of range.
    """
    parts = split.find_parts()
    if parts is not None:
        train = open_source(parts.train, encoding=section.encoding)
        test = open_source(parts.test, encoding=section.encoding)
        ratings = read_two_parts(train, test, **section.of_file)
        checksums = [source_checksum(train), source_checksum(test)]
        return LoadedRatings(ratings, checksums, world=None)
    if section.like is not None:
        return _simulate_like(section, section.like)
    if section.path is None:
        settings = world_settings(section.preset, section.world)
        world = make_world(settings)
        return LoadedRatings(world.ratings, [{"world": settings.model_dump()}], world)
    source = open_source(section.path, encoding=section.encoding)
    ratings = read_ratings(source, **section.of_file)
    return LoadedRatings(ratings, [source_checksum(source)], world=None)


def _simulate_like(section: RatingsSection, path: Path) -> LoadedRatings:
    """Fit a simulated world to the ratings of a file, and load the ratings of the world.

    Raises InputError, with the path, if they cannot be read or no world can be fitted.
    """
    source = open_source(path, encoding=section.encoding)
    settings = like_settings(section.world)
    # The format of the section is "world".
    options = section.of_file | {"format": None}
    real_ratings = read_ratings(source, **options)
    with prefixed_errors(source.label):
        world = fit_world(real_ratings, settings).world
    inputs = [source_checksum(source), {"world": settings.model_dump()}]
    return LoadedRatings(world.ratings, inputs, world)


def source_checksum(source: Source) -> dict[str, Any]:
    """Compute the path and sha256 of ratings, which may be in a folder or an archive."""
    return {"path": source.label, "sha256": sha256(source.data).hexdigest()}


def checksum(path: Path) -> dict[str, Any]:
    """Compute the path and sha256 of an input file, for the manifest."""
    return {"path": str(path), "sha256": sha256(read_bytes(path)).hexdigest()}


def relevance_threshold(section: RatingsSection, ratings: Ratings, *, test: Ratings) -> float:
    """Look up the lowest rating that is relevant: that of the study file, else the usual one.

    The usual one depends on the scale of all ratings: 4 where they end at 5. For implicit feedback,
    and where all ratings are equal, it is the lowest rating.

    Raises
    ------
    InputError
        If the study file has none and the scale has no usual one; the sentence lists what each
        possible threshold would do to the test ratings.
    """
    lowest = float(ratings.rating.min())
    if section.threshold is not None:
        return section.threshold
    if section.implicit or lowest == ratings.rating.max():
        return lowest
    usual = USUAL_THRESHOLD if section.is_drawn else usual_threshold(ratings)
    if usual is None:
        thresholds = candidate_thresholds(ratings.rating)
        effects = [Threshold.evaluate(test, threshold) for threshold in thresholds]
        lines = "\n".join(map(str, effects))
        raise InputError(
            "`threshold` in [ratings] is missing: the lowest rating that is relevant. Only scales "
            f"that end at 5 have a default, 4. The ratings are: "
            f"{describe_values(ratings.rating)}.\n{lines}\n"
            "For implicit feedback (counts or weights; all items are relevant): implicit = true."
        )
    return usual


def load_k_core(section: RatingsSection, split: SplitSection) -> Ratings:
    """Read or simulate ratings, and keep users and items with enough of them (the k-core)."""
    loaded = load_ratings(section, split)
    return k_core(loaded.ratings, user_min=section.user_min, item_min=section.item_min)


def split_ratings(ratings: Ratings, section: SplitSection, *, seed: int) -> Split:
    """Split ratings by the method of a section [split], with its settings.

    Raises InputError if there are no test ratings.
    """
    splitter = section.find_splitter()
    split = splitter(ratings, section.settings, seed=seed)
    if len(split.test) == 0:
        raise InputError(f"the split {splitter.name!r} leaves no test ratings.")
    return split


def judge_test(split: Split, scale: Scale) -> Qrels:
    """Derive the judgements of the test users, which are the topics, from their test ratings.

    The scale grades ratings. Topics have the order of ``split.test_users``. Raises InputError if no
    test rating is relevant.
    """
    topics = np.searchsorted(split.test_users, split.test.user)
    grades = scale.grades_of(split.test.rating)
    qrels = qrels_from_columns(
        topics,
        split.test.item,
        grades,
        n_users=len(split.test_users),
        relevance_level=scale.level,
    )
    if not qrels.relevant.any():
        raise InputError(
            f"no test rating reaches the threshold {scale.threshold:g}: nothing is relevant. The "
            f"test ratings are: {describe_values(split.test.rating)}."
        )
    return qrels


def read_runs(paths: Sequence[Path], study: Study) -> tuple[list[RunFile], tuple[str, ...]]:
    """Read run files, and derive the systems that they are of.

    Where files share a tag, runs are called as their files; with `replicates` in [runs], tags get
    numbers.

    Returns
    -------
    The files, and the name of the system of each. Without `replicates`, each run is of a system of
    its own, and the tuple of names is empty.

    Raises
    ------
    InputError
        If TREC files cannot have the tag of a run, or `replicates` does not fit the tags.
    """
    files = read_run_files(paths, study.runs)
    pattern = None if study.runs is None else study.runs.replicates
    if pattern is None:
        files = named_apart(files)
    for file in files:
        with prefixed_errors(file.path):
            require_fit_name(file.system)
    if pattern is None:
        return files, ()
    with study.errors_at("runs", "replicates"):
        return number_replicates(files, pattern), system_names(files, pattern)


def order_runs_beside_trained(
    run_files: Sequence[RunFile],
    study: Study,
    split: Split,
    systems: Sequence[str],
    *,
    trec_topics: Numbering,
    trec_items: Numbering,
) -> tuple[Run, ...]:
    """Order the lists of runs by their scores, where systems trained here are compared with them.

    Rows of the runs are the test users: item numbers of shape (n_test_users, depth), -1 where a
    list has ended. Warns of recommendations that the user rated in training.

    Parameters
    ----------
    run_files
        The runs, each over a numbering of its own.
    study, split
        The study, which names the trained systems, and its training and test ratings.
    systems
        Name of the system of each run; empty if each run is of a system of its own.
    trec_topics, trec_items
        Ids of test users and of items as run files write them.

    Raises
    ------
    InputError
        If a run ranks an item without a rating, or `order_runs` refuses it.
    """
    for file in run_files:
        is_unknown = trec_items.numbers(file.items.ids) < 0
        unknown = file.items.ids[is_unknown].tolist()
        if unknown:
            raise InputError(
                f"{file.path}: the item {unknown[0]!r} has no rating; with trained systems, "
                "runs may only rank items that have ratings."
            )
    trained_systems = tuple(study.systems.labels)
    runs = order_runs(run_files, trec_topics, trec_items, systems, trained_systems=trained_systems)
    if not runs:
        return ()
    # A sparse matrix does not keep ratings of 0, which are ratings, too.
    ones = replace(split.train, rating=np.ones(len(split.train)))
    was_rated: Any = ones.matrix()[split.test_users]
    for file, run in zip(run_files, runs, strict=True):
        # Items rated in training fill ranks in vain.
        topics, columns = np.nonzero(run.items >= 0)
        items = run.items[topics, columns]
        n_rated = np.count_nonzero(was_rated[topics, items])
        if n_rated:
            warn(
                f"{file.path}: {n_rated:,} of its recommendations are items that "
                "the user rated in training; they count as unjudged."
            )
    return runs


def order_runs(
    run_files: Sequence[RunFile],
    topics: Numbering,
    items: Numbering,
    systems: Sequence[str],
    *,
    trained_systems: Sequence[str] = (),
    min_systems: int = 2,
    depth: float = inf,
) -> tuple[Run, ...]:
    """Order the lists of runs by their scores, and cut them at the depth.

    A run is as deep as its longest list, or the depth if that is less: ``depth`` is the largest
    rank, infinite for whole lists. Warns of users of a run who are no topics.

    Parameters
    ----------
    topics, items
        Ids by number, as the run files write them; topics are the rows of the runs.
    systems
        Name of the system of each run; empty if each run is of a system of its own.
    trained_systems
        Names of systems that are trained here, which runs may not have.

    Raises
    ------
    InputError
        If there are fewer systems than ``min_systems``; if a tag is that of a trained system, too
        long for a name of a file, or differs from another by case at most; or if a run ranks for
        no topic that is known.
    """
    system_of_each_run = systems or [file.system for file in run_files]
    n_given = len(set(systems)) if systems else len(run_files)
    n_systems = n_given + len(trained_systems)
    if n_systems < min_systems:
        raise InputError(f"a study compares at least two systems, got {n_systems}.")
    file_by_tag: dict[str, RunFile] = {}
    for file, system in zip(run_files, system_of_each_run, strict=True):
        if file.system in trained_systems or system in trained_systems:
            raise InputError(
                f"{file.path}: the tag {file.system!r} is the name of a trained system, too; "
                "names of systems must differ."
            )
        _require_short_tag(file)
        tag = file.system.casefold()
        if tag in file_by_tag:
            raise InputError(
                f"{file.path}: the tag {file.system!r} is also that of {file_by_tag[tag].path}; "
                "tags name systems and their files, and must differ by more than case. Rename one; "
                "or, if these are several runs of a system, say so by `replicates` in [runs]."
            )
        file_by_tag[tag] = file
    for file in run_files:
        require_known_users(file, topics)
    rows = np.arange(len(topics))
    runs = []
    for file in run_files:
        lists = file.ranked_lists(topics, items)
        longest = int(lists.lengths.max(initial=1))
        run_depth = int(min(longest, depth))
        runs.append(lists.to_run(rows, depth=run_depth))
    return tuple(runs)


def _require_short_tag(file: RunFile) -> None:
    """Refuse a run whose tag is too long for the name of a file, where it is written as in URLs.

    Raises InputError if it takes more than `MAX_TAG_LENGTH` (150) characters there.
    """
    n_quoted = len(quote(file.system))
    if n_quoted > MAX_TAG_LENGTH:
        raise InputError(
            f"{file.path}: the tag names the system's files, where it may take at most "
            f"{MAX_TAG_LENGTH} characters; {file.system!r} takes {n_quoted}, as characters other "
            "than letters from a to z and digits are written as three for each byte. "
            "Shorten it."
        )
