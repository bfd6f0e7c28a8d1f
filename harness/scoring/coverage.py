"""Whom and what each system serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.shared.result import Result, table
from analyses.shared.table import Table
from qrels import Qrels, match
from runs import Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Coverage(Result):
    """Counts of what systems recommend, the arrays of shape (n_systems,).

    Users are those in the qrels, of whom some have no list or a shorter one than the longest; items
    are the different ones that are recommended, and judged is the share of the recommendations that
    have a judgement.
    """

    systems: tuple[str, ...]
    n_users: int
    without_list: NDArray[np.intp]
    with_short_list: NDArray[np.intp]
    n_items: NDArray[np.intp]
    judged: NDArray[np.float64]

    @classmethod
    def of(cls, runs: Sequence[Run], qrels: Qrels) -> Coverage:
        """Count what runs recommend to the users of the qrels."""
        return cls(
            systems=tuple(run.system for run in runs),
            n_users=qrels.n_users,
            without_list=np.array([(run.lengths == 0).sum() for run in runs]),
            with_short_list=np.array([(run.lengths < run.depth).sum() for run in runs]),
            n_items=np.array(
                [np.count_nonzero(np.bincount(run.items[run.items >= 0])) for run in runs]
            ),
            judged=np.array(
                [(match(run, qrels) >= 0).sum() / max(run.lengths.sum(), 1) for run in runs]
            ),
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``coverage``: one row for each system."""
        import pandas as pd

        return {
            "coverage": pd.DataFrame(
                {
                    "system": self.systems,
                    "users": self.n_users,
                    "users_without_recommendations": self.without_list,
                    "users_with_short_lists": self.with_short_list,
                    "items_recommended": self.n_items,
                    "judged_share": self.judged,
                }
            )
        }

    def caption(self) -> str:
        """Say what the last column is."""
        return "The last column is the share of the recommendations with a judgement."

    @table("coverage", "what the systems recommend")
    def table(self) -> Table:
        """Tabulate what the systems recommend."""
        columns = (self.without_list, self.with_short_list, self.n_items, self.judged)
        return Table(
            name="coverage",
            title="What the systems recommend",
            note=self.caption(),
            headings=[
                "system",
                "users without list",
                "users with short list",
                "items recommended",
                "judged",
            ],
            rows=list(zip(self.systems, *(column.tolist() for column in columns), strict=True)),
        )
