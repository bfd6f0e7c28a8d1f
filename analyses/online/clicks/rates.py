"""Click-through rates of the arms of an experiment, with intervals whose unit is the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.tallies import Tallies
from analyses.shared.drawing import axes_or_new
from analyses.shared.estimate import REACH
from analyses.significance.corrections import holm

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
OverTime = Literal["pooled", "thesis"]

TAIL: Final = 0.025
"""Chance beyond either end."""


@dataclass(frozen=True, eq=False)
class ClickThrough:
    """Click-through rates of arms.

    Users who were shown lists, lists shown and accepted, and rates (NaN for an arm that showed
    nothing) are of shape (n_arms,), as are means over users of the rate of each user's own lists,
    of which a robot counts as one. Covariances of the rates, (n_arms, n_arms), are by the delta
    method over users: outside the diagonal not 0 where arms share users, NaN for an arm with one.
    """

    arms: tuple[str, ...]
    over_time: OverTime
    n_users: NDArray[np.int64]
    n_slates: NDArray[np.int64]
    n_accepted: NDArray[np.int64]
    rates: Floats
    covariances: Floats
    means_of_users: Floats

    @property
    def errors(self) -> Floats:
        """Standard errors by users, of shape (n_arms,)."""
        return np.sqrt(np.diag(self.covariances))

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Ends of 95 % intervals, in [0, 1]: exact ones where no list or every list is accepted."""
        reach = REACH * self.errors
        return np.maximum(self.rates - reach, 0.0), np.minimum(self.rates + reach, 1.0)

    def to_frame(self) -> pd.DataFrame:
        """One row per arm.

        Columns arm, users, slates, accepted, rate, error, low, high (95 %, delta method over users;
        by Clopper and Pearson where none or all are accepted), mean_of_users and over_time.
        """
        import pandas as pd

        low, high = self.limits
        return pd.DataFrame(
            {
                "arm": self.arms,
                "users": self.n_users,
                "slates": self.n_slates,
                "accepted": self.n_accepted,
                "rate": self.rates,
                "error": self.errors,
                "low": low,
                "high": high,
                "mean_of_users": self.means_of_users,
                "over_time": self.over_time,
            }
        )

    def differences(self) -> pd.DataFrame:
        """One row per pair of arms.

        Columns arm_a, arm_b, difference (a less b), error, low, high (95 %, delta method), p
        (two-sided, of the difference divided by its error as a normal deviate) and p_holm (adjusted
        for the number of pairs, which the intervals are not).
        """
        import pandas as pd
        from scipy.special import ndtr

        pairs = np.array([*combinations(range(len(self.arms)), 2)], dtype=np.intp)
        a, b = pairs.reshape(-1, 2).T
        differences = self.rates[a] - self.rates[b]
        variances = np.diag(self.covariances)
        both = variances[a] + variances[b] - 2 * self.covariances[a, b]
        errors = np.sqrt(np.maximum(both, 0.0))
        p = 2 * ndtr(-_ratio(np.abs(differences), errors))
        return pd.DataFrame(
            {
                "arm_a": [self.arms[number] for number in a],
                "arm_b": [self.arms[number] for number in b],
                "difference": differences,
                **with_limits(differences, errors),
                "p": p,
                "p_holm": holm(p) if len(p) else p,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates, the highest on top, with their intervals and the mean of users."""
        axes = axes_or_new(ax)
        order = np.argsort(self.rates)
        places, (low, high) = np.arange(len(order)), (end[order] for end in self.limits)
        rates = self.rates[order]
        axes.errorbar(rates, places, xerr=[rates - low, high - rates], fmt="o", label="rate")
        axes.plot(self.means_of_users[order], places + 0.15, "o", mfc="none", label="mean of users")
        axes.set_yticks(places, [self.arms[number] for number in order])
        axes.set_xlabel("click-through rate")
        axes.legend(loc="lower right", frameon=False, fontsize="small")
        return axes

    def caption(self) -> str:
        """Say what the rates and their intervals are."""
        how = (
            "accepted lists divided by lists shown"
            if self.over_time == "pooled"
            else "the mean of the periods' rates, weighted by the arm's users in each period"
        )
        return (
            f"Click-through rates of {len(self.arms)} arms: {how}. 95 % intervals by the delta "
            f"method over {int(self.n_users.sum()):,} users, who are the independent units."
        )


def with_limits(values: Floats, errors: Floats) -> dict[str, Floats]:
    """Give the columns error, low and high: standard errors, and ends of 95 % intervals."""
    return {
        "error": errors,
        "low": values - REACH * errors,
        "high": values + REACH * errors,
    }


def click_through(tallies: Tallies, *, over_time: OverTime = "pooled") -> ClickThrough:
    r"""Estimate the click-through rate of every arm, and how sure it is.

    With :math:`n_u` lists shown to user u, :math:`y_u` of them accepted and U users,

    .. math:: R = \frac{\sum_u y_u}{\sum_u n_u}, \qquad
        \mathrm{var}(R) = \frac{U}{U - 1} \frac{\sum_u (y_u - R n_u)^2}{(\sum_u n_u)^2}.

    Over time this is R over all periods (``"pooled"``), or the mean of the R of the periods,
    weighted by the number of the arm's users in them (``"thesis"``; Kasalický 2021, equation 2.7),
    which gives a user with one list the weight of one with a thousand. Where nothing is accepted,
    or everything, the interval is that of Clopper and Pearson (1934), as if lists were independent.

    Examples
    --------
    Two users of one arm accept 1 of 1 and 0 of 3 lists: R = 1/4, and the users lie 3/4 off:

    >>> one = np.zeros(4, dtype=int)
    >>> from analyses.online.clicks.tallies import tally
    >>> counts = tally(np.array([1, 0, 0, 0]), user=np.array([0, 1, 1, 1]), arm=one, arms=["A"])
    >>> found = click_through(counts)
    >>> found.rates.tolist(), found.means_of_users.tolist(), found.errors.round(4).tolist()
    ([0.25], [0.5], [0.375])
    """
    sums = tallies.sums()
    n_users, means_of_users = _of_users(tallies)
    covariances = _covariances(tallies, _influences(tallies, sums, over_time), n_users)
    least = _exact_variances(tallies)
    np.fill_diagonal(covariances, np.maximum(np.diag(covariances), least))
    return ClickThrough(
        arms=tallies.arms,
        over_time=over_time,
        n_users=n_users,
        n_slates=sums[1].sum(axis=1).astype(np.int64),
        n_accepted=sums[2].sum(axis=1).astype(np.int64),
        rates=rates_of(sums, over_time=over_time),
        covariances=covariances,
        means_of_users=means_of_users,
    )


def click_through_by_period(tallies: Tallies) -> Mapping[str, ClickThrough]:
    """Estimate the rates in each period, by its name."""
    return {
        name: click_through(tallies.in_period(number))
        for number, name in enumerate(tallies.periods)
    }


def rates_of(sums: Floats, *, over_time: OverTime) -> Floats:
    """Turn sums over users into rates, of shape (n_arms, ...); NaN without lists.

    Sums are of users, lists shown and lists accepted, of shape (3, n_arms, n_periods, ...).

    Examples
    --------
    3 users accept 1 of 10 lists in the first period, 1 user 1 of 2 in the second:

    >>> sums = np.array([[[3.0, 1.0]], [[10.0, 2.0]], [[1.0, 1.0]]])
    >>> rates_of(sums, over_time="pooled").round(4), rates_of(sums, over_time="thesis")
    (array([0.1667]), array([0.2]))
    """
    users, shown, accepted = sums
    if over_time == "pooled":
        return _ratio(accepted.sum(axis=1), shown.sum(axis=1))
    # A period in which the arm showed nothing has no users, and so no weight.
    weighted = np.where(users > 0, users * _ratio(accepted, shown), 0.0)
    return _ratio(weighted.sum(axis=1), users.sum(axis=1))


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


def _ratio(numerator: NDArray[np.number], denominator: NDArray[np.number]) -> Floats:
    missing = np.full(np.shape(numerator), np.nan)
    return np.divide(numerator, denominator, out=missing, where=denominator > 0)


def _of_users(tallies: Tallies) -> tuple[NDArray[np.int64], Floats]:
    """Count the users of each arm, and average their own rates."""
    n_arms = len(tallies.arms)
    pairs, row = np.unique(tallies.user * n_arms + tallies.arm, return_inverse=True)
    shown, accepted = (np.bincount(row, c) for c in (tallies.n_slates, tallies.n_accepted))
    n_users = np.bincount(pairs % n_arms, minlength=n_arms)
    return n_users, _ratio(
        np.bincount(pairs % n_arms, _ratio(accepted, shown), minlength=n_arms), n_users
    )


def _influences(tallies: Tallies, sums: Floats, over_time: OverTime) -> Floats:
    """By how much each row, if it counted more, would move the rate of its arm; (n_rows,)."""
    users, shown, accepted = sums
    arm, period = tallies.arm, tallies.period
    overall = rates_of(sums, over_time=over_time)[arm]
    if over_time == "pooled":
        excess = tallies.n_accepted - overall * tallies.n_slates
        return excess / shown.sum(axis=1)[arm]
    rates = _ratio(accepted, shown)[arm, period]
    within = (tallies.n_accepted - rates * tallies.n_slates) / shown[arm, period]
    of_period = users[arm, period] * within + rates - overall
    return of_period / users.sum(axis=1)[arm]


def _covariances(tallies: Tallies, influences: Floats, n_users: NDArray[np.int64]) -> Floats:
    """Add up products of the influences of users, of shape (n_arms, n_arms)."""
    from scipy.sparse import csr_array

    users, row = np.unique(tallies.user, return_inverse=True)
    shape = (len(users), len(tallies.arms))
    # Periods of one user and arm fall together here, and are added.
    by_user = csr_array((influences, (row, tallies.arm)), shape=shape)
    corrections = np.sqrt(_ratio(n_users, n_users - 1))
    products: Floats = (by_user.T @ by_user).toarray()
    return products * corrections[:, None] * corrections


def _exact_variances(tallies: Tallies) -> Floats:
    """Give the variance where none of an arm's lists, or all of them, are accepted; else 0.

    It is that of a normal interval as long as the exact one: 1 - .025^(1/n) for n lists.
    """
    n_arms = len(tallies.arms)
    touched, missed = (
        np.bincount(tallies.arm, some, minlength=n_arms)
        for some in (tallies.n_accepted != 0, tallies.n_accepted != tallies.n_slates)
    )
    shown = np.bincount(tallies.arm, tallies.n_slates, minlength=n_arms)
    longest = -np.expm1(np.log(TAIL) / np.maximum(shown, 1))
    return np.where((touched == 0) | (missed == 0), (longest / REACH) ** 2, 0.0)
