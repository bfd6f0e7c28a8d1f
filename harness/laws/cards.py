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
VERDICT_MARKS = {
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

NOT_OF_LISTS = "the score is of hidden items, each ranked in a list of its own."
"""Why laws do not apply to metrics of hidden items."""


@dataclass(frozen=True)
class Card:
    """What the laws say of a metric.

    Parameters
    ----------
    metric
        The metric.
    cutoffs
        Cut-offs at which it was tried; None for without.
    level
        Lowest relevant grade.
    tries
        Number of cases that were tried for each law at each cut-off.
    outcomes
        One for each law or convention.
    resolution
        Ties and distinct scores of random lists; None if these have no scores.
    """

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
        """The cut-offs at which the laws were tried, such as "5, 20, none"."""
        return ", ".join("none" if cutoff is None else str(cutoff) for cutoff in self.cutoffs)

    @property
    def broken(self) -> tuple[Outcome, ...]:
        """The laws that it breaks."""
        return tuple(outcome for outcome in self.outcomes if outcome.verdict is Verdict.FAIL)

    def surprises(self, expected: Collection[str]) -> list[str]:
        """Name the laws that are broken and not expected to be, and those expected that hold.

        Raises
        ------
        InputError
            If no law has an expected name.
        """
        laws = [outcome.law for outcome in self.outcomes if outcome.verdict is not Verdict.REPORT]
        require_known("no law is called", expected, laws)
        broken = [outcome.law for outcome in self.broken]
        unexpected = [law for law in broken if law not in expected]
        unbroken = [law for law in expected if law not in broken]
        return [
            *(f"{self.label} breaks {law!r}." for law in unexpected),
            *(f"{self.label} does not break {law!r}." for law in unbroken),
        ]

    def text(self) -> str:
        """Print the card, at most 80 columns wide."""
        lines = [self.label, ""]
        for fact in (self.metric.summary, *self.metric.facts()):
            lines += wrap(fact, WIDTH)
        trials = (
            f"{self.tries} cases were tried for each law at each of the cut-offs {self.depths}."
        )
        lines += ["", *wrap(trials, WIDTH), ""]
        for outcome in self.outcomes:
            lines += _outcome_lines(outcome, self.level)
        if self.resolution is not None:
            columns = self.resolution.to_columns().splitlines()
            lines += ["", *wrap(self.resolution.note, WIDTH), "", *columns]
        legend = LEGEND.format(level=self.level)
        lines += ["", *wrap(legend, WIDTH)]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Convert the card to plain data, for JSON; the resolution is None where it is not known.

        Rows of the resolution are dictionaries by heading. Scores may be NaN or infinite.
        """
        outcomes = [
            {**asdict(outcome), "verdict": outcome.verdict.value} for outcome in self.outcomes
        ]
        resolution_rows = None
        if self.resolution is not None:
            headings = self.resolution.headings
            resolution_rows = [
                dict(zip(headings, row, strict=True)) for row in self.resolution.rows
            ]
        return {
            "metric": self.metric.label,
            "cutoffs": [*self.cutoffs],
            "relevance level": self.level,
            "cases per law": self.tries,
            "broken": [outcome.law for outcome in self.broken],
            "outcomes": outcomes,
            "resolution": resolution_rows,
        }


def check_metric(
    metric: Metric,
    *,
    cutoffs: Sequence[int | None] = CUTOFFS,
    tries: int = TRIES,
    against: Metric | None = None,
) -> Card:
    """Try a metric on every law and convention, with small lists that are made up.

    Laws are of lists, and do not apply where every hidden item has a list of its own. Of each law,
    the outcome of the first cut-off with a counterexample counts. The resolution is that of the
    deepest cut-off.

    Parameters
    ----------
    metric
        The metric.
    cutoffs
        Cut-offs at which it is tried; None for without.
    tries
        Number of cases for each law at each cut-off.
    against
        Another metric, whose scores must be the same; None without.
    """
    benches = [Bench(metric, cutoff, tries) for cutoff in cutoffs]
    level = benches[0].shape.level
    laws = (*laws_of(metric, against), *CONVENTIONS)
    if metric.needs:
        not_applicable = tuple(law.not_applicable(NOT_OF_LISTS) for law in laws)
        return Card(metric, tuple(cutoffs), level, tries, not_applicable)
    # None, without a cut-off, counts as the shallowest.
    deepest = max(cutoffs, key=lambda cutoff: cutoff or 0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Divisions by zero show in the scores; a warning for each of the trials would not help.
        warnings.simplefilter("ignore", RuntimeWarning)
        outcomes = tuple(worst_outcome(law, benches) for law in laws)
        table = resolution(metric, deepest)
    return Card(metric, tuple(cutoffs), level, tries, outcomes, table)


def worst_outcome(law: Law, benches: Sequence[Bench]) -> Outcome:
    """Apply a law to a metric at every cut-off, a bench each, and choose an outcome.

    It is the first one with a counterexample, to whose sentence the cut-off is added if there are
    several; else the first of a cut-off at which the law applies; else the first.
    """
    outcomes: list[Outcome] = []
    for bench in benches:
        outcome = law.apply(bench)
        if outcome.evidence and len(benches) > 1:
            cutoff = bench.cutoff
            place = "Without a cut-off." if cutoff is None else f"At cut-off {cutoff}."
            return replace(outcome, sentence=f"{outcome.sentence} {place}".strip())
        outcomes.append(outcome)
    applied = (outcome for outcome in outcomes if outcome.verdict is not Verdict.NOT_APPLICABLE)
    return next(applied, outcomes[0])


MetricAtCutoffs: TypeAlias = tuple[Metric, tuple[int | None, ...]]
"""A metric, and the cut-offs to check it at."""


def metrics_to_check(
    subject: str, cutoff: int | None, *, plugins: Sequence[Path] = ()
) -> list[MetricAtCutoffs]:
    """Find the metrics to be checked, each with its cut-offs.

    Parameters
    ----------
    subject
        Name of a metric, such as "P@5", or path of a Python file: then all its metrics are checked.
    cutoff
        The cut-off; None for that of the name, or `CUTOFFS`.
    plugins
        Files that have further metrics.

    Raises
    ------
    InputError
        If there is no such metric, or its name has another cut-off.
    """
    if subject.endswith(".py"):
        metrics = plugin_metrics(Path(subject))
        labels = [*metrics]
    else:
        metrics = available_metrics(plugins)
        labels = [subject]
    metrics_at_cutoffs: list[MetricAtCutoffs] = []
    for label in labels:
        cutoff_in_name = parse_name(label).cutoff
        if None not in (cutoff_in_name, cutoff) and cutoff_in_name != cutoff:
            raise InputError(f"{label!r} has a cut-off of its own, which differs from {cutoff}.")
        only_cutoff = cutoff_in_name or cutoff
        cutoffs = (only_cutoff,) if only_cutoff else CUTOFFS
        metrics_at_cutoffs.append((find_metric(label, metrics), cutoffs))
    return metrics_at_cutoffs


def cards_of(
    metrics: Sequence[MetricAtCutoffs], *, tries: int | None = None, against: Metric | None = None
) -> list[Card]:
    """Check metrics, each at its cut-offs, and perhaps against another metric.

    ``tries`` is the number of cases for each law at each cut-off; None for the default. ``against``
    is a metric that must score all lists the same; None without. Notes of hypothesis go to a
    temporary folder.
    """
    # Hypothesis would keep notes on the constants of a user's file in the folder it is run from.
    set_hypothesis_home_dir(Path(gettempdir()) / "harness-hypothesis")
    n_tries = tries or TRIES
    return [
        check_metric(metric, cutoffs=cutoffs, tries=n_tries, against=against)
        for metric, cutoffs in metrics
    ]


def evidence_lines(outcome: Outcome, level: int) -> list[str]:
    """Print the lists of a counterexample, one a line, in columns: label, list, counts, score.

    ``level`` is the lowest relevant grade. Empty without a counterexample.
    """
    rows = []
    for evidence in outcome.evidence:
        judgements = evidence.listed.judgements
        n_relevant = sum(grade >= level for grade in judgements)
        counts = f"R = {n_relevant}, N = {len(judgements) - n_relevant}"
        score = evidence.score
        result = score if isinstance(score, str) else f"scores {score:.6g}"
        marks = evidence.listed.marks(level=level)
        rows.append((f"{evidence.label}:", marks, counts, result))
    return align_columns(rows, n_names=4).splitlines()


def _outcome_lines(outcome: Outcome, level: int) -> Iterator[str]:
    """Yield the lines of an outcome: verdict and law, a sentence if any, and the counterexample.

    ``level`` is the lowest relevant grade of the lists.
    """
    indent = " " * INDENT
    heading = f"{outcome.law}: {outcome.statement}"
    beginning = f"  {VERDICT_MARKS[outcome.verdict]:4}  "
    yield from wrap(heading, WIDTH, initial_indent=beginning, subsequent_indent=indent)
    if outcome.sentence:
        yield from wrap(outcome.sentence, WIDTH, initial_indent=indent, subsequent_indent=indent)
    for line in evidence_lines(outcome, level):
        yield indent + line
