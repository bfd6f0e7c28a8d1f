"""Run a study from its definition to its report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from analyses.shared.measure import Measures
from analyses.shared.sentences import listed
from analyses.shared.work import StudyWorld
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import BECOMES, parse_name
from harness.metrics.shared.register import available_metrics, find_metric, plugin_metrics
from harness.study.collection import Collection, collect
from harness.study.item_catalogue import EXAMPLE_SYSTEM, example_catalogue
from harness.study.other_settings import with_other_settings
from harness.study.parts import Parts
from harness.study.stages import Stages
from harness.study.store import Store
from harness.study.study import MetricsSection, Study
from harness.study.systems_run import SystemsRun
from qrels import Catalogue, Judged
from qrels.catalogue import ItemsOfLists
from qrels.ranks.judged_ranks import Validation
from qrels.ratings.world import like_settings, world_settings
from recommenders import find_system, label_of, read_settings
from runs import InputError, InputWarning, Run
from runs.shared.errors import ErrorCollector, warn, warning_sentences
from runs.shared.ids import require_fit_name
from runs.shared.progress import Progress, SilentProgress


def add_plugins(study: Study, paths: Sequence[Path]) -> Study:
    """Add files of metrics to a study, and all metrics that they declare.

    Raises
    ------
    InputError
        If a file is missing, fails, or declares no metric.
    """
    plugins = [path.resolve() for path in paths]
    declared = [name for path in plugins for name in plugin_metrics(path)]
    metrics = study.metrics
    known = {parse_name(name).name for name in metrics.names}
    new = [name for name in declared if name not in known]
    changed = {
        "plugins": tuple(dict.fromkeys([*metrics.plugins, *plugins])),
        "names": (*metrics.names, *new),
        "report": metrics.report and (*metrics.report, *new),
    }
    # What the file does not name is not named by a plug-in that adds to it.
    section = MetricsSection.model_construct(
        _fields_set=metrics.model_fields_set | {"plugins"}, **(dict(metrics) | changed)
    )
    return study.model_copy(update={"metrics": section})


def check_metrics(
    section: MetricsSection,
    *,
    own: Sequence[Metric] = (),
    example: Callable[[Sequence[Validation]], Catalogue] = lambda _: Catalogue(3),
    errors_at: Callable[..., AbstractContextManager[None]] = lambda *_: nullcontext(),
) -> dict[str, Metric]:
    """Find the metrics of a section, and try them out.

    Parameters
    ----------
    section
        What is measured.
    own
        Metrics of one's own, which are known beside those of the plug-ins.
    example
        Gives what they may know of three items, by what a metric needs of hidden items.
    errors_at
        Says where in a file a finding is.

    Returns
    -------
    The metrics by their names with options.

    Raises
    ------
    InputError
        If a metric does not exist or breaks a rule.
    """
    with errors_at("metrics", "plugins"):
        available = available_metrics(section.plugins, own)
    metrics: dict[str, Metric] = {}
    for key, names in (("names", section.names), ("report", section.report or ())):
        with errors_at("metrics", key):
            errors = ErrorCollector()
            for name in names:
                with errors.catching():
                    label = parse_name(name).label
                    metrics[label] = find_metric(label, available)
            errors.raise_any()
            first: dict[str, str] = {}
            for label, metric in metrics.items():
                # One of them may spell a default out.
                if (known := first.setdefault(metric.label, label)) != label:
                    raise InputError(f"{known!r} and {label!r} are the same metric.")
    with errors_at("metrics", "names"):
        for measure in section.measures:
            metric = metrics[measure.metric]
            try_out(metric, measure.cutoff, example(metric.needs))
    return metrics


def check(study: Study) -> dict[str, Metric]:
    """Check, before any work, the names and settings that the study file itself cannot check.

    Returns
    -------
    The metrics by their names with options.

    Raises
    ------
    InputError
        If a metric, system, setting or preset does not exist or breaks a rule.
    """
    example = partial(example_catalogue, study)
    metrics = check_metrics(study.metrics, example=example, errors_at=study.errors_at)
    _references(study)
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
    settings, positives = study.systems.settings, study.systems.positives
    for key, values in (("settings", settings), ("positives", positives)):
        for name in values if isinstance(values, dict) else ():
            with study.errors_at("systems", key, label_of(name)):
                if name not in study.systems.names:
                    raise InputError(f"the study has no system {name!r} to set.")
                if key == "settings":
                    read_settings(name, settings[name])
    if study.ratings.like is not None:
        with study.errors_at("ratings", "world"):
            like_settings(study.ratings.world)
    elif study.ratings.format == "world":
        with study.errors_at("ratings", "preset"):
            world_settings(study.ratings.preset, study.ratings.world)
    return metrics


def _references(study: Study) -> dict[str, Metric]:
    """Find the metrics that say, on the truth, which system is better, and try them out."""
    if study.truth is None:
        return {}
    found: dict[str, Metric] = {}
    with study.errors_at("truth", "references"):
        available = available_metrics(study.metrics.plugins)
        for measure in study.truth.measures:
            metric = find_metric(measure.metric, available)
            if metric.needs:
                raise InputError(f"{metric.label} hides items, and cannot be a reference measure.")
            try_out(metric, measure.cutoff, example_catalogue(study, ()))
            found[measure.metric] = metric
    return found


def _check_profiles(systems: Sequence[str], metrics: Mapping[str, Metric]) -> None:
    """Refuse metrics that hide items from systems which score training users alone."""
    hiding = [name for name, metric in metrics.items() if metric.needs]
    unable = [label_of(name) for name in systems if not find_system(name).scores_histories]
    if hiding and unable:
        raise InputError(
            f"{hiding[0]} hides items, and needs systems that score a profile by themselves, such "
            f"as item-knn, ease or popularity; {', '.join(unable)} can only score users as they "
            f"were in training. Leave out {hiding[0]} or these systems."
        )


def try_out(metric: Metric, cutoff: int | None, catalogue: Catalogue | None = None) -> None:
    """Score three users, the last without judgements, to see whether the metric works at all.

    Raises
    ------
    InputError
        If it does not, asks for something that the catalogue does not hold, or one user's score
        depends on who else is scored.
    """
    together = metric(_example_lists(slice(3), catalogue), cutoff=cutoff)
    for user, among_others in enumerate(together):
        (alone,) = metric(_example_lists(slice(user, user + 1), catalogue), cutoff=cutoff)
        if not np.isclose(among_others, alone, rtol=0, atol=1e-12):
            raise InputError(
                f"metric {metric.label!r} must score every user by that user's lists alone: it "
                f"gives one user {among_others:.6g} among others and {alone:.6g} alone."
            )


def _try_on_items(run: SystemsRun) -> None:
    """Score one user by what is known of the items, which may be no categories, before training."""
    if run.catalogue.n_items < 3:
        return
    qrels = run.collection.qrels
    lists = _example_lists(
        slice(1),
        run.catalogue,
        highest_grade=float(qrels.grades.max()),
        relevance_level=float(qrels.relevance_level),
    )
    with run.study.errors_at("metrics", "names"):
        for metric in run.metrics.values():
            if not metric.needs:
                metric(lists, cutoff=1)


def _example_lists(
    users: slice,
    catalogue: Catalogue | None,
    *,
    highest_grade: float = 1.0,
    relevance_level: float = 1.0,
) -> Judged:
    """Give lists of three items to some of three users; the judgements are of the same items.

    Before the data are read grades are 0 and 1, which every metric must take: a higher one might be
    above those of the data, and a score by it outside the range that the metric declares.
    """
    lists = np.array([[1.0, np.nan, 0.0], [np.nan, 1.0, np.nan], [np.nan, np.nan, np.nan]])
    judgements = np.array([[1.0, 1.0, 0.0], [1.0, np.nan, np.nan], [np.nan, np.nan, np.nan]])
    judged = Judged(
        highest_grade * lists[users],
        highest_grade * judgements[users],
        relevance_level=relevance_level,
    )
    listed = np.array([[0, 1, 2], [2, 1, 0], [1, 2, 0]])[users].T
    about = np.array([[0, 1, 2], [1, -1, -1], [-1, -1, -1]])[users].T
    judged_as = np.array([[0, 1, 2], [3, -1, -1], [-1, -1, -1]])[users].T
    numbers = np.arange(3)[users]
    seen = ItemsOfLists(
        catalogue or Catalogue(3), numbers, listed, about, judged_as, EXAMPLE_SYSTEM
    )
    return judged.with_items(lambda: seen)


def _warn_of_depth(measures: Measures, runs: Sequence[Run]) -> None:
    """Say once which measures look below the end of all lists."""
    depth = max((run.depth for run in runs), default=inf)
    beyond = [str(m) for m in measures if m.cutoff is not None and m.cutoff > depth]
    if beyond:
        warn(
            f"the longest ranking ends at rank {depth}, but {listed(beyond)} are deeper: missing "
            "items count as not relevant."
        )


def _without_needless(study: Study, collection: Collection) -> Study:
    """Leave out what needs judged non-relevant items where there are none, unless it is named."""
    if not collection.is_implicit or "names" in study.metrics.model_fields_set:
        return study
    names = tuple(name for name in study.metrics.names if name not in BECOMES)
    warn(
        "all items are relevant, so bpref and infAP would equal Recall: they are left out "
        "unless `names` in [metrics] has them."
    )
    return study.model_copy(update={"metrics": study.metrics.model_copy(update={"names": names})})


def run_study(study: Study, *, n_jobs: int = 1, progress: Progress | None = None) -> Path:
    """Run a study; resume it where it stopped.

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
    """
    progress = SilentProgress() if progress is None else progress
    stages, remarks = _prepared(study, n_jobs=n_jobs, progress=progress)
    return stages.to_report(remarks)


def find_in_world(study: Study, question: StudyWorld) -> Any:
    """Run the study of another world, and find in it what is asked."""
    with warnings.catch_warnings():
        # What is odd about the study's own world has been said.
        warnings.simplefilter("ignore", InputWarning)
        stages, _ = _prepared(study, n_jobs=1, progress=SilentProgress())
        stages.to_report(remarks=())
        return question(stages.work)


def _prepared(study: Study, *, n_jobs: int, progress: Progress) -> tuple[Stages, list[str]]:
    """Check a study and read its input; beside its stages are the warnings about the input."""
    metrics = check(study)
    run_other = partial(run_study, n_jobs=n_jobs, progress=progress)
    repeats = {number: partial(run_other, other) for number, other in _repetitions(study).items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InputWarning)
        with progress("Reading the input", 1) as bar:
            collection = collect(study)
            bar.advance()
        study = _without_needless(study, collection)
        _warn_of_depth(study.measures, collection.runs)
        run = SystemsRun(
            study=study,
            parts=Parts(Store(study.folder)),
            n_jobs=n_jobs,
            progress=progress,
            collection=collection,
            metrics={label: metrics[label] for label in study.measures.metrics},
            references=_references(study),
        )
        stages = Stages(run, find_in_world, repeats)
        stages.check_settings()
        _try_on_items(run)
        stages.scores.warn_of_ties()
    of_input = (warning for warning in caught if issubclass(warning.category, InputWarning))
    return stages, warning_sentences(of_input)


def _repetitions(study: Study) -> dict[int, Study]:
    """Describe the same study under other seeds, or with other settings, by their number."""
    seeds = range(study.seed + 1, study.seed + study.repeat.seeds)
    repetitions = {seed: study.under(seed) for seed in seeds}
    for number in range(2, study.repeat.settings + 1):
        repetitions[number] = with_other_settings(study, number)
    return repetitions
