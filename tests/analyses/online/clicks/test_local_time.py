import numpy as np
import pytest

from analyses.online.clicks.local_time import local_days, wall_clock
from runs import InputError

HOUR = 3_600_000
# 2026-03-29T00:30:00Z: half an hour before Prague's clocks go from 2:00 to 3:00.
BEFORE_SUMMER = 1_774_744_200_000


def test_clocks_jump_where_summer_time_begins() -> None:
    clock = wall_clock(BEFORE_SUMMER + np.array([0, HOUR]), zone="Europe/Prague")
    assert np.diff(clock) == 2 * HOUR


def test_days_of_summer_time_end_with_the_clock() -> None:
    # 21:30 and 22:30 in UTC are 23:30 and, on the next day, 0:30.
    days, day = local_days(BEFORE_SUMMER + np.array([22, 21]) * HOUR, zone="Europe/Prague")
    assert days.tolist() == ["2026-03-29", "2026-03-30"]
    assert day.tolist() == [1, 0]


@pytest.mark.parametrize("zone", ["Prague", "", "../etc/passwd", "CEST+2"])
def test_zones_have_iana_names(zone: str) -> None:
    with pytest.raises(InputError, match="must have an IANA name such as 'Europe/Prague', got"):
        wall_clock(np.zeros(1, dtype=np.int64), zone=zone)
