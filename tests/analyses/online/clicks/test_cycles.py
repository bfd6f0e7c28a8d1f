import numpy as np
import pytest

from analyses.online.clicks.cycles import Periodicity, periodicity
from runs import InputError

HOUR = 3_600_000
MONDAY = 4 * 24 * HOUR


def observed(
    seed: int,
    *,
    n_slates: int = 20_000,
    days: int = 28,
    daily: float = 0.0,
    weekly: float = 0.0,
    spread: float = 0.0,
    replicates: int = 100,
) -> Periodicity:
    """Two arms that begin on a Monday; rates peak at 18 h and on Wednesdays, days differ."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.integers(0, days * 24 * HOUR, n_slates))
    time[[0, -1]] = 0, days * 24 * HOUR - 1
    hours = time / HOUR
    arm = rng.integers(0, 2, n_slates)
    rate = (
        0.2
        + 0.05 * arm
        + daily * np.cos(2 * np.pi * (hours - 18) / 24)
        + weekly * np.cos(2 * np.pi * (hours - 60) / 168)
        + (spread * rng.standard_normal(days))[(hours // 24).astype(int)]
    )
    accepted = rng.random(n_slates) < rate
    return periodicity(
        accepted,
        time=time + MONDAY,
        arm=arm,
        arms=["A", "B"],
        replicates=replicates,
        seed=seed,
    )


def test_cycles_are_found_with_their_peaks() -> None:
    found = observed(1, n_slates=200_000, daily=0.08, weekly=0.05)
    np.testing.assert_allclose(found.amplitudes, [0.08, 0.05], atol=0.005)
    np.testing.assert_allclose(found.peaks / [24, 168], [18 / 24, 60 / 168], atol=0.02)
    assert (found.p < 0.001).all()


@pytest.mark.validity
def test_intervals_of_amplitudes_cover() -> None:
    truth = np.array([0.05, 0.03])
    found = [observed(seed, daily=0.05, weekly=0.03, spread=0.02) for seed in range(100)]
    covered = np.mean([(one.low <= truth) & (truth <= one.high) for one in found], axis=0)
    # Of 100 intervals of 95 %, fewer than 87 cover with a chance of about 1 in 500.
    assert (covered > 0.865).all(), covered


@pytest.mark.validity
def test_without_cycles_few_are_found() -> None:
    p = np.array([observed(seed, spread=0.02).p for seed in range(100)])
    # Of 100 tests at 5 %, more than 13 reject with a chance of about 1 in 1,000.
    assert (np.mean(p < 0.05, axis=0) <= 0.13).all()


def test_a_short_log_has_no_weekly_cycle() -> None:
    found = observed(1, days=13, daily=0.05)
    assert found.periods == (24.0,)
    assert "Too short for a cycle of 168 h" in found.caption()


def test_a_trend_is_no_cycle() -> None:
    n_slates = 100_000
    rng = np.random.default_rng(1)
    time = np.linspace(0, 28 * 24 * HOUR, n_slates).astype(np.int64)
    accepted = rng.random(n_slates) < 0.1 + 0.01 * time / (24 * HOUR)
    arm = np.zeros(n_slates, dtype=np.int64)
    found = periodicity(accepted, time=time, arm=arm, arms=["A"], seed=1)
    assert found.amplitudes.max() < 0.01


def test_bins_are_rows_of_a_table() -> None:
    found = observed(1, days=3, n_slates=50)
    bins = found.bins()
    assert bins["slates"].sum() == 50
    assert (bins["rate"] == bins["accepted"] / bins["slates"]).all()


def test_less_than_two_days_are_refused() -> None:
    with pytest.raises(InputError, match=r"48 hours or more, got 24\.0"):
        observed(1, days=1)


def test_an_arm_is_drawn_before_all_others() -> None:
    found = observed(1, days=3, n_slates=500)
    axes = found.plot(arm="B")
    assert axes.get_ylim() == found.plot(arm="A").get_ylim()
    dots, other, own = axes.get_lines()
    assert own.get_ydata() == pytest.approx(found.fitted[1])
    assert other.get_ydata() == pytest.approx(found.fitted[0])
    assert len(np.asarray(dots.get_ydata())) == 3
