"""Procedures that were broken on purpose are caught, each by a cheap calibration."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from analyses.calibration import Check, Lists, Population, Settings, calibrate, procedures, studies
from analyses.calibration.studies import Held
from analyses.significance.null_sets import simulated_population
from analyses.significance.permutation import monte_carlo
from tests.analyses.paired.references import Floats

Patch = pytest.MonkeyPatch
Broken = set[tuple[str, str, str]]
Limits = tuple[Floats, Floats]

pytestmark = pytest.mark.validity

CHEAP: dict[Check, tuple[str, int, int]] = {
    "null": ("lattice", 30, 100),
    "families": ("continuous", 300, 20),
    "differences": ("continuous", 30, 100),
}
"""What scores a check is made on, on how many sets, of how many users."""

FEW_USERS = 6
"""Of so few, most sums of signs tie with others."""


@cache
def population(kind: str) -> Population:
    """Two systems: of one pair, a correction is nothing but its factor."""
    scores = simulated_population(kind, n_systems=2, n_users=2000, seed=1)
    return Population(kind, scores, continuous=kind == "continuous", n_users=100)


def broken(check: Check, *, users: int | None = None) -> Broken:
    kind, sets, usual = CHEAP[check]
    settings = Settings(sets=sets, users=users or usual, checks=(check,))
    found = calibrate([population(kind)], settings, seed=1, draws=199)
    return {(rate.quantity, rate.procedure, rate.verdict) for rate in found.broken}


def plant(patch: Patch, name: str, fault: Callable[[Any], Any]) -> None:
    """Change what a procedure answers."""
    sound = getattr(procedures, name)
    patch.setattr(procedures, name, lambda *given, **asked: fault(sound(*given, **asked)))


def tenth(p: Floats) -> Floats:
    return p / 10


def cut_to_a_tenth(limits: Limits) -> Limits:
    middle, reach = (limits[0] + limits[1]) / 2, (limits[1] - limits[0]) / 20
    return middle - reach, middle + reach


@pytest.mark.parametrize("check", CHEAP)
def test_what_is_sound_breaks_no_promise(check: Check) -> None:
    assert broken(check) == set()


def test_a_sound_count_of_ties_breaks_no_promise() -> None:
    assert broken("null", users=FEW_USERS) == set()


@pytest.mark.parametrize(
    ("name", "fault", "check", "caught"),
    [
        ("t_test", tenth, "null", ("type-I error", "t", "TOO OFTEN")),
        ("wilcoxon_test", tenth, "null", ("type-I error", "Wilcoxon", "TOO OFTEN")),
        ("sakai_test", tenth, "null", ("type-I error", "bootstrap", "TOO OFTEN")),
        ("t_intervals", cut_to_a_tenth, "differences", ("coverage", "t", "TOO SELDOM")),
        (
            "bootstrap_intervals",
            cut_to_a_tenth,
            "differences",
            ("coverage", "bootstrap", "TOO SELDOM"),
        ),
        (
            "max_t_test",
            tenth,
            "families",
            ("family-wise error", "max-T", "TOO OFTEN"),
        ),
    ],
)
def test_a_fault_is_caught_and_nothing_else_is_blamed(
    monkeypatch: Patch, name: str, fault: Callable[[Any], Any], check: Check, caught: Any
) -> None:
    plant(monkeypatch, name, fault)
    users = 100 if name == "max_t_test" else None
    assert broken(check, users=users) == {caught}


@pytest.mark.parametrize(
    ("name", "procedure"), [("holm", "Holm"), ("benjamini_hochberg", "Benjamini-Hochberg")]
)
def test_halved_factors_of_a_correction_are_caught(
    monkeypatch: Patch, name: str, procedure: str
) -> None:
    plant(monkeypatch, name, lambda adjusted: adjusted / 2)
    assert broken("families") == {("family-wise error", procedure, "TOO OFTEN")}


def test_random_sums_that_must_be_larger_and_not_tie_are_caught(monkeypatch: Patch) -> None:
    sound = monte_carlo._add_extreme

    def strictly(counts: Any, flipped: Floats, thresholds: Floats) -> None:
        sound(counts, flipped, thresholds + 4 * FEW_USERS)

    monkeypatch.setattr(monte_carlo, "_add_extreme", strictly)
    caught = ("type-I error", "Monte-Carlo permutation", "TOO OFTEN")
    assert broken("null", users=FEW_USERS) == {caught}


def test_intervals_of_studies_cut_to_a_tenth_are_caught(monkeypatch: Patch) -> None:
    def cut(*limits: Any, **kind: Any) -> Held:
        held = Held(*limits, **kind)
        low, high = cut_to_a_tenth((held.low, held.high))
        return replace(held, low=low, high=high)

    monkeypatch.setattr(studies, "Held", cut)
    settings = Settings(studies=10, checks=("studies",))
    lists = Lists.simulated(n_systems=5, n_users=500, seed=1)
    found = calibrate([], settings, studies=[lists], seed=3)
    assert found.broken == found.rates
