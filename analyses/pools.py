"""Pools: judging only the top items of some systems, and the rank that a new system loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.intervals.block_resampling import Resampling
from analyses.intervals.percentile_intervals import percentiles
from analyses.ordering import DECIMALS, tau_b
from analyses.shared.analysis import AnalysisSettings, Need, analysis
from analyses.shared.drawing import curve_styles, draw_band, label_curves, panel_title
from analyses.shared.measure import Measures, tidy
from analyses.shared.number_format import rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table
from qrels import match
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
    are counted: the bias against a new system that is evaluated with existing judgements.

    Zobel (1998), How reliable are the results of large-scale information retrieval experiments?;
    Buckley, Dimmick, Soboroff & Voorhees (2007), Bias and the limits of pooling.
    """
    runs = [Run(system, items) for system, items in work.recommended.items()]
    ranks = _judged_ranks(work, runs)
    sum_samples = work.rescorer(len(settings.depths) * (1 + len(runs)))
    resampling = Resampling.of(work.qrels.n_users, replicates=settings.replicates, seed=work.seed)
    everything = np.ones((len(work.qrels.items), 1), dtype=np.bool_)
    truths = resampling.means(sum_samples(everything, blocks=resampling.blocks)[..., 0])
    signs = work.scores.measures.signs[:, None, None]
    taus, falls, kept = [], [], []
    for depth in work.steps("Judging pools", len(settings.depths), settings.depths):
        pooled = _pools(ranks <= depth)
        means = resampling.means(sum_samples(pooled, blocks=resampling.blocks))
        taus.append(tau_b(means[..., 0], truths).T)
        falls.append(_falls(signs * means.round(DECIMALS)).transpose(1, 2, 0))
        kept.append(pooled.sum(axis=0))
    return Pools(
        measures=work.scores.measures,
        systems=work.scores.systems,
        depths=settings.depths,
        taus=np.stack(taus, axis=1),
        falls=np.stack(falls, axis=1),
        n_kept=np.array(kept)[:, 0],
        n_own=np.array([[n[0] - own for own in n[1:]] for n in kept]),
        n_judgements=len(work.qrels.items),
        n_users=work.qrels.n_users,
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
        """Give ``pools``, and ``pools_left_out`` with a row for each measure, depth and system."""
        falls, mean_falls = self.falls[..., 0], self.falls.mean(axis=2)
        (low, high), (fall_low, fall_high), (each_low, each_high) = (
            percentiles(of[..., 1:]) for of in (self.taus, mean_falls, self.falls)
        )
        of_pools = tidy(
            self.measures,
            {"depth": self.depths},
            judgements=self.n_kept,
            tau=self.taus[..., 0],
            low=low,
            high=high,
            fall=mean_falls[..., 0],
            fall_low=fall_low,
            fall_high=fall_high,
        )
        of_systems = tidy(
            self.measures,
            {"depth": self.depths},
            {"system": self.systems},
            fall=falls,
            low=each_low,
            high=each_high,
            own_judgements=self.n_own,
        )
        return {"pools": of_pools, "pools_left_out": of_systems}

    @table("pools", "ranks that a system loses if it is not pooled")
    def table(self, *, cutoff: int | None = None) -> Table:
        """Tabulate the mean fall of a system that is left out of the pool, by depth."""
        compared = self.measures.reported_or_at(cutoff)
        values = self.falls[self.measures.indices(compared), ..., 0].mean(axis=2)
        tops = [f"top {depth}" for depth in self.depths]
        columns = {"metric": compared.labels} | dict(zip(tops, values.T, strict=True))
        title = f"Mean ranks that a system loses if it is not pooled{compared.title_suffix}"
        return Table.from_columns("pools", title, self.caption(), columns)

    @figure("pools", "Agreement of pooled judgements with all judgements")
    def plot(self, ax: Axes) -> None:
        """Draw tau against the depth of the pool."""
        self._draw(ax, self.taus)
        ax.set_ylabel("Kendall's tau-b with all judgements")

    @figure("pools_left_out", "Ranks that a system loses if it is not pooled")
    def plot_falls(self, ax: Axes) -> None:
        """Draw the mean fall of a system that is left out, against the depth of the pool."""
        self._draw(ax, self.falls.mean(axis=2))
        ax.set_ylabel("mean ranks lost")

    def _draw(self, ax: Axes, values: Floats) -> None:
        low, high = percentiles(values[..., 1:])
        n_replicates = values.shape[-1] - 1
        bands = f"Bands: 95 % bootstrap over {self.units} ({n_replicates:,} replicates)."
        for number, label, style in curve_styles(self.measures):
            if values.shape[-1] > 1:
                limits = low[number], high[number]
                depths = np.asarray(self.depths)
                draw_band(ax, depths, limits, style, label=label, explanation=bands)
            ax.plot(self.depths, values[number, :, 0], label=label, **style)
        ax.set_xscale("log")
        ax.set_xticks(self.depths, [str(depth) for depth in self.depths], minor=False)
        ax.minorticks_off()
        ax.set(xlabel="depth of the pool", title=panel_title(self.measures, metric=None))
        label_curves(ax)

    def findings(self) -> Sequence[str]:
        """Say how many ranks a system loses that is not pooled, by each measure."""
        numbers = self.measures.indices(self.measures.reported)
        means = self.falls[numbers, 0, :, 0].mean(axis=1)
        ends = [f"{rounded(means[n], 2)} by {self.measures[numbers[n]]}" for n in np.argsort(means)]
        return (
            f"A system that is not in the pool of the top {counted(self.depths[0], 'item')} loses "
            "ranks on "
            f"average: {', '.join(ends)}.",
        )

    def caption(self) -> str:
        """Say which judgements are kept, and what ranks lost are."""
        kept = self.n_kept[0] / self.n_judgements
        return (
            f"A judgement of {counted(self.n_users, self.unit)} is kept if one of "
            f"{len(self.systems)} "
            f"pooled systems ranks its item at the pool depth or above ({100 * kept:.1f} % of "
            f"{self.n_judgements:,} judgements at depth {self.depths[0]}). Ranks lost: the rank of "
            "a system among all systems if it is not pooled, less its rank if it is; 0 is best."
        )


def _judged_ranks(work: Work, runs: Sequence[Run]) -> Floats:
    """Give the rank of every judged item in every run, of shape (n_judgements, n_runs).

    Items that a run does not have are at infinity.
    """
    ranks = np.full((len(work.qrels.items), len(runs)), np.inf)
    for column, run in enumerate(runs):
        found = match(run, work.qrels)
        users, places = np.nonzero(found >= 0)
        ranks[found[users, places], column] = places + 1
    return ranks


def _pools(tops: Masks) -> Masks:
    """Pool all systems, then all but each: masks of shape (n_judgements, 1 + n_systems)."""
    n_pooling = tops.sum(axis=1)
    return np.column_stack([n_pooling > 0, n_pooling[:, None] - tops > 0])


def _falls(means: Floats) -> Floats:
    """Count the places that each system falls without its own items in the pool."""
    n_systems = means.shape[-2]
    places = np.stack([_place(means[..., n, :], means) for n in range(n_systems)], axis=-2)
    own = places[..., np.arange(n_systems), 1 + np.arange(n_systems)]
    return own - places[..., 0]


def _place(own: Floats, means: Floats) -> Floats:
    better = (means > own[..., None, :]).sum(axis=-2)
    level = (means == own[..., None, :]).sum(axis=-2)
    return better + (level - 1) / 2
