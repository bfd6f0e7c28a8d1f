"""Take users away."""

from __future__ import annotations

from analyses.users import study_users, usual_sizes
from harness.analysing.work import Output, Work
from runs import InputError


def analyse_users(work: Work) -> Output:
    """Order and test the systems on random subsets of the users."""
    section = work.study.analyses.users
    if section is None:
        raise InputError("the study has no [analyses.users].")
    sizes = usual_sizes(len(work.scores.users)) if section.sizes is None else section.sizes
    with work.progress("Taking users away", len(sizes) + 1) as bar:
        result = study_users(
            work.scores,
            sizes=sizes,
            repeats=section.repeats,
            permutations=section.permutations,
            seed=work.study.seed,
            n_jobs=work.n_jobs,
            advance=bar.advance,
        )
    output = Output()
    output.add_table("users", result.to_frame())
    output.add_result(work, "users", result)
    return output
