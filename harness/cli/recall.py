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
    printable,
    quietly,
    removed,
    settings_options,
    workers,
)

if TYPE_CHECKING:
    from runs.shared.progress import Progress

QUESTION = imported("harness.recall.RecallQuestion")


DISK = "logs of any size are read through DuckDB, whose temporary files lie in --output."


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
    metavar="MODEL",
    help="item-cosines (default): item neighbours by common users; als-knn: by learned factors, "
    "which needs implicit. With a name and settings: few=item-cosines:neighbours=5. May be "
    "repeated.",
)
@click.option(
    "--ranks",
    "rank_table",
    type=PATH,
    help="Ranks made elsewhere, in place of a model: a table user, item, time, rank_loo, "
    "rank_lloo; an empty rank is a miss. Or ranks.parquet of an earlier --output.",
)
@settings_options(QUESTION, names={"weights": "--weights"})
@removed("--set", "write settings behind the model: --model als-knn:factors=64.")
@removed("--clip", "take a smaller exponent (--beta).")
@removed("--popularity", "it counts events.")
@removed("--robots", "leave out such users before the log is read.")
@removed("--shards", DISK)
@removed("--scratch", DISK)
@removed("--lists", "coverage of items is in [analyses.exposure] of a study.")
@clustered
@workers
@printable
@click.option("--output", type=PATH, help="Folder for values, figures, captions and ranks.")
@quietly
def recall(
    interactions: Path,
    models: tuple[str, ...],
    rank_table: Path | None,
    dask: str | None,
    n_jobs: int,
    format_: str,
    output: Path | None,
    progress: Progress,
    **asked: Any,
) -> None:
    """Measure how many hidden items a model finds, for every popularity exponent.

    A share of the users is tested: each of their items is hidden from the model, one at a time
    (LOO), or with all that came later (LLOO), and its weight is its popularity to the power of
    minus beta. The other users train the model.
    """
    from harness.recall import measure_models, measure_ranks
    from runs import InputError

    question = given(QUESTION(), asked)
    common: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    if rank_table is None:
        own: dict[str, Any] = {"dask": dask, "folder": output}
        models = models or ("item-cosines",)
        result = measure_models(interactions, question, models=models, **own, **common)
    else:
        ignored = {"--model": models, "--dask": dask}
        for option, value in ignored.items():
            if value:
                raise InputError(f"with --ranks nothing is trained or ranked; leave out {option}.")
        result = measure_ranks(interactions, rank_table, question, **common)
    publish({"recall": result}, format_, output)
    if output is not None:
        result.write_ranks(output)
    for remark in (*result.cautions(), result.caption()):
        click.echo(remark, err=True)
