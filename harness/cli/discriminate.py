"""Discriminative power from tables of scores: printed, and kept in a folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyses.discrimination import Discrimination, discriminate
from analyses.shared import publish as publishing
from analyses.shared.measure import Measure, Scores
from analyses.shared.table import Cell, Table, shown
from analyses.significance.question import Question
from runs.shared.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

FIGURE = "pvalues_metrics"


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
    >>> common_cutoff([Measure("ap"), Measure("P", 5), Measure("P", 10), Measure("RR", 10)])
    10
    """
    counts = Counter(measure.cutoff for measure in measures)
    return max(counts, key=lambda cutoff: (counts[cutoff], cutoff is None, cutoff or 0))


def _tabulated(result: Discrimination) -> Table:
    """Make a row for each measure; columns that nothing is known of are left out."""
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
