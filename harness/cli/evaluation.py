"""Measures: ``metrics``, ``check``, ``card`` and ``evaluate``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from analyses.shared.table import FORMATS, Table
from harness.cli.console import BROKEN, print_tables, reads_studies, write_and_name
from harness.cli.options import FILE, PATH, Paths, choice, extensible, formatted, named_columns

GROUP = 2, "Measures"

tried = click.option(
    "--tries",
    type=click.IntRange(min=1, max=100_000),
    help="Number of random cases for each law; default: 100.",
)


@click.command()
@extensible
@formatted
def metrics(plugins: Paths, format_: str) -> None:
    """List the metrics with their definitions, options and sources.

    For each metric: its name, a definition, its options, its name in trec_eval, and the publication
    that defines it.
    """
    from harness.metrics.shared.metric import SHARED_OPTIONS, Metric
    from harness.metrics.shared.register import available_metrics, installed_metrics

    def row(metric: Metric) -> tuple[str, ...]:
        shared = [option.name for option in SHARED_OPTIONS if option in metric.all_options]
        own = [f"{option.name}: {option.help}" for option in metric.options]
        options = "\n".join([", ".join(shared), *own] if shared else own) or "none"
        return metric.name, metric.summary, options, metric.trec_eval or "none", metric.source

    rows = [row(each) for each in (*available_metrics(plugins).values(), *installed_metrics())]
    note = "\n".join(f"{option.name}: {option.help}." for option in SHARED_OPTIONS)
    headings = ["name", "definition", "options", "trec_eval", "source"]
    found = Table("metrics", "Metrics", note, headings, rows)
    print_tables(found, format_=format_, in_records=True)


@click.command()
@click.argument("subject", metavar="METRIC|FILE.py")
@click.option(
    "--cutoff", type=click.IntRange(1, 100), help="Cut-off; default: METRIC's, or 5, 20 and none."
)
@tried
@click.option(
    "--against", metavar="METRIC", help="Also test that the scores are those of another metric."
)
@click.option(
    "--breaks",
    metavar="LAW",
    multiple=True,
    help="Law that the metric is expected to break. May be repeated.",
)
@extensible
@choice("--format", ["text", "json"], "Output format; json has all details.")
def check(
    subject: str,
    cutoff: int | None,
    tries: int | None,
    against: str | None,
    breaks: tuple[str, ...],
    plugins: Paths,
    format_: str,
) -> None:
    """Test whether a metric satisfies the laws of ranking metrics.

    Laws are axioms, such as: a relevant item that moves up does not lower the score. METRIC is a
    metric such as nDCG@10; FILE.py is a Python file with your own metrics. If a metric breaks a
    law, the smallest counterexample is printed. A broken law is not always a defect: well-known
    metrics break some. With --breaks, an automatic test can tell these from new faults.

    A metric that names a measure of trec_eval must have its scores. Below the laws stands the
    resolution of the metric: how often users tie, beside nDCG and P.

    The exit code is 0 if the laws given by --breaks are broken and no other, 1 if not, and 2 for
    wrong usage.
    """
    from harness.laws.cards import cards_of, chosen
    from harness.metrics.shared.register import available_metrics, find_metric

    metrics = chosen(subject, cutoff, plugins=plugins)
    files = [Path(subject)] if subject.endswith(".py") else []
    known = available_metrics([*plugins, *files]) if against else {}
    other = find_metric(against, known) if against else None
    cards = cards_of(metrics, tries=tries, against=other)
    surprises = [sentence for card in cards for sentence in card.surprises(breaks)]
    if format_ == "json":
        click.echo(json.dumps([card.to_dict() for card in cards], indent=1, ensure_ascii=False))
    else:
        click.echo("\n\n".join(card.text() for card in cards), nl=False)
    for sentence in surprises if breaks else ():
        click.echo(sentence, err=True)
    if surprises:
        sys.exit(BROKEN)


@click.command()
@click.argument("metric", metavar="MEASURE")
@click.argument("studies", nargs=-1, metavar="[STUDY]...", type=PATH)
@click.option("--output", type=FILE, help="HTML file to write; default: card-MEASURE.html.")
@tried
@extensible
@reads_studies
def card(
    metric: str, studies: Paths, output: Path | None, tries: int | None, plugins: Paths
) -> None:
    """Write a page about one measure: definition, laws and results.

    MEASURE is, for example, nDCG@10. Results are those of the study folders STUDY.
    """
    from harness.report.card import metric_card
    from harness.report.study_folder import FinishedStudy
    from harness.study.workers import file_stem

    finished = [FinishedStudy.open(study) for study in studies]
    page = metric_card(metric, finished, plugins=plugins, tries=tries)
    write_and_name("card", output or Path(f"card-{file_stem(metric)}.html"), page)


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=PATH)
@click.option("--qrels", required=True, type=PATH, help="Qrels file, or id of ir_datasets.")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Measure, by its name in trec_eval (map, P.5,10, official, all_trec) or in the harness "
    "(nDCG@10, P(rel=4)@5). A name that both have, such as infAP, is trec_eval's; with a cut-off, "
    "such as infAP@10, it is the harness's. May be repeated. Default: official.",
)
@click.option("-q", "per_topic", is_flag=True, help="Print the values of every topic, too.")
@choice(
    "--topics",
    ["qrels", "run"],
    "Average over all topics in the qrels (trec_eval with -c), or only over those that the run has "
    "results for (trec_eval without -c).",
)
@click.option("-c", "complete", is_flag=True, help="The same as --topics qrels.")
@click.option(
    "-l",
    "level",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Lowest relevance grade that counts as relevant.",
)
@click.option(
    "-M", "depth", type=click.IntRange(min=1), help="Depth of rankings; default: no limit."
)
@click.option("-J", "judged_only", is_flag=True, help="Remove unjudged items from the rankings.")
@choice(
    "--precision",
    ["double", "single"],
    "Precision in which scores are compared: double as in trec_eval 10, single as in trec_eval 9 "
    "and pytrec_eval.",
)
@choice(
    "--rounding",
    ["up", "nearest"],
    "Rounding of recall points in iprec_at_recall and 11pt_avg: up as in trec_eval 9.0.8, nearest "
    "as in trec_eval 10.",
)
@choice(
    "--format",
    ["trec", *FORMATS],
    "Output format: trec prints the lines of trec_eval; csv and json are not rounded.",
)
@named_columns("--column", "of runs user, item, score, rank, system")
@named_columns("--qrels-column", "of qrels user, item, grade")
@extensible
def evaluate(
    runs: Paths,
    qrels: Path,
    measures: tuple[str, ...],
    plugins: Paths,
    format_: str,
    per_topic: bool,
    level: int,
    rounding: str,
    complete: bool,
    column: dict[str, str],
    qrels_column: dict[str, str],
    **options: Any,
) -> None:
    """Evaluate run files as trec_eval does, with the same output.

    A topic without results in a run scores 0, unless --topics run excludes it. Topics that are not
    in the qrels are excluded with a warning.
    """
    if complete and options["topics"] == "run":
        raise click.UsageError("-c averages over all topics in the qrels: leave out --topics run.")
    from harness.metrics.shared.register import available_metrics
    from harness.trec_eval.evaluate import evaluate_runs, printed
    from harness.trec_eval.measures import read_measures, remarks

    columns = read_measures(measures or ["official"], available_metrics(plugins), rounding=rounding)
    found = evaluate_runs(
        qrels,
        runs,
        columns,
        relevance_level=level,
        run_columns=column,
        qrels_columns=qrels_column,
        **options,
    )
    click.echo(printed(found, format_, per_topic=per_topic), nl=False)
    for remark in (*remarks(measures), *found.remarks()):
        click.echo(remark, err=True)
