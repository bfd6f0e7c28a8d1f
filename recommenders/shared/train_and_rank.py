"""Training a system by name, and ranking all candidate items for every user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qrels import Ratings
from recommenders.shared.register import find_system, read_settings
from recommenders.shared.scorers import (
    BatchScorer,
    BestScorer,
    allowed_items,
    exclude_items,
    require_shape,
    row_blocks,
)
from recommenders.shared.system import SystemSpec, require_nonzero
from runs import InputError, Run, top_items
from runs.shared.arrays import Ints, Masks, Sparse
from runs.shared.errors import needed_by
from runs.shared.parallel import single_threaded


def train(name: str, settings: Mapping[str, Any], ratings: Ratings, *, seed: int) -> BatchScorer:
    """Train a system on ratings, in one thread of native libraries.

    Parameters
    ----------
    name
        Name of the system, one of :func:`recommenders.systems`.
    settings
        Settings that differ from the defaults.
    ratings
        Training ratings, at least one.
    seed
        Seed of all randomness; equal seeds give equal scores on any number of threads.

    Returns
    -------
    The trained system, which scores the users and items of ``ratings``.

    Raises
    ------
    InputError
        If the system or a setting is unknown, there are no ratings, the system requires ratings of
        at least 0 that are not all 0, training needs more memory than the setting
        ``max_gigabytes`` allows, or a package is not installed.
    """
    spec = find_system(name)
    checked_settings = read_settings(name, settings)
    if len(ratings) == 0:
        raise InputError(f"system {name!r} cannot be trained: there are no training ratings.")
    if spec.requires_nonnegative:
        lowest = ratings.rating.min()
        if lowest < 0:
            raise InputError(
                f"system {name!r} cannot be trained: it needs ratings of at least 0, got {lowest}."
            )
        require_nonzero(ratings, system=name)
    require_memory(name, settings, ratings)
    with needed_by(f"system {name!r}", extra="recommenders"):
        return train_checked(spec, checked_settings, ratings, seed=seed)


def train_checked(spec: SystemSpec, settings: Any, ratings: Ratings, *, seed: int) -> BatchScorer:
    """Train a system in one thread of native libraries; see `train`, which checks first.

    Settings are an object of the system's class of settings. Nothing is checked here.
    """
    with single_threaded():
        return spec.make(ratings, settings, seed=seed)


def require_memory(name: str, settings: Mapping[str, Any], ratings: Ratings) -> int:
    """Estimate the bytes that training a system takes; 0 for a system that takes little.

    Raises InputError if they are more than the setting ``max_gigabytes`` allows, or if the system
    or a setting is unknown.
    """
    spec = find_system(name)
    checked_settings = read_settings(name, settings)
    if spec.memory_need is None:
        return 0
    need = spec.memory_need(ratings, checked_settings)
    max_gigabytes = checked_settings.model_dump()["max_gigabytes"]
    if need.n_bytes > max_gigabytes * 1e9:
        gigabytes = need.n_bytes / 1e9
        raise InputError(
            f"system {spec.name!r} needs about {gigabytes:.1f} GB ({need.purpose}), above the "
            f"limit of {max_gigabytes} GB; raise its setting 'max_gigabytes' or leave the system "
            "out."
        )
    return need.n_bytes


def recommend(
    scorer: BatchScorer,
    train: Ratings,
    users: Ints,
    *,
    system: str,
    depth: int,
    candidates: Masks | None = None,
    allowed_by_user: Sparse | None = None,
) -> Run:
    """List, for every user, the best items with training ratings that the user has not rated.

    This is the protocol known as AllItems; with the items of the test part as candidates, it is
    TestItems (Bellogín, Castells & Cantador, RecSys 2011). Equal scores are settled by
    :func:`runs.top_items`; items that the system cannot score (NaN or minus infinity) are left out,
    so a list may be short: then it ends with -1.

    Parameters
    ----------
    scorer
        A trained system.
    train
        The ratings that it was trained on.
    users
        Numbers of the users, of shape (n_lists,).
    system
        Name of the run.
    depth
        Maximum length of the lists.
    candidates
        Mask over the items, of shape (n_items,): those that may be recommended; all by default.
    allowed_by_user
        Sparse mask of shape (n_lists, n_items): the only items that may be recommended to each
        user. By default every candidate may.

    Returns
    -------
    The run, whose row t belongs to ``users[t]``.

    Raises
    ------
    InputError
        If one of the masks is of another shape.
    """
    allowed = allowed_items(train, candidates)
    if allowed_by_user is not None:
        require_shape("the mask of users and items", allowed_by_user, (len(users), len(allowed)))
    rated = train.matrix()
    items = np.empty((len(users), depth), dtype=np.int32)
    with single_threaded():
        for block in row_blocks(len(users), row_bytes=4 * len(train.items)):
            if allowed_by_user is not None:
                is_allowed = allowed_by_user[block].toarray()
                scores = np.where(is_allowed, scorer.score_batch(users[block]), -np.inf)
            elif isinstance(scorer, BestScorer):
                scores = scorer.score_best(users[block], allowed, depth=depth)
            else:
                scores = scorer.score_batch(users[block])
            exclude_items(scores, allowed, rated[users[block]])
            items[block] = top_items(scores, depth=depth)
    return Run(system, items)
