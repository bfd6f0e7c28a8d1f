"""``harness check``: try metrics on a battery of laws."""

from __future__ import annotations

import sys

import click

from harness.cli.console import BROKEN
from harness.cli.options import tried


@click.command()
@click.argument("subject", metavar="[METRIC|FILE.py]", required=False)
@click.option("--metric", "name", metavar="NAME", help="The one metric of the file to check.")
@click.option("--cutoff", type=click.IntRange(1, 100), help="Ranks considered; 5 by default.")
@tried
@click.option("--all", "everything", is_flag=True, help="Check every built-in metric.")
@click.option("--json", "form", flag_value="json", help="Print the cards as JSON.")
@click.option("--markdown", "form", flag_value="markdown", help="Print the cards as one page.")
def check(
    subject: str | None,
    name: str | None,
    cutoff: int | None,
    tries: int | None,
    everything: bool,
    form: str | None,
) -> None:
    """Try a metric on a battery of laws, and print what it keeps and what it breaks.

    METRIC is a built-in metric, say nDCG@10; FILE.py has metrics of yours. For a law that is
    broken the smallest list found is shown. A broken law is a finding, not always a defect:
    metrics of fame break some.

    The exit code is 0 if no law is broken, 1 if one is, 2 for wrong usage.
    """
    from harness.laws.check import cards_of, chosen, printed

    cards = cards_of(chosen(subject, name, cutoff, everything=everything), tries=tries)
    click.echo(printed(cards, form), nl=False)
    if any(card.broken for card in cards):
        sys.exit(BROKEN)
