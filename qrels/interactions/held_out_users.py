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

    References
    ----------
    Kasalický (2021), (1.24).
    """
    ids = interactions.users.ids
    words = id_hashes(ids, f"test users {seed}")
    fit = interactions.distinct_item_counts() >= min_items
    drawn = np.flatnonzero(fit & (words * 2.0**-64 < share))
    if len(drawn) == 0:
        raise InputError(
            f"there is no test user: of {len(ids)} users {np.count_nonzero(fit)} have at least "
            f"{min_items} distinct items, of whom a share of {share:g} was drawn."
        )
    lowest = np.argsort(words[drawn], kind="stable")[:max_users]
    return Numbering(ids[np.sort(drawn[lowest])])


def split_users(events: Interactions, test_ids: Numbering) -> tuple[Interactions, Interactions]:
    """Part the events of test users from those of everybody else, who may have come later."""
    tested = (test_ids.numbers(events.users.ids) >= 0)[events.user]
    return events.select(~tested), events.select(tested)
