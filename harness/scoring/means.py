"""Mean scores of the systems, by every measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.result import Result, table
from analyses.shared.table import Best, Table, shown
from harness.metrics.shared.metric import Metric
from harness.scoring.user_weights import Average

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Means(Result):
    """Means over users, as each metric asks for them: arithmetic or geometric.

    Values, and deviations, the standard deviations over users (NaN for a single one), are of shape
    (n_measures, n_systems). Where users are weighted, both are of weighted scores.
    """

    measures: Measures
    systems: tuple[str, ...]
    values: NDArray[np.float64]
    deviations: NDArray[np.float64]
    n_users: int
    average: Average = "users"

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
        """Give ``means``: columns system, metric, cutoff, mean, sd, users."""
        import pandas as pd

        n_measures, n_systems = self.values.shape
        return {
            "means": pd.DataFrame(
                {
                    "system": np.repeat(self.systems, n_measures),
                    "metric": np.tile([m.metric for m in self.measures], n_systems),
                    "cutoff": np.tile(self.measures.column, n_systems),
                    "mean": self.values.T.ravel(),
                    "sd": self.deviations.T.ravel(),
                    "users": self.n_users,
                }
            )
        }

    def caption(self) -> str:
        """Say over whom the means are."""
        if self.average == "judgements":
            return "Means over users, each weighted by the number of the user's relevant items."
        return "Means over all users in the qrels, as with trec_eval -c."

    def about(self, measure: Measure) -> Mapping[str, str]:
        """Give the mean scores of the systems."""
        values = self.values[self.measures.index(measure)].tolist()
        return dict(zip(self.systems, map(shown, values), strict=True))

    @table("means", "mean score of every system by every metric", alias="table2")
    def table(self, *, cutoff: int | None = None) -> Table:
        """Tabulate the mean score of every system by every metric: Table 2."""
        compared = self.measures.compared(cutoff)
        numbered = list(zip(compared.labels, self.measures.numbers(compared), strict=True))
        cells = {
            (system, label): float(self.values[number, column])
            for column, system in enumerate(self.systems)
            for label, number in numbered
        }

        def best(label: str) -> Best:
            return min if compared.called(label).metric in compared.falling else max

        title = f"Mean scores{compared.where}"
        return Table.crossed("means", title, self.caption(), "system", cells, best=best)
