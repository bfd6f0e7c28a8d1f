"""Tests, corrections and intervals err as often as they state, and faults in them are seen."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from analyses.significance import permutation_loops
from analyses.significance.effects import Effects
from tests.analyses.significance.references import Floats
from tests.benchmarks import error_rates
from tests.benchmarks.error_rates import TALLIES, Rate
from tests.benchmarks.populations import Population, simulated_population

Patch = pytest.MonkeyPatch

FEW_USERS = 6
"""Of so few, most sums of signs tie with others."""

CHEAP = {
    "null": ("lattice", 30, 100),
    "families": ("continuous", 300, 20),
    "differences": ("continuous", 2000, 100),
}
"""What scores a check is made on, on how many sets, of how many users."""


def rates_of(
    check: str, kind: str, *, n_sets: int = 2000, n_users: int = 100, n_systems: int = 6
) -> list[Rate]:
    scores = simulated_population(kind, n_systems=n_systems, seed=1)
    population = Population(kind, scores, continuous=kind == "continuous")
    asked: dict[str, int] = {"n_sets": n_sets, "n_users": n_users, "seed": 1, "draws": 999}
    rates = error_rates.error_rates(population, check, **asked)
    print(*rates, sep="\n")
    return rates


def broken(check: str, *, users: int | None = None) -> set[tuple[str, str]]:
    kind, n_sets, n_users = CHEAP[check]
    rates = rates_of(check, kind, n_sets=n_sets, n_users=users or n_users, n_systems=2)
    return {(rate.quantity, rate.procedure) for rate in rates if rate.is_broken}


def plant(patch: Patch, name: str, fault: Callable[[Any], Any]) -> None:
    """Change what a procedure answers."""
    sound = getattr(error_rates, name)
    patch.setattr(error_rates, name, lambda *given, **asked: fault(sound(*given, **asked)))


def tenth(p: Floats) -> Floats:
    return p / 10


def times(width: float) -> Callable[[Effects], Effects]:
    def scaled(found: Effects) -> Effects:
        middle, margin = (found.lower + found.upper) / 2, width * (found.upper - found.lower) / 2
        return replace(found, lower=middle - margin, upper=middle + margin)

    return scaled


def test_the_t_interval_holds_the_difference_of_two_systems() -> None:
    assert broken("differences") == set()


@pytest.mark.validity
@pytest.mark.parametrize("kind", ["continuous", "lattice"])
@pytest.mark.parametrize("check", TALLIES)
def test_every_procedure_errs_as_often_as_it_states(kind: str, check: str) -> None:
    assert not [rate for rate in rates_of(check, kind) if rate.is_broken]


@pytest.mark.validity
def test_at_equal_means_tests_of_ranks_and_signs_reject_far_too_often() -> None:
    """They are not about means: here differences are skewed."""
    rates = rates_of("means", "continuous", n_sets=200, n_users=2000)
    assert {rate.procedure for rate in rates if rate.observed > 0.5} == {"Wilcoxon", "sign"}


@pytest.mark.validity
def test_power_grows_with_the_users_and_errors_of_sign_vanish() -> None:
    few, many = (
        {
            (rate.quantity, rate.procedure): rate.observed
            for rate in rates_of("power", "continuous", n_sets=60, n_users=n_users)
            if rate.nominal in (0.05, 0.025)
        }
        for n_users in (10, 300)
    )
    for quantity, test in many:
        if quantity == "power":
            assert many["power", test] > few["power", test] + 0.3
        else:
            assert many[quantity, test] == 0


@pytest.mark.validity
@pytest.mark.parametrize(
    ("name", "fault", "check", "caught"),
    [
        ("t_test", tenth, "null", ("type-I error", "t")),
        ("wilcoxon_test", tenth, "null", ("type-I error", "Wilcoxon")),
        ("sakai_test", tenth, "null", ("type-I error", "bootstrap")),
        # As at 90 %: t(99) at .95, divided by that at .975.
        ("effects", times(0.837), "differences", ("coverage", "t")),
        ("effects", times(2), "differences", ("coverage", "t")),
        ("max_t_test", tenth, "families", ("family-wise error", "max-T")),
        ("holm", lambda p: p / 2, "families", ("family-wise error", "Holm")),
        (
            "benjamini_hochberg",
            lambda p: p / 2,
            "families",
            ("family-wise error", "Benjamini-Hochberg"),
        ),
    ],
)
def test_a_fault_is_seen_and_nothing_else_is_blamed(
    monkeypatch: Patch, name: str, fault: Callable[[Any], Any], check: str, caught: Any
) -> None:
    plant(monkeypatch, name, fault)
    assert broken(check, users=100 if name == "max_t_test" else None) == {caught}


@pytest.mark.validity
def test_random_sums_that_must_be_larger_and_not_tie_are_seen(monkeypatch: Patch) -> None:
    assert broken("null", users=FEW_USERS) == set()
    sound = permutation_loops.add_extreme

    def strictly(counts: Any, flipped: Floats, thresholds: Floats, farther: Floats) -> None:
        sound(counts, flipped, thresholds + 4 * FEW_USERS, farther)

    monkeypatch.setattr(permutation_loops, "add_extreme", strictly)
    assert broken("null", users=FEW_USERS) == {("type-I error", "Monte-Carlo permutation")}
