"""The cards as a page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence

from harness.laws.cards import LEGEND, Card, evidence_lines
from harness.laws.law import Outcome, Verdict

SIGNS = {
    Verdict.PASS: "yes",
    Verdict.FAIL: "**no**",
    Verdict.NOT_APPLICABLE: "n/a",
    Verdict.REPORT: "",
}


def page(cards: Sequence[Card]) -> str:
    """Make the page: a table of all metrics and laws, then a card of each metric.

    Measured times are left out: they would differ each time.
    """
    first = cards[0]
    laws = [o for o in first.outcomes if o.verdict is not Verdict.REPORT]
    lines = [
        "# What the metrics keep, and what they break",
        "",
        "Made by `make cards`; do not edit. `harness check my_metric.py` makes the card of a "
        "metric of yours.",
        "",
        f"For each law {first.tries} cases were tried at cut-off {first.cutoff}, and the first "
        "that broke it was made as small as it goes. A law that a metric breaks is a finding, not "
        "a defect: that P cannot reach 1 for a user with one relevant item is a fact to know "
        "before means are compared.",
        "",
        LEGEND.format(level=first.level),
        "",
        "| law | |",
        "|---|---|",
        *(f"| {outcome.law} | {outcome.statement} |" for outcome in laws),
        "",
        *_matrix(cards, [outcome.law for outcome in laws]),
    ]
    for card in cards:
        lines += ["", *_section(card)]
    return "\n".join(lines) + "\n"


def _matrix(cards: Sequence[Card], laws: Sequence[str]) -> list[str]:
    rows = [f"| {' | '.join(['metric', *laws])} |", "|---" * (len(laws) + 1) + "|"]
    for card in cards:
        signs = {outcome.law: SIGNS[outcome.verdict] for outcome in card.outcomes}
        rows.append(f"| {' | '.join([card.label, *(signs[law] for law in laws)])} |")
    return rows


def _section(card: Card) -> list[str]:
    lines = [f"## {card.label}", "", *card.facts()]
    for outcome in card.outcomes:
        if outcome.verdict is not Verdict.PASS and not outcome.is_measured:
            lines += ["", *_told(outcome, card.level)]
    return lines


def _told(outcome: Outcome, level: int) -> list[str]:
    verdict = {Verdict.FAIL: " **Broken.**", Verdict.NOT_APPLICABLE: " Not applicable:"}
    told = f"**{outcome.law}**: {outcome.statement}{verdict.get(outcome.verdict, '')}"
    lines = [f"{told} {outcome.sentence}".rstrip()]
    evidence = evidence_lines(outcome, level)
    return lines + (["", "```", *evidence, "```"] if evidence else [])
