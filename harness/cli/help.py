"""Help beside ``--help``: ``docs``."""

from __future__ import annotations

import click

from harness.cli.options import HelpGroup

GROUP = HelpGroup(7, "Help")

MAX_LISTED = 12
"""Maximum number of explanations that are listed for a phrase in their texts."""

LISTED_KINDS = ("analysis", "metric", "system", "split", "coefficient", "page")
"""Kinds of explanations that are listed by their names without a NAME."""


@click.command()
@click.argument("words", nargs=-1, metavar="[NAME]")
def docs(words: tuple[str, ...]) -> None:
    """Print what explains NAME: a metric, an analysis, a setting or a term.

    NAME is, for example, nDCG, map_cut, sparsity, threshold or discriminative power: a name of the
    harness or of another tool, a section of a report, a guide, or a heading in it. Without NAME,
    lists names. Nothing is read from the network.
    """
    from harness.manual import explain, find_mentions

    name = " ".join(words)
    if not name:
        _print_names()
        return
    explanations = explain(name)
    if not explanations:
        explanations = find_mentions(name)
        if len(explanations) > 1:
            titles = [explanation.title for explanation in explanations]
            _print_markdown(_list_of(f"{name!r} stands in", titles[:MAX_LISTED]))
            if len(titles) > MAX_LISTED:
                click.echo(f"... and {len(titles) - MAX_LISTED} more.")
            return
    for explanation in explanations:
        _print_markdown(f"# {explanation.title}\n\n{explanation.text}")


def _print_names() -> None:
    """Print the names of what is explained, by kind."""
    from harness.manual import all_explanations

    names_by_kind: dict[str, list[str]] = {kind: [] for kind in LISTED_KINDS}
    for explanation in all_explanations():
        if explanation.kind in names_by_kind:
            names_by_kind[explanation.kind].append(explanation.names[0])
    paragraphs = [
        f"**{kind.capitalize()}**: {', '.join(names)}" for kind, names in names_by_kind.items()
    ]
    paragraphs.append(
        "Settings, headings of pages and names of measures in other tools are found, too."
    )
    _print_markdown("\n\n".join(paragraphs))


def _list_of(title: str, items: list[str]) -> str:
    """Write a list of Markdown below a title."""
    return "\n".join([f"{title}:", "", *(f"- {item}" for item in items)])


def _print_markdown(text: str) -> None:
    """Print Markdown as text that a terminal shows, as wide as it is but at most 100 columns."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.capture() as printed:
        console.print(Markdown(text, hyperlinks=False), width=min(console.width, 100))
    lines = [line.rstrip() for line in printed.get().splitlines()]
    click.echo("\n".join(lines).strip("\n") + "\n")
