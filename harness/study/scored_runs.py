"""Runs and qrels as Python has them, read and scored: the `Work` of functions for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from os import PathLike
from typing import TypeAlias

from analyses.shared.measure import Measures, depth_of
from analyses.shared.scores import Scores
from harness.metrics.shared.ir_measures import is_of_ir_measures, name_of_ir_measure
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import available_metrics, translate_name
from harness.readers.judgements import Counts, Judgements, counts_of, judgements_of
from harness.readers.rankings import Runs, replicates_of
from harness.scoring.means import averaged
from harness.scoring.score import deepest_rank, score
from harness.scoring.tied_items import warn_of_ties
from harness.study.collection import collect_lists
from harness.study.metric_checks import check_metrics
from harness.study.study import MetricsSection
from harness.study.work import StudyWork
from qrels import Catalogue
from runs import InputError, Run
from runs.replicates import Replicates
from runs.shared.arrays import Floats
from runs.shared.settings import check_settings
from runs.tables.options import TextOptions

MeasureNames: TypeAlias = "str | Metric | Sequence[str | Metric]"
"""A measure or several, by name or as metrics."""


def list_measures(measures: MeasureNames) -> list[str | Metric]:
    """List one or several measures as names and metrics.

    Measures of ir_measures become names. Raises InputError for any other object.
    """
    if isinstance(measures, str | Metric) or is_of_ir_measures(measures):
        return [_measure_of(measures)]
    return [_measure_of(measure) for measure in measures]


def _measure_of(measure: object) -> str | Metric:
    """Return a name or a metric as it is, and the name of a measure of ir_measures.

    Raises InputError for any other object.
    """
    if isinstance(measure, str | Metric):
        return measure
    if is_of_ir_measures(measure):
        return name_of_ir_measure(measure)
    raise InputError(f"a measure is a name such as 'nDCG@10', or a metric, got {measure!r}.")


def _read_metrics(measures: MeasureNames) -> tuple[Measures, dict[str, Metric]]:
    """Read measures given by name, also of trec_eval, as metrics or as objects of ir_measures.

    A name without a depth is a measure of whole lists. Returns the measures, and their metrics by
    name. Raises InputError if there is no measure, or one is unknown.
    """
    names_and_metrics = list_measures(measures)
    if not names_and_metrics:
        raise InputError("there is no measure: name some, such as 'nDCG@10' and 'bpref'.")
    user_metrics = [measure for measure in names_and_metrics if isinstance(measure, Metric)]
    metrics_by_name = available_metrics(user_metrics=user_metrics)
    names: list[str] = []
    for measure in names_and_metrics:
        if isinstance(measure, str):
            names.append(translate_name(measure, metrics_by_name))
        else:
            names.append(str(measure))
    section = check_settings("the measures", MetricsSection, {"names": tuple(names), "cutoffs": ()})
    metrics = check_metrics(section, user_metrics=user_metrics, has_subtopics=True)
    return section.measures, metrics


def read_and_score(
    runs: Runs,
    qrels: Judgements,
    measures: MeasureNames,
    *,
    relevance_level: int,
    run_options: TextOptions | None = None,
    qrels_options: TextOptions | None = None,
    popularity: Counts | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    min_systems: int = 2,
) -> StudyWork:
    """Read and score runs, and collect all that an analysis may use of them.

    Scores of several runs of a system are averaged. Lists are cut at the deepest rank that a
    measure looks at. Warns of equal scores of items (ties) that change a mean, and of what is
    suspicious in runs and qrels.

    Parameters
    ----------
    runs, qrels
        Files or objects; see `harness.readers.rankings.replicates_of` and
        `harness.readers.judgements.judgements_of`.
    measures
        Names, metrics, or measures of ir_measures.
    relevance_level
        Lowest relevant grade, at least 1.
    run_options, qrels_options
        What a person says of files of runs and of qrels: columns, separator, encoding.
    popularity
        Number of training ratings of each item, by its id; None if it is not known.
    seed
        Random seed of the analysis.
    n_jobs
        Number of threads of the analysis.
    min_systems
        Smallest number of systems.

    Raises
    ------
    InputError
        If a file or an object breaks a rule of its format, a measure is unknown, or there are fewer
        systems.
    """
    all_measures, metrics = _read_metrics(measures)
    run_files, system_of_each_run = replicates_of(runs, run_options)
    qrels_file = judgements_of(qrels, qrels_options)
    source = str(qrels) if isinstance(qrels, str | PathLike) else "the qrels"
    item_counts = None if popularity is None else counts_of(popularity)
    collection = collect_lists(
        run_files,
        qrels_file,
        relevance_level=relevance_level,
        source=source,
        systems=system_of_each_run,
        popularity=item_counts,
        min_systems=min_systems,
        depth=deepest_rank(all_measures, metrics),
    )
    catalogue = Catalogue(len(collection.items))

    def score_collected(collected_runs: Sequence[Run]) -> Scores:
        """Score runs of the collection for all its users."""
        return score(
            collected_runs,
            collection.qrels,
            all_measures,
            metrics,
            users=collection.topics.ids,
            catalogue=catalogue,
        )

    def means_of(tied_runs: Sequence[Run]) -> Floats:
        """Compute the means of runs, of shape (n_measures, n_runs)."""
        return score_collected(tied_runs).mean_values()

    scores = score_collected(collection.runs)
    deepest = max(map(depth_of, all_measures))
    depth = None if deepest == inf else int(deepest)
    measure_names = [str(measure) for measure in all_measures]
    for run in collection.runs:
        warn_of_ties(run, collection.qrels, depth=depth, measures=measure_names, means_of=means_of)
    replicates = None
    if system_of_each_run:
        replicates = Replicates.group_by_system(system_of_each_run, collection.runs)
    scores = replace(averaged(scores, replicates), unit=collection.unit)
    return StudyWork(
        name="scores",
        seed=seed,
        n_jobs=n_jobs,
        collection=collection,
        runs=collection.runs,
        scores=scores,
        metrics=metrics,
        catalogue=catalogue,
        replicates=replicates,
    )
