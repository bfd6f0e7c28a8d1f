"""Validity in one study: agreement with the truth, regret, and right and wrong differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.intervals.resampling import percentiles
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.analysis import SettingError, StudyFacts, analysis
from analyses.shared.drawing import (
    COLOURS,
    axes_or_new,
    categories,
    draw_whiskers,
    label_curves,
    scale_by_factors,
    side_by_side,
)
from analyses.shared.estimate import Limits
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Best, Cell, Table, shown
from analyses.significance.question import Question, Test
from analyses.validity import findings
from analyses.validity.comparison import RATES, VERDICTS, Comparison, JointUsers, regret_share
from analyses.validity.loss_curves import LossOfJudgements, TruthCurves, user_subset_taus
from analyses.validity.truth_agreement import (
    ITSELF,
    SUBSETS,
    ResampledComparison,
    TruthAgreement,
    limits_over_users,
    written_interval,
)
from runs import InputError
from runs.shared.settings import Levels, Whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]
Known = TypeVar("Known")

VERDICT_COLOURS = dict(zip(VERDICTS, (*COLOURS[:2], COLOURS[4], "0.6", "0.9"), strict=True))

WITH_TRUTH = "Kendall's tau-b with the truth"


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

    def check(self, given: StudyFacts) -> None:
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
    """
    truth, comparison = work.truth, Comparison.of(work)
    measured, true = comparison.measured, comparison.true
    users = JointUsers.of(measured, true, replicates=settings.replicates, seed=work.seed)
    resampled = ResampledComparison(comparison, users)
    with work.progress("Comparing with the truth", 4 + 2 * settings.judgements) as bar:
        tau, regret = resampled.tau(), resampled.regret()
        bar.advance()
        p, true_p = comparison.p_values(work, settings)
        bar.advance()
        rates = resampled.rates(p, true_p, settings)
        bar.advance()
        sizes, user_taus = user_subset_taus(
            measured, resampled.true_means, seed=work.seed, repeats=settings.repeats
        )
        bar.advance()
        kept = popular = None
        if settings.judgements:
            loss = LossOfJudgements(work, comparison, settings.replicates // 2)
            kept = loss.at_random(settings.levels, n_samples=settings.samples)
            bar.advance()
            popular = loss.of_popular(settings.popular_levels)
            bar.advance()
    return Validity(
        measures=measured.measures,
        systems=measured.systems,
        truths=(ITSELF, *map(str, truth.references)),
        measured=resampled.means,
        true=resampled.true_means,
        tau=tau,
        tau_aps=resampled.tau_aps(),
        regret=regret,
        tau_replicates=resampled.tau_replicates,
        rates=rates,
        same_choice=resampled.same_choice(),
        p=p,
        true_p=true_p,
        attainable=comparison.attainable(),
        sizes=sizes,
        user_taus=user_taus,
        kept=kept,
        popular=popular,
        n_users=len(measured.users),
        n_true_users=len(true.users),
        n_shared=len(np.intersect1d(measured.users, true.users)),
        unmeasured=tuple(str(m) for m in work.scores.measures if m not in measured.measures),
        condensed=truth.condensed,
        test=settings.test,
        correction=settings.correction,
        alpha=settings.alpha,
        seed=work.seed,
        origin=truth.origin,
    )


@dataclass(frozen=True, eq=False)
class Validity(TruthAgreement, Result):
    """Agreement of every measure with the truth, in tables, figures and findings."""

    @table("validity", "how each measure orders the systems, against the truth")
    def agreement(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate tau-b with its intervals, tau_AP, and what noise allows; the best first."""
        place, best = self.place(truth), self.best_first(self.measures.compared(cutoff), truth)
        rows: list[list[Cell]] = [
            [
                str(self.measures[n]),
                float(self.tau.values[place, n]),
                written_interval(self.tau.users, place, n),
                written_interval(self.tau.both, place, n),
                float(self.tau_aps[place, n]),
                shown(float(self.attainable[place, n]), decimals=2),
                self._behind(place, n, best[0]),
            ]
            for n in best
        ]
        headings = ["measure", "tau-b", "users", "& systems", "tau_AP", "ideal", "behind first"]
        title = f"Agreement with {self.title(truth)}"
        return Table("validity", title, self.caption(), headings, rows, {1: max, 4: max})

    def _behind(self, place: int, number: int, best: int) -> str:
        """Write the interval over users of the paired difference to the best measure."""
        if number == best:
            return ""
        taus, replicates = self.tau.values[place], self.tau_replicates[place]
        differences = replicates[number] - replicates[best]
        return written_interval(limits_over_users(taus[number] - taus[best], differences))

    @table("validity_grid", "tau-b with the truth by metric and cut-off")
    def grid(self, *, truth: str | None = None) -> Table:
        """Tabulate tau-b by metric and cut-off."""
        cells = self.measures.crossed(self.tau.values[self.place(truth)], heading="tau-b")
        title = f"tau-b with {self.title(truth)}"
        return Table.crossed(
            "validity_grid", title, self.caption(), "metric", cells, best=lambda _: max
        )

    @table("choices", "what is lost by choosing the system that a measure puts first")
    def choices(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate the system chosen, regret, and how sure the choice is."""
        place, shares = self.place(truth), regret_share(self.regret.values, self.true)
        rows: list[list[Cell]] = [
            [
                str(self.measures[n]),
                self.chosen(n),
                float(self.same_choice[n]),
                float(self.regret.values[place, n]),
                written_interval(self.regret.users, place, n, decimals=4),
                float(shares[place, n]),
            ]
            for n in self.numbers(self.measures.compared(cutoff))
        ]
        headings = ["measure", "chosen", "again", "regret", "95 %", "of range"]
        title = f"Regret by {self.title(truth)}"
        return Table("choices", title, findings.REGRET, headings, rows, {3: min, 5: min})

    @table("verdicts", "true differences found, significant ones that are wrong, and inversions")
    def pairs(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate power, type III errors and inversions, with intervals."""
        place, rows = self.place(truth), list[list[Cell]]()
        for n in self.measures.numbers(self.measures.compared(cutoff)):
            row: list[Cell] = [str(self.measures[n])]
            for rate in map(self.rate, RATES):
                # Over users and systems where both are known, else over users.
                both, users = (written_interval(x, place, n) for x in (rate.both, rate.users))
                row += [float(rate.values[place, n]), both or users]
            rows.append(row)
        headings = ["measure", "power", "95 %", "type III", "95 %", "inverted", "95 %"]
        title, caption = f"Pairs of systems, by {self.title(truth)}", findings.pairs_caption(self)
        best: dict[int, Best] = {1: max, 3: min, 5: min}
        return Table("verdicts", title, caption, headings, rows, best)

    @figure("validity", "Validity: agreement with the truth", number=21, panels="truth")
    def plot(self, ax: Axes | None = None, *, truth: str | None = None) -> Axes:
        """Draw tau-b of the report measures with its intervals, over users and over both."""
        place, ax = self.place(truth), axes_or_new(ax)
        numbers = self.best_first(self.measures.reported)
        names = dict(zip(self._reported.tolist(), self._labels, strict=True))
        rows = np.arange(len(numbers))[::-1]
        for (low, high), width in zip((self.tau.both, self.tau.users), (0.8, 2.5), strict=True):
            ax.hlines(rows, low[place, numbers], high[place, numbers], COLOURS[0], linewidth=width)
        taus, ideal = self.tau.values[place, numbers], self.attainable[place, numbers]
        ax.plot(taus, rows, "o", color=COLOURS[0], markersize=4, label="tau-b")
        ax.plot(ideal, rows, "|", color="0.4", markersize=9, label="ideal, but for noise")
        ax.set_yticks(rows, [names[n] for n in numbers])
        ax.set_xlabel(WITH_TRUTH)
        label_curves(ax)
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
        ax, rows = axes_or_new(ax), np.arange(len(self._labels))[::-1]
        percent = 100 * self.verdicts.shares()[self.place(truth), self._reported]
        starts = np.cumsum(percent, axis=1) - percent
        for n, (name, colour) in enumerate(VERDICT_COLOURS.items()):
            ax.barh(rows, percent[:, n], left=starts[:, n], color=colour, label=name)
        ax.set_yticks(rows, self._labels)
        ax.set_xlim(0, 100)
        ax.set_xlabel("pairs of systems (%)")
        label_curves(ax)
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
        self, ax: Axes | None, curves: TruthCurves, truth: str | None, label: str
    ) -> Axes:
        drawn = curves.curves(self.place(truth), self.measures)
        ax = drawn.plot(ax, metric=None, cutoff=None)
        ax.set(xlabel=label, ylabel=WITH_TRUTH, title=self.title(truth))
        return ax

    @figure("validity_users", "Validity with fewer users, by metric", number=26, panels="truth")
    def plot_users(self, ax: Axes | None = None, *, truth: str | None = None) -> Axes:
        """Draw mean tau-b with the truth against the number of users, with 90 % of the subsets."""
        ax, labels = axes_or_new(ax), self._labels
        taus = self.user_taus[self.place(truth), self._reported]
        places = side_by_side(self.sizes, len(labels))
        for own, (label, style), place in zip(taus, categories(labels), places, strict=True):
            limits = percentiles(own, confidence=SUBSETS)
            draw_whiskers(ax, place, mean_of_defined(own), limits, style, label=label)
        scale_by_factors(ax, along="x")
        ax.set_xlabel("users")
        ax.set_ylabel(WITH_TRUTH)
        label_curves(ax)
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
        return findings.taus_caption(self)

    def caption_of(self, part: str) -> str:
        """Say what the figure of a part shows."""
        if part == "verdicts":
            return findings.pairs_caption(self)
        if part == "robustness":
            return findings.robustness_caption(_known(self.kept))
        is_random = part == "kept"
        curves = _known(self.kept if is_random else self.popular)
        return findings.curves_caption(self, curves, is_random=is_random)

    def findings(self) -> Sequence[str]:
        """Say what is most valid, what choices cost, and what significance is worth."""
        return findings.findings(self)

    def cautions(self) -> Sequence[str]:
        """Say what the truth can and cannot tell."""
        return findings.cautions(self)


def draw_robustness(
    ax: Axes, labels: Sequence[str], robustness: Floats, taus: Floats, limits: Limits
) -> None:
    """Draw a point a measure, with the interval of its validity."""
    each = zip(categories(labels), robustness, taus, *limits, strict=True)
    for (label, style), robust, valid, low, high in each:
        ax.plot([robust], [valid], label=label, **style)
        ax.vlines([robust], low, high, color=style["color"], linewidth=0.9)
    ax.axline((1.0, 1.0), slope=1, color="0.8", linewidth=0.8, zorder=0)
    ax.set_xlim(right=1.01)
    ax.set_xlabel("robustness: mean tau-b with itself")
    ax.set_ylabel("validity: tau-b with the truth")
    label_curves(ax)


def _known(value: Known | None) -> Known:
    if value is None:
        raise InputError("judgements were not taken away: there are no curves of validity.")
    return value
