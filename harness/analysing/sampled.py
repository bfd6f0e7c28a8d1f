"""Sample negatives."""

from __future__ import annotations

from analyses.sampled import study_correction
from harness.analysing.work import Output, Work
from harness.sampled import tables_of
from runs import InputError


def analyse_sampled(work: Work) -> Output:
    """Estimate metrics from ranks among sampled negatives."""
    section = work.study.analyses.sampled
    if section is None:
        raise InputError("the study has no [analyses.sampled].")
    with (
        work.study.placed("analyses", "sampled", "negatives"),
        work.progress("Estimating from samples", len(work.full_ranks)) as bar,
    ):
        result = study_correction(
            work.full_ranks,
            **section.model_dump(),
            seed=work.study.seed,
            n_jobs=work.n_jobs,
            advance=bar.advance,
        )
    output = Output()
    for name, frame in tables_of(result).items():
        output.add_table(name, frame)
    output.add_result(work, "sampled", result)
    return output
