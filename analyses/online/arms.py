"""The arms of an experiment: their rates, the recall of their models, and whether both agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from pydantic import Field

from analyses.online.click_agreement import PERMUTATIONS, ClickStudy, study_clicks
from analyses.online.clicks import Duration, Question, count_clicks
from analyses.online.clicks_result import Clicks, draw_among
from analyses.online.experiments import Experiment
from analyses.online.logs import Logs
from analyses.online.rates import OverTime
from analyses.recall.parametrisations import VALIDATIONS, RecallSettings, Weights, name_recall
from analyses.recall.recall import draw_recalls, errors_of_means, measure_recall
from analyses.shared.analysis import AnalysisSettings, Need, analysis
from analyses.shared.drawing import colours, draw_band
from analyses.shared.limits import NORMAL_QUANTILE
from analyses.shared.measure import tidy
from analyses.shared.result import Result, figure
from analyses.shared.sentences import USER
from qrels.interactions.held_out_users import split_users
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import HiddenRanks
from runs import Numbering
from runs.shared.progress import Progress
from runs.shared.settings import Permutations, Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Place = tuple[str, int]
"""An arm and its period, from 0."""

THESIS: Final = "Kasalický (2021), sections 4.2 to 4.4"

DRAWN_CUTOFF: Final = 5
"""Cut-off of the recall that is drawn over the periods, or the one that is nearest to it."""


class ArmSettings(RecallSettings, AnalysisSettings):
    """How the arms of an experiment are compared: all analyses of it share these settings."""

    weights: Weights = Field("uniform", description="Weights of the users in recall.")
    window: Duration | None = Field(
        None,
        description="Time after a list was shown in which an interaction with an item is a click, "
        "such as '30 min'; default: clicks name their list.",
    )
    over_time: OverTime = Field(
        "thesis", description="Average the rates of the periods (thesis), or pool all lists."
    )
    robots: Whole | None = Field(
        None, ge=1, description="Exclude users with more lists than this on a day (likely bots)."
    )
    permutations: Permutations = Field(
        PERMUTATIONS, ge=1, description="Random orders of the rates."
    )


@dataclass(frozen=True, eq=False)
class ExperimentWork:
    """What analyses of an experiment use; what takes time is computed when it is first asked for.

    It has a log, and the ranks of hidden items by the models that it served. The items of test
    users are hidden; models are trained on other users.

    Parameters
    ----------
    name, seed, progress, settings, logs, events
        Name of the data set, seed of all that is random, progress, settings, log, and interactions
        from before and during the experiment.
    test_users
        Users whose items are hidden.
    ranks, starts
        By arm and period: ranks of the hidden items, and the time when the model became live, in
        milliseconds since 1970 in UTC.
    click_arguments
        What else `count_clicks` takes.
    """

    unit: ClassVar[str] = USER

    name: str
    seed: int
    progress: Progress
    settings: ArmSettings
    logs: Logs
    events: Interactions
    test_users: Numbering
    ranks: Mapping[Place, HiddenRanks]
    starts: Mapping[Place, int]
    click_arguments: Mapping[str, Any]
    _popularity: dict[int, Any] = field(default_factory=dict)

    @cached_property
    def clicks(self) -> Clicks:
        """Rates of the arms, as the command `clicks` estimates them from the log.

        ``self.logs`` names the files of the log, ``self.click_arguments`` has further arguments of
        `count_clicks`. Without a window in the settings, clicks must name their list. InputError as
        of `count_clicks`.
        """
        settings = self.settings
        are_explicit = settings.window is None
        question = Question(
            **dict(self.logs),
            window=settings.window,
            explicit=are_explicit,
            over_time=settings.over_time,
            robots=settings.robots,
        )
        arguments: Any = {"name": self.name, **self.click_arguments}
        return count_clicks(question, progress=self.progress, **arguments)

    @cached_property
    def recalls(self) -> pd.DataFrame:
        """All recalls, by arm and period (from 1), a row for each parametrisation.

        Columns validation, beta, cutoff, value, effective_share, arm and period. ``self.ranks`` has
        the ranks of the hidden items by arm and period, which there counts from 0.
        """
        import pandas as pd

        weights = self.settings.weights
        frames = []
        for (arm, period), ranks in self.ranks.items():
            item_counts = self._item_counts((arm, period))
            frame = measure_recall(ranks, item_counts, self.settings, weights=weights)
            frames.append(frame.assign(arm=arm, period=period + 1))
        return pd.concat(frames, ignore_index=True)

    def _item_counts(self, place: Place) -> Any:
        """Count the events of each item, (n_items,), before a model became live.

        The place is the arm and period (from 0) of the model. Events of test users are left out;
        counts are cached by the time when the model became live, ``self.starts``, in milliseconds.
        """
        start = self.starts[place]
        if start not in self._popularity:
            earlier_events = self.events.select(self.events.time < start)
            training_events, *_ = split_users(earlier_events, self.test_users)
            self._popularity[start] = training_events.event_counts()
        return self._popularity[start]

    @cached_property
    def experiment(self) -> Experiment:
        """Recalls and click-through rates, with their standard errors, by arm.

        Each measure is a parametrisation of recall, averaged over the periods (2.6): recalls and
        their errors are of shape (n_measures, n_models), and each model is an arm. Errors of
        recalls over users, of differences between arms, are those of the last model of each arm:
        test users are the same in all periods. Errors of rates that are not known are 0.
        """
        last_periods: dict[str, int] = {}
        for arm, period in self.ranks:
            last_periods[arm] = max(period, last_periods.get(arm, 0))
        arms = tuple(last_periods)
        weights = self.settings.weights
        keys = ["validation", "beta", "cutoff", "arm"]
        by_arm = self.recalls.groupby(keys, sort=False)["value"].mean().unstack()
        by_arm = by_arm[[*arms]]
        last_places = [*last_periods.items()]
        last_ranks = [self.ranks[place] for place in last_places]
        latest_place = max(last_places, key=lambda place: self.starts[place])
        item_counts = self._item_counts(latest_place)
        # (n_models, n_measures)
        value_errors = errors_of_means(last_ranks, item_counts, self.settings, weights=weights)
        measures = [
            name_recall(validation, beta, cutoff, weights)
            for validation, beta, cutoff in by_arm.index
        ]
        rates = self.clicks.tables["arms"].set_index("arm").loc[[*arms]]
        rate_errors = rates["error"].fillna(0.0)
        values = by_arm.to_numpy()
        arm_rates = rates["rate"].to_numpy()
        return Experiment(
            name=self.name,
            models=arms,
            measures=tuple(measures),
            values=values,
            rates=arm_rates,
            value_errors=value_errors.T,
            rate_errors=rate_errors.to_numpy(),
        )


@analysis("arm_rates", source=THESIS, needs=(Need.EXPERIMENT,), on_request=True)
def arm_rates(work: ExperimentWork, settings: ArmSettings) -> Clicks:
    """Estimate the click-through rate of every arm."""
    return work.clicks


@analysis("arm_recalls", source=THESIS, needs=(Need.EXPERIMENT,), on_request=True)
def arm_recalls(work: ExperimentWork, settings: ArmSettings) -> ArmRecalls:
    """Measure the recall of every arm's model in every period, with errors over users.

    Arms of the result are in the order of their click-through rates, the highest first. Recalls of
    ``work.experiment``, and their errors, are of shape (n_measures, n_models).
    """
    with work.progress("Measuring recall", 1) as bar:
        experiment = work.experiment
        recalls = work.recalls
        bar.advance()
    assert experiment.value_errors is not None
    models = experiment.models
    recall_means = experiment.values.T
    recall_errors = experiment.value_errors.T
    values = tidy(
        {"model": models},
        {"measure": experiment.measures},
        value=recall_means,
        error=recall_errors,
    )
    falling = np.argsort(-experiment.rates, kind="stable")
    arms = tuple(models[number] for number in falling)
    return ArmRecalls(values, recalls, arms, work.settings.weights)


@analysis("arm_agreement", source=THESIS, needs=(Need.EXPERIMENT,), on_request=True)
def arm_agreement(work: ExperimentWork, settings: ArmSettings) -> ClickStudy:
    """Correlate every offline measure of the arms with their click-through rates."""
    with work.progress("Permuting rates", 1) as bar:
        result = study_clicks([work.experiment], permutations=settings.permutations, seed=work.seed)
        bar.advance()
    return result


@dataclass(frozen=True, eq=False)
class ArmRecalls(Result):
    """Offline values by model, as `harness online` reads them, and all recalls by period.

    ``values`` has the columns model, measure, value and error; ``recall`` has arm, period (from 1),
    validation, beta, cutoff, value and effective_share. The arms are in the order of their
    click-through rates, the most clicked first.
    """

    values: pd.DataFrame
    recall: pd.DataFrame
    arms: tuple[str, ...]
    weights: Weights

    @property
    def panels(self) -> tuple[str, ...]:
        """Validations by arms: all of up to five, else the most, middling and least clicked."""
        arms = self.arms
        if len(arms) > 5:
            middle = len(arms) // 2
            arms = (arms[0], arms[middle], arms[-1])
        return tuple(f"{arm}, {side}" for side, arm in product(VALIDATIONS, arms))

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Return both frames, by name."""
        return {"values": self.values, "recall": self.recall}

    def caption(self) -> str:
        """Describe what was measured, and the axes of the figures."""
        return (
            f"Recall of hidden items by the models of {len(self.arms)} arms, for the same test "
            "users in all periods; over beta, the mean of the periods for each cut-off. The upper "
            "axis gives the effective share of the hidden items. A higher recall at another beta "
            "or cut-off does not mean a better measure."
        )

    @figure("thesis2021-figure4.6", "Recall over time", panels="arm")
    def plot_over_time(self, ax: Axes, *, arm: str) -> None:
        """Draw the recall of an arm over the periods, in colour, with those of all others in grey.

        It is LLOO with the largest beta, at the cut-off nearest to 5. The band is a 95 % interval
        over users, as wide in all periods: the standard error is that of the arm's last model, in
        ``self.values`` (columns model, measure, value, error).
        """
        recall = self.recall
        beta = recall["beta"].max()
        cutoff = min(recall["cutoff"], key=lambda value: abs(value - DRAWN_CUTOFF))
        has_parameters = (recall["beta"] == beta) & (recall["cutoff"] == cutoff)
        is_drawn = has_parameters & (recall["validation"] == "LLOO")
        curves = recall[is_drawn].pivot(index="period", columns="arm", values="value")
        draw_among(ax, curves, arm)
        name = name_recall("LLOO", beta, cutoff, self.weights)
        arm_values = self.values[self.values["model"] == arm].set_index("measure")
        half_width = NORMAL_QUANTILE * arm_values["error"][name]
        curve = curves[arm]
        periods = curves.index.to_numpy()
        limits = (curve - half_width, curve + half_width)
        style = {"color": colours()[0]}
        draw_band(
            ax,
            periods,
            limits,
            style,
            label=arm,
            explanation="Bands: 95 % intervals over the users of a period.",
        )
        ax.locator_params(axis="x", integer=True)
        ax.set(xlabel="period", ylabel=name)

    @figure("thesis2021-figure4.7", "Recall over beta (figures 4.7 to 4.11)", panels="panel")
    def plot_over_beta(self, ax: Axes, *, panel: str) -> None:
        """Draw the mean recall over the periods of an arm over beta, a line for each cut-off.

        The panel is the arm and the validation, such as "A, LLOO". The upper axis has the effective
        share of the hidden items at each beta, a mean over all arms and periods.
        """
        arm, _, validation = panel.rpartition(", ")
        rows = self.recall[self.recall["validation"] == validation]
        keys = ["beta", "cutoff"]
        effective_shares = rows.groupby(keys)["effective_share"].mean()
        arm_rows = rows[rows["arm"] == arm]
        arm_means = arm_rows.groupby(keys)[["value"]].mean()
        recalls = arm_means.join(effective_shares).reset_index()
        draw_recalls(ax, recalls, title=panel)
