"""Cycles: how click-through rates rise and fall with the hour and the weekday."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import CONFIDENCE, draw_weights
from analyses.online.clicks.small_multiples import draw_among
from analyses.shared.drawing import axes_or_new
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

PERIODS: Final = (24.0, 168.0)
"""A day and a week, in hours."""

MILLISECONDS_PER_HOUR: Final = 3_600_000
FIRST_MONDAY: Final = 4 * 24
"""Hours from the beginning of 1970, a Thursday, to the first Monday."""


@dataclass(frozen=True, eq=False)
class Periodicity:
    """Cycles of click-through rates, shared by the arms, beside a level and a trend of each arm.

    Periods are the lengths in hours of the cycles that the log holds twice. Amplitudes are half the
    difference between the top and the bottom of each, with a 95 % interval over days; peaks hours
    after midnight (or Monday's) of the top, in UTC; p is Hotelling's that there is no cycle,
    all of shape (n_periods,). Bins are of an hour: their middles in milliseconds since 1970 in UTC,
    (n_bins,), and lists shown, accepted and the rate of the model, (n_arms, n_bins).
    """

    arms: tuple[str, ...]
    periods: tuple[float, ...]
    amplitudes: Floats
    low: Floats
    high: Floats
    peaks: Floats
    p: Floats
    times: NDArray[np.int64]
    n_slates: NDArray[np.int64]
    n_accepted: NDArray[np.int64]
    fitted: Floats
    n_days: int
    replicates: int

    def to_frame(self) -> pd.DataFrame:
        """One row per cycle: period (hours), amplitude, low, high (95 %, over days), peak and p."""
        import pandas as pd

        names = ("periods", "amplitudes", "low", "high", "peaks", "p")
        return pd.DataFrame({name.removesuffix("s"): getattr(self, name) for name in names})

    def bins(self) -> pd.DataFrame:
        """One row per arm and hour that showed lists: arm, time, slates, accepted, rate, fitted."""
        import pandas as pd

        arm, number = np.nonzero(self.n_slates)
        slates, accepted = self.n_slates[arm, number], self.n_accepted[arm, number]
        return pd.DataFrame(
            {
                "arm": np.array(self.arms, dtype=object)[arm],
                "time": pd.to_datetime(self.times[number], unit="ms", utc=True),
                "slates": slates,
                "accepted": accepted,
                "rate": accepted / slates,
                "fitted": self.fitted[arm, number],
            }
        )

    def plot(self, ax: Axes | None = None, *, arm: str | None = None) -> Axes:
        """Draw the fitted rate of one arm over time before those of all, with its days as dots."""
        axes = axes_or_new(ax)
        days = (self.times - self.times[0]) / (24 * MILLISECONDS_PER_HOUR)
        number, starts = self.arms.index(arm or self.arms[0]), np.arange(0, len(self.times), 24)
        counts = (self.n_slates, self.n_accepted)
        rates = _rates(*(np.add.reduceat(of, starts, axis=1) for of in counts))
        axes.plot(days[starts] + 0.5, rates[number], ".", color="#0072B2")
        draw_among(axes, days, self.fitted, number)
        # The same in all panels, so that none is cut off.
        axes.set_ylim(0, 1.05 * max(np.nanmax(rates), self.fitted.max()))
        axes.set_title(self.arms[number])
        axes.set_xlabel("days")
        axes.set_ylabel("click-through rate")
        return axes

    def caption(self) -> str:
        """Say what was fitted, and which cycle the log is too short for."""
        left_out = [f"{period:g} h" for period in PERIODS if period not in self.periods]
        short = f" Too short for a cycle of {', '.join(left_out)}." if left_out else ""
        return (
            f"Click-through rates in bins of 1 h over {self.n_days} days, weighted by "
            f"their lists; cycles in the time of UTC, beside a level and a trend for each "
            f"of {len(self.arms)} arms. Intervals: 95 %, {self.replicates:,} bootstrap "
            f"replicates of whole days.{short}"
        )


def periodicity(
    accepted: NDArray[np.bool_],
    *,
    time: NDArray[np.int64],
    arm: NDArray[np.integer],
    arms: Sequence[str],
    replicates: int = 1000,
    seed: int,
) -> Periodicity:
    r"""Fit daily and weekly cycles to the click-through rates of hours.

    The rate of arm a in the hour t is

    .. math:: \alpha_a + \beta_a t
        + \sum_{P \in \{24, 168\}} c_P \cos\frac{2 \pi t}{P} + s_P \sin\frac{2 \pi t}{P}

    by least squares, weighted by the lists of the hour. The amplitude is
    :math:`A_P = \sqrt{c_P^2 + s_P^2}`, and its interval :math:`A_P \pm t \hat\sigma`, where
    :math:`\hat\sigma` is how much replicates of whole days of :math:`(c_P, s_P)` vary in the
    direction of the estimate, and t is Student's for n_days - 2 degrees of freedom: percentiles of
    the replicates' own amplitudes would lie too high, as noise has an amplitude too.

    What is known of each list has the shape (n_slates,). Bins as wide as a training period (half a
    day to two) would hide a day. A log of less than two days is refused.
    """
    span = (int(time.max()) - int(time.min())) / MILLISECONDS_PER_HOUR if len(time) else 0.0
    if span < 2 * PERIODS[0]:
        raise InputError(f"cycles of a day need a log of 48 hours or more, got {span:.1f}.")
    periods = tuple(period for period in PERIODS if span >= 2 * period)
    times, shown, taken = _bins(accepted, time=time, arm=arm, n_arms=len(arms))
    hours = times / MILLISECONDS_PER_HOUR - FIRST_MONDAY
    days, day = np.unique(np.floor(hours / 24), return_inverse=True)
    draws = draw_weights(len(days), replicates=replicates, seed=seed)
    weights = np.concatenate([some for _, some in draws])
    design = _design(hours, n_arms=len(arms), periods=periods)
    squares, products = _by_day(design, shown, taken, day, n_days=len(days))
    whole = _solve(squares.sum(axis=0), products.sum(axis=0))
    drawn = _solve(np.tensordot(weights, squares, axes=1), weights @ products)
    cycles, replicated = (found[..., 2 * len(arms) :] for found in (whole, drawn))
    cycles, replicated = cycles.reshape(-1, 2), replicated.reshape(replicates, -1, 2)
    amplitudes, low, high, p = _amplitudes(cycles, replicated, n_days=len(days))
    turns = np.arctan2(cycles[:, 1], cycles[:, 0]) / (2 * np.pi)
    return Periodicity(
        arms=tuple(arms),
        periods=periods,
        amplitudes=amplitudes,
        low=low,
        high=high,
        peaks=turns % 1.0 * np.asarray(periods),
        p=p,
        times=times,
        n_slates=shown,
        n_accepted=taken,
        fitted=design @ whole,
        n_days=len(days),
        replicates=replicates,
    )


def _bins(
    accepted: NDArray[np.bool_], *, time: NDArray[np.int64], arm: NDArray[np.integer], n_arms: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Give the middles of the hours, and lists shown and accepted by arm and hour."""
    number = time // MILLISECONDS_PER_HOUR
    begin, n_bins = int(number.min()), int(number.max() - number.min()) + 1
    cells = arm * n_bins + number - begin
    shown, taken = (
        np.bincount(cells, weights, minlength=n_arms * n_bins).astype(np.int64)
        for weights in (None, accepted)
    )
    times = (np.arange(n_bins) + begin) * MILLISECONDS_PER_HOUR + MILLISECONDS_PER_HOUR // 2
    return times, shown.reshape(n_arms, n_bins), taken.reshape(n_arms, n_bins)


def _design(hours: Floats, *, n_arms: int, periods: Sequence[float]) -> Floats:
    """Levels, trends, cosine and sine of each period: (n_arms, n_bins, 2 n_arms + 2 n_periods)."""
    levels = np.repeat(np.eye(n_arms)[:, None], len(hours), axis=1)
    trends = levels * (hours - hours.mean())[:, None]
    angles = 2 * np.pi * hours[:, None] / np.asarray(periods)
    waves = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(hours), -1)
    return np.concatenate([levels, trends, np.repeat(waves[None], n_arms, axis=0)], axis=2)


def _by_day(
    design: Floats,
    shown: NDArray[np.int64],
    taken: NDArray[np.int64],
    day: NDArray[np.intp],
    *,
    n_days: int,
) -> tuple[Floats, Floats]:
    """Add up, over the hours of each day, the two sides of the normal equations.

    Since weights are lists shown, a weighted rate is the lists accepted.
    """
    n_columns = design.shape[2]
    squares, products = np.zeros((n_days, n_columns, n_columns)), np.zeros((n_days, n_columns))
    for number in range(n_days):
        rows = design[:, day == number].reshape(-1, n_columns)
        weights = shown[:, day == number].ravel()
        squares[number] = (rows * weights[:, None]).T @ rows
        products[number] = taken[:, day == number].ravel() @ rows
    return squares, products


def _solve(squares: Floats, products: Floats) -> Floats:
    """Solve normal equations; the smallest solution, if an arm or an hour was not drawn."""
    inverses = np.linalg.pinv(squares, hermitian=True)
    return np.asarray((inverses @ products[..., None])[..., 0])


def _amplitudes(
    cycles: Floats, replicated: Floats, *, n_days: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Give the amplitude of each cycle, its interval, and the p-value that it is none.

    Cosine and sine parts have the shape (n_periods, 2), replicated (n_replicates, n_periods, 2).
    """
    from scipy.special import fdtrc, stdtrit

    amplitudes = np.hypot(cycles[:, 0], cycles[:, 1])
    spread = replicated - replicated.mean(axis=0)
    covariances = np.einsum("rpi,rpj->pij", spread, spread) / (len(replicated) - 1)
    inverses = np.linalg.pinv(covariances, hermitian=True)
    distances = np.einsum("pi,pij,pj->p", cycles, inverses, cycles)
    degrees = max(n_days - 2, 1)
    p = fdtrc(2, degrees, distances * degrees / (2 * (degrees + 1)))
    directions = cycles / np.where(amplitudes > 0, amplitudes, 1.0)[:, None]
    variances = np.einsum("pi,pij,pj->p", directions, covariances, directions)
    reach = stdtrit(degrees, 0.5 + CONFIDENCE / 2) * np.sqrt(variances * n_days / (n_days - 1))
    return amplitudes, np.maximum(amplitudes - reach, 0.0), amplitudes + reach, np.asarray(p)


def _rates(shown: NDArray[np.number], accepted: NDArray[np.number]) -> Floats:
    return np.divide(accepted, shown, out=np.full(shown.shape, np.nan), where=shown > 0)
