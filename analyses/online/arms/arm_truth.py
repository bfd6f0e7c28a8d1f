"""The truth of an experiment: what each arm earns, without the noise of clicks and users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Truth:
    """Exact click-through rates, of the models and of what was shown.

    Of models, as if every arm had served everybody: everyone who came in a period counts once, in
    all arms, with the list that the arm's model makes from their profile at the beginning of the
    period; over the hours, rates are weighted by traffic. Models compare without chance and on
    equal terms. Of what was shown, lists count by their exact chances: that is what click-through
    rates from the log estimate, and it is lower where users have used up what their arm has for
    them. Robots count for neither.

    Parameters
    ----------
    arms
        Label of the first axis.
    rates
        Of models: mean chance of at least one click in a list, of shape (n_arms, n_periods); NaN
        for an arm that draws its lists.
    clicks
        Of models: mean clicks in a list, alike.
    shown_rates
        Of what was shown: mean chance of at least one click in a list, of shape
        (n_arms, n_periods); NaN where nothing was.
    n_users
        People who came, of shape (n_periods,).
    """

    arms: tuple[str, ...]
    rates: Floats
    clicks: Floats
    shown_rates: Floats
    n_users: NDArray[np.int64]

    def over_time(self) -> tuple[Floats, Floats]:
        """Give means of rates and of clicks over periods, by people, of shape (n_arms,) each."""
        shares = self.n_users / self.n_users.sum()
        return (self.rates * shares).sum(axis=1), (self.clicks * shares).sum(axis=1)

    def to_frame(self) -> pd.DataFrame:
        """One row per arm and period.

        Columns arm, period (from 1), users (who came, to any arm), rate, clicks_per_slate and
        shown_rate.
        """
        import pandas as pd

        n_arms, n_periods = self.rates.shape
        return pd.DataFrame(
            {
                "arm": np.repeat(self.arms, n_periods),
                "period": np.tile(np.arange(1, n_periods + 1), n_arms),
                "users": np.tile(self.n_users, n_arms),
                "rate": self.rates.ravel(),
                "clicks_per_slate": self.clicks.ravel(),
                "shown_rate": self.shown_rates.ravel(),
            }
        )
