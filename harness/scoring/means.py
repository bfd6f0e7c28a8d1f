"""Means of scores over users and over runs of a system; and what the systems cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from analyses.shared.measure import Measures
from analyses.shared.result import Result, table
from analyses.shared.scores import RunDeviations, Scores
from analyses.shared.table import Table, frame_table
from harness.metrics.shared.metric import Metric
from qrels import Qrels, match
from runs import Run
from runs.replicates import Replicates
from runs.shared.arrays import Floats, Numbers
from runs.shared.errors import counted

if TYPE_CHECKING:
    import pandas as pd


Average = Literal["users", "judgements"]
"""What a mean is taken over: users, or their relevant items."""


def user_weights(qrels: Qrels, average: Average) -> Floats | None:
    r"""Weigh users as a mean asks for it, of shape (n_users,); None if all weigh the same.

    A mean over judgements takes each user as often as the user has relevant items,
    :math:`v_u`: the weighted mean :math:`\sum_u v_u x_u / \sum_u v_u` is the plain mean of
    :math:`w_u x_u` with :math:`w_u = v_u / \bar v`, the weights, whose mean is 1.

    References
    ----------
    Cañamares, Castells & Moffat (2020), Offline evaluation options for recommender systems.
    """
    if average == "users":
        return None
    volumes = qrels.count_by_user(qrels.relevant)
    return np.asarray(volumes / volumes.mean())


def averaged(scores: Scores, replicates: Replicates | None) -> Scores:
    """Average scores of runs over those of each system, and keep what runs differ by.

    Without replicates scores are left as they are.
    """
    if replicates is None:
        return scores
    values = replicates.mean(scores.values)
    runs = deviations(scores, replicates)
    return replace(scores, values=values, systems=replicates.systems, runs=runs)


def deviations(scores: Scores, replicates: Replicates) -> RunDeviations:
    """Give what runs differ by from their systems, in means over users for whom all of them rank.

    Scores are of runs, in place of systems.
    """
    values = scores.weighted_values
    found = np.zeros(values.shape[:2])
    for system in range(len(replicates.systems)):
        users, own = replicates.users_of_all_runs(system), replicates.system_numbers == system
        if users.any() and own.sum() > 1:
            means = values[:, own][..., users].mean(axis=2)
            found[:, own] = means - means.mean(axis=1, keepdims=True)
    complete = [
        replicates.users_of_all_runs(system).all() for system in range(len(replicates.systems))
    ]
    return RunDeviations(found, replicates.system_numbers, np.array(complete))


def spread(scores: Scores, replicates: Replicates, metrics: Mapping[str, Metric]) -> Floats:
    """Give the standard deviation of the mean scores of each system's runs.

    Scores are of runs, in place of systems. Means are over the users whom all runs of the system
    rank for, so that they differ by the runs alone. The result is of shape (n_measures, n_systems),
    NaN for a single run, and where there are no such users.
    """
    found = np.full((len(scores.measures), len(replicates.systems)), np.nan)
    for system in np.flatnonzero(replicates.runs_per_system() > 1).tolist():
        users = replicates.users_of_all_runs(system)
        if not users.any():
            continue
        runs = scores.weighted_values[:, replicates.system_numbers == system][..., users]
        for number, measure in enumerate(scores.measures):
            found[number, system] = metrics[measure.metric].average(runs[number]).std(ddof=1)
    return found


SPREAD = "± "
"""What the heading begins with of a column of standard deviations over replicates."""


@dataclass(frozen=True, eq=False)
class Means(Result):
    """Mean scores over users, arithmetic or geometric, as each metric asks.

    Values, and deviations, the standard deviations over users (NaN for a single one), are of shape
    (n_measures, n_systems). Where users are weighted, both are of weighted scores. Where there are
    several runs of a system, sizes count them, and spreads are the standard deviations of their
    means, of shape (n_measures, n_systems): see `harness.scoring.means.spread`.
    """

    measures: Measures
    systems: tuple[str, ...]
    values: Floats
    deviations: Floats
    n_users: int
    average: Average = "users"
    sizes: Numbers | None = None
    spreads: Floats | None = None

    @classmethod
    def of(
        cls, scores: Scores, metrics: Mapping[str, Metric], *, average: Average = "users"
    ) -> Means:
        """Average scores over users."""
        by_measure = scores.weighted_values
        means = [
            metrics[measure.metric].average(values)
            for measure, values in zip(scores.measures, by_measure, strict=True)
        ]
        standard_deviations = np.full(by_measure.shape[:2], np.nan)
        if len(scores.users) > 1:
            standard_deviations = by_measure.std(axis=2, ddof=1)
        return cls(
            measures=scores.measures,
            systems=scores.systems,
            values=np.array(means),
            deviations=standard_deviations,
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
            "cutoff": np.tile(self.measures.cutoff_column, n_systems),
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
        over = f"all {counted(self.n_users, self.unit)} with judgements (0 without recommendations)"
        if self.average == "judgements":
            over = f"{counted(self.n_users, self.unit)}, weighted by their number of relevant items"
        if self.sizes is None:
            return f"Mean scores over {over}."
        few, many = self.sizes.min(), self.sizes.max()
        runs = f"{many}" if few == many else f"{few} to {many}"
        return (
            f"Mean scores over {over}, and over {runs} runs of each system. Columns with ±: "
            f"standard deviation over these runs, for the {self.units} that all of them rank for."
        )

    @table("means", "mean score of each system by each measure", alias="table2")
    def table(self, *, cutoff: int | None = None) -> Table:
        """Tabulate the mean score of every system by every metric: Table 2."""
        compared = self.measures.reported_or_at(cutoff)
        numbered = list(zip(compared.labels, self.measures.indices(compared), strict=True))
        shown_of = {"": self.values} | ({} if self.spreads is None else {SPREAD: self.spreads})
        cells = {
            (system, f"{of}{label}"): float(values[number, column])
            for column, system in enumerate(self.systems)
            for label, number in numbered
            for of, values in shown_of.items()
        }
        title = f"Mean scores{compared.title_suffix}"
        return Table.from_cells("means", title, self.caption(), "system", cells)


@dataclass(frozen=True, eq=False)
class Coverage(Result):
    """Number of items that each system recommends, and how many are judged.

    Users are those in the qrels, of whom some have no list or a shorter one than the longest; items
    are the different ones that are recommended, and judged is the share of the recommendations that
    have a judgement.
    """

    systems: tuple[str, ...]
    n_users: int
    without_list: Numbers
    with_short_list: Numbers
    n_items: Numbers
    judged: Floats

    @classmethod
    def of(cls, runs: Sequence[Run], qrels: Qrels) -> Coverage:
        """Count what runs recommend to the users of the qrels."""
        n_items = [np.count_nonzero(np.bincount(run.items[run.items >= 0])) for run in runs]
        judged = [(match(run, qrels) >= 0).sum() / max(run.lengths.sum(), 1) for run in runs]
        return cls(
            systems=tuple(run.system for run in runs),
            n_users=qrels.n_users,
            without_list=np.array([(run.lengths == 0).sum() for run in runs]),
            with_short_list=np.array([(run.lengths < run.depth).sum() for run in runs]),
            n_items=np.array(n_items),
            judged=np.array(judged),
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``coverage``: one row for each system."""
        import pandas as pd

        columns = {
            "system": self.systems,
            "users": self.n_users,
            "users_without_recommendations": self.without_list,
            "users_with_short_lists": self.with_short_list,
            "items_recommended": self.n_items,
            "judged_share": self.judged,
        }
        return {"coverage": pd.DataFrame(columns)}

    def caption(self) -> str:
        """Say what the last column is."""
        return "Judged share: share of the recommendations that have a judgement."

    @table("coverage", "lists, items and judged recommendations of each system")
    def table(self) -> Table:
        """Tabulate lists, items and judged recommendations of each system."""
        frame = self.frame().drop(columns="users")
        lists = (f"{self.units} without recommendations", f"{self.units} with short lists")
        frame.columns = ["system", *lists, "items recommended", "judged share"]
        return frame_table("coverage", "Recommendations of the systems", frame, self.caption())
