"""Implicit clicks: 500,000 lists of 10 against 5 million interactions, checked on a part.

Run with ``pytest tests/benchmarks -s --benchmark-only``.
"""

from typing import Any, get_args

import numpy as np
import pytest
from analyses.online.logs.acceptance import Credit, implicit_clicks
from analyses.online.logs.slates import Slates

from runs import Numbering
from tests.analyses.online.logs.clicking import clicks_by_loops
from tests.benchmarks.machine import cpu_seconds, describe_machine

N_USERS, N_ITEMS, N_SLATES, LENGTH, N_EVENTS = 200_000, 20_000, 500_000, 10, 5_000_000
MONTH = 30 * 86_400_000
WINDOW = 600_000
ROUNDS = 3


def a_log(n_users: int, n_slates: int, n_events: int) -> tuple[Slates, dict[str, Any]]:
    """A month; half of the interactions are with something that the user was shown, soon after."""
    rng = np.random.default_rng(0)
    starts = rng.integers(0, N_ITEMS, n_slates)
    item = (starts[:, None] + rng.permutation(N_ITEMS)[:LENGTH]) % N_ITEMS
    slates = Slates(
        Numbering.of(np.arange(n_users).astype(np.str_)),
        ("A",),
        rng.integers(0, n_users, n_slates, dtype=np.int32),
        np.zeros(n_slates, dtype=np.int32),
        rng.integers(0, MONTH, n_slates),
        items=Numbering.of(np.arange(N_ITEMS).astype(np.str_)),
        ids=np.arange(n_slates).astype(np.str_),
        first=np.arange(n_slates + 1) * LENGTH,
        item=item.ravel().astype(np.int32),
    )
    places = rng.integers(0, len(slates.item), n_events // 2)
    led, n_others = slates.slate[places], n_events - len(places)
    delays = rng.integers(-WINDOW, 2 * WINDOW, len(led))
    others = rng.integers(0, n_users, n_others), rng.integers(0, N_ITEMS, n_others)
    user = np.concatenate([slates.user[led], others[0]]).astype(np.int32)
    shown = np.concatenate([slates.item[places], others[1]]).astype(np.int32)
    time = np.concatenate([slates.time[led] + delays, rng.integers(0, MONTH, n_others)])
    return slates, {"user": user, "item": shown, "time": time}


@pytest.mark.parametrize("credit", get_args(Credit))
def test_matching_clicks(benchmark: Any, credit: Credit) -> None:
    few, some = a_log(1_000, 2_500, 25_000)
    found = implicit_clicks(few, **some, window=WINDOW, credit=credit)
    assert found.tolist() == clicks_by_loops(few, **some, window=WINDOW, credit=credit)
    slates, events = a_log(N_USERS, N_SLATES, N_EVENTS)

    def match() -> None:
        implicit_clicks(slates, **events, window=WINDOW, credit=credit)

    seconds = min(cpu_seconds(match) for _ in range(ROUNDS))
    benchmark.pedantic(match)
    print(f"\n{describe_machine()}\ncredit {credit!r}: {seconds:.2f} CPU-s")
