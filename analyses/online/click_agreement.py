"""Agreement of offline measures with click-through rates: all measures, and the best by chance."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.online.agreement_tables import N_BEST, label_measures, thesis_tables
from analyses.online.best_of_many import (
    ALPHA,
    FEWEST_JUDGED,
    BestOfMany,
    best_of_many,
    check_experiments,
    few_models,
    print_rho,
    scaled_ranks,
)
from analyses.online.experiments import Experiment, LinkedSystems, link_systems, table_at
from analyses.online.rates import OverTime
from analyses.online.rho_intervals import rho_intervals
from analyses.ordering import DECIMALS, tau_b
from analyses.shared.analysis import AnalysisSettings, SettingError, StudyFacts, analysis
from analyses.shared.drawing import axes_or_new, categories
from analyses.shared.result import Result, figure, part_figure, table
from analyses.shared.table import Table
from runs import InputError, InputWarning
from runs.shared.members import Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

PERMUTATIONS: Final = 10_000

OF_HIDDEN_ITEMS: Final = re.compile(r"(RR|nDCG)\((LOO|LLOO)\)@\d+")
"""Measures that an experiment has beside its recalls, and that are not compared with chance."""

WITHOUT_CURVE: Final = "one cut-off or none"
"""Panel of the measures that have neither several cut-offs nor several betas."""

CAUTION: Final = "Clicks are not all that users want."


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
            linked = self.link(given.systems)
            linked.require_further(self.offline, [str(measure) for measure in given.measures])
        except InputError as error:
            raise SettingError("rates", str(error)) from None
        if linked.left_out:
            finding = (
                "[analyses.online] leaves out what is not known on all sides: "
                f"{', '.join(linked.left_out)}."
            )
            warnings.warn(finding, InputWarning, stacklevel=2)

    def link(self, systems: Sequence[str]) -> LinkedSystems:
        """Find the systems in the tables."""
        over_time = self.over_time
        return link_systems(systems, rates=self.rates, offline=self.offline, over_time=over_time)


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

    RR and nDCG of hidden items are correlated, too, but are not among the measures whose best is
    compared with chance. Systems left out could not be compared, and only the caption names them.

    Raises
    ------
    InputError
        If the experiments do not fit each other, or no measure has a rho.
    """
    check_experiments(experiments)
    every = experiments[0].measures
    tested = [name for name in every if not OF_HIDDEN_ITEMS.fullmatch(name)] or every
    some = [one.select(tested) for one in experiments]
    best = best_of_many(some, permutations=permutations, seed=seed, chosen=chosen)
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


def _thesis_table(number: str, title: str) -> Callable[[ClickStudy], Table]:
    """Declare ``table_NUMBER``, a table of the thesis."""
    name = f"thesis2021-table{number}"

    def tabulate(self: ClickStudy) -> Table:
        import pandas as pd

        note = "Counts of cells are not sample sizes: measures move together."
        frame = self.thesis.get(name, pd.DataFrame())
        return _table(name, f"{title[0].upper()}{title[1:]}", frame, note)

    tabulate.__name__ = f"table_{number.replace('.', '_')}"
    return table(name, title, f"table{number}")(tabulate)


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
    def experiments(self) -> tuple[str, ...]:
        """The data sets."""
        return tuple(one.name for one in self.data)

    def ranking(self) -> pd.DataFrame:
        """Give one row per measure, the best first.

        Columns measure, validation, beta, cutoff, weights, min, mean, max (of rho over the
        experiments, or those chosen), undefined, rank, tau_b (mean), p_alone and p_adjusted; the
        last two are missing for measures that are not compared with chance.
        """
        names = self.data[0].measures
        chosen = [self.experiments.index(name) for name in self.best.chosen]
        rhos = self.rhos[:, chosen]
        known = {name: place for place, name in enumerate(self.best.measures)}
        rows = np.array([known.get(name, -1) for name in names])
        frame = label_measures(names).assign(
            min=rhos.min(axis=1),
            mean=rhos.mean(axis=1).round(DECIMALS),
            max=rhos.max(axis=1),
            undefined=np.isnan(rhos).sum(axis=1),
            tau_b=self.taus[:, chosen].mean(axis=1),
            p_alone=np.append(self.best.p_alone, np.nan)[rows],
            p_adjusted=np.append(self.best.p_adjusted, np.nan)[rows],
        )
        frame.insert(9, "rank", frame["mean"].rank(ascending=False, method="min").astype("Int64"))
        return frame.sort_values("mean", ascending=False, kind="stable", ignore_index=True)

    def rho_frame(self) -> pd.DataFrame:
        """Give one row per data set and measure: labels, dataset, models, rho and tau_b."""
        import pandas as pd

        labels = label_measures(self.data[0].measures)
        columns = zip(self.data, self.rhos.T, self.taus.T, strict=True)
        parts = [
            labels.assign(dataset=one.name, models=len(one.models), rho=rhos, tau_b=taus)
            for one, rhos, taus in columns
        ]
        return pd.concat(parts, ignore_index=True)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables by name, in full; those of the thesis that have rows.

        ``online`` is the ranking, ``online_models`` has the rates, ``online_rhos`` every rho,
        ``online_orderings`` how many different orderings of the models the measures are, and
        ``online_intervals`` the intervals of the largest rhos.
        """
        import pandas as pd

        models = [
            pd.DataFrame({"dataset": one.name, "model": one.models, "rate": one.rates})
            for one in self.data
        ]
        frames = {
            "online": self.ranking(),
            "online_models": pd.concat(models, ignore_index=True),
            "online_rhos": self.rho_frame(),
            "online_orderings": self.orderings(),
        }
        intervals = self._interval_frame()
        return frames | ({"online_intervals": intervals} if len(intervals) else {}) | self.thesis

    @cached_property
    def thesis(self) -> dict[str, pd.DataFrame]:
        """Tables 4.3 to 4.11 of the measures that are compared with chance."""
        import pandas as pd

        labels = label_measures(self.data[0].measures)
        values = pd.concat(
            labels.assign(dataset=one.name, system=model, value=one.values[:, column])
            for one in self.data
            for column, model in enumerate(one.models)
        )
        rhos = self.rho_frame()
        rhos = rhos[rhos["measure"].isin(self.best.measures)]
        return thesis_tables(values, rhos, chosen=self.best.chosen)

    def orderings(self) -> pd.DataFrame:
        """Give dataset, models, measures, orderings and undefined.

        Orderings are the different weak orders of the models, undefined the measures without a
        rho; measures are those that are compared with chance.
        """
        import pandas as pd

        rows = [self.data[0].measures.index(name) for name in self.best.measures]
        ranks = [np.nan_to_num(scaled_ranks(one.values[rows])).round(DECIMALS) for one in self.data]
        columns = {
            "dataset": self.experiments,
            "models": [len(one.models) for one in self.data],
            "measures": len(rows),
            "orderings": [len(np.unique(some, axis=0)) for some in ranks],
            "undefined": np.isnan(self.rhos[rows]).sum(axis=0),
        }
        return pd.DataFrame(columns)

    def _interval_frame(self) -> pd.DataFrame:
        """Give measure, dataset, rho, low and high, where intervals are known."""
        import pandas as pd

        rows = [self.data[0].measures.index(name) for name in self.first]
        parts = [
            pd.DataFrame(
                {
                    "measure": self.first,
                    "dataset": name,
                    "rho": self.rhos[rows, place],
                    "low": self.intervals[0, :, place],
                    "high": self.intervals[1, :, place],
                }
            )
            for place, name in enumerate(self.experiments)
        ]
        return pd.concat(parts, ignore_index=True).dropna(subset=["low"])

    def caption(self) -> str:
        """Describe what was correlated, and with what the best is compared."""
        several = "; ".join(
            f"{row.dataset}: {row.models} models, {row.orderings} different orderings"
            for row in self.orderings().itertuples()
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
        best, ranking = self.best, self.ranking()
        n_models, several = min(best.n_models), len(best.experiments) > 1
        answer = []
        if n_models >= FEWEST_JUDGED:
            found = float(best.p_adjusted[best.best]) <= ALPHA
            some, none = "Some offline measures agree", "No offline measure is shown to agree"
            answer = [f"{some if found else none} with click-through rates."]
        means = ranking.dropna(subset=["p_adjusted"])["mean"]
        tied = int((means == means.iloc[N_BEST - 1]).sum()) - 1 if len(means) > N_BEST else 0
        ties = f"; {tied:,} others tie with the tenth" * (tied > 0)
        counts = (
            f"The {len(best.measures):,} measures are {best.n_orderings:,} different orderings of "
            f"the models{ties}."
        )
        findings = [" ".join([*answer, best.conclusion(), counts]) + few_models(n_models)]
        name = self.first[0]
        for row in self._interval_frame().query("measure == @name").to_dict("records"):
            where = f"{row['dataset']}: " if several else ""
            rho, low, high = (print_rho(float(row[key])) for key in ("rho", "low", "high"))
            findings.append(
                f"{where}{name} has rho = {rho} [{low}, {high}]; the interval covers the noise of "
                "clicks and values."
            )
        return findings

    def cautions(self) -> Sequence[str]:
        """Say what clicks are not."""
        return [CAUTION]

    @table("online", "the measures that agree best with click-through rates")
    def best_measures(self) -> Table:
        """Tabulate the ten measures with the largest mean rho, and their chance."""
        frame = self.ranking().dropna(subset=["p_adjusted"]).head(N_BEST)
        several = len(self.best.chosen) > 1
        columns = {"measure": "measure", "mean": "mean rho" if several else "rho"}
        columns |= {"min": "min", "max": "max"} if several else {}
        columns |= {"tau_b": "mean tau-b" if several else "tau-b"}
        columns |= {"p_alone": "p alone", "p_adjusted": "p as best of all"}
        title = "The best measures by their agreement with click-through rates"
        return _table("online", title, frame[[*columns]].rename(columns=columns), self.caption())

    @table("online_intervals", "intervals of the largest rhos")
    def interval_table(self) -> Table:
        """Tabulate the intervals of the largest rhos."""
        note = (
            "95 % intervals of the rho that the same models would have without noise of clicks and "
            "values, for measures chosen beforehand."
        )
        frame = self._interval_frame()
        return _table("online_intervals", "Intervals of the largest rhos", frame, note)

    table_4_3 = _thesis_table("4.3", "recall at cut-off 5 with beta = 1")
    table_4_4 = _thesis_table("4.4", "cells where recall under LOO is above that under LLOO")
    table_4_5 = _thesis_table("4.5", "rho of the ten best parametrisations of recall")
    table_4_6 = _thesis_table("4.6", "measures by their rho")
    table_4_7 = _thesis_table("4.7", "the ten best parametrisations in chosen data sets")
    table_4_8 = _thesis_table("4.8", "rho under LOO and under LLOO, at equal beta and cut-off")
    table_4_9 = _thesis_table("4.9", "rho of beta = 0 and of beta > 0, at equal cut-off")
    table_4_10 = _thesis_table("4.10", "LOO and LLOO by beta = 0 and beta > 0")
    table_4_11 = _thesis_table("4.11", "LOO and LLOO by beta = 0 and beta > 0, chosen data sets")

    @property
    def panels(self) -> tuple[str, ...]:
        """Panels of the figure: metrics over cut-offs, the other measures, grids of recall."""
        labels = label_measures(self.data[0].measures)
        ways = labels["validation"].dropna().unique()
        grids = [f"{experiment}, {way}" for experiment, way in product(self.experiments, ways)]
        alone = [WITHOUT_CURVE] if self._without_curve() else []
        return (*self._curves(), *alone, *grids)

    def _curves(self) -> dict[str, dict[int, int]]:
        """Find metrics with several cut-offs: numbers of their measures by cut-off."""
        found: dict[str, dict[int, int]] = {}
        labels = label_measures(self.data[0].measures)
        for number, name in labels.loc[labels["validation"].isna(), "measure"].items():
            metric, _, cutoff = str(name).rpartition("@")
            if metric and cutoff.isdecimal():
                found.setdefault(metric, {})[int(cutoff)] = int(str(number))
        return {metric: dict(sorted(c.items())) for metric, c in found.items() if len(c) > 1}

    def _without_curve(self) -> list[int]:
        on_curves = {number for curve in self._curves().values() for number in curve.values()}
        others = label_measures(self.data[0].measures)["validation"].isna()
        return [int(n) for n in np.flatnonzero(others) if n not in on_curves]

    @figure(
        "online_rhos",
        "Agreement of offline measures with click-through rates",
        number=18,
        panels="panel",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, panel: str) -> Axes:
        """Draw the rhos of a metric over the cut-off, or of a grid of betas and cut-offs."""
        ax = axes_or_new(ax)
        ax.set_title(panel)
        curves = self._curves()
        if panel in curves:
            return self._plot_curve(ax, curves[panel])
        if panel == WITHOUT_CURVE:
            return self._plot_points(ax)
        dataset, _, validation = panel.rpartition(", ")
        return self._plot_grid(ax, dataset, validation)

    def _plot_curve(self, ax: Axes, curve: Mapping[int, int]) -> Axes:
        places = np.arange(len(curve))
        for column, (name, style) in enumerate(categories(self.experiments)):
            ax.plot(places, self.rhos[[*curve.values()], column], label=name, **style)
        every = max(1, len(curve) // 6)
        ax.set_xticks(places[::every], [str(cutoff) for cutoff in [*curve][::every]])
        ax.set_xlabel("cut-off")
        ax.set_ylabel("rho with click-through rate")
        ax.set_ylim(-1.05, 1.05)
        ax.axhline(0, color="0.6", linewidth=0.6)
        ax.legend(loc="lower left", frameon=False, fontsize="small").set_in_layout(False)
        return ax

    def _plot_points(self, ax: Axes) -> Axes:
        numbers = self._without_curve()
        places = np.arange(len(numbers))
        for column, (name, style) in enumerate(categories(self.experiments)):
            points: dict[str, Any] = style | {"linestyle": "none", "label": name}
            ax.plot(self.rhos[numbers, column], places, **points)
        ax.set_yticks(places, [self.data[0].measures[number] for number in numbers])
        ax.set_ylim(len(numbers) - 0.5, -0.5)
        ax.set_xlabel("rho with click-through rate")
        ax.set_xlim(-1.05, 1.05)
        ax.axvline(0, color="0.6", linewidth=0.6)
        ax.legend(loc="lower left", frameon=False, fontsize="small").set_in_layout(False)
        return ax

    def _plot_grid(self, ax: Axes, dataset: str, validation: str) -> Axes:
        """Draw rhos with cut-offs up and betas right, undefined ones grey."""
        from matplotlib import colormaps

        rhos = self.rho_frame().query("dataset == @dataset and validation == @validation")
        if rhos.empty:
            raise InputError(f"no recall with the validation {validation!r} was measured.")
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

    plot_online_best = part_figure(
        "online_best", "The best of all offline measures by chance", of="best", number=20
    )


def _table(name: str, title: str, frame: pd.DataFrame, note: str) -> Table:
    """Show a frame as it is."""
    rows = frame.astype(object).itertuples(index=False)
    return Table(name, title, note, [str(column) for column in frame], [list(row) for row in rows])
