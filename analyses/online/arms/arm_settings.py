"""What is measured of the arms of an experiment, how clicks are counted, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from analyses.online.clicks import Duration, Question
from analyses.online.logs import Credit
from analyses.online.rates import OverTime
from analyses.recall.parametrisations import RecallSettings
from analyses.recall.stratification import Stratification, Weights
from analyses.shared.analysis import AnalysisSettings
from runs.shared.members import Whole


class ArmSettings(RecallSettings, AnalysisSettings):
    """How the arms of an experiment are compared: all analyses of it share these settings."""

    weights: Weights = Field("uniform", description="Of the users whose items are hidden.")
    metrics: tuple[Literal["RR", "nDCG"], ...] = Field(
        ("RR", "nDCG"), description="Other metrics of the same ranks, at beta 0."
    )
    window: Duration | None = Field(
        None,
        description="How soon after a list what its user does counts as a click: '30 min'. By "
        "default clicks name their list.",
    )
    credit: Credit = Field("all", description="Lists that an event credits.")
    over_time: OverTime = Field("thesis", description="How rates of periods are averaged.")
    robots_per_day: Whole | None = Field(
        None, ge=1, description="Users with more lists in a day are robots and left out."
    )
    permutations: Whole = Field(10_000, ge=1, description="Orders of the rates.")

    @property
    def stratification(self) -> Stratification:
        """How hidden items are weighed."""
        return self.stratified(self.weights)

    def question(self, *, shares: Mapping[str, float] | None) -> Question:
        """Ask the same of a log as the command `clicks`."""
        return Question(
            window=self.window,
            explicit=self.window is None,
            credit=self.credit,
            over_time=self.over_time,
            robots=self.robots_per_day,
            shares=shares,
        )
