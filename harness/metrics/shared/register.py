"""Where metrics are found: built-in ones, those of users' files, and those of other tools."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from harness.metrics.shared.ir_measures import (
    PREFIX,
    metric_of_ir_measures,
    translate_from_ir_measures,
)
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from runs import InputError
from runs.shared.errors import suggestion
from runs.shared.members import import_modules, installed_entry_points, load_installed, load_module

METRICS_FOLDER = "harness.metrics"
"""The package whose modules declare metrics, named as in an import."""

TREC_EVAL_METRICS = "harness.trec_eval.metrics"
"""The module of the metrics that exist for the names of trec_eval, named as in an import.

It is imported by name, since it stands above this package.
"""

FOREIGN_NAME = re.compile(r"^(.*?)(?:[_.]([0-9]+))?$", re.DOTALL)
"""A name of another tool, and a cut-off as trec_eval writes it: ``ndcg_cut_10``, ``P.5``."""


def built_in_metrics() -> dict[str, Metric]:
    """Return the built-in metrics by name, in alphabetical order.

    These are all metrics that the modules of the folder `METRICS_FOLDER` declare, and those that
    exist for the names of trec_eval.
    """
    modules = [*import_modules(METRICS_FOLDER), import_module(TREC_EVAL_METRICS)]
    metrics: dict[str, Metric] = {}
    for module in modules:
        metrics |= _declared_metrics(module)
    return dict(sorted(metrics.items(), key=lambda item: item[0].casefold()))


def plugin_metrics(path: Path) -> dict[str, Metric]:
    """Return the metrics that a user's Python file declares, by name.

    Raises InputError if the file cannot be run, or declares no metric.
    """
    declared = _declared_metrics(load_module(path, description="metric plug-in"))
    if not declared:
        raise InputError(f"{path}: no function in it is declared with @metric(...).")
    return declared


def available_metrics(
    plugins: Sequence[Path] = (), user_metrics: Sequence[Metric] = ()
) -> dict[str, Metric]:
    """Return the built-in metrics, those of plug-in files and further metrics, by name.

    Further metrics, such as those defined in a notebook, are taken without options and cut-off.
    Raises InputError if two different metrics have one name.
    """
    metrics = built_in_metrics()
    for user_metric in user_metrics:
        declared = user_metric.as_declared
        namesake = metrics.setdefault(declared.name, declared)
        if namesake.function is not declared.function:
            raise InputError(f"another metric called {declared.name!r} exists already.")
    for path in plugins:
        for name, plugin_metric in plugin_metrics(path).items():
            if name in metrics:
                raise InputError(f"{path}: a metric called {name!r} exists already.")
            metrics[name] = plugin_metric
    return metrics


def installed_metrics() -> list[Metric]:
    """Import the metrics that installed distributions declare as entry points, and list them.

    Raises InputError if one cannot be imported, is no metric, or two distributions declare one
    name.
    """
    metrics = []
    for name in installed_entry_points("metrics"):
        metric = load_installed("metrics", name, Metric)
        if metric is not None:
            metrics.append(metric)
    return metrics


def find_metric(
    text: str, metrics: Mapping[str, Metric], *, other_names: Sequence[str] = ()
) -> Metric:
    """Look up the metric of a name, and set the options in it; a cut-off in it is ignored.

    Parameters
    ----------
    text
        Name with options, such as ``P(rel=4)``. One such as ``ir_measures:nDCG(dcg='exp-log2')``
        is a measure of ir_measures.
    metrics
        The metrics to look in, by name; installed metrics come after these.
    other_names
        Further names that the error may suggest.

    Raises
    ------
    InputError
        If no metric has this name, or the metric does not take an option.
    """
    if text.startswith(PREFIX):
        return metric_of_ir_measures(text)
    parsed = parse_name(text)
    metric = metrics.get(parsed.name) or load_installed("metrics", parsed.name, Metric)
    if metric is not None:
        return metric.with_options(parsed.options)
    translation = harness_name(parsed.name, metrics)
    file = Path(f"{parsed.name}.py")
    if translation:
        hint = f"here it is {translation!r}."
    elif file.is_file():
        hint = f"to use the metrics of the file {file}, add `--plugin {file}`."
    else:
        names = [*metrics, *installed_entry_points("metrics"), *other_names]
        hint = suggestion(parsed.name, names) + " Your own needs its file: `--plugin FILE.py`."
    raise InputError(f"no metric is called {parsed.name!r}; {hint}")


def translate_name(text: str, metrics: Mapping[str, Metric]) -> str:
    """Translate a measure's name in another tool into ours: ``ndcg_cut_10`` into ``nDCG@10``.

    Options and depth stay. The text is returned as it is if it is a name of ours, if nobody knows
    it, if it says two cut-offs, and if it is ``ndcg_cut``, which stands for nine cut-offs. Raises
    InputError if it cannot be parsed.
    """
    text = translate_from_ir_measures(text)
    if text.startswith(PREFIX):
        return text
    parsed = parse_name(text)
    if parsed.name.endswith("_cut"):
        return text
    if parsed.name in metrics or parsed.name in installed_entry_points("metrics"):
        return text
    name, _, cutoff = harness_name(parsed.name, metrics).partition("@")
    if not name or (cutoff and parsed.has_depth):
        return text
    options_and_depth = text.strip()[len(parsed.name) :]
    depth = f"@{cutoff}" if cutoff else ""
    return f"{name}{options_and_depth}{depth}"


def harness_name(text: str, metrics: Mapping[str, Metric]) -> str:
    """Look up our name of a metric by its name in another tool, with a cut-off if that has one.

    The names of other tools are the aliases of ``metrics`` and their names in trec_eval; case,
    blanks, hyphens and underscores do not count. Returns "" if none matches.
    """
    match = FOREIGN_NAME.match(text)
    assert match is not None  # Every text matches.
    base, cutoff = match.groups()
    # Metrics without a name in trec_eval have an empty one.
    if not base:
        return ""
    for metric in metrics.values():
        trec_eval_name = re.split(r"[ .]", metric.trec_eval)[0]
        names = [metric.name, trec_eval_name, *metric.aliases]
        if _folded(base) in [_folded(name) for name in names]:
            return f"{metric.name}@{cutoff}" if cutoff else metric.name
    return ""


def _folded(name: str) -> str:
    return re.sub(r"[ _-]", "", name).casefold()


def _declared_metrics(module: ModuleType) -> dict[str, Metric]:
    """Return the metrics that a module declares, by name.

    Metrics that it imports, or sets options or a cut-off of, are left out.
    """
    metrics = {}
    for value in vars(module).values():
        if not isinstance(value, Metric):
            continue
        is_own = value.function.__module__ == module.__name__
        has_no_options = str(value) == value.name
        if is_own and has_no_options:
            metrics[value.name] = value
    return metrics
