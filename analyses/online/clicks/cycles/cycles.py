"""Periodicity: how click-through rates rise and fall with the hour and the weekday."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import CONFIDENCE, draw_weights, percentiles
from analyses.online.clicks.cycles.local_time import wall_clock
from analyses.online.clicks.tallies import require_named
from analyses.shared.drawing import axes_or_new, categories, legend_beside
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Profile = Literal["day", "week"]

PERIODS: Final = (24.0, 168.0)
"""A day and a week, in hours."""

MILLISECONDS_PER_HOUR: Final = 3_600_000
FIRST_MONDAY: Final = 4 * 24
"""Hours from the beginning of 1970, a Thursday, to the first Monday."""

WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, eq=False)
class Periodicity:
    """Cycles of click-through rates, shared by the arms, beside a level and a trend of each arm.

    Parameters
    ----------
    arms
        Label of the first axis of what is said of arms.
    bin_hours, zone
        Width of the bins, and the zone whose wall clock the cycles follow.
    periods
        Lengths of the cycles, in hours; those that the log holds twice.
    amplitudes, low, high
        Half the difference between the top and the bottom of each cycle, and its 95 % interval over
        days, of shape (n_periods,). As bins show them: see ``damping``.
    peaks
        When each cycle is highest: hours after midnight, or after Monday's midnight.
    p
        p-value of each cycle, of shape (n_periods,): Hotelling's test over days that it is none.
    times
        Middles of the bins, in milliseconds since 1970 in UTC, of shape (n_bins,).
    n_slates, n_accepted, fitted
        Lists shown and accepted, and the rate of the model, of shape (n_arms, n_bins).
    hourly
        Lists shown and accepted on each day in each hour of the week, from Monday's first, of shape
        (2, n_days, 168).
    day_weights
        How often each replicate draws each day, of shape (n_replicates, n_days).
    """

    arms: tuple[str, ...]
    bin_hours: float
    zone: str
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
    hourly: NDArray[np.int64]
    day_weights: Floats

    @property
    def damping(self) -> Floats:
        r"""Share of the amplitude of each cycle that means over bins still have.

        .. math:: \left| \frac{\sin(\pi T / P)}{\pi T / P} \right|,

        with bins of width T and cycles of length P.
        """
        return np.abs(np.sinc(self.bin_hours / np.asarray(self.periods)))

    def to_frame(self) -> pd.DataFrame:
        """One row per cycle.

        Columns period (hours), amplitude, low, high (95 %, over days), undamped_amplitude (as
        without bins), peak (hours after midnight, or Monday's) and p.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "period": self.periods,
                "amplitude": self.amplitudes,
                "low": self.low,
                "high": self.high,
                "undamped_amplitude": self.amplitudes / self.damping,
                "peak": self.peaks,
                "p": self.p,
            }
        )

    def bins(self) -> pd.DataFrame:
        """One row per arm and bin that showed lists: arm, time, slates, accepted, rate, fitted."""
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

    def profile(self, over: Profile = "day") -> pd.DataFrame:
        """Give the rate in each hour of the day or the week, of all arms together.

        Columns weekday (of a week), hour, slates, accepted, rate, low and high (95 %, over days).
        """
        import pandas as pd

        hourly = self.hourly
        if over == "day":
            hourly = hourly.reshape(*hourly.shape[:2], 7, 24).sum(axis=2)
        shown, accepted = hourly.sum(axis=1)
        low, high = percentiles(_rates(*(self.day_weights @ hourly)).T)
        hours = np.arange(len(shown))
        weekdays = {"weekday": [WEEKDAYS[hour // 24] for hour in hours]} if over == "week" else {}
        return pd.DataFrame(
            {
                **weekdays,
                "hour": hours % 24,
                "slates": shown,
                "accepted": accepted,
                "rate": _rates(shown, accepted),
                "low": low,
                "high": high,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rate of every arm over time, bin by bin, and the model's as a line."""
        axes = axes_or_new(ax)
        days = (self.times - self.times[0]) / (24 * MILLISECONDS_PER_HOUR)
        rates = _rates(self.n_slates, self.n_accepted)
        for number, (arm, style) in enumerate(categories(self.arms)):
            axes.plot(days, rates[number], ".", color=style["color"], markersize=2, alpha=0.4)
            line = style | {"marker": ""}
            axes.plot(days, self.fitted[number], label=arm, **line)
        axes.set_xlabel("days")
        axes.set_ylabel("click-through rate")
        legend_beside(axes)
        return axes

    def plot_profile(self, ax: Axes | None = None, *, over: Profile = "day") -> Axes:
        """Draw the rate by the hour of the day or the week, with its band over days."""
        axes = axes_or_new(ax)
        profile = self.profile(over)
        hours = np.arange(len(profile))
        axes.plot(hours, profile["rate"].to_numpy(), color="#0072B2")
        axes.fill_between(
            hours, profile["low"].to_numpy(), profile["high"].to_numpy(), alpha=0.15, linewidth=0
        )
        if over == "week":
            axes.set_xticks(np.arange(7) * 24, WEEKDAYS)
            axes.set_xlabel(f"weekday, from its midnight ({self.zone})")
        else:
            axes.set_xticks(np.arange(0, 24, 3))
            axes.set_xlabel(f"hour of the day ({self.zone})")
        axes.set_ylabel("click-through rate")
        return axes

    def caption(self) -> str:
        """Say what was fitted, and which cycle the log is too short for."""
        n_days = self.hourly.shape[1]
        left_out = [f"{period:g} h" for period in PERIODS if period not in self.periods]
        short = f" Too short for a cycle of {', '.join(left_out)}." if left_out else ""
        return (
            f"Click-through rates in bins of {self.bin_hours:g} h over {n_days} days, weighted by "
            f"their lists; cycles in the time of {self.zone}, beside a level and a trend for each "
            f"of {len(self.arms)} arms. Intervals: 95 %, {len(self.day_weights):,} bootstrap "
            f"replicates of whole days.{short}"
        )


def periodicity(
    accepted: NDArray[np.bool_],
    *,
    time: NDArray[np.int64],
    arm: NDArray[np.integer],
    arms: Sequence[str],
    zone: str = "UTC",
    bin_hours: float = 1.0,
    replicates: int = 1000,
    seed: int,
) -> Periodicity:
    r"""Fit daily and weekly cycles to the click-through rates of bins of time.

    The rate of arm a in a bin at hour t of the wall clock is

    .. math:: \alpha_a + \beta_a t
        + \sum_{P \in \{24, 168\}} c_P \cos\frac{2 \pi t}{P} + s_P \sin\frac{2 \pi t}{P}

    by least squares, weighted by the lists of the bin. The amplitude is
    :math:`A_P = \sqrt{c_P^2 + s_P^2}`, and its interval :math:`A_P \pm t \hat\sigma`, where
    :math:`\hat\sigma` is how much the replicates of :math:`(c_P, s_P)` vary in the direction of the
    estimate, and t is Student's for n_days - 2 degrees of freedom. Percentiles of the replicates'
    own amplitudes would lie too high, as noise has an amplitude too.

    What is known of each list has the shape (n_slates,), times being milliseconds since 1970 in
    UTC. The zone is that of the wall clock, by its IANA name. Bins as wide as a training period
    (half a day to two) would hide a day. Replicates are of whole days.

    Raises
    ------
    InputError
        If the log has less than two days, bins are wider than half a day, or there are fewer than
        two replicates.
    """
    span = (int(time.max()) - int(time.min())) / MILLISECONDS_PER_HOUR if len(time) else 0.0
    _check(span, bin_hours, replicates)
    require_named("arm", arm, arms)
    periods = tuple(period for period in PERIODS if span >= 2 * period)
    width = round(bin_hours * MILLISECONDS_PER_HOUR)
    times, shown, taken = _bins(accepted, time=time, arm=arm, n_arms=len(arms), width=width)
    hours = _wall_hours(times, zone=zone)
    days, day = np.unique(np.floor(hours / 24), return_inverse=True)
    draws = draw_weights(len(days), replicates=replicates, seed=seed)
    weights = np.concatenate([some for _, some in draws])
    design = _design(hours, n_arms=len(arms), periods=periods)
    whole, drawn = _fits(*_by_day(design, shown, taken, day, n_days=len(days)), weights)
    cycles, replicated = (found[..., 2 * len(arms) :] for found in (whole, drawn))
    amplitudes, low, high, p = _amplitudes(
        cycles.reshape(-1, 2), replicated.reshape(replicates, -1, 2), n_days=len(days)
    )
    return Periodicity(
        arms=tuple(arms),
        bin_hours=bin_hours,
        zone=zone,
        periods=periods,
        amplitudes=amplitudes,
        low=low,
        high=high,
        peaks=_peaks(cycles.reshape(-1, 2), periods),
        p=p,
        times=times,
        n_slates=shown,
        n_accepted=taken,
        fitted=design @ whole,
        hourly=_hourly(accepted, _wall_hours(time, zone=zone), days),
        day_weights=weights,
    )


def _check(span: float, bin_hours: float, replicates: int) -> None:
    if span < 2 * PERIODS[0]:
        raise InputError(f"cycles of a day need a log of 48 hours or more, got {span:.1f}.")
    if not 0 < bin_hours <= PERIODS[0] / 2:
        raise InputError(
            f"`bin_hours` must be above 0 and at most 12, as wider bins show a day at a false "
            f"period, got {bin_hours}."
        )
    if replicates < 2:
        raise InputError(f"`replicates` must be at least 2, got {replicates}.")


def _bins(
    accepted: NDArray[np.bool_],
    *,
    time: NDArray[np.int64],
    arm: NDArray[np.integer],
    n_arms: int,
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Give the middles of the bins, and lists shown and accepted by arm and bin."""
    number = time // width
    begin, n_bins = int(number.min()), int(number.max() - number.min()) + 1
    cells = arm * n_bins + number - begin
    shown, taken = (
        np.bincount(cells, weights, minlength=n_arms * n_bins).astype(np.int64)
        for weights in (None, accepted)
    )
    times = (np.arange(n_bins) + begin) * width + width // 2
    return times, shown.reshape(n_arms, n_bins), taken.reshape(n_arms, n_bins)


def _wall_hours(time: NDArray[np.int64], *, zone: str) -> Floats:
    """Hours that a clock on the wall has run since a Monday's midnight."""
    return wall_clock(time, zone=zone) / MILLISECONDS_PER_HOUR - FIRST_MONDAY


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
    """Add up, over the bins of each day, the two sides of the normal equations.

    Since weights are lists shown, a weighted rate is the lists accepted.
    """
    n_columns = design.shape[2]
    squares = np.zeros((n_days, n_columns, n_columns))
    products = np.zeros((n_days, n_columns))
    for number in range(n_days):
        rows = design[:, day == number].reshape(-1, n_columns)
        weights = shown[:, day == number].ravel()
        squares[number] = (rows * weights[:, None]).T @ rows
        products[number] = taken[:, day == number].ravel() @ rows
    return squares, products


def _fits(squares: Floats, products: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Fit the model to all days, and to those of every replicate."""
    drawn = _solve(np.tensordot(weights, squares, axes=1), weights @ products)
    return _solve(squares.sum(axis=0), products.sum(axis=0)), drawn


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


def _peaks(cycles: Floats, periods: Sequence[float]) -> Floats:
    turns = np.arctan2(cycles[:, 1], cycles[:, 0]) / (2 * np.pi)
    return turns % 1.0 * np.asarray(periods)


def _hourly(accepted: NDArray[np.bool_], hours: Floats, days: Floats) -> NDArray[np.int64]:
    """Count lists shown and accepted by day and hour of the week, of shape (2, n_days, 168)."""
    row = np.searchsorted(days, np.floor(hours / 24))
    cells = row * 168 + np.floor(hours).astype(np.int64) % 168
    counts = [np.bincount(cells, w, minlength=len(days) * 168) for w in (None, accepted)]
    return np.stack(counts).astype(np.int64).reshape(2, len(days), 168)


def _rates(shown: NDArray[np.number], accepted: NDArray[np.number]) -> Floats:
    return np.divide(accepted, shown, out=np.full(shown.shape, np.nan), where=shown > 0)
