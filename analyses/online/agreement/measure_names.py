"""The recall variants of a study: what they are called, and which of them are a pair."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from analyses.recall.parametrisations import Parametrisation

_PRINTED: Final = re.compile(
    r"(?P<validation>LOO|LLOO)"
    r"\(beta=(?P<beta>[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)(?:,weights='(?P<weights>uniform|stratified)')?\)"
    r"@(?P<cutoff>[0-9]+)"
)

Pair = tuple[int, int]
"""Numbers of two measures, whose second is taken from the first."""


def find_parametrisation(name: str) -> Parametrisation | None:
    """Read a printed parametrisation; None if the name is that of another measure.

    Examples
    --------
    >>> find_parametrisation("LLOO(beta=0.35)@5")
    Parametrisation(validation='LLOO', beta=0.35, cutoff=5, weights='uniform')
    >>> find_parametrisation("nDCG@10") is None
    True
    """
    found = _PRINTED.fullmatch(name)
    if found is None:
        return None
    validation: Any = found["validation"]
    weights: Any = found["weights"] or "uniform"
    return Parametrisation(validation, float(found["beta"]), int(found["cutoff"]), weights)


def label_columns(measures: Sequence[str]) -> dict[str, Any]:
    """Give the columns measure, validation, beta, cutoff and weights of a table.

    All but the first are missing where the measure is no recall of this family.
    """
    import pandas as pd

    found = [find_parametrisation(name) for name in measures]
    return {
        "measure": list(measures),
        "validation": [one.validation if one else None for one in found],
        "beta": [one.beta if one else float("nan") for one in found],
        "cutoff": pd.array([one.cutoff if one else None for one in found], dtype="Int64"),
        "weights": [one.weights if one else None for one in found],
    }


def validation_pairs(measures: Sequence[str]) -> list[Pair]:
    """Pair LLOO with the LOO of the same beta, cut-off and weights, in the order of the LLOO.

    Examples
    --------
    >>> validation_pairs(["LOO(beta=0)@5", "AP", "LLOO(beta=0)@5", "LLOO(beta=1)@5"])
    [(2, 0)]
    """
    return _paired(measures, lambda one: one.validation == "LLOO", validation="LOO")


def beta_pairs(measures: Sequence[str]) -> list[Pair]:
    """Pair every beta above 0 with beta = 0 of the same validation, cut-off and weights.

    Examples
    --------
    >>> beta_pairs(["LOO(beta=0)@5", "LOO(beta=0.5)@5", "LOO(beta=1)@5", "LLOO(beta=1)@5"])
    [(1, 0), (2, 0)]
    """
    return _paired(measures, lambda one: one.beta > 0, beta=0)


def _paired(
    measures: Sequence[str], is_first: Callable[[Parametrisation], bool], **other: Any
) -> list[Pair]:
    """Pair the measures that may be first with those that differ from them as said."""
    found = ((find_parametrisation(name), number) for number, name in enumerate(measures))
    place = {one: number for one, number in found if one is not None}
    firsts = [(number, one._replace(**other)) for one, number in place.items() if is_first(one)]
    return [(number, place[second]) for number, second in firsts if second in place]
