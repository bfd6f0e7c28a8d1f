"""What is asked of a file of interactions: the settings of `harness recall`."""

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
from recommenders.kernels.hidden.hiding import Lists
from runs.shared.settings import Section, Whole


def _rising(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


class RecallQuestion(Section):
    """What is asked of a file of interactions.

    Raises
    ------
    ValueError
        If a setting breaks a rule, or the grid makes no sense.

    Examples
    --------
    >>> question = RecallQuestion(betas=(1.0, 0.0), min_items=3)
    >>> question.betas, question.stratification("uniform").min_items
    ((0.0, 1.0), 3)
    """

    robots: Whole | None = Field(None, ge=1, description="Users with more events a day go.")
    share: float = Field(0.1, gt=0, le=1, description="Of the users who are tested.")
    most: Whole = Field(100_000, ge=1, description="Test users at most.")
    betas: Annotated[tuple[float, ...], AfterValidator(_rising)] = Field(
        BETAS, description="Exponents of popularity."
    )
    cutoffs: Annotated[
        tuple[Annotated[int, Field(strict=True, ge=1)], ...], AfterValidator(_rising)
    ] = Field(CUTOFFS, description="Ranks considered.")
    weights: tuple[Weights, ...] = Field(
        ("uniform", "stratified"), description="Users count alike, or hidden items do."
    )
    first_item: FirstItem = Field("miss", description="LLOO of what nothing was before.")
    smoothing: Smoothing = Field(
        "add-one",
        description="Of popularity: items without a training event count as one, or not at all.",
    )
    popularity: Popularity = Field("events", description="What makes an item popular.")
    clip: float | None = Field(None, gt=0, description="Upper bound on the weight of an item.")
    min_items: Whole = Field(2, ge=1, description="Distinct items that a test user needs.")
    lists: Lists = Field(
        "profile",
        description="Lists that coverage is about: one for each user, or those of a measurement.",
    )
    seed: Whole = Field(0, ge=0, lt=2**63, description="Of test users and model.")

    @model_validator(mode="after")
    def _axes(self) -> RecallQuestion:
        require_axes(VALIDATIONS, self.betas, self.cutoffs)
        return self

    def stratification(self, weights: Weights) -> Stratification:
        """Put together how hidden items and users are weighed."""
        return Stratification(
            weights=weights,
            first_item=self.first_item,
            smoothing=self.smoothing,
            clip=self.clip,
            min_items=self.min_items,
        )
