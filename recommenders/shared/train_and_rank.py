"""Training a system by name, and ranking all candidate items for every user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qrels import Ratings
from recommenders.shared.register import find_system, read_settings
from recommenders.shared.scorers import BatchScorer, BestScorer, allowed_items, hide, row_blocks
from recommenders.shared.system import SystemSpec, require_any
from runs import InputError, Run, top_items
from runs.shared.arrays import Ints, Masks, Sparse
from runs.shared.errors import needed_by
from runs.shared.parallel import single_threaded


def train(name: str, settings: Mapping[str, Any], ratings: Ratings, *, seed: int) -> BatchScorer:
    """Train a system on ratings.

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
    What scores the users and items of ``ratings``.
    """
    spec, checked = find_system(name), read_settings(name, settings)
    if len(ratings) == 0:
        raise InputError(f"system {name!r} cannot be trained: there are no training ratings.")
    if spec.amounts:
        least = ratings.rating.min()
        if least < 0:
            raise InputError(
                f"system {name!r} cannot be trained: it needs ratings of at least 0, got {least}."
            )
        require_any(ratings, system=name)
    require_memory(name, settings, ratings)
    with needed_by(f"system {name!r}", extra="recommenders"):
        return train_by(spec, checked, ratings, seed=seed)


def train_by(spec: SystemSpec, settings: Any, ratings: Ratings, *, seed: int) -> BatchScorer:
    """Train a system whose settings are checked, in one thread of native libraries."""
    with single_threaded():
        return spec.make(ratings, settings, seed=seed)


def require_memory(name: str, settings: Mapping[str, Any], ratings: Ratings) -> int:
    """Give the bytes that training a system takes, about."""
    spec, checked = find_system(name), read_settings(name, settings)
    if spec.need is None:
        return 0
    need = spec.need(ratings, checked)
    allowed = checked.model_dump()["max_gigabytes"]
    if need.n_bytes > allowed * 1e9:
        raise InputError(
            f"system {spec.name!r} needs about {need.n_bytes / 1e9:.1f} GB ({need.why}), above the "
            f"limit of {allowed} GB; raise its setting 'max_gigabytes' or leave the system out."
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
    own: Sparse | None = None,
) -> Run:
    """Rank, for every user, all items with training ratings that the user has not rated.

    This is the protocol known as AllItems; with the items of the test part as candidates, it is
    TestItems (Bellogín, Castells & Cantador, RecSys 2011). Equal scores are settled by
    :func:`runs.top_items`; items that the system cannot score are left out, so a list may be short.

    Parameters
    ----------
    scorer
        A trained system.
    train
        The ratings it was trained on.
    users
        Numbers of the users, of shape (n_lists,).
    system
        Name of the run.
    depth
        Length of the lists.
    candidates
        Mask over the items, of shape (n_items,): those that may be recommended; all by default.
    own
        Marks, of shape (n_lists, n_items), what alone may be recommended to each user.

    Returns
    -------
    The run, whose row t belongs to ``users[t]``.
    """
    allowed = allowed_items(train, candidates)
    rated = train.matrix()
    items = np.empty((len(users), depth), dtype=np.int32)
    with single_threaded():
        for block in row_blocks(len(users), row_bytes=4 * len(train.items)):
            if own is not None:
                scores = np.where(own[block].toarray(), scorer.score_batch(users[block]), -np.inf)
            elif isinstance(scorer, BestScorer):
                scores = scorer.score_best(users[block], allowed, depth=depth)
            else:
                scores = scorer.score_batch(users[block])
            hide(scores, allowed, rated[users[block]])
            items[block] = top_items(scores, depth=depth)
    return Run(system, items)
