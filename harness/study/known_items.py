"""What is known of the items of a study: its tables of items, and what training tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.metrics.shared.metric import Metric
from harness.metrics.shared.weights import weighting_of
from harness.readers.item_tables import Features, read_features, read_item_values
from harness.study.collection import Collection
from harness.study.items_section import ItemsSection
from harness.study.study import Study
from qrels import Catalogue, Qrels, Split
from qrels.ranks.hidden_ranks import MISS
from qrels.ranks.judged_ranks import JudgedRanks, Validation
from qrels.ratings.observation import item_propensities
from runs import InputError

EXAMPLE_SYSTEM = "example"
EXAMPLE_RANKS = np.array([1, 3, MISS, 2], dtype=np.uint16)

LOWEST = np.finfo(np.float64).tiny

WEIGHTS: dict[str, Any] = {"beta": 0.0, "propensity": "popularity", "clip": 0.0}
"""Options of metrics that weigh items, and their defaults."""


def read_catalogue(section: ItemsSection, collection: Collection) -> Catalogue:
    """Read the tables of items, and count the training ratings.

    Raises
    ------
    InputError
        If a table breaks a rule.
    """
    items, paths = collection.items, section
    known: dict[str, Any] = {} if collection.split is None else _of_training(collection.split)
    if paths.popularity is not None:
        counts = read_item_values(paths.popularity, items, what="count")
        known["popularity"] = _whole(paths.popularity, counts)
    if paths.propensities == "world":
        known["propensities"] = _of_world(collection)
    elif paths.propensities is not None:
        propensities = read_item_values(
            paths.propensities, items, what="propensity", low=LOWEST, high=1.0
        )
        known["propensities"] = _of_all(paths.propensities, propensities, collection)
    if paths.features is not None:
        known |= _as_known(read_features(paths.features, items, columns=paths.columns))
    return Catalogue(len(items), **known)


def _whole(path: Path, counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Take counts of ratings, 0 where there is none; refuse parts of ratings."""
    known = np.nan_to_num(counts)
    broken = known[known != np.floor(known)]
    if len(broken):
        raise InputError(f"{path}: the count of an item must be a whole number, got {broken[0]:g}.")
    return known.astype(np.int64)


def _of_world(collection: Collection) -> NDArray[np.float64]:
    """Give the chances of items in the world that the study begins with."""
    split, truth, observation = collection.split, collection.truth, collection.observation
    if split is None or truth is None or observation is None or collection.threshold is None:
        raise InputError(
            '`propensities` in [items] may be "world" only where a study begins with a world; '
            "others are in a table."
        )
    every = np.concatenate([split.train.user, split.test.user])
    counts = np.bincount(every, minlength=len(split.train.users))
    ids = split.train.users.ids, split.train.items.ids
    return item_propensities(truth, observation, *ids, counts, threshold=collection.threshold)


def _of_all(
    path: Path, propensities: NDArray[np.float64], collection: Collection
) -> NDArray[np.float64]:
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
    """Give a catalogue of three items and four judgements.

    What will be known in the study is known of them: of hidden items what a metric needs.
    """
    known: dict[str, Any] = {}
    if study.ratings is not None:
        known = {"n_raters": 3, "profiles": csr_array(np.eye(3))}
        if needs:
            ranks = JudgedRanks(**dict.fromkeys(needs, EXAMPLE_RANKS))
            known["hidden_ranks"] = {EXAMPLE_SYSTEM: ranks}
    if study.ratings is not None or study.items.popularity is not None:
        known["popularity"] = np.ones(3, dtype=np.int64)
    if study.items.propensities is not None:
        known["propensities"] = np.ones(3)
    if study.items.features is not None:
        known |= _as_known(Features(("a", "b", "c"), np.eye(3)))
    return Catalogue(3, **known)


def without_features(catalogue: Catalogue, items: NDArray[np.integer]) -> int:
    """Count those of some items of which no feature is known."""
    if catalogue.features is None:
        return 0
    return int(np.count_nonzero(~catalogue.features[items].any(axis=1)))


def _of_training(split: Split) -> dict[str, Any]:
    """Tell popularity, and what the topics rated."""
    return {
        "popularity": split.train.item_counts().astype(np.int64),
        "n_raters": int(np.count_nonzero(split.train.user_counts())),
        "profiles": split.train.matrix()[split.test_users],
    }


def _as_known(features: Features) -> dict[str, Any]:
    return {"features": features.values, "feature_names": features.names}


def effects_of_weights(
    metrics: Iterable[Metric], qrels: Qrels, catalogue: Catalogue
) -> Iterator[str]:
    """Say how many equal judgements the relevant ones count as where metrics weigh items."""
    items = qrels.items[qrels.relevant]
    for metric in metrics:
        given = {name: value for name, value in metric.given if name in WEIGHTS}
        weighting = weighting_of(**{**WEIGHTS, **given}) if given else None
        if weighting is not None:
            effective = weighting.effective_number(items, catalogue)
            yield (
                f"{metric.label} weighs the {len(items):,} relevant judgements so unequally that "
                f"they count as {effective:,.0f} of equal weight."
            )
