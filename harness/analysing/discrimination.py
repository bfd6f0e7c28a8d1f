"""Test every pair of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyses.discrimination import discriminate
from analyses.measure import Measure
from harness.analysing.work import Output, Work
from harness.metric import Metric
from runs import InputError


def analyse_discrimination(work: Work) -> Output:
    """Test every pair of systems (Figures 4 and 8, Table 3)."""
    section = work.study.analyses.discrimination
    if section is None:
        raise InputError("the study has no [analyses.discrimination].")
    steps = len(work.scores.measures) if section.test == "exact" else section.permutations
    with work.progress("Testing pairs of systems", steps) as bar:
        result = discriminate(
            work.scores,
            test=section.test,
            scales=integer_scales(work.scores.measures, work.metrics),
            permutations=section.permutations,
            seed=work.study.seed,
            n_jobs=work.n_jobs,
            advance=bar.advance,
        )
    output = Output()
    output.add_table("pvalues", result.to_frame())
    output.add_table("discrimination", result.summary())
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
