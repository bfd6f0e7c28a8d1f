"""Click-through rates of the arms of an experiment, and whether users were split as planned.

The unit of all errors and tests is the user: lists of one user are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

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
"""Chance beyond either end of an interval."""

ALARM: Final = 0.001
"""p-value of the split of the users below which no winner is named."""


def rates_of(cells: pd.DataFrame, *, over_time: OverTime) -> pd.Series:
    """Give the rate of each arm, from users, lists and accepted lists by arm and period."""
    weight, found = cells["lists"], cells["accepted"]
    if over_time == "thesis":
        weight, found = cells["users"], cells["users"] * cells["accepted"] / cells["lists"]
    return found.groupby(level="arm").sum() / weight.groupby(level="arm").sum()


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
    and period; a user has one arm. Given are arm, users, lists, accepted, rate (missing where
    nothing was shown), error (missing where there is one user), low and high (95 %), a row per arm.
    """
    keys = ["arm", "period"]
    cells = counts.groupby(keys).agg(
        users=("user", "size"), lists=("lists", "sum"), accepted=("accepted", "sum")
    )
    rates, sums = rates_of(cells, over_time=over_time), cells.groupby("arm").sum()
    # By how much each row, if it counted more, would move the rate of its arm.
    rows = counts.merge(cells.reset_index(), on=keys, suffixes=("", "_all"))
    of_arm = rows["arm"].map(rates)
    if over_time == "pooled":
        moved = (rows["accepted"] - of_arm * rows["lists"]) / rows["arm"].map(sums["lists"])
    else:
        of_cell = rows["accepted_all"] / rows["lists_all"]
        within = (rows["accepted"] - of_cell * rows["lists"]) / rows["lists_all"]
        moved = (rows["users"] * within + of_cell - of_arm) / rows["arm"].map(sums["users"])
    # Periods of one user are added up.
    of_users = moved.groupby([rows["arm"], rows["user"]]).sum()
    found = of_users.groupby("arm").agg(users="size", squares=lambda each: (each**2).sum())
    found = found.join(sums[["lists", "accepted"]]).assign(rate=rates)
    found = found.reindex(range(len(arms)))
    counted = found[["users", "lists", "accepted"]].fillna(0).astype(np.int64)
    users, lists, accepted = counted["users"], counted["lists"], counted["accepted"]
    variances = (found["squares"] * users / (users - 1).where(users > 1)).to_numpy()
    # A normal interval as long as the exact one where none or all of n lists are accepted, which
    # is 1 - .025^(1/n) long.
    longest = -np.expm1(np.log(TAIL) / lists.clip(lower=1)) / NORMAL_QUANTILE
    exact = np.where((accepted == 0) | (accepted == lists), longest**2, 0.0)
    errors, rate = np.sqrt(np.maximum(variances, exact)), found["rate"].to_numpy()
    low, high = (
        np.maximum(rate - NORMAL_QUANTILE * errors, 0.0),
        np.minimum(rate + NORMAL_QUANTILE * errors, 1.0),
    )
    counted = counted.assign(rate=rate, error=errors, low=low, high=high)
    counted.insert(0, "arm", [*arms])
    return counted.reset_index(drop=True)


def differences(rates: pd.DataFrame) -> pd.DataFrame:
    """Give one row per pair of arms, from `click_through`.

    Columns arm_a, arm_b, difference (a less b), error, low, high (95 %), p (two-sided, of the
    difference divided by its error as a normal deviate) and p_holm (adjusted for the number of
    pairs, which the intervals are not).
    """
    import pandas as pd
    from scipy.special import ndtr

    first, second = pair_indices(len(rates))
    rate, error = rates["rate"].to_numpy(), rates["error"].to_numpy()
    difference = rate[first] - rate[second]
    errors = np.sqrt(error[first] ** 2 + error[second] ** 2)
    p = 2 * ndtr(-ratio_or_nan(np.abs(difference), errors))
    return pd.DataFrame(pair_labels([*rates["arm"]], "arm_a", "arm_b")).assign(
        difference=difference,
        error=errors,
        low=difference - NORMAL_QUANTILE * errors,
        high=difference + NORMAL_QUANTILE * errors,
        p=p,
        p_holm=holm(p) if len(p) else p,
    )


def planned_shares(arms: Sequence[str], shares: Mapping[str, float] | None) -> list[float]:
    """Give the planned share of each arm; equal ones if nothing is planned."""
    shares = dict.fromkeys(arms, 1.0) if shares is None else shares
    if {*shares} != {*arms} or not all(0 < share < np.inf for share in shares.values()):
        rule = f"`shares` must be one positive number for each of {', '.join(arms)}"
        raise InputError(f"{rule}, got {shares}.")
    return [shares[arm] / sum(shares.values()) for arm in arms]


def sample_ratio(
    firsts: pd.DataFrame, arms: Sequence[str], shares: Sequence[float]
) -> pd.DataFrame:
    """Test whether users came to the arms in the planned shares, overall and day by day.

    The columns arm (its number) and day (since 1970) are those of the first list of every user, so
    that days are independent, and an arm that makes its users come back is not accused. See Fabijan
    et al. (2019), Diagnosing sample ratio mismatch in online controlled experiments.

    Given is one row for all users, then one per day: day ("all" first), users and percentage for
    each arm, chi_square, degrees_of_freedom, p, p_holm (of days: adjusted for the number of days)
    and mismatch (whether that is < .001).
    """
    import pandas as pd
    from scipy.stats import chisquare

    daily = pd.crosstab(firsts["day"], firsts["arm"])
    daily = daily.reindex(columns=range(len(arms)), fill_value=0)
    counts = np.vstack([daily.sum(), daily])
    totals = counts.sum(axis=1, keepdims=True)
    statistics, p = chisquare(counts, totals * np.array(shares), axis=1)
    adjusted, portions = np.concatenate([p[:1], holm(p[1:])]), 100 * counts / totals
    days = np.datetime_as_string(daily.index.to_numpy().astype("datetime64[D]"))
    return pd.DataFrame(
        {
            "day": ["all", *days.tolist()],
            **{f"users_{arm}": counts[:, n] for n, arm in enumerate(arms)},
            **{f"percent_{arm}": portions[:, n] for n, arm in enumerate(arms)},
            "chi_square": statistics,
            "degrees_of_freedom": len(arms) - 1,
            "p": p,
            "p_holm": adjusted,
            "mismatch": adjusted < ALARM,
        }
    )
