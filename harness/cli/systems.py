"""``harness systems``: list the recommenders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from harness.cli.console import printed_table

if TYPE_CHECKING:
    from recommenders import SystemSpec


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME|FILE.py:CLASS]...")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def systems(names: tuple[str, ...], as_json: bool) -> None:
    """List the recommenders: name, family, settings, source. Of those named, all that is known."""
    import json

    from recommenders import find_system
    from recommenders import systems as all_systems

    specs = [find_system(name) for name in names] or list(all_systems().values())
    if as_json:
        facts = [spec.facts() for spec in specs]
        click.echo(json.dumps(facts, indent=1, ensure_ascii=False))
    elif names:
        for spec in specs:
            _describe_system(spec)
    else:
        with printed_table("name", "family", "settings (default; searched)", "source") as add:
            for spec in specs:
                settings = [
                    f"{name} ({default}; {place})" if place else f"{name} ({default})"
                    for name, default, place, _ in _settings(spec)
                ]
                add(spec.name, spec.family, "\n".join(settings) or "none", spec.source)


def _describe_system(spec: SystemSpec) -> None:
    click.echo(f"{spec.name} ({spec.family}): {spec.summary}\n{spec.source}\n")
    with printed_table("setting", "default", "searched", "meaning") as add:
        for setting in _settings(spec):
            add(*setting)


def _settings(spec: SystemSpec) -> Iterator[tuple[str, str, str, str]]:
    """Give name, default, where `tune` searches, and meaning of every setting."""
    from recommenders import search_space

    space = search_space(spec.settings)
    for name, facts in spec.facts()["settings"].items():
        default = str(facts.get("default", "needed"))
        yield name, default, str(space.get(name, "")), facts.get("description", "")
