"""Whether a log may be believed: users who stay in their arm, lists that nobody saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.rates import ClickThrough, click_through, with_limits
from analyses.online.clicks.tallies import tally
from analyses.online.logs.slates import Flags

if TYPE_CHECKING:
    import pandas as pd

Crossing = Literal["exclude", "first"]


@dataclass(frozen=True, eq=False)
class Stickiness:
    """Who was shown lists, by which arm first and when, and who by another arm, too.

    Numbers of the users, rising; the rest by user, all of shape (n_users,).
    """

    users: NDArray[np.int64]
    first_arm: NDArray[np.int64]
    first_time: NDArray[np.int64]
    crossed: Flags

    def select(self, kept: Flags) -> Stickiness:
        """Keep some users."""
        return Stickiness(*(column[kept] for column in vars(self).values()))

    def settle(
        self, user: NDArray[np.integer], *, crossing: Crossing
    ) -> tuple[Flags, NDArray[np.int64]]:
        """Say which lists count, and for which arm, both of shape (n_slates,).

        Of users who saw two arms, lists do not count (``"exclude"``), or they all do for the first
        arm, whichever showed them (``"first"``).
        """
        row = np.searchsorted(self.users, user)
        counts = ~self.crossed[row] if crossing == "exclude" else np.ones(len(user), dtype=np.bool_)
        return counts, self.first_arm[row]


def stickiness(
    user: NDArray[np.integer], arm: NDArray[np.integer], time: NDArray[np.int64]
) -> Stickiness:
    """Find the first arm of every user, and who saw others; from columns of shape (n_slates,).

    Of lists shown at one time, the one that stands first is the first.
    """
    order = np.lexsort((time, user))
    users, heads = np.unique(user[order], return_index=True)
    firsts = order[heads]
    row = np.searchsorted(users, user)
    crossed = np.zeros(len(users), dtype=np.bool_)
    crossed[row[arm != arm[firsts][row]]] = True
    return Stickiness(
        users.astype(np.int64), arm[firsts].astype(np.int64), time[firsts].astype(np.int64), crossed
    )


@dataclass(frozen=True, eq=False)
class Placebo:
    """Rates of lists that were shown, of others that were not, and of the difference.

    The excess is the rate that showing the lists made, as far as the placebo tells; its errors know
    that both come from the same users.
    """

    shown: ClickThrough
    placebo: ClickThrough
    excess: ClickThrough

    def to_frame(self) -> pd.DataFrame:
        """One row per arm: arm, rate, placebo, excess, its error, low and high (95 %, by users)."""
        import pandas as pd

        return pd.DataFrame(
            {
                "arm": self.shown.arms,
                "rate": self.shown.rates,
                "placebo": self.placebo.rates,
                "excess": self.excess.rates,
                **with_limits(self.excess.rates, self.excess.errors),
            }
        )

    def caption(self) -> str:
        """Say what the placebo is."""
        return (
            "Click-through rates beside those of a placebo: other lists for the same users and "
            "times, which were not shown. The excess is their difference, with 95 % intervals over "
            "users."
        )


def placebo(
    accepted: Flags,
    by_chance: Flags,
    *,
    user: NDArray[np.integer],
    arm: NDArray[np.integer],
    arms: Sequence[str],
) -> Placebo:
    """Compare lists with others that could have been shown to the same users at the same times.

    Accepted lists, those of the others that would have been, users and arms are of shape
    (n_slates,). An item that both hold is accepted in both, so that the excess is that of what they
    do not share.
    """
    of: dict[str, Any] = {"user": user, "arm": arm, "arms": arms}
    shown, others = (click_through(tally(credits, **of)) for credits in (accepted, by_chance))
    more = accepted.astype(np.int64) - by_chance
    return Placebo(shown, others, click_through(tally(more, **of), exact=False))
