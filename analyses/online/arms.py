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
from analyses.online.clicks import Clicks, Duration, Question, count_clicks, draw_among
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

FOLLOWED_CUTOFF: Final = 5
"""Of the recall that is followed over the periods, or the cut-off that is nearest to it."""


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
    """What analyses of an experiment use; what takes time is made when it is first asked for.

    It has a log, and the ranks of hidden items by the models that it served. The items of test
    users are hidden, whom no model learnt from. By arm and period there are ranks, and when the
    model became live, in milliseconds since 1970 in UTC. What else `count_clicks` takes may be
    known. The seed is the key of all that is random.
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
    known: Mapping[str, Any]
    _popularity: dict[int, Any] = field(default_factory=dict)

    @cached_property
    def clicks(self) -> Clicks:
        """The online side: the same as of the command `clicks`."""
        settings = self.settings
        question = Question(
            **dict(self.logs),
            window=settings.window,
            explicit=settings.window is None,
            over_time=settings.over_time,
            robots=settings.robots,
        )
        known: Any = {"name": self.name, **self.known}
        return count_clicks(question, progress=self.progress, **known)

    @cached_property
    def recalls(self) -> pd.DataFrame:
        """All recalls, by arm and period: columns arm, period (from 1), and the recalls."""
        import pandas as pd

        parts = []
        for place, ranks in self.ranks.items():
            counts, settings = self._counts(place), self.settings
            found = measure_recall(ranks, counts, settings, weights=settings.weights)
            parts.append(found.assign(arm=place[0], period=place[1] + 1))
        return pd.concat(parts, ignore_index=True)

    def _counts(self, place: Place) -> Any:
        """Count how popular items were when the model of an arm and period learnt."""
        start = self.starts[place]
        if start not in self._popularity:
            before = self.events.select(self.events.time < start)
            self._popularity[start] = split_users(before, self.test_users)[0].event_counts()
        return self._popularity[start]

    @cached_property
    def experiment(self) -> Experiment:
        """Both sides by arm.

        Recalls are means over the periods (2.6). Their errors over users, of differences between
        arms, are those of the last model of each arm: test users are the same in all periods.
        """
        arms, weights = tuple(dict.fromkeys(arm for arm, _ in self.ranks)), self.settings.weights
        keys = ["validation", "beta", "cutoff"]
        means = self.recalls.groupby([*keys, "arm"], sort=False)["value"].mean().unstack()[[*arms]]
        last = [max(place for place in self.ranks if place[0] == arm) for arm in arms]
        counts = self._counts(max(last, key=lambda place: self.starts[place]))
        ranks = [self.ranks[place] for place in last]
        errors = errors_of_means(ranks, counts, self.settings, weights=weights)
        names = [name_recall(v, beta, k, weights) for v, beta, k in means.index]
        rates = self.clicks.tables["arms"].set_index("arm").loc[[*arms]]
        found, rate_errors = rates["rate"].to_numpy(), rates["error"].fillna(0.0).to_numpy()
        values = means.to_numpy()
        return Experiment(self.name, arms, tuple(names), values, found, errors.T, rate_errors)


@analysis("arm_rates", source=THESIS, needs=(Need.EXPERIMENT,), on_request=True)
def arm_rates(work: ExperimentWork, settings: ArmSettings) -> Clicks:
    """Estimate the click-through rate of every arm."""
    return work.clicks


@analysis("arm_recalls", source=THESIS, needs=(Need.EXPERIMENT,), on_request=True)
def arm_recalls(work: ExperimentWork, settings: ArmSettings) -> ArmRecalls:
    """Measure the recall of every arm's model in every period, with intervals over users."""
    with work.progress("Measuring recall", 1) as bar:
        whole, recalls = work.experiment, work.recalls
        bar.advance()
    assert whole.value_errors is not None
    axes = {"model": whole.models}, {"measure": whole.measures}
    values = tidy(*axes, value=whole.values.T, error=whole.value_errors.T)
    order = [whole.models[n] for n in np.argsort(-whole.rates, kind="stable")]
    return ArmRecalls(values, recalls, tuple(order), work.settings.weights)


@analysis("arm_agreement", source=THESIS, needs=(Need.EXPERIMENT,), on_request=True)
def arm_agreement(work: ExperimentWork, settings: ArmSettings) -> ClickStudy:
    """Correlate every offline measure of the arms with their click-through rates."""
    with work.progress("Permuting rates", 1) as bar:
        found = study_clicks([work.experiment], permutations=settings.permutations, seed=work.seed)
        bar.advance()
    return found


@dataclass(frozen=True, eq=False)
class ArmRecalls(Result):
    """Offline values by model, as `harness online` reads them, and all recalls by period.

    The arms are in the order of their click-through rates, the most clicked first.
    """

    values: pd.DataFrame
    recall: pd.DataFrame
    arms: tuple[str, ...]
    weights: Weights

    @property
    def panels(self) -> tuple[str, ...]:
        """Validations by arms: all of up to five, else the most, middling and least clicked."""
        arms, n = self.arms, len(self.arms)
        shown = arms if n <= 5 else (arms[0], arms[n // 2], arms[-1])
        return tuple(f"{arm}, {side}" for side, arm in product(VALIDATIONS, shown))

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give both frames."""
        return {"values": self.values, "recall": self.recall}

    def caption(self) -> str:
        """Say what was measured."""
        return (
            f"Recall of hidden items by the models of {len(self.arms)} arms, for the same test "
            "users in all periods; over beta, the mean of the periods for each cut-off. The upper "
            "axis gives the effective share of the hidden items. A higher recall at another beta "
            "or cut-off does not mean a better measure."
        )

    @figure("thesis2021-figure4.6", "Recall over time", panels="arm")
    def plot_over_time(self, ax: Axes, *, arm: str) -> None:
        """Draw the recall with the largest beta over the periods, with errors, before all others.

        It is LLOO at the cut-off nearest to 5.
        """
        recall = self.recall
        beta, cutoffs = recall["beta"].max(), recall["cutoff"]
        cutoff = min(cutoffs, key=lambda each: abs(each - FOLLOWED_CUTOFF))
        some = recall[(recall["beta"] == beta) & (cutoffs == cutoff)]
        some = some[some["validation"] == "LLOO"]
        curves = some.pivot(index="period", columns="arm", values="value")
        draw_among(ax, curves, arm)
        own = self.values[self.values["model"] == arm].set_index("measure")["error"]
        name = name_recall("LLOO", beta, cutoff, self.weights)
        ends = curves[arm] - NORMAL_QUANTILE * own[name], curves[arm] + NORMAL_QUANTILE * own[name]
        places, style = curves.index.to_numpy(), {"color": colours()[0]}
        bands = "Bands: 95 % intervals over the users of a period."
        draw_band(ax, places, ends, style, label=arm, explanation=bands)
        ax.locator_params(axis="x", integer=True)
        ax.set(xlabel="period", ylabel=name)

    @figure("thesis2021-figure4.7", "Recall over beta (figures 4.7 to 4.11)", panels="panel")
    def plot_over_beta(self, ax: Axes, *, panel: str) -> None:
        """Draw the mean recall of an arm over the exponent, a line for each cut-off."""
        arm, _, validation = panel.rpartition(", ")
        some = self.recall[self.recall["validation"] == validation]
        keys = ["beta", "cutoff"]
        shares = some.groupby(keys)["effective_share"].mean()
        own = some[some["arm"] == arm].groupby(keys)[["value"]].mean()
        draw_recalls(ax, own.join(shares).reset_index(), title=panel)
