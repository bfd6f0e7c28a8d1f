"""Test users, drawn once and never trained on."""

from __future__ import annotations

import numpy as np

from qrels.interactions.interactions import Interactions
from runs import InputError, Numbering
from runs.shared.streams import id_hashes


def draw_test_users(
    interactions: Interactions,
    *,
    share: float = 0.1,
    max_users: int = 100_000,
    min_items: int = 2,
    seed: int,
) -> Numbering:
    r"""Draw the users that models are tested on.

    A hash of seed and id gives every user a number in [0, 1); tested are those below ``share``
    with enough items, and of these the ``max_users`` with the lowest numbers. So whether a user is
    drawn does not depend on who else there is, as long as no more than ``max_users`` are.

    Parameters
    ----------
    interactions
        Events of all users.
    share
        Share of the users with enough items who are drawn, in (0, 1].
    max_users
        Maximum number of test users.
    min_items
        Number of distinct items that a test user has at least.
    seed
        Random seed.

    Returns
    -------
    The ids of the test users.

    Raises
    ------
    InputError
        If no user is drawn.

    References
    ----------
    Kasalický (2021), (1.24).
    """
    ids = interactions.users.ids
    # 64-bit whole numbers, one for each user.
    words = id_hashes(ids, f"test users {seed}")
    uniforms = words * 2.0**-64
    has_enough_items = interactions.distinct_item_counts() >= min_items
    candidates = np.flatnonzero(has_enough_items & (uniforms < share))
    if len(candidates) == 0:
        n_enough = np.count_nonzero(has_enough_items)
        raise InputError(
            f"there is no test user: of {len(ids)} users {n_enough} have at least {min_items} "
            f"distinct items, of whom a share of {share:g} was drawn."
        )
    lowest = np.argsort(words[candidates], kind="stable")[:max_users]
    test_users = np.sort(candidates[lowest])
    return Numbering(ids[test_users])


def split_users(events: Interactions, test_ids: Numbering) -> tuple[Interactions, Interactions]:
    """Divide events into those of other users (to train on), and those of test users.

    Both parts number users and items as ``events`` does. Test users may lack events; ids that
    ``events`` does not hold are ignored.
    """
    is_test_user = test_ids.numbers(events.users.ids) >= 0
    is_of_test_user = is_test_user[events.user]
    return events.select(~is_of_test_user), events.select(is_of_test_user)
