"""Data and recommenders: ``describe``, ``world``, ``systems``, ``tune``, ``schema``."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from analyses.shared.table import Table
from harness.cli.console import EXIT_FAILED, print_tables
from harness.cli.options import (
    FOLDER,
    PATH,
    Command,
    HelpGroup,
    Paths,
    SettingsCommand,
    choice_option,
    cluster_option,
    format_option,
    jobs_option,
    lazy_class,
    metric_plugin_option,
    quiet_option,
    schema_plugin_option,
    settings_from_options,
    settings_options,
    study_folder_option,
)

if TYPE_CHECKING:
    from harness.study.first_study import DataDescription
    from harness.study.study import RatingsSection
    from harness.tuning.search import Sampler
    from qrels import Ratings
    from qrels.ratings.world import FittedWorld
    from recommenders.shared.system import SystemSpec
    from runs.shared.progress import Progress

GROUP = HelpGroup(6, "Data")
RATINGS = lazy_class("harness.study.study.RatingsSection")
SETTINGS = "In brackets: the default of a setting; the range that `harness tune` searches."
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def rating_options(command: Command) -> Command:
    """Give a command the options of the section [ratings] of a study."""
    without = ("path", "preset", "like", "world", "grades")
    return settings_options(RATINGS, without=without)(command)


@click.command(cls=SettingsCommand)
@click.argument("path", type=PATH)
@rating_options
@format_option
def describe(path: Path, format_: str, **option_values: Any) -> None:
    """Describe ratings, and the effect of relevance thresholds.

    PATH is a file, folder or archive of ratings.
    """
    print_description(describe_ratings(path, option_values), format_)


def describe_ratings(path: Path, option_values: Mapping[str, Any]) -> DataDescription:
    """Read ratings with the options of `rating_options`, and describe them."""
    from harness.study.first_study import describe_data
    from harness.study.study import RatingsSection

    section = settings_from_options(RatingsSection, {"path": path, **option_values})
    return describe_data(section)


def print_description(
    data: DataDescription, format_: str = "text", *, command: str = "describe"
) -> None:
    """Print columns, counts, the effect of relevance thresholds, and remarks on ratings.

    ``format_`` is one of `FORMATS`. Remarks are printed on standard error if it is not text; one of
    them names ``command``, as what to change to read other columns. There is no table of thresholds
    if every rated item is relevant.
    """
    from runs.tables.screen import COLUMN_HEADINGS, column_rows, options_for

    title = f"{data.section.path} ({data.format})"
    facts = [
        (_fact_in_words(name, is_implicit=data.is_implicit), value)
        for name, value in data.facts().items()
    ]
    tables = [
        Table("columns", "Columns", "", COLUMN_HEADINGS, column_rows(data.columns)),
        Table("data", title, "", ["statistic", "value"], facts),
    ]
    if data.thresholds:
        tables.append(_threshold_table(data))
    print_tables(*tables, format_=format_)
    notes = [*data.notes, *data.cautions(), *data.questions()]
    if not data.thresholds:
        notes.append(_on_implicit_ratings(data))
    if data.columns.has_heading:
        words = [
            f"harness {command}",
            shlex.quote(str(data.section.path)),
            options_for(data.columns),
            *_options_of_text(data.section),
        ]
        notes.append(f"To read other columns, change this command: {' '.join(words)}")
    for note in notes:
        click.echo(note, err=format_ != "text")


def _fact_in_words(name: str, *, is_implicit: bool) -> str:
    """Write the name of a fact in words; what implicit feedback has is not called a rating."""
    words = name.replace("_", " ")
    if not is_implicit:
        return words
    if words in ("lowest rating", "highest rating", "distinct ratings"):
        return words.replace("rating", "amount")
    return words.replace("ratings", "pairs")


def _on_implicit_ratings(data: DataDescription) -> str:
    """Say what counts as relevant where there is no threshold, and what becomes of amounts."""
    ratings = data.ratings.rating
    if ratings.min() == ratings.max():
        return "All pairs count alike: every item of a user is relevant."
    return (
        f"The numbers, from {ratings.min():g} to {ratings.max():g}, count as amounts: every item "
        "with one is relevant, and nDCG takes the amounts as grades. `grades = [1]` in [ratings] "
        "gives all of them grade 1."
    )


def _options_of_text(section: RatingsSection) -> list[str]:
    """Write the options that say how the text of a file is read, where they are not the usual."""
    options = []
    for name in ("encoding", "separator", "decimal", "dates"):
        value = getattr(section, name)
        if value != type(section).model_fields[name].default:
            options.append(f"--{name} {shlex.quote(value)}")
    return options


def _threshold_table(data: DataDescription) -> Table:
    """Tabulate the effect of each threshold on the test ratings, as shares of ratings and users."""
    from harness.study.first_study import TESTED_BY

    test_part = "of the test file" if data.is_split else TESTED_BY[data.split_method]
    return Table(
        name="thresholds",
        title=f"Test ratings, {test_part}: shares by threshold",
        note="",
        headings=[
            "threshold",
            "relevant ratings",
            "users without relevant",
            "users without non-relevant",
        ],
        rows=[
            (
                threshold.value,
                threshold.relevant,
                threshold.without_relevant,
                threshold.without_nonrelevant,
            )
            for threshold in data.thresholds
        ],
    )


@click.command(cls=SettingsCommand)
@click.option("--like", type=PATH, required=True, help="Ratings: a file, folder or archive.")
@click.option(
    "--output", type=FOLDER, help="New folder for ratings (world.csv) and truth (truth.npz)."
)
@settings_options(lazy_class("qrels.ratings.world.LikeSettings"))
@rating_options
@format_option
@quiet_option
def world(
    like: Path, output: Path | None, format_: str, progress: Progress, **option_values: Any
) -> None:
    """Simulate a data set like given ratings, with a known truth.

    The simulated data set, a world, is fitted to the ratings. Prints the distributions of both.

    To compare conclusions, run a study of the ratings and a study of the simulated data, and
    compare both with `harness compare`.
    """
    from harness.study.inputs import load_k_core
    from harness.study.sections import usual_split
    from harness.study.study import RatingsSection
    from qrels.ratings.datasets.rating_lines import format_rating_lines
    from qrels.ratings.world import LikeSettings, fit_world
    from runs import InputError
    from runs.shared.files import write_atomically

    if output is not None and output.exists():
        raise InputError(f"{output} exists; --output must name a new folder.")
    section = settings_from_options(RatingsSection, {"path": like, **option_values})
    real_ratings = load_k_core(section, usual_split())
    settings = settings_from_options(LikeSettings, option_values)
    with progress("Fitting a world", 1) as bar:
        fitted = fit_world(real_ratings, settings)
        bar.advance()
    simulated_ratings = fitted.world.ratings
    distributions = _distribution_table(real_ratings, simulated_ratings)
    print_tables(distributions, _moment_table(fitted), format_=format_)
    if output is not None:
        write_atomically(output / "world.csv", format_rating_lines(simulated_ratings))
        write_atomically(output / "truth.npz", fitted.world.truth.to_bytes())
        click.echo(f"The world is in {output.resolve()}", err=format_ != "text")


def _distribution_table(real_ratings: Ratings, simulated_ratings: Ratings) -> Table:
    """Tabulate statistics of real and simulated ratings: counts, quantiles, shares of values.

    Values are those of the real ratings; columns: statistic, of the ratings, of the world.
    """
    rating_values = sorted({*real_ratings.rating.tolist()})
    simulated = _distributions(simulated_ratings, rating_values)
    rows = [
        (statistic, value, simulated[statistic])
        for statistic, value in _distributions(real_ratings, rating_values).items()
    ]
    headings = ["statistic", "ratings", "world"]
    return Table("distributions", "Distributions", "", headings, rows)


def _moment_table(fitted: FittedWorld) -> Table:
    """Tabulate each fitted moment: of the ratings, as reached, and the strength that reaches it.

    ``fitted`` has them as fields of the same names: target, reached and strengths.
    """
    rows = []
    for field in fields(fitted.strengths):
        target = getattr(fitted.target, field.name)
        reached = getattr(fitted.reached, field.name)
        strength = getattr(fitted.strengths, field.name)
        rows.append((field.name, target, reached, strength))
    headings = ["moment", "ratings", "world", "strength"]
    return Table("fit", "Fitted moments", "", headings, rows)


def _distributions(ratings: Ratings, rating_values: Sequence[float]) -> dict[str, Any]:
    """Compute statistics of ratings, by their names in print.

    These are counts, quantiles of the number of ratings per user and per item (of those with
    any), and the share of the ratings that have each of the values. There must be a rating.
    """
    import numpy as np

    from qrels import describe

    statistics = describe(ratings)
    counts_by_axis = {"user": ratings.user_counts(), "item": ratings.item_counts()}
    for axis, counts in counts_by_axis.items():
        quantiles = np.quantile(counts[counts > 0], QUANTILES)
        for share, quantile in zip(QUANTILES, quantiles, strict=True):
            statistics[f"ratings per {axis}, {share:.0%} quantile"] = float(quantile)
    for value in rating_values:
        has_value = ratings.rating == value
        statistics[f"share rated {value:g}"] = float(has_value.mean())
    return statistics


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME|FILE.py:CLASS]...")
@format_option
def systems(names: tuple[str, ...], format_: str) -> None:
    """List the recommenders with their settings and sources.

    With the NAME of a recommender, or FILE.py:CLASS for your own, prints the meaning of each of its
    settings. Json has everything that is known of them.
    """
    from recommenders.shared.register import find_system
    from recommenders.shared.register import systems as all_systems
    from runs.shared.members import installed_entry_points

    all_names = [*all_systems(), *installed_entry_points("systems")]
    specs = [find_system(name) for name in names or all_names]
    if format_ == "json":
        facts = [spec.facts() for spec in specs]
        click.echo(json.dumps(facts, indent=1, ensure_ascii=False))
    elif names:
        for spec in specs:
            print_tables(_settings_table(spec), format_=format_)
    else:
        rows = [
            (spec.name, spec.family, spec.summary, _settings_cell(spec), spec.source)
            for spec in specs
        ]
        headings = ["name", "family", "summary", "settings", "source"]
        table = Table("systems", "Recommenders", SETTINGS, headings, rows)
        print_tables(table, format_=format_, in_records=True)


class SettingFacts(NamedTuple):
    """A setting of a recommender, as it is printed.

    ``search_range``: the values that `harness tune` searches; "" for none. ``default`` is "needed"
    if there is none.
    """

    name: str
    default: str
    search_range: str
    meaning: str


def _settings_of(spec: SystemSpec) -> list[SettingFacts]:
    """List the settings of a recommender: default, range of the search and meaning, as texts."""
    from recommenders.shared.system import search_space

    search_domains = search_space(spec.settings)
    settings = []
    for name, schema in spec.facts()["settings"].items():
        facts = SettingFacts(
            name=name,
            default=str(schema.get("default", "needed")),
            search_range=str(search_domains.get(name, "")),
            meaning=schema.get("description", ""),
        )
        settings.append(facts)
    return settings


def _settings_table(spec: SystemSpec) -> Table:
    """Tabulate the settings of one recommender, with their meanings."""
    title = f"{spec.name} ({spec.family}): {spec.summary}"
    headings = ["setting", "default", "tuned over", "meaning"]
    return Table(spec.name, title, spec.source, headings, _settings_of(spec))


def _settings_cell(spec: SystemSpec) -> str:
    """List settings in a cell, a line each: name, default and, if there is one, search range.

    Such as "neighbours (50; 5 to 500)"; "none" without settings.
    """
    lines = []
    for setting in _settings_of(spec):
        values = [text for text in (setting.default, setting.search_range) if text]
        lines.append(f"{setting.name} ({'; '.join(values)})")
    return "\n".join(lines) or "none"


@click.command()
@click.argument("study_file", metavar="STUDY.toml", type=PATH)
@click.argument("systems", metavar="[SYSTEM]...", nargs=-1)
@click.option(
    "--measure",
    default="nDCG@10",
    show_default=True,
    metavar="NAME",
    help="Measure to optimise; without a cut-off, at the depth of the study's rankings.",
)
@choice_option(
    "--search",
    ["random", "tpe"],
    "Search strategy: random search, or TPE (tree-structured Parzen estimator) of Optuna.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Number of trials for each system, including those of earlier searches.",
)
@jobs_option("Number of parallel trials (TPE: 1); default: all cores. Does not change results.")
@cluster_option
@study_folder_option
@metric_plugin_option
@quiet_option
def tune(
    study_file: Path,
    systems: tuple[str, ...],
    measure: str,
    search: Sampler,
    trials: int,
    n_jobs: int,
    cluster: str | None,
    output: Path | None,
    plugins: Paths,
    progress: Progress,
) -> None:
    """Tune the settings of systems on validation data.

    Tunes the systems SYSTEM, or all systems of the study. The validation part is held out by the
    split of the study; test ratings are not used. Writes the study file STUDY-tuned.toml: run it
    with `harness run`, and compare it with the untuned study with `harness compare`.

    The settings with a range in `harness systems` are searched; others keep the values of the
    study. Trial 0 has the default settings. The trials are stored in the folder tuning of the study
    folder; the same command resumes the search.

    The exit code is 0 if settings were found, 1 if all trials of a system failed, and 2 for wrong
    usage.
    """
    from harness.study.run import add_plugins
    from harness.study.study import read_study
    from harness.study.workers import trained_on
    from harness.tuning.search import comparison, require_free, write_tuned_study
    from harness.tuning.search import tune as search_settings

    tuned_file = study_file.with_name(f"{study_file.stem}-tuned.toml")
    study = read_study(study_file, changes={} if output is None else {"output": output})
    study = add_plugins(study, plugins)
    require_free(tuned_file)
    with trained_on(cluster, study.systems.names):
        searches = search_settings(
            study,
            systems,
            metric=measure,
            sampler=search,
            n_trials=trials,
            n_jobs=n_jobs,
            progress=progress,
        )
    failed_searches = [search for search in searches if search.best is None]
    for failed in failed_searches:
        finding = failed.trials[0].finding
        click.echo(f"Failed: all trials of {failed.label} failed, the first: {finding}", err=True)
    if failed_searches:
        sys.exit(EXIT_FAILED)
    write_tuned_study(study_file, tuned_file, searches)
    click.echo(comparison(searches))
    click.echo(f"The tuned study is {tuned_file.resolve()}")


@click.command()
@schema_plugin_option
@click.option("--experiment", is_flag=True, help="Schema of study files with an experiment.")
def schema(plugins: Paths, experiment: bool) -> None:
    """Print the JSON schema of study files, for editors.

    Save the schema as study.schema.json, and begin the study file with the line '#:schema
    study.schema.json'. Editors then complete keys and mark errors.
    """
    from harness.study.schema import study_schema
    from harness.study.study import Study

    study_class = Study
    if experiment:
        study_class = lazy_class("harness.online.experiment_file.ExperimentStudy")()
    plugin_paths = [path.resolve() for path in plugins]
    json_schema = study_schema(plugin_paths, study_class=study_class)
    click.echo(json.dumps(json_schema, indent=1, ensure_ascii=False))
