"""The table of errors at equal means is that of the code, and cautions name the cells that err."""

import csv
from pathlib import Path

import pytest

from tests.benchmarks.unequal_shapes import KINDS, SYSTEMS, USERS, measure

FILE = Path(__file__).parents[2] / "docs/family-errors.csv"
HIGHEST = 0.07
N_SETS = 60


def read_rates() -> dict[tuple[str, int, int], list[float]]:
    """Read the rates of each cell: kind of scores, number of systems and number of users."""
    with FILE.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    return {
        (kind, int(n_systems), int(n_users)): [float(rate) for rate in rates]
        for kind, n_systems, n_users, *rates in rows
    }


def test_the_table_has_every_cell() -> None:
    cells = {(kind, n, users) for kind in KINDS for n in SYSTEMS for users in USERS}
    assert set(read_rates()) == cells


def test_bounded_scores_err_as_stated_but_for_systems_that_a_caution_names() -> None:
    for (kind, _, _), rates in read_rates().items():
        _, without_cautioned_systems, _, _, _ = rates
        if kind != "log-normal":
            assert without_cautioned_systems <= HIGHEST


@pytest.mark.validity
@pytest.mark.parametrize("cell", [("P@10", 8, 30), ("RR, mean .05", 8, 30)])
def test_cells_are_those_of_the_table(cell: tuple[str, int, int]) -> None:
    """The first 60 of 400 sets: within four standard errors of all of them."""
    remade = measure(*cell, n_sets=N_SETS)
    error, _, error_of_signs, power, power_of_signs = read_rates()[cell]
    pairs = [
        (remade.errors["bootstrap"], error),
        (remade.errors["sign flips"], error_of_signs),
        (remade.power["bootstrap"], power),
        (remade.power["sign flips"], power_of_signs),
    ]
    for remade_rate, rate in pairs:
        standard_error = (max(rate, 0.02) * (1 - rate) / N_SETS) ** 0.5
        assert abs(remade_rate - rate) <= 4 * standard_error


@pytest.mark.validity
def test_blocks_of_users_err_as_often_as_users_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 400 users are resampled in blocks; if users are, few of the 60 sets differ."""
    by_blocks = measure("P@10", 8, 1000, n_sets=N_SETS)
    monkeypatch.setattr("analyses.significance.bootstrap_max_t.N_BLOCKS", 1000)
    by_users = measure("P@10", 8, 1000, n_sets=N_SETS)
    assert by_users.errors["sign flips"] == by_blocks.errors["sign flips"]
    assert abs(by_users.errors["bootstrap"] - by_blocks.errors["bootstrap"]) < 0.04
    assert abs(by_users.power["bootstrap"] - by_blocks.power["bootstrap"]) < 0.01
