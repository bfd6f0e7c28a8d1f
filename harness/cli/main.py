"""The command line: thin; every command calls one function of the harness."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from harness import __version__
from runs.shared.errors import InputError, InputWarning

if TYPE_CHECKING:
    from recommenders import SystemSpec

FAILED, MISUSED = 1, 2
BROKEN = 1
PATH = click.Path(path_type=Path)
SEED = click.IntRange(0, 2**63 - 1)

workers = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Workers; all cores by default. Results are the same.",
)
printable = click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "json", "latex"]),
    default="table",
    show_default=True,
    help="Of what is printed: rounded, or all digits and columns (csv, json).",
)
clustered = click.option(
    "--dask",
    metavar="tcp://ADDRESS|local",
    help="Rank on a Dask cluster; or on two processes here. Results are the same.",
)
quietly = click.option("--quiet", is_flag=True, help="Show no progress.")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def sentences(command: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Answer a user's mistake with its sentence and exit code 2, without a traceback."""

    @wraps(command)
    def answer(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except InputError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(MISUSED)
        except KeyboardInterrupt:
            click.echo("Interrupted. The same command goes on from what is complete.", err=True)
            sys.exit(FAILED)
        except BrokenExecutor:
            click.echo(
                "Failed: a worker was stopped, most likely for want of memory; try --jobs 1.",
                err=True,
            )
            sys.exit(FAILED)
        except (MemoryError, OSError) as error:
            click.echo(f"Failed: {error or type(error).__name__}", err=True)
            sys.exit(FAILED)

    return answer


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="harness")
def main() -> None:
    """Study how far ranking metrics can be trusted to compare recommenders."""


@main.command()
@click.argument("study_file", metavar="[STUDY.toml]", required=False, type=PATH)
@workers
@click.option("--seed", type=SEED, help="Replaces the seed of the study.")
@click.option("--output", type=PATH, help="The study folder; study-NAME by default.")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    type=PATH,
    help="A file with metrics of yours.",
)
@quietly
@sentences
def run(
    study_file: Path | None,
    jobs: int | None,
    seed: int | None,
    output: Path | None,
    plugins: tuple[Path, ...],
    quiet: bool,
) -> None:
    """Run a study, or what is left of it. Without a file: the demo, on a simulated world."""
    from joblib import cpu_count

    from harness.study.run import add_plugins, run_study
    from harness.study.study import demo_study, read_study
    from runs.shared.progress import watched

    changes = {"seed": seed, "output": output}
    given = {name: value for name, value in changes.items() if value is not None}
    study = (
        demo_study(changes=given) if study_file is None else read_study(study_file, changes=given)
    )
    study = add_plugins(study, plugins)
    report = run_study(study, n_jobs=jobs or cpu_count(), progress=watched(quiet=quiet))
    click.echo(f"The report is {report.resolve()}")


@main.command(
    epilog="Settings that `harness systems` shows with a range are searched; the others stay as "
    "the study has them. Trial 0 has the defaults. The table of trials is tuning/SYSTEM.csv in the "
    "study folder; started again, the search goes on from it."
)
@click.argument("study_file", metavar="STUDY.toml", type=PATH)
@click.argument("system", metavar="SYSTEM|FILE.py:CLASS")
@click.option(
    "--metric",
    default="nDCG@10",
    show_default=True,
    metavar="NAME",
    help="What is made best; without a cut-off, at the depth of the study's lists.",
)
@click.option(
    "--search",
    type=click.Choice(["random", "tpe"]),
    default="random",
    show_default=True,
    help="Random draws; or TPE, which learns from the trials and needs Optuna.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Trials in all, earlier ones among them.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    help="After these no further trial begins.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Trials at once; as many as cores by default. Results are the same. TPE makes one at a "
    "time.",
)
@click.option("--output", type=PATH, help="The study folder; study-NAME by default.")
@click.option("--plugin", "plugins", multiple=True, type=PATH, help="A file with metrics of yours.")
@quietly
@sentences
def tune(
    study_file: Path,
    system: str,
    metric: str,
    search: str,
    trials: int,
    minutes: float | None,
    jobs: int | None,
    output: Path | None,
    plugins: tuple[Path, ...],
    quiet: bool,
) -> None:
    """Search the settings of SYSTEM on a part of the study's training ratings.

    Part of the training ratings is held out for validation, by the study's own way to split; its
    test ratings are not touched. Prints the best settings as a table for the study file.

    The exit code is 0 if settings were found, 1 if all trials failed, 2 for wrong usage.
    """
    from joblib import cpu_count

    from harness.study.run import add_plugins
    from harness.study.study import read_study
    from harness.tuning.tune import Budget
    from harness.tuning.tune import tune as search_settings
    from runs.shared.progress import watched

    study = read_study(study_file, changes={} if output is None else {"output": output})
    tuned = search_settings(
        add_plugins(study, plugins),
        system,
        metric=metric,
        search=search,
        budget=Budget(trials, minutes),
        n_jobs=jobs or cpu_count(),
        progress=watched(quiet=quiet),
    )
    if tuned.best is None:
        click.echo(f"Failed: no trial worked; the first: {tuned.trials[0].finding}", err=True)
        sys.exit(FAILED)
    click.echo(tuned.to_toml(), nl=False)


@main.command()
@click.argument("path", type=PATH)
@click.option("--format", "format_", metavar="NAME", help="The format; guessed if absent.")
@click.option(
    "--duplicates",
    type=click.Choice(["error", "last"]),
    default="error",
    show_default=True,
    help="A pair rated twice: refuse, or keep the last.",
)
@sentences
def describe(path: Path, format_: str | None, duplicates: Any) -> None:
    """Count users, items, ratings, density and Gini of the ratings in PATH."""
    from qrels.ratings.datasets import guess_format, read_ratings
    from qrels.ratings.statistics import describe as statistics_of

    ratings = read_ratings(path, format=format_, duplicates=duplicates)
    facts = statistics_of(ratings).to_frame().iloc[0].to_dict()
    with _table("", "", title=f"{path} ({format_ or guess_format(path)})", header=False) as add:
        for name, value in facts.items():
            add(str(name).replace("_", " "), _shown(value))


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME|FILE.py:CLASS]...")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@sentences
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
        with _table("name", "family", "settings (default; searched)", "source") as add:
            for spec in specs:
                settings = [
                    f"{name} ({default}; {place})" if place else f"{name} ({default})"
                    for name, default, place, _ in _settings(spec)
                ]
                add(spec.name, spec.family, "\n".join(settings) or "none", spec.source)


def _describe_system(spec: SystemSpec) -> None:
    click.echo(f"{spec.name} ({spec.family}): {spec.summary}\n{spec.source}\n")
    with _table("setting", "default", "searched", "meaning") as add:
        for setting in _settings(spec):
            add(*setting)


def _settings(spec: SystemSpec) -> Iterator[tuple[str, str, str, str]]:
    """Give name, default, where `tune` searches, and meaning of every setting."""
    from recommenders import search_space

    space = search_space(spec.settings)
    for name, facts in spec.facts()["settings"].items():
        default = str(facts.get("default", "needed"))
        yield name, default, str(space.get(name, "")), facts.get("description", "")


@main.command()
@click.option("--plugin", "plugins", multiple=True, type=PATH, help="A metric of yours.")
@sentences
def metrics(plugins: tuple[Path, ...]) -> None:
    """List the metrics: name, meaning, options, trec_eval's name, source."""
    from harness.metrics.shared.metric import LEVEL, MEAN, available_metrics

    with _table("name", "meaning", "options", "trec_eval", "source") as add:
        for metric in available_metrics(plugins).values():
            shared = [option.name for option in (LEVEL, MEAN) if option in metric.all_options]
            own = [f"{option.name}: {option.help}" for option in metric.options]
            options = "\n".join(shared + own) or "none"
            add(metric.name, metric.summary, options, metric.trec_eval or "none", metric.source)
    for option in (LEVEL, MEAN):
        click.echo(f"{option.name}: {option.help}.")


@main.command()
@click.argument("subject", metavar="[METRIC|FILE.py]", required=False)
@click.option("--metric", "name", metavar="NAME", help="The one metric of the file to check.")
@click.option("--cutoff", type=click.IntRange(1, 100), help="Ranks considered; 5 by default.")
@click.option(
    "--tries", type=click.IntRange(min=1), help="Cases tried for each law; 100 by default."
)
@click.option("--all", "everything", is_flag=True, help="Check every built-in metric.")
@click.option("--json", "form", flag_value="json", help="Print the cards as JSON.")
@click.option("--markdown", "form", flag_value="markdown", help="Print the cards as one page.")
@sentences
def check(
    subject: str | None,
    name: str | None,
    cutoff: int | None,
    tries: int | None,
    everything: bool,
    form: str | None,
) -> None:
    """Try a metric on a battery of laws, and print what it keeps and what it breaks.

    METRIC is a built-in metric, say nDCG@10; FILE.py has metrics of yours. For a law that is
    broken the smallest list found is shown. A broken law is a finding, not always a defect:
    metrics of fame break some.

    The exit code is 0 if no law is broken, 1 if one is, 2 for wrong usage.
    """
    from harness.laws.checking import cards_of, chosen, printed

    cards = cards_of(chosen(subject, name, cutoff, everything=everything), tries=tries)
    click.echo(printed(cards, form), nl=False)
    if any(card.broken for card in cards):
        sys.exit(BROKEN)


@main.command(
    epilog="Averages are over all topics in the qrels, always: a topic that a run lacks scores 0."
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
@click.option("-c", "_complete", is_flag=True, help="Average over all topics; always done.")
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
    type=click.Choice(["trec", "csv", "json", "table"]),
    default="trec",
    show_default=True,
    help="trec_eval's lines run after run; all digits; or systems side by side.",
)
@click.option("--plugin", "plugins", multiple=True, type=PATH, help="A metric of yours.")
@sentences
def evaluate(
    runs: tuple[Path, ...],
    qrels: Path,
    measures: tuple[str, ...],
    plugins: tuple[Path, ...],
    format_: str,
    per_topic: bool,
    level: int,
    rounding: str,
    _complete: bool,
    **options: Any,
) -> None:
    """Evaluate run files as trec_eval does, and print what trec_eval prints."""
    from harness.metrics.shared.metric import available_metrics
    from harness.trec_eval.evaluate import evaluate_runs
    from harness.trec_eval.measures import read_measures, remarks
    from harness.trec_eval.text import FORMATS

    columns = read_measures(measures or ["official"], available_metrics(plugins), rounding=rounding)
    with _warnings_as_sentences():
        found = evaluate_runs(qrels, runs, columns, relevance_level=level, **options)
    click.echo(FORMATS[format_](found, per_topic=per_topic), nl=False)
    for remark in (*remarks(measures), *found.remarks()):
        click.echo(remark, err=True)


@main.command(epilog="The exit code is 0 if no promise is broken, 1 if one is, 2 for wrong usage.")
@click.argument("paths", metavar="[SCORES...]", nargs=-1, type=PATH)
@click.option(
    "--sets",
    "n_sets",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Sets of scores drawn.",
)
@click.option(
    "--users",
    "n_users",
    type=click.IntRange(min=2),
    help="Users in a set; as many as in the file by default, or 100.",
)
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="NAME", help="Of a file; all by default."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Key.")
@workers
@click.option("--csv", "as_csv", is_flag=True, help="Print all digits, as CSV.")
@quietly
@sentences
def calibrate(
    paths: tuple[Path, ...],
    measures: tuple[str, ...],
    seed: int,
    jobs: int | None,
    as_csv: bool,
    quiet: bool,
    **numbers: Any,
) -> None:
    """Check that the significance tests err as often as they promise.

    SCORES are study folders, or tables with a column for every system and a row for every topic,
    to draw users from; without any, scores are simulated, continuous ones and hits among 5. Each
    user's scores are dealt out to the systems at random, so that none is better, and every
    rejection is an error.
    """
    from joblib import cpu_count

    from harness.cli.calibrate import calibrate_all, conclusion, populations, tables
    from runs.shared.progress import watched

    chosen = populations(paths, measures=measures, seed=seed)
    found = calibrate_all(
        chosen, seed=seed, n_jobs=jobs or cpu_count(), progress=watched(quiet=quiet), **numbers
    )
    if as_csv:
        click.echo(found.to_frame().to_csv(index=False, lineterminator="\n"), nl=False)
    else:
        for title, headings, rows in tables(found):
            with _table(*headings, title=title) as add:
                for row in rows:
                    add(*row)
        click.echo(conclusion(found))
    if found.broken:
        sys.exit(BROKEN)


@main.command(
    epilog="A table has a column for every system and a row for every topic; the first column may "
    "hold the ids of the topics. Its measure is named by the file: ap.csv, nDCG@10.tsv. All tables "
    "have the same systems and topics."
)
@click.argument("tables", metavar="SCORES.csv...", nargs=-1, required=True, type=PATH)
@click.option(
    "--test",
    type=click.Choice(["exact", "monte-carlo", "t", "wilcoxon", "sign", "bootstrap"]),
    default="exact",
    show_default=True,
    help="The permutation test, exactly or by random sign flips; or another paired test.",
)
@click.option(
    "--correction",
    type=click.Choice(["none", "bonferroni", "holm", "bh", "max-t", "tukey"]),
    default="none",
    show_default=True,
    help="For testing many pairs, in one family a measure: adjusted p-values beside the raw ones.",
)
@click.option(
    "--permutations",
    type=click.IntRange(min=99),
    help="Random draws of the tests and corrections that draw; by default 100,000, but 10,000 for "
    "bootstrap and 5,000 for tukey.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(1e-9, 1, max_open=True),
    default=0.05,
    show_default=True,
    help="Level of required differences and adjusted p-values.",
)
@click.option(
    "--replicates",
    type=click.IntRange(min=0),
    default=400,
    show_default=True,
    help="Resamples of the topics for the intervals; 0 for none.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of all draws.")
@click.option("--baseline", metavar="NAME", help="Test only pairs with this system.")
@workers
@printable
@click.option("--output", type=PATH, help="A folder for p-values, summary, figure and caption.")
@quietly
@sentences
def discriminate(
    tables: tuple[Path, ...],
    format_: str,
    output: Path | None,
    jobs: int | None,
    replicates: int,
    quiet: bool,
    **asked: Any,
) -> None:
    """Say how surely measures tell systems apart, from tables of per-topic scores.

    Every pair of systems is tested for every measure. Measures are printed in the order of their
    discriminative power (DP, the sum of the p-values), the most discriminative first. In place of
    tables, the folder of a finished study may be named.
    """
    from joblib import cpu_count

    from analyses.significance.question import Question
    from harness.cli.discriminate import FORMATS, discriminate_scores, write_files
    from harness.readers.scores import read_score_tables
    from runs.shared.progress import watched

    result = discriminate_scores(
        read_score_tables(tables),
        Question(**asked),
        replicates=replicates,
        n_jobs=jobs or cpu_count(),
        progress=watched(quiet=quiet),
    )
    if output is not None:
        write_files(result, output)
    click.echo(FORMATS[format_](result), nl=False)
    for caution in result.cautions():
        click.echo(f"Caution: {caution}", err=True)


@main.command()
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=PATH)
@click.option(
    "--coefficient",
    default="tau-b",
    show_default=True,
    metavar="NAME",
    help="tau-b, tau-a, tau-ap, tau-ap-a, tau-ap-b, weighted-tau, rbo or spearman.",
)
@click.option("--reference", metavar="NAME", help="Compare all measures with this one.")
@click.option(
    "--replicates",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Resampled sets of topics behind the intervals, which need scores per topic.",
)
@click.option("--seed", type=SEED, default=0, help="Of the intervals.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "json", "latex"]),
    default="table",
    show_default=True,
    help="Three decimals, or all digits of all coefficients, or LaTeX.",
)
@click.option("--output", type=PATH, help="A folder for the CSV, and a figure as SVG and PNG.")
@sentences
def correlate(
    paths: tuple[Path, ...],
    reference: str | None,
    format_: str,
    output: Path | None,
    **options: Any,
) -> None:
    """Compare how measures order the systems in FILE.

    FILE is a table of means: systems down, their names first, and measures across, such as nDCG@10
    or ap; or tables/means.csv of a study. Several FILEs, or the folder of a study, hold scores per
    topic: one measure a file, named as the file, systems across. From these come intervals.
    """
    from harness.cli.correlate import correlate_files, measure_called, write_correlation
    from harness.correlation_text import FORMATS

    with _warnings_as_sentences():
        found = correlate_files(paths, **options)
    chosen = None if reference is None else measure_called(reference, found.measures)
    click.echo(FORMATS[format_](found, reference=chosen), nl=False)
    click.echo(found.caption(), err=True)
    if output is not None:
        write_correlation(found, output, reference=chosen)


@main.command(
    epilog="A long table has the columns system, user and rank; a wide one a column for every "
    "system and a row for every user, whose ids may come first. A column n_candidates, or "
    "--candidates, says among how many the items were ranked."
)
@click.argument("ranks", metavar="[RANKS.csv]", type=PATH, required=False)
@click.option(
    "--study",
    "studies",
    type=click.Choice(
        ["estimates", "ranks", "sizes", "cost", "adaptive", "iterations", "priors", "all"]
    ),
    multiple=True,
    help="May be repeated. Estimates (the default): from repeated samples; ranks: where relevant "
    "items stand; sizes: expected metrics by number of negatives; cost: error by items scored; "
    "adaptive: sizes of adaptive samples, not among all; iterations: error by iterations of EM; "
    "priors: error by the prior of BV and MN.",
)
@click.option(
    "--example",
    is_flag=True,
    help="No table: the three lists of Krichene & Rendle (2020), with their tables and figures.",
)
@click.option(
    "--candidates",
    type=click.IntRange(min=2),
    help="Candidates of each user, relevant items included, where the table has none.",
)
@click.option(
    "--negatives", type=int, default=100, show_default=True, help="Negatives sampled for each user."
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="AUC, AP, RR, nDCG, P or Recall, such as Recall@10; may be repeated.",
)
@click.option(
    "--estimator",
    "estimators",
    multiple=True,
    metavar="NAME",
    help="Such as uncorrected, 'bv(gamma=0.1)' or 'mle(iters=100)'; may be repeated.",
)
@click.option(
    "--size",
    "sizes",
    type=int,
    multiple=True,
    help="Negatives in the studies sizes and cost; may be repeated. By default some twelve.",
)
@click.option(
    "--n-max",
    type=int,
    help="What adaptive samples grow to; by default 32-fold, or to a third of the candidates.",
)
@click.option(
    "--corrected-for",
    type=click.Choice(["mean", "users"]),
    default="mean",
    show_default=True,
    help="Whose number of candidates corrections take.",
)
@click.option("--repeats", type=int, default=100, show_default=True, help="Samples, at least 2.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the samples.")
@click.option("--without-replacement", is_flag=True, help="Sample no item twice for a user.")
@workers
@printable
@click.option("--output", type=PATH, help="A folder for tables, figures and captions.")
@quietly
@sentences
def sampled(
    ranks: Path | None,
    studies: tuple[str, ...],
    example: bool,
    candidates: int | None,
    without_replacement: bool,
    format_: str,
    output: Path | None,
    jobs: int | None,
    quiet: bool,
    seed: int,
    **asked: Any,
) -> None:
    """Say what sampling negatives does to metrics, and which correction undoes it best.

    RANKS.csv has the full ranks of relevant items by some systems. Of each user's candidates,
    negatives are sampled again and again, and metrics are estimated from the ranks among them.
    """
    from joblib import cpu_count

    from harness.sampled.asking import make_studies, section_of
    from harness.sampled.example import show_example
    from harness.sampled.printed import FORMATS, write_files

    if example == (ranks is not None):
        raise InputError("give a table of ranks, or --example.")
    if ranks is None:
        click.echo(show_example(format_, seed=seed, output=output), nl=False)
        return
    section = section_of(studies, replace=not without_replacement, **asked)
    results = make_studies(
        ranks,
        section,
        candidates=candidates,
        seed=seed,
        n_jobs=jobs or cpu_count(),
        quiet=quiet,
    )
    if output is not None:
        write_files(results, output)
    click.echo(FORMATS[format_](results), nl=False)
    for result in results.values():
        click.echo(result.caption(), err=True)


@main.command(
    epilog="RECOMMENDATIONS has the columns rec_id, time, user, arm, and items (lists) or position "
    "and item (a row for each item); INTERACTIONS time, user, item, type. Times are milliseconds "
    "since 1970 in UTC, or have their zone. The exit code is 2 for wrong usage."
)
@click.argument("recommendations", type=PATH)
@click.argument("interactions", type=PATH)
@click.option(
    "--window",
    metavar="DURATION",
    help="Within this time after a list was shown, an interaction of its user with an item of it "
    "counts as a click, such as '30 min'. Needed, unless clicks are explicit.",
)
@click.option(
    "--explicit",
    is_flag=True,
    help="Only clicks count that name their list: a column rec_id of INTERACTIONS, or clicked of "
    "RECOMMENDATIONS.",
)
@click.option(
    "--credit",
    type=click.Choice(["all", "last"]),
    default="all",
    show_default=True,
    help="Which lists an interaction counts for, if it is in the windows of several.",
)
@click.option("--types", is_flag=True, help="Rates by type of interaction, too: CTR, CCR, CR.")
@click.option(
    "--models",
    type=PATH,
    help="A table arm, model_version, valid_from, valid_to: rates by version, too.",
)
@click.option("--assignment", type=PATH, help="A table user, arm; else the first list decides.")
@click.option(
    "--shares",
    metavar="A=0.5,B=0.5",
    help="Planned shares of the users; equal ones by default. Names the arms.",
)
@click.option(
    "--crossing",
    type=click.Choice(["exclude", "first"]),
    default="exclude",
    show_default=True,
    help="Users with lists of two arms: left out, or in the arm of their assignment or first list.",
)
@click.option(
    "--robots",
    "per_day",
    type=click.IntRange(min=1),
    metavar="N",
    help="Who was shown more than N lists on a day is taken for a robot; every rate with and "
    "without them.",
)
@click.option(
    "--zone", default="UTC", show_default=True, help="Of days and weeks, such as Europe/Prague."
)
@click.option(
    "--over-time",
    type=click.Choice(["pooled", "thesis"]),
    default="pooled",
    show_default=True,
    help="All lists together; or the mean over versions, weighted by users (Kasalický 2021).",
)
@click.option(
    "--halves", metavar="ARM", help="Check the intervals on halves of ARM, which do not differ."
)
@click.option(
    "--placebo",
    type=PATH,
    help="Lists that another model would have made, under the same rec_id: how many seem accepted "
    "although nobody saw them.",
)
@click.option(
    "--policy",
    type=PATH,
    help="Other lists, under the same rec_id: what they would have earned, by the propensities "
    "and clicks of RECOMMENDATIONS.",
)
@click.option(
    "--replicates",
    type=click.IntRange(min=0),
    default=400,
    show_default=True,
    help="Resamples of the users behind the bootstrap intervals; 0 for none.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the resamples.")
@printable
@click.option("--output", type=PATH, help="A folder for tables, figures and captions.")
@quietly
@sentences
def clicks(
    recommendations: Path,
    interactions: Path,
    format_: str,
    output: Path | None,
    quiet: bool,
    models: Path | None,
    assignment: Path | None,
    policy: Path | None,
    placebo: Path | None,
    **asked: Any,
) -> None:
    """Say which arm of an experiment is clicked more, from logs as Parquet or CSV.

    Prints the click-through rate of every arm with intervals over users, the differences of the
    arms, whether users are split as planned (if not, no winner is named), cycles of day and week,
    and how far the tables fit together.
    """
    from analyses.online.clicks.click_files import FORMATS, write_files
    from analyses.online.clicks.click_question import question_of
    from analyses.online.clicks.click_study import study_log
    from analyses.online.clicks.verdict import alarm, cautions
    from runs.shared.progress import watched

    found = study_log(
        recommendations,
        interactions,
        question_of(**asked),
        models=models,
        assignment=assignment,
        policy=policy,
        placebo=placebo,
        progress=watched(quiet=quiet),
    )
    if output is not None:
        write_files(found, output)
    click.echo(FORMATS[format_](found), nl=False)
    for caution in cautions(found):
        click.echo(f"Caution: {caution}", err=True)
    if format_ != "table" and (warned := alarm(found)):
        click.secho(warned, fg="red", bold=True, err=True)


@main.command(
    epilog="VALUES.csv begins with a column model; its other columns are measures, such as "
    "'LLOO(beta=0.35)@5' or nDCG@10, or it has the columns measure and value. RATES.csv has the "
    "columns model and rate and may have period, users, recommendations, accepted. With a column "
    "experiment in both, several data sets are studied together. STUDY.toml describes a simulated "
    "experiment, or the logs and models of one that took place; without any file: the demo."
)
@click.argument("inputs", metavar="[STUDY.toml | VALUES.csv RATES.csv]", nargs=-1, type=PATH)
@click.option(
    "--over-time",
    type=click.Choice(["thesis", "pooled"]),
    default="thesis",
    show_default=True,
    help="Of several periods in RATES.csv: the mean rate, weighted by users where they are known; "
    "or all accepted over all recommendations.",
)
@click.option(
    "--chosen",
    multiple=True,
    metavar="NAME",
    help="An experiment of the tables, chosen after looking at the result; may be repeated.",
)
@click.option(
    "--permutations",
    type=click.IntRange(min=99),
    default=10_000,
    show_default=True,
    help="Random orders of the rates of the tables; one experiment of up to 9 models goes through "
    "all.",
)
@click.option(
    "--seed",
    type=SEED,
    help="Of all that is random but the world and its experiment; 0, or that of the study.",
)
@workers
@clustered
@printable
@click.option(
    "--output", type=PATH, help="A folder for tables, figures, captions; the study's folder."
)
@quietly
@sentences
def online(
    inputs: tuple[Path, ...],
    seed: int | None,
    jobs: int | None,
    dask: str | None,
    format_: str,
    output: Path | None,
    quiet: bool,
    **asked: Any,
) -> None:
    """Say whether offline measures follow click-through rates.

    From two tables, or from a study file: an experiment is simulated, or read from its logs, the
    models' hidden-item recall is measured under every exponent of popularity, and a report is left.
    In place of VALUES.csv the folder of a finished study may be named. For every measure, models
    are ordered by it and by their click-through rates, and the two orders are compared. The best
    measure is compared with what the best of so many reaches by chance.
    """
    from joblib import cpu_count

    from runs.shared.progress import watched

    if len(inputs) > 2:
        raise InputError(
            f"give a study file, or a table of values and one of rates, got {len(inputs)} files."
        )
    if len(inputs) < 2:
        from harness.online.experiment.experiment_file import demo_online_study, read_online_study
        from harness.online.experiment.run_experiment import run_online_study

        given = {"seed": seed, "output": output}
        changes = {name: value for name, value in given.items() if value is not None}
        study = (
            read_online_study(inputs[0], changes=changes)
            if inputs
            else demo_online_study(changes=changes)
        )
        report = run_online_study(
            study, n_jobs=jobs or cpu_count(), progress=watched(quiet=quiet), dask=dask
        )
        click.echo(f"The report is {report.resolve()}")
        return
    from analyses.online.agreement.agreement_files import print_tables

    printed, captions = print_tables(
        *inputs, format_=format_, output=output, seed=seed or 0, quiet=quiet, **asked
    )
    click.echo(printed, nl=False)
    for caption in captions:
        click.echo(caption, err=True)


@main.command(
    epilog="INTERACTIONS has the columns time (milliseconds since 1970 in UTC, or timestamps with "
    "a zone), user and item, and value or type (view, cart, bookmark, purchase) if there are any."
)
@click.argument("interactions", type=PATH)
@click.option(
    "--model",
    type=click.Choice(["item-cosines", "als-knn"]),
    default="item-cosines",
    show_default=True,
    help="Item neighbours by common users; or by learned factors, which needs implicit.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the model."
)
@click.option(
    "--ranks",
    "rank_table",
    type=PATH,
    help="In place of a model: a table user, item, time, rank_loo, rank_lloo; an empty rank is a "
    "miss. Or ranks.parquet of an earlier --output.",
)
@click.option("--robots", type=click.IntRange(min=1), help="Users with more events a day go.")
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.1,
    show_default=True,
    help="Of the users who are tested.",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    help="Test users at most.",
)
@click.option(
    "--beta",
    "betas",
    type=float,
    multiple=True,
    help="An exponent; may be repeated. By default 0 to 1 by .05.",
)
@click.option(
    "--cutoff",
    "cutoffs",
    type=click.IntRange(min=1),
    multiple=True,
    help="May be repeated. By default 1 to 10, 15, 20, 25, 50.",
)
@click.option(
    "--weights",
    type=click.Choice(["uniform", "stratified"]),
    multiple=True,
    help="Users count alike, or hidden items do; both by default.",
)
@click.option(
    "--first-item",
    type=click.Choice(["miss", "skip"]),
    default="miss",
    show_default=True,
    help="LLOO of what nothing was before.",
)
@click.option(
    "--smoothing",
    type=click.Choice(["add-one", "drop"]),
    default="add-one",
    show_default=True,
    help="Of popularity: items without a training event count as one, or not at all.",
)
@click.option(
    "--popularity",
    type=click.Choice(["events", "users"]),
    default="events",
    show_default=True,
    help="What makes an item popular.",
)
@click.option(
    "--clip",
    type=click.FloatRange(0, min_open=True),
    help="Upper bound on the weight of an item.",
)
@click.option(
    "--min-items",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Distinct items that a test user needs.",
)
@click.option(
    "--lists",
    type=click.Choice(["profile", "loo", "lloo"]),
    default="profile",
    show_default=True,
    help="Lists that coverage is about: one for each user, or those of a measurement.",
)
@clustered
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of test users and model.")
@workers
@printable
@click.option("--output", type=PATH, help="A folder for values, figures, captions and ranks.")
@quietly
@sentences
def recall(
    interactions: Path,
    model: Any,
    settings: tuple[str, ...],
    rank_table: Path | None,
    dask: str | None,
    jobs: int | None,
    format_: str,
    output: Path | None,
    quiet: bool,
    **asked: Any,
) -> None:
    """Measure how many hidden items a model finds, for every popularity exponent.

    A share of the users is tested: each of their items is hidden from the model, one at a time
    (LOO), or with all that came later (LLOO), and counts the more the rarer it is: by its
    popularity to the power of minus beta. The others train the model.
    """
    from joblib import cpu_count

    from harness.recall.asking import measure, question_of
    from harness.recall.publish import FORMATS, write_files
    from runs.shared.progress import watched

    result = measure(
        interactions,
        question_of(**asked),
        rank_table=rank_table,
        model=model,
        settings=settings,
        dask=dask,
        n_jobs=jobs or cpu_count(),
        progress=watched(quiet=quiet),
    )
    if output is not None:
        write_files(result, output)
    click.echo(FORMATS[format_](result), nl=False)
    for remark in result.remarks():
        click.echo(remark, err=True)


@main.command()
@click.argument("study", type=PATH)
@click.option("--to", "target", required=True, type=PATH, help="A new or empty folder.")
@sentences
def export(study: Path, target: Path) -> None:
    """Export runs and qrels of the study folder STUDY, with other tools' commands."""
    from harness.trec_eval.export import export_study

    for path in export_study(study, target):
        click.echo(str(path))


@main.command()
@click.argument("study", type=PATH)
@click.argument("name", metavar="[fig1|fig2|...]", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["svg", "pdf", "png"]),
    help="By default that of --to, or svg.",
)
@click.option("--to", "target", type=PATH, help="The file; FIGURE.FORMAT here by default.")
@click.option("--cutoff", type=int, help="Of a figure of all metrics: another cut-off.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Of a figure with a panel for each metric: this one alone; may be repeated.",
)
@click.option(
    "--width",
    type=click.Choice(["single", "double"]),
    help="One column (3.33 in) or two (7 in); by default two for figures of many panels.",
)
@click.option("--grey", is_flag=True, help="Print colours as their greys.")
@sentences
def figure(
    study: Path, name: str | None, format_: Any, target: Path | None, **options: Any
) -> None:
    """Redraw a figure of the study folder STUDY for print; without a name, list the figures.

    Prints the caption, and where the figure is.
    """
    from harness.catalogue import find_figure
    from harness.report.print import caption_of, format_of, listing, print_figure, render
    from harness.report.study_folder import FinishedStudy
    from runs.shared.files import write_whole

    finished = FinishedStudy.at(study)
    if name is None:
        with _table("figure", "title", header=False) as add:
            for short, title in listing(finished):
                add(short, title)
        return
    full = find_figure(name)
    kind = format_of(target, format_)
    path = target or Path(f"{full}.{kind}")
    write_whole(path, render(print_figure(finished, full, **options), kind))
    click.echo(caption_of(finished, full))
    click.echo(f"The figure is {path.resolve()}")


@main.command()
@click.argument("study", type=PATH)
@click.argument("name", metavar="[table2|table3|NAME]", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "latex", "csv", "markdown"]),
    default="text",
    show_default=True,
    help="For reading, for a paper (booktabs), with all digits, for a web page.",
)
@click.option("--cutoff", type=int, help="The deepest by default; of table3, all.")
@click.option(
    "--convention",
    type=click.Choice(["dp", "dp_ordered", "dp_mean", "significant_05", "median_p"]),
    help="How table3 adds up p-values: over unordered pairs (dp), as the RecSys'18 paper does "
    "(dp_ordered), ...",
)
@sentences
def table(
    study: Path, name: str | None, format_: str, cutoff: int | None, convention: str | None
) -> None:
    """Print a table of the study folder STUDY; without a name, list the tables."""
    from analyses.shared.table import FORMATS
    from harness.report.study_folder import FinishedStudy
    from harness.report.tables import TITLES, tabulate

    finished = FinishedStudy.at(study)
    if name is None:
        with _table("table", "title", header=False) as add:
            for known, title in TITLES.items():
                add(known, title)
        return
    chosen = tabulate(finished, name, cutoff=cutoff, convention=convention)
    click.echo(FORMATS[format_](chosen), nl=False)


@main.command()
@click.argument("metric")
@click.argument("studies", nargs=-1, metavar="[STUDY]...", type=PATH)
@click.option("--to", "target", type=PATH, help="The page; card-METRIC.html here by default.")
@click.option(
    "--tries", type=click.IntRange(min=1), help="Cases tried for each law; 100 by default."
)
@click.option("--plugin", "plugins", multiple=True, type=PATH, help="A file with metrics of yours.")
@sentences
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
    from harness.study.stages import file_stem
    from runs.shared.files import write_whole

    finished = [FinishedStudy.at(study) for study in studies]
    page = metric_card(metric, finished, plugins=plugins, tries=tries)
    path = target or Path(f"card-{file_stem(metric)}.html")
    write_whole(path, page)
    click.echo(f"The card is {path.resolve()}")


@main.command()
@click.argument("study", type=PATH)
@sentences
def report(study: Path) -> None:
    """Make the report of the study folder STUDY again, from its tables and figures."""
    from harness.report.page import render_report
    from runs.shared.files import write_whole

    write_whole(study / "report.html", render_report(study))
    click.echo(f"The report is {(study / 'report.html').resolve()}")


@contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    """Say what is remarkable about the input, without Python's places in the code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InputWarning)
        yield
    for warning in caught:
        click.echo(f"Warning: {warning.message}", err=True)


@contextmanager
def _table(*headings: str, title: str = "", header: bool = True) -> Iterator[Callable[..., None]]:
    """Print a table of the rows that are added."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        *headings,
        title=Text(title) if title else None,
        title_justify="left",
        show_header=header,
        box=box.SIMPLE,
    )
    yield lambda *cells: table.add_row(*map(Text, cells))
    Console().print(table)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    main()
