"""What is known of the models of an online experiment: offline values and click-through rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runs import InputError

Floats = NDArray[np.float64]

MOST_MODELS = 79
"""Correlations of ranks of so many models are compared exactly."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """Models of one data set, each with its offline values and its click-through rate.

    There are from 3 to 79 models (arms). Offline values have the shape (n_measures, n_models), NaN
    where undefined, click-through rates (n_models,); so have standard errors, None where they are
    not known.

    Raises
    ------
    InputError
        If there are too few models or too many, a name occurs twice, an error is negative or a rate
        not finite.
    """

    name: str
    models: tuple[str, ...]
    measures: tuple[str, ...]
    values: Floats
    rates: Floats
    value_errors: Floats | None = None
    rate_errors: Floats | None = None

    def __post_init__(self) -> None:
        n_models = len(self.models)
        if not 3 <= n_models <= MOST_MODELS:
            raise InputError(
                f"{self.name}: from 3 to {MOST_MODELS} models can be compared, got {n_models}."
            )
        for what, errors in (
            ("errors of values", self.value_errors),
            ("errors of rates", self.rate_errors),
        ):
            if errors is not None and not (errors >= 0).all():
                raise InputError(f"{self.name}: {what} must be numbers of at least 0.")
        _check_unique(self.name, "model", self.models)
        _check_unique(self.name, "measure", self.measures)
        if not np.isfinite(self.rates).all():
            unknown = int(np.flatnonzero(~np.isfinite(self.rates))[0])
            raise InputError(
                f"{self.name}: click-through rates must be finite, got {self.rates[unknown]} for "
                f"{self.models[unknown]}."
            )


def check_experiments(experiments: Sequence[Experiment]) -> None:
    """Refuse experiments that cannot be put into one table.

    Raises
    ------
    InputError
        If there is none, two have one name, or their measures differ.
    """
    if not experiments:
        raise InputError("at least one experiment is needed, got none.")
    _check_unique("the study", "experiment", [one.name for one in experiments])
    first = experiments[0]
    for other in experiments[1:]:
        if other.measures != first.measures:
            raise InputError(f"{first.name} and {other.name} must have the same measures.")


def numbers_of(chosen: Sequence[str] | None, names: Sequence[str]) -> list[int]:
    """Give the numbers of the chosen experiments; of all, if None are chosen."""
    if chosen is not None and not chosen:
        raise InputError("at least one experiment must be chosen, got none.")
    for name in chosen or ():
        if name not in names:
            raise InputError(f"no experiment is called {name!r}; there are {', '.join(names)}.")
    return [number for number, name in enumerate(names) if chosen is None or name in chosen]


def _check_unique(name: str, what: str, labels: Sequence[str]) -> None:
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            raise InputError(f"{name}: the {what} {label!r} occurs twice.")
        seen.add(label)
