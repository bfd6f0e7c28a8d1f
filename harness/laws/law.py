"""What a law is, how a case against it is searched for, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from random import Random
from typing import TypeAlias

from hypothesis import Phase, find, settings
from hypothesis.errors import Flaky, NoSuchExample
from hypothesis.strategies import SearchStrategy

from harness.laws.lists import Bench, Shape, UserList
from runs import InputError

SEED = 20261121
"""Random seed of the search for counterexamples."""

UNSTEADY = "the score of a list changes from call to call."


class Verdict(Enum):
    """What became of a law."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"
    REPORT = "report"


@dataclass(frozen=True)
class Evidence:
    """One list of a counterexample, and its score, or what the metric said instead of one.

    The label says what it is: "before", "after", "perfect" ...
    """

    label: str
    listed: UserList
    score: float | str


Case: TypeAlias = tuple[UserList, ...]
"""The lists that a law is tried on: one, or two."""

Counterexample: TypeAlias = tuple[Evidence, ...] | None
"""The lists of a case that breaks a law; None if it keeps the law."""


@dataclass(frozen=True)
class Outcome:
    """What a law says of a metric.

    The sentence says why it does not apply, or what is reported ("" otherwise). The evidence is the
    smallest counterexample found, or an example of a property that is reported.
    """

    law: str
    statement: str
    verdict: Verdict
    sentence: str = ""
    evidence: tuple[Evidence, ...] = ()


Strategy: TypeAlias = Callable[[Shape], SearchStrategy[Case]]
Breaks: TypeAlias = Callable[[Bench, Case], Counterexample]


@dataclass(frozen=True)
class Law:
    """Something to be expected of any metric, as data.

    Parameters
    ----------
    name, statement
        What it is called, and what it says.
    cases
        Makes the strategy that draws cases for lists of a shape.
    breaks
        Returns the evidence if a case breaks the law, None if it keeps it.
    reason_against
        Returns why the law does not apply to a metric, "" if it does.
    if_kept, if_broken
        Sentences for a property that is reported, and is neither good nor bad; "" for a law.
    """

    name: str
    statement: str
    cases: Strategy
    breaks: Breaks
    reason_against: Callable[[Bench], str] = lambda _: ""
    if_kept: str = ""
    if_broken: str = ""

    def apply(self, bench: Bench) -> Outcome:
        """Try the cases of the law on a metric, and search for the smallest that breaks it.

        ``bench`` is the metric at a cut-off, with the number of cases. The law does not apply if
        there is a reason against it, if no case can be scored, or if scores change from call to
        call. Else a law passes or fails; a property that is reported has a sentence instead. The
        smallest case that breaks it is the evidence. Sentences of a property are ``self.if_kept``,
        which is empty for a law, and ``self.if_broken``.
        """
        reason = self.reason_against(bench)
        if reason:
            return self.not_applicable(reason)
        cases = draw_cases(self.cases, bench.shape, bench.tries)
        results = {self._is_broken(bench, case) for case in cases}
        # Each result is True (broken), False, or None where lists could not be scored.
        if results <= {None}:
            return self.not_applicable("no list could be scored.")
        evidence = self._smallest_counterexample(bench) if True in results else ()
        if evidence is None:
            return self.not_applicable(UNSTEADY)
        if self.if_kept:
            sentence = self.if_broken if evidence else self.if_kept
            return Outcome(self.name, self.statement, Verdict.REPORT, sentence, evidence)
        verdict = Verdict.FAIL if evidence else Verdict.PASS
        return Outcome(self.name, self.statement, verdict, evidence=evidence)

    def not_applicable(self, reason: str) -> Outcome:
        """Make the outcome of a law that does not apply, for a reason."""
        return Outcome(self.name, self.statement, Verdict.NOT_APPLICABLE, reason)

    def _is_broken(self, bench: Bench, case: Case) -> bool | None:
        """Check whether a case breaks the law; None if its lists cannot be scored."""
        try:
            return self.breaks(bench, case) is not None
        except InputError:
            return None

    def _smallest_counterexample(self, bench: Bench) -> Counterexample:
        """Search for the smallest case that breaks the law; None if it does not each time.

        Returns the evidence: the lists of the case with their scores. ``bench`` is the metric at a
        cut-off. Cases that cannot be scored do not count.
        """

        def is_broken(case: Case) -> bool:
            return self._is_broken(bench, case) is True

        try:
            case = search(self.cases(bench.shape), is_broken, tries=bench.tries)
        except (Flaky, NoSuchExample):
            return None
        evidence = self.breaks(bench, case)
        second_evidence = self.breaks(bench, case)
        return evidence if evidence == second_evidence else None


@lru_cache(maxsize=64)
def draw_cases(cases: Strategy, shape: Shape, tries: int) -> tuple[Case, ...]:
    """Draw up to ``tries`` cases that a law is tried on: the same for every metric, so drawn once.

    ``cases`` makes the strategy that draws lists of the shape (cut-off and relevance level).
    """
    collected: list[Case] = []

    def collect(case: Case) -> bool:
        """Collect a case, and keep the search going."""
        collected.append(case)
        return False

    # The search calls the function for case after case until it is true: never.
    with suppress(NoSuchExample):
        search(cases(shape), collect, tries=tries)
    return tuple(collected)


def search(cases: SearchStrategy[Case], is_broken: Callable[[Case], bool], *, tries: int) -> Case:
    """Search for a case that breaks a law, and shrink it to the smallest; the same every time.

    ``is_broken`` says whether a case breaks the law. Raises NoSuchExample if none of so many tries
    does, Flaky if a case does so only sometimes.
    """
    search_settings = settings(
        max_examples=tries,
        database=None,
        deadline=None,
        derandomize=True,
        phases=(Phase.generate, Phase.shrink),
    )
    return find(cases, is_broken, settings=search_settings, random=Random(SEED))
