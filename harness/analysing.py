"""What each analysis contributes to the study folder: tables, figures, captions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analyses.correlation import correlate
from analyses.discrimination import discriminate
from analyses.measure import Measure, Scores
from analyses.popularity import CountedIn, Popularity, popularity
from analyses.sparsity import sparsity
from harness.collection import Collection
from harness.figures import Drawable, as_png, as_svg, panel_at, panel_per_metric
from harness.metric import Metric
from harness.progress import Progress
from harness.scoring import SampleScorer
from harness.study import Study
from runs import InputError, Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Work:
    """What an analysis may use.

    Parameters
    ----------
    study, collection
        What is studied, on what.
    runs, scores
        The systems' lists, and the scores of every user.
    metrics
        The metrics by name.
    n_jobs
        Workers; results do not depend on it.
    progress
        Shows what is being done.
    """

    study: Study
    collection: Collection
    runs: Sequence[Run]
    scores: Scores
    metrics: Mapping[str, Metric]
    n_jobs: int
    progress: Progress

    @property
    def deepest(self) -> int:
        """The cut-off at which metrics are compared."""
        return self.study.cutoffs[-1]

    def sample_scorer(self) -> SampleScorer:
        """Give the function that scores the systems under changed judgements."""
        return SampleScorer(self.runs, self.collection.qrels, self.study.measures, self.metrics)


@dataclass
class Output:
    """Files of an analysis.

    Parameters
    ----------
    files
        Content by name, relative to the study folder.
    """

    files: dict[str, bytes] = field(default_factory=dict)

    def add_table(self, name: str, frame: pd.DataFrame) -> None:
        """Add a table: numbers in full, so that equal results are equal bytes."""
        content = frame.to_csv(index=False, lineterminator="\n")
        self.files[f"tables/{name}.csv"] = content.encode()

    def add_figures(self, work: Work, result: Drawable, caption: str, **names: str) -> None:
        """Add the figure of cut-offs within metrics, and that of metrics at the deepest one."""
        with work.progress("Drawing figures", len(names)) as bar:
            drawn = {
                names["cutoffs"]: panel_per_metric(result, work.study.metric_labels),
                names["metrics"]: panel_at(result, work.deepest),
            }
            for name, figure in drawn.items():
                self.files[f"figures/{name}.svg"] = as_svg(figure)
                self.files[f"figures/{name}.png"] = as_png(figure)
                self.files[f"figures/{name}.txt"] = (caption + "\n").encode()
                bar.advance()


def analyse_correlation(work: Work) -> Output:
    """Compare cut-offs with cut-offs and metrics with metrics (Figures 1 and 5)."""
    with work.progress("Correlating orderings", 1) as bar:
        result = correlate(work.scores)
        bar.advance()
    output = Output()
    output.add_table("correlation_cutoffs", result.among_cutoffs())
    output.add_table("correlation_metrics", result.among_metrics())
    output.add_figures(
        work,
        result,
        result.caption(),
        cutoffs="figure1_correlation_cutoffs",
        metrics="figure5_correlation_metrics",
    )
    return output


def analyse_sparsity(work: Work) -> Output:
    """Take judgements away at random (Figures 2 and 6)."""
    section = work.study.analyses.sparsity
    if section is None:
        raise InputError("the study has no [analyses.sparsity].")
    score_samples = work.sample_scorer()
    _say_cost(work, score_samples, n_samples=len(section.levels) * section.samples)
    with work.progress("Taking judgements away", len(section.levels)) as bar:
        result = sparsity(
            score_samples,
            work.collection.qrels,
            measures=work.study.measures,
            levels=section.levels,
            n_samples=section.samples,
            seed=work.study.seed,
            n_jobs=work.n_jobs,
            advance=bar.advance,
        )
    output = Output()
    output.add_table("sparsity", result.to_frame())
    output.add_figures(
        work,
        result,
        result.caption(),
        cutoffs="figure2_sparsity_cutoffs",
        metrics="figure6_sparsity_metrics",
    )
    return output


def _say_cost(work: Work, score_samples: SampleScorer, *, n_samples: int) -> None:
    """Say, from one sample, how long metrics will take that the kernel does not know."""
    names = score_samples.by_definition
    if names:
        minutes = n_samples * score_samples.seconds_by_definition() / 60
        work.progress.note(
            f"{', '.join(names)}: not in the fast kernel, so scored by definition. {n_samples:,} "
            f"samples of the judgements will take about {_in_words(minutes)} of CPU time."
        )


def _in_words(minutes: float) -> str:
    return f"{minutes * 60:.0f} s" if minutes < 2 else f"{minutes:.0f} minutes"


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
    output.add_figures(
        work,
        results[chosen],
        results[chosen].caption(),
        cutoffs="figure3_popularity_cutoffs",
        metrics="figure7_popularity_metrics",
    )
    return output


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
    output.add_figures(
        work,
        result,
        result.caption(),
        cutoffs="figure4_pvalues_cutoffs",
        metrics="figure8_pvalues_metrics",
    )
    return output


def integer_scales(
    measures: Sequence[Measure], metrics: Mapping[str, Metric]
) -> dict[Measure, int]:
    """Give the scale of every measure whose scores are whole numbers over a common divisor."""
    scales = {measure: metrics[measure.metric].lattice(measure.cutoff) for measure in measures}
    return {measure: scale for measure, scale in scales.items() if scale is not None}


ANALYSES: Mapping[str, Callable[[Work], Output]] = {
    "correlation": analyse_correlation,
    "sparsity": analyse_sparsity,
    "popularity": analyse_popularity,
    "discrimination": analyse_discrimination,
}


def wanted(study: Study) -> list[tuple[str, dict[str, Any]]]:
    """Name the analyses of a study, with their settings."""
    sections = study.analyses.model_dump(mode="json")
    return [(name, sections[name]) for name in ANALYSES if sections[name] is not None]
