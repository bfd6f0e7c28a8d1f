"""What is known of a user's metric as data, so that its file need not be run again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.metrics.shared.metric import Metric
from harness.metrics.shared.option import Option
from harness.metrics.shared.register import FOLDERS
from runs import InputError

FACTS = ("name", "source", "aliases", "low", "high", "higher_is_better", "has_level", "per_user")


def keep_metrics(metrics: Iterable[Metric], cutoffs: Sequence[int]) -> bytes | None:
    """Write what the users' metrics among some declare, without options; None if there are none.

    Their lattices are kept for some cut-offs.
    """
    users = {m.name: m.bare for m in metrics if not m.function.__module__.startswith(FOLDERS)}
    kept = [_facts(metric, cutoffs) for metric in users.values()]
    return json.dumps(kept, indent=1, ensure_ascii=False).encode() if kept else None


def _facts(metric: Metric, cutoffs: Sequence[int]) -> dict[str, Any]:
    options = [
        {name: getattr(option, name) for name in ("name", "default", "values", "text")}
        for option in metric.options
    ]
    return {
        **{name: getattr(metric, name) for name in FACTS},
        "doc": metric.doc,
        "options": options,
        "lattice": {cutoff: metric.lattice(cutoff) for cutoff in cutoffs},
    }


def read_kept_metrics(content: bytes) -> dict[str, Metric]:
    """Give the metrics that `keep_metrics` wrote, by name: all but their definitions."""
    return {facts["name"]: _metric(facts) for facts in json.loads(content)}


def _metric(facts: Mapping[str, Any]) -> Metric:
    def score(*_: Any, **options: Any) -> Any:
        raise InputError("its definition is in a file of a user's: name it with --plugin.")

    score.__doc__ = facts["doc"]
    lattice = {int(cutoff): whole for cutoff, whole in facts["lattice"].items()}
    return Metric(
        **{name: facts[name] for name in FACTS} | {"aliases": tuple(facts["aliases"])},
        function=score,
        lattice=lattice.get,
        options=tuple(Option(**each, accepts=lambda value: True) for each in facts["options"]),
    )
