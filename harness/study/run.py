"""Run a study from its definition to its report."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from analyses.shared.measure import Measures
from analyses.shared.sentences import listed
from analyses.shared.work import StudyWorld
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import available_metrics, find_metric, plugin_metrics
from harness.study.collection import collect
from harness.study.item_catalogue import example_catalogue
from harness.study.metric_checks import check_metrics, counts_subtopics, score_example, try_out
from harness.study.other_settings import with_other_settings
from harness.study.parts import Parts
from harness.study.sensible_measures import with_sensible_measures
from harness.study.stages import Stages
from harness.study.store import Store
from harness.study.study import MetricsSection, Study
from harness.study.systems_run import SystemsRun
from qrels.ratings.world import like_settings, world_settings
from recommenders.shared.register import find_system, read_settings
from recommenders.shared.user_system import label_of
from runs import InputError, InputWarning, Run
from runs.shared.errors import ErrorCollector, warn, warning_sentences
from runs.shared.ids import require_fit_name
from runs.shared.progress import Progress, SilentProgress


def add_plugins(study: Study, paths: Sequence[Path]) -> Study:
    """Add files of metrics to a study, and all metrics that they declare.

    Metrics that the study names already are not added again. If the study chooses report measures
    (``metrics.report``, else None), the new metrics are among these, too. Returns a changed copy.

    Raises
    ------
    InputError
        If a file is missing, fails, or declares no metric.
    """
    plugins = [path.resolve() for path in paths]
    declared_names = [name for path in plugins for name in plugin_metrics(path)]
    metrics = study.metrics
    present_names = {parse_name(name).name for name in metrics.names}
    new_names = [name for name in declared_names if name not in present_names]
    fields = dict(metrics)
    fields["plugins"] = tuple(dict.fromkeys([*metrics.plugins, *plugins]))
    fields["names"] = (*metrics.names, *new_names)
    fields["report"] = metrics.report and (*metrics.report, *new_names)
    # A study that names no metrics still names none when a plug-in adds some.
    fields_set = metrics.model_fields_set | {"plugins"}
    section = MetricsSection.model_construct(_fields_set=fields_set, **fields)
    return study.model_copy(update={"metrics": section})


def check(study: Study) -> dict[str, Metric]:
    """Check, before any work, the names and settings that the study file itself cannot check.

    Returns
    -------
    The metrics by their names with options.

    Raises
    ------
    InputError
        If a metric, system, setting or preset does not exist or breaks a rule; if there are fewer
        than two systems, or two of one name; or if a metric hides items and a system cannot score
        profiles without them.
    """
    example = partial(example_catalogue, study)
    metrics = check_metrics(
        study.metrics,
        example=example,
        has_subtopics=study.qrels is not None,
        errors_at=study.errors_at,
    )
    _reference_metrics(study)
    if study.ratings is None:
        return metrics
    with study.errors_at("systems", "names"):
        errors = ErrorCollector()
        for name in study.systems.names:
            with errors.catching():
                find_system(name)
                require_fit_name(label_of(name))
        errors.raise_any()
        if study.runs is None and len(study.systems.names) < 2:
            raise InputError("a study compares at least two systems.")
        if len(study.systems.labels) < len(study.systems.names):
            raise InputError("two systems have the same name: names without folders must differ.")
        _check_profiles(study.systems.names, metrics)
    _check_system_settings(study)
    if study.ratings.like is not None:
        with study.errors_at("ratings", "world"):
            like_settings(study.ratings.world)
    elif study.ratings.format == "world":
        with study.errors_at("ratings", "preset"):
            world_settings(study.ratings.preset, study.ratings.world)
    return metrics


def _check_system_settings(study: Study) -> None:
    """Refuse settings that a system does not have, and settings of systems that the study lacks.

    So too ``positives`` (the lowest rating to train on: one number, or a number by system) of
    systems that the study lacks. Raises InputError of the first, with file and line of its key.
    """
    section = study.systems
    for name, options in section.settings.items():
        with study.errors_at("systems", "settings", label_of(name)):
            _require_system(study, name)
            read_settings(name, options)
    if isinstance(section.positives, dict):
        for name in section.positives:
            with study.errors_at("systems", "positives", label_of(name)):
                _require_system(study, name)


def _require_system(study: Study, name: str) -> None:
    if name not in study.systems.names:
        raise InputError(f"the study has no system {name!r} to set.")


def _reference_metrics(study: Study) -> dict[str, Metric]:
    """Look up the metrics of the reference measures, by name, and score an example with each.

    Reference measures order the systems by the truth; without a truth there are none. Raises
    InputError for metrics that do not exist, do not work, or hide items.
    """
    if study.truth is None:
        return {}
    metrics: dict[str, Metric] = {}
    with study.errors_at("truth", "references"):
        available = available_metrics(study.metrics.plugins)
        for measure in study.truth.measures:
            metric = find_metric(measure.metric, available)
            if metric.needs:
                raise InputError(f"{metric.label} hides items, and cannot be a reference measure.")
            try_out(
                metric,
                measure.cutoff,
                example_catalogue(study, ()),
                has_subtopics=study.truth.path is not None and study.truth.is_qrels,
            )
            metrics[measure.metric] = metric
    return metrics


def _check_profiles(systems: Sequence[str], metrics: Mapping[str, Metric]) -> None:
    """Refuse metrics that hide items if a system can score only users as they were in training.

    ``systems`` are names in the study file; ``metrics`` are by name. Raises InputError for the
    first such metric, with the names of all such systems.
    """
    hiding = [name for name, metric in metrics.items() if metric.needs]
    unable = [label_of(name) for name in systems if not find_system(name).scores_histories]
    if hiding and unable:
        raise InputError(
            f"{hiding[0]} hides items, and needs systems that score a profile by themselves, such "
            f"as item-knn, ease or popularity; {', '.join(unable)} can only score users as they "
            f"were in training. Leave out {hiding[0]} or these systems."
        )


def _try_on_items(run: SystemsRun) -> None:
    """Score an example with the study's properties of items, before anything is trained.

    A metric refuses properties that it cannot use, such as numbers in place of categories: with an
    InputError, which begins with the line of the metrics. The example is of three items: studies of
    fewer, and metrics of hidden items, are left out.
    """
    if run.catalogue.n_items < 3:
        return
    with run.study.errors_at("metrics", "names"):
        score_example(run.metrics, run.collection.qrels, run.catalogue)
    true_judgements = run.collection.true_judgements
    if true_judgements is not None:
        with run.study.errors_at("truth"):
            metrics = {**run.references, **run.metrics}
            score_example(metrics, true_judgements.qrels, run.catalogue)


def _check_subtopics(run: SystemsRun) -> None:
    """Warn of metrics that count subtopics of the qrels where there are categories of items, too.

    Raises InputError if a metric counts subtopics, and either the qrels or the truth lack them: by
    these it would count categories.
    """
    true_judgements = run.collection.true_judgements
    has_subtopics = run.collection.qrels.subtopics is not None
    has_true_subtopics = true_judgements is not None and true_judgements.qrels.subtopics is not None
    if not has_subtopics and not has_true_subtopics:
        return
    names = [name for name, metric in run.metrics.items() if counts_subtopics(metric)]
    if not names:
        return
    if true_judgements is not None and has_subtopics != has_true_subtopics:
        finding = "the qrels have, and the truth has not"
        if has_true_subtopics:
            finding = "the truth has, and the qrels have not"
        with run.study.errors_at("truth"):
            raise InputError(f"{names[0]} counts subtopics, which {finding}: leave it out.")
    if run.catalogue.features is not None:
        warn(
            f"{listed(names)}: the subtopics of the qrels count, and not the categories of items "
            "in [items]."
        )


def _warn_of_depth(measures: Measures, runs: Sequence[Run]) -> None:
    """Warn of measures whose cut-off lies beyond the deepest rank of all given runs.

    Warns of nothing if there is no run.
    """
    depth = max((run.depth for run in runs), default=inf)
    deeper_measures = [
        str(measure)
        for measure in measures
        if measure.cutoff is not None and measure.cutoff > depth
    ]
    if deeper_measures:
        names = listed(deeper_measures)
        warn(
            f"The longest ranking ends at rank {depth}, but {names} are deeper: missing "
            "items count as not relevant."
        )


def run_study(study: Study, *, n_jobs: int = 1, progress: Progress | None = None) -> Path:
    r"""Run a study; resume it where it stopped.

    Parameters
    ----------
    study
        The study; its files go to ``study.folder``.
    n_jobs
        Number of worker processes. Does not change results.
    progress
        Shows the progress; by default nothing is shown.

    Returns
    -------
    Path
        Path of the report.

    Raises
    ------
    InputError
        If the study or its input breaks a rule.

    Examples
    --------
    The relevant item, d1, is at rank 1 in the run "a", and at rank 2 in the run "b":

    >>> from tempfile import TemporaryDirectory
    >>> import harness
    >>> with TemporaryDirectory() as folder:
    ...     files = {
    ...         "a.run": "t1 Q0 d1 1 2.0 a\nt1 Q0 d2 2 1.0 a\n",
    ...         "b.run": "t1 Q0 d2 1 2.0 b\nt1 Q0 d1 2 1.0 b\n",
    ...         "t.qrels": "t1 0 d1 1\nt1 0 d2 0\n",
    ...     }
    ...     for name, lines in files.items():
    ...         _ = Path(folder, name).write_text(lines)
    ...     study = harness.Study(
    ...         name="two-runs",
    ...         runs={"paths": [f"{folder}/*.run"]},
    ...         qrels={"path": f"{folder}/t.qrels"},
    ...         metrics={"names": ["RR@2"]},
    ...         analyses={"names": []},
    ...         output=f"{folder}/study",
    ...     )
    ...     report = run_study(study)
    ...     means = harness.open_study(report.parent).frame("means")
    >>> means[["system", "metric", "cutoff", "mean"]]
      system metric  cutoff  mean
    0      a     RR       2   1.0
    1      b     RR       2   0.5
    """
    progress = SilentProgress() if progress is None else progress
    stages, remarks = _prepare(study, n_jobs=n_jobs, progress=progress)
    return stages.to_report(remarks)


def compute_in_world(study: Study, question: StudyWorld) -> Any:
    """Run the study of another world, and compute in it what an analysis asks for.

    ``question`` is called with the `StudyWork` of that study; returns its result. Warnings about
    the input are suppressed. Writes the study folder, with a report.
    """
    with warnings.catch_warnings():
        # Findings about the input were reported for the world of the study.
        warnings.simplefilter("ignore", InputWarning)
        stages, _ = _prepare(study, n_jobs=1, progress=SilentProgress())
        stages.to_report(remarks=())
        return question(stages.work)


def _prepare(study: Study, *, n_jobs: int, progress: Progress) -> tuple[Stages, list[str]]:
    """Check a study and read its input; return its stages, and the warnings about the input.

    Nothing is trained or written. Other warnings than `InputWarning` are lost. Raises InputError if
    the study or its input breaks a rule.
    """
    metrics = check(study)
    repeats = {
        number: partial(run_study, repetition, n_jobs=n_jobs, progress=progress)
        for number, repetition in _repetitions(study).items()
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InputWarning)
        with progress("Reading the input", 1) as bar:
            collection = collect(study)
            bar.advance()
        study = with_sensible_measures(study, collection)
        _warn_of_depth(study.measures, collection.runs)
        run = SystemsRun(
            study=study,
            parts=Parts(Store(study.folder)),
            n_jobs=n_jobs,
            progress=progress,
            collection=collection,
            metrics={label: metrics[label] for label in study.measures.metrics},
            references=_reference_metrics(study),
        )
        stages = Stages(run, compute_in_world, repeats)
        stages.check_settings()
        _check_subtopics(run)
        _try_on_items(run)
        stages.scores.warn_of_ties()
    input_warnings = [warning for warning in caught if issubclass(warning.category, InputWarning)]
    return stages, warning_sentences(input_warnings)


def _repetitions(study: Study) -> dict[int, Study]:
    """Describe the same study under other seeds, by seed, or with other settings, by number.

    The study itself is the first and left out: with one seed and one set of settings the result is
    empty. Settings are numbered from 2.
    """
    seeds = range(study.seed + 1, study.seed + study.repeat.seeds)
    repetitions = {seed: study.with_seed(seed) for seed in seeds}
    for number in range(2, study.repeat.settings + 1):
        repetitions[number] = with_other_settings(study, number)
    return repetitions
