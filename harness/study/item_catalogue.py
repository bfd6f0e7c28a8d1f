"""What metrics may know of the items of a study, read from its tables and its training ratings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.readers.item_tables import read_features, read_item_values
from harness.study.collection import Collection
from harness.study.sections import ItemsSection
from harness.study.study import Study
from qrels import Catalogue
from qrels.ranks.hidden_ranks import MISS
from qrels.ranks.judged_ranks import JudgedRanks, Validation
from qrels.ratings.world.truth import item_propensities
from runs import InputError
from runs.shared.arrays import Floats

EXAMPLE_SYSTEM = "example"
EXAMPLE_RANKS = np.array([1, 3, MISS, 2], dtype=np.uint16)

LOWEST_PROPENSITY = np.finfo(np.float64).tiny


def read_catalogue(section: ItemsSection, collection: Collection) -> Catalogue:
    """Read the tables of items, and count the training ratings."""
    items, split = collection.items, collection.split
    known: dict[str, Any] = {}
    if split is not None:
        known["popularity"] = split.train.item_counts().astype(np.int64)
        known["n_raters"] = int(np.count_nonzero(split.train.user_counts()))
        known["profiles"] = split.train.matrix()[split.test_users]
    if section.popularity is not None:
        path = section.popularity
        counts = np.nan_to_num(read_item_values(path, items, what="count"))
        fractions = counts[counts != np.floor(counts)]
        if len(fractions):
            raise InputError(
                f"{path}: the count of an item must be a whole number, got {fractions[0]:g}."
            )
        known["popularity"] = counts.astype(np.int64)
    if section.propensities == "world":
        known["propensities"] = _propensities_of_world(collection)
    elif section.propensities is not None:
        path = section.propensities
        values = read_item_values(path, items, what="propensity", low=LOWEST_PROPENSITY, high=1.0)
        known["propensities"] = _of_all_judged(path, values, collection)
    if section.features is not None:
        features = read_features(section.features, items, columns=section.columns)
        known["features"] = features.values
        known["feature_names"] = features.names
    return Catalogue(len(items), **known)


def _propensities_of_world(collection: Collection) -> Floats:
    """Compute the probabilities of items to be observed in the world that the study begins with."""
    split, truth, observation = collection.split, collection.truth, collection.observation
    if split is None or truth is None or observation is None or collection.threshold is None:
        raise InputError(
            '`propensities` in [items] may be "world" only in a study of a simulated world; '
            "otherwise it must name a table."
        )
    users = np.concatenate([split.train.user, split.test.user])
    counts = np.bincount(users, minlength=len(split.train.users))
    user_ids, item_ids = split.train.users.ids, split.train.items.ids
    return item_propensities(
        truth, observation, user_ids, item_ids, counts, threshold=collection.threshold
    )


def _of_all_judged(path: Path, propensities: Floats, collection: Collection) -> Floats:
    """Require a propensity of every judged item; what is not judged is never weighed."""
    missing = collection.qrels.items[np.isnan(propensities[collection.qrels.items])]
    if len(missing):
        name = str(collection.items.ids[missing[0]])
        raise InputError(
            f"{path}: {len(np.unique(missing)):,} judged items have no propensity, the first is "
            f"{name!r}."
        )
    return np.nan_to_num(propensities, nan=1.0)


def example_catalogue(study: Study, needs: Sequence[Validation]) -> Catalogue:
    """Make a catalogue of three items and four judgements.

    What will be known in the study is known of them: of hidden items what a metric needs.
    """
    known: dict[str, Any] = {}
    if study.ratings is not None:
        known["n_raters"] = 3
        known["profiles"] = csr_array(np.eye(3))
        if needs:
            ranks = JudgedRanks(**dict.fromkeys(needs, EXAMPLE_RANKS))
            known["hidden_ranks"] = {EXAMPLE_SYSTEM: ranks}
    if study.ratings is not None or study.items.popularity is not None:
        known["popularity"] = np.ones(3, dtype=np.int64)
    if study.items.propensities is not None:
        known["propensities"] = np.ones(3)
    if study.items.features is not None:
        known["features"] = np.eye(3)
        known["feature_names"] = ("a", "b", "c")
    return Catalogue(3, **known)
