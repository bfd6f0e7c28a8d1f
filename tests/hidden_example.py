"""Three users and six items whose hidden ranks were found by hand, and generated likes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import MISS, HiddenRanks
from runs import Numbering

PAIRS = {
    (0, 1): 0.5,
    (0, 2): 0.25,
    (1, 2): 0.25,
    (1, 3): 0.5,
    (2, 4): 0.75,
    (3, 4): 0.25,
    (3, 5): 0.25,
    (0, 5): 0.125,
}
PROFILES = ((0, 1, 2), (3, 4), (1, 4, 5, 0))
TRAIN_COUNTS = np.array([4, 3, 2, 1, 1, 0])
RANK_LOO = [1, 1, 1, 2, 2, 2, MISS, 3, 3]
RANK_LLOO = [MISS, 1, 1, MISS, 2, MISS, MISS, MISS, 3]


def similarity() -> csr_array[Any]:
    dense = np.zeros((6, 6))
    for (one, other), value in PAIRS.items():
        dense[one, other] = dense[other, one] = value
    return csr_array(dense)


def numbered(n: int) -> Numbering:
    return Numbering(np.array([f"{number:05d}" for number in range(n)], dtype=np.str_))


def events_of(
    profiles: Sequence[Sequence[int]], *, n_items: int, times: Sequence[Sequence[int]] | None = None
) -> Interactions:
    """Give each user these items, one after the other or at these times."""
    moments = times or [range(len(profile)) for profile in profiles]
    user = [number for number, profile in enumerate(profiles) for _ in profile]
    return Interactions.of(
        numbered(len(profiles)),
        numbered(n_items),
        user=user,
        item=[item for profile in profiles for item in profile],
        time=[time for of_user in moments for time in of_user],
    )


def golden_events() -> Interactions:
    return events_of(PROFILES, n_items=6)


def golden_ranks() -> HiddenRanks:
    return HiddenRanks(
        golden_events(),
        np.array(RANK_LOO, dtype=np.uint16),
        np.array(RANK_LLOO, dtype=np.uint16),
        deepest=50,
    )


@st.composite
def similarities(draw: st.DrawFn, *, lowest: int = 0) -> NDArray[np.float64]:
    """Quarters, so that many sums tie; rows without neighbours; entries on the diagonal."""
    n_items = draw(st.integers(2, 9))
    quarters = st.lists(st.integers(lowest, 3), min_size=n_items**2, max_size=n_items**2)
    linked = draw(st.lists(st.booleans(), min_size=n_items, max_size=n_items))
    table = np.array(draw(quarters)).reshape(n_items, n_items) / 4
    return table * np.array(linked)[:, np.newaxis]


@st.composite
def histories(draw: st.DrawFn, *, n_items: int) -> Interactions:
    """Events of up to four users: repeats, equal times, users without any."""
    event = st.tuples(st.integers(0, 3), st.integers(0, n_items - 1), st.integers(0, 5))
    drawn = draw(st.lists(event, min_size=1, max_size=25))
    user, item, time = np.array(drawn).T
    return Interactions.of(numbered(4), numbered(n_items), user=user, item=item, time=time)


@st.composite
def ranked_histories(draw: st.DrawFn) -> HiddenRanks:
    """Ranks that need not come of a model; without a profile an item is a miss."""
    events = draw(histories(n_items=6))
    hidden = events.select(events.is_first)
    rank = st.one_of(st.integers(1, 60), st.just(MISS))
    columns = st.lists(rank, min_size=len(hidden), max_size=len(hidden))
    loo, lloo = (np.array(draw(columns), dtype=np.uint16) for _ in range(2))
    past = HiddenRanks(hidden, loo, lloo, deepest=50).has_past
    lloo[(lloo > 50) | ~past] = MISS
    alone = (np.bincount(hidden.user, minlength=4) == 1)[hidden.user]
    loo[alone] = MISS
    return HiddenRanks(hidden, loo, lloo, deepest=50)
