"""``harness clicks``: compare the arms of an experiment from its logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import PATH, SEED, printable, quietly

if TYPE_CHECKING:
    from runs.shared.progress import Progress


@click.command(
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
def clicks(
    recommendations: Path,
    interactions: Path,
    format_: str,
    output: Path | None,
    progress: Progress,
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
    from analyses.online.clicks.click_question import question_of
    from analyses.online.clicks.click_study import study_log
    from analyses.shared.publish import PRINTED, write_results
    from runs.shared.files import write_whole

    found = study_log(
        recommendations,
        interactions,
        question_of(**asked),
        models=models,
        assignment=assignment,
        policy=policy,
        placebo=placebo,
        progress=progress,
    )
    results = {"clicks": found}
    if output is not None:
        write_results(results, output)
        said = "".join(f"{line}\n" for line in (*found.findings(), *found.cautions()))
        write_whole(output / "conclusion.txt", said.encode())
    text, red = PRINTED[format_](results), click.style(found.alarm, fg="red", bold=True)
    is_table = format_ == "table" and found.alarm
    click.echo(text.replace(found.alarm, red) if is_table else text, nl=False)
    for caution in found.cautions():
        click.echo(f"Caution: {caution}", err=True)
    if found.alarm and not is_table:
        click.echo(red, err=True)
