"""Agreement of offline measures with click-through rates: all measures, and the best by chance."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pydantic import Field

from analyses.online.best_of_many import BestOfMany, best_of_many, scaled_ranks
from analyses.online.experiments import Experiment, LinkedSystems, link_systems
from analyses.online.rates import OverTime
from analyses.online.rho_intervals import rho_intervals
from analyses.online.thesis_tables import (
    N_BEST,
    frame_of,
    label_measures,
    thesis_table,
    thesis_tables,
)
from analyses.ordering import DECIMALS, tau_b
from analyses.shared.analysis import AnalysisSettings, SettingError, StudyFacts, analysis
from analyses.shared.drawing import category_styles, explain, label_curves, ordered_colormap
from analyses.shared.number_format import rounded
from analyses.shared.result import Result, figure
from runs import InputError, InputWarning
from runs.shared.settings import Permutations

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

PERMUTATIONS: Final = 10_000

SHORT: Final = ["measure", "min", "mean", "max", "tau_b", "p_alone", "p_adjusted"]
"""Columns that a short table shows."""

CELLS: Final = "Counts of cells are not sample sizes: the measures are correlated."


class Settings(AnalysisSettings):
    """Agreement of measures with the click-through rates of the systems."""

    rates: Path = Field(description="Table of click-through rates; see `harness online --help`.")
    over_time: OverTime = Field(
        "thesis",
        description="Rate of several periods: the mean of their rates, weighted by users where "
        "they are known (thesis); or all accepted over all recommendations (pooled).",
    )
    permutations: Permutations = Field(
        PERMUTATIONS,
        ge=99,
        description="Number of random orders of the rates; one experiment of up to 9 models uses "
        "all orders.",
    )

    def check(self, study: StudyFacts) -> None:
        """Refuse rates that do not fit the systems; warn of those left out."""
        try:
            linked = self.link(study.systems)
        except InputError as error:
            raise SettingError("rates", str(error)) from None
        if linked.left_out:
            finding = f"[analyses.online]: {', '.join(linked.left_out)} have no rate; left out."
            warnings.warn(finding, InputWarning, stacklevel=2)

    def link(self, systems: Sequence[str]) -> LinkedSystems:
        """Find the systems in the table."""
        return link_systems(systems, rates=self.rates, over_time=self.over_time)


@analysis("click_agreement", source="Kasalický (2021), section 4.4")
def click_agreement(work: Work, settings: Settings) -> ClickStudy:
    """Correlate every measure with the click-through rates of the systems."""
    linked = settings.link(work.scores.systems)
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

    Systems left out could not be compared, and only the caption names them.
    """
    import pandas as pd

    every = experiments[0].measures
    how: Any = {"permutations": permutations, "seed": seed, "chosen": chosen}
    best, labels = best_of_many(experiments, **how), label_measures(every)
    found = {
        one.name: labels.assign(
            dataset=one.name,
            models=len(one.models),
            rho=(scaled_ranks(one.values) @ scaled_ranks(one.rates)).round(DECIMALS),
            tau_b=tau_b(one.values, one.rates),
        )
        for one in experiments
    }
    rhos = pd.concat(found.values(), ignore_index=True)
    some = np.stack([found[name][["rho", "tau_b"]].to_numpy() for name in best.chosen])
    chances = {"p_alone": best.p_alone, "p_adjusted": best.p_adjusted}
    ranking = labels.assign(
        min=some[..., 0].min(axis=0),
        mean=some[..., 0].mean(axis=0).round(DECIMALS),
        max=some[..., 0].max(axis=0),
        undefined=np.isnan(some[..., 0]).sum(axis=0),
        tau_b=some[..., 1].mean(axis=0),
    ).join(pd.DataFrame(chances, index=list(best.measures)), on="measure")
    ranking.insert(9, "rank", ranking["mean"].rank(ascending=False, method="min").astype("Int64"))
    ranking = ranking.sort_values("mean", ascending=False, kind="stable", ignore_index=True)
    first = ranking.dropna(subset=["p_adjusted"])["measure"].head(N_BEST).tolist()
    intervals = []
    for one in experiments:
        low, high = rho_intervals(one, first, seed=seed)
        own = found[one.name].set_index("measure")["rho"][first].reset_index()
        own.insert(1, "dataset", one.name)
        intervals.append(own.assign(low=low, high=high))
    of_models = [
        labels.assign(dataset=one.name, system=model, value=one.values[:, column])
        for one in experiments
        for column, model in enumerate(one.models)
    ]
    values = pd.concat(of_models, ignore_index=True)
    tables = {
        "online": ranking,
        "online_rhos": rhos,
        "online_intervals": pd.concat(intervals, ignore_index=True).dropna(subset=["low"]),
        **thesis_tables(values, rhos, chosen=best.chosen),
    }
    return ClickStudy(tables, best, tuple(left_out))


@dataclass(frozen=True, eq=False)
class ClickStudy(Result):
    """Rank correlation of offline measures with click-through rates over models.

    Tables are by name; ``online`` ranks the measures by their mean rho over the data sets that were
    chosen, ``online_rhos`` has every rho, ``online_intervals`` those of the best.
    Rho is undefined where all models of a side are equal.
    """

    tables: Mapping[str, pd.DataFrame]
    best: BestOfMany
    left_out: tuple[str, ...] = ()

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the tables that have rows, in full."""
        return {name: frame for name, frame in self.tables.items() if len(frame)}

    def caption(self) -> str:
        """Describe what was correlated, and with what the best is compared."""
        left_out = f" Left out, because they have no rate: {', '.join(self.left_out)}."
        return (
            "Spearman's rho between each offline measure and the click-through rates of the "
            f"models. {self.best.caption()}{left_out * bool(self.left_out)}"
        )

    def findings(self) -> Sequence[str]:
        """Report the best measure, and its intervals."""
        intervals = self.tables["online_intervals"]
        rows = intervals[intervals["measure"] == self.tables["online"]["measure"][0]]
        return [
            self.best.finding(),
            *(
                f"In {row.dataset}, {row.measure} has rho = {rounded(float(row.rho), 2)}; the "
                "intervals of single measures in online_intervals do not count that it was chosen."
                for row in rows.itertuples()
            ),
        ]

    def cautions(self) -> Sequence[str]:
        """Say what clicks do not measure."""
        return ["Click-through rates do not measure everything that users want."]

    online = frame_of(
        "online",
        "the measures that agree best with click-through rates",
        part=lambda frame: frame.dropna(subset=["p_adjusted"])[SHORT].head(N_BEST),
    )
    online_intervals = frame_of(
        "online_intervals",
        "intervals of the largest rhos",
        "95 % intervals of the rho of the true values and rates of the models, for measures that "
        "were chosen beforehand.",
    )
    thesis2021_table4_3 = thesis_table("4.3", "recall at cut-off 5 with beta = 1")
    thesis2021_table4_4 = thesis_table("4.4", "settings with LOO recall above LLOO recall", CELLS)
    thesis2021_table4_5 = thesis_table("4.5", "rho of the ten best parametrisations of recall")
    thesis2021_table4_6 = thesis_table("4.6", "measures by their rho", CELLS)
    thesis2021_table4_7 = thesis_table(
        "4.7", "rho of the ten best parametrisations in chosen data sets"
    )
    thesis2021_table4_8 = thesis_table("4.8", "rho of LOO and LLOO at equal beta, cut-off", CELLS)
    thesis2021_table4_9 = thesis_table("4.9", "rho of beta = 0 and beta > 0", CELLS)
    thesis2021_table4_10 = thesis_table("4.10", "LOO and LLOO by beta = 0 and beta > 0", CELLS)
    thesis2021_table4_11 = thesis_table("4.11", "LOO and LLOO by beta, chosen data sets", CELLS)

    @property
    def panels(self) -> tuple[str, ...]:
        """Panels of the figure: of each data set, metrics over cut-offs, and grids of recall."""
        rhos = self.tables["online_rhos"].fillna({"validation": "metrics"})
        pairs = rhos[["dataset", "validation"]].drop_duplicates().to_numpy().tolist()
        return tuple(f"{dataset}, {side}" for dataset, side in pairs)

    @figure(
        "online_rhos",
        "Agreement of offline measures with click-through rates",
        number=18,
        panels="panel",
        comparable=False,
    )
    def plot(self, ax: Axes, *, panel: str) -> None:
        """Draw rhos of metrics over the cut-off, or those of a grid of betas and cut-offs."""
        dataset, _, side = panel.rpartition(", ")
        ax.set_title(panel)
        rhos = self.tables["online_rhos"].fillna({"validation": "metrics"})
        rhos = rhos[(rhos["dataset"] == dataset) & (rhos["validation"] == side)]
        if rhos.empty:
            raise InputError(f"there is no panel {panel!r}; there are {', '.join(self.panels)}.")
        (_plot_metrics if side == "metrics" else _plot_grid)(ax, rhos)


def _plot_metrics(ax: Axes, rhos: pd.DataFrame) -> None:
    """Draw a line for each metric; the depth of a metric without a cut-off is the whole run."""
    parts = rhos["measure"].str.extract(r"^(?P<metric>.*?)(?:@(?P<depth>\d+))?$")
    parts = parts.assign(depth=parts["depth"].astype(float).fillna(np.inf), rho=rhos["rho"])
    wide = parts.pivot(index="depth", columns="metric", values="rho")
    names = [f"{depth:g}" if np.isfinite(depth) else "all" for depth in wide.index]
    for metric, style in category_styles([*wide]):
        ax.plot(names, wide[metric], label=metric, **style)
    ax.set(xlabel="cut-off", ylabel="rho with click-through rate", ylim=(-1.05, 1.05))
    zero = ax.axhline(0, color="0.6", linewidth=0.6)
    explain(zero, "Horizontal line: rho = 0.")
    label_curves(ax)


def _plot_grid(ax: Axes, rhos: pd.DataFrame) -> None:
    """Draw rhos with cut-offs up and betas right, undefined ones grey."""
    # The first weights, where there are two.
    cells = rhos.pivot_table("rho", "cutoff", "beta", aggfunc="first", dropna=False)
    betas, cutoffs = cells.columns.tolist(), cells.index.tolist()
    colours = ordered_colormap("RdBu").with_extremes(bad="0.8")
    numbers = cells.to_numpy(dtype=np.float64)
    image = ax.imshow(numbers, cmap=colours, vmin=-1, vmax=1, origin="lower", aspect="auto")
    every = max(1, len(betas) // 5)
    ax.set_xticks(range(0, len(betas), every), [f"{beta:g}" for beta in betas[::every]])
    ax.set_yticks(range(len(cutoffs)), [str(cutoff) for cutoff in cutoffs])
    ax.set(xlabel="beta", ylabel="cut-off")
    image.set_label("rho with click-through rate")
    if np.isnan(numbers).any():
        explain(image, "Grey cells: rho is undefined.")
