"""The input of a study: ratings, read or simulated, and runs that were made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import numpy as np

from harness.readers.rankings import read_run_files
from harness.study.sections import SplitSection, numbered, systems_of
from harness.study.study import RatingsSection, Study
from qrels import Qrels, Ratings, Scale, Split, k_core, qrels_from_columns
from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.source import Source, open_source
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

Loaded: TypeAlias = tuple[Ratings, list[dict[str, Any]], World | None]
"""Ratings, what they were read or made from, and the world that made them."""


def load_ratings(section: RatingsSection, split: SplitSection) -> Loaded:
    """Read or make the ratings of a study; give what they were read or made from, too."""
    if split.parts is not None:
        train, test = open_source(split.parts.train), open_source(split.parts.test)
        ratings = read_two_parts(train, test, **section.of_file)
        return ratings, [facts_of(train), facts_of(test)], None
    if section.like is not None:
        return _like(section, section.like)
    if section.path is None:
        settings = world_settings(section.preset, section.world)
        world = make_world(settings)
        return world.ratings, [{"world": settings.model_dump()}], world
    source = open_source(section.path)
    return read_ratings(source, **section.of_file), [facts_of(source)], None


def _like(section: RatingsSection, path: Path) -> Loaded:
    """Make a world like the ratings of a file."""
    source, settings = open_source(path), like_settings(section.world)
    real = read_ratings(source, **section.of_file | {"format": None})
    with prefixed_errors(source.label):
        world = fit_world(real, settings).world
    return world.ratings, [facts_of(source), {"world": settings.model_dump()}], world


def facts_of(source: Source) -> dict[str, Any]:
    """Give path and checksum of ratings, which may be in a folder or an archive."""
    return {"path": source.label, "sha256": sha256(source.data).hexdigest()}


def checksum(path: Path) -> dict[str, Any]:
    """Give an input's path and checksum, for the manifest."""
    return {"path": str(path), "sha256": sha256(read_bytes(path)).hexdigest()}


def threshold_of(section: RatingsSection, ratings: Ratings, *, tested: Ratings) -> float:
    """Give the lowest rating that is relevant: what the study says, or what is usual."""
    lowest = float(ratings.rating.min())
    if section.threshold is not None:
        return section.threshold
    if section.implicit or lowest == ratings.rating.max():
        return lowest
    usual = USUAL_THRESHOLD if section.is_drawn else usual_threshold(ratings)
    if usual is None:
        effects = [
            Threshold.evaluate(tested, each) for each in candidate_thresholds(ratings.rating)
        ]
        lines = "\n".join(map(str, effects))
        raise InputError(
            "`threshold` in [ratings] is missing: the lowest rating that is relevant. Only scales "
            f"that end at 5 have a default, 4. The ratings are: "
            f"{describe_values(ratings.rating)}.\n{lines}\n"
            "For implicit feedback (counts or weights; all items are relevant): implicit = true."
        )
    return usual


def kept_ratings(section: RatingsSection, split: SplitSection) -> Ratings:
    """Read or make ratings, and take the k-core."""
    ratings, _, _ = load_ratings(section, split)
    return k_core(ratings, user_min=section.user_min, item_min=section.item_min)


def split_ratings(ratings: Ratings, section: SplitSection, *, seed: int) -> Split:
    """Split ratings as the section says."""
    split = section.splitter(ratings, section.settings, seed=seed)
    if len(split.test) == 0:
        raise InputError(f"the split {section.splitter.name!r} leaves no test ratings.")
    return split


def judge_test(split: Split, scale: Scale) -> Qrels:
    """Derive the judgements of the test users from their test ratings."""
    qrels = qrels_from_columns(
        np.searchsorted(split.test_users, split.test.user),
        split.test.item,
        scale.grades_of(split.test.rating),
        n_users=len(split.test_users),
        relevance_level=scale.level,
    )
    if not qrels.relevant.any():
        raise InputError(
            f"no test rating reaches the threshold {scale.threshold:g}: nothing is relevant. The "
            f"test ratings are: {describe_values(split.test.rating)}."
        )
    return qrels


LONGEST_TAG = 150


def read_runs(paths: Sequence[Path], study: Study) -> tuple[list[RunFile], tuple[str, ...]]:
    """Read the runs of a study, and which systems they are of, if several may be of one."""
    files = read_run_files(paths, {} if study.runs is None else study.runs.columns)
    for file in files:
        with prefixed_errors(file.path):
            require_fit_name(file.system)
    pattern = None if study.runs is None else study.runs.replicates
    if pattern is None:
        return files, ()
    with study.errors_at("runs", "replicates"):
        return numbered(files, pattern), systems_of(files, pattern)


def beside_trained(
    run_files: Sequence[RunFile],
    study: Study,
    split: Split,
    trec_ids: tuple[Numbering, Numbering],
    systems: Sequence[str],
) -> tuple[Run, ...]:
    """Check the runs that stand beside the trained systems."""
    topics, items = trec_ids
    for file in run_files:
        unknown = file.items.ids[items.numbers(file.items.ids) < 0].tolist()
        if unknown:
            raise InputError(
                f"{file.path}: the item {unknown[0]!r} has no rating; with trained systems, "
                "runs may only rank items that have ratings."
            )
    runs = lists_of(run_files, topics, items, systems, others=tuple(study.systems.labels))
    if not runs:
        return ()
    # A rating of 0 is one, too.
    ones = replace(split.train, rating=np.ones(len(split.train)))
    was_rated: Any = ones.matrix()[split.test_users]
    for file, run in zip(run_files, runs, strict=True):
        # They fill ranks in vain.
        topic, column = np.nonzero(run.items >= 0)
        n_rated = np.count_nonzero(was_rated[topic, run.items[topic, column]])
        if n_rated:
            warn(
                f"{file.path}: {n_rated:,} of its recommendations are items that "
                "the user rated in training; they count as unjudged."
            )
    return runs


def lists_of(
    run_files: Sequence[RunFile],
    topics: Numbering,
    items: Numbering,
    systems: Sequence[str],
    *,
    others: Sequence[str] = (),
    least: int = 2,
    depth: float = inf,
) -> tuple[Run, ...]:
    """Order the lists of runs, and cut those that are longer than the depth.

    Raises
    ------
    InputError
        If there are too few systems, or tags are long or of two systems.
    """
    names = systems or [file.system for file in run_files]
    n_systems = len(set(systems) if systems else run_files) + len(others)
    if n_systems < least:
        raise InputError(f"a study compares at least two systems, got {n_systems}.")
    first: dict[str, RunFile] = {}
    for file, name in zip(run_files, names, strict=True):
        if {file.system, name} & {*others}:
            raise InputError(
                f"{file.path}: the tag {file.system!r} is the name of a trained system, too; "
                "names of systems must differ."
            )
        n_quoted = len(quote(file.system))
        if n_quoted > LONGEST_TAG:
            raise InputError(
                f"{file.path}: the tag names the system's files, where it may take at most "
                f"{LONGEST_TAG} characters; {file.system!r} takes {n_quoted}, as characters other "
                "than letters from a to z and digits are written as three for each byte. "
                "Shorten it."
            )
        folded = file.system.casefold()
        if folded in first:
            raise InputError(
                f"{file.path}: the tag {file.system!r} is also that of {first[folded].path}; tags "
                "name systems and their files, and must differ by more than case. Rename one; or, "
                "if these are several runs of a system, say so by `replicates` in [runs]."
            )
        first[folded] = file
    for file in run_files:
        require_known_users(file, topics)
    runs = []
    for file in run_files:
        lists = file.ranked_lists(topics, items)
        longest = int(lists.lengths.max(initial=1))
        runs.append(lists.to_run(np.arange(len(topics)), depth=int(min(longest, depth))))
    return tuple(runs)
