"""Experiments for the tests."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analyses.online.experiments import Experiment
from analyses.recall.parametrisations import BETAS, CUTOFFS, VALIDATIONS, name_recall

GRID = tuple(name_recall(*each) for each in product(VALIDATIONS, BETAS, CUTOFFS))
"""The 588 of the thesis."""

VALUES = "model,nDCG@5,P@5\na,0.1,0.3\nb,0.2,0.1\nc,0.3,0.2\n"
RATES = "model,rate\na,0.01\nb,0.02\nc,0.03\n"


def write(folder: Path, name: str, text: str) -> Path:
    """Write a file; give its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def write_grid(folder: Path) -> tuple[Path, Path]:
    """Write a small grid of recalls, and rates, in two experiments.

    In X, beta = 0 orders the models as the rates do and beta = 1 in reverse; in Y it is beta = 1
    that agrees.
    """
    values, rates = [], []
    for experiment, agreeing in (("X", 0.0), ("Y", 1.0)):
        for place, model in enumerate("abcde"):
            row: dict[str, object] = {"model": model, "experiment": experiment}
            for side, beta, cutoff in product(VALIDATIONS, [0, 1], [5, 10]):
                rising = beta == agreeing
                row[name_recall(side, beta, cutoff)] = 0.1 + 0.01 * (place if rising else -place)
            row["nDCG@5"], row["nDCG@10"], row["AUC"] = place % 3, place % 2, place // 2
            values.append(row)
            rates.append({"model": model, "experiment": experiment, "rate": 0.02 + 0.001 * place})
    paths = folder / "values.csv", folder / "rates.csv"
    for path, rows in zip(paths, (values, rates), strict=True):
        pd.DataFrame(rows).to_csv(path, index=False)
    return paths


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
    """All 588 measures, each without any relation to the rates; some models tie."""
    values = rng.random((len(GRID), n_models)).round(2)
    return experiment(values, rng.random(n_models), measures=GRID, name=name, own=name)
