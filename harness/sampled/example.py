"""The example of Krichene & Rendle (2020): tables 1 and 2, figures 1 to 4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from analyses.sampled.estimators import bv, cls
from analyses.sampled.example import METRICS, N_CANDIDATES, ToyTable, toy_consistency, toy_table
from analyses.sampled.expectation.crossings import DECIMALS, Consistency, print_ordering
from analyses.sampled.expectation.curves import (
    RankCurves,
    corrected_curves,
    expectation_curves,
    metric_curves,
)
from analyses.sampled.samples.sampled_ranks import SampledRanks
from analyses.shared.publish import as_latex, write_figure
from analyses.shared.table import Cell, Table, shown
from runs import InputError
from runs.shared.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOP = 100
SHOWN = 20
"""Ranks in the sample that figure 4 shows; below them, next to nothing is corrected."""

SAMPLE_SIZES = (10, 50, 100, 500, 1000)
CLOSE = 1000
"""The last rank of figure 3."""

CORRECTED, GAMMAS, NEGATIVES = "AP", (1.0, 0.1, 0.01, 0.001), 100
"""What figure 4 corrects, with which trade-offs, from how many negatives."""


@dataclass(frozen=True)
class Picture:
    """A figure of the example.

    Parameters
    ----------
    caption
        What it shows.
    panels
        What draws each panel, by its title.
    """

    caption: str
    panels: Mapping[str, Callable[[Axes], Axes]]

    def draw(self) -> Figure:
        """Draw the panels."""
        from analyses.shared.figures import panels_of

        return panels_of(self.panels)


def example_tables(*, seed: int) -> tuple[Table, Table]:
    """Make tables 1 and 2, and the orders of the three lists by the size of the sample."""
    return _metrics_table(toy_table(seed=seed)), _orders_table(_consistency())


@cache
def _consistency() -> Mapping[str, Consistency]:
    return toy_consistency()


def _metrics_table(found: ToyTable) -> Table:
    spreads = np.round(found.simulated_sd, DECIMALS)
    rows: list[list[Cell]] = [
        [
            f"{metric}, {system}",
            float(found.exact[m, s]),
            f"{shown(float(found.expected[m, s]))} ± {shown(float(found.sd[m, s]))}",
            f"{shown(float(found.simulated[m, s]))} ± {shown(float(spreads[m, s]))}",
        ]
        for m, metric in enumerate(found.metrics)
        for s, system in enumerate(found.systems)
    ]
    return Table(
        name="example",
        title="Exact metrics, and what sampling makes of them",
        note=found.caption(),
        headings=["metric, system", "exact", "expected", "simulated"],
        rows=rows,
        best={},
    )


def _orders_table(found: Mapping[str, Consistency]) -> Table:
    rows: list[list[Cell]] = [
        [metric, print_ordering(ordering), start]
        for metric, consistency in found.items()
        for start, ordering in consistency.orderings
    ]
    return Table(
        name="example_orders",
        title="From how many negatives on the sampled metric is expected to order the lists how",
        note="The last order of each metric is the exact one.",
        headings=["metric", "order", "from m ="],
        rows=rows,
        best={},
    )


def example_pictures() -> dict[str, Picture]:
    """Give figures 1 to 4 by name."""
    consistency = _consistency()
    expected = {name: _expectations(name) for name in METRICS}
    given, corrected = _corrections()
    return {
        "example_metrics": Picture(
            f"Metrics against the rank of the relevant item among {N_CANDIDATES:,} candidates: all "
            f"ranks, and the first {TOP}.",
            {
                "all ranks": metric_curves(METRICS, n=N_CANDIDATES).plot,
                f"the first {TOP}": metric_curves(METRICS, n=N_CANDIDATES, upto=TOP).plot,
            },
        ),
        "example_sizes": Picture(
            " ".join(each.caption() for each in consistency.values()),
            {name: each.plot for name, each in consistency.items()},
        ),
        "example_expectations": Picture(
            f"Expected metric among m negatives, sampled with replacement, against the true rank "
            f"among {N_CANDIDATES:,}: the more negatives, the closer to the exact metric.",
            {name: curves.plot for name, curves in expected.items()},
        ),
        "example_corrections": Picture(
            f"{CORRECTED} among {N_CANDIDATES:,}, corrected from {NEGATIVES} negatives: what each "
            "rank in the sample counts, and what is expected of it by true rank.",
            {
                f"the first {SHOWN} ranks in the sample": given.first(SHOWN).plot,
                "true ranks": corrected.plot,
            },
        ),
    }


def _expectations(metric: str) -> RankCurves:
    return expectation_curves(metric, n=N_CANDIDATES, negatives=SAMPLE_SIZES, upto=CLOSE)


def _corrections() -> tuple[RankCurves, RankCurves]:
    sample = SampledRanks.of([1], n_negatives=NEGATIVES, n_candidates=N_CANDIDATES)
    estimators = [*(bv(gamma) for gamma in GAMMAS), cls(nonnegative=True)]
    corrected = {str(each): each.fit(sample).corrected(CORRECTED) for each in estimators}
    return corrected_curves(CORRECTED, corrected, n=N_CANDIDATES, upto=CLOSE)


def show_example(format_: str, *, seed: int, output: Path | None) -> str:
    """Print the tables in a format of the command line, and write all into a folder, if asked.

    Raises
    ------
    InputError
        If both tables are to be one.
    """
    if format_ in ("csv", "json"):
        raise InputError(f"the example is two tables: print it as table or latex, not {format_}.")
    tables = example_tables(seed=seed)
    if output is not None:
        for table in tables:
            write_whole(output / f"{table.name}.csv", table.to_csv().encode())
        for name, picture in example_pictures().items():
            write_figure(picture.draw(), output, name, picture.caption)
    return as_latex(tables) if format_ == "latex" else "\n".join(t.to_text() for t in tables)
