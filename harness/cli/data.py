"""Data and recommenders: ``describe``, ``world``, ``systems``, ``tune``, ``schema``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analyses.shared.table import Table
from harness.cli.console import FAILED, print_tables
from harness.cli.options import (
    FOLDER,
    PATH,
    Command,
    Paths,
    SettingsCommand,
    choice,
    clustered,
    extensible,
    formatted,
    given,
    imported,
    in_study_folder,
    on_workers,
    quietly,
    settings_options,
)

if TYPE_CHECKING:
    from harness.study.first_study import DataDescription
    from harness.tuning.search import Sampler
    from qrels import Ratings
    from recommenders import SystemSpec
    from runs.shared.progress import Progress

GROUP = 6, "Data"
RATINGS = imported("harness.study.study.RatingsSection")
SETTINGS = "In brackets: the default of a setting; the range that `harness tune` searches."
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def reads_ratings(command: Command) -> Command:
    """Give a command the options of the section [ratings] of a study."""
    return settings_options(RATINGS, without=("path", "preset", "like", "world", "grades"))(command)


@click.command(cls=SettingsCommand)
@click.argument("path", type=PATH)
@reads_ratings
@formatted
def describe(path: Path, format_: str, **asked: Any) -> None:
    """Describe ratings, and the effect of relevance thresholds.

    PATH is a file, folder or archive of ratings.
    """
    print_description(describe_ratings(path, asked), format_)


def describe_ratings(path: Path, asked: dict[str, Any]) -> DataDescription:
    """Read ratings with the options that are given."""
    from harness.study.first_study import describe_data
    from harness.study.study import RatingsSection

    return describe_data(given(RatingsSection, {"path": path, **asked}))


def print_description(data: DataDescription, format_: str = "text") -> None:
    """Print columns, counts, the effect of thresholds, and remarks."""
    from runs.tables.screen import COLUMN_HEADINGS, column_rows, options_for

    title = f"{data.section.path} ({data.format})"
    facts = [(name.replace("_", " "), value) for name, value in data.facts().items()]
    tables = [
        Table("columns", "Columns", "", COLUMN_HEADINGS, column_rows(data.columns)),
        Table("data", title, "", ["statistic", "value"], facts),
    ]
    if data.thresholds:
        which = "of the test file" if data.is_split else "a fifth of the ratings of each user"
        shares = ["relevant ratings", "users without relevant", "users without non-relevant"]
        rows = [tuple(vars(each).values()) for each in data.thresholds]
        title = f"Test ratings, {which}: shares by threshold"
        tables.append(Table("thresholds", title, "", ["threshold", *shares], rows))
    print_tables(*tables, format_=format_)
    implicit = "All ratings are equal or implicit: every rated item is relevant."
    notes = [*data.notes, *data.questions()]
    if not data.thresholds:
        notes.append(implicit)
    if data.columns.has_heading:
        command = f"harness describe {data.section.path} {options_for(data.columns)}"
        notes.append(f"To read other columns, change this command: {command}")
    for note in notes:
        click.echo(note, err=format_ != "text")


@click.command(cls=SettingsCommand)
@click.option("--like", type=PATH, required=True, help="Ratings: a file, folder or archive.")
@click.option(
    "--output", type=FOLDER, help="New folder for ratings (world.csv) and truth (truth.npz)."
)
@settings_options(imported("qrels.ratings.world.LikeSettings"))
@reads_ratings
@formatted
@quietly
def world(like: Path, output: Path | None, format_: str, progress: Progress, **asked: Any) -> None:
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
    real = load_k_core(given(RatingsSection, {"path": like, **asked}), usual_split())
    with progress("Fitting a world", 1) as bar:
        fitted = fit_world(real, given(LikeSettings, asked))
        bar.advance()
    made = fitted.world.ratings
    scale = sorted({*real.rating.tolist()})
    found, of_world = _distributions(real, scale), _distributions(made, scale)
    rows = [(name, value, of_world[name]) for name, value in found.items()]
    headings = ["statistic", "ratings", "world"]
    distributions = Table("distributions", "Distributions", "", headings, rows)
    parts = [vars(part) for part in (fitted.target, fitted.reached, fitted.strengths)]
    moments = [(name, *(part[name] for part in parts)) for name in parts[-1]]
    headings = ["moment", "ratings", "world", "strength"]
    fit = Table("fit", "Fitted moments", "", headings, moments)
    print_tables(distributions, fit, format_=format_)
    if output is not None:
        write_atomically(output / "world.csv", format_rating_lines(made))
        write_atomically(output / "truth.npz", fitted.world.truth.to_bytes())
        click.echo(f"The world is in {output.resolve()}", err=format_ != "text")


def _distributions(ratings: Ratings, scale: Sequence[float]) -> dict[str, Any]:
    """Give counts, quantiles of the ratings of a user and of an item, and the histogram."""
    import numpy as np

    from qrels import describe

    facts = describe(ratings)
    for kind, counts in (("user", ratings.user_counts()), ("item", ratings.item_counts())):
        values = np.quantile(counts[counts > 0], QUANTILES)
        facts |= {
            f"ratings per {kind}, {share:.0%} quantile": float(value)
            for share, value in zip(QUANTILES, values, strict=True)
        }
    return facts | {f"share rated {v:g}": float((ratings.rating == v).mean()) for v in scale}


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME|FILE.py:CLASS]...")
@formatted
def systems(names: tuple[str, ...], format_: str) -> None:
    """List the recommenders with their settings and sources.

    With the NAME of a recommender, or FILE.py:CLASS for your own, prints the meaning of each of its
    settings. Json has everything that is known of them.
    """
    from recommenders import find_system
    from recommenders import systems as all_systems
    from runs.shared.members import installed_entry_points

    every = [*all_systems(), *installed_entry_points("systems")]
    specs = [find_system(name) for name in names or every]
    if format_ == "json":
        click.echo(json.dumps([spec.facts() for spec in specs], indent=1, ensure_ascii=False))
    elif names:
        headings = ["setting", "default", "tuned over", "meaning"]
        titles = [f"{spec.name} ({spec.family}): {spec.summary}" for spec in specs]
        for spec, title in zip(specs, titles, strict=True):
            found = Table(spec.name, title, spec.source, headings, [*_settings(spec)])
            print_tables(found, format_=format_)
    else:
        headings, rows = ["name", "family", "summary", "settings", "source"], []
        for spec in specs:
            of_each = ((name, "; ".join(filter(None, own))) for name, *own, _ in _settings(spec))
            settings = "\n".join(f"{name} ({told})" for name, told in of_each) or "none"
            rows.append((spec.name, spec.family, spec.summary, settings, spec.source))
        listed = Table("systems", "Recommenders", SETTINGS, headings, rows)
        print_tables(listed, format_=format_, in_records=True)


def _settings(spec: SystemSpec) -> Iterator[tuple[str, str, str, str]]:
    """Give name, default, range of the search, and meaning of every setting."""
    from recommenders import search_space

    space = search_space(spec.settings)
    for name, facts in spec.facts()["settings"].items():
        default = str(facts.get("default", "needed"))
        yield name, default, str(space.get(name, "")), facts.get("description", "")


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
@choice(
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
@on_workers("Number of parallel trials (TPE: 1); default: all cores. Does not change results.")
@clustered
@in_study_folder
@extensible
@quietly
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

    target = study_file.with_name(f"{study_file.stem}-tuned.toml")
    study = read_study(study_file, changes={} if output is None else {"output": output})
    study = add_plugins(study, plugins)
    require_free(target)
    budget = {"n_trials": trials, "n_jobs": n_jobs}
    with trained_on(cluster, study.systems.names):
        found = search_settings(
            study, systems, metric=measure, sampler=search, progress=progress, **budget
        )
    failed = [tuned for tuned in found if tuned.best is None]
    for tuned in failed:
        finding = tuned.trials[0].finding
        click.echo(f"Failed: all trials of {tuned.label} failed, the first: {finding}", err=True)
    if failed:
        sys.exit(FAILED)
    write_tuned_study(study_file, target, found)
    click.echo(comparison(found))
    click.echo(f"The tuned study is {target.resolve()}")


@click.command()
@extensible
@click.option("--experiment", is_flag=True, help="Schema of study files with an experiment.")
def schema(plugins: Paths, experiment: bool) -> None:
    """Print the JSON schema of study files, for editors.

    Save the schema as study.schema.json, and begin the study file with the line '#:schema
    study.schema.json'. Editors then complete keys and mark errors.
    """
    from harness.study.schema import study_schema
    from harness.study.study import Study

    kind = imported("harness.online.experiment_file.ExperimentStudy")() if experiment else Study
    found = study_schema([path.resolve() for path in plugins], study_class=kind)
    click.echo(json.dumps(found, indent=1, ensure_ascii=False))
