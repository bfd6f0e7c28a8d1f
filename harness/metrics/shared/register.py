"""Where metrics are found: in the folder, in files of users, in ir_measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from harness.metrics.shared.ir_measures import PREFIX, metric_of_ir_measures
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from runs import InputError
from runs.shared.errors import nearest
from runs.shared.member import modules_of
from runs.shared.modules import load_module


def built_in_metrics() -> dict[str, Metric]:
    """Give the metrics of ``harness/metrics/``, by name.

    The folder is the list: a file added there is found here.
    """
    return {
        name: made for m in modules_of("harness.metrics") for name, made in _declared(m).items()
    }


def plugin_metrics(path: Path) -> dict[str, Metric]:
    """Give the metrics that a user's Python file declares, by name.

    Raises
    ------
    InputError
        If the file is missing, fails when run, or declares no metric.
    """
    module = load_module(path, what="metric plug-in")
    declared = _declared(module)
    if not declared:
        raise InputError(f"{path}: no function in it is declared with @metric(...).")
    return declared


def available_metrics(plugins: Sequence[Path] = ()) -> dict[str, Metric]:
    """Give the built-in metrics and those of the plug-ins, by name.

    Raises
    ------
    InputError
        If a plug-in takes a name that is already taken.
    """
    found = built_in_metrics()
    for path in plugins:
        for name, declared in plugin_metrics(path).items():
            if name in found:
                raise InputError(f"{path}: a metric called {name!r} exists already.")
            found[name] = declared
    return found


def find_metric(text: str, metrics: Mapping[str, Metric]) -> Metric:
    """Give the metric that a name with options means; a cut-off in it is left aside.

    A name such as ``ir_measures:nDCG(dcg='exp-log2')`` means a measure of ir_measures.

    Raises
    ------
    InputError
        If there is none, or its options are wrong; the sentence names the nearest, or the
        options there are.

    Examples
    --------
    >>> find_metric("P(rel=4)@10", built_in_metrics()).label
    'P(rel=4)'
    >>> find_metric("nDGC", built_in_metrics())
    Traceback (most recent call last):
    runs.InputError: no metric is called 'nDGC'; did you mean 'nDCG'?
    """
    if text.startswith(PREFIX):
        return metric_of_ir_measures(text)
    parsed = parse_name(text)
    if parsed.name not in metrics:
        raise InputError(
            f"no metric is called {parsed.name!r}; {nearest(parsed.name, list(metrics))}"
        )
    return metrics[parsed.name].with_options(parsed.options)


def _declared(module: ModuleType) -> dict[str, Metric]:
    """Give the metrics declared in a module, not those that it imports."""
    own = (value for value in vars(module).values() if _home(value) == module.__name__)
    candidates = (getattr(value, "metric", None) for value in own)
    return {found.name: found for found in candidates if isinstance(found, Metric)}


def _home(value: object) -> str | None:
    return getattr(value, "__module__", None)
