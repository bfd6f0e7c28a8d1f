"""Recalls of hidden items as measures: their names, the grid of them, and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from analyses.recall.stratification import FirstItem, Popularity, Smoothing, Stratification, Weights
from runs import InputError
from runs.shared.errors import require_choice
from runs.shared.settings import Section

Validation: TypeAlias = Literal["LOO", "LLOO"]
VALIDATIONS: tuple[Validation, ...] = get_args(Validation)

BETAS = tuple(step / 20 for step in range(21))
"""Exponents of Kasalický (2021)."""

CUTOFFS = (*range(1, 11), 15, 20, 25, 50)
"""Cut-offs of Kasalický (2021)."""

PRINTED: Final = (
    r"(?P<validation>LOO|LLOO)\(beta=(?P<beta>[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)"
    r"(?:,weights='(?P<weights>uniform|stratified)')?\)@(?P<cutoff>[0-9]+)"
)
"""A printed parametrisation, as a regular expression."""


class Parametrisation(NamedTuple):
    """A popularity-stratified, user-normalised recall (Kasalický 2021, equations 2.1 and 2.2).

    ``"LOO"`` hides every item in turn, ``"LLOO"`` every event, with what came before it; beta is
    the exponent of popularity, 0 or more, and the cut-off the length of the lists. Users have
    ``"uniform"`` weights, or are ``"stratified"`` by what they have hidden.
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
    """Give every combination, the cut-off changing first; by default the 588 of the thesis."""
    return tuple(
        Parametrisation(validation, beta, cutoff, weights)
        for validation, beta, cutoff in product(VALIDATIONS, betas, cutoffs)
    )


def require_axes(
    validations: Sequence[Validation], betas: Sequence[float], cutoffs: Sequence[int]
) -> None:
    """Refuse a grid that is empty or impossible."""
    if not validations or not betas or not cutoffs:
        raise InputError("recall needs at least one validation, one exponent and one cut-off.")
    for name in validations:
        require_choice("validation", name, VALIDATIONS)
    for beta in betas:
        if not 0 <= beta < np.inf:
            raise InputError(f"exponents (beta) must be finite and at least 0, got {beta}.")
    if cutoffs[0] < 1 or any(b <= a for a, b in pairwise(cutoffs)):
        raise InputError(f"cut-offs must rise, from 1, got {list(cutoffs)}.")


def _rising(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


class RecallSettings(Section):
    """The grid of recalls, and how hidden items are weighed."""

    betas: Annotated[tuple[float, ...], AfterValidator(_rising)] = Field(
        BETAS, description="Exponents of popularity."
    )
    cutoffs: Annotated[
        tuple[Annotated[int, Field(strict=True, ge=1)], ...], AfterValidator(_rising)
    ] = Field(CUTOFFS, description="Cut-offs.")
    first_item: FirstItem = Field(
        "miss",
        description="Under LLOO nothing leads to the first item of a user: count it as a miss, or "
        "skip it.",
    )
    smoothing: Smoothing = Field(
        "add-one",
        description="Popularity of items without training events: add one event to every item, or "
        "drop these items.",
    )
    popularity: Popularity = Field(
        "events", description="Count events or distinct users of an item."
    )
    clip: float | None = Field(None, gt=0, description="Upper bound on the weight of an item.")

    @model_validator(mode="after")
    def _axes(self) -> RecallSettings:
        require_axes(VALIDATIONS, self.betas, self.cutoffs)
        return self

    def stratified(self, weights: Weights, *, min_items: int = 2) -> Stratification:
        """Give how hidden items and users are weighed."""
        return Stratification(
            weights=weights,
            first_item=self.first_item,
            smoothing=self.smoothing,
            clip=self.clip,
            min_items=min_items,
        )
