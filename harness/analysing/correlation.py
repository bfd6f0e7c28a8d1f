"""Compare cut-offs with cut-offs and metrics with metrics."""

from __future__ import annotations

from analyses.correlation import correlate
from harness.analysing.work import Output, Work
from runs import InputError


def analyse_correlation(work: Work) -> Output:
    """Compare cut-offs with cut-offs and metrics with metrics (Figures 1 and 5)."""
    section = work.study.analyses.correlation
    if section is None:
        raise InputError("the study has no [analyses.correlation].")
    with work.progress("Correlating orderings", 1) as bar:
        result = correlate(
            work.scores,
            coefficient=section.coefficient,
            replicates=section.replicates,
            seed=work.study.seed,
        )
        bar.advance()
    output = Output()
    output.add_table("correlation_cutoffs", result.among_cutoffs())
    output.add_table("correlation_metrics", result.among_metrics())
    output.add_result(work, "correlation", result)
    return output
