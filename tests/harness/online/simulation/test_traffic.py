import numpy as np
import pytest
from scipy.stats import kstest

from harness.online.simulation.traffic import HOUR, Cycles, traffic_times

FLAT = Cycles(0.0, 0.0, daily_peak=0.0, weekly_peak=0.0)
WAVES = Cycles(0.6, 0.3, daily_peak=20.0, weekly_peak=156.0)
DAY = 24 * HOUR


def test_a_week_begins_on_monday() -> None:
    weekly = Cycles(0.0, 1.0, daily_peak=0.0, weekly_peak=0.0)
    # 5 January 1970 was a Monday.
    assert weekly.at(np.array([4 * DAY]))[0] == pytest.approx(1.0)


def test_flat_traffic_is_uniform() -> None:
    times = traffic_times(np.linspace(0, 1, 1001)[:-1], FLAT, begin=0, end=DAY)
    assert kstest(times / DAY, "uniform").statistic < 0.002


def test_times_come_at_the_rates_of_the_hours() -> None:
    times = traffic_times((np.arange(100_000) + 0.5) / 100_000, WAVES, begin=0, end=7 * DAY)
    found = np.histogram(times, bins=168, range=(0, 7 * DAY))[0]
    rates = 1 + WAVES.at(np.arange(168) * HOUR + HOUR // 2)
    assert np.allclose(found / 100_000, rates / rates.sum(), rtol=0.01, atol=2e-5)


def test_times_stay_in_their_span() -> None:
    times = traffic_times(np.array([0.0, 1 - 2.0**-53]), WAVES, begin=1000, end=5000)
    assert times.tolist() == [1000, 4999]
