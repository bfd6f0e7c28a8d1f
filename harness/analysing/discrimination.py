"""Test every pair of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyses.discrimination import discriminate
from analyses.shared.measure import Measure
from harness.analysing.work import Output, Work
from harness.metrics.shared.metric import Metric
from runs import InputError


def analyse_discrimination(work: Work) -> Output:
    """Test every pair of systems (Figures 4 and 8, Table 3)."""
    section = work.study.analyses.discrimination
    if section is None:
        raise InputError("the study has no [analyses.discrimination].")
    question = section.question(seed=work.study.seed)
    steps = question.n_steps(len(work.scores.measures))
    with work.progress("Testing pairs of systems", steps) as bar:
        result = discriminate(
            work.scores,
            question,
            scales=integer_scales(work.scores.measures, work.metrics),
            replicates=section.replicates,
            n_jobs=work.n_jobs,
            advance=bar.advance,
        )
    for caution in result.cautions():
        work.progress.note(caution)
    output = Output()
    output.add_table("pvalues", result.to_frame())
    output.add_table("discrimination", result.summary())
    output.add_table("power_differences", result.power_differences())
    output.add_result(work, "discrimination", result)
    return output


def integer_scales(
    measures: Sequence[Measure], metrics: Mapping[str, Metric]
) -> dict[Measure, int]:
    """Give the scale of every measure whose scores are whole numbers over a common divisor."""
    scales = {
        measure: metrics[measure.metric].lattice(measure.cutoff)
        for measure in measures
        if measure.cutoff is not None
    }
    return {measure: scale for measure, scale in scales.items() if scale is not None}
