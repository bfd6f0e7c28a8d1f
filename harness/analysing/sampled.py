"""Sample negatives."""

from __future__ import annotations

from analyses.sampled.sampled_studies import STUDIES, evidence_of
from harness.analysing.work import Output, Work
from runs import InputError


def analyse_sampled(work: Work, *, study: str) -> Output:
    """Make one of the studies of sampled metrics."""
    section = work.study.analyses.sampled
    if section is None:
        raise InputError("the study has no [analyses.sampled].")
    chosen = STUDIES[study]
    with (
        work.study.placed("analyses", "sampled", "negatives"),
        work.progress(chosen.progress, len(work.full_ranks)) as bar,
    ):
        result = chosen.run(
            work.full_ranks,
            section,
            seed=work.study.seed,
            n_jobs=work.n_jobs,
            advance=bar.advance,
        )
    output = Output()
    for name, frame in chosen.frames(result).items():
        output.add_table(name, frame)
    output.add_result(work, evidence_of(study), result)
    return output
