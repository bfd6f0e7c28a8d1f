"""``harness discriminate``: discriminative power from tables of scores."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import (
    PATH,
    SEED,
    SettingsCommand,
    given,
    printable,
    quietly,
    settings_options,
    workers,
)

if TYPE_CHECKING:
    import pandas as pd

    from analyses.discrimination import Discrimination
    from analyses.shared.measure import Measure, Scores
    from analyses.shared.table import Table
    from analyses.significance.question import Question
    from harness.study.study import DiscriminationSection
    from runs.shared.progress import Progress

FIGURE = "pvalues_metrics"


def _settings() -> type[DiscriminationSection]:
    from harness.study.study import DiscriminationSection

    return DiscriminationSection


@click.command(
    cls=SettingsCommand,
    epilog="A table has a column for every system and a row for every topic; the first column may "
    "hold the ids of the topics. Its measure is named by the file: ap.csv, nDCG@10.tsv. All tables "
    "have the same systems and topics.",
)
@click.argument("tables", metavar="SCORES.csv...", nargs=-1, required=True, type=PATH)
@settings_options(_settings)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of all draws.")
@workers
@printable
@click.option("--output", type=PATH, help="A folder for p-values, summary, figure and caption.")
@quietly
def discriminate(
    tables: tuple[Path, ...],
    seed: int,
    jobs: int | None,
    format_: str,
    output: Path | None,
    quiet: bool,
    **asked: Any,
) -> None:
    """Say how surely measures tell systems apart, from tables of per-topic scores.

    Every pair of systems is tested for every measure. Measures are printed in the order of their
    discriminative power (DP, the sum of the p-values), the most discriminative first. In place of
    tables, the folder of a finished study may be named.
    """
    from joblib import cpu_count

    from harness.readers.scores import read_score_tables
    from runs.shared.progress import watched

    settings = given(_settings(), asked)
    result = discriminate_scores(
        read_score_tables(tables),
        settings.question(seed=seed),
        replicates=settings.replicates,
        n_jobs=jobs or cpu_count(),
        progress=watched(quiet=quiet),
    )
    if output is not None:
        write_files(result, output)
    click.echo(FORMATS[format_](result), nl=False)
    for caution in result.cautions():
        click.echo(f"Caution: {caution}", err=True)


def discriminate_scores(
    scores: Scores, question: Question, *, replicates: int, n_jobs: int, progress: Progress
) -> Discrimination:
    """Test pairs of systems, and show how far it is.

    Parameters
    ----------
    scores
        Per-topic scores.
    question
        Test, correction and pairs.
    replicates
        Resamples of the topics for intervals; 0 for none.
    n_jobs
        Threads; results do not depend on it.
    progress
        Shows what is being done.
    """
    from analyses.discrimination import discriminate

    steps = question.n_steps(len(scores.measures))
    with progress("Testing pairs of systems", steps) as bar:
        return discriminate(
            scores, question, replicates=replicates, n_jobs=n_jobs, advance=bar.advance
        )


def ranked_summary(result: Discrimination) -> pd.DataFrame:
    """Give the summary of every measure, the most discriminative first."""
    return result.summary().sort_values("dp", kind="stable", ignore_index=True)


def as_table(result: Discrimination) -> str:
    """Print the ranking in aligned columns, rounded."""
    return _tabulated(result).to_columns()


def as_csv(result: Discrimination) -> str:
    """Print the ranking with every column, in full precision."""
    from analyses.shared import publish as publishing

    return publishing.as_csv(ranked_summary(result))


def as_json(result: Discrimination) -> str:
    """Print what was asked, and the ranking in full precision; null where nothing is known."""
    document = {
        "test": result.test,
        "correction": result.correction,
        "alpha": result.alpha,
        "baseline": result.baseline,
        "systems": len(result.systems),
        "pairs": len(result.pairs),
        "topics": result.n_users,
        "replicates": result.powers.shape[1],
        "seed": result.seed,
        "measures": [_known(row) for row in ranked_summary(result).to_dict("records")],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_latex(result: Discrimination) -> str:
    """Print the ranking for a paper; see `Table.to_latex`."""
    return _tabulated(result).to_latex()


FORMATS: Mapping[str, Callable[[Discrimination], str]] = {
    "table": as_table,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}


def write_files(result: Discrimination, folder: Path) -> None:
    """Write tables, and the p-value curves with their caption.

    The curves are those of the place (a cut-off, or whole lists) with most measures.
    """
    from analyses.shared import publish as publishing
    from analyses.shared.figures import panel_at

    tables = {"pvalues": result.to_frame(), "discrimination": ranked_summary(result)}
    place = common_cutoff(result.measures)
    if result.powers.shape[1] > 1:
        tables["power_differences"] = result.power_differences()
    publishing.write_frames(tables, folder)
    caption = result.caption(cutoff=place)
    publishing.write_figure(panel_at(result, place), folder, FIGURE, caption)


def common_cutoff(measures: Sequence[Measure]) -> int | None:
    """Find the cut-off with most measures, the deepest of several; None stands for whole lists.

    Examples
    --------
    >>> from analyses.shared.measure import Measure
    >>> common_cutoff([Measure("ap"), Measure("P", 5), Measure("P", 10), Measure("RR", 10)])
    10
    """
    counts = Counter(measure.cutoff for measure in measures)
    return max(counts, key=lambda cutoff: (counts[cutoff], cutoff is None, cutoff or 0))


def _tabulated(result: Discrimination) -> Table:
    """Make a row for each measure; columns that nothing is known of are left out."""
    from analyses.shared.measure import Measure
    from analyses.shared.table import Cell, Table, shown

    summary = ranked_summary(result)
    columns: dict[str, Iterable[Cell]] = {
        "measure": [str(Measure(*row)) for row in summary[["metric", "cutoff"]].to_numpy()],
        "DP": [shown(dp, decimals=2) for dp in summary["dp"]],
    }
    if summary["dp_low"].notna().all():
        ends = zip(summary["dp_low"], summary["dp_high"], strict=True)
        columns["95 % interval"] = [
            " to ".join(shown(end, decimals=2) for end in pair) for pair in ends
        ]
    columns["DP/pair"] = summary["dp_mean"]
    columns["median p"] = summary["median_p"]
    columns["p < .05"] = summary["significant_05"]
    if "significant_adjusted" in summary:
        columns[f"adjusted p ≤ {result.alpha:g}"] = summary["significant_adjusted"]
    if summary["required_max"].notna().any():
        columns[f"required at {result.alpha:g}"] = summary["required_max"]
    return Table(
        name="discrimination",
        title="Discriminative power",
        note=result.caption(),
        headings=list(columns),
        rows=list(zip(*columns.values(), strict=True)),
        best={},
    )


def _known(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): None if value != value else value for name, value in row.items()}
