"""Measures: ``metrics``, ``check``, ``card`` and ``evaluate``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from harness.cli.console import BROKEN, print_table, write_and_name
from harness.cli.options import PATH, choice, extensible, removed

tried = click.option(
    "--tries", type=click.IntRange(min=1), help="Cases tried for each law; 100 by default."
)


@click.command()
@extensible
def metrics(plugins: tuple[Path, ...]) -> None:
    """List the metrics: name, meaning, options, trec_eval's name, source."""
    from harness.metrics.shared.metric import SHARED, Metric
    from harness.metrics.shared.register import available_metrics

    def row(metric: Metric) -> tuple[str, ...]:
        shared = [option.name for option in SHARED if option in metric.all_options]
        own = [f"{option.name}: {option.help}" for option in metric.options]
        options = "\n".join(shared + own) or "none"
        return metric.name, metric.summary, options, metric.trec_eval or "none", metric.source

    rows = map(row, available_metrics(plugins).values())
    print_table(rows, "name", "meaning", "options", "trec_eval", "source")
    for option in SHARED:
        click.echo(f"{option.name}: {option.help}.")


@click.command()
@click.argument("subject", metavar="[METRIC|FILE.py]", required=False)
@click.option("--cutoff", type=click.IntRange(1, 100), help="Ranks considered; 5 by default.")
@tried
@click.option("--all", "everything", is_flag=True, help="Check every built-in metric.")
@click.option("--json", "as_json", is_flag=True, help="Print the cards as JSON.")
@removed("--metric", "all metrics of a file are checked.")
@removed("--markdown", "`harness check --json` prints the cards as data.")
def check(
    subject: str | None, cutoff: int | None, tries: int | None, everything: bool, as_json: bool
) -> None:
    """Try a metric on a battery of laws, and print what it keeps and what it breaks.

    METRIC is a built-in metric, say nDCG@10; FILE.py has metrics of yours. For a law that is
    broken the smallest list found is shown. A broken law is a finding, not always a defect:
    metrics of fame break some.

    The exit code is 0 if no law is broken, 1 if one is, 2 for wrong usage.
    """
    from harness.laws.cards import cards_of, chosen

    cards = cards_of(chosen(subject, cutoff, everything=everything), tries=tries)
    if as_json:
        plain = [card.to_dict() for card in cards]
        click.echo(json.dumps(plain, indent=1, ensure_ascii=False))
    else:
        click.echo("\n\n".join(card.text() for card in cards), nl=False)
    if any(card.broken for card in cards):
        sys.exit(BROKEN)


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

    finished = [FinishedStudy.at(study) for study in studies]
    page = metric_card(metric, finished, plugins=plugins, tries=tries)
    write_and_name("card", target or Path(f"card-{file_stem(metric)}.html"), page)


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
@choice(
    "--topics",
    ["qrels", "run"],
    "Averages are over all topics in the qrels, or over those that the run has, too: what "
    "trec_eval averages with -c, and without.",
)
@click.option("-c", "complete", is_flag=True, help="Average over all topics in the qrels.")
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
@choice(
    "--precision",
    ["double", "single"],
    "In which scores are compared: as trec_eval 10 does, or 9 and pytrec_eval.",
)
@choice(
    "--rounding",
    ["up", "nearest"],
    "Of recall points in iprec_at_recall and 11pt_avg: as trec_eval 9.0.8 does, or 10.",
)
@choice(
    "--format",
    ["trec", "csv", "json"],
    "Output format: trec_eval's lines, or csv or json with all digits.",
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
    complete: bool,
    **options: Any,
) -> None:
    """Evaluate run files as trec_eval does, and print what trec_eval prints."""
    if complete and options["topics"] == "run":
        raise click.UsageError("-c averages over all topics in the qrels: drop --topics run.")
    from harness.metrics.shared.register import available_metrics
    from harness.trec_eval.evaluate import FORMATS, evaluate_runs
    from harness.trec_eval.measures import read_measures, remarks

    columns = read_measures(measures or ["official"], available_metrics(plugins), rounding=rounding)
    found = evaluate_runs(qrels, runs, columns, relevance_level=level, **options)
    click.echo(FORMATS[format_](found, per_topic=per_topic), nl=False)
    for remark in (*remarks(measures), *found.remarks()):
        click.echo(remark, err=True)
