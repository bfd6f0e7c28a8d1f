"""``harness world``: make a world like real ratings, and say how like it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import printed_table, shown
from harness.cli.describe import reads_ratings
from harness.cli.options import (
    PATH,
    SettingsCommand,
    given,
    imported,
    quietly,
    removed,
    settings_options,
)

if TYPE_CHECKING:
    from qrels import Ratings
    from runs.shared.progress import Progress

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


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
    with printed_table("", "real", "world", title="Distributions") as add:
        for name, value in found.items():
            add(name, shown(value), shown(of_world[name]))
    with printed_table("moment", "real", "world", "strength", title="What was fitted") as add:
        for name, strength in vars(fitted.strengths).items():
            moments = (getattr(part, name) for part in (fitted.wanted, fitted.reached))
            add(name, *map(shown, (*moments, strength)))
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
