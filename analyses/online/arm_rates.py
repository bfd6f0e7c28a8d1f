"""What the log of an experiment says of its arms: rates, users, days, and the truth if known."""

from __future__ import annotations

from analyses.online.arms import ArmSettings, ExperimentWork
from analyses.online.clicks import Clicks
from analyses.shared.analysis import analysis


@analysis(
    "arm_rates", source="Kasalický (2021), section 4.2", needs=["experiment"], on_request=True
)
def arm_rates(work: ExperimentWork, settings: ArmSettings) -> Clicks:
    """Count how often the lists of every arm are accepted, and by whom."""
    return work.sides(settings).counted
