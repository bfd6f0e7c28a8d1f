"""The truth of a simulated experiment: what the click-through rates of its log estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.rates import OverTime, rates_of

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Truth:
    """Expected click-through rates of the lists that were shown.

    It is what the rates of the log estimate, with the same users and lists, and chances in place of
    clicks: not what a model would earn that served everybody, which is another quantity, since
    users use up what their own arm has for them.

    Users who were shown lists, lists, and the sum of their chances of a click or more are of shape
    (n_arms, n_periods).
    """

    arms: tuple[str, ...]
    users: Floats
    slates: Floats
    expected: Floats

    def rates(self, over_time: OverTime) -> Floats:
        """Give the expected rate of every arm over all periods, of shape (n_arms,)."""
        return rates_of(np.stack([self.users, self.slates, self.expected]), over_time=over_time)

    def to_frame(self) -> pd.DataFrame:
        """One row per arm and period (from 1): arm, period, users, slates and expected_rate."""
        import pandas as pd

        n_arms, n_periods = self.slates.shape
        shown = self.slates > 0
        rates = np.divide(self.expected, self.slates, out=np.full(shown.shape, np.nan), where=shown)
        return pd.DataFrame(
            {
                "arm": np.repeat(self.arms, n_periods),
                "period": np.tile(np.arange(1, n_periods + 1), n_arms),
                "users": self.users.astype(np.int64).ravel(),
                "slates": self.slates.astype(np.int64).ravel(),
                "expected_rate": rates.ravel(),
            }
        )
