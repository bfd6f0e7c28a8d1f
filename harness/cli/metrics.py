"""``harness metrics``: list the metrics."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.console import printed_table
from harness.cli.options import extensible


@click.command()
@extensible
def metrics(plugins: tuple[Path, ...]) -> None:
    """List the metrics: name, meaning, options, trec_eval's name, source."""
    from harness.metrics.shared.metric import SHARED
    from harness.metrics.shared.register import available_metrics

    with printed_table("name", "meaning", "options", "trec_eval", "source") as add:
        for metric in available_metrics(plugins).values():
            shared = [option.name for option in SHARED if option in metric.all_options]
            own = [f"{option.name}: {option.help}" for option in metric.options]
            options = "\n".join(shared + own) or "none"
            add(metric.name, metric.summary, options, metric.trec_eval or "none", metric.source)
    for option in SHARED:
        click.echo(f"{option.name}: {option.help}.")
