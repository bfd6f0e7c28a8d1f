"""What metrics may know of the items of a study, read from its tables and its training ratings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.readers.item_tables import read_features, read_item_values
from harness.study.collection import Collection
from harness.study.metric_checks import EXAMPLE_SYSTEM
from harness.study.sections import ItemsSection
from harness.study.study import Study
from qrels import Catalogue
from qrels.ranks.hidden_ranks import MISS
from qrels.ranks.judged_ranks import JudgedRanks, Validation
from qrels.ratings.world.truth import item_propensities
from runs import InputError
from runs.shared.arrays import Floats

EXAMPLE_RANKS = np.array([1, 3, MISS, 2], dtype=np.uint16)
"""Ranks of the hidden items of four judgements in `example_catalogue`."""

LOWEST_PROPENSITY = np.finfo(np.float64).tiny


def read_catalogue(section: ItemsSection, collection: Collection) -> Catalogue:
    """Read the tables of items that a study names, and count the training ratings.

    If there are training ratings, the catalogue has the popularity of items (number of training
    ratings), the number of users with training ratings, and profiles (the training ratings of each
    test user). A table of popularity replaces the counts; items that it lacks (NaN) count 0. Tables
    have a number for each item, or a row of features. The catalogue lacks what neither tables nor
    ratings have.

    Raises
    ------
    InputError
        If a count is no whole number, a judged item has no propensity, propensities of a world are
        wanted where there is none, or a table does not fit the items.
    """
    items = collection.items
    split = collection.split
    properties: dict[str, Any] = {}
    if split is not None:
        properties["popularity"] = split.train.item_counts().astype(np.int64)
        properties["n_raters"] = int(np.count_nonzero(split.train.user_counts()))
        properties["profiles"] = split.train.matrix()[split.test_users]
    if section.popularity is not None:
        path = section.popularity
        counts = np.nan_to_num(read_item_values(path, items, what="count"))
        fractions = counts[counts != np.floor(counts)]
        if len(fractions):
            raise InputError(
                f"{path}: the count of an item must be a whole number, got {fractions[0]:g}."
            )
        properties["popularity"] = counts.astype(np.int64)
    if section.propensities == "world":
        properties["propensities"] = _propensities_of_world(collection)
    elif section.propensities is not None:
        path = section.propensities
        propensities = read_item_values(
            path, items, what="propensity", low=LOWEST_PROPENSITY, high=1.0
        )
        properties["propensities"] = _require_propensities(path, propensities, collection)
    if section.features is not None:
        features = read_features(section.features, items, columns=section.columns)
        properties["features"] = features.values
        properties["feature_names"] = features.names
    return Catalogue(len(items), **properties)


def _propensities_of_world(collection: Collection) -> Floats:
    """Compute the probability of each item, (n_items,), to be observed in the simulated world.

    It is that for users to whom the item is relevant, given how many ratings each user has in
    training and test. Raises InputError if the study does not begin with a simulated world.
    """
    split = collection.split
    truth = collection.truth
    observation = collection.observation
    if split is None or truth is None or observation is None or collection.threshold is None:
        raise InputError(
            '`propensities` in [items] may be "world" only in a study of a simulated world; '
            "otherwise it must name a table."
        )
    train = split.train
    rating_users = np.concatenate([train.user, split.test.user])
    ratings_per_user = np.bincount(rating_users, minlength=len(train.users))
    return item_propensities(
        truth,
        observation,
        train.users.ids,
        train.items.ids,
        ratings_per_user,
        threshold=collection.threshold,
    )


def _require_propensities(path: Path, propensities: Floats, collection: Collection) -> Floats:
    """Refuse propensities, (n_items,), of which one is missing (NaN) for a judged item.

    Returns them with 1 for unjudged items without one, which are never weighed.
    """
    judged_items = collection.qrels.items
    missing = judged_items[np.isnan(propensities[judged_items])]
    if len(missing):
        name = str(collection.items.ids[missing[0]])
        raise InputError(
            f"{path}: {len(np.unique(missing)):,} judged items have no propensity, the first is "
            f"{name!r}."
        )
    return np.nan_to_num(propensities, nan=1.0)


def example_catalogue(study: Study, needs: Sequence[Validation]) -> Catalogue:
    """Make a catalogue of three items and four judgements, on which metrics are tried.

    It has the properties that the catalogue of the study will have, with values that are made up.
    ``needs`` are the validations ("loo", "lloo") under which a metric needs ranks of hidden items;
    a study of ratings has these for the system `EXAMPLE_SYSTEM`: `EXAMPLE_RANKS`, a rank for each
    judgement.
    """
    properties: dict[str, Any] = {}
    if study.ratings is not None:
        properties["n_raters"] = 3
        properties["profiles"] = csr_array(np.eye(3))
        if needs:
            ranks = JudgedRanks(**dict.fromkeys(needs, EXAMPLE_RANKS))
            properties["hidden_ranks"] = {EXAMPLE_SYSTEM: ranks}
    if study.ratings is not None or study.items.popularity is not None:
        properties["popularity"] = np.ones(3, dtype=np.int64)
    if study.items.propensities is not None:
        properties["propensities"] = np.ones(3)
    if study.items.features is not None:
        properties["features"] = np.eye(3)
        properties["feature_names"] = ("a", "b", "c")
    return Catalogue(3, **properties)
