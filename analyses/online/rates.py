"""Click-through rates of the arms of an experiment, with intervals whose unit is the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.shared.drawing import axes_or_new
from analyses.shared.spreads import REACH
from analyses.significance.corrections import holm

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
OverTime = Literal["pooled", "thesis"]

TAIL: Final = 0.025
"""Chance beyond either end of an interval."""


@dataclass(frozen=True, eq=False)
class UserCounts:
    """Lists shown and accepted, one row for each user and period that has any.

    Every user is in one arm. Users, arms and periods are numbers, the latter two of the names
    given; all columns are int64 of shape (n_rows,), sorted by user and period.
    """

    arms: tuple[str, ...]
    periods: tuple[str, ...]
    user: NDArray[np.int64]
    arm: NDArray[np.int64]
    period: NDArray[np.int64]
    n_lists: NDArray[np.int64]
    n_accepted: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        accepted: NDArray[np.bool_],
        *,
        user: NDArray[np.integer],
        arm: NDArray[np.integer],
        arms: Sequence[str],
        period: NDArray[np.integer] | None = None,
        periods: Sequence[str] = ("all",),
    ) -> UserCounts:
        """Count lists, whose columns are of shape (n_lists,)."""
        keys = (user.astype(np.int64) * len(arms) + arm) * len(periods)
        rows, row = np.unique(keys if period is None else keys + period, return_inverse=True)
        pairs, when = np.divmod(rows, len(periods))
        users, own = np.divmod(pairs, len(arms))
        n_lists = np.bincount(row, minlength=len(rows))
        n_accepted = np.bincount(row[accepted], minlength=len(rows))
        return cls(tuple(arms), tuple(periods), users, own, when, n_lists, n_accepted)

    def sums(self) -> Floats:
        """Add up users, lists shown and lists accepted, of shape (3, n_arms, n_periods)."""
        shape = (len(self.arms), len(self.periods))
        cell = self.arm * shape[1] + self.period
        columns = (None, self.n_lists, self.n_accepted)
        sums = [np.bincount(cell, column, minlength=shape[0] * shape[1]) for column in columns]
        return np.array(sums, dtype=np.float64).reshape(3, *shape)

    def in_period(self, number: int) -> UserCounts:
        """Keep the rows of one period."""
        kept = self.period == number
        columns = {n: c[kept] for n, c in vars(self).items() if isinstance(c, np.ndarray)}
        columns["period"] = np.zeros_like(columns["period"])
        return replace(self, periods=(self.periods[number],), **columns)


@dataclass(frozen=True, eq=False)
class ClickThrough:
    """Click-through rates of arms.

    Users who were shown lists, lists shown and accepted, rates (NaN for an arm that showed
    nothing), their standard errors over users (NaN for an arm with one user), and means over users
    of the rate of each user's own lists are of shape (n_arms,). Arms have no users in common.
    """

    arms: tuple[str, ...]
    over_time: OverTime
    n_users: NDArray[np.int64]
    n_lists: NDArray[np.int64]
    n_accepted: NDArray[np.int64]
    rates: Floats
    errors: Floats
    means_of_users: Floats

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Ends of 95 % intervals, in [0, 1]: exact ones where no list or every list is accepted."""
        reach = REACH * self.errors
        return np.maximum(self.rates - reach, 0.0), np.minimum(self.rates + reach, 1.0)

    def to_frame(self) -> pd.DataFrame:
        """One row per arm.

        Columns arm, users, lists, accepted, rate, error, low, high (95 %, delta method over users;
        by Clopper and Pearson where none or all are accepted), mean_of_users and over_time.
        """
        import pandas as pd

        low, high = self.limits
        return pd.DataFrame(
            {
                "arm": self.arms,
                "users": self.n_users,
                "lists": self.n_lists,
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

        Columns arm_a, arm_b, difference (a less b), error, low, high (95 %), p (two-sided, of the
        difference divided by its error as a normal deviate) and p_holm (adjusted for the number of
        pairs, which the intervals are not).
        """
        import pandas as pd
        from scipy.special import ndtr

        pairs = np.array([*combinations(range(len(self.arms)), 2)], dtype=np.intp)
        a, b = pairs.reshape(-1, 2).T
        differences = self.rates[a] - self.rates[b]
        errors = np.sqrt(self.errors[a] ** 2 + self.errors[b] ** 2)
        p = 2 * ndtr(-_ratio(np.abs(differences), errors))
        return pd.DataFrame(
            {
                "arm_a": [self.arms[number] for number in a],
                "arm_b": [self.arms[number] for number in b],
                "difference": differences,
                "error": errors,
                "low": differences - REACH * errors,
                "high": differences + REACH * errors,
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


def click_through(counts: UserCounts, *, over_time: OverTime = "pooled") -> ClickThrough:
    r"""Estimate the click-through rate of every arm, and its error.

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

    >>> accepted, user = np.array([True, False, False, False]), np.array([0, 1, 1, 1])
    >>> found = click_through(UserCounts.of(accepted, user=user, arm=0 * user, arms=["A"]))
    >>> found.rates.tolist(), found.means_of_users.tolist(), found.errors.round(4).tolist()
    ([0.25], [0.5], [0.375])
    """
    sums, n_arms = counts.sums(), len(counts.arms)
    n_lists, n_accepted = sums[1:].sum(axis=2).astype(np.int64)
    users, row = np.unique(counts.user, return_inverse=True)
    arm_of_user = np.zeros(len(users), dtype=np.int64)
    arm_of_user[row] = counts.arm
    n_users = np.bincount(arm_of_user, minlength=n_arms)
    own = _ratio(np.bincount(row, counts.n_accepted), np.bincount(row, counts.n_lists))
    # Periods of one user are added up.
    of_user = np.bincount(row, _influences(counts, sums, over_time))
    squares = np.bincount(arm_of_user, of_user**2, minlength=n_arms)
    variances = squares * _ratio(n_users, n_users - 1)
    # A normal interval as long as the exact one where none or all of n lists are accepted, which
    # is 1 - .025^(1/n) long.
    longest = -np.expm1(np.log(TAIL) / np.maximum(n_lists, 1))
    is_constant = (n_accepted == 0) | (n_accepted == n_lists)
    exact = np.where(is_constant, (longest / REACH) ** 2, 0.0)
    return ClickThrough(
        arms=counts.arms,
        over_time=over_time,
        n_users=n_users,
        n_lists=n_lists,
        n_accepted=n_accepted,
        rates=rates_of(sums, over_time=over_time),
        errors=np.sqrt(np.maximum(variances, exact)),
        means_of_users=_ratio(np.bincount(arm_of_user, own, minlength=n_arms), n_users),
    )


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


def _ratio(numerator: NDArray[np.number], denominator: NDArray[np.number]) -> Floats:
    missing = np.full(np.shape(numerator), np.nan)
    return np.divide(numerator, denominator, out=missing, where=denominator > 0)


def _influences(counts: UserCounts, sums: Floats, over_time: OverTime) -> Floats:
    """By how much each row, if it counted more, would move the rate of its arm; (n_rows,)."""
    users, shown, accepted = sums
    arm, period = counts.arm, counts.period
    overall = rates_of(sums, over_time=over_time)[arm]
    if over_time == "pooled":
        excess = counts.n_accepted - overall * counts.n_lists
        return excess / shown.sum(axis=1)[arm]
    rates = _ratio(accepted, shown)[arm, period]
    within = (counts.n_accepted - rates * counts.n_lists) / shown[arm, period]
    of_period = users[arm, period] * within + rates - overall
    return of_period / users.sum(axis=1)[arm]
