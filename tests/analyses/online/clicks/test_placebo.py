from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.online.clicks.checks import Placebo, placebo
from analyses.online.clicks.rates import click_through
from analyses.online.clicks.tallies import tally
from analyses.online.logs.acceptance import implicit_clicks
from analyses.online.logs.slates import Slates
from runs import Numbering

N_ITEMS, WINDOW = 200, 100


def simulated(seed: int, *, led: float, organic: int) -> tuple[Slates, Slates, dict[str, Any]]:
    """Lists of random items, others like them, and views: led by lists, or of their own accord."""
    rng = np.random.default_rng(seed)
    n_slates, length = 3_000, 5
    items = np.array([rng.permutation(N_ITEMS)[: 2 * length] for _ in range(n_slates)])
    slates = Slates(
        Numbering.of([f"{user:03}" for user in range(500)]),
        ("A",),
        rng.integers(0, 500, n_slates, dtype=np.int32),
        np.zeros(n_slates, dtype=np.int32),
        rng.integers(0, 10_000, n_slates),
        items=Numbering.of([f"{item:03}" for item in range(N_ITEMS)]),
        ids=np.arange(n_slates).astype(np.str_),
        first=np.arange(n_slates + 1) * length,
        item=items[:, :length].ravel().astype(np.int32),
    )
    follows = rng.random(n_slates) < led
    views = {
        "user": np.append(slates.user[follows], rng.integers(0, 500, organic)).astype(np.int32),
        "item": np.append(items[follows, 0], rng.integers(0, N_ITEMS, organic)).astype(np.int32),
        "time": np.append(slates.time[follows] + 1, rng.integers(0, 10_000, organic)),
    }
    return slates, slates.showing(items[:, length:].ravel().astype(np.int32)), views


def compared(slates: Slates, accepted: NDArray[np.bool_], by_chance: NDArray[np.bool_]) -> Placebo:
    return placebo(accepted, by_chance, user=slates.user, arm=slates.arm, arms=slates.arms)


def excess(seed: int, *, led: float, organic: int) -> tuple[float, float, float]:
    slates, others, views = simulated(seed, led=led, organic=organic)

    both = (implicit_clicks(lists, **views, window=WINDOW) for lists in (slates, others))
    row = compared(slates, *map(slates.any_place, both)).to_frame().iloc[0]
    return row["rate"], row["low"], row["high"]


@pytest.mark.slow
def test_the_excess_is_what_lists_led_to() -> None:
    found = np.array([excess(seed, led=0.05, organic=1_000_000) for seed in range(3)])
    # Of organic views alone, a list would be accepted with a chance of about 39 %.
    assert (found[:, 0] > 0.35).all()
    led = 0.05 * (1 - 0.39)
    assert ((found[:, 1] < led) & (led < found[:, 2])).all(), found


@pytest.mark.slow
def test_lists_that_led_to_nothing_have_no_excess() -> None:
    found = np.array([excess(seed, led=0.0, organic=300_000) for seed in range(20)])
    assert (found[:, 0] > 0.1).all()
    covered = (found[:, 1] < 0) & (found[:, 2] > 0)
    # Of 20 intervals of 95 %, fewer than 16 cover with a chance of about 1 in 400.
    assert covered.sum() >= 16


def test_errors_of_the_excess_know_that_users_are_the_same() -> None:
    slates, _, _ = simulated(1, led=0.1, organic=0)
    accepted = np.arange(len(slates)) % 3 == 0
    found = compared(slates, accepted, accepted)
    alone = click_through(tally(accepted, user=slates.user, arm=slates.arm, arms=["A"]))
    assert found.shown.errors[0] == alone.errors[0] > 0
    assert found.excess.errors[0] == 0


def test_the_caption_says_that_nobody_saw_them() -> None:
    slates, others, _ = simulated(1, led=0.1, organic=0)
    seen = (lists.any_place(lists.item < 10) for lists in (slates, others))
    found = compared(slates, *seen)
    assert "not shown" in found.caption()
