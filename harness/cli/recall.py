"""``harness recall``: measure how many hidden items a model finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import PATH, SEED, clustered, printable, quietly, workers


@click.command(
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

    from harness.recall.measure import measure, question_of
    from harness.recall.recall_files import FORMATS, write_files
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
