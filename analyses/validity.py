"""Validity: whether a measure orders the systems as the truth does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.intervals.systems import system_subsets, taus_within
from analyses.shared.analysis import Given, SettingError, analysis
from analyses.shared.drawing import axes_or_new
from analyses.shared.estimate import Estimate, Estimates
from analyses.shared.measure import Measure
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import best_of
from analyses.shared.table import Table, shown
from analyses.significance.question import Question, Test
from analyses.verdicts import framed, tabled
from analyses.verdicts.beside_truth import BesideTruth
from analyses.verdicts.captions import (
    caption_of_curves,
    caption_of_pairs,
    caption_of_robustness,
    caption_of_taus,
)
from analyses.verdicts.comparison import ITSELF, Comparison
from analyses.verdicts.drawn import (
    WITH_TRUTH,
    draw_robustness,
    draw_sizes,
    draw_taus,
    draw_verdicts,
)
from analyses.verdicts.joint_users import JointUsers, n_shared
from analyses.verdicts.losing import Loss
from analyses.verdicts.rulers import (
    check_truth,
    known_to,
    oriented,
    over_sizes,
    p_values_of,
    rulers_of,
)
from analyses.verdicts.said import (
    about_truth,
    choices_in_words,
    distance_in_words,
    errors_in_words,
    robust_or_right,
)
from analyses.verdicts.truth_curves import TruthCurves
from runs import InputError
from runs.shared.members import Levels, Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]
Known = TypeVar("Known")


class Settings(Question):
    """Comparison with what the systems are truly worth."""

    test: Test = Field("t", description="Of measured and of true differences between systems.")
    replicates: Whole = Field(
        400, ge=0, description="Resamples of the users for intervals; 0: none."
    )
    judgements: bool = Field(
        True, description="Whether judgements are taken away, too: curves of validity."
    )
    levels: Levels = Field(
        tuple(percent / 100 for percent in range(100, 0, -10)),
        min_length=1,
        description="Shares of the judgements that are kept.",
    )
    samples: Whole = Field(20, ge=1, description="Samples of the judgements per level.")
    popular_levels: Levels = Field(
        tuple(percent / 100 for percent in range(100, 79, -2)),
        min_length=1,
        description="Shares of the items that are kept, the least popular.",
    )
    repeats: Whole = Field(50, ge=1, description="Random subsets of the users of each size.")

    def check(self, given: Given) -> None:
        """Refuse a study that has no truth."""
        if not given.has_truth:
            raise SettingError(
                "test",
                'the analysis validity needs a truth: give a file with `path = "..."` in [truth], '
                "or study a simulated world.",
            )


@analysis(
    "validity",
    source="Pereira, Said & Santos (2025); Urbano, Lima & Hanjalic (2019)",
    needs=("truth",),
)
def validity(work: Work, settings: Settings) -> Validity:
    """Compare the ordering of the systems by every measure with the true ordering.

    The truth is the same measure on true judgements, and each reference that the truth names.
    Measures that have no value on the truth are left out.

    Raises
    ------
    InputError
        If there are fewer than two systems, or the truth is of other systems or of other measures
        alone.

    Examples
    --------
    The measure takes the second system for the best, which loses 0.4 of what is truly had:

    >>> from analyses.shared.measure import Scores
    >>> from analyses.shared.truth import Truth
    >>> from analyses.shared.work import ScoresAndTruth
    >>> measures, users = Measures([Measure("P", 5)]), np.array(["1", "2"])
    >>> measured = Scores(np.array([[[0.2, 0.2], [0.4, 0.2]]]), measures, ("a", "b"), users)
    >>> true = Scores(np.array([[[0.8, 0.8], [0.4, 0.4]]]), measures, ("a", "b"), users)
    >>> work = ScoresAndTruth(measured, Truth(true, tuple(measures), "of a world"))
    >>> found = validity(work, Settings(replicates=0, judgements=False))
    >>> found.tau.values, found.regret.values.round(3)
    (array([[-1.],
           [-1.]]), array([[0.4],
           [0.4]]))
    """
    truth, true = work.truth, oriented(work.truth.scores)
    measured = oriented(known_to(truth, work.scores))
    check_truth(measured, true)
    rulers = rulers_of(measured.measures, truth)
    users = JointUsers.of(measured, true, replicates=settings.replicates, seed=work.seed)
    beside = BesideTruth(measured, true, rulers, users)
    with work.progress("Comparing with the truth", 4 + 2 * settings.judgements) as bar:
        tau, regret = beside.tau(), beside.regret()
        bar.advance()
        p, all_true_p = (p_values_of(each, work, settings) for each in (measured, true))
        true_p = all_true_p[rulers]
        bar.advance()
        rates = beside.rates(p, true_p, settings)
        bar.advance()
        sizes, user_taus = over_sizes(
            measured, beside.worth, seed=work.seed, repeats=settings.repeats
        )
        bar.advance()
        kept = popular = None
        if settings.judgements:
            loss = Loss(work, measured, rulers, replicates=settings.replicates // 2)
            kept = loss.at_random(settings.levels, n_samples=settings.samples)
            bar.advance()
            popular = loss.of_popular(settings.popular_levels)
            bar.advance()
    return Validity(
        measures=measured.measures,
        systems=measured.systems,
        truths=(ITSELF, *map(str, truth.references)),
        measured=beside.means,
        true=beside.worth,
        tau=tau,
        tau_aps=beside.tau_aps(),
        regret=regret,
        tau_replicates=beside.tau_replicates,
        rates=rates,
        same_choice=beside.same_choice(),
        p=p,
        true_p=true_p,
        attainable=beside.attainable(),
        sizes=sizes,
        user_taus=user_taus,
        kept=kept,
        popular=popular,
        n_users=len(measured.users),
        n_true_users=len(true.users),
        n_shared=n_shared(measured, true),
        untold=tuple(str(each) for each in work.scores.measures if each not in measured.measures),
        condensed=truth.condensed,
        test=settings.test,
        correction=settings.correction,
        alpha=settings.alpha,
        seed=work.seed,
        origin=truth.origin,
    )


@dataclass(frozen=True, eq=False)
class Validity(Comparison, Result):
    """Agreement of every measure with the truth; its arrays are those of `Comparison`."""

    def estimates(self) -> Estimates:
        """tau-b with the first reference, with intervals over users, and in subsets of systems."""
        place, n_systems = self.place(), len(self.systems)
        subsets = system_subsets(n_systems, seed=self.seed)
        means, worth = (each[:, np.newaxis] for each in (self.measured, self.true[place]))
        values, replicates = self.tau.values[place], self.tau_replicates[place]
        low, high = (limit[place] for limit in self.tau.users)

        return Estimates(
            name=f"tau with true {self.main}",
            quantity=f"tau-b with true {self.main}",
            subject="Validity",
            best="valid",
            more="valid",
            measures=self.measures,
            values=values,
            low=low,
            high=high,
            replicates=replicates,
            within=taus_within(means, worth, subsets)[..., 0],
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``validity`` (see `to_frame`), ``validity_differences`` and ``validity_curves``.

        Returns
        -------
        ``validity_differences`` is of tau-b with the first reference. ``validity_curves`` has a row
        for each truth, measure and level: columns truth, metric, cutoff, kept ("judgements",
        "items", "users"), level, tau, low, high (95 % over users; for users, 5 % to 95 % of the
        subsets), itself (tau-b with the measure on all judgements).
        """
        return {
            "validity": self.to_frame(),
            "validity_differences": self.estimates().differences(),
            "validity_curves": framed.curves(self),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per truth and measure.

        Returns
        -------
        Columns truth, metric, cutoff; tau with its 95 % limits over users (low, high), over systems
        and over both; tau_ap; attainable (tau within noise); true_differences (pairs beyond noise)
        and inversions among them; regret with its limits over users, regret_share of the true
        range; the shares of pairs by verdict; power, type_iii and inverted (the share of the true
        differences) with the same limits as tau; chosen (the systems put first) and same_choice.
        """
        return framed.by_measure(self)

    @table("validity", "how each measure orders the systems, against the truth")
    def agreement(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate tau-b with its intervals, tau_AP, and what noise allows; the best first."""
        return tabled.agreement(self, truth, self.measures.compared(cutoff))

    @table("validity_grid", "tau-b with the truth by metric and cut-off")
    def grid(self, *, truth: str | None = None) -> Table:
        """Tabulate tau-b by metric and cut-off."""
        return tabled.grid(self, truth)

    @table("choices", "what is lost by choosing the system that a measure puts first")
    def choices(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate the system chosen, regret, and how sure the choice is."""
        return tabled.choices(self, truth, self.measures.compared(cutoff))

    @table("verdicts", "true differences found, significant ones that are wrong, and inversions")
    def pairs(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate power, type III errors and inversions, with intervals."""
        return tabled.pairs(self, truth, self.measures.compared(cutoff))

    @figure("validity", "Validity: agreement with the truth", number=21, panels="truth")
    def plot(self, ax: Axes | None = None, *, truth: str | None = None) -> Axes:
        """Draw tau-b of the report measures with its intervals, over users and over both."""
        place, ax = self.place(truth), axes_or_new(ax)
        numbers = self.best_first(self.measures.reported)
        limits = [
            (low[place, numbers], high[place, numbers])
            for low, high in (self.tau.both, self.tau.users)
        ]
        taus, ideal = self.tau.values[place, numbers], self.attainable[place, numbers]
        names = dict(zip(self._reported.tolist(), self._labels, strict=True))
        draw_taus(ax, [names[n] for n in numbers], taus, ideal, limits)
        ax.set_title(self.title(truth))
        return ax

    @figure(
        "validity_robustness",
        "Robustness against validity, by metric",
        number=22,
        panels="truth",
        of="robustness",
    )
    def plot_robustness(self, ax: Axes | None = None, *, truth: str | None = None) -> Axes:
        """Draw one point a measure: mean tau with itself under loss, and tau with the truth."""
        place, numbers, ax = self.place(truth), self._reported, axes_or_new(ax)
        low, high = (limit[place, numbers] for limit in self.tau.users)
        robustness = _known(self.robustness)[numbers]
        taus = self.tau.values[place, numbers]
        draw_robustness(ax, self._labels, robustness, taus, (low, high))
        ax.set_title(self.title(truth))
        return ax

    @figure(
        "validity_pairs",
        "Significant differences, right and wrong, by metric",
        number=23,
        panels="truth",
        of="verdicts",
    )
    def plot_pairs(self, ax: Axes | None = None, *, truth: str | None = None) -> Axes:
        """Stack the shares of pairs by verdict, a bar for each report measure."""
        ax, numbers = axes_or_new(ax), self._reported
        draw_verdicts(ax, self._labels, self.verdicts.shares()[self.place(truth), numbers])
        ax.set_title(self.title(truth))
        return ax

    @figure(
        "validity_judgements",
        "Validity when judgements are lost, by metric",
        number=24,
        panels="truth",
        of="kept",
    )
    def plot_judgements(self, ax: Axes | None = None, *, truth: str | None = None) -> Axes:
        """Draw tau-b with the truth against the share of judgements kept."""
        return self._plot_loss(ax, _known(self.kept), truth, "judgements kept (%)")

    @figure(
        "validity_popularity",
        "Validity when judgements of popular items are lost, by metric",
        number=25,
        panels="truth",
        of="popular",
    )
    def plot_popularity(self, ax: Axes | None = None, *, truth: str | None = None) -> Axes:
        """Draw tau-b with the truth against the share of items kept, the least popular."""
        return self._plot_loss(ax, _known(self.popular), truth, "least popular items kept (%)")

    def _plot_loss(
        self, ax: Axes | None, curves: TruthCurves, truth: str | None, along: str
    ) -> Axes:
        drawn = curves.curves(self.place(truth), self.measures)
        ax = drawn.plot(ax, metric=None, cutoff=None)
        ax.set(xlabel=along, ylabel=WITH_TRUTH, title=self.title(truth))
        return ax

    @figure(
        "validity_users",
        "Validity with fewer users, by metric",
        number=26,
        panels="truth",
    )
    def plot_users(self, ax: Axes | None = None, *, truth: str | None = None) -> Axes:
        """Draw mean tau-b with the truth against the number of users, with 90 % of the subsets."""
        ax, numbers = axes_or_new(ax), self._reported
        taus = self.user_taus[self.place(truth), numbers]
        draw_sizes(ax, self._labels, self.sizes, taus)
        ax.set_title(self.title(truth))
        return ax

    @property
    def _reported(self) -> NDArray[np.intp]:
        return self.numbers(self.measures.reported)

    @property
    def _labels(self) -> tuple[str, ...]:
        return self.measures.reported.labels

    def caption(self) -> str:
        """Say what is compared with what."""
        return caption_of_taus(self)

    def caption_of(self, part: str) -> str:
        """Say what the figure of a part shows."""
        if part == "verdicts":
            return caption_of_pairs(self)
        if part == "robustness":
            return caption_of_robustness(_known(self.kept))
        is_random = part == "kept"
        return caption_of_curves(
            self, _known(self.kept if is_random else self.popular), is_random=is_random
        )

    def findings(self) -> Sequence[str]:
        """Say what is most valid, what choices cost, and what significance is worth."""
        said = [
            best_of(self.estimates()),
            distance_in_words(self),
            choices_in_words(self),
            errors_in_words(self),
            robust_or_right(self),
        ]
        return [each for each in said if each]

    def cautions(self) -> Sequence[str]:
        """Say what the truth can and cannot tell."""
        return about_truth(self)

    def about(self, measure: Measure) -> Mapping[str, str]:
        """Give agreement with each truth, regret, and what significance is worth."""
        if measure not in self.measures:
            return {}
        n, place = self.measures.index(measure), self.place()
        low, high = self.tau.users
        taus = {
            f"tau with {'the same on the truth' if name == ITSELF else f'true {name}'}": str(
                Estimate(float(self.tau.values[t, n]), float(low[t, n]), float(high[t, n]))
            )
            for t, name in enumerate(self.truths)
        }
        power, wrong, _ = self.rates.values[:, place, n]
        return taus | {
            f"regret by true {self.main}": shown(float(self.regret.values[place, n])),
            "true differences found": shown(float(power)),
            "significant, but wrong": shown(float(wrong)),
        }


def _known(value: Known | None) -> Known:
    if value is None:
        raise InputError("judgements were not taken away: there are no curves of validity.")
    return value
