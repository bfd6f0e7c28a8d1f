"""What is asked of a file of interactions: the settings of `harness recall`."""

from __future__ import annotations

from pydantic import Field

from analyses.recall.recall_settings import RecallSettings
from analyses.recall.stratification import Stratification, Weights
from recommenders.kernels.hidden.hiding import Lists
from runs.shared.members import Whole


class RecallQuestion(RecallSettings):
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
    weights: tuple[Weights, ...] = Field(
        ("uniform", "stratified"), description="Users count alike, or hidden items do."
    )
    min_items: Whole = Field(2, ge=1, description="Distinct items that a test user needs.")
    lists: Lists = Field(
        "profile",
        description="Lists that coverage is about: one for each user, or those of a measurement.",
    )
    seed: Whole = Field(0, ge=0, lt=2**63, description="Of test users and model.")

    def stratification(self, weights: Weights) -> Stratification:
        """Put together how hidden items and users are weighed."""
        return self.stratified(weights, min_items=self.min_items)
