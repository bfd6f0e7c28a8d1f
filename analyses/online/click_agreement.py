"""Agreement of offline measures with click-through rates: all measures, and the best by chance."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
        """Refuse, with SettingError, rates that cannot be read or do not fit the study's systems.

        Issue an InputWarning that names systems without a rate, and models that are no systems.
        ``self.link`` reads the rates, and looks up the model that each system is.
        """
        try:
            linked = self.link(study.systems)
        except InputError as error:
            raise SettingError("rates", str(error)) from None
        if linked.left_out:
            names = ", ".join(linked.left_out)
            warning = f"[analyses.online]: {names} have no rate; left out."
            warnings.warn(warning, InputWarning, stacklevel=2)

    def link(self, systems: Sequence[str]) -> LinkedSystems:
        """Find the systems in the table of rates."""
        return link_systems(systems, rates=self.rates, over_time=self.over_time)


@analysis("click_agreement", source="Kasalický (2021), section 4.4")
def click_agreement(work: Work, settings: Settings) -> ClickStudy:
    """Correlate every measure with the click-through rates of the systems.

    Systems without a rate are left out: ``settings.link`` reads the rates, and looks up the model
    that each system is. Refuse, with InputError, a table of rates that cannot be
    read, or that has fewer than 3 of the systems.
    """
    linked = settings.link(work.scores.systems)
    experiment = linked.experiment(work.name, work.scores)
    with work.progress("Permuting rates", 1) as bar:
        result = study_clicks(
            [experiment],
            permutations=settings.permutations,
            seed=work.seed,
            left_out=linked.left_out,
        )
        bar.advance()
    return result


def study_clicks(
    experiments: Sequence[Experiment],
    *,
    permutations: int = PERMUTATIONS,
    seed: int,
    chosen: Sequence[str] | None = None,
    left_out: Sequence[str] = (),
) -> ClickStudy:
    """Study whether offline measures agree with click-through rates; see `best_of_many`.

    Measures are ranked by their mean rho over the chosen data sets (names; by default all), the
    best of them is tested, and the ten best have intervals. Names left out could not be compared,
    and only the caption has them. InputError if `best_of_many` refuses the experiments.
    """
    import pandas as pd

    best = best_of_many(experiments, permutations=permutations, seed=seed, chosen=chosen)
    labels = label_measures(experiments[0].measures)
    correlations = {
        experiment.name: _correlations(experiment, labels) for experiment in experiments
    }
    rhos = pd.concat(correlations.values(), ignore_index=True)
    chosen_correlations = [correlations[name] for name in best.chosen]
    ranking = _rank_measures(chosen_correlations, labels, best)
    tested = ranking.dropna(subset=["p_adjusted"])
    best_measures = tested["measure"].head(N_BEST).tolist()
    frames = []
    for experiment in experiments:
        set_correlations = correlations[experiment.name]
        frames.append(_interval_frame(experiment, set_correlations, best_measures, seed=seed))
    intervals = pd.concat(frames, ignore_index=True)
    values = _values_frame(experiments, labels)
    tables = {"online": ranking, "online_rhos": rhos}
    tables["online_intervals"] = intervals.dropna(subset=["low"])
    tables |= thesis_tables(values, rhos, chosen=best.chosen)
    return ClickStudy(tables, best, tuple(left_out))


def _correlations(experiment: Experiment, labels: pd.DataFrame) -> pd.DataFrame:
    """Correlate the measures of an experiment with its rates: a row for each measure.

    Columns of the labels (see `label_measures`), dataset, models (number), rho and tau_b, both NaN
    where they are undefined.
    """
    value_ranks = scaled_ranks(experiment.values)
    rate_ranks = scaled_ranks(experiment.rates)
    rho = (value_ranks @ rate_ranks).round(DECIMALS)
    taus = tau_b(experiment.values, experiment.rates)
    n_models = len(experiment.models)
    return labels.assign(dataset=experiment.name, models=n_models, rho=rho, tau_b=taus)


def _rank_measures(
    correlations: Sequence[pd.DataFrame], labels: pd.DataFrame, best: BestOfMany
) -> pd.DataFrame:
    """Tabulate the measures by falling mean rho over the chosen data sets, with p-values.

    ``correlations``: a frame of rho and tau_b for each chosen data set, rows as in the labels.
    Columns of the labels, min, mean, max (of rho), undefined (number of data sets without rho),
    rank (1 is the largest mean; ties share the smallest), tau_b (mean), p_alone and p_adjusted.
    Where a data set has no rho, the mean, rank and p-values are missing; such measures come last.
    """
    import pandas as pd

    rho = np.stack([frame["rho"].to_numpy() for frame in correlations])
    taus = np.stack([frame["tau_b"].to_numpy() for frame in correlations])
    p_values = pd.DataFrame(
        {"p_alone": best.p_alone, "p_adjusted": best.p_adjusted}, index=list(best.measures)
    )
    mean_rho = rho.mean(axis=0).round(DECIMALS)
    n_undefined = np.isnan(rho).sum(axis=0)
    ranking = labels.assign(
        min=rho.min(axis=0),
        mean=mean_rho,
        max=rho.max(axis=0),
        undefined=n_undefined,
        tau_b=taus.mean(axis=0),
    )
    ranking = ranking.join(p_values, on="measure")
    ranks = ranking["mean"].rank(ascending=False, method="min").astype("Int64")
    # Behind the labels, min, mean, max and undefined.
    ranking.insert(9, "rank", ranks)
    return ranking.sort_values("mean", ascending=False, kind="stable", ignore_index=True)


def _interval_frame(
    experiment: Experiment, correlations: pd.DataFrame, measures: Sequence[str], *, seed: int
) -> pd.DataFrame:
    """Tabulate 95 % intervals of the rhos of some measures in an experiment, in their order.

    ``correlations``: columns measure and rho, of every measure. Columns measure, dataset, rho, low
    and high (NaN where there is no interval; see `rho_intervals`).
    """
    low, high = rho_intervals(experiment, measures, seed=seed)
    frame = correlations.set_index("measure")["rho"][[*measures]].reset_index()
    frame.insert(1, "dataset", experiment.name)
    return frame.assign(low=low, high=high)


def _values_frame(experiments: Sequence[Experiment], labels: pd.DataFrame) -> pd.DataFrame:
    """Tabulate all offline values: columns of the labels, dataset, system and value.

    ``labels``: a row for each measure. A row for each experiment, model and measure.
    """
    import pandas as pd

    frames = []
    for experiment in experiments:
        for column, model in enumerate(experiment.models):
            values = experiment.values[:, column]
            frames.append(labels.assign(dataset=experiment.name, system=model, value=values))
    return pd.concat(frames, ignore_index=True)


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
        """Return the tables that have rows, in full, by name."""
        return {name: frame for name, frame in self.tables.items() if len(frame)}

    def caption(self) -> str:
        """Describe what was correlated, and with what the best is compared."""
        caption = (
            "Spearman's rho between each offline measure and the click-through rates of the "
            f"models. {self.best.caption()}"
        )
        if self.left_out:
            caption += f" Left out, because they have no rate: {', '.join(self.left_out)}."
        return caption

    def findings(self) -> Sequence[str]:
        """State the best measure with its test, and its rho in each data set with an interval.

        The first row of ``tables["online"]`` is the best measure.
        """
        sentences = [self.best.finding()]
        intervals = self.tables["online_intervals"]
        best_measure = self.tables["online"]["measure"][0]
        is_best = intervals["measure"] == best_measure
        for row in intervals[is_best].to_dict("records"):
            rho = rounded(float(row["rho"]), 2)
            sentences.append(
                f"In {row['dataset']}, {row['measure']} has rho = {rho}; the intervals of single "
                "measures in online_intervals do not count that it was chosen."
            )
        return sentences

    def cautions(self) -> Sequence[str]:
        """State what clicks do not measure."""
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
        rhos = self._rhos_with_sides()
        pairs = rhos[["dataset", "validation"]].drop_duplicates().to_numpy().tolist()
        return tuple(f"{dataset}, {side}" for dataset, side in pairs)

    def _rhos_with_sides(self) -> pd.DataFrame:
        """Select all rhos, with the validation "metrics" where a measure is no recall."""
        return self.tables["online_rhos"].fillna({"validation": "metrics"})

    @figure(
        "online_rhos",
        "Agreement of offline measures with click-through rates",
        number=18,
        panels="panel",
        comparable=False,
    )
    def plot(self, ax: Axes, *, panel: str) -> None:
        """Draw rhos of metrics over the cut-off, or those of a grid of betas and cut-offs.

        The panel is a data set and a side, such as "data, LLOO": the validation of recalls, or
        "metrics". Refuse an unknown panel with InputError.
        """
        dataset, _, side = panel.rpartition(", ")
        ax.set_title(panel)
        rhos = self._rhos_with_sides()
        is_shown = (rhos["dataset"] == dataset) & (rhos["validation"] == side)
        rhos = rhos[is_shown]
        if rhos.empty:
            raise InputError(f"there is no panel {panel!r}; there are {', '.join(self.panels)}.")
        if side == "metrics":
            _plot_metrics(ax, rhos)
        else:
            _plot_grid(ax, rhos)


def _plot_metrics(ax: Axes, rhos: pd.DataFrame) -> None:
    """Draw the rho of each metric over its cut-off, a line for each metric.

    ``rhos``: columns measure (such as nDCG@10) and rho. A measure without a cut-off stands at the
    end of the axis, as "all".
    """
    parts = rhos["measure"].str.extract(r"^(?P<metric>.*?)(?:@(?P<depth>\d+))?$")
    depths = parts["depth"].astype(float).fillna(np.inf)
    parts = parts.assign(depth=depths, rho=rhos["rho"])
    curves = parts.pivot(index="depth", columns="metric", values="rho")
    labels = [f"{depth:g}" if np.isfinite(depth) else "all" for depth in curves.index]
    for metric, style in category_styles([*curves]):
        ax.plot(labels, curves[metric], label=metric, **style)
    ax.set(xlabel="cut-off", ylabel="rho with click-through rate", ylim=(-1.05, 1.05))
    zero = ax.axhline(0, color="0.6", linewidth=0.6)
    explain(zero, "Horizontal line: rho = 0.")
    label_curves(ax)


def _plot_grid(ax: Axes, rhos: pd.DataFrame) -> None:
    """Draw rhos with cut-offs up and betas right, undefined ones grey.

    ``rhos``: columns beta, cutoff and rho. If there are two kinds of weights, the first is drawn.
    At most nine betas have a label.
    """
    cells = rhos.pivot_table("rho", "cutoff", "beta", aggfunc="first", dropna=False)
    betas = cells.columns.tolist()
    cutoffs = cells.index.tolist()
    colormap = ordered_colormap("RdBu").with_extremes(bad="0.8")
    values = cells.to_numpy(dtype=np.float64)
    image = ax.imshow(values, cmap=colormap, vmin=-1, vmax=1, origin="lower", aspect="auto")
    step = max(1, len(betas) // 5)
    beta_labels = [f"{beta:g}" for beta in betas[::step]]
    ax.set_xticks(range(0, len(betas), step), beta_labels)
    ax.set_yticks(range(len(cutoffs)), [str(cutoff) for cutoff in cutoffs])
    ax.set(xlabel="beta", ylabel="cut-off")
    image.set_label("rho with click-through rate")
    if np.isnan(values).any():
        explain(image, "Grey cells: rho is undefined.")
