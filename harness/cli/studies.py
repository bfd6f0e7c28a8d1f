"""Studies, from ``init`` and ``run`` to ``report``, ``table``, ``figure``, ``compare``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analyses.shared.table import FORMATS, Table
from harness.cli.console import EXIT_BROKEN, explain_misfits, print_tables, write_and_print_path
from harness.cli.data import describe_ratings, print_description, rating_options
from harness.cli.options import (
    FILE,
    FOLDER,
    PATH,
    SEED,
    HelpGroup,
    Paths,
    SettingsCommand,
    analysis_plugin_option,
    cluster_option,
    format_option,
    lazy_class,
    metric_plugin_option,
    quiet_option,
    refuse_options,
    settings_from_options,
    settings_options,
    study_folder_option,
    workers_option,
)

if TYPE_CHECKING:
    from harness.study.study_file import StudyFile
    from harness.trec_eval.export import RunFormat
    from runs.shared.progress import Progress

GROUP = HelpGroup(1, "Studies")

MAX_NAMED_FILES = 4
"""Up to so many files of a folder are named one by one."""

StudyT = TypeVar("StudyT", bound="StudyFile")


@click.command(cls=SettingsCommand)
@click.argument("data", type=PATH)
@click.option(
    "--output", type=FILE, default=Path("study.toml"), show_default=True, help="File to write."
)
@click.option("--overwrite", is_flag=True, help="Overwrite the study file if it exists.")
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    help="Recommender to study; default: twelve systems of six families, and svd for ratings. "
    "May be repeated.",
)
@click.option(
    "--yes", is_flag=True, help="Take the columns that are proposed by their values alone."
)
@rating_options
def init(
    data: Path,
    output: Path,
    overwrite: bool,
    systems: tuple[str, ...],
    yes: bool,
    **option_values: Any,
) -> None:
    """Write a study file for ratings, and describe the ratings.

    DATA is a file, folder or archive of ratings; or a folder with training and test ratings, also
    in several folds. The study file has comments that explain its settings.
    """
    from harness.study.first_study import first_study
    from runs import InputError
    from runs.shared.files import write_atomically

    if output.exists() and not overwrite:
        raise InputError(
            f"{output}: the file exists; --overwrite replaces it, --output names another."
        )
    description = describe_ratings(data, option_values)
    distinct_systems = tuple(dict.fromkeys(systems))
    study_text = first_study(
        description, file=output, systems=distinct_systems, takes_proposals=yes
    )
    write_atomically(output, study_text.encode())
    print_description(description, command="init")
    threshold = description.threshold
    threshold_note = "" if threshold is None else f", with the threshold {threshold:g}"
    split_note = "" if description.is_split else f", split by `{description.split_method}`"
    click.echo(
        f"{output} is a study of these data{split_note}{threshold_note}. "
        f"Run it: harness run {output}"
    )


@click.command()
@click.argument("study_file", metavar="[STUDY.toml]", required=False, type=PATH)
@click.option(
    "--experiment", is_flag=True, help="Without a study file: run the demo of a click experiment."
)
@workers_option
@cluster_option
@click.option("--seed", type=SEED, help="Random seed, in place of that of the study.")
@study_folder_option
@metric_plugin_option
@quiet_option
def run(
    study_file: Path | None,
    experiment: bool,
    n_jobs: int,
    cluster: str | None,
    seed: int | None,
    output: Path | None,
    plugins: Paths,
    progress: Progress,
) -> None:
    """Run a study; resume it where it stopped.

    Without a study file, the demo is run: a study of a simulated data set.
    """
    from harness.study.study_file import tables_in

    if study_file is not None:
        refuse_options({"experiment"}, "a study file")
        experiment = "experiment" in tables_in(study_file)
    options = {"seed": seed, "output": output}
    changes = {name: value for name, value in options.items() if value is not None}
    if experiment:
        from harness.online.experiment import run_experiment_study
        from harness.online.experiment_file import ExperimentStudy

        experiment_study = _read_study_or_demo(ExperimentStudy, study_file, changes)
        report = run_experiment_study(
            experiment_study, n_jobs=n_jobs, progress=progress, cluster=cluster
        )
    else:
        report = _run_or_find_finished(
            study_file, changes, plugins, n_jobs=n_jobs, cluster=cluster, progress=progress
        )
        folder = report.parent
        export_command = ["harness", "export", str(folder), "--output", f"{folder}-export"]
        click.echo(f"To write its runs and qrels for trec_eval: {shlex.join(export_command)}")
    click.echo(f"The report is {report.resolve()}")


def _run_or_find_finished(
    study_file: Path | None,
    changes: Mapping[str, Any],
    plugins: Paths,
    *,
    n_jobs: int,
    cluster: str | None,
    progress: Progress,
) -> Path:
    """Run a study of systems; of one that is finished, say so, with its answer and cautions.

    Arguments are those of the command; ``changes`` replace values of the study file. Returns the
    path of the report.
    """
    from harness.study.completion import Request, find_finished, keep_completion

    request = Request.read(study_file, changes)
    finished_study = None if plugins else find_finished(request)
    if finished_study is not None:
        from harness.report.checks import FINISHED, closing_notes

        remarks = finished_study.manifest.warnings
        for remark in remarks:
            progress.note(f"Warning: {remark}")
        progress.note(FINISHED)
        for note in closing_notes(finished_study, remarks):
            progress.note(note)
        return finished_study.folder / "report.html"

    from harness.study.run import add_plugins, run_study
    from harness.study.study import Study
    from harness.study.workers import trained_on

    study = _read_study_or_demo(Study, study_file, changes)
    with trained_on(cluster, study.systems.names):
        report = run_study(add_plugins(study, plugins), n_jobs=n_jobs, progress=progress)
    if not plugins:
        keep_completion(request, study)
    return report


def _read_study_or_demo(
    study_class: type[StudyT], study_file: Path | None, changes: Mapping[str, Any]
) -> StudyT:
    """Read a study file, or the demo of the class without one; ``changes`` replace its values."""
    if study_file is None:
        return study_class.demo(changes=changes)
    return study_class.read(study_file, changes=changes)


@click.command()
@click.argument("study", type=PATH)
@analysis_plugin_option
@explain_misfits
def report(study: Path, plugins: Paths) -> None:
    """Write the report again, from saved results.

    The report is made from the results in the study folder STUDY; nothing is computed anew.
    """
    from harness.report.page import render_report
    from harness.report.study_folder import FinishedStudy

    finished_study = FinishedStudy.open(study, plugins)
    page = render_report(finished_study)
    write_and_print_path("report", study / "report.html", page)


@click.command()
@click.argument("study", type=PATH)
@click.argument("name", metavar="[table2|table3|NAME]", required=False)
@format_option
@click.option(
    "--cutoff",
    type=int,
    help="Cut-off of the measures; default: the report measures, and in table3 all cut-offs.",
)
@click.option("--measure", help="Measure to tabulate, such as nDCG@10; default: all.")
@click.option(
    "--details",
    type=click.Choice(["letters", "intervals", "ranks", "all"]),
    help="Columns of the table systems, one line for each system: means and letters alone, with "
    "intervals, with ranks, or with both; default: all in two lines, in LaTeX letters alone.",
)
@click.option(
    "--convention",
    type=click.Choice(["dp", "dp_ordered"]),
    help="Discriminative power in table3: sum of p-values over unordered pairs of systems (dp), or "
    "over ordered pairs, as in the RecSys'18 paper (dp_ordered).",
)
@analysis_plugin_option
@explain_misfits
def table(study: Path, name: str | None, format_: str, plugins: Paths, **options: Any) -> None:
    """Print a table of a study; without a name, list its tables.

    STUDY is a study folder.
    """
    from harness.report.study_folder import FinishedStudy
    from harness.report.tables import table_titles, tabulate
    from runs.shared.ids import escaped

    finished_study = FinishedStudy.open(study, plugins)
    if name is None:
        rows = [*table_titles(finished_study).items()]
        print_tables(Table("tables", "", "", ["name", "title"], rows), format_=format_)
        if format_ == "text":
            files = [escaped(f"{frame}.csv") for frame in finished_study.list_frames()]
            folder = study / "tables"
            click.echo(f"CSV files with all digits are in {folder}: {', '.join(files)}.")
        return
    study_table = tabulate(finished_study, name, **options)
    click.echo(FORMATS[format_]([study_table]), nl=False)


@click.command(cls=SettingsCommand)
@click.argument("study", type=PATH)
@click.argument("name", metavar="[fig1|fig2|...]", required=False)
@click.option(
    "--output",
    type=FILE,
    help="File to write, in any format of matplotlib: .pdf, .svg, .png, .eps, ...; default: "
    "FIGURE.svg.",
)
@settings_options(lazy_class("analyses.shared.figure_options.FigureOptions"))
@click.option(
    "--axes",
    type=click.Choice(["share", "pairs"]),
    help="Axes of the figures of p-values: the share of pairs over p, or p over the pairs in "
    "order, as in the RecSys'18 paper.",
)
@analysis_plugin_option
@explain_misfits
def figure(
    study: Path,
    name: str | None,
    output: Path | None,
    plugins: Paths,
    axes: str | None,
    **option_values: Any,
) -> None:
    """Draw a figure of the study folder STUDY for print; without a name, list the figures.

    Prints the caption, and the name of the file. What is not given is as [figures] in the study
    file has it.
    """
    from analyses.shared.figure_formats import figure_writer
    from analyses.shared.figure_options import FigureOptions
    from analyses.shared.figures import draw_figure
    from harness.report.print import caption_of, find_figure
    from harness.report.study_folder import FinishedStudy

    finished_study = FinishedStudy.open(study, plugins)
    if name is None:
        rows = []
        for _, declaration in finished_study.figures():
            rows.append((declaration.short, finished_study.title(declaration)))
        print_tables(Table("figures", "", "", ["name", "title"], rows))
        return
    result_key, declaration = find_figure(finished_study, name)
    path = output or Path(f"{declaration.file_stem}.svg")
    file_content = figure_writer(path)
    options = settings_from_options(FigureOptions, option_values)
    result = finished_study.result(result_key)
    axes_option = {} if axes is None else {"axes": axes}
    _, chosen_options = declaration.split_options(result, axes_option)
    drawn_figure = draw_figure(
        result,
        declaration,
        options,
        usual=finished_study.figure_options,
        chosen=chosen_options,
    )
    click.echo(caption_of(finished_study, declaration, drawn_figure))
    write_and_print_path("figure", path, file_content(drawn_figure))


@click.command()
@click.argument(
    "studies", type=PATH, nargs=-1, required=True, metavar="STUDY STUDY...|PUBLISHED.csv"
)
@format_option
@click.option("--output", type=FOLDER, help="Folder to write a page with tables and figures to.")
@analysis_plugin_option
@explain_misfits
def compare(studies: Paths, format_: str, output: Path | None, plugins: Paths) -> None:
    """Compare studies with each other, or with published values.

    Several study folders STUDY: prints their data, the mean ranks of systems and measures over the
    data sets, the results of each measure in all of them, and which conclusions agree. The page of
    --output has their figures, too, as panels (a), (b), ...

    One STUDY and PUBLISHED.csv: prints where the study agrees with published values. PUBLISHED.csv
    has a column value, and columns of labels, such as system and measure. If it is called as a
    table of the study, it is compared with that table. In place of value it may have rank, where
    only the order is known. In place of STUDY, a folder of CSV files may be given.
    """
    from harness.report.comparison import Comparison, write_comparison
    from harness.report.publication import Publication
    from harness.report.study_folder import FinishedStudy

    tables = [path for path in studies if path.suffix == ".csv"]
    folders = [path for path in studies if path not in tables]
    comparison: Publication | Comparison
    if tables:
        comparison = Publication.of_tables(folders, tables, plugins)
    else:
        finished_studies = [FinishedStudy.open(path, plugins) for path in folders]
        comparison = Comparison.of_studies(finished_studies)
    click.echo(FORMATS[format_]([*comparison.tables()]))
    is_text = format_ == "text"
    for finding in comparison.findings():
        click.echo(f"{finding}\n", err=not is_text)
    if output is not None:
        page = write_comparison(comparison, output)
        click.echo(f"The page is {page.resolve()}", err=not is_text)


@click.command()
@click.argument("study", type=PATH)
@click.option("--output", required=True, type=FOLDER, help="New or empty folder to write to.")
@click.option(
    "--run-format",
    "run_formats",
    type=click.Choice(["parquet", "lenskit", "recbole", "ir_metadata"]),
    multiple=True,
    help="Format of runs beside TREC; ir_metadata: TREC with a description in comments, which "
    "trec_eval 9 cannot read. May be repeated.",
)
@explain_misfits
def export(study: Path, output: Path, run_formats: tuple[RunFormat, ...]) -> None:
    """Export the runs, qrels and split of a study.

    The files are for trec_eval, ir_measures, RecBole and LensKit, with scripts that call the first
    two. STUDY is a study folder.
    """
    from harness.trec_eval.export import export_study

    paths_by_folder: dict[Path, list[Path]] = {}
    for path in export_study(study, output, run_formats=run_formats):
        paths_by_folder.setdefault(path.parent, []).append(path)
    for folder, paths in paths_by_folder.items():
        names = ", ".join(path.name for path in paths)
        if len(paths) > MAX_NAMED_FILES:
            names = f"{len(paths)} files, such as {paths[0].name}"
        click.echo(f"{folder}: {names}")
    folder_name = shlex.quote(str(output))
    click.echo(f"Compare the means with trec_eval: cd {folder_name} && sh trec_eval.sh")


@click.command()
@click.argument("study", type=PATH)
def verify(study: Path) -> None:
    """Check whether the files of a study are unchanged.

    Prints which version of the program made each part of the study folder STUDY. Files that have
    changed or are missing are named, and the exit code is 1.
    """
    from harness.report.ledger import Ledger
    from harness.report.manifest import read_manifest

    versions = read_manifest(study).versions
    ledger = Ledger(study)
    parts_by_maker: dict[str, list[str]] = {}
    n_files = 0
    for part in ledger.list_parts():
        entry = ledger.checked_entry(part)
        n_files += len(entry.files)
        parts_by_maker.setdefault(entry.makers(), []).append(part)
    for maker, parts in parts_by_maker.items():
        click.echo(f"{', '.join(parts)}: by {maker}.\n")
    changed_files = list(ledger.changed_files())
    for name in changed_files:
        click.echo(f"{study / name}: not as the study wrote it; `harness run` makes it again.")
    click.echo(f"The manifest is of the harness {versions['harness']}.")
    click.echo(f"Files that are not as the study wrote them: {len(changed_files)} of {n_files}.")
    if changed_files:
        raise SystemExit(EXIT_BROKEN)
