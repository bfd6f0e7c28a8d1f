"""``harness describe``: say what ratings hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import printed_table, shown
from harness.cli.options import PATH, Command, SettingsCommand, given, imported, settings_options

if TYPE_CHECKING:
    from harness.study.first_study import DataDescription

SECTION = "harness.study.study.RatingsSection"


def reads_ratings(command: Command) -> Command:
    """Give a command the options of the section [ratings] of a study."""
    without = ("path", "preset", "like", "world", "grades")
    return settings_options(imported(SECTION), without=without)(command)


@click.command(cls=SettingsCommand)
@click.argument("path", type=PATH)
@reads_ratings
def describe(path: Path, **asked: Any) -> None:
    """Say what the ratings in PATH are, and what thresholds would make of them."""
    print_description(described(path, asked))


def described(path: Path, asked: dict[str, Any]) -> DataDescription:
    """Read ratings with the options that are given."""
    from harness.study.first_study import describe_data
    from harness.study.study import RatingsSection

    return describe_data(given(RatingsSection, {"path": path, **asked}))


def print_description(data: DataDescription) -> None:
    """Print counts, the thresholds, and what is odd."""
    title = f"{data.section.path} ({data.format})"
    with printed_table("", "", title=title, header=False) as add:
        for name, value in data.facts().items():
            add(name.replace("_", " "), shown(value))
    if data.thresholds:
        headings = (
            "threshold",
            "ratings relevant",
            "users without relevant",
            "without non-relevant",
        )
        with printed_table(*headings, title="Test ratings, a fifth of each user's") as add:
            for effect in data.thresholds:
                shares = effect.relevant, effect.without_relevant, effect.without_nonrelevant
                add(f"{effect.value:g}", *(f"{100 * share:.0f} %" for share in shares))
    else:
        click.echo("Nothing is rated lower than anything else: everything is relevant (implicit).")
    for note in data.notes:
        click.echo(note)
