"""Settings of a simulated experiment."""

from __future__ import annotations

from pydantic import Field

from harness.online.simulation.click_world import DAY, NOW
from harness.online.simulation.traffic import Cycles
from runs.shared.settings import Section


class SimulationSettings(Section):
    """How an experiment runs; equal settings, worlds and models give equal experiments.

    Raises
    ------
    pydantic.ValidationError
        If a field is unknown or out of range.

    Examples
    --------
    >>> SimulationSettings(periods=2, period_days=1.0).boundaries
    (1767571200000, 1767657600000, 1767744000000)
    """

    periods: int = Field(default=4, ge=1, le=1000, description="Periods, at least 1.")
    period_days: float = Field(default=3.0, gt=0.0, le=365.0, description="Days of a period.")
    depth: int = Field(default=5, ge=1, le=100, description="Items of a list.")
    online_share: float = Field(
        default=1.0, gt=0.0, le=1.0, description="Share of the world's users who may come."
    )
    visits: float = Field(default=1.5, gt=0.0, le=50.0, description="Mean visits in a period.")
    lists_per_visit: float = Field(
        default=2.0, ge=1.0, le=50.0, description="Mean lists of a visit, at least 1."
    )
    views_per_visit: float = Field(
        default=1.0, ge=0.0, le=50.0, description="Mean organic interactions of a visit."
    )
    traffic_daily: float = Field(
        default=0.6, ge=0.0, le=1.0, description="Amplitude of the traffic by day."
    )
    traffic_weekly: float = Field(
        default=0.2, ge=0.0, le=1.0, description="Amplitude of the traffic by week."
    )
    odds_daily: float = Field(
        default=0.2, ge=-5.0, le=5.0, description="Amplitude of the log odds of a click by day."
    )
    odds_weekly: float = Field(
        default=0.1, ge=-5.0, le=5.0, description="Amplitude of the log odds of a click by week."
    )
    daily_peak: float = Field(
        default=20.0, ge=0.0, lt=24.0, description="Hour of the day (UTC) of both peaks."
    )
    weekly_peak: float = Field(
        default=156.0,
        ge=0.0,
        lt=168.0,
        description="Hour of the week, from Monday 0:00 UTC, of both peaks: Sunday noon.",
    )
    salt: str = Field(default="", description="Changes who is in which arm.")
    seed: int = Field(default=1, ge=0, description="Seed of all that is drawn, at least 0.")

    @property
    def boundaries(self) -> tuple[int, ...]:
        """Where periods begin and the last ends, in milliseconds since 1970 in UTC."""
        length = round(self.period_days * DAY)
        return tuple(NOW + number * length for number in range(self.periods + 1))

    def span(self, period: int) -> tuple[int, int]:
        """Give where a period (from 0) begins and ends, in these milliseconds."""
        begin, end = self.boundaries[period : period + 2]
        return begin, end

    @property
    def traffic(self) -> Cycles:
        """How traffic goes up and down."""
        return self._cycles(self.traffic_daily, self.traffic_weekly)

    @property
    def readiness(self) -> Cycles:
        """How the log odds of a click go up and down."""
        return self._cycles(self.odds_daily, self.odds_weekly)

    def _cycles(self, daily: float, weekly: float) -> Cycles:
        return Cycles(daily, weekly, daily_peak=self.daily_peak, weekly_peak=self.weekly_peak)
