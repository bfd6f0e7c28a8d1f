"""``harness evaluate``: score run files as trec_eval does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import PATH, extensible


def _complete(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and context.params.get("topics") == "run":
        raise click.UsageError(
            "-c averages over all topics in the qrels: drop it, or --topics run."
        )


@click.command(
    epilog="A topic that a run lacks scores 0, unless --topics run leaves it out; one that the "
    "qrels lack is left out with a warning."
)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=PATH)
@click.option("--qrels", required=True, type=PATH, help="The judgements.")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="trec_eval's name (map, P.5,10, official, all_trec) or ours (nDCG@10, P(rel=4)@5); may be "
    "repeated. A name that both have is trec_eval's: infAP; with a cut-off it is ours: infAP@10. "
    "By default: official.",
)
@click.option("-q", "per_topic", is_flag=True, help="Print every topic too.")
@click.option(
    "--topics",
    type=click.Choice(["qrels", "run"]),
    default="qrels",
    show_default=True,
    is_eager=True,
    help="Averages are over all topics in the qrels, or over those that the run has, too: what "
    "trec_eval averages with -c, and without.",
)
@click.option(
    "-c",
    is_flag=True,
    expose_value=False,
    callback=_complete,
    help="Average over all topics in the qrels: the default.",
)
@click.option(
    "-l",
    "level",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Lowest relevant grade.",
)
@click.option("-M", "depth", type=click.IntRange(min=1), help="Ranks kept; all by default.")
@click.option("-J", "judged_only", is_flag=True, help="Take unjudged items out of the lists.")
@click.option(
    "--precision",
    type=click.Choice(["double", "single"]),
    default="double",
    show_default=True,
    help="In which scores are compared: as trec_eval 10 does, or 9 and pytrec_eval.",
)
@click.option(
    "--rounding",
    type=click.Choice(["up", "nearest"]),
    default="up",
    show_default=True,
    help="Of recall points in iprec_at_recall and 11pt_avg: as trec_eval 9.0.8 does, or 10.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["trec", "csv", "json"]),
    default="trec",
    show_default=True,
    help="Output format: trec_eval's lines, or csv or json with all digits.",
)
@extensible
def evaluate(
    runs: tuple[Path, ...],
    qrels: Path,
    measures: tuple[str, ...],
    plugins: tuple[Path, ...],
    format_: str,
    per_topic: bool,
    level: int,
    rounding: str,
    **options: Any,
) -> None:
    """Evaluate run files as trec_eval does, and print what trec_eval prints."""
    from harness.metrics.shared.register import available_metrics
    from harness.trec_eval.evaluate import FORMATS, evaluate_runs
    from harness.trec_eval.measures import read_measures, remarks

    columns = read_measures(measures or ["official"], available_metrics(plugins), rounding=rounding)
    found = evaluate_runs(qrels, runs, columns, relevance_level=level, **options)
    click.echo(FORMATS[format_](found, per_topic=per_topic), nl=False)
    for remark in (*remarks(measures), *found.remarks()):
        click.echo(remark, err=True)
