import numpy as np
import pytest

from analyses.significance.effects import variance_components

# Brennan (2001, Generalizability Theory), synthetic data set no. 3: ten persons, twelve items.
BRENNAN = np.array(
    [
        [5, 6, 5, 5, 5, 3, 4, 5, 6, 7, 3, 3],
        [9, 3, 7, 7, 7, 5, 5, 5, 7, 7, 5, 2],
        [3, 4, 3, 3, 5, 3, 3, 5, 6, 5, 1, 6],
        [7, 5, 5, 3, 3, 1, 4, 3, 5, 3, 3, 5],
        [9, 2, 9, 7, 7, 7, 3, 7, 2, 7, 5, 3],
        [3, 4, 3, 5, 3, 3, 6, 3, 4, 5, 1, 2],
        [7, 3, 7, 7, 7, 5, 5, 7, 5, 5, 5, 4],
        [5, 8, 5, 7, 7, 5, 5, 4, 3, 2, 1, 1],
        [9, 9, 8, 8, 6, 6, 6, 5, 5, 8, 1, 1],
        [4, 4, 4, 3, 3, 5, 6, 5, 5, 7, 1, 1],
    ],
    dtype=np.float64,
)[None]


def test_components_are_those_of_brennans_table() -> None:
    found = variance_components(BRENNAN)
    parts = [found.systems, found.users, found.interaction]
    assert np.concatenate(parts).round(4).tolist() == [0.6258, 0.8840, 2.7872]


def test_coefficients_and_their_interval_are_those_of_brennan() -> None:
    found = variance_components(BRENNAN, level=0.8)
    values = [found.relative, found.relative_low, found.relative_high, found.absolute]
    assert np.concatenate(values).round(4).tolist() == [0.7293, 0.5410, 0.8764, 0.6716]


def test_users_for_a_reliability_are_those_that_reach_it() -> None:
    # As Urbano, Marrero & Martin (2013) compute them.
    assert [n.tolist() for n in variance_components(BRENNAN).users_for(0.95)] == [[85], [112]]


def test_shares_add_up_to_the_whole() -> None:
    assert variance_components(BRENNAN).shares.sum() == pytest.approx(1)


def test_systems_that_are_alike_are_never_told_apart_reliably(rng: np.random.Generator) -> None:
    found = variance_components(np.tile(rng.random(20), (1, 3, 1)))
    assert found.systems.tolist() == [0.0]
    noisy = variance_components(np.array([[[0.0, 1.0], [1.0, 0.0]]]))
    assert [n.tolist() for n in noisy.users_for(0.95)] == [[np.inf], [np.inf]]


def test_the_components_of_a_made_table_are_found(rng: np.random.Generator) -> None:
    systems, users = rng.normal(size=(1, 200, 1)), 2 * rng.normal(size=(1, 1, 1000))
    found = variance_components(systems + users + 0.5 * rng.normal(size=(1, 200, 1000)))
    assert found.systems.item() == pytest.approx(1, rel=0.4)
    assert found.users.item() == pytest.approx(4, rel=0.2)
    assert found.interaction.item() == pytest.approx(0.25, rel=0.02)
