"""Arms of an experiment: who gets which model, and that its lists are lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.online.simulation.arms.logging_policy import LoggingPolicy
from harness.online.simulation.arms.served_models import Model, Recommender
from runs import InputError, Numbering
from runs.shared.streams import id_hashes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Lists = NDArray[np.int32]


@dataclass(frozen=True)
class Arm:
    """What some of the users are served.

    Parameters
    ----------
    name
        Its name in the log.
    model
        What makes its lists.
    weight
        How many users it gets, relative to the weights of others.
    """

    name: str
    model: Model | LoggingPolicy
    weight: float = 1.0


def require_arms(arms: Sequence[Arm]) -> None:
    """Refuse no arms, equal names, and weights that are not positive."""
    names = [arm.name for arm in arms]
    if not names:
        raise InputError("an experiment needs an arm, got none.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"names of arms must differ, got {twice!r} twice.")
    for arm in arms:
        if not 0 < arm.weight < np.inf:
            raise InputError(f"the weight of an arm must be positive, got {arm.weight}.")


def assign(users: Numbering, shares: Floats, *, salt: str) -> NDArray[np.int32]:
    """Put users into arms by a hash of salt and id, which is the same on every machine.

    Shares of the arms add up to 1; where a user goes does not depend on the others. Arms are of
    shape (n_users,).

    Examples
    --------
    >>> assign(Numbering.of(["ann", "bob", "cid"]), np.array([0.5, 0.5]), salt="")
    array([0, 0, 1], dtype=int32)
    """
    luck = id_hashes(users.ids, f"assignment {salt}") * 2.0**-64
    arms = np.searchsorted(np.cumsum(shares), luck, side="right")
    return np.minimum(arms, len(shares) - 1).astype(np.int32)


def recommended(model: Recommender, profiles: csr_array[Any], *, depth: int, arm: str) -> Lists:
    """Ask a model for lists of shape (n, depth), and check them.

    Raises
    ------
    InputError
        If the lists of the arm's model are short, or hold an unknown item, an item twice, or one
        of the profile.
    """
    lists = model.recommend(profiles, depth=depth)
    n_users, n_items = profiles.shape
    who = f"the model of arm {arm!r}"
    if lists.shape != (n_users, depth):
        raise InputError(f"{who} must give lists of shape {(n_users, depth)}, got {lists.shape}.")
    if lists.size and not 0 <= lists.min() <= lists.max() < n_items:
        raise InputError(
            f"{who} must fill lists of {depth} with items from 0 to {n_items - 1}, got "
            f"{lists.min() if lists.min() < 0 else lists.max()}."
        )
    rising = np.sort(lists, axis=1)
    if (rising[:, 1:] == rising[:, :-1]).any():
        raise InputError(f"{who} must not list an item twice.")
    row = np.repeat(np.arange(n_users), np.diff(profiles.indptr))
    known = np.isin(np.arange(n_users)[:, None] * n_items + lists, row * n_items + profiles.indices)
    if known.any():
        raise InputError(f"{who} must not list what the user has interacted with.")
    return lists
