"""``harness check``: try metrics on a battery of laws."""

from __future__ import annotations

import sys

import click

from harness.cli.console import BROKEN
from harness.cli.options import removed, tried


@click.command()
@click.argument("subject", metavar="[METRIC|FILE.py]", required=False)
@click.option("--metric", "name", metavar="NAME", help="The one metric of the file to check.")
@click.option("--cutoff", type=click.IntRange(1, 100), help="Ranks considered; 5 by default.")
@tried
@click.option("--all", "everything", is_flag=True, help="Check every built-in metric.")
@click.option("--json", "as_json", is_flag=True, help="Print the cards as JSON.")
@removed("--markdown", "`harness check --json` prints the cards as data.")
def check(
    subject: str | None,
    name: str | None,
    cutoff: int | None,
    tries: int | None,
    everything: bool,
    as_json: bool,
) -> None:
    """Try a metric on a battery of laws, and print what it keeps and what it breaks.

    METRIC is a built-in metric, say nDCG@10; FILE.py has metrics of yours. For a law that is
    broken the smallest list found is shown. A broken law is a finding, not always a defect:
    metrics of fame break some.

    The exit code is 0 if no law is broken, 1 if one is, 2 for wrong usage.
    """
    import json

    from harness.laws.cards import cards_of, chosen

    cards = cards_of(chosen(subject, name, cutoff, everything=everything), tries=tries)
    if as_json:
        plain = [card.to_dict() for card in cards]
        click.echo(json.dumps(plain, indent=1, ensure_ascii=False))
    else:
        click.echo("\n\n".join(card.text() for card in cards), nl=False)
    if any(card.broken for card in cards):
        sys.exit(BROKEN)
