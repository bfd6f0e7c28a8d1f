"""Take the judgements of popular items away."""

from __future__ import annotations

from analyses.popularity import CountedIn, Popularity, popularity
from harness.analysing.work import Output, Work
from runs import InputError


def analyse_popularity(work: Work) -> Output:
    """Take the judgements of popular items away (Figures 3 and 7).

    Where popularity can be counted in other ratings too, those curves are a table of their own.
    """
    section = work.study.analyses.popularity
    if section is None:
        raise InputError("the study has no [analyses.popularity].")
    counts = work.collection.popularity_counts()
    chosen: CountedIn = next(iter(counts)) if section.counted_in is None else section.counted_in
    if chosen not in counts:
        raise InputError(
            f"popularity cannot be counted in {chosen!r}: the study begins with runs and qrels."
        )
    score_samples = work.sample_scorer()

    def study(counted_in: CountedIn) -> Popularity:
        return popularity(
            score_samples,
            work.collection.qrels,
            measures=work.study.measures,
            levels=section.levels,
            counts=counts[counted_in],
            counted_in=counted_in,
        )

    with work.progress("Taking popular items away", len(counts)) as bar:
        results = {}
        for counted_in in counts:
            results[counted_in] = study(counted_in)
            bar.advance()
    output = Output()
    output.add_table("popularity", results[chosen].to_frame())
    for counted_in in counts:
        if counted_in != chosen:
            frame = results[counted_in].to_frame()
            output.add_table(f"popularity_counted_in_{counted_in}", frame)
    output.add_result(work, "popularity", results[chosen])
    return output
