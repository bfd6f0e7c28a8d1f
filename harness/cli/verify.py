"""``harness verify``: check the files of a study."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.console import BROKEN
from harness.cli.options import PATH


@click.command()
@click.argument("study", type=PATH)
def verify(study: Path) -> None:
    """Check every file of the study folder STUDY, and say what made its parts.

    A file that is not as the study wrote it, or is lost, is named, and the exit code is 1.
    """
    from harness.report.study_folder import Ledger, read_manifest

    versions = read_manifest(study)["versions"]
    ledger = Ledger(study)
    parts_by: dict[str, list[str]] = {}
    n_files = 0
    for part in ledger.parts:
        if (entry := ledger.entry(part)) is not None:
            n_files += len(entry.files)
            parts_by.setdefault(entry.makers(), []).append(part)
    for made_by, parts in parts_by.items():
        click.echo(f"{', '.join(parts)}: by {made_by}.\n")
    changed = list(ledger.changed())
    for name in changed:
        click.echo(f"{study / name}: not as the study wrote it; `harness run` makes it again.")
    click.echo(f"The manifest is of the harness {versions['harness']}.")
    click.echo(f"Files that are not as the study wrote them: {len(changed)} of {n_files}.")
    if changed:
        raise SystemExit(BROKEN)
