"""``harness recall``: measure how many hidden items a model finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import publish
from harness.cli.options import (
    PATH,
    SettingsCommand,
    clustered,
    given,
    imported,
    kept_apart,
    printable,
    quietly,
    settings_options,
    sharded,
    workers,
)

if TYPE_CHECKING:
    from runs.shared.progress import Progress

QUESTION = imported("harness.recall.recall_question.RecallQuestion")


@click.command(
    cls=SettingsCommand,
    epilog="INTERACTIONS has the columns time (milliseconds since 1970 in UTC, or timestamps with "
    "a zone), user and item, and value or type (view, cart, bookmark, purchase) if there are any.",
)
@click.argument("interactions", type=PATH)
@click.option(
    "--model",
    "models",
    multiple=True,
    default=["item-cosines"],
    metavar="MODEL",
    help="item-cosines (the default): item neighbours by common users; als-knn: by learned "
    "factors, which needs implicit. With settings and a name of yours: "
    "few=item-cosines:neighbours=5. Several are measured in one reading.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the model, or of all models.",
)
@click.option(
    "--ranks",
    "rank_table",
    type=PATH,
    help="In place of a model: a table user, item, time, rank_loo, rank_lloo; an empty rank is a "
    "miss. Or ranks.parquet of an earlier --output.",
)
@settings_options(QUESTION, names={"weights": "--weights"})
@sharded
@kept_apart
@clustered
@workers
@printable
@click.option("--output", type=PATH, help="A folder for values, figures, captions and ranks.")
@quietly
def recall(
    interactions: Path,
    models: tuple[str, ...],
    settings: tuple[str, ...],
    rank_table: Path | None,
    shards: int | None,
    scratch: Path | None,
    dask: str | None,
    n_jobs: int,
    format_: str,
    output: Path | None,
    progress: Progress,
    **asked: Any,
) -> None:
    """Measure how many hidden items a model finds, for every popularity exponent.

    A share of the users is tested: each of their items is hidden from the model, one at a time
    (LOO), or with all that came later (LLOO), and counts the more the rarer it is: by its
    popularity to the power of minus beta. The others train the model.
    """
    from harness.recall.measure import measure
    from harness.recall.measured_recalls import MeasuredRecalls
    from qrels.interactions.shards import Reading

    result = measure(
        interactions,
        given(QUESTION(), asked),
        rank_table=rank_table,
        models=models,
        settings=settings,
        reading=Reading(shards, scratch, dask, n_jobs),
        progress=progress,
    )
    publish({"recall": result}, format_, output)
    if output is not None and isinstance(result, MeasuredRecalls):
        result.write_ranks(output)
    for remark in (*result.cautions(), result.caption()):
        click.echo(remark, err=True)
