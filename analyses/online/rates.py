"""Click-through rates of the arms of an experiment, and whether users were split as planned.

The unit of all errors and tests is the user: lists of one user are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.shared.estimate import REACH
from analyses.significance.corrections import holm
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
OverTime = Literal["pooled", "thesis"]

TAIL: Final = 0.025
"""Chance beyond either end of an interval."""

ALARM: Final = 0.001
"""p-value of the split of the users below which no winner is named."""


@dataclass(frozen=True, eq=False)
class UserCounts:
    """Lists shown and accepted, one row for each user and period that has any.

    Users, each in one arm, arms and periods are numbers; all columns are of shape (n_rows,).
    """

    arms: tuple[str, ...]
    n_periods: int
    user: Ints
    arm: Ints
    period: Ints
    n_lists: Ints
    n_accepted: Ints

    @classmethod
    def of(
        cls,
        accepted: NDArray[np.bool_],
        *,
        user: NDArray[np.integer],
        arm: NDArray[np.integer],
        arms: Sequence[str],
        period: NDArray[np.integer] | int = 0,
        n_periods: int = 1,
    ) -> UserCounts:
        """Count lists, whose columns are of shape (n_lists,)."""
        keys = (user.astype(np.int64) * len(arms) + arm) * n_periods + period
        rows, row = np.unique(keys, return_inverse=True)
        pairs, when = np.divmod(rows, n_periods)
        n_lists = np.bincount(row, minlength=len(rows))
        n_accepted = np.bincount(row[accepted], minlength=len(rows))
        return cls(tuple(arms), n_periods, *np.divmod(pairs, len(arms)), when, n_lists, n_accepted)

    def in_period(self, number: int) -> UserCounts:
        """Keep the rows of one period."""
        kept = self.period == number
        columns = {n: c[kept] for n, c in vars(self).items() if isinstance(c, np.ndarray)}
        return replace(self, **columns | {"n_periods": 1, "period": 0 * columns["period"]})


@dataclass(frozen=True, eq=False)
class ClickThrough:
    """Click-through rates of arms, which have no users in common.

    Users who were shown lists, lists shown and accepted, rates (NaN for an arm that showed nothing)
    and their standard errors over users (NaN for an arm with one user) are of shape (n_arms,).
    """

    arms: tuple[str, ...]
    n_users: Ints
    n_lists: Ints
    n_accepted: Ints
    rates: Floats
    errors: Floats

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Ends of 95 % intervals, in [0, 1]."""
        reach = REACH * self.errors
        return np.maximum(self.rates - reach, 0.0), np.minimum(self.rates + reach, 1.0)

    def to_frame(self) -> pd.DataFrame:
        """Give arm, users, lists, accepted, rate, error, low and high (95 %), a row per arm."""
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
            }
        )

    def differences(self) -> pd.DataFrame:
        """Give one row per pair of arms.

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


def click_through(counts: UserCounts, *, over_time: OverTime = "pooled") -> ClickThrough:
    r"""Estimate the click-through rate of every arm, and its error.

    With :math:`n_u` lists shown to user u, :math:`y_u` of them accepted and U users,

    .. math:: R = \frac{\sum_u y_u}{\sum_u n_u}, \qquad
        \mathrm{var}(R) = \frac{U}{U - 1} \frac{\sum_u (y_u - R n_u)^2}{(\sum_u n_u)^2}.

    Over time this is R over all periods (``"pooled"``), or the mean of the R of the periods,
    weighted by the number of the arm's users in them (``"thesis"``; Kasalický 2021, equation 2.7),
    which gives a user with one list the weight of one with a thousand. Where nothing is accepted,
    or everything, the interval is that of Clopper and Pearson (1934), as if lists were independent.
    """
    n_arms = len(counts.arms)
    cell, n_cells = counts.arm * counts.n_periods + counts.period, n_arms * counts.n_periods
    columns = (None, counts.n_lists, counts.n_accepted)
    sums = np.array([np.bincount(cell, column, n_cells) for column in columns], dtype=np.float64)
    sums = sums.reshape(3, n_arms, -1)
    n_lists, n_accepted = sums[1:].sum(axis=2).astype(np.int64)
    users, row = np.unique(counts.user, return_inverse=True)
    arm_of_user = np.zeros(len(users), dtype=np.int64)
    arm_of_user[row] = counts.arm
    n_users = np.bincount(arm_of_user, minlength=n_arms)
    # Periods of one user are added up.
    of_user = np.bincount(row, _influences(counts, sums, over_time))
    variances = np.bincount(arm_of_user, of_user**2, n_arms) * _ratio(n_users, n_users - 1)
    # A normal interval as long as the exact one where none or all of n lists are accepted, which
    # is 1 - .025^(1/n) long.
    longest = -np.expm1(np.log(TAIL) / np.maximum(n_lists, 1))
    is_constant = (n_accepted == 0) | (n_accepted == n_lists)
    exact = np.where(is_constant, (longest / REACH) ** 2, 0.0)
    errors = np.sqrt(np.maximum(variances, exact))
    rates = rates_of(sums, over_time=over_time)
    return ClickThrough(counts.arms, n_users, n_lists, n_accepted, rates, errors)


def rates_of(sums: Floats, *, over_time: OverTime) -> Floats:
    """Turn sums over users into rates, of shape (n_arms, ...); NaN without lists.

    Sums are of users, lists shown and lists accepted, of shape (3, n_arms, n_periods, ...).
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
        return (counts.n_accepted - overall * counts.n_lists) / shown.sum(axis=1)[arm]
    rates = _ratio(accepted, shown)[arm, period]
    within = (counts.n_accepted - rates * counts.n_lists) / shown[arm, period]
    return (users[arm, period] * within + rates - overall) / users.sum(axis=1)[arm]


@dataclass(frozen=True, eq=False)
class SampleRatio:
    """Users per arm against the planned shares, which add up to 1, of shape (n_arms,).

    Daily counts are of users by the day of their first list, of shape (n_days, n_arms).
    """

    arms: tuple[str, ...]
    shares: Floats
    days: NDArray[np.str_]
    daily: Ints

    def to_frame(self) -> pd.DataFrame:
        """Give one row for all users, then one per day.

        Columns day ("all" first), users and percentage for each arm, chi_square,
        degrees_of_freedom, p, p_holm (of days: adjusted for the number of days) and mismatch
        (whether that is < .001).
        """
        import pandas as pd
        from scipy.stats import chisquare

        counts = np.vstack([self.daily.sum(axis=0), self.daily])
        totals = counts.sum(axis=1, keepdims=True)
        statistics, p = chisquare(counts, totals * self.shares, axis=1)
        adjusted = np.concatenate([p[:1], holm(p[1:])])
        columns = {f"users_{arm}": counts[:, n] for n, arm in enumerate(self.arms)}
        portions = 100 * counts / totals
        columns |= {f"percent_{arm}": portions[:, n] for n, arm in enumerate(self.arms)}
        return pd.DataFrame(
            {
                "day": ["all", *self.days.tolist()],
                **columns,
                "chi_square": statistics,
                "degrees_of_freedom": len(self.arms) - 1,
                "p": p,
                "p_holm": adjusted,
                "mismatch": adjusted < ALARM,
            }
        )


def sample_ratio(
    arm: NDArray[np.integer],
    day: NDArray[np.integer],
    *,
    arms: Sequence[str],
    shares: Mapping[str, float] | None = None,
) -> SampleRatio:
    """Test whether users came to the arms in the planned shares, overall and day by day.

    The arm and the day (in days since 1970) of every user are those of the first list, (n_users,),
    so that days are independent, and an arm that makes its users come back is not accused. Shares
    are planned ones by arm, in any unit; equal ones by default. See Fabijan et al. (2019),
    Diagnosing sample ratio mismatch in online controlled experiments.
    """
    planned = np.ones(len(arms))
    if shares is not None:
        if {*shares} != {*arms} or not all(0 < share < np.inf for share in shares.values()):
            rule = f"`shares` must be one positive number for each of {', '.join(arms)}"
            raise InputError(f"{rule}, got {shares}.")
        planned = np.array([shares[name] for name in arms], dtype=np.float64)
    dates, row = np.unique(day, return_inverse=True)
    daily = np.bincount(row * len(arms) + arm, minlength=len(dates) * len(arms))
    days = np.datetime_as_string(dates.astype("datetime64[D]"))
    return SampleRatio(tuple(arms), planned / planned.sum(), days, daily.reshape(-1, len(arms)))
