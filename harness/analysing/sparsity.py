"""Take judgements away at random."""

from __future__ import annotations

from analyses.shared.judgement_samples import Sampling
from analyses.sparsity import sparsity
from harness.analysing.work import Output, Work
from harness.scoring.score import SampleScorer
from runs import InputError


def analyse_sparsity(work: Work) -> Output:
    """Take judgements away at random (Figures 2 and 6)."""
    section = work.study.analyses.sparsity
    if section is None:
        raise InputError("the study has no [analyses.sparsity].")
    scorer = work.sample_scorer()
    _say_cost(work, scorer, n_samples=len(section.levels) * section.samples)
    with work.progress("Taking judgements away", len(section.levels)) as bar:
        result = sparsity(
            scorer.block_sums,
            work.collection.qrels,
            measures=work.study.measures,
            levels=section.levels,
            n_samples=section.samples,
            seed=work.study.seed,
            sampling=Sampling(section.mode, section.least_relevant, section.least_nonrelevant),
            replicates=section.replicates,
            n_jobs=work.n_jobs,
            advance=bar.advance,
        )
    output = Output()
    output.add_table("sparsity", result.to_frame())
    output.add_areas("sparsity", result)
    output.add_result(work, "sparsity", result)
    return output


def _say_cost(work: Work, scorer: SampleScorer, *, n_samples: int) -> None:
    """Say, from one sample, how long metrics will take that the kernel does not know."""
    names = scorer.by_definition
    if names:
        minutes = n_samples * scorer.seconds_by_definition() / 60
        work.progress.note(
            f"{', '.join(names)}: not in the fast kernel, so scored by definition. {n_samples:,} "
            f"samples of the judgements will take about {_in_words(minutes)} of CPU time."
        )


def _in_words(minutes: float) -> str:
    return f"{minutes * 60:.0f} s" if minutes < 2 else f"{minutes:.0f} minutes"
