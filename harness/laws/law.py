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
Found: TypeAlias = tuple[Evidence, ...] | None


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


@dataclass(frozen=True)
class Law:
    """Something to be expected of any metric, as data.

    `breaks` gives the evidence if a case breaks the law, None if it keeps it; `reason_against` says
    why the law does not apply to a metric, "" if it does. Of a property that is reported, neither
    good nor bad, `if_kept` or `if_broken` is said.
    """

    name: str
    statement: str
    cases: Callable[[Shape], SearchStrategy[Case]]
    breaks: Callable[[Bench, Case], Found]
    reason_against: Callable[[Bench], str] = lambda _: ""
    if_kept: str = ""
    if_broken: str = ""

    def apply(self, bench: Bench) -> Outcome:
        """Go through the drawn cases, and search for the smallest that breaks the law."""
        reason = self.reason_against(bench)
        if reason:
            return self.outcome_without(reason)
        cases = drawn(self.cases, bench.shape, bench.tries)
        found = {self._is_broken(bench, case) for case in cases}
        if found <= {None}:
            return self.outcome_without("no list could be scored.")
        evidence = self._smallest(bench) if True in found else ()
        if evidence is None:
            return self.outcome_without(UNSTEADY)
        verdict, sentence = Verdict.FAIL if evidence else Verdict.PASS, ""
        if self.if_kept:
            verdict, sentence = Verdict.REPORT, self.if_broken if evidence else self.if_kept
        return Outcome(self.name, self.statement, verdict, sentence, evidence)

    def outcome_without(self, reason: str) -> Outcome:
        """Say why the law does not apply."""
        return Outcome(self.name, self.statement, Verdict.NOT_APPLICABLE, reason)

    def _is_broken(self, bench: Bench, case: Case) -> bool | None:
        """Tell whether a case breaks the law; None if its lists cannot be scored."""
        try:
            return self.breaks(bench, case) is not None
        except InputError:
            return None

    def _smallest(self, bench: Bench) -> Found:
        """Shrink what breaks the law; None if it does not break it each time."""
        cases = self.cases(bench.shape)
        try:
            case = search(cases, lambda one: self._is_broken(bench, one) is True, tries=bench.tries)
        except (Flaky, NoSuchExample):
            return None
        evidence, again = (self.breaks(bench, case) for _ in range(2))
        return evidence if evidence == again else None


@lru_cache(maxsize=64)
def drawn(
    cases: Callable[[Shape], SearchStrategy[Case]], shape: Shape, tries: int
) -> tuple[Case, ...]:
    """Draw the cases that a law is tried on: the same for every metric, so drawn once."""
    collected: list[Case] = []

    def collect(case: Case) -> bool:
        collected.append(case)
        return False

    with suppress(NoSuchExample):
        search(cases(shape), collect, tries=tries)
    return tuple(collected)


def search(cases: SearchStrategy[Case], is_broken: Callable[[Case], bool], *, tries: int) -> Case:
    """Search for a case that breaks a law, and shrink it to the smallest; the same every time."""
    bounds = settings(
        max_examples=tries,
        database=None,
        deadline=None,
        derandomize=True,
        phases=(Phase.generate, Phase.shrink),
    )
    return find(cases, is_broken, settings=bounds, random=Random(SEED))
