"""Run a study from its definition to its report."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness import __version__
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import available_metrics, find_metric, plugin_metrics
from harness.report.page import render_report
from harness.study.collection import collect
from harness.study.provenance import machine, versions
from harness.study.stages import Stages
from harness.study.store import Store
from harness.study.study import Study
from qrels import Judged
from qrels.ratings.world import world_settings
from recommenders import find_system, label_of, read_settings
from runs import InputError, InputWarning
from runs.shared.files import write_whole
from runs.shared.progress import Progress

TIES = (
    "Items are ordered by score (as float32), falling; equal scores by item number, rising, where "
    "items are numbered in the code-point order of their ids. Run files carry depth + 1 - rank."
)


def add_plugins(study: Study, paths: Sequence[Path]) -> Study:
    """Add files of metrics to a study, and all metrics that they declare.

    Raises
    ------
    InputError
        If a file is missing, fails, or declares no metric.
    """
    plugins = [path.resolve() for path in paths]
    declared = [name for path in plugins for name in plugin_metrics(path)]
    new = [name for name in declared if name not in study.metrics.names]
    changed = {
        "plugins": tuple(dict.fromkeys([*study.metrics.plugins, *plugins])),
        "names": (*study.metrics.names, *new),
    }
    return study.model_copy(update={"metrics": study.metrics.model_copy(update=changed)})


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
    with study.placed("metrics", "plugins"):
        available = available_metrics(study.metrics.plugins)
    with study.placed("metrics", "names"):
        metrics = {label: find_metric(label, available) for label in study.metric_labels}
        _check_difference(metrics)
        for metric in metrics.values():
            try_out(metric, study.cutoffs)
    if study.ratings is None:
        return metrics
    with study.placed("systems", "names"):
        if study.runs is None and len(study.systems.names) < 2:
            raise InputError("a study compares at least two systems.")
        for name in study.systems.names:
            find_system(name)
        if len(study.systems.labels) < len(study.systems.names):
            raise InputError("two systems of one name: the name without folders must differ.")
    for name, settings in study.systems.settings.items():
        with study.placed("systems", "settings", label_of(name)):
            if name not in study.systems.names:
                raise InputError(f"the study has no system {name!r} to set.")
            read_settings(name, settings)
    if study.ratings.path is None:
        with study.placed("ratings", "preset"):
            world_settings(study.ratings.preset, study.ratings.world)
    return metrics


def _check_difference(metrics: Mapping[str, Metric]) -> None:
    """Refuse two names of one metric, such as ``P`` and one that spells a default out."""
    first: dict[str, str] = {}
    for name, metric in metrics.items():
        if metric.label in first:
            raise InputError(f"{first[metric.label]!r} and {name!r} are the same metric.")
        first[metric.label] = name


def try_out(metric: Metric, cutoffs: Sequence[int]) -> None:
    """Score three users, the last without judgements, to see whether the metric works at all.

    Raises
    ------
    InputError
        If it does not, or one user's score depends on who else is scored.
    """
    lists = np.array([[4.0, np.nan, 1.0], [np.nan, 4.0, np.nan], [np.nan, np.nan, np.nan]])
    judgements = np.array([[4.0, 4.0, 1.0], [4.0, np.nan, np.nan], [np.nan, np.nan, np.nan]])
    judged = Judged(lists, judgements, relevance_level=4.0)
    for cutoff in cutoffs:
        together = metric(judged, cutoff=cutoff)
        for user in range(judged.n_users):
            alone = Judged(lists[[user]], judgements[[user]], relevance_level=4.0)
            _check_alone(metric, together[user], metric(alone, cutoff=cutoff)[0])


def _check_alone(metric: Metric, together: float, alone: float) -> None:
    """Refuse a metric whose score of one user depends on who else is scored."""
    if not np.isclose(together, alone, rtol=0, atol=1e-12):
        raise InputError(
            f"metric {metric.label!r} must score every user by that user's lists alone: it gives "
            f"one user {together:.6g} among others and {alone:.6g} alone."
        )


def _warn_of_slow(metrics: Mapping[str, Metric]) -> None:
    slow = [name for name, metric in metrics.items() if metric.per_user]
    if slow:
        finding = (
            f"{', '.join(slow)}: written over one user's list, so scored user by user; what "
            "scores samples of the judgements takes long with it."
        )
        warnings.warn(finding, InputWarning, stacklevel=2)


def spelled_out(study: Study) -> Study:
    """Fill in the defaults that depend on the systems."""
    if study.ratings is None:
        return study
    given = study.systems.settings
    settings = {
        name: read_settings(name, given.get(name, {})).model_dump(mode="json")
        for name in study.systems.names
    }
    systems = study.systems.model_copy(update={"settings": settings})
    return study.model_copy(update={"systems": systems})


def run_study(study: Study, *, n_jobs: int, progress: Progress) -> Path:
    """Run a study, or what is left of it, in its folder.

    Parameters
    ----------
    study
        What to do.
    n_jobs
        Workers; results do not depend on it.
    progress
        Shows what is being done.

    Returns
    -------
    Path of the report.

    Raises
    ------
    InputError
        If the study or its input breaks a rule.
    """
    metrics = check(study)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InputWarning)
        _warn_of_slow(metrics)
        with progress("Reading the input", 1) as bar:
            collection = collect(study)
            bar.advance()
        store = Store(study.folder)
        stages = Stages(study, collection, metrics, store, n_jobs, progress)
        stages.check_settings()
    remarks = [str(w.message) for w in caught if issubclass(w.category, InputWarning)]
    for remark in remarks:
        progress.note(f"Warning: {remark}")
    _note_version(store.folder, progress)
    with store.held():
        _run_stages(stages)
        manifest = manifest_of(stages, remarks)
        content = json.dumps(manifest, indent=1, ensure_ascii=False).encode()
        write_whole(store.folder / "manifest.json", content)
        write_whole(store.folder / "report.html", render_report(store.folder))
    return store.folder / "report.html"


def _run_stages(stages: Stages) -> None:
    # The manifest says that a study is finished: it comes last, and does not outlive a change.
    (stages.store.folder / "manifest.json").unlink(missing_ok=True)
    as_run = spelled_out(stages.study).to_toml()
    write_whole(stages.store.folder / "study.toml", as_run)
    stages.store.remove_others(set(stages.parts))
    stages.keep_input()
    runs = stages.make_runs()
    scores = stages.make_scores(runs)
    stages.analyse(runs, scores)


def _note_version(folder: Path, progress: Progress) -> None:
    """Say that what another version made is made again."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        version = manifest["versions"]["harness"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if version != __version__:
        progress.note(
            f"{folder} was made by the harness {version}; this is {__version__}, and what differs "
            "is made again."
        )


def manifest_of(stages: Stages, remarks: list[str]) -> dict[str, Any]:
    """Say what the study was made from, by what, and what it cost."""
    study, collection, facts = stages.study, stages.collection, stages.collection.facts
    counts = f"{facts['users']:,} users"
    judgements = f"{facts['judgements']:,} judgements"
    return {
        "study": study.name,
        "seed": study.seed,
        "lead": f"Can these metrics be trusted to compare recommenders? {len(stages.systems)} "
        f"systems, {counts}, {judgements}, {len(study.metric_labels)} metrics at "
        f"{len(study.cutoffs)} cut-offs; seed {study.seed}.",
        "data": f"Data: {study.name} ({counts} with {judgements}{_origin(stages)}); "
        f"{len(stages.systems)} systems; study seed {study.seed}.",
        "results": ["means", "coverage", *stages.analyses],
        "inputs": [*collection.inputs, *stages.tables_read],
        "collection": facts,
        "systems": list(stages.systems),
        "notes": [_about_users(facts), TIES],
        "warnings": remarks,
        "seconds": seconds_of(stages),
        "made by": made_by_of(stages),
        "workers": stages.n_jobs,
        "versions": versions(),
        "host": machine(),
    }


def _origin(stages: Stages) -> str:
    ratings = stages.collection.facts.get("ratings")
    if not ratings:
        return ""
    simulated = "" if stages.collection.truth is None else " of a simulated world"
    return f", from {ratings['ratings']:,} ratings{simulated}"


def _about_users(facts: Mapping[str, Any]) -> str:
    return (
        f"{facts['users without relevant items']} of the {facts['users']:,} users have no relevant "
        "item and score 0 (but for nDCG, which counts low grades too), "
        f"{facts['users without judged non-relevant items']} have no judged non-relevant one. "
        f"Relevance level {facts['relevance level']}. infAP is the paper's, not trec_eval's."
    )


def seconds_of(stages: Stages) -> dict[str, dict[str, float]]:
    """Give wall and CPU seconds of every part, from when it was made."""
    entries = {part: stages.store.entry(part) for part in stages.parts}
    return {
        part: {"wall": entry.seconds, "cpu": entry.cpu_seconds}
        for part, entry in entries.items()
        if entry is not None
    }


def made_by_of(stages: Stages) -> dict[str, dict[str, str]]:
    """Give the code and the packages that made every part."""
    entries = {part: stages.store.entry(part) for part in stages.parts}
    return {part: entry.made_by for part, entry in entries.items() if entry is not None}
