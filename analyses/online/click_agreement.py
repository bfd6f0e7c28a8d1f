"""Whether offline measures follow clicks: every measure, and the best against chance.

Tables 4.4 to 4.11 of Kasalický (2021), with p-values that know of the choice among measures.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from analyses.online.agreement.best_of_many import BestOfMany, best_of_many
from analyses.online.agreement.rank_agreement import BINS, Agreement, study_agreement
from analyses.online.agreement.rho_figures import draw_rhos, rho_panels
from analyses.online.agreement.rho_noise import RhoNoise, noise_of
from analyses.online.agreement.spearman_null import smallest_rho
from analyses.online.agreement.wording import ALPHA, are_enough, caution, print_p, print_rho
from analyses.online.clicks.rates import OverTime
from analyses.online.tables.experiment import Experiment
from analyses.online.tables.links import Linked, link
from analyses.online.tables.value_table import table_at
from analyses.shared.analysis import AnalysisSettings, Given, SettingError, analysis
from analyses.shared.drawing import axes_or_new
from analyses.shared.result import Result, figure, part_figure, table
from analyses.shared.table import Cell, Table
from runs import InputError, InputWarning
from runs.shared.members import Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

PERMUTATIONS = 10_000
N_BEST = 10

CAUTION = "Clicks are not all that users want."
CROSSED = (
    "Cells are experiments, cut-offs, validations and betas above 0. Rows compare the rho of LOO "
    "with that of LLOO at that beta, columns that of beta = 0 with that beta's. Cells are no "
    "independent observations."
)
VALIDATIONS = {">": "LOO better", "=": "equal", "<": "LLOO better"}
BETAS = {">": "beta = 0 better", "=": "equal", "<": "beta > 0 better"}


class Settings(AnalysisSettings):
    """Metrics against click-through rates of the systems, which come from elsewhere."""

    rates: Path = Field(description="Table of click-through rates; see `harness online --help`.")
    offline: Path | None = Field(
        None, description="Table of further measures of the systems, such as a grid of recalls."
    )
    over_time: OverTime = Field(
        "thesis",
        description="Of several periods in a table of rates: the mean rate, weighted by users "
        "where they are known; or all accepted over all recommendations.",
    )
    permutations: Whole = Field(
        PERMUTATIONS,
        ge=99,
        description="Random orders of the rates of a table; one experiment of up to 9 models goes "
        "through all.",
    )

    def files(self) -> list[Path]:
        """Give the tables, where the folder of a study may stand for its means."""
        return [self.rates, *([] if self.offline is None else [table_at(self.offline)])]

    def check(self, given: Given) -> None:
        """Refuse tables that do not fit the systems and measures.

        Warns
        -----
        InputWarning
            If some systems or models cannot be compared.
        """
        try:
            linked = self.link(given.systems)
            linked.further([str(measure) for measure in given.measures])
        except InputError as error:
            raise SettingError("rates", str(error)) from None
        if linked.left_out:
            finding = (
                f"[analyses.online] leaves out what is not known on all sides: "
                f"{', '.join(linked.left_out)}."
            )
            warnings.warn(finding, InputWarning, stacklevel=2)

    def link(self, systems: Sequence[str]) -> Linked:
        """Find the systems in the tables."""
        return link(systems, rates=self.rates, offline=self.offline, over_time=self.over_time)


@analysis("click_agreement", source="Kasalický (2021), section 4.4")
def click_agreement(work: Work, settings: Settings) -> ClickStudy:
    """Correlate every measure with the click-through rates of the systems."""
    linked = settings.link(work.scores.systems)
    with work.progress("Dealing out rates", 1) as bar:
        found = study_clicks(
            [linked.experiment(work.name, work.scores)],
            permutations=settings.permutations,
            seed=work.seed,
            left_out=linked.left_out,
        )
        bar.advance()
    return found


@dataclass(frozen=True, eq=False)
class ClickStudy(Result):
    """Every measure with the rates, in every experiment, and the best one with that by chance.

    Where errors of the rates are known: what noise does to the rhos of the best measures, by
    experiment.
    """

    agreement: Agreement
    best: BestOfMany
    noise: tuple[RhoNoise, ...]

    @property
    def experiments(self) -> tuple[str, ...]:
        """The data sets."""
        return self.agreement.experiments

    @property
    def panels(self) -> tuple[str, ...]:
        """Panels of the figure of all rhos; see `rho_panels`."""
        return rho_panels(self.agreement)

    def ranking(self) -> pd.DataFrame:
        """Give one row per measure, the best first.

        Columns measure, validation, beta, cutoff, weights, min, mean, max (of rho over the
        experiments, or those chosen), undefined, rank, tau_b (mean), p_alone and p_adjusted.
        """
        chosen = [self.experiments.index(name) for name in self.best.chosen]
        frame = self.agreement.over_experiments(self.best.chosen)
        numbers = [self.agreement.measures.index(name) for name in frame["measure"]]
        return frame.assign(
            tau_b=self.agreement.taus[:, chosen].mean(axis=1)[numbers],
            p_alone=self.best.p_alone[numbers],
            p_adjusted=self.best.p_adjusted[numbers],
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables by name, in full; those of the grid of betas only if it was measured."""
        whole = {
            "online": self.ranking(),
            "online_models": self._models(),
            "online_rhos": self.agreement.to_frame(),
            "online_orderings": self.agreement.orderings(),
            "online_bins": self.agreement.bins(),
        }
        if self.noise:
            whole["online_noise"] = self._noises()
        compared = {
            "online_levels": self.agreement.levels(),
            "online_validations": self.agreement.validations(),
            "online_betas": self.agreement.betas(),
        }
        crossed = {"online_crossed": self._crossed(self.experiments)}
        if self.best.chosen != self.experiments:
            crossed["online_crossed_chosen"] = self._crossed(self.best.chosen)
        some = {name: frame for name, frame in compared.items() if frame["cells"].any()}
        return whole | some | {name: frame for name, frame in crossed.items() if len(frame)}

    def _models(self) -> pd.DataFrame:
        import pandas as pd

        data = self.agreement.data
        models = [{"experiment": one.name, "model": one.models, "rate": one.rates} for one in data]
        return pd.concat(map(pd.DataFrame, models), ignore_index=True)

    def _noises(self) -> pd.DataFrame:
        import pandas as pd

        return pd.concat([part.to_frame() for part in self.noise], ignore_index=True)

    def _crossed(self, experiments: Sequence[str]) -> pd.DataFrame:
        """Cross the two comparisons over some experiments; without rows if nothing is compared."""
        counts = self.agreement.crossed(experiments)
        frame = counts.rename_axis(columns=None).reset_index()
        return frame if counts.to_numpy().any() else frame.iloc[:0]

    def findings(self) -> Sequence[str]:
        """Say what the best measure amounts to, and what so few models can show."""
        said = [self._answer(), self.best.conclusion(), self._of_ties(), self.of_few()]
        whole = " ".join(filter(None, said))
        several = len(self.noise) > 1
        return [
            whole,
            *(f"{part.experiment}: " * several + part.finding() for part in self.noise),
        ]

    def _answer(self) -> str:
        """Answer the question plainly, where there are models enough."""
        best = self.best
        if not are_enough(min(best.n_models)):
            return ""
        if float(best.p_adjusted[best.best]) <= ALPHA:
            return "Yes, offline measures follow clicks here, some of them."
        return "Whether any offline measure follows clicks is not shown."

    def cautions(self) -> Sequence[str]:
        """Say what clicks are not."""
        return [CAUTION]

    def caption(self) -> str:
        """Say what was correlated, and what the best is compared with."""
        return f"{self.agreement.caption()} {self.best.caption()}"

    def of_few(self) -> str:
        """Say which rho so few models can show at all."""
        n_models = self.agreement.n_models
        smallest = smallest_rho(n_models, alpha=ALPHA)
        chance = f"that random orders reach with a chance of {print_p(ALPHA)} or less"
        finding = (
            f"there is no rho {chance}"
            if np.isnan(smallest)
            else f"the smallest rho {chance} is {print_rho(smallest)}"
        )
        where = " of one data set" if len(self.best.chosen) > 1 else ""
        before = f"With {n_models} models{where} and one measure, named beforehand"
        return f"{before}, {finding}.{caution(n_models)}"

    def _of_ties(self) -> str:
        n_measures = len(self.agreement.measures)
        means = self.agreement.best(N_BEST, chosen=self.best.chosen)["mean"]
        others = int((means == means.min()).sum()) - 1
        level = f"; {others:,} others tie with the tenth" if n_measures > N_BEST and others else ""
        return (
            f"The {n_measures:,} measures are {self.best.n_orderings:,} different orderings of the "
            f"models{level}."
        )

    @table("online", "the measures that follow click-through rates best")
    def best_measures(self) -> Table:
        """Tabulate the ten measures with the largest rho: tables 4.5 and 4.7."""
        frame = self.ranking().dropna(subset=["mean"]).head(N_BEST)
        several = len(self.best.chosen) > 1
        columns = {
            "measure": "measure",
            "mean": "mean rho" if several else "rho",
            **({"min": "min", "max": "max"} if several else {}),
            "tau_b": "mean tau-b" if several else "tau-b",
            "p_alone": "p alone",
            "p_adjusted": "p as best of all",
        }
        title = "The best measures by their agreement with click-through rates"
        return _table("online", title, self.agreement.caption(), frame, columns)

    @table("online_noise", "what the noise of clicks and values does to the best rhos")
    def noise_table(self) -> Table:
        """Tabulate the intervals of the best rhos, reliabilities, and rhos without attenuation."""
        title = "What the noise of clicks and values does to the best rhos"
        note = (
            "Intervals, of measures named beforehand, hold the rho that the same models would "
            "have without noise. Without attenuation: rho divided by the root of both "
            "reliabilities (Spearman 1904); a reliability is the share of the variance between "
            "models that is not noise."
        )
        headings = {
            "measure": "measure",
            "rho": "rho",
            "interval": "95 % interval",
            "corrected": "without attenuation",
            "reliability_of_values": "reliability of values",
            "reliability_of_rates": "of rates",
        }
        if not self.noise:
            return Table("online_noise", title, note, [*headings.values()], [])
        frame = self._noises()
        ends = zip(frame["low"], frame["high"], strict=True)
        frame["interval"] = [f"{low:.4f} to {high:.4f}" for low, high in ends]
        if len(self.noise) > 1:
            frame["measure"] += ", " + frame["experiment"]
        return _table("online_noise", title, note, frame, headings)

    @table("online_bins", "how many measures have how large a rho")
    def bins(self) -> Table:
        """Tabulate how many measures have how large a rho: table 4.6."""
        frames = self.agreement.bins().groupby("experiment", sort=False)
        rows: list[list[Cell]] = [[str(name), *frame["count"]] for name, frame in frames]
        note = "Measures are so alike that they move together."
        return Table("online_bins", "Measures by their rho", note, ["experiment", *BINS], rows)

    @table("online_levels", "how often recall under LOO is above that under LLOO")
    def levels(self) -> Table:
        """Tabulate in how many cells the LOO value is the larger: table 4.4."""
        title = "Cells (model, beta, cut-off) where recall under LOO is above that under LLOO"
        note = "The first item of a user cannot be hit under LLOO, which alone makes it smaller."
        frame = self.agreement.levels()
        columns = _names(frame) | {"larger": "LOO larger"}
        return _table("online_levels", title, note, frame, columns)

    @table("online_validations", "whether LOO or LLOO follows click-through rates better")
    def validations(self) -> Table:
        """Tabulate whether LOO or LLOO follows the rates better: table 4.8."""
        title = "Rho under LOO and under LLOO, at the same beta and cut-off"
        return _signs("online_validations", title, self.agreement.validations(), VALIDATIONS)

    @table("online_betas", "whether beta = 0 or a larger beta follows click-through rates better")
    def betas(self) -> Table:
        """Tabulate whether beta = 0 follows the rates better than a beta above: table 4.9."""
        title = "Rho of beta = 0 and of betas above 0, at the same validation and cut-off"
        return _signs("online_betas", title, self.agreement.betas(), BETAS)

    @table("online_crossed", "the last two, crossed")
    def crossed(self) -> Table:
        """Cross the two comparisons, over all experiments and those chosen: tables 4.10, 4.11."""
        rows: list[list[Cell]] = []
        for experiments in dict.fromkeys((self.experiments, self.best.chosen)):
            counts = self._crossed(experiments).iloc[:, 1:].to_numpy().tolist()
            names = [f"{', '.join(experiments)}: {name}" for name in VALIDATIONS.values()]
            rows += [[name, *row] for name, row in zip(names, counts, strict=False)]
        title = "LOO and LLOO by beta = 0 and beta > 0"
        return Table("online_crossed", title, CROSSED, ["rho", *BETAS.values()], rows)

    @figure(
        "online_rhos",
        "Agreement of offline measures with click-through rates",
        number=18,
        panels="panel",
        comparable=False,
        of="agreement",
    )
    def plot(self, ax: Axes | None = None, *, panel: str) -> Axes:
        """Draw the rhos of a metric against the cut-off, or of a grid of betas and cut-offs."""
        return draw_rhos(self.agreement, axes_or_new(ax), panel)

    plot_online_best = part_figure(
        "online_best", "The best of all offline measures by chance", of="best", number=20
    )


def study_clicks(
    experiments: Sequence[Experiment],
    *,
    permutations: int = PERMUTATIONS,
    seed: int,
    chosen: Sequence[str] | None = None,
    left_out: Sequence[str] = (),
) -> ClickStudy:
    """Study whether offline measures follow click-through rates.

    See `best_of_many` and `study_agreement`, which tell what they take.

    Raises
    ------
    InputError
        If the experiments do not fit each other, or no measure has a rho.
    """
    best = best_of_many(experiments, permutations=permutations, seed=seed, chosen=chosen)
    agreement = study_agreement(experiments, left_out=left_out)
    names = agreement.best(N_BEST, chosen=best.chosen)["measure"].iloc[:N_BEST]
    numbers = [agreement.measures.index(name) for name in names]
    noise = [noise_of(one, numbers, seed=seed) for one in experiments]
    return ClickStudy(agreement, best, tuple(part for part in noise if part is not None))


def _signs(name: str, title: str, frame: pd.DataFrame, headings: Mapping[str, str]) -> Table:
    note = "Counts of cells are no sample sizes: mind the number of orderings."
    return _table(name, title, note, frame, _names(frame) | {**headings})


def _names(frame: pd.DataFrame) -> dict[str, str]:
    """Give columns that are called in a table as in the frame."""
    return {str(name): str(name) for name in frame}


def _table(
    name: str, title: str, note: str, frame: pd.DataFrame, columns: Mapping[str, str]
) -> Table:
    """Show columns of a frame under their headings; no row if measures have no pairs to compare."""
    is_empty = "cells" in frame and not frame["cells"].any()
    rows = [] if is_empty else frame[[*columns]].astype(object).itertuples(index=False)
    return Table(name, title, note, [*columns.values()], [list(row) for row in rows])
