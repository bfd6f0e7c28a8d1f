"""Take the judgements of popular items away."""

from __future__ import annotations

from itertools import product
from typing import get_args

from analyses.popularity import CountedIn, Cut, Popularity, Removed, popularity
from harness.analysing.work import Output, Work
from runs import InputError


def analyse_popularity(work: Work) -> Output:
    """Take the judgements of popular items away (Figures 3 and 7).

    What other choices would have given is one long table of checks: levels that count items or
    their ratings, popularity counted where it can be, and the least popular items removed.
    """
    import pandas as pd

    section = work.study.analyses.popularity
    if section is None:
        raise InputError("the study has no [analyses.popularity].")
    counts = work.collection.popularity_counts()
    counted_in: CountedIn = next(iter(counts)) if section.counted_in is None else section.counted_in
    if counted_in not in counts:
        raise InputError(
            f"popularity cannot be counted in {counted_in!r}: the study begins with runs and qrels."
        )
    sum_samples = work.sample_scorer().block_sums
    chosen: tuple[Cut, Removed, CountedIn] = (section.cut, "most popular", counted_in)
    choices = list(product(get_args(Cut), get_args(Removed), counts))

    def study(cut: Cut, removed: Removed, counted_in: CountedIn, replicates: int) -> Popularity:
        return popularity(
            sum_samples,
            work.collection.qrels,
            measures=work.study.measures,
            levels=section.levels,
            counts=counts[counted_in],
            counted_in=counted_in,
            cut=cut,
            removed=removed,
            replicates=replicates,
            seed=work.study.seed,
        )

    checks = []
    with work.progress("Taking popular items away", len(choices)) as bar:
        result = study(*chosen, section.replicates)
        bar.advance()
        for choice in choices:
            if choice != chosen:
                frame = study(*choice, replicates=0).to_frame()
                checks.append(frame.drop(columns=["low", "high"]))
                bar.advance()
    output = Output()
    output.add_table("popularity", result.to_frame())
    output.add_areas("popularity", result)
    output.add_table("popularity_checks", pd.concat(checks, ignore_index=True))
    output.add_result(work, "popularity", result)
    return output
