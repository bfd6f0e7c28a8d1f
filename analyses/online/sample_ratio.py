"""Sample-ratio mismatch: whether users were put into the arms in the shares that were planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.shared.drawing import axes_or_new, chosen_panel
from analyses.shared.estimate import REACH
from analyses.significance.corrections import holm
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

ALARM: Final = 0.001
"""p-value below which no winner is named."""


@dataclass(frozen=True, eq=False)
class SampleRatio:
    """Users per arm against the planned shares.

    Planned shares add up to 1, and counts are users, both of shape (n_arms,). Daily counts are of
    users by the day of their first list, of shape (n_days, n_arms).
    """

    arms: tuple[str, ...]
    shares: Floats
    days: NDArray[np.str_]
    daily: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Users per arm."""
        return self.daily.sum(axis=0)

    @property
    def p(self) -> float:
        """p-value of all users."""
        return float(chi_square(self.counts, self.shares)[1])

    @property
    def mismatch(self) -> bool:
        """Whether users are not where they were planned to be."""
        return self.p < ALARM

    def to_frame(self) -> pd.DataFrame:
        """One row for all users, then one per day.

        Columns day ("all" first), users and percentage for each arm, chi_square,
        degrees_of_freedom, p, p_holm (of days: adjusted for the number of days) and mismatch
        (whether that is < .001).
        """
        import pandas as pd

        counts = np.concatenate([self.counts[None], self.daily])
        statistics, p = chi_square(counts, self.shares)
        adjusted = np.concatenate([p[:1], holm(p[1:])])
        portions = 100 * counts / counts.sum(axis=1, keepdims=True)
        users = {f"users_{arm}": counts[:, number] for number, arm in enumerate(self.arms)}
        portion = {f"percent_{arm}": portions[:, number] for number, arm in enumerate(self.arms)}
        return pd.DataFrame(
            {
                "day": ["all", *self.days.tolist()],
                **users,
                **portion,
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
            else "The split agrees with the plan."
        )
        return (
            f"Chi-square test of {int(self.counts.sum()):,} users in {len(self.arms)} arms against "
            f"the planned shares: p = {self.p:.2g}. {verdict} Users are counted in the arm and on "
            "the day of their first list; p-values of days are adjusted by Holm's method."
        )


def sample_ratio(
    arm: NDArray[np.integer],
    day: NDArray[np.integer],
    *,
    arms: Sequence[str],
    shares: Mapping[str, float] | None = None,
) -> SampleRatio:
    """Test whether users came to the arms in the planned shares, overall and day by day.

    Users are tested and never lists: lists of one user are not independent. The arm and the day (in
    days since 1970) of every user are those of the first list, (n_users,), so that days are
    independent, and an arm that makes its users come back is not accused. Shares are planned ones
    by arm, in any unit; equal ones by default.

    Raises
    ------
    InputError
        If there are fewer than two arms, or not one positive share for each.

    Notes
    -----
    Fabijan et al. (2019), Diagnosing sample ratio mismatch in online controlled experiments.
    """
    if len(arms) < 2:
        raise InputError(f"a sample ratio needs two arms or more, got {len(arms)}.")
    planned = np.full(len(arms), 1 / len(arms))
    if shares is not None:
        if {*shares} != {*arms} or not all(0 < share < np.inf for share in shares.values()):
            rule = f"`shares` must be one positive number for each of {', '.join(arms)}"
            raise InputError(f"{rule}, got {shares}.")
        planned = np.array([shares[name] for name in arms], dtype=np.float64)
        planned /= planned.sum()
    dates, row = np.unique(day, return_inverse=True)
    daily = np.bincount(row * len(arms) + arm, minlength=len(dates) * len(arms))
    days = np.datetime_as_string(dates.astype("datetime64[D]"))
    return SampleRatio(tuple(arms), planned, days, daily.reshape(-1, len(arms)))


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
