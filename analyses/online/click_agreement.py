"""Agreement of offline measures with click-through rates: all measures, and the best by chance."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.online.best_of_many import BestOfMany, best_of_many, print_rho, scaled_ranks
from analyses.online.experiments import Experiment, LinkedSystems, link_systems, table_at
from analyses.online.rates import OverTime
from analyses.online.rho_intervals import rho_intervals
from analyses.online.thesis_tables import N_BEST, label_measures, thesis_table, thesis_tables
from analyses.ordering import DECIMALS, tau_b
from analyses.shared.analysis import AnalysisSettings, SettingError, StudyFacts, analysis
from analyses.shared.drawing import axes_or_new, categories
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table, frame_table
from runs import InputError, InputWarning
from runs.shared.settings import Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

PERMUTATIONS: Final = 10_000

OF_HIDDEN_ITEMS: Final = re.compile(r"(RR|nDCG)\((LOO|LLOO)\)@\d+")
"""Measures that an experiment has beside its recalls, and that are not compared with chance."""

CELLS: Final = "Counts of cells are not sample sizes: measures move together."


class Settings(AnalysisSettings):
    """Agreement of metrics with click-through rates of the systems, which come from a table."""

    rates: Path = Field(description="Table of click-through rates; see `harness online --help`.")
    offline: Path | None = Field(
        None, description="Table of further measures of the systems, such as a grid of recalls."
    )
    over_time: OverTime = Field(
        "thesis",
        description="Rate of several periods: the mean of their rates, weighted by users where "
        "they are known (thesis); or all accepted over all recommendations (pooled).",
    )
    permutations: Whole = Field(
        PERMUTATIONS,
        ge=99,
        description="Number of random orders of the rates. One experiment of up to 9 models goes "
        "through all orders.",
    )

    def files(self) -> list[Path]:
        """Give the tables, where the folder of a study may stand for its means."""
        return [self.rates, *([] if self.offline is None else [table_at(self.offline)])]

    def check(self, given: StudyFacts) -> None:
        """Refuse tables that do not fit the systems and measures; warn of those left out."""
        try:
            linked = self.link(given.systems, [str(measure) for measure in given.measures])
        except InputError as error:
            raise SettingError("rates", str(error)) from None
        if linked.left_out:
            finding = (
                "[analyses.online] leaves out what is not known on all sides: "
                f"{', '.join(linked.left_out)}."
            )
            warnings.warn(finding, InputWarning, stacklevel=2)

    def link(self, systems: Sequence[str], measures: Sequence[str]) -> LinkedSystems:
        """Find the systems in the tables."""
        tables: Any = {"rates": self.rates, "offline": self.offline}
        return link_systems(systems, measures, **tables, over_time=self.over_time)


@analysis("click_agreement", source="Kasalický (2021), section 4.4")
def click_agreement(work: Work, settings: Settings) -> ClickStudy:
    """Correlate every measure with the click-through rates of the systems."""
    linked = settings.link(work.scores.systems, [str(each) for each in work.scores.measures])
    with work.progress("Permuting rates", 1) as bar:
        found = study_clicks(
            [linked.experiment(work.name, work.scores)],
            permutations=settings.permutations,
            seed=work.seed,
            left_out=linked.left_out,
        )
        bar.advance()
    return found


def study_clicks(
    experiments: Sequence[Experiment],
    *,
    permutations: int = PERMUTATIONS,
    seed: int,
    chosen: Sequence[str] | None = None,
    left_out: Sequence[str] = (),
) -> ClickStudy:
    """Study whether offline measures agree with click-through rates; see `best_of_many`.

    RR and nDCG of hidden items are correlated, too, but are not among the measures whose best is
    compared with chance. Systems left out could not be compared, and only the caption names them.
    """
    every = experiments[0].measures if experiments else ()
    tested = [name for name in every if not OF_HIDDEN_ITEMS.fullmatch(name)] or every
    how: Any = {"permutations": permutations, "seed": seed, "chosen": chosen}
    best = best_of_many(experiments, measures=tested, **how)
    rhos = [scaled_ranks(one.values) @ scaled_ranks(one.rates) for one in experiments]
    order = np.argsort(-np.nan_to_num(best.statistics.round(DECIMALS), nan=-2.0), kind="stable")
    first = [tested[n] for n in order[:N_BEST] if np.isfinite(best.statistics[n])]
    ends = [rho_intervals(one, first, seed=seed) for one in experiments]
    return ClickStudy(
        tuple(experiments),
        np.stack(rhos, axis=1).round(DECIMALS),
        np.stack([tau_b(one.values, one.rates) for one in experiments], axis=1),
        best,
        tuple(first),
        np.array(ends).transpose(1, 2, 0),
        tuple(left_out),
    )


@dataclass(frozen=True, eq=False)
class ClickStudy(Result):
    """Rank correlation of offline measures with click-through rates over models.

    Experiments have the same measures. Spearman's rho, rounded to 12 decimals, and Kendall's tau-b
    have the shape (n_measures, n_experiments), NaN where all models of a side are equal. Intervals,
    of shape (2, n_first, n_experiments), are of the measures of the largest mean rho; NaN where
    errors of rates are not known.
    """

    data: tuple[Experiment, ...]
    rhos: Floats
    taus: Floats
    best: BestOfMany
    first: tuple[str, ...]
    intervals: Floats
    left_out: tuple[str, ...] = ()

    @property
    def measured(self) -> pd.DataFrame:
        """Labels of the measures; see `label_measures`."""
        return label_measures(self.data[0].measures)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables by name, in full; those of the thesis that have rows.

        ``online`` is the ranking, ``online_models`` has the rates, ``online_rhos`` every rho,
        ``online_orderings`` how many different orderings of the models the measures are, and
        ``online_intervals`` the intervals of the largest rhos.
        """
        return self._frames

    @cached_property
    def _frames(self) -> dict[str, pd.DataFrame]:
        import pandas as pd

        labels, rhos = self.measured, self._rhos()
        models = [
            pd.DataFrame({"dataset": one.name, "model": one.models, "rate": one.rates})
            for one in self.data
        ]
        values = pd.concat(
            (
                labels.assign(dataset=one.name, system=model, value=one.values[:, column])
                for one in self.data
                for column, model in enumerate(one.models)
            ),
            ignore_index=True,
        )
        frames = {
            "online": self._ranking(),
            "online_models": pd.concat(models, ignore_index=True),
            "online_rhos": rhos,
            "online_orderings": self._orderings(),
        }
        intervals = self._intervals()
        frames |= {"online_intervals": intervals} if len(intervals) else {}
        tested = rhos[rhos["measure"].isin(self.best.measures)]
        return frames | thesis_tables(values, tested, chosen=self.best.chosen)

    def _ranking(self) -> pd.DataFrame:
        """Give one row per measure, the best first.

        Columns measure, validation, beta, cutoff, weights, min, mean, max (of rho over the
        experiments, or those chosen), undefined, rank, tau_b (mean), p_alone and p_adjusted; the
        last two are missing for measures that are not compared with chance.
        """
        import pandas as pd

        chosen = [n for n, one in enumerate(self.data) if one.name in self.best.chosen]
        rhos = self.rhos[:, chosen]
        chances = {"p_alone": self.best.p_alone, "p_adjusted": self.best.p_adjusted}
        frame = self.measured.assign(
            min=rhos.min(axis=1),
            mean=rhos.mean(axis=1).round(DECIMALS),
            max=rhos.max(axis=1),
            undefined=np.isnan(rhos).sum(axis=1),
            tau_b=self.taus[:, chosen].mean(axis=1),
        ).join(pd.DataFrame(chances, index=list(self.best.measures)), on="measure")
        frame.insert(9, "rank", frame["mean"].rank(ascending=False, method="min").astype("Int64"))
        return frame.sort_values("mean", ascending=False, kind="stable", ignore_index=True)

    def _rhos(self) -> pd.DataFrame:
        """Give one row per data set and measure: labels, dataset, models, rho and tau_b."""
        import pandas as pd

        labels = self.measured
        columns = zip(self.data, self.rhos.T, self.taus.T, strict=True)
        parts = [
            labels.assign(dataset=one.name, models=len(one.models), rho=rhos, tau_b=taus)
            for one, rhos, taus in columns
        ]
        return pd.concat(parts, ignore_index=True)

    def _orderings(self) -> pd.DataFrame:
        """Give dataset, models, measures, orderings and undefined.

        Orderings are the different weak orders of the models, undefined the measures without a
        rho; measures are those that are compared with chance.
        """
        import pandas as pd

        rows = [self.data[0].measures.index(name) for name in self.best.measures]
        ranks = [np.nan_to_num(scaled_ranks(one.values[rows])).round(DECIMALS) for one in self.data]
        columns = {
            "dataset": [one.name for one in self.data],
            "models": [len(one.models) for one in self.data],
            "measures": len(rows),
            "orderings": [len(np.unique(some, axis=0)) for some in ranks],
            "undefined": np.isnan(self.rhos[rows]).sum(axis=0),
        }
        return pd.DataFrame(columns)

    def _intervals(self) -> pd.DataFrame:
        """Give measure, dataset, rho, low and high, where intervals are known."""
        import pandas as pd

        rows = [self.data[0].measures.index(name) for name in self.first]
        columns = zip(self.data, self.rhos[rows].T, *self.intervals.transpose(0, 2, 1), strict=True)
        parts = [
            pd.DataFrame(
                {"measure": self.first, "dataset": one.name, "rho": rho, "low": low, "high": high}
            )
            for one, rho, low, high in columns
        ]
        return pd.concat(parts, ignore_index=True).dropna(subset=["low"])

    def caption(self) -> str:
        """Describe what was correlated, and with what the best is compared."""
        several = "; ".join(
            f"{row.dataset}: {row.models} models, {row.orderings} different orderings"
            for row in self.frames()["online_orderings"].itertuples()
        )
        n_undefined = int(np.isnan(self.rhos).sum())
        undefined = f" Undefined: {n_undefined:,} of {self.rhos.size:,} rhos." * (n_undefined > 0)
        left_out = ""
        if self.left_out:
            left_out = f" Left out, as not known on all sides: {', '.join(self.left_out)}."
        return (
            f"Spearman's rho between {len(self.data[0].measures):,} offline measures and the "
            f"click-through rate over models ({several}). Values are compared to {DECIMALS} "
            f"decimals; tied models share their mean rank.{undefined} Counts of measures are not "
            f"sample sizes.{left_out} {self.best.caption()}"
        )

    def findings(self) -> Sequence[str]:
        """Report the best measure, and its intervals."""
        intervals = self._intervals()
        rows = intervals[intervals["measure"] == self.first[0]].to_dict("records")
        findings = [*self.best.findings()]
        for row in rows:
            where = f"{row['dataset']}: " if len(self.data) > 1 else ""
            rho, low, high = (print_rho(float(row[key])) for key in ("rho", "low", "high"))
            findings.append(
                f"{where}{row['measure']} has rho = {rho} [{low}, {high}]; the interval covers the "
                "noise of clicks and values."
            )
        return findings

    def cautions(self) -> Sequence[str]:
        """Say what clicks are not."""
        return ["Clicks are not all that users want."]

    @table("online", "the measures that agree best with click-through rates")
    def best_measures(self) -> Table:
        """Tabulate the ten measures with the largest mean rho, and their chance."""
        frame = self.frames()["online"].dropna(subset=["p_adjusted"]).head(N_BEST)
        several = len(self.best.chosen) > 1
        columns = {"measure": "measure", "mean": "mean rho" if several else "rho"}
        columns |= {"min": "min", "max": "max"} if several else {}
        columns |= {"tau_b": "tau-b", "p_alone": "p alone", "p_adjusted": "p as best of all"}
        title = "The best measures by their agreement with click-through rates"
        return frame_table(
            "online", title, frame[[*columns]].rename(columns=columns), self.caption()
        )

    @table("online_intervals", "intervals of the largest rhos")
    def interval_table(self) -> Table:
        """Tabulate the intervals of the largest rhos."""
        note = (
            "95 % intervals of the rho that the same models would have without noise of clicks and "
            "values, for measures chosen beforehand."
        )
        title = "Intervals of the largest rhos"
        return frame_table("online_intervals", title, self._intervals(), note)

    table_4_3 = thesis_table("4.3", "recall at cut-off 5 with beta = 1")
    table_4_4 = thesis_table("4.4", "cells where recall under LOO is above that under LLOO", CELLS)
    table_4_5 = thesis_table("4.5", "rho of the ten best parametrisations of recall")
    table_4_6 = thesis_table("4.6", "measures by their rho", CELLS)
    table_4_7 = thesis_table("4.7", "the ten best parametrisations in chosen data sets")
    table_4_8 = thesis_table("4.8", "rho of LOO and of LLOO at equal beta and cut-off", CELLS)
    table_4_9 = thesis_table("4.9", "rho of beta = 0 and of beta > 0 at equal cut-off", CELLS)
    table_4_10 = thesis_table("4.10", "LOO and LLOO by beta = 0 and beta > 0", CELLS)
    table_4_11 = thesis_table("4.11", "LOO and LLOO by beta, chosen data sets", CELLS)

    @property
    def panels(self) -> tuple[str, ...]:
        """Panels of the figure: of each data set, metrics over cut-offs, and grids of recall."""
        known = self.measured["validation"].fillna("").unique()
        names = [("metrics" if side == "" else str(side)) for side in sorted(known)]
        return tuple(f"{one.name}, {name}" for one in self.data for name in names)

    @figure(
        "online_rhos",
        "Agreement of offline measures with click-through rates",
        number=18,
        panels="panel",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, panel: str) -> Axes:
        """Draw rhos of metrics over the cut-off, or those of a grid of betas and cut-offs."""
        ax, (dataset, _, side) = axes_or_new(ax), panel.rpartition(", ")
        ax.set_title(panel)
        rhos = self._rhos()
        rhos = rhos[rhos["dataset"] == dataset]
        if side == "metrics":
            return _plot_metrics(ax, rhos[rhos["validation"].isna()])
        rhos = rhos[rhos["validation"] == side]
        if rhos.empty:
            raise InputError(f"no recall with the validation {side!r} was measured.")
        return _plot_grid(ax, rhos)


def _plot_metrics(ax: Axes, rhos: pd.DataFrame) -> Axes:
    """Draw a line for each metric; the depth of a metric without a cut-off is the whole run."""
    parts = rhos["measure"].str.extract(r"^(?P<metric>.*?)(?:@(?P<depth>\d+))?$")
    parts = parts.assign(depth=parts["depth"].astype(float).fillna(np.inf), rho=rhos["rho"])
    wide = parts.pivot(index="depth", columns="metric", values="rho")
    for metric, style in categories([str(name) for name in wide]):
        curve = wide[metric].dropna()
        ax.plot(wide.index.get_indexer(curve.index), curve, label=metric, **style)
    names = [f"{depth:g}" if np.isfinite(depth) else "all" for depth in wide.index]
    every = max(1, len(names) // 6)
    ax.set_xticks(range(0, len(names), every), names[::every])
    ax.set_xlabel("cut-off")
    ax.set_ylabel("rho with click-through rate")
    ax.set_ylim(-1.05, 1.05)
    ax.axhline(0, color="0.6", linewidth=0.6)
    ax.legend(loc="lower left", frameon=False, fontsize="small").set_in_layout(False)
    return ax


def _plot_grid(ax: Axes, rhos: pd.DataFrame) -> Axes:
    """Draw rhos with cut-offs up and betas right, undefined ones grey."""
    from matplotlib import colormaps

    # The first weights, where there are two.
    cells = rhos.pivot_table("rho", "cutoff", "beta", aggfunc="first", dropna=False)
    betas, cutoffs = cells.columns.tolist(), cells.index.tolist()
    shades = colormaps["RdBu"].with_extremes(bad="0.8")
    numbers = cells.to_numpy(dtype=np.float64)
    image = ax.imshow(numbers, cmap=shades, vmin=-1, vmax=1, origin="lower", aspect="auto")
    every = max(1, len(betas) // 5)
    ax.set_xticks(range(0, len(betas), every), [f"{beta:g}" for beta in betas[::every]])
    ax.set_yticks(range(len(cutoffs)), [str(cutoff) for cutoff in cutoffs], fontsize="small")
    ax.set_xlabel("beta")
    ax.set_ylabel("cut-off")
    if ax.figure is not None:
        ax.figure.colorbar(image, ax=ax, label="rho with click-through rate")
    return ax
