"""Recalls of hidden items as measures: what they are called, and the grid of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any, Final, NamedTuple

from analyses.recall.grids import BETAS, CUTOFFS
from analyses.recall.hidden_parts import VALIDATIONS, Validation
from analyses.recall.stratification import Weights

_PRINTED: Final = re.compile(
    r"(?P<validation>LOO|LLOO)"
    r"\(beta=(?P<beta>[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)(?:,weights='(?P<weights>uniform|stratified)')?\)"
    r"@(?P<cutoff>[0-9]+)"
)


class Parametrisation(NamedTuple):
    """A popularity-stratified, user-normalised recall (Kasalický 2021, equations 2.1 and 2.2).

    ``"LOO"`` hides every item in turn, ``"LLOO"`` every event, with what came before it; beta is
    the exponent of popularity, 0 or more, and the cut-off the length of the lists. Users have
    ``"uniform"`` weights, or are ``"stratified"`` by what they have hidden.

    Examples
    --------
    >>> print(Parametrisation("LLOO", beta=0.35, cutoff=5))
    LLOO(beta=0.35)@5
    >>> print(Parametrisation("LOO", beta=1, cutoff=10, weights="stratified"))
    LOO(beta=1,weights='stratified')@10
    """

    validation: Validation
    beta: float
    cutoff: int
    weights: Weights = "uniform"

    def __str__(self) -> str:
        weights = "" if self.weights == "uniform" else f",weights={self.weights!r}"
        beta = repr(float(self.beta)).removesuffix(".0")
        return f"{self.validation}(beta={beta}{weights})@{self.cutoff}"


def recall_grid(
    *,
    betas: Sequence[float] = BETAS,
    cutoffs: Sequence[int] = CUTOFFS,
    weights: Weights = "uniform",
) -> tuple[Parametrisation, ...]:
    """Give every combination, the last cut-off changing first; by default those of the thesis.

    Examples
    --------
    >>> len(recall_grid())
    588
    >>> print(*recall_grid(betas=[0, 1], cutoffs=[5])[:3])
    LOO(beta=0)@5 LOO(beta=1)@5 LLOO(beta=0)@5
    """
    return tuple(
        Parametrisation(validation, beta, cutoff, weights)
        for validation, beta, cutoff in product(VALIDATIONS, betas, cutoffs)
    )


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
