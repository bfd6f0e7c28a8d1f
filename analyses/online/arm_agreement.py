"""Whether offline measures follow the click-through rates of an experiment's arms."""

from __future__ import annotations

from analyses.online.arms import ArmSettings, ExperimentWork
from analyses.online.click_agreement import ClickStudy, study_clicks
from analyses.shared.analysis import analysis


@analysis(
    "arm_agreement", source="Kasalický (2021), section 4.4", needs=["experiment"], on_request=True
)
def arm_agreement(work: ExperimentWork, settings: ArmSettings) -> ClickStudy:
    """Correlate every offline measure of the arms with their click-through rates."""
    with work.progress("Permuting rates", 1) as bar:
        found = study_clicks(
            [work.sides(settings).experiment], permutations=settings.permutations, seed=work.seed
        )
        bar.advance()
    return found
