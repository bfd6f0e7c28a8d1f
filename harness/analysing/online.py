"""Compare metrics with click-through rates."""

from __future__ import annotations

from analyses.online.agreement.agreement_study import study_clicks
from analyses.online.tables.links import link
from harness.analysing.work import Output, Work
from runs import InputError


def analyse_online(work: Work) -> Output:
    """Correlate every measure with the click-through rates of the systems."""
    section = work.study.analyses.online
    if section is None:
        raise InputError("the study has no [analyses.online].")
    falling = [name for name, metric in work.metrics.items() if not metric.higher_is_better]
    with work.study.placed("analyses", "online", "rates"):
        linked = link(section, work.scores.systems)
        experiment = linked.experiment(work.study.name, work.scores, falling=falling)
    with work.progress("Dealing out rates", 1) as bar:
        result = study_clicks(
            [experiment],
            permutations=section.permutations,
            seed=work.study.seed,
            left_out=linked.left_out,
        )
        bar.advance()
    output = Output()
    for name, frame in result.frames().items():
        output.add_table(name, frame)
    for name, evidence in result.evidence.items():
        output.add_result(work, name, evidence)
    return output
