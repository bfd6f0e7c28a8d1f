"""Cards: what the laws say of a metric, to be read by people and by programs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import gettempdir
from textwrap import wrap
from typing import Any

import numpy as np
from hypothesis.configuration import set_hypothesis_home_dir

from analyses.shared.table import aligned
from harness.laws.battery import CONVENTIONS, LAWS
from harness.laws.law import Outcome, Verdict
from harness.laws.lists import TRIES, Bench
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name, print_name
from harness.metrics.shared.register import built_in_metrics, find_metric, plugin_metrics
from runs import InputError

CUTOFF = 5
WIDTH = 80
INDENT = 8
SHORT = {
    Verdict.PASS: "pass",
    Verdict.FAIL: "FAIL",
    Verdict.NOT_APPLICABLE: "n/a",
    Verdict.REPORT: "note",
}
LEGEND = (
    "R relevant, N judged non-relevant, – unjudged, from rank 1 on; with a number where the "
    "grade is not {level} (R) or 0 (N). R = and N = count all of the user's judgements, "
    "in the list or not."
)

OF_HIDDEN = "the score is of hidden items, each ranked in a list of its own."


@dataclass(frozen=True)
class Card:
    """All that was found of a metric at a cut-off, with so many cases tried for each law."""

    metric: Metric
    cutoff: int
    level: int
    tries: int
    outcomes: tuple[Outcome, ...]

    @property
    def label(self) -> str:
        """Metric, options and cut-off."""
        return print_name(self.metric.name, dict(self.metric.given), self.cutoff)

    @property
    def broken(self) -> tuple[Outcome, ...]:
        """The laws that it breaks."""
        return tuple(o for o in self.outcomes if o.verdict is Verdict.FAIL)

    def text(self) -> str:
        """Print the card, at most 80 columns wide."""
        lines = [self.label, ""]
        for fact in (self.metric.summary, *self.metric.facts()):
            lines += wrap(fact, WIDTH)
        lines += ["", *wrap(f"{self.tries} cases were tried for each law.", WIDTH), ""]
        for outcome in self.outcomes:
            lines += _lines_of(outcome, self.level)
        return "\n".join([*lines, "", *wrap(LEGEND.format(level=self.level), WIDTH)]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Give the card as plain data."""
        return {
            "metric": self.metric.label,
            "cutoff": self.cutoff,
            "relevance level": self.level,
            "cases per law": self.tries,
            "broken": [outcome.law for outcome in self.broken],
            "outcomes": [
                asdict(outcome) | {"verdict": outcome.verdict.value} for outcome in self.outcomes
            ],
        }


def check_metric(metric: Metric, *, cutoff: int = 5, tries: int = TRIES) -> Card:
    """Try a metric on every law and property, with so many cases for each law.

    Laws are of lists, and do not apply where every hidden item has a list of its own.
    """
    bench = Bench(metric, cutoff, tries)
    if metric.needs:
        outcomes = tuple(law.outcome_without(OF_HIDDEN) for law in (*LAWS, *CONVENTIONS))
        return Card(metric, cutoff, bench.level, tries, outcomes)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Divisions by zero show in the scores; a warning for each of the trials would not help.
        warnings.simplefilter("ignore", RuntimeWarning)
        outcomes = tuple(law.apply(bench) for law in (*LAWS, *CONVENTIONS))
    return Card(metric, cutoff, bench.level, tries, outcomes)


def chosen(
    subject: str | None, cutoff: int | None, *, everything: bool
) -> list[tuple[Metric, int]]:
    """Give the metrics to be checked, each with its cut-off: by default that of the name, or 5.

    The subject is a built-in metric, or a Python file, whose metrics are all meant.
    """
    if everything == (subject is not None):
        raise InputError("give either a metric, a Python file with metrics (.py), or --all.")
    if subject is not None and subject.endswith(".py"):
        found = plugin_metrics(Path(subject))
        return [_at_cutoff(label, found, cutoff) for label in found]
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


def evidence_lines(outcome: Outcome, level: int) -> list[str]:
    """Print the lists of a counterexample, one a line, in columns."""
    rows = [
        (
            f"{label}:",
            listed.marks(level=level),
            f"R = {listed.n_relevant(level=level)}, N = {listed.n_nonrelevant(level=level)}",
            score if isinstance(score, str) else f"scores {score:.6g}",
        )
        for label, listed, score in (vars(each).values() for each in outcome.evidence)
    ]
    return aligned(rows, n_names=4).splitlines()


def _lines_of(outcome: Outcome, level: int) -> Iterator[str]:
    indent = " " * INDENT
    heading = f"{outcome.law}: {outcome.statement}"
    first = f"  {SHORT[outcome.verdict]:4}  "
    yield from wrap(heading, WIDTH, initial_indent=first, subsequent_indent=indent)
    if outcome.sentence:
        yield from wrap(outcome.sentence, WIDTH, initial_indent=indent, subsequent_indent=indent)
    yield from (indent + line for line in evidence_lines(outcome, level))
