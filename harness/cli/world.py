"""``harness world``: make a world like real ratings, and say how like it is."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from harness.cli.describe import reads_ratings
from harness.cli.options import (
    PATH,
    SettingsCommand,
    given,
    imported,
    quietly,
    settings_options,
    workers,
)

if TYPE_CHECKING:
    from runs.shared.progress import Progress

SEED_OF_STUDIES = 20261121


@click.command(cls=SettingsCommand)
@click.option("--like", type=PATH, required=True, help="The ratings that the world is fitted to.")
@click.option(
    "--output",
    type=PATH,
    help="A new folder for the world's ratings (world.csv), its truth (truth.npz), the real "
    "ratings and a study of each.",
)
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    help="A system that is compared; ten cheap ones by default. May be repeated.",
)
@settings_options(imported("qrels.ratings.world.LikeSettings"))
@reads_ratings
@workers
@quietly
def world(
    like: Path,
    output: Path | None,
    systems: tuple[str, ...],
    n_jobs: int,
    progress: Progress,
    **asked: Any,
) -> None:
    """Fit a simulated world to ratings, and print how like it is.

    Distributions, what was fitted, the systems' levels and ordering, and what a small study of
    robustness and power concludes, beside the same of the real ratings.
    """
    from harness.study.inputs import kept_ratings, threshold_of
    from harness.study.likeness import SYSTEMS, Likeness, distributions, fitted_moments
    from harness.study.sections import usual_split
    from harness.study.study import RatingsSection
    from qrels.ratings.world import LikeSettings, fit_world
    from runs import InputError
    from runs.shared.files import write_whole

    if output is not None and output.exists():
        raise InputError(f"{output}: there is such a file or folder; --output names a new one.")
    section = given(RatingsSection, {"path": like, **asked})
    settings = given(LikeSettings, asked)
    real = kept_ratings(section, usual_split())
    threshold = threshold_of(section, real, tested=real)
    with progress("Fitting a world", 1) as bar:
        fitted = fit_world(real, settings)
        bar.advance()
    made = fitted.world.ratings
    for table in (distributions(real, made), fitted_moments(fitted)):
        click.echo(table.to_text())
    with _folder(output) as folder:
        likeness = Likeness.of(
            (real, made),
            Path(folder),
            systems=systems or SYSTEMS,
            threshold=threshold,
            seed=SEED_OF_STUDIES,
            n_jobs=n_jobs,
            progress=progress,
        )
        for table in likeness.tables():
            click.echo(table.to_text())
        for finding in likeness.comparison.findings():
            click.echo(f"{finding}\n")
        if output is not None:
            write_whole(output / "truth.npz", fitted.world.truth.to_bytes())
            click.echo(f"The world is in {output.resolve()}")


def _folder(output: Path | None) -> AbstractContextManager[str | Path]:
    """Give the folder asked for, or one that goes when it is left."""
    return TemporaryDirectory() if output is None else nullcontext(output)
