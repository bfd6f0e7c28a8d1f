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
    r"""Compute the weights of users in a mean, of shape (n_users,); None if all weigh the same.

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
    """Average scores of runs over the runs of each system, and compute the deviations of runs.

    ``scores`` have runs on their axis of systems; ``replicates``: the system of each run. The
    result has systems, and the deviations of their runs (see `deviations`). Without replicates
    (None) scores are returned as they are.
    """
    if replicates is None:
        return scores
    values = replicates.mean(scores.values)
    runs = deviations(scores, replicates)
    return replace(scores, values=values, systems=replicates.systems, runs=runs)


def deviations(scores: Scores, replicates: Replicates) -> RunDeviations:
    """Compute by how much the mean scores of runs differ from the mean over those of their system.

    Means are over users for whom all runs of the system rank. Scores are of runs, in place of
    systems; deviations have the shape (n_measures, n_runs), 0 for the only run of a system and
    where there are no such users. The result also has the number of the system of each run,
    (n_runs,), and for each system whether all its runs rank for every user, (n_systems,).
    """
    values = scores.weighted_values
    n_measures, n_runs, _ = values.shape
    run_deviations = np.zeros((n_measures, n_runs))
    is_complete = []
    for system in range(len(replicates.systems)):
        has_all_runs = replicates.users_of_all_runs(system)
        is_complete.append(has_all_runs.all())
        is_run = replicates.system_numbers == system
        if has_all_runs.any() and np.count_nonzero(is_run) > 1:
            values_of_runs = values[:, is_run][..., has_all_runs]
            means = values_of_runs.mean(axis=2)
            run_deviations[:, is_run] = means - means.mean(axis=1, keepdims=True)
    is_complete_array = np.array(is_complete)
    return RunDeviations(run_deviations, replicates.system_numbers, is_complete_array)


def spread(scores: Scores, replicates: Replicates, metrics: Mapping[str, Metric]) -> Floats:
    """Compute the standard deviation of the mean scores of each system's runs.

    Scores are of runs, in place of systems. Means are over the users whom all runs of the system
    rank for, so that they differ by the runs alone. The result is of shape (n_measures, n_systems),
    NaN for a single run, and where there are no such users.
    """
    n_measures = len(scores.measures)
    spreads = np.full((n_measures, len(replicates.systems)), np.nan)
    has_several_runs = replicates.runs_per_system() > 1
    for system in np.flatnonzero(has_several_runs).tolist():
        has_all_runs = replicates.users_of_all_runs(system)
        if not has_all_runs.any():
            continue
        is_run = replicates.system_numbers == system
        values = scores.weighted_values[:, is_run][..., has_all_runs]
        for number, measure in enumerate(scores.measures):
            means = metrics[measure.metric].average(values[number])
            spreads[number, system] = means.std(ddof=1)
    return spreads


SPREAD = "± "
"""The beginning of the heading of a column of standard deviations over replicates."""


@dataclass(frozen=True, eq=False)
class Means(Result):
    """Mean scores over users, arithmetic or geometric, as each metric asks.

    Parameters
    ----------
    measures, systems
        Labels of the axes.
    values
        Means, of shape (n_measures, n_systems); of weighted scores where users are weighted.
    deviations
        Standard deviations over users, of the same shape; NaN of a single user.
    n_users
        Number of users.
    average
        Over what the means are taken.
    sizes
        Number of runs of each system, of shape (n_systems,); None where each has one.
    spreads
        Standard deviations of the means of these runs, of shape (n_measures, n_systems): see
        `harness.scoring.means.spread`; None where each system has one run.
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
    def of_scores(
        cls, scores: Scores, metrics: Mapping[str, Metric], *, average: Average = "users"
    ) -> Means:
        """Average weighted scores over users, by arithmetic or geometric means as metrics ask.

        ``metrics`` are by name. ``average`` names what the weights of the scores stand for, and is
        only passed on. Standard deviations over users are NaN for a single user.
        """
        values = scores.weighted_values
        means_of_measures = []
        for measure, values_of_measure in zip(scores.measures, values, strict=True):
            metric = metrics[measure.metric]
            means_of_measures.append(metric.average(values_of_measure))
        means = np.array(means_of_measures)
        standard_deviations = np.full(values.shape[:2], np.nan)
        if len(scores.users) > 1:
            standard_deviations = values.std(axis=2, ddof=1)
        return cls(
            measures=scores.measures,
            systems=scores.systems,
            values=means,
            deviations=standard_deviations,
            n_users=len(scores.users),
            average=average,
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``means``: columns system, metric, cutoff, mean, sd, users.

        Where there are several runs of a system: replicates, sd_replicates, too.
        """
        import pandas as pd

        n_measures, n_systems = self.values.shape
        metrics = [measure.metric for measure in self.measures]
        columns: dict[str, Any] = {"system": np.repeat(self.systems, n_measures)}
        columns["metric"] = np.tile(metrics, n_systems)
        columns["cutoff"] = np.tile(self.measures.cutoff_column, n_systems)
        columns["mean"] = self.values.T.ravel()
        columns["sd"] = self.deviations.T.ravel()
        columns["users"] = self.n_users
        if self.sizes is not None and self.spreads is not None:
            columns["replicates"] = np.repeat(self.sizes, n_measures)
            columns["sd_replicates"] = self.spreads.T.ravel()
        return {"means": pd.DataFrame(columns)}

    def caption(self) -> str:
        """Describe over which users and runs the means are.

        ``self.sizes`` are the numbers of runs of the systems, None if each has one.
        """
        users = counted(self.n_users, self.unit)
        over = f"all {users} with judgements (0 without recommendations)"
        if self.average == "judgements":
            over = f"{users}, weighted by their number of relevant items"
        if self.sizes is None:
            return f"Mean scores over {over}."
        smallest = self.sizes.min()
        largest = self.sizes.max()
        runs = f"{largest}" if smallest == largest else f"{smallest} to {largest}"
        return (
            f"Mean scores over {over}, and over {runs} runs of each system. Columns with ±: "
            f"standard deviation over these runs, for the {self.units} that all of them rank for."
        )

    @table("means", "mean score of each system by each measure", alias="table2")
    def table(self, *, cutoff: int | None = None) -> Table:
        """Tabulate the mean score of every system by every metric: Table 2.

        Where there are several runs of a system, each mean is followed by its standard deviation
        over them. Measures are those at a cut-off, or the report measures.
        """
        measures = self.measures.reported_or_at(cutoff)
        numbers = self.measures.indices(measures)
        cells: dict[tuple[str, str], float] = {}
        for column, system in enumerate(self.systems):
            for label, number in zip(measures.labels, numbers, strict=True):
                mean = self.values[number, column]
                cells[system, label] = float(mean)
                if self.spreads is not None:
                    spread_of_runs = self.spreads[number, column]
                    cells[system, f"{SPREAD}{label}"] = float(spread_of_runs)
        title = f"Mean scores{measures.title_suffix}"
        caption = self.caption()
        return Table.from_cells("means", title, caption, "system", cells)


@dataclass(frozen=True, eq=False)
class Coverage(Result):
    """Number of items that each system recommends, and how many are judged.

    Parameters
    ----------
    systems
        Names of the systems.
    n_users
        Number of users in the qrels.
    without_list, with_short_list
        How many of them have no list, and a shorter one than the longest, of shape (n_systems,).
    n_items
        Number of different items that are recommended, of the same shape.
    judged
        Share of the recommendations that have a judgement, of the same shape; 0 without any.
    """

    systems: tuple[str, ...]
    n_users: int
    without_list: Numbers
    with_short_list: Numbers
    n_items: Numbers
    judged: Floats

    @classmethod
    def of_runs(cls, runs: Sequence[Run], qrels: Qrels) -> Coverage:
        """Count the lists and items that runs have for the users of the qrels.

        For each run, (n_runs,): users without a list, users with one that is shorter than the
        depth of the run, distinct items, and the share of the listed items that are judged.
        """
        without_list = []
        with_short_list = []
        n_items = []
        judged = []
        for run in runs:
            is_judged = match(run, qrels) >= 0
            recommended = run.items[run.items >= 0]
            recommendations_by_item = np.bincount(recommended)
            n_recommendations = run.lengths.sum()
            without_list.append((run.lengths == 0).sum())
            with_short_list.append((run.lengths < run.depth).sum())
            n_items.append(np.count_nonzero(recommendations_by_item))
            judged.append(is_judged.sum() / max(n_recommendations, 1))
        systems = tuple(run.system for run in runs)
        return cls(
            systems=systems,
            n_users=qrels.n_users,
            without_list=np.array(without_list),
            with_short_list=np.array(with_short_list),
            n_items=np.array(n_items),
            judged=np.array(judged),
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``coverage``: one row for each system."""
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
        """Explain the last column."""
        return "Judged share: share of the recommendations that have a judgement."

    @table("coverage", "lists, items and judged recommendations of each system")
    def table(self) -> Table:
        """Tabulate lists, items and judged recommendations of each system."""
        frame = self.frame().drop(columns="users")
        frame.columns = [
            "system",
            f"{self.units} without recommendations",
            f"{self.units} with short lists",
            "items recommended",
            "judged share",
        ]
        return frame_table("coverage", "Recommendations of the systems", frame, self.caption())
