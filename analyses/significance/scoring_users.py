"""Systems that few users tell apart from a constant, by which the bootstrap errs too often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyses.shared.sentences import MOST_NAMED, listed, plural
from analyses.significance.bootstrap_max_t import MIN_DIFFERING_USERS
from runs.shared.arrays import Floats, Numbers
from runs.shared.errors import counted

MIN_SCORING_USERS = 5
"""Of a system with fewer users whose score is not its most common one, differences err too often.

See docs/methods/tests.md.
"""


def count_scoring_users(values: Floats) -> Numbers:
    """Count for each system the users whose score is not its most common score.

    Scores are of shape (n_measures, n_systems, n_users), the result of (n_measures, n_systems).
    """
    n_users = values.shape[2]
    counts = np.empty(values.shape[:2], dtype=np.intp)
    for measure, system in np.ndindex(*counts.shape):
        _, n_by_score = np.unique(values[measure, system], return_counts=True)
        counts[measure, system] = n_users - n_by_score.max()
    return counts


def few_user_cautions(
    n_scoring_users: Numbers,
    *,
    measures: Sequence[str],
    systems: Sequence[str],
    n_users: int,
    unit: str,
) -> list[str]:
    """Write that there are too few users for the max-T bootstrap, or for the means of some systems.

    With fewer than 10 users (`MIN_DIFFERING_USERS`) it tells no systems apart, and nothing else is
    written. Means are uncertain of systems with fewer than 5 users (`MIN_SCORING_USERS`) in
    ``n_scoring_users``, of shape (n_measures, n_systems), as `count_scoring_users` counts them; of
    such systems the first 5 (`MOST_NAMED`) are named. ``unit`` is "user" or "topic".
    """
    if n_users < MIN_DIFFERING_USERS:
        return [
            f"{counted(n_users, unit)} are too few for the bootstrap: with fewer than "
            f"{MIN_DIFFERING_USERS}, max-T tells no systems apart."
        ]
    cautions = []
    for measure, n_by_system in zip(measures, n_scoring_users, strict=True):
        sparse = np.flatnonzero(n_by_system < MIN_SCORING_USERS)
        if len(sparse) == 0:
            continue
        names = [systems[system] for system in sparse[:MOST_NAMED]]
        if len(sparse) > MOST_NAMED:
            names.append(f"{len(sparse) - MOST_NAMED:,} others")
        cautions.append(
            f"Under {measure}, max-T is uncertain for {listed(names)}: fewer than "
            f"{MIN_SCORING_USERS} {plural(unit)} have another score than the most common one. In "
            "simulations with such systems, up to 23 % of the studies found a difference between "
            "equal means, not 5 %."
        )
    return cautions
