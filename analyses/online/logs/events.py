"""Events: what users did with items, of whichever type, as the log of a site has it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runs import Numbering


@dataclass(frozen=True, eq=False)
class Events:
    """Interactions as columns, in the order of the log.

    Users and items are those of the slates, so that both can be matched; types have names, such as
    "view" and "purchase". All columns have the shape (n_events,): numbers, int32; milliseconds
    since 1970 in UTC, int64; what each is worth for training, float64; and the number of the list
    that led to it by its own account, int64, -1 for none (None if the log never says).
    """

    users: Numbering
    items: Numbering
    types: tuple[str, ...]
    user: NDArray[np.int32]
    item: NDArray[np.int32]
    type: NDArray[np.int32]
    time: NDArray[np.int64]
    value: NDArray[np.float64]
    slate: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.user)
