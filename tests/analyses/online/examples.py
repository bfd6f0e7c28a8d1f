"""Experiments for the tests."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from analyses.online.tables.experiment import Experiment
from analyses.recall.parametrisations import recall_grid

GRID = tuple(str(one) for one in recall_grid())
"""The 588 of the thesis."""


def experiment(
    values: ArrayLike,
    rates: ArrayLike,
    *,
    measures: Sequence[str] = (),
    name: str = "A",
    own: str = "",
) -> Experiment:
    """Name models a, b, c, .. after what is its own, and measures M0, M1, .. ."""
    rows = np.asarray(values, dtype=np.float64)
    named = tuple(measures) or tuple(f"M{number}" for number in range(len(rows)))
    letters = "abcdefghijklmnopqrstuvwxyz"[: rows.shape[1]]
    models = tuple(f"{own}{letter}" for letter in letters)
    return Experiment(name, models, named, rows, np.asarray(rates, dtype=np.float64))


def random_experiment(
    rng: np.random.Generator, *, n_models: int = 5, name: str = "A"
) -> Experiment:
    """All 588 measures, each without any relation to the rates."""
    values = rng.random((len(GRID), n_models))
    return experiment(values, rng.random(n_models), measures=GRID, name=name, own=name)


def random_experiments(rng: np.random.Generator, *, n_models: int = 5) -> list[Experiment]:
    """As many as in the thesis."""
    return [random_experiment(rng, n_models=n_models, name=name) for name in "ABCDE"]
