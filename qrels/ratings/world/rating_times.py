"""When the ratings of a simulated world are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DAY = 86_400
OPENING = 946_684_800
CLOSING = OPENING + 3 * 365 * DAY


def rating_times(
    user: NDArray[np.int32],
    item: NDArray[np.int32],
    counts: NDArray[np.intp],
    n_items: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw the second of each rating.

    Nine in ten items are there from the opening, the others appear over the three years, and so do
    the users. A user comes back at an interval of their own, 1 to 60 days, and rates about 30
    items per session, one every half minute; an item that was not out yet waits for the first
    session after it is.
    """
    joined = rng.uniform(OPENING, CLOSING, len(counts))
    interval = DAY * 60.0 ** rng.random(len(counts))
    released = np.maximum(OPENING, rng.uniform(10 * OPENING - 9 * CLOSING, CLOSING, n_items))
    n_sessions = np.minimum(np.ceil(counts / 30), 1 + (CLOSING - joined) // interval)
    planned = np.floor(n_sessions[user] * rng.random(len(user)))
    possible = np.ceil((released[item] - joined[user]) / interval[user])
    session = np.maximum(planned, possible)
    elapsed = 30.0 * _sizes(user, session) * rng.random(len(user))
    return (joined[user] + session * interval[user] + elapsed).astype(np.int64)


def _sizes(user: NDArray[np.int32], session: NDArray[np.float64]) -> NDArray[np.intp]:
    """Count, for each rating, the ratings of its session."""
    keys = user * (session.max() + 1.0) + session
    _, found, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return sizes[found]
