"""``harness card``: make the card of a metric."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import PATH, extensible, tried


@click.command()
@click.argument("metric")
@click.argument("studies", nargs=-1, metavar="[STUDY]...", type=PATH)
@click.option("--to", "target", type=PATH, help="The page; card-METRIC.html here by default.")
@tried
@extensible
def card(
    metric: str,
    studies: tuple[Path, ...],
    target: Path | None,
    tries: int | None,
    plugins: tuple[Path, ...],
) -> None:
    """Make the card of METRIC, say nDCG@10: what it is, its laws, how it fared in each STUDY."""
    from harness.report.card import metric_card
    from harness.report.study_folder import FinishedStudy
    from harness.study.workers import file_stem
    from runs.shared.files import write_whole

    finished = [FinishedStudy.at(study) for study in studies]
    page = metric_card(metric, finished, plugins=plugins, tries=tries)
    path = target or Path(f"card-{file_stem(metric)}.html")
    write_whole(path, page)
    click.echo(f"The card is {path.resolve()}")
