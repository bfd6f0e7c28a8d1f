"""Sample-ratio mismatch: whether users were put into the arms in the shares that were planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.checks import Stickiness
from analyses.online.logs.slates import MILLISECONDS_PER_DAY
from analyses.shared.drawing import axes_or_new, chosen_panel
from analyses.shared.estimate import REACH
from analyses.significance.corrections import holm
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

ALARM: Final = 0.001
"""p-value below which no winner should be named."""


@dataclass(frozen=True, eq=False)
class SampleRatio:
    """Users per arm against the planned shares.

    Planned shares add up to 1, and counts are users, both of shape (n_arms,). Daily counts are of
    users by the day of their first list, of shape (n_days, n_arms).
    """

    arms: tuple[str, ...]
    shares: Floats
    counts: NDArray[np.int64]
    days: NDArray[np.str_]
    daily: NDArray[np.int64]

    @property
    def p(self) -> float:
        """p-value of all users."""
        return float(chi_square(self.counts, self.shares)[1])

    @property
    def mismatch(self) -> bool:
        """Whether users are not where they were planned to be: then no winner is named."""
        return self.p < ALARM

    def to_frame(self) -> pd.DataFrame:
        """One row for all users, then one per day.

        Columns day ("all" first), one of users for each arm, chi_square, degrees_of_freedom, p,
        p_holm (of days: adjusted for the number of days) and mismatch (whether that is < .001).
        """
        import pandas as pd

        counts = np.concatenate([self.counts[None], self.daily])
        statistics, p = chi_square(counts, self.shares)
        adjusted = np.concatenate([p[:1], holm(p[1:])])
        users = {f"users_{arm}": counts[:, number] for number, arm in enumerate(self.arms)}
        return pd.DataFrame(
            {
                "day": ["all", *self.days.tolist()],
                **users,
                "chi_square": statistics,
                "degrees_of_freedom": len(self.arms) - 1,
                "p": p,
                "p_holm": adjusted,
                "mismatch": adjusted < ALARM,
            }
        )

    def plot(self, ax: Axes | None = None, *, arm: str | None = None) -> Axes:
        """Draw an arm's share of each day's new users, as a multiple of what was planned.

        The band is where 95 % of such shares would be, by chance.
        """
        axes, number = axes_or_new(ax), chosen_panel(self.arms, arm)
        places, new = np.arange(len(self.days)), self.daily.sum(axis=1, keepdims=True)
        ratios = self.daily / (new * self.shares)
        reaches = REACH * np.sqrt((1 / self.shares - 1) / new)
        reach = reaches[:, number]
        axes.fill_between(places, 1 - reach, 1 + reach, color="#DDDDDD", linewidth=0)
        axes.plot(places, ratios[:, number], color="#0072B2", linewidth=1.4)
        # The same in all panels, so that none is cut off.
        axes.set_ylim(0, 1.05 * max(ratios.max(), 1 + reaches.max()))
        axes.set_title(self.arms[number])
        axes.set_xlabel("day")
        axes.set_ylabel("share of new users / planned")
        return axes

    def caption(self) -> str:
        """Say what was tested and what was found."""
        verdict = (
            "The users are NOT split as planned (p < .001): find out why before naming a winner."
            if self.mismatch
            else "Nothing speaks against the planned split."
        )
        return (
            f"Chi-square test of {int(self.counts.sum()):,} users in {len(self.arms)} arms against "
            f"the planned shares: p = {self.p:.2g}. {verdict} Users are counted in the arm and on "
            "the day of their first list; p-values of days are adjusted by Holm's method."
        )


def sample_ratio(
    users: Stickiness,
    *,
    arms: Sequence[str],
    shares: Mapping[str, float] | None = None,
) -> SampleRatio:
    """Test whether users came to the arms in the planned shares, overall and day by day.

    Users are tested and never lists: lists of one user are not independent. A user counts on the
    day of the first list alone, so that days are independent, and an arm that makes its users
    come back is not accused.

    Shares are planned ones by arm, in any unit; equal ones by default. Days are those of UTC.

    Raises
    ------
    InputError
        If there are fewer than two arms, or not one positive share for each.

    Notes
    -----
    Fabijan et al. (2019), Diagnosing sample ratio mismatch in online controlled experiments.
    """
    planned = _planned(arms, shares)
    dates, day = np.unique(users.first_time // MILLISECONDS_PER_DAY, return_inverse=True)
    days = np.datetime_as_string(dates.astype("datetime64[D]"))
    cells = day * len(arms) + users.first_arm
    daily = np.bincount(cells, minlength=len(days) * len(arms)).reshape(-1, len(arms))
    return SampleRatio(tuple(arms), planned, daily.sum(axis=0), days, daily)


def _planned(arms: Sequence[str], shares: Mapping[str, float] | None) -> Floats:
    if len(arms) < 2:
        raise InputError(f"a sample ratio needs two arms or more, got {len(arms)}.")
    if shares is None:
        return np.full(len(arms), 1 / len(arms))
    if {*shares} != {*arms} or not all(0 < share < np.inf for share in shares.values()):
        known = ", ".join(arms)
        raise InputError(f"`shares` must be one positive number for each of {known}, got {shares}.")
    planned = np.array([shares[arm] for arm in arms], dtype=np.float64)
    return planned / planned.sum()


def chi_square(counts: NDArray[np.integer], shares: Floats) -> tuple[Floats, Floats]:
    """Test counts, (..., n_arms), against shares, (n_arms,), by Pearson's chi-square.

    Examples
    --------
    10 and 20 where 15 and 15 were planned: 25/15 + 25/15.

    >>> statistic, p = chi_square(np.array([10, 20]), np.array([0.5, 0.5]))
    >>> round(float(statistic), 4), round(float(p), 4)
    (3.3333, 0.0679)
    """
    from scipy.stats import chisquare

    found = chisquare(counts, counts.sum(axis=-1, keepdims=True) * shares, axis=-1)
    return np.asarray(found.statistic), np.asarray(found.pvalue)
