"""Pools: judging only the top items of some systems, and the rank that a new system loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.intervals.block_resampling import Resampling
from analyses.intervals.percentile_intervals import percentiles
from analyses.ordering import DECIMALS, tau_b
from analyses.shared.analysis import AnalysisSettings, Need, analysis
from analyses.shared.drawing import curve_styles, draw_band, label_curves
from analyses.shared.measure import Measures, tidy
from analyses.shared.number_format import rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table
from qrels import Qrels, match
from runs import Run
from runs.shared.arrays import Floats, Masks
from runs.shared.errors import counted
from runs.shared.settings import Cutoffs, Repeats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work


class Settings(AnalysisSettings):
    """Pools of the top items of the systems."""

    depths: Cutoffs = Field(
        (5, 10, 20, 50, 100),
        min_length=1,
        description="Pool depths: numbers of top items of each system that are judged.",
    )
    replicates: Repeats = Field(200, ge=0, description="Bootstrap replicates; 0: no intervals.")


@analysis(
    "pools",
    source="Zobel (1998); Buckley et al. (2007)",
    needs=(Need.SINGLE_LISTS,),
    on_request=True,
    question="Do the measures keep their ordering when only pooled items are judged?",
)
def pools(work: Work, settings: Settings) -> Pools:
    """Keep only the judgements in a pool of the top items of all systems, or of all but one.

    A judgement is kept if a pooled system ranks its item among its top items for the user. With
    the pool of all systems, the ordering of the systems is compared with that on all judgements.
    Then each system is left out of the pool in turn, and the ranks that it loses among the systems
    are counted: the bias against a new system that is evaluated with existing judgements. Both are
    computed for all users and for resampled ones.

    Zobel (1998), How reliable are the results of large-scale information retrieval experiments?;
    Buckley, Dimmick, Soboroff & Voorhees (2007), Bias and the limits of pooling.
    """
    qrels = work.qrels
    measures = work.scores.measures
    depths = settings.depths
    n_judgements = len(qrels.items)
    runs = [Run(system, items) for system, items in work.recommended.items()]
    # Of shape (n_judgements, n_systems); infinite where a system does not have the item.
    ranks = _judged_ranks(qrels, runs)
    n_pools = 1 + len(runs)
    sum_samples = work.rescorer(len(depths) * n_pools)
    resampling = Resampling.of(qrels.n_users, replicates=settings.replicates, seed=work.seed)
    all_judgements = np.ones((n_judgements, 1), dtype=np.bool_)
    reference_sums = sum_samples(all_judgements, blocks=resampling.blocks)
    # Of shape (1 + n_replicates, n_measures, n_systems), first with the users that there are.
    references = resampling.means(reference_sums[..., 0])
    # -1 for measures of which lower values are better.
    signs = measures.signs[:, np.newaxis, np.newaxis]
    taus = []
    falls = []
    pool_sizes = []
    for depth in work.steps("Judging pools", len(depths), depths):
        is_pooled = _pools(ranks <= depth)
        sums = sum_samples(is_pooled, blocks=resampling.blocks)
        # Of shape (1 + n_replicates, n_measures, n_systems, n_pools), first the pool of all.
        means = resampling.means(sums)
        taus.append(tau_b(means[..., 0], references).T)
        ranks_lost = _ranks_lost(signs * means.round(DECIMALS))
        falls.append(ranks_lost.transpose(1, 2, 0))
        pool_sizes.append(is_pooled.sum(axis=0))
    sizes = np.array(pool_sizes)
    n_kept = sizes[:, 0]
    n_kept_without_system = sizes[:, 1:]
    n_of_system_alone = n_kept[:, np.newaxis] - n_kept_without_system
    return Pools(
        measures=measures,
        systems=work.scores.systems,
        depths=depths,
        taus=np.stack(taus, axis=1),
        falls=np.stack(falls, axis=1),
        n_kept=n_kept,
        n_own=n_of_system_alone,
        n_judgements=n_judgements,
        n_users=qrels.n_users,
    )


@dataclass(frozen=True, eq=False)
class Pools(Result):
    """Orderings of systems on pools of judgements, and losses of systems that are not pooled.

    Parameters
    ----------
    measures, systems, depths
        Labels of the axes.
    taus
        Kendall's tau-b of the ordering on the pool of all systems with that on all judgements,
        float64 of shape (n_measures, n_depths, 1 + n_replicates): first with these users, then with
        resampled ones.
    falls
        Places that a system falls if it alone is not pooled, negative if it rises; of shape
        (n_measures, n_depths, n_systems, 1 + n_replicates).
    n_kept
        Judgements in the pool of all systems, of shape (n_depths,).
    n_own
        Of these, the ones that a system alone brings, of shape (n_depths, n_systems).
    n_judgements, n_users
        Facts for the caption.
    """

    measures: Measures
    systems: tuple[str, ...]
    depths: tuple[int, ...]
    taus: Floats
    falls: Floats
    n_kept: NDArray[np.int64]
    n_own: NDArray[np.int64]
    n_judgements: int
    n_users: int

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``pools`` and ``pools_left_out``, with 95 % limits over users.

        ``pools`` has a row for each measure and depth: metric, cutoff, depth, judgements (in the
        pool of all systems), tau, low, high, and fall (the ranks that a system loses if it alone is
        not pooled, in the mean over systems), fall_low, fall_high. ``pools_left_out`` has one for
        each measure, depth and system: fall, low, high, and own_judgements, which the system alone
        brings into the pool. Limits are percentiles over resampled users; NaN without any.
        """
        low, high = percentiles(self.taus[..., 1:])
        mean_falls = self._mean_falls()
        mean_low, mean_high = percentiles(mean_falls[..., 1:])
        fall_low, fall_high = percentiles(self.falls[..., 1:])
        depths = {"depth": self.depths}
        by_pool = tidy(
            self.measures,
            depths,
            judgements=self.n_kept,
            tau=self.taus[..., 0],
            low=low,
            high=high,
            fall=mean_falls[..., 0],
            fall_low=mean_low,
            fall_high=mean_high,
        )
        by_system = tidy(
            self.measures,
            depths,
            {"system": self.systems},
            fall=self.falls[..., 0],
            low=fall_low,
            high=fall_high,
            own_judgements=self.n_own,
        )
        return {"pools": by_pool, "pools_left_out": by_system}

    def _mean_falls(self) -> Floats:
        """Average the falls over the systems: (n_measures, n_depths, 1 + n_replicates)."""
        return np.asarray(self.falls.mean(axis=2))

    @table("pools", "ranks that a system loses if it is not pooled")
    def table(self, *, cutoff: int | None = None) -> Table:
        """Tabulate the ranks that a system loses if it is not pooled, in the mean over systems.

        Rows are the report measures, or the measures at a cut-off; columns the depths of the pool.
        """
        compared = self.measures.reported_or_at(cutoff)
        indices = self.measures.indices(compared)
        mean_falls = self._mean_falls()[indices, :, 0]
        columns: dict[str, Any] = {"measure": [str(measure) for measure in compared]}
        for depth, falls in zip(self.depths, mean_falls.T, strict=True):
            columns[f"top {depth}"] = falls
        title = "Mean ranks that a system loses if it is not pooled"
        return Table.from_columns("pools", title, self.caption(), columns)

    @figure("pools", "Agreement of pooled judgements with all judgements")
    def plot(self, ax: Axes) -> None:
        """Draw tau against the depth of the pool."""
        self._draw(ax, self.taus)
        ax.set_ylabel("Kendall's tau-b with all judgements")

    @figure("pools_left_out", "Ranks that a system loses if it is not pooled")
    def plot_falls(self, ax: Axes) -> None:
        """Draw the mean fall of a system that is left out, against the depth of the pool."""
        self._draw(ax, self._mean_falls())
        ax.set_ylabel("mean ranks lost")

    def _draw(self, ax: Axes, values: Floats) -> None:
        """Draw values of the report measures against the depth of the pool, with bands.

        Values are of shape (n_measures, n_depths, 1 + n_replicates): first those of all users, then
        those of resampled users, whose 95 % percentiles are the band. Without any there is none.
        """
        observed = values[..., 0]
        replicates = values[..., 1:]
        low, high = percentiles(replicates)
        n_replicates = replicates.shape[-1]
        explanation = f"Bands: 95 % bootstrap over {self.units} ({n_replicates:,} replicates)."
        depths = np.asarray(self.depths)
        for index, label, style in curve_styles(self.measures):
            if n_replicates > 0:
                limits = (low[index], high[index])
                draw_band(ax, depths, limits, style, label=label, explanation=explanation)
            ax.plot(self.depths, observed[index], label=label, **style)
        ax.set_xscale("log")
        ax.set_xticks(self.depths, [str(depth) for depth in self.depths], minor=False)
        ax.minorticks_off()
        ax.set(xlabel="depth of the pool")
        label_curves(ax)

    def findings(self) -> Sequence[str]:
        """Write the ranks that a system loses on average in the shallowest pool, by measure.

        A sentence with the report measures, those with the smallest loss first.
        """
        reported = self.measures.reported
        indices = self.measures.indices(reported)
        # At the first depth, with all users.
        mean_falls = self._mean_falls()[indices, 0, 0]
        losses = []
        for index in np.argsort(mean_falls):
            fall = rounded(mean_falls[index], 2)
            losses.append(f"{fall} by {reported[index]}")
        depth = counted(self.depths[0], "item")
        return (
            f"A system that is not in the pool of the top {depth} loses ranks on average: "
            f"{', '.join(losses)}.",
        )

    def caption(self) -> str:
        """Write which judgements are kept in the shallowest pool, and what ranks lost are."""
        percent_kept = 100 * self.n_kept[0] / self.n_judgements
        users = counted(self.n_users, self.unit)
        n_systems = len(self.systems)
        return (
            f"A judgement of {users} is kept if one of {n_systems} pooled systems ranks its item "
            f"at the pool depth or above ({percent_kept:.1f} % of {self.n_judgements:,} judgements "
            f"at depth {self.depths[0]}). Ranks lost: the rank of a system among all systems if it "
            "is not pooled, less its rank if it is; 0 is best."
        )


def _judged_ranks(qrels: Qrels, runs: Sequence[Run]) -> Floats:
    """Look up the rank of every judged item in every run, of shape (n_judgements, n_runs).

    The lists of a run are those of the users of the qrels, in their order. Ranks start at 1, in the
    list of the user whose judgement it is. Items that a list does not have are at infinity.
    """
    shape = (len(qrels.items), len(runs))
    ranks = np.full(shape, np.inf)
    for run_number, run in enumerate(runs):
        # The judgement of the item at each rank, of shape (n_users, depth), -1 without one.
        judgements = match(run, qrels)
        users, columns = np.nonzero(judgements >= 0)
        matched = judgements[users, columns]
        ranks[matched, run_number] = columns + 1
    return ranks


def _pools(is_top: Masks) -> Masks:
    """Pool all systems, then all but each: which judgements each pool has.

    ``is_top`` marks the items that a system ranks at the pool depth or above, of shape
    (n_judgements, n_systems); the result is of shape (n_judgements, 1 + n_systems).
    """
    n_pooling = is_top.sum(axis=1)[:, np.newaxis]
    n_without_system = n_pooling - is_top
    return np.concatenate([n_pooling > 0, n_without_system > 0], axis=1)


def _ranks_lost(means: Floats) -> Floats:
    """Count the ranks that each system loses if it alone is not pooled: (..., n_systems).

    Means, of which higher ones are better, are of shape (..., n_systems, 1 + n_systems): on the
    pool of all systems, then on those without each system. Negative for a system that rises.
    """
    n_systems = means.shape[-2]
    n_better_by_system = [_count_better(means, system) for system in range(n_systems)]
    n_better = np.stack(n_better_by_system, axis=-2)
    systems = np.arange(n_systems)
    # Of each system, on the pool without it.
    n_better_without = n_better[..., systems, 1 + systems]
    return n_better_without - n_better[..., 0]


def _count_better(means: Floats, system: int) -> Floats:
    """Count the systems that are better than one, given by its number; ties count half.

    Means are of shape (..., n_systems, n_pools), of which higher ones are better; the counts, its
    rank from 0 in each pool, are of (..., n_pools).
    """
    system_means = means[..., system, np.newaxis, :]
    n_better = (means > system_means).sum(axis=-2)
    # The system itself is among them.
    n_level = (means == system_means).sum(axis=-2)
    return n_better + (n_level - 1) / 2
