"""Training a system by name, and ranking all candidate items for every user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recommenders.shared.memory import refuse_above
from recommenders.shared.register import find_system, read_settings
from recommenders.shared.scorers import BestScorer
from recommenders.shared.sparse import row_of_entry
from recommenders.shared.system import not_installed
from runs import InputError, Run, top_items

if TYPE_CHECKING:
    from qrels import Ratings
    from recommenders.shared.scorers import BatchScorer
    from recommenders.shared.system import SystemSpec

BLOCK_BYTES = 64 * 2**20
BLOCK_USERS = 512


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

    Raises
    ------
    InputError
        If the name or a setting is wrong, there are no ratings, the system would need more
        memory than allowed, or LensKit is not installed.
    """
    spec, checked = find_system(name), read_settings(name, settings)
    if len(ratings) == 0:
        raise InputError(f"system {name!r} cannot be trained: there are no training ratings.")
    _require_memory(spec, checked, ratings)
    try:
        with threadpool_limits(1):
            return spec.make(ratings, checked, seed=seed)
    except ModuleNotFoundError as error:
        raise not_installed(name, error) from error


def require_memory(name: str, settings: Mapping[str, Any], ratings: Ratings) -> int:
    """Give the bytes that training a system takes, about.

    Raises
    ------
    InputError
        If they are more than the system's setting ``max_gigabytes`` allows.
    """
    return _require_memory(find_system(name), read_settings(name, settings), ratings)


def _require_memory(spec: SystemSpec, settings: Any, ratings: Ratings) -> int:
    if spec.need is None:
        return 0
    need = spec.need(ratings, settings)
    refuse_above(settings.max_gigabytes, need, system=spec.name)
    return need.n_bytes


def recommend(
    scorer: BatchScorer,
    train: Ratings,
    users: NDArray[np.int32],
    *,
    system: str,
    depth: int,
    candidates: NDArray[np.bool_] | None = None,
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

    Returns
    -------
    The run, whose row t belongs to ``users[t]``.
    """
    trained = train.item_counts() > 0
    allowed = trained if candidates is None else trained & candidates
    rated = train.matrix()
    items = np.empty((len(users), depth), dtype=np.int32)
    with threadpool_limits(1):
        for block in user_blocks(len(users), n_items=len(train.items)):
            scores = _scores(scorer, users[block], allowed, depth=depth)
            scores[:, ~allowed] = -np.inf
            own = rated[users[block]]
            scores[row_of_entry(own), own.indices] = -np.inf
            items[block] = top_items(scores, depth=depth)
    return Run(system, items)


def _scores(
    scorer: BatchScorer, users: NDArray[np.int32], allowed: NDArray[np.bool_], *, depth: int
) -> NDArray[np.float32]:
    """Score all items, or those that may be recommended where the system can tell them."""
    if isinstance(scorer, BestScorer):
        return scorer.score_best(users, allowed, depth=depth)
    return scorer.score_batch(users)


def user_blocks(n_users: int, *, n_items: int) -> Iterator[slice]:
    """Cut the users so that a block of float32 scores keeps within the budget.

    Examples
    --------
    >>> list(user_blocks(1000, n_items=40_000))
    [slice(0, 419, None), slice(419, 838, None), slice(838, 1257, None)]
    """
    size = min(BLOCK_USERS, max(1, BLOCK_BYTES // (4 * max(n_items, 1))))
    return (slice(start, start + size) for start in range(0, n_users, size))
