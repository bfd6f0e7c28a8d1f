"""Discriminative power from tables of scores: printed, and kept in a folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyses.discrimination import Discrimination, discriminate
from analyses.measure import Measure, Scores
from analyses.significance import Question
from harness.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

FIGURE = "pvalues_metrics"
SMALLEST = 5e-5


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
    rows = _cells(result)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        [
            row[0].ljust(widths[0]),
            *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)),
        ]
        for row in rows
    ]
    return "".join("  ".join(line).rstrip() + "\n" for line in lines)


def as_csv(result: Discrimination) -> str:
    """Print the ranking with every column, in full precision."""
    return ranked_summary(result).to_csv(index=False, lineterminator="\n")


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
    r"""Print the ranking as a tabular of the booktabs package, its caption as a comment."""
    head, *body = [[_escaped(cell) for cell in row] for row in _cells(result)]
    lines = [
        f"% {result.caption()}",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        _latex_row(head),
        r"\midrule",
        *map(_latex_row, body),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


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
    from harness.figures import as_png, as_svg, panel_at
    from runs.files import write_whole

    tables = {"pvalues": result.to_frame(), "discrimination": ranked_summary(result)}
    place = common_cutoff(result.measures)
    if result.powers.shape[1] > 1:
        tables["power_differences"] = result.power_differences()
    for name, frame in tables.items():
        content = frame.to_csv(index=False, lineterminator="\n")
        write_whole(folder / f"{name}.csv", content.encode())
    figure = panel_at(result, place)
    write_whole(folder / f"{FIGURE}.svg", as_svg(figure))
    write_whole(folder / f"{FIGURE}.png", as_png(figure))
    write_whole(folder / f"{FIGURE}.txt", (result.caption(cutoff=place) + "\n").encode())


def common_cutoff(measures: Sequence[Measure]) -> int | None:
    """Find the cut-off with most measures, the deepest of several; None stands for whole lists.

    Examples
    --------
    >>> common_cutoff([Measure("ap"), Measure("P", 5), Measure("P", 10), Measure("RR", 10)])
    10
    """
    counts = Counter(measure.cutoff for measure in measures)
    return max(counts, key=lambda cutoff: (counts[cutoff], cutoff is None, cutoff or 0))


def _cells(result: Discrimination) -> list[list[str]]:
    """Give headings, then a row for each measure; columns that nothing is known of are left out."""
    summary = ranked_summary(result)
    columns: dict[str, list[str]] = {
        "measure": [str(Measure(*row)) for row in summary[["metric", "cutoff"]].to_numpy()],
        "DP": _numbers(summary["dp"], decimals=2),
    }
    if summary["dp_low"].notna().all():
        ends = zip(summary["dp_low"], summary["dp_high"], strict=True)
        columns["95 % interval"] = [f"{low:.2f} to {high:.2f}" for low, high in ends]
    columns["DP/pair"] = _numbers(summary["dp_mean"])
    columns["median p"] = _numbers(summary["median_p"])
    columns["p < .05"] = _numbers(summary["significant_05"])
    if "significant_adjusted" in summary:
        columns[f"adjusted p <= {result.alpha:g}"] = _numbers(summary["significant_adjusted"])
    if summary["required_max"].notna().any():
        columns[f"required at {result.alpha:g}"] = _numbers(summary["required_max"])
    return [list(columns), *map(list, zip(*columns.values(), strict=True))]


def _numbers(column: pd.Series[float], *, decimals: int = 4) -> list[str]:
    return [
        f"{value:.{decimals}f}" if value == 0 or abs(value) >= SMALLEST else f"{value:.0e}"
        for value in column
    ]


def _known(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): None if value != value else value for name, value in row.items()}


def _escaped(text: str) -> str:
    r"""Write text as LaTeX.

    Examples
    --------
    >>> print(_escaped("95 % interval"), _escaped("p < .05"))
    95 \% interval p $<$ .05
    """
    for plain, latex in (
        *((sign, rf"\{sign}") for sign in "&%#_"),
        ("<=", r"$\le$"),
        ("<", "$<$"),
    ):
        text = text.replace(plain, latex)
    return text


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
