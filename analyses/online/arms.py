"""The arms of an experiment: their rates, the recall of their models, and whether both agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.online.click_agreement import PERMUTATIONS, ClickStudy, study_clicks
from analyses.online.clicks import Clicks, Duration, Known, Question, count_clicks, draw_among
from analyses.online.experiments import Experiment
from analyses.online.logs import Logs
from analyses.online.rates import OverTime
from analyses.recall.parametrisations import VALIDATIONS, RecallSettings, recall_grid
from analyses.recall.recall import RecallGrid, draw_recalls, errors_of_means, measure_recall
from analyses.recall.stratification import MetricName, Stratification, Weights, popularity_counts
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.drawing import axes_or_new
from analyses.shared.estimate import REACH
from analyses.shared.result import Result, figure
from qrels.interactions.held_out_users import split_users
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import HiddenRanks
from runs import Numbering
from runs.shared.progress import Progress
from runs.shared.settings import Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

Place = tuple[str, int]
"""An arm and its period, from 0."""

THESIS: Final = "Kasalický (2021), sections 4.2 to 4.4"

FOLLOWED_CUTOFF: Final = 5
"""Of the recall that is followed over the periods, or the cut-off that is nearest to it."""

MOST_PANELS: Final = 5
"""Arms up to which all are drawn, as in the thesis."""


class ArmSettings(RecallSettings, AnalysisSettings):
    """How the arms of an experiment are compared: all analyses of it share these settings."""

    weights: Weights = Field("uniform", description="Of the users whose items are hidden.")
    metrics: tuple[Literal["RR", "nDCG"], ...] = Field(
        ("RR", "nDCG"), description="Other metrics of the same ranks, at beta 0."
    )
    window: Duration | None = Field(
        None,
        description="How soon after a list what its user does counts as a click: '30 min'. By "
        "default clicks name their list.",
    )
    over_time: OverTime = Field("thesis", description="How rates of periods are averaged.")
    robots_per_day: Whole | None = Field(
        None, ge=1, description="Users with more lists in a day are robots and left out."
    )
    permutations: Whole = Field(PERMUTATIONS, ge=1, description="Orders of the rates.")

    @property
    def stratification(self) -> Stratification:
        """How hidden items are weighed."""
        return self.stratified(self.weights)

    def question(self, *, shares: Mapping[str, float] | None) -> Question:
        """Ask the same of a log as the command `clicks`."""
        return Question(
            window=self.window,
            explicit=self.window is None,
            over_time=self.over_time,
            robots=self.robots_per_day,
            shares=shares,
        )


@dataclass(frozen=True, eq=False)
class Record:
    """A log, and the ranks of hidden items by the models that it served.

    The items of test users are hidden, whom no model learnt from. By arm and period there are
    ranks, and when the model became live, in milliseconds since 1970 in UTC. Planned shares of the
    arms may be known, and what else is: their settings, truth, remarks.
    """

    logs: Logs
    events: Interactions
    test_users: Numbering
    ranks: Mapping[Place, HiddenRanks]
    starts: Mapping[Place, int]
    shares: Mapping[str, float] | None
    known: Known


class ExperimentWork(Protocol):
    """What an analysis of an experiment may use; what takes time is made when it is asked for."""

    @property
    def seed(self) -> int:
        """Key of all that is random."""

    @property
    def progress(self) -> Progress:
        """Shows what is being done."""

    def sides(self, settings: ArmSettings) -> BothSides:
        """Give both sides of the experiment, which analyses with equal settings share."""


@analysis("arm_rates", source=THESIS, needs=["experiment"], on_request=True)
def arm_rates(work: ExperimentWork, settings: ArmSettings) -> Clicks:
    """Count how often the lists of every arm are accepted, and by whom."""
    return work.sides(settings).counted


@analysis("arm_recalls", source=THESIS, needs=["experiment"], on_request=True)
def arm_recalls(work: ExperimentWork, settings: ArmSettings) -> ArmRecalls:
    """Measure the recall of every arm's model in every period, with intervals over users."""
    with work.progress("Measuring recall", 1) as bar:
        sides = work.sides(settings)
        whole, grids = sides.experiment, sides.grids
        found = ArmRecalls(whole, tuple(grids), tuple(grids.values()))
        bar.advance()
    return found


@analysis("arm_agreement", source=THESIS, needs=["experiment"], on_request=True)
def arm_agreement(work: ExperimentWork, settings: ArmSettings) -> ClickStudy:
    """Correlate every offline measure of the arms with their click-through rates."""
    with work.progress("Permuting rates", 1) as bar:
        both = [work.sides(settings).experiment]
        found = study_clicks(both, permutations=settings.permutations, seed=work.seed)
        bar.advance()
    return found


@dataclass(frozen=True, eq=False)
class BothSides:
    """Offline values and click-through rates of the arms, from what is kept of an experiment."""

    record: Record
    settings: ArmSettings
    name: str
    progress: Progress

    @cached_property
    def counted(self) -> Clicks:
        """The online side."""
        question = self.settings.question(shares=self.record.shares)
        logs, known = self.record.logs, self.record.known
        return count_clicks(logs, question, progress=self.progress, known=known)

    @cached_property
    def counts(self) -> Mapping[Place, NDArray[np.intp]]:
        """How popular items were when the model of an arm and period learnt."""
        record, by_start = self.record, {}
        for start in set(record.starts.values()):
            before = record.events.select(record.events.time < start)
            known, _ = split_users(before, record.test_users)
            by_start[start] = popularity_counts(known, of=self.settings.popularity)
        return {place: by_start[start] for place, start in record.starts.items()}

    @cached_property
    def grids(self) -> Mapping[Place, RecallGrid]:
        """All recall variants, by arm and period."""
        return {place: self._measured(place) for place in self.record.ranks}

    def _measured(self, place: Place, **changed: Any) -> RecallGrid:
        asked: dict[str, Any] = {"betas": self.settings.betas, "cutoffs": self.settings.cutoffs}
        if changed:
            asked["betas"] = (0.0,)
        how = replace(self.settings.stratification, **changed)
        ranks = self.record.ranks[place]
        return measure_recall(ranks, self.counts[place], stratification=how, **asked)

    @cached_property
    def experiment(self) -> Experiment:
        """Both sides by arm: recalls, and other metrics at beta 0.

        Offline values are means over the periods (2.6). Their errors over users, of differences
        between arms, are those of the last model of each arm: test users are the same in all
        periods.
        """
        settings, ranks, rates = self.settings, self.record.ranks, self.counted.rates
        arms = tuple(dict.fromkeys(arm for arm, _ in ranks))
        kinds = list(product(settings.metrics, VALIDATIONS))
        every: tuple[MetricName, ...] = ("Recall", *settings.metrics)
        names = recall_grid(
            betas=settings.betas, cutoffs=settings.cutoffs, weights=settings.weights
        )
        others = [f"{of}({way})@{cutoff}" for of, way in kinds for cutoff in settings.cutoffs]
        means = np.empty((len(names) + len(others), len(arms)))
        for column, arm in enumerate(arms):
            values = []
            for place in (place for place in ranks if place[0] == arm):
                grids = [self._measured(place, metric=metric) for metric in settings.metrics]
                grids = [self.grids[place], *grids]
                values.append(np.concatenate([grid.values.ravel() for grid in grids]))
            means[:, column] = np.mean(values, axis=0)
        last = {arm: max(place for place in ranks if place[0] == arm) for arm in arms}
        latest = max(last.values(), key=lambda place: self.record.starts[place])
        errors = [
            errors_of_means(
                {arm: ranks[place] for arm, place in last.items()},
                self.counts[latest],
                validation=validation,
                betas=settings.betas if metric == "Recall" else [0.0],
                cutoffs=settings.cutoffs,
                stratification=replace(settings.stratification, metric=metric),
            )
            for metric, validation in product(every, VALIDATIONS)
        ]
        columns = [self.counted.arms.index(arm) for arm in arms]
        return Experiment(
            self.name,
            arms,
            (*map(str, names), *others),
            means,
            rates.rates[columns],
            np.vstack([found.reshape(len(arms), -1).T for found in errors]),
            np.nan_to_num(rates.errors[columns]),
        )


@dataclass(frozen=True, eq=False)
class ArmRecalls(Result):
    """Offline values of the arms of an experiment, and all their recalls by arm and period."""

    experiment: Experiment
    places: tuple[Place, ...]
    grids: tuple[RecallGrid, ...]

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms whose models were measured."""
        return self.experiment.models

    @property
    def panels(self) -> tuple[str, ...]:
        """Validations by arms: all of up to five, else the most, middling and least clicked."""
        order = np.argsort(-self.experiment.rates, kind="stable")
        if len(order) > MOST_PANELS:
            order = order[[0, len(order) // 2, -1]]
        return tuple(f"{self.arms[arm]}, {way}" for way, arm in product(VALIDATIONS, order))

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the values by model, as `harness online` reads them, and every recall by period."""
        import pandas as pd

        whole = self.experiment
        assert whole.value_errors is not None
        index = pd.MultiIndex.from_product([whole.models, whole.measures])
        values = index.to_frame(index=False, name=["model", "measure"]).assign(
            value=whole.values.T.ravel(), error=whole.value_errors.T.ravel()
        )
        recall = [
            grid.to_frame().assign(arm=arm, period=period + 1)
            for (arm, period), grid in zip(self.places, self.grids, strict=True)
        ]
        return {"values": values, "recall": pd.concat(recall, ignore_index=True)}

    def caption(self) -> str:
        """Say what was measured, and that its level says nothing."""
        return (
            f"Recall of hidden items by the models of {len(self.arms)} arms, measured again "
            "whenever they learnt; the test users are the same in all periods, so that points are "
            "not independent. Over the exponent: means over the periods, a line for each cut-off; "
            "of more than five arms those that were clicked most, in the middle and least. Above: "
            "the effective share of the hidden items. The level of a recall says nothing about "
            "its worth."
        )

    @figure("thesis2021-figure4.6", "Recall over time", panels="arm")
    def plot_over_time(self, ax: Axes | None = None, *, arm: str) -> Axes:
        """Draw the recall with the largest beta over the periods, with errors, before all others.

        It is LLOO at the cut-off nearest to 5.
        """
        ax, first, whole = axes_or_new(ax), self.grids[0], self.experiment
        assert whole.value_errors is not None
        column = int(np.argmin(np.abs(np.array(first.cutoffs) - FOLLOWED_CUTOFF)))
        number = int(np.ravel_multi_index((1, len(first.betas) - 1, column), first.values.shape))
        curves = np.full((len(self.arms), 1 + max(period for _, period in self.places)), np.nan)
        for (name, period), grid in zip(self.places, self.grids, strict=True):
            curves[self.arms.index(name), period] = grid.values.ravel()[number]
        row, periods = self.arms.index(arm), np.arange(curves.shape[1]) + 1
        draw_among(ax, periods, curves, row)
        reach = REACH * whole.value_errors[number, row]
        ax.fill_between(periods, curves[row] - reach, curves[row] + reach, alpha=0.15, linewidth=0)
        ax.locator_params(axis="x", integer=True)
        ax.set_title(arm)
        ax.set_xlabel("period")
        ax.set_ylabel(whole.measures[number])
        return ax

    @figure("thesis2021-figure4.7", "Recall over beta (figures 4.7 to 4.11)", panels="panel")
    def plot_over_beta(self, ax: Axes | None = None, *, panel: str) -> Axes:
        """Draw the mean recall of an arm over the exponent, a line for each cut-off."""
        arm, _, validation = panel.rpartition(", ")
        side, first = VALIDATIONS.index(validation), self.grids[0]
        own = [g.values for g, at in zip(self.grids, self.places, strict=True) if at[0] == arm]
        shares = np.mean([grid.effective_shares for grid in self.grids], axis=0)
        axes: dict[str, Any] = {"betas": first.betas, "cutoffs": first.cutoffs, "title": panel}
        ax = draw_recalls(axes_or_new(ax), np.mean(own, axis=0)[side], shares[side], **axes)
        ax.set_ylabel("recall")
        return ax
