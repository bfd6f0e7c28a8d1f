"""The ratings of a study: read or made, split, and what of them is relevant."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from harness.study.split_section import SplitSection
from harness.study.study import RatingsSection
from qrels import Qrels, Ratings, Scale, Split, k_core, qrels_from_columns
from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.source import Source, open_source
from qrels.ratings.datasets.two_parts import read_two_parts
from qrels.ratings.thresholds import (
    USUAL_THRESHOLD,
    Threshold,
    candidate_thresholds,
    distribution,
    usual_threshold,
)
from qrels.ratings.world import World, fit_world, like_settings, make_world, world_settings
from runs import InputError


def load_ratings(
    section: RatingsSection, split: SplitSection
) -> tuple[Ratings, list[dict[str, Any]], World | None]:
    """Read or make the ratings of a study; give what they were read or made from, too."""
    if split.parts is not None:
        train, test = open_source(split.parts.train), open_source(split.parts.test)
        ratings = read_two_parts(train, test, **section.of_file)
        return ratings, [_facts_of(train), _facts_of(test)], None
    if section.like is not None:
        return _like(section, section.like)
    if section.path is None:
        settings = world_settings(section.preset, section.world)
        world = make_world(settings)
        return world.ratings, [{"world": settings.model_dump()}], world
    source = open_source(section.path)
    return read_ratings(source, **section.of_file), [_facts_of(source)], None


def _like(
    section: RatingsSection, path: Path
) -> tuple[Ratings, list[dict[str, Any]], World | None]:
    """Make a world like the ratings of a file."""
    source, settings = open_source(path), like_settings(section.world)
    real = read_ratings(source, **section.of_file | {"format": None})
    try:
        world = fit_world(real, settings).world
    except InputError as error:
        raise InputError(f"{source.label}: {error}") from None
    return world.ratings, [_facts_of(source), {"world": settings.model_dump()}], world


def _facts_of(source: Source) -> dict[str, Any]:
    """Give path and checksum of ratings, which may be in a folder or an archive."""
    return {"path": source.label, "sha256": sha256(source.data).hexdigest()}


def threshold_of(section: RatingsSection, ratings: Ratings, *, tested: Ratings) -> float:
    """Give the lowest rating that is relevant: what the study says, or what is usual.

    Parameters
    ----------
    section
        What the study says.
    ratings
        All ratings, whose scale tells what is usual. If they are all alike, or the study calls them
        implicit, everything is relevant.
    tested
        The test ratings, to show what thresholds would make of them.

    Raises
    ------
    InputError
        If the study says nothing, and nothing is usual on this scale.
    """
    lowest = float(ratings.rating.min())
    if section.threshold is not None:
        return section.threshold
    if section.implicit or lowest == ratings.rating.max():
        return lowest
    usual = USUAL_THRESHOLD if section.is_drawn else usual_threshold(ratings)
    if usual is None:
        raise InputError(
            "`threshold` in [ratings] is needed: ratings from there on are relevant, and only a "
            f"scale that ends at 5 has a usual one, 4. These ratings are: "
            f"{distribution(ratings.rating)}.\n{effects_of_thresholds(ratings, tested)}\n"
            "If they count or weigh what was used, and all of it is relevant: implicit = true."
        )
    return usual


def effects_of_thresholds(ratings: Ratings, tested: Ratings) -> str:
    """Say, in a line each, what two or three thresholds would make of the test ratings."""
    candidates = candidate_thresholds(ratings.rating)
    return "\n".join(str(Threshold.over(tested, value)) for value in candidates)


def training_ratings(section: RatingsSection, split: SplitSection, *, seed: int) -> Ratings:
    """Read or make ratings and give the training part alone.

    Raises
    ------
    InputError
        If the ratings or their split break a rule.
    """
    return split_ratings(kept_ratings(section, split), split, seed=seed).train


def kept_ratings(section: RatingsSection, split: SplitSection) -> Ratings:
    """Read or make ratings, and take the k-core.

    Raises
    ------
    InputError
        If the ratings break a rule.
    """
    ratings, _, _ = load_ratings(section, split)
    return k_core(ratings, user_min=section.user_min, item_min=section.item_min)


def split_ratings(ratings: Ratings, section: SplitSection, *, seed: int) -> Split:
    """Split ratings as the section says.

    Raises
    ------
    InputError
        If the ratings break a rule of its method, or no test ratings are left.
    """
    split = section.splitter(ratings, section.settings, seed=seed)
    if len(split.test) == 0:
        raise InputError(f"the split {section.splitter.name!r} leaves no test ratings.")
    return split


def judge_test(split: Split, scale: Scale) -> Qrels:
    """Derive the judgements of the test users from their test ratings.

    Raises
    ------
    InputError
        If none of them reaches the threshold.
    """
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
            f"ratings are: {distribution(scale.ratings)}."
        )
    return qrels
