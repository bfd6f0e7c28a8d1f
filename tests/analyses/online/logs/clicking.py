"""Implicit clicks as their definition reads, one interaction after the other."""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.acceptance import Credit
from analyses.online.logs.slates import Slates


def clicks_by_loops(
    slates: Slates,
    *,
    user: NDArray[np.int32],
    item: NDArray[np.int32],
    time: NDArray[np.int64],
    window: int,
    credit: Credit,
) -> list[bool]:
    """Walk over interactions and, for each, over all places that show its item to its user."""
    places: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place, slate in enumerate(slates.slate):
        places[slates.user[slate], slates.item[place]].append(place)
    clicked = [False] * len(slates.item)
    for event in zip(user, item, time, strict=True):
        shown = {place: slates.time[slates.slate[place]] for place in places[event[:2]]}
        near = [place for place, t in shown.items() if t <= event[2] <= t + window]
        if credit == "last" and near:
            near = [max(near, key=lambda place: (shown[place], place))]
        for place in near:
            clicked[place] = True
    return clicked
