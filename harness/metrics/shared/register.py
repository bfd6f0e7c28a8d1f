"""Where metrics are found: in two places, in files of users, in ir_measures; kept as data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from harness.metrics.shared.ir_measures import PREFIX, metric_of_ir_measures
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from runs import InputError
from runs.shared.errors import suggestion
from runs.shared.members import import_modules, installed_entry_points, load_installed, load_module

FOLDERS = ("harness.metrics", "harness.trec_eval.metrics")
"""The package whose modules declare metrics, and the module of those that exist for the names of
trec_eval, which stands above; named as in an import."""

OF_OTHERS = re.compile(r"^(.*?)(?:[_.]([0-9]+))?$", re.DOTALL)
"""A name, and a cut-off as trec_eval writes it."""


def built_in_metrics() -> dict[str, Metric]:
    """Give the metrics of `FOLDERS` by name, in alphabetical order.

    The folder is the list: a file added there is found here.
    """
    folder, for_trec_eval = FOLDERS
    modules = [*import_modules(folder), import_module(for_trec_eval)]
    found = {name: made for module in modules for name, made in _declared(module).items()}
    return dict(sorted(found.items(), key=lambda item: item[0].casefold()))


def plugin_metrics(path: Path) -> dict[str, Metric]:
    """Give the metrics that a user's Python file declares, by name."""
    declared = _declared(load_module(path, description="metric plug-in"))
    if not declared:
        raise InputError(f"{path}: no function in it is declared with @metric(...).")
    return declared


def available_metrics(
    plugins: Sequence[Path] = (), own: Sequence[Metric] = ()
) -> dict[str, Metric]:
    """Give the built-in metrics, those of the plug-ins and others of one's own, by name."""
    found = built_in_metrics()
    for metric in own:
        bare = metric.bare
        if found.setdefault(bare.name, bare).function is not bare.function:
            raise InputError(f"another metric called {bare.name!r} exists already.")
    for path in plugins:
        for name, declared in plugin_metrics(path).items():
            if name in found:
                raise InputError(f"{path}: a metric called {name!r} exists already.")
            found[name] = declared
    return found


def installed_metrics() -> list[Metric]:
    """Import the metrics of all installed distributions."""
    found = (load_installed("metrics", name, Metric) for name in installed_entry_points("metrics"))
    return [metric for metric in found if metric is not None]


def find_metric(text: str, metrics: Mapping[str, Metric], *, others: Sequence[str] = ()) -> Metric:
    """Give the metric that a name with options means; a cut-off in it is left aside.

    A name such as ``ir_measures:nDCG(dcg='exp-log2')`` means a measure of ir_measures. The others
    are further names that may have been meant where there is none.
    """
    if text.startswith(PREFIX):
        return metric_of_ir_measures(text)
    parsed = parse_name(text)
    found = metrics.get(parsed.name) or load_installed("metrics", parsed.name, Metric)
    if found is None:
        own = own_name(parsed.name, metrics)
        file = Path(f"{parsed.name}.py")
        if own:
            known = f"here it is {own!r}."
        elif file.is_file():
            known = f"to use the metrics of the file {file}, add `--plugin {file}`."
        else:
            known = suggestion(parsed.name, [*metrics, *installed_entry_points("metrics"), *others])
            known += " Your own needs its file: `--plugin FILE.py`."
        raise InputError(f"no metric is called {parsed.name!r}; {known}")
    return found.with_options(parsed.options)


def translated(text: str, metrics: Mapping[str, Metric]) -> str:
    """Give a measure that others name as it is called here: ``ndcg_cut_10`` is ``nDCG@10``.

    A name of ours, and one that nobody knows, stays as it is; and so does ``ndcg_cut``, which
    stands for nine cut-offs.
    """
    parsed = None if text.startswith(PREFIX) else parse_name(text)
    if parsed is None or parsed.name.endswith("_cut"):
        return text
    if parsed.name in metrics or parsed.name in installed_entry_points("metrics"):
        return text
    name, _, cutoff = own_name(parsed.name, metrics).partition("@")
    if not name or (cutoff and parsed.has_depth):
        return text
    return name + text.strip()[len(parsed.name) :] + (cutoff and f"@{cutoff}")


def own_name(text: str, metrics: Mapping[str, Metric]) -> str:
    """Say what a metric is called here that others call so; "" if it is none of ours."""
    base, cutoff = OF_OTHERS.findall(text)[0]
    for metric in metrics.values():
        trec_eval = re.split(r"[ .]", metric.trec_eval)[0]
        if _folded(base) in map(_folded, (metric.name, trec_eval, *metric.aliases)):
            return metric.name if not cutoff else f"{metric.name}@{cutoff}"
    return ""


def _folded(name: str) -> str:
    return re.sub(r"[ _-]", "", name).casefold()


def _declared(module: ModuleType) -> dict[str, Metric]:
    """Give the metrics declared in a module, not those that it imports or sets options of."""
    return {
        value.name: value
        for value in vars(module).values()
        if isinstance(value, Metric)
        and value.function.__module__ == module.__name__
        and str(value) == value.name
    }
