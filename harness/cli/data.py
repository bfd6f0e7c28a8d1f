"""Data and what is trained on them: ``describe``, ``world``, ``systems``, ``tune``, ``schema``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import FAILED, print_table
from harness.cli.options import (
    PATH,
    Command,
    SettingsCommand,
    choice,
    clustered,
    extensible,
    given,
    imported,
    on_workers,
    quietly,
    removed,
    settings_options,
)

if TYPE_CHECKING:
    from harness.study.first_study import DataDescription
    from harness.tuning.search import Sampler
    from qrels import Ratings
    from recommenders import SystemSpec
    from runs.shared.progress import Progress

RATINGS = imported("harness.study.study.RatingsSection")
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def reads_ratings(command: Command) -> Command:
    """Give a command the options of the section [ratings] of a study."""
    without = ("path", "preset", "like", "world", "grades")
    return settings_options(RATINGS, without=without)(command)


@click.command(cls=SettingsCommand)
@click.argument("path", type=PATH)
@reads_ratings
def describe(path: Path, **asked: Any) -> None:
    """Say what the ratings in PATH are, and what thresholds would make of them."""
    print_description(describe_ratings(path, asked))


def describe_ratings(path: Path, asked: dict[str, Any]) -> DataDescription:
    """Read ratings with the options that are given."""
    from harness.study.first_study import describe_data
    from harness.study.study import RatingsSection

    return describe_data(given(RatingsSection, {"path": path, **asked}))


def print_description(data: DataDescription) -> None:
    """Print counts, the thresholds, and what is odd."""
    facts = ((name.replace("_", " "), shown(value)) for name, value in data.facts().items())
    print_table(facts, title=f"{data.section.path} ({data.format})")
    if data.thresholds:
        which = "of the test file" if data.is_split else "a fifth of each user's"
        rows = (
            (f"{each.value:g}", *(f"{100 * share:.0f} %" for share in [*vars(each).values()][1:]))
            for each in data.thresholds
        )
        shares = ("ratings relevant", "users without relevant", "without non-relevant")
        print_table(rows, "threshold", *shares, title=f"Test ratings, {which}")
    else:
        click.echo("Nothing is rated lower than anything else: everything is relevant (implicit).")
    for note in data.notes:
        click.echo(note)


@click.command(
    cls=SettingsCommand,
    epilog="To compare conclusions, run a study of the ratings and one of the world, and put them "
    "side by side with `harness compare`.",
)
@click.option("--like", type=PATH, required=True, help="The ratings that the world is fitted to.")
@click.option(
    "--output", type=PATH, help="A new folder for its ratings (world.csv) and truth (truth.npz)."
)
@removed("--system", "run studies of the ratings and of the world, then `harness compare`.")
@settings_options(imported("qrels.ratings.world.LikeSettings"))
@reads_ratings
@quietly
def world(like: Path, output: Path | None, progress: Progress, **asked: Any) -> None:
    """Fit a simulated world to ratings, and print their distributions side by side."""
    from harness.study.inputs import kept_ratings
    from harness.study.sections import usual_split
    from harness.study.study import RatingsSection
    from qrels.ratings.datasets.rating_tables import format_rating_lines
    from qrels.ratings.world import LikeSettings, fit_world
    from runs import InputError
    from runs.shared.files import write_whole

    if output is not None and output.exists():
        raise InputError(f"{output}: there is such a file or folder; --output names a new one.")
    section = given(RatingsSection, {"path": like, **asked})
    real = kept_ratings(section, usual_split())
    with progress("Fitting a world", 1) as bar:
        fitted = fit_world(real, given(LikeSettings, asked))
        bar.advance()
    made = fitted.world.ratings
    scale = sorted({*real.rating.tolist()})
    found, of_world = _distributions(real, scale), _distributions(made, scale)
    rows = ([name, shown(value), shown(of_world[name])] for name, value in found.items())
    print_table(rows, "", "real", "world", title="Distributions")
    parts = [vars(part) for part in (fitted.wanted, fitted.reached, fitted.strengths)]
    rows = ([name, *(shown(part[name]) for part in parts)] for name in parts[-1])
    print_table(rows, "moment", "real", "world", "strength", title="What was fitted")
    if output is not None:
        write_whole(output / "world.csv", format_rating_lines(made))
        write_whole(output / "truth.npz", fitted.world.truth.to_bytes())
        click.echo(f"The world is in {output.resolve()}")


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
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def systems(names: tuple[str, ...], as_json: bool) -> None:
    """List the recommenders: name, family, settings, source. Of those named, all that is known."""
    from recommenders import find_system
    from recommenders import systems as all_systems

    specs = [find_system(name) for name in names] or list(all_systems().values())
    if as_json:
        facts = [spec.facts() for spec in specs]
        click.echo(json.dumps(facts, indent=1, ensure_ascii=False))
    elif names:
        for spec in specs:
            click.echo(f"{spec.name} ({spec.family}): {spec.summary}\n{spec.source}\n")
            print_table(_settings(spec), "setting", "default", "searched", "meaning")
    else:
        rows = ((s.name, s.family, "\n".join(_in_short(s)) or "none", s.source) for s in specs)
        print_table(rows, "name", "family", "settings (default; searched)", "source")


def _in_short(spec: SystemSpec) -> Iterator[str]:
    for name, default, place, _ in _settings(spec):
        yield f"{name} ({default}; {place})" if place else f"{name} ({default})"


def _settings(spec: SystemSpec) -> Iterator[tuple[str, str, str, str]]:
    """Give name, default, where `tune` searches, and meaning of every setting."""
    from recommenders import search_space

    space = search_space(spec.settings)
    for name, facts in spec.facts()["settings"].items():
        default = str(facts.get("default", "needed"))
        yield name, default, str(space.get(name, "")), facts.get("description", "")


@click.command(
    epilog="Settings that `harness systems` shows with a range are searched; the others stay as "
    "the study has them. Trial 0 has the defaults. The tables of trials are in the folder tuning "
    "of the study folder; started again, the search goes on from them."
)
@click.argument("study_file", metavar="STUDY.toml", type=PATH)
@click.argument("systems", metavar="[SYSTEM]...", nargs=-1)
@click.option(
    "--metric",
    default="nDCG@10",
    show_default=True,
    metavar="NAME",
    help="Measure to optimise; without a cut-off, at the depth of the study's lists.",
)
@choice(
    "--search",
    ["random", "tpe"],
    "Optuna's sampler: random draws, or TPE, which learns from the trials.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Trials of each system in all, earlier ones among them.",
)
@on_workers("Trials at once; default: all cores. Does not change results. TPE makes one at a time.")
@clustered
@click.option("--output", type=PATH, help="The study folder; study-NAME by default.")
@removed("--all", "without names, all systems that have a range are tuned.")
@removed("--minutes", "`--trials` sets the budget; a search that is stopped goes on later.")
@extensible
@quietly
def tune(
    study_file: Path,
    systems: tuple[str, ...],
    metric: str,
    search: Sampler,
    trials: int,
    n_jobs: int,
    dask: str | None,
    output: Path | None,
    plugins: tuple[Path, ...],
    progress: Progress,
) -> None:
    """Search the settings of SYSTEM..., by default of all systems of the study.

    Part of the training ratings is held out for validation, by the study's own way to split; its
    test ratings are not touched. Writes STUDY-tuned.toml, for `harness run`, and `harness compare`
    with the study as it is.

    The exit code is 0 if settings were found, 1 if all trials of a system failed, 2 for wrong
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
    with trained_on(dask, study.systems.names):
        found = search_settings(
            study, systems, metric=metric, sampler=search, progress=progress, **budget
        )
    failed = [tuned for tuned in found if tuned.best is None]
    for tuned in failed:
        finding = tuned.trials[0].finding
        click.echo(f"Failed: no trial of {tuned.label} worked; the first: {finding}", err=True)
    if failed:
        sys.exit(FAILED)
    write_tuned_study(study_file, target, found)
    click.echo(comparison(found))
    click.echo(f"The tuned study is {target.resolve()}")


@click.command(
    epilog="Save it, and begin a study file with '#:schema study.schema.json': editors then "
    "complete keys and mark what breaks a rule."
)
@extensible
@click.option("--experiment", is_flag=True, help="Of studies that begin with an experiment.")
def schema(plugins: tuple[Path, ...], experiment: bool) -> None:
    """Print a JSON schema of the study file, for editors."""
    from harness.study.schema import study_schema
    from harness.study.study import Study

    kind = imported("harness.online.experiment_file.ExperimentStudy")() if experiment else Study
    found = study_schema([path.resolve() for path in plugins], kind=kind)
    click.echo(json.dumps(found, indent=1, ensure_ascii=False))


def shown(value: Any) -> str:
    """Print a number with thousands apart, and at most four digits if it is not whole."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
