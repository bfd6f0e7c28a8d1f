"""Whether a metric says the right thing of more or less being better."""

from __future__ import annotations

from harness.laws import cases
from harness.laws.law import Outcome, Verdict, drawn
from harness.laws.lists import Bench
from runs import InputError

GAINS = (cases.promotion, cases.unjudged_replaced, cases.nonrelevant_replaced)
"""Changes after which a list is better: a relevant item rises, or is found."""


def direction(bench: Bench) -> tuple[Outcome, ...]:
    """Give a hint if what makes lists better never makes the score better, but worse."""
    n_better, n_worse = _moves(bench)
    if n_better or not n_worse:
        return ()
    if bench.metric.higher_is_better:
        moved, better, setting = "falls", "less", "declare it with `higher_is_better=False`"
    else:
        moved, better, setting = "rises", "more", "leave `higher_is_better=False` out"
    sentence = (
        f"When a relevant item is found or promoted, the score {moved} ({n_worse} times) or stays, "
        f"and it never moves the other way: if {better} of the metric is better, {setting}."
    )
    statement = "Is the better way the one that the metric declares?"
    return (Outcome("direction", statement, Verdict.REPORT, sentence),)


def _moves(bench: Bench) -> tuple[int, int]:
    """Count the changes that make the score better, and those that make it worse."""
    n_better = n_worse = 0
    for kind in GAINS:
        for before, after in drawn(kind, bench.shape, bench.tries):
            try:
                old, new = bench.score(before), bench.score(after)
            except InputError:
                continue
            n_better += bench.is_better(new, old)
            n_worse += bench.is_better(old, new)
    return n_better, n_worse
