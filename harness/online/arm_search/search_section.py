"""What is asked of a search for models: the section of a study file."""

from __future__ import annotations

from pydantic import Field

from runs.shared.settings import Section, Sizes, Whole


class SearchSection(Section):
    """A search for models of clearly different quality, before the experiment."""

    models: Whole = Field(10, ge=3, le=79, description="Models that become arms.")
    trials: Whole = Field(30, ge=3, description="Settings that are tried.")
    factors: Sizes = Field(
        (4, 8, 16, 32, 64, 128), min_length=1, description="Lengths of vectors to try."
    )
    cutoff: Whole = Field(5, ge=1, description="Of the recall that trials are scored by.")
    beta: float = Field(
        0.5, ge=0, allow_inf_nan=False, description="Exponent of popularity in that recall."
    )
