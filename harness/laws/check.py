"""Which metrics are checked, and how their cards are printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import gettempdir

from hypothesis.configuration import set_hypothesis_home_dir

from harness.laws.cards import Card, check_metric
from harness.laws.lists import TRIES
from harness.laws.markdown import page
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import built_in_metrics, find_metric, plugin_metrics
from runs import InputError

CUTOFF = 5


def chosen(
    subject: str | None, name: str | None, cutoff: int | None, *, everything: bool
) -> list[tuple[Metric, int]]:
    """Give the metrics to be checked, each with its cut-off: by default that of the name, or 5.

    The subject is a built-in metric or a Python file, of which a name chooses one metric.

    Raises
    ------
    InputError
        If there is no such metric, or the choices contradict each other.
    """
    if everything == (subject is not None):
        raise InputError("name a metric, a file with metrics (.py), or --all: one of them.")
    if subject is not None and subject.endswith(".py"):
        found = plugin_metrics(Path(subject))
        return [_at_cutoff(label, found, cutoff) for label in ([name] if name else found)]
    if name is not None:
        raise InputError("--metric chooses from a file with metrics (.py).")
    known = built_in_metrics()
    of_lists = [label for label, metric in known.items() if not metric.needs]
    return [_at_cutoff(label, known, cutoff) for label in ([subject] if subject else of_lists)]


def _at_cutoff(label: str, known: dict[str, Metric], cutoff: int | None) -> tuple[Metric, int]:
    named = parse_name(label).cutoff
    if None not in (named, cutoff) and named != cutoff:
        raise InputError(f"{label!r} has a cut-off of its own, which differs from {cutoff}.")
    return find_metric(label, known), named or cutoff or CUTOFF


def cards_of(metrics: Sequence[tuple[Metric, int]], *, tries: int | None = None) -> list[Card]:
    """Check metrics, each at its cut-off."""
    # Hypothesis would keep notes on the constants of a user's file in the folder it is run from.
    set_hypothesis_home_dir(Path(gettempdir()) / "harness-hypothesis")
    return [check_metric(metric, cutoff=cutoff, tries=tries or TRIES) for metric, cutoff in metrics]


def printed(cards: Sequence[Card], form: str | None) -> str:
    """Print cards as text for people, or in another form: "json" or "markdown"."""
    if form == "json":
        plain = [card.to_dict() for card in cards]
        return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"
    if form == "markdown":
        return page(cards)
    return "\n\n".join(card.text() for card in cards)
