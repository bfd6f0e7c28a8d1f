"""Cards: what the laws say of a metric, to be read by people and by programs."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import gettempdir
from textwrap import wrap
from typing import Any, TypeAlias

import numpy as np
from hypothesis.configuration import set_hypothesis_home_dir

from analyses.shared.table import Table, align_columns
from harness.laws.battery import CONVENTIONS, laws_of
from harness.laws.law import Law, Outcome, Verdict
from harness.laws.lists import TRIES, Bench
from harness.laws.resolution import resolution
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name, print_name
from harness.metrics.shared.register import available_metrics, find_metric, plugin_metrics
from runs import InputError
from runs.shared.errors import require_known

CUTOFFS = (5, 20, None)
"""Depths at which a metric is tried, if none is asked for; None: without a cut-off."""

WIDTH = 80
INDENT = 8
SHORT = dict(zip(Verdict, ("pass", "FAIL", "n/a", "note"), strict=True))
LEGEND = (
    "R relevant, N judged non-relevant, – unjudged, from rank 1 on; with a number where the "
    "grade is not {level} (R) or 0 (N). R = and N = count all of the user's judgements, "
    "in the list or not."
)

OF_HIDDEN = "the score is of hidden items, each ranked in a list of its own."


@dataclass(frozen=True)
class Card:
    """All that was found of a metric, with so many cases tried for each law at each cut-off."""

    metric: Metric
    cutoffs: tuple[int | None, ...]
    level: int
    tries: int
    outcomes: tuple[Outcome, ...]
    resolution: Table | None = None

    @property
    def label(self) -> str:
        """Metric and options, with the cut-off if there is one alone."""
        cutoff = self.cutoffs[0] if len(self.cutoffs) == 1 else None
        return print_name(self.metric.name, dict(self.metric.option_values), cutoff)

    @property
    def depths(self) -> str:
        """Say at which cut-offs the laws were tried."""
        return ", ".join("none" if each is None else str(each) for each in self.cutoffs)

    @property
    def broken(self) -> tuple[Outcome, ...]:
        """The laws that it breaks."""
        return tuple(o for o in self.outcomes if o.verdict is Verdict.FAIL)

    def surprises(self, expected: Collection[str]) -> list[str]:
        """Say which laws are broken that are not expected to be, and which are expected and hold.

        Raises
        ------
        InputError
            If no law has an expected name.
        """
        known = [outcome.law for outcome in self.outcomes if outcome.verdict is not Verdict.REPORT]
        require_known("no law is called", expected, known)
        broken = [outcome.law for outcome in self.broken]
        return [
            *(f"{self.label} breaks {law!r}." for law in broken if law not in expected),
            *(f"{self.label} does not break {law!r}." for law in expected if law not in broken),
        ]

    def text(self) -> str:
        """Print the card, at most 80 columns wide."""
        lines = [self.label, ""]
        for fact in (self.metric.summary, *self.metric.facts()):
            lines += wrap(fact, WIDTH)
        tried = f"{self.tries} cases were tried for each law at each of the cut-offs {self.depths}."
        lines += ["", *wrap(tried, WIDTH), ""]
        for outcome in self.outcomes:
            lines += _lines_of(outcome, self.level)
        if self.resolution is not None:
            columns = self.resolution.to_columns().splitlines()
            lines += ["", *wrap(self.resolution.note, WIDTH), "", *columns]
        return "\n".join([*lines, "", *wrap(LEGEND.format(level=self.level), WIDTH)]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Give the card as plain data."""
        table = self.resolution
        return {
            "metric": self.metric.label,
            "cutoffs": [*self.cutoffs],
            "relevance level": self.level,
            "cases per law": self.tries,
            "broken": [outcome.law for outcome in self.broken],
            "outcomes": [asdict(o) | {"verdict": o.verdict.value} for o in self.outcomes],
            "resolution": table
            and [dict(zip(table.headings, row, strict=True)) for row in table.rows],
        }


def check_metric(
    metric: Metric,
    *,
    cutoffs: Sequence[int | None] = CUTOFFS,
    tries: int = TRIES,
    against: Metric | None = None,
) -> Card:
    """Try a metric on every law and property, with so many cases for each law at each cut-off.

    Laws are of lists, and do not apply where every hidden item has a list of its own. One law is
    that the scores are those of another metric, if one is given.
    """
    benches = [Bench(metric, cutoff, tries) for cutoff in cutoffs]
    laws = (*laws_of(metric, against), *CONVENTIONS)
    facts = metric, tuple(cutoffs), benches[0].shape.level, tries
    if metric.needs:
        return Card(*facts, tuple(law.outcome_without(OF_HIDDEN) for law in laws))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Divisions by zero show in the scores; a warning for each of the trials would not help.
        warnings.simplefilter("ignore", RuntimeWarning)
        outcomes = tuple(worst_of(law, benches) for law in laws)
        return Card(*facts, outcomes, resolution(metric, max(cutoffs, key=lambda n: n or 0)))


def worst_of(law: Law, benches: Sequence[Bench]) -> Outcome:
    """Apply a law at every cut-off, and give the first outcome with a counterexample, if any."""
    outcomes: list[Outcome] = []
    for bench in benches:
        found = law.apply(bench)
        if found.evidence and len(benches) > 1:
            cutoff = bench.cutoff
            place = "Without a cut-off." if cutoff is None else f"At cut-off {cutoff}."
            return replace(found, sentence=f"{found.sentence} {place}".strip())
        outcomes.append(found)
    applied = (each for each in outcomes if each.verdict is not Verdict.NOT_APPLICABLE)
    return next(applied, outcomes[0])


Chosen: TypeAlias = tuple[Metric, tuple[int | None, ...]]
"""A metric, and the cut-offs to check it at."""


def chosen(subject: str, cutoff: int | None, *, plugins: Sequence[Path] = ()) -> list[Chosen]:
    """Give the metrics to be checked, each with its cut-offs: by default that of the name, or all.

    The subject is a known metric, or a Python file, whose metrics are all meant.
    """
    if subject.endswith(".py"):
        known = plugin_metrics(Path(subject))
        labels = [*known]
    else:
        known = available_metrics(plugins)
        labels = [subject]
    found: list[Chosen] = []
    for label in labels:
        named = parse_name(label).cutoff
        if None not in (named, cutoff) and named != cutoff:
            raise InputError(f"{label!r} has a cut-off of its own, which differs from {cutoff}.")
        asked = named or cutoff
        found.append((find_metric(label, known), (asked,) if asked else CUTOFFS))
    return found


def cards_of(
    metrics: Sequence[Chosen], *, tries: int | None = None, against: Metric | None = None
) -> list[Card]:
    """Check metrics, each at its cut-offs, and perhaps against another metric."""
    # Hypothesis would keep notes on the constants of a user's file in the folder it is run from.
    set_hypothesis_home_dir(Path(gettempdir()) / "harness-hypothesis")
    return [check_metric(m, cutoffs=at, tries=tries or TRIES, against=against) for m, at in metrics]


def evidence_lines(outcome: Outcome, level: int) -> list[str]:
    """Print the lists of a counterexample, one a line, in columns."""
    rows = []
    for label, listed, score in (vars(each).values() for each in outcome.evidence):
        n_relevant = sum(grade >= level for grade in listed.judgements)
        counts = f"R = {n_relevant}, N = {len(listed.judgements) - n_relevant}"
        scored = score if isinstance(score, str) else f"scores {score:.6g}"
        rows.append((f"{label}:", listed.marks(level=level), counts, scored))
    return align_columns(rows, n_names=4).splitlines()


def _lines_of(outcome: Outcome, level: int) -> Iterator[str]:
    indent = " " * INDENT
    heading = f"{outcome.law}: {outcome.statement}"
    first = f"  {SHORT[outcome.verdict]:4}  "
    yield from wrap(heading, WIDTH, initial_indent=first, subsequent_indent=indent)
    if outcome.sentence:
        yield from wrap(outcome.sentence, WIDTH, initial_indent=indent, subsequent_indent=indent)
    yield from (indent + line for line in evidence_lines(outcome, level))
