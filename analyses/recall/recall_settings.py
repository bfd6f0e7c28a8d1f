"""Settings of recalls of hidden items, each declared once."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from analyses.recall.grids import BETAS, CUTOFFS, require_axes
from analyses.recall.hidden_parts import VALIDATIONS
from analyses.recall.stratification import (
    FirstItem,
    Popularity,
    Smoothing,
    Stratification,
    Weights,
)
from runs.shared.members import Section


def _rising(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


class RecallSettings(Section):
    """The grid of recalls, and how hidden items are weighed."""

    betas: Annotated[tuple[float, ...], AfterValidator(_rising)] = Field(
        BETAS, description="Exponents of popularity."
    )
    cutoffs: Annotated[
        tuple[Annotated[int, Field(strict=True, ge=1)], ...], AfterValidator(_rising)
    ] = Field(CUTOFFS, description="Ranks considered.")
    first_item: FirstItem = Field("miss", description="LLOO of what nothing was before.")
    smoothing: Smoothing = Field(
        "add-one",
        description="Of popularity: items without a training event count as one, or not at all.",
    )
    popularity: Popularity = Field("events", description="What makes an item popular.")
    clip: float | None = Field(None, gt=0, description="Upper bound on the weight of an item.")

    @model_validator(mode="after")
    def _axes(self) -> RecallSettings:
        require_axes(VALIDATIONS, self.betas, self.cutoffs)
        return self

    def stratified(self, weights: Weights, *, min_items: int = 2) -> Stratification:
        """Put together how hidden items and users are weighed."""
        return Stratification(
            weights=weights,
            first_item=self.first_item,
            smoothing=self.smoothing,
            clip=self.clip,
            min_items=min_items,
        )
