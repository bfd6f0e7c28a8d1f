"""Click-through rates of the arms of an experiment, and whether users were split as planned.

The unit of all errors and tests is the user: lists of one user are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from analyses.ordering.agreement import ratio_or_nan
from analyses.shared.limits import NORMAL_QUANTILE
from analyses.shared.measure import pair_labels
from analyses.significance.corrections import holm
from analyses.significance.permutation import pair_indices
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd

OverTime = Literal["pooled", "thesis"]

TAIL: Final = 0.025
"""Probability beyond either end of an interval."""

MISMATCH_LEVEL: Final = 0.001
"""p-value of the split of the users below which no winner is named."""


def rates_of(cells: pd.DataFrame, *, over_time: OverTime) -> pd.Series:
    """Compute the click-through rate of each arm over all periods, indexed by arm.

    ``cells``: columns users, lists and accepted (lists), indexed by arm and period. It is the mean
    of the rates of the periods, weighted by users ("thesis"), or all accepted lists over all lists
    ("pooled").
    """
    if over_time == "thesis":
        weights = cells["users"]
        weighted = cells["users"] * cells["accepted"] / cells["lists"]
    else:
        weights = cells["lists"]
        weighted = cells["accepted"]
    totals = weights.groupby(level="arm").sum()
    return weighted.groupby(level="arm").sum() / totals


def click_through(
    counts: pd.DataFrame, arms: Sequence[str], *, over_time: OverTime = "pooled"
) -> pd.DataFrame:
    r"""Estimate the click-through rate of every arm, and its error.

    With :math:`n_u` lists shown to user u, :math:`y_u` of them accepted and U users,

    .. math:: R = \frac{\sum_u y_u}{\sum_u n_u}, \qquad
        \mathrm{var}(R) = \frac{U}{U - 1} \frac{\sum_u (y_u - R n_u)^2}{(\sum_u n_u)^2}.

    Over time this is R over all periods (``"pooled"``), or the mean of the R of the periods,
    weighted by the number of the arm's users in them (``"thesis"``; Kasalický 2021, equation 2.7),
    which gives a user with one list the weight of one with a thousand. Where nothing is accepted,
    or everything, the interval is that of Clopper and Pearson (1934), as if lists were independent.

    Counts have the columns user, arm (its number), period, lists and accepted, a row for each user
    and period; a user has one arm. The result has the columns arm, users, lists, accepted, rate
    (missing where nothing was shown), error (missing where there is one user), low and high (95 %),
    a row for each arm.
    """
    cells = counts.groupby(["arm", "period"]).agg(
        users=("user", "size"), lists=("lists", "sum"), accepted=("accepted", "sum")
    )
    rates = rates_of(cells, over_time=over_time)
    sums = cells.groupby("arm").sum()
    # The derivative of the rate with respect to the weight of each user, by arm and user.
    by_user = _user_influences(counts, cells, rates, over_time=over_time)
    by_arm = by_user.groupby("arm").agg(
        users="size", squares=lambda user_influences: (user_influences**2).sum()
    )
    by_arm = by_arm.join(sums[["lists", "accepted"]]).assign(rate=rates)
    by_arm = by_arm.reindex(range(len(arms)))
    result = by_arm[["users", "lists", "accepted"]].fillna(0).astype(np.int64)
    n_users = result["users"]
    n_lists = result["lists"]
    n_accepted = result["accepted"]
    # NaN where there is one user.
    divisors = (n_users - 1).where(n_users > 1)
    variances = (by_arm["squares"] * n_users / divisors).to_numpy()
    # A normal interval as long as the exact one where none or all of n lists are accepted, which
    # is 1 - .025^(1/n) long.
    least_lists = n_lists.clip(lower=1)
    exact_length = -np.expm1(np.log(TAIL) / least_lists)
    exact_error = exact_length / NORMAL_QUANTILE
    is_extreme = (n_accepted == 0) | (n_accepted == n_lists)
    exact_variances = np.where(is_extreme, exact_error**2, 0.0)
    errors = np.sqrt(np.maximum(variances, exact_variances))
    rate = by_arm["rate"].to_numpy()
    half_widths = NORMAL_QUANTILE * errors
    low = np.maximum(rate - half_widths, 0.0)
    high = np.minimum(rate + half_widths, 1.0)
    result = result.assign(rate=rate, error=errors, low=low, high=high)
    result.insert(0, "arm", [*arms])
    return result.reset_index(drop=True)


def _user_influences(
    counts: pd.DataFrame, cells: pd.DataFrame, rates: pd.Series, *, over_time: OverTime
) -> pd.Series:
    """Compute the influence of each user on the rate of his arm, indexed by arm and user.

    It is the derivative of the rate with respect to the user's weight; the influences of an arm add
    up to 0. ``counts``: columns user, arm, period, lists and accepted, a row for each user and
    period; ``cells``: sums of users, lists and accepted, indexed by arm and period; ``rates``: of
    the arms, indexed by arm, as averaged over time.
    """
    rows = counts.merge(cells.reset_index(), on=["arm", "period"], suffixes=("", "_all"))
    sums = cells.groupby("arm").sum()
    arm_rates = rows["arm"].map(rates)
    if over_time == "pooled":
        excess = rows["accepted"] - arm_rates * rows["lists"]
        influences = excess / rows["arm"].map(sums["lists"])
    else:
        cell_rates = rows["accepted_all"] / rows["lists_all"]
        excess = rows["accepted"] - cell_rates * rows["lists"]
        within_cell = excess / rows["lists_all"]
        change = rows["users"] * within_cell + cell_rates - arm_rates
        influences = change / rows["arm"].map(sums["users"])
    # Periods of one user are added up.
    return influences.groupby([rows["arm"], rows["user"]]).sum()


def differences(rates: pd.DataFrame) -> pd.DataFrame:
    """Compare the rates of all pairs of arms, from `click_through`; a row for each pair.

    Columns arm_a, arm_b, difference (a less b), error, low, high (95 %), p (two-sided, of the
    difference divided by its error as a normal deviate) and p_holm (adjusted for the number of
    pairs, which the intervals are not). Numbers are missing where a rate or an error is; p is where
    the error is 0, too. A single arm has no rows.
    """
    import pandas as pd
    from scipy.special import ndtr

    first, second = pair_indices(len(rates))
    rate = rates["rate"].to_numpy()
    error = rates["error"].to_numpy()
    difference = rate[first] - rate[second]
    variances = error**2
    errors = np.sqrt(variances[first] + variances[second])
    half_widths = NORMAL_QUANTILE * errors
    z = ratio_or_nan(np.abs(difference), errors)
    p = 2 * ndtr(-z)
    p_holm = holm(p) if len(p) else p
    pairs = pd.DataFrame(pair_labels([*rates["arm"]], "arm_a", "arm_b"))
    low = difference - half_widths
    high = difference + half_widths
    return pairs.assign(difference=difference, error=errors, low=low, high=high, p=p, p_holm=p_holm)


def planned_shares(arms: Sequence[str], shares: Mapping[str, float] | None) -> list[float]:
    """Scale the planned share of each arm to a sum of 1, in the order of the arms.

    Shares are equal if nothing is planned.

    Refuse, with InputError, shares of other arms, and numbers that are not positive and finite.
    """
    if shares is None:
        shares = dict.fromkeys(arms, 1.0)
    are_positive = all(0 < share < np.inf for share in shares.values())
    if {*shares} != {*arms} or not are_positive:
        rule = f"`shares` must be one positive number for each of {', '.join(arms)}"
        raise InputError(f"{rule}, got {shares}.")
    total = sum(shares.values())
    return [shares[arm] / total for arm in arms]


def sample_ratio(
    first_lists: pd.DataFrame, arms: Sequence[str], shares: Sequence[float]
) -> pd.DataFrame:
    """Test whether users came to the arms in the planned shares, overall and day by day.

    The columns arm (its number) and day (since 1970) are those of the first list of every user, so
    that days are independent, and an arm that makes its users come back is not accused. Shares are
    those of the arms, with the sum 1. See Fabijan et al. (2019), Diagnosing sample ratio mismatch
    in online controlled experiments.

    The result has one row for all users, then one per day: day ("all" first), users and percentage
    for each arm, chi_square, degrees_of_freedom, p, p_holm (of days: adjusted for the number of
    days) and mismatch (whether that is < .001).
    """
    import pandas as pd
    from scipy.stats import chisquare

    daily = pd.crosstab(first_lists["day"], first_lists["arm"])
    daily = daily.reindex(columns=range(len(arms)), fill_value=0)
    # (1 + n_days, n_arms): all users, then those of each day.
    counts = np.vstack([daily.sum(), daily])
    totals = counts.sum(axis=1, keepdims=True)
    expected = totals * np.array(shares)
    statistics, p = chisquare(counts, expected, axis=1)
    p_of_days = holm(p[1:])
    adjusted = np.concatenate([p[:1], p_of_days])
    percentages = 100 * counts / totals
    dates = daily.index.to_numpy().astype("datetime64[D]")
    days = np.datetime_as_string(dates)
    columns: dict[str, Any] = {"day": ["all", *days.tolist()]}
    for number, arm in enumerate(arms):
        columns[f"users_{arm}"] = counts[:, number]
    for number, arm in enumerate(arms):
        columns[f"percent_{arm}"] = percentages[:, number]
    columns["chi_square"] = statistics
    columns["degrees_of_freedom"] = len(arms) - 1
    columns["p"] = p
    columns["p_holm"] = adjusted
    columns["mismatch"] = adjusted < MISMATCH_LEVEL
    return pd.DataFrame(columns)
