"""Measures: ``metrics``, ``check``, ``card`` and ``evaluate``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analyses.shared.table import FORMATS, Table
from harness.cli.console import EXIT_BROKEN, explain_misfits, print_tables, write_and_print_path
from harness.cli.options import (
    FILE,
    PATH,
    HelpGroup,
    Paths,
    choice_option,
    format_option,
    metric_plugin_option,
    take_text_options,
    text_options,
)

if TYPE_CHECKING:
    from harness.metrics.shared.metric import Metric

GROUP = HelpGroup(2, "Measures")

tries_option = click.option(
    "--tries",
    type=click.IntRange(min=1, max=100_000),
    help="Number of random cases for each law; default: 100.",
)


@click.command()
@metric_plugin_option
@format_option
def metrics(plugins: Paths, format_: str) -> None:
    """List the metrics with their definitions, options and sources.

    For each metric: its name, a definition, its options, its name in trec_eval, and the publication
    that defines it.
    """
    from harness.metrics.shared.metric import SHARED_OPTIONS
    from harness.metrics.shared.register import available_metrics, installed_metrics

    rows = []
    for metric in (*available_metrics(plugins).values(), *installed_metrics()):
        trec_eval_name = metric.trec_eval or "none"
        options = _options_cell(metric)
        rows.append((metric.name, metric.summary, options, trec_eval_name, metric.source))
    note = "\n".join(f"{option.name}: {option.help}." for option in SHARED_OPTIONS)
    headings = ["name", "definition", "options", "trec_eval", "source"]
    table = Table("metrics", "Metrics", note, headings, rows)
    print_tables(table, format_=format_, in_records=True)


def _options_cell(metric: Metric) -> str:
    """List the options of a metric, a line each: first the names of those that metrics share.

    Each option of the metric alone follows with its meaning. The text is "none" without any.
    """
    from harness.metrics.shared.metric import SHARED_OPTIONS

    lines = []
    shared_names = [option.name for option in SHARED_OPTIONS if option in metric.all_options]
    if shared_names:
        lines.append(", ".join(shared_names))
    lines.extend(f"{option.name}: {option.help}" for option in metric.options)
    return "\n".join(lines) or "none"


@click.command()
@click.argument("subject", metavar="METRIC|FILE.py")
@click.option(
    "--cutoff", type=click.IntRange(1, 100), help="Cut-off; default: METRIC's, or 5, 20 and none."
)
@tries_option
@click.option(
    "--against", metavar="METRIC", help="Also test that the scores are those of another metric."
)
@click.option(
    "--breaks",
    metavar="LAW",
    multiple=True,
    help="Law that the metric is expected to break. May be repeated.",
)
@metric_plugin_option
@choice_option("--format", ["text", "json"], "Output format; json has all details.")
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
    from harness.laws.cards import cards_of, metrics_to_check
    from harness.metrics.shared.register import available_metrics, find_metric

    metrics = metrics_to_check(subject, cutoff, plugins=plugins)
    other_metric = None
    if against:
        metric_files = [*plugins]
        if subject.endswith(".py"):
            metric_files.append(Path(subject))
        other_metric = find_metric(against, available_metrics(metric_files))
    cards = cards_of(metrics, tries=tries, against=other_metric)
    surprises: list[str] = []
    for card in cards:
        surprises.extend(card.surprises(breaks))
    if format_ == "json":
        facts = [card.to_dict() for card in cards]
        click.echo(json.dumps(facts, indent=1, ensure_ascii=False))
    else:
        click.echo("\n\n".join(card.text() for card in cards), nl=False)
    if breaks:
        for sentence in surprises:
            click.echo(sentence, err=True)
    if surprises:
        sys.exit(EXIT_BROKEN)


@click.command()
@click.argument("metric", metavar="MEASURE")
@click.argument("studies", nargs=-1, metavar="[STUDY]...", type=PATH)
@click.option("--output", type=FILE, help="HTML file to write; default: card-MEASURE.html.")
@tries_option
@metric_plugin_option
@explain_misfits
def card(
    metric: str, studies: Paths, output: Path | None, tries: int | None, plugins: Paths
) -> None:
    """Write a page about one measure: definition, laws and results.

    MEASURE is, for example, nDCG@10. Results are those of the study folders STUDY.
    """
    from harness.report.card import metric_card
    from harness.report.study_folder import FinishedStudy
    from harness.study.workers import file_stem

    finished_studies = [FinishedStudy.open(study) for study in studies]
    page = metric_card(metric, finished_studies, plugins=plugins, tries=tries)
    path = output or Path(f"card-{file_stem(metric)}.html")
    write_and_print_path("card", path, page)


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
@choice_option(
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
@choice_option(
    "--precision",
    ["double", "single"],
    "Precision in which scores are compared: double as in trec_eval 10, single as in trec_eval 9 "
    "and pytrec_eval.",
)
@choice_option(
    "--rounding",
    ["up", "nearest"],
    "Rounding of recall points in iprec_at_recall and 11pt_avg: up as in trec_eval 9.0.8, nearest "
    "as in trec_eval 10.",
)
@choice_option(
    "--format",
    ["trec", *FORMATS],
    "Output format: trec prints the lines of trec_eval; csv and json are not rounded.",
)
@text_options("user, item, score, rank, system")
@text_options("user, item, grade, subtopic", of="qrels")
@metric_plugin_option
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
    **options: Any,
) -> None:
    """Evaluate run files as trec_eval does, with the same output.

    A topic without results in a run scores 0, unless --topics run excludes it. Topics that are not
    in the qrels are excluded with a warning.
    """
    if complete and options["topics"] == "run":
        raise click.UsageError("-c averages over all topics in the qrels: leave out --topics run.")
    from harness.metrics.shared.register import available_metrics
    from harness.trec_eval.evaluate import evaluate_runs, print_evaluations
    from harness.trec_eval.measures import read_measures, remarks

    names = measures or ["official"]
    trec_measures = read_measures(names, available_metrics(plugins), rounding=rounding)
    run_options = take_text_options(options)
    qrels_options = take_text_options(options, of="qrels")
    evaluation = evaluate_runs(
        qrels,
        runs,
        trec_measures,
        relevance_level=level,
        run_options=run_options,
        qrels_options=qrels_options,
        **options,
    )
    click.echo(print_evaluations(evaluation, format_, per_topic=per_topic), nl=False)
    for remark in (*remarks(measures), *evaluation.remarks()):
        click.echo(remark, err=True)
