"""The cards as a page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence

from harness.laws.battery import LAWS, PROPERTIES
from harness.laws.cards import LEGEND, Card, evidence_lines
from harness.laws.law import Law, Outcome, Verdict

SIGNS = {
    Verdict.PASS: "yes",
    Verdict.FAIL: "**no**",
    Verdict.NOT_APPLICABLE: "n/a",
}


def page(cards: Sequence[Card]) -> str:
    """Make the page: a table of all metrics and laws, then a card of each metric.

    Measured times are left out: they would differ each time.
    """
    first = cards[0]
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
        "Metrics that ask for items see those of a small catalogue, drawn once: how often each was "
        "rated, and which of four categories it has. An item keeps these when it changes places.",
        "",
        *_statements(first, "law", LAWS),
        "",
        *_matrix(cards, LAWS),
        "",
        *_statements(first, "property", PROPERTIES),
        "",
        *_matrix(cards, PROPERTIES),
    ]
    for card in cards:
        lines += ["", *_section(card)]
    return "\n".join(lines) + "\n"


def _statements(card: Card, heading: str, laws: Sequence[Law]) -> list[str]:
    return [f"| {heading} | |", "|---|---|", *(f"| {law.name} | {law.statement} |" for law in laws)]


def _matrix(cards: Sequence[Card], laws: Sequence[Law]) -> list[str]:
    names = [law.name for law in laws]
    rows = [f"| {' | '.join(['metric', *names])} |", "|---" * (len(names) + 1) + "|"]
    for card in cards:
        signs = {outcome.law: _sign(outcome) for outcome in card.outcomes}
        rows.append(f"| {' | '.join([card.label, *(signs[name] for name in names)])} |")
    return rows


def _sign(outcome: Outcome) -> str:
    """Say in a word what became of a law; of a property, the first word of the answer."""
    if outcome.verdict is Verdict.REPORT:
        return outcome.sentence.partition(" ")[0].strip(".,").lower()
    return SIGNS[outcome.verdict]


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
