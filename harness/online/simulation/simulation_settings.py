"""Settings of a simulated experiment."""

from __future__ import annotations

from pydantic import Field

from harness.online.simulation.click_world import DAY, NOW
from runs.shared.members import Section


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
    visits: float = Field(default=1.5, gt=0.0, le=50.0, description="Mean visits in a period.")
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
