"""Mean scores of the systems, by every measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.result import Result, table
from analyses.shared.table import Best, Table, shown
from harness.metrics.shared.metric import Metric
from harness.scoring.user_weights import Average

if TYPE_CHECKING:
    import pandas as pd


SPREAD = "± "
"""What the heading begins with of a column of standard deviations over replicates."""


@dataclass(frozen=True, eq=False)
class Means(Result):
    """Means over users, as each metric asks for them: arithmetic or geometric.

    Values, and deviations, the standard deviations over users (NaN for a single one), are of shape
    (n_measures, n_systems). Where users are weighted, both are of weighted scores. Where there are
    several runs of a system, sizes count them, and spreads are the standard deviations of their
    means, of shape (n_measures, n_systems): see `harness.scoring.replicated.spread`.
    """

    measures: Measures
    systems: tuple[str, ...]
    values: NDArray[np.float64]
    deviations: NDArray[np.float64]
    n_users: int
    average: Average = "users"
    sizes: NDArray[np.intp] | None = None
    spreads: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls, scores: Scores, metrics: Mapping[str, Metric], *, average: Average = "users"
    ) -> Means:
        """Average scores over users; they are weighted already if means are over judgements."""
        shape = scores.values.shape[:2]
        one = len(scores.users) < 2
        means = [
            metrics[measure.metric].average(values)
            for measure, values in zip(scores.measures, scores.values, strict=True)
        ]
        return cls(
            measures=scores.measures,
            systems=scores.systems,
            values=np.array(means),
            deviations=np.full(shape, np.nan) if one else scores.values.std(axis=2, ddof=1),
            n_users=len(scores.users),
            average=average,
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``means``: columns system, metric, cutoff, mean, sd, users.

        Where there are several runs of a system: replicates, sd_replicates, too.
        """
        import pandas as pd

        n_measures, n_systems = self.values.shape
        columns: dict[str, Any] = {
            "system": np.repeat(self.systems, n_measures),
            "metric": np.tile([m.metric for m in self.measures], n_systems),
            "cutoff": np.tile(self.measures.column, n_systems),
            "mean": self.values.T.ravel(),
            "sd": self.deviations.T.ravel(),
            "users": self.n_users,
        }
        if self.sizes is not None and self.spreads is not None:
            columns["replicates"] = np.repeat(self.sizes, n_measures)
            columns["sd_replicates"] = self.spreads.T.ravel()
        return {"means": pd.DataFrame(columns)}

    def caption(self) -> str:
        """Say over whom the means are."""
        over = "all users in the qrels, as with trec_eval -c"
        if self.average == "judgements":
            over = "users, each weighted by the number of the user's relevant items"
        if self.sizes is None:
            return f"Means over {over}."
        few, many = self.sizes.min(), self.sizes.max()
        runs = f"{many}" if few == many else f"{few} to {many}"
        return (
            f"Means over {over}, and over {runs} runs of each system. Behind ±: the standard "
            "deviation of these runs' means, over users for whom all of them rank."
        )

    def about(self, measure: Measure) -> Mapping[str, str]:
        """Give the mean scores of the systems."""
        values = self.values[self.measures.index(measure)].tolist()
        return dict(zip(self.systems, map(shown, values), strict=True))

    @table("means", "mean score of every system by every metric", alias="table2")
    def table(self, *, cutoff: int | None = None) -> Table:
        """Tabulate the mean score of every system by every metric: Table 2."""
        compared = self.measures.compared(cutoff)
        numbered = list(zip(compared.labels, self.measures.numbers(compared), strict=True))
        shown_of = {"": self.values} | ({} if self.spreads is None else {SPREAD: self.spreads})
        cells = {
            (system, f"{of}{label}"): float(values[number, column])
            for column, system in enumerate(self.systems)
            for label, number in numbered
            for of, values in shown_of.items()
        }

        def best(label: str) -> Best | None:
            if label.startswith(SPREAD):
                return None
            return min if compared.called(label).metric in compared.falling else max

        title = f"Mean scores{compared.where}"
        return Table.crossed("means", title, self.caption(), "system", cells, best=best)
