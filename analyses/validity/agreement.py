"""Validity in one study: agreement with the truth, regret, and right and wrong differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.intervals.resampling import percentiles
from analyses.intervals.systems import system_subsets, taus_within
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.analysis import Given, SettingError, analysis
from analyses.shared.drawing import (
    COLOURS,
    axes_or_new,
    categories,
    chosen_panel,
    draw_whiskers,
    label_curves,
    scale_by_factors,
    side_by_side,
)
from analyses.shared.estimate import Estimate, Estimates, Limits
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Best, Cell, Table, shown
from analyses.significance.question import Correction, Question, Test
from analyses.validity import sentences
from analyses.validity.comparison import Comparison, JointUsers, put_first, regret_share
from analyses.validity.loss_curves import LossOfJudgements, TruthCurves, user_subset_taus
from analyses.validity.pairs import RATES, VERDICTS, PairVerdicts
from analyses.validity.uncertainty import (
    ResampledComparison,
    Uncertain,
    limits_over_users,
    written_interval,
)
from runs import InputError
from runs.shared.settings import Levels, Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]
Known = TypeVar("Known")

ITSELF = "itself"
"""The name of the truth that is the same measure, on the true judgements."""

VERDICT_COLOURS = dict(zip(VERDICTS, (*COLOURS[:2], COLOURS[4], "0.6", "0.9"), strict=True))
SUBSETS = 0.9
"""Intervals of subsets of the users run from the 5 % to the 95 % quantile."""

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

    Examples
    --------
    The measure takes the second system for the best, which loses 0.4 of the true score:

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
class Validity(Result):
    """Agreement of every measure with the truth. All scores are such that more is better.

    Parameters
    ----------
    measures
        Label of the axis n_measures.
    systems
        Names of the systems; pairs are i < j, first by i, then by j.
    truths
        Label of the axis n_truths: the same measure on the truth, and the references.
    measured
        Mean scores, of shape (n_measures, n_systems).
    true
        True mean scores, of shape (n_truths, n_measures, n_systems).
    tau, tau_aps, regret
        Kendall's tau-b, tau_AP with the truth as reference, and the truth lost by choosing the
        system that the measure puts first; of shape (n_truths, n_measures).
    tau_replicates
        tau-b with resampled users, of shape (n_truths, n_measures, n_replicates).
    rates
        Power, type III and inverted, of shape (n_rates, n_truths, n_measures): see `PairVerdicts`.
        Limits over users are of the report measures alone.
    same_choice
        Share of the replicates in which a measure puts the same system first, of shape
        (n_measures,).
    p, true_p
        p-values of measured and true differences, corrected if that is asked for; of shapes
        (n_measures, n_pairs) and (n_truths, n_measures, n_pairs).
    attainable
        tau that is expected of a measure that is right, but for chance over users; of shape
        (n_truths, n_measures).
    sizes, user_taus
        Numbers of users, and tau-b with the truth of random subsets of them, of shape (n_truths,
        n_measures, n_sizes, n_repeats).
    kept, popular
        Curves over the share of judgements, and over that of items, that are kept; None where
        judgements are not known.
    n_users, n_true_users, n_shared
        Users of the study, of the truth, and of both.
    unmeasured
        Names of measures that have no value on the truth.
    condensed
        Whether the truth is of lists that hold truly judged items alone.
    test, correction, alpha, seed, origin
        What was asked, and where the truth is from.
    """

    measures: Measures
    systems: tuple[str, ...]
    truths: tuple[str, ...]
    measured: Floats
    true: Floats
    tau: Uncertain
    tau_aps: Floats
    regret: Uncertain
    tau_replicates: Floats
    rates: Uncertain
    same_choice: Floats
    p: Floats
    true_p: Floats
    attainable: Floats
    sizes: tuple[int, ...]
    user_taus: Floats
    kept: TruthCurves | None
    popular: TruthCurves | None
    n_users: int
    n_true_users: int
    n_shared: int
    unmeasured: tuple[str, ...]
    condensed: bool
    test: Test
    correction: Correction
    alpha: float
    seed: int
    origin: str

    @cached_property
    def verdicts(self) -> PairVerdicts:
        """What each measure says of every pair, marks of shape (n_truths, n_measures, n_pairs)."""
        return PairVerdicts.of_means(
            self.measured, self.p, self.true, self.true_p, alpha=self.alpha
        )

    @property
    def robustness(self) -> Floats | None:
        """Mean tau-b with itself when judgements are lost, of shape (n_measures,)."""
        return None if self.kept is None else self.kept.robustness

    @property
    def main(self) -> str:
        """The truth of tables and sentences that take one: the first reference."""
        return self.truths[1]

    def rate(self, name: str) -> Uncertain:
        """Give the power, the share of errors of type III, or that of inverted differences."""
        return self.rates.part(RATES.index(name))

    def place(self, truth: str | None = None) -> int:
        """Number a truth; by default the first reference."""
        return chosen_panel(self.truths, truth or self.main)

    def title(self, truth: str | None) -> str:
        """Name a truth, for titles."""
        return f"true {name}" if (name := truth or self.main) != ITSELF else "itself on the truth"

    def numbers(self, some: Measures) -> NDArray[np.intp]:
        """Number some measures."""
        return np.array(self.measures.numbers(some), dtype=np.intp)

    def best_first(self, some: Measures, truth: str | None = None) -> list[int]:
        """Number some measures, sorted by decreasing tau; undefined ones last."""
        numbers = self.numbers(some)
        order = np.argsort(-self.tau.values[self.place(truth), numbers], kind="stable")
        return [int(number) for number in numbers[order]]

    def chosen(self, number: int) -> str:
        """Name the system that a measure puts first; several, if they tie."""
        return " = ".join(np.array(self.systems)[put_first(self.measured[number])])

    def estimates(self) -> Estimates:
        """tau-b with the first reference, with intervals over users, and in subsets of systems."""
        place, n_systems = self.place(), len(self.systems)
        subsets = system_subsets(n_systems, seed=self.seed)
        means, true_means = (each[:, np.newaxis] for each in (self.measured, self.true[place]))
        low, high = (limit[place] for limit in self.tau.users)
        return Estimates(
            name=f"tau with true {self.main}",
            quantity=f"tau-b with true {self.main}",
            subject="Validity",
            best="valid",
            more="valid",
            measures=self.measures,
            values=self.tau.values[place],
            low=low,
            high=high,
            replicates=self.tau_replicates[place],
            within=taus_within(means, true_means, subsets)[..., 0],
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
            "validity_curves": self._curves(),
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
        import pandas as pd

        n_truths, n_measures = self.tau.values.shape
        shares = self.verdicts.shares()
        columns = {
            **self.tau.columns("tau"),
            "tau_ap": self.tau_aps,
            "attainable": self.attainable,
            "true_differences": self.verdicts.sure.sum(axis=-1),
            "inversions": self.verdicts.inverted.sum(axis=-1),
            "regret": self.regret.values,
            "regret_low": self.regret.users[0],
            "regret_high": self.regret.users[1],
            "regret_share": regret_share(self.regret.values, self.true),
            **{_column(name): shares[..., n] for n, name in enumerate(VERDICTS)},
        }
        for name in RATES:
            columns |= self.rate(name).columns(_column(name), f"{_column(name)}_")
        labels = {
            "truth": np.repeat(self.truths, n_measures),
            "metric": [measure.metric for measure in self.measures] * n_truths,
            "cutoff": np.tile(self.measures.column, n_truths),
        }
        values = {name: values.ravel() for name, values in columns.items()}
        return pd.DataFrame(labels | values).assign(
            chosen=[self.chosen(number) for number in range(n_measures)] * n_truths,
            same_choice=np.tile(self.same_choice, n_truths),
        )

    def _curves(self) -> pd.DataFrame:
        """One row per truth, measure and level of what is kept."""
        import pandas as pd

        limits = percentiles(self.user_taus, confidence=SUBSETS)
        parts = [self._curve("users", self.sizes, mean_of_defined(self.user_taus), limits)]
        for name, lost in (("judgements", self.kept), ("items", self.popular)):
            if lost is not None:
                bands = [lost.curves(n, self.measures).band() for n in range(len(self.truths))]
                low, high = (np.stack(side) for side in zip(*bands, strict=True))
                part = self._curve(name, lost.levels, lost.taus, (low, high))
                parts.append(part.assign(itself=np.tile(lost.itself.ravel(), len(self.truths))))
        return pd.concat(parts, ignore_index=True)

    def _curve(
        self, kept: str, levels: Sequence[float], taus: Floats, limits: Limits
    ) -> pd.DataFrame:
        import pandas as pd

        labels = product(self.truths, self.measures, levels)
        rows = [(t, m.metric, m.cutoff, kept, level) for t, m, level in labels]
        frame = pd.DataFrame(rows, columns=["truth", "metric", "cutoff", "kept", "level"])
        frame["cutoff"] = frame["cutoff"].astype("Int64")
        low, high = limits
        return frame.assign(tau=taus.ravel(), low=low.ravel(), high=high.ravel())

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
        return Table("choices", title, sentences.REGRET, headings, rows, {3: min, 5: min})

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
        title, caption = f"Pairs of systems, by {self.title(truth)}", sentences.pairs_caption(self)
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
        return sentences.taus_caption(self)

    def caption_of(self, part: str) -> str:
        """Say what the figure of a part shows."""
        if part == "verdicts":
            return sentences.pairs_caption(self)
        if part == "robustness":
            return sentences.robustness_caption(_known(self.kept))
        is_random = part == "kept"
        curves = _known(self.kept if is_random else self.popular)
        return sentences.curves_caption(self, curves, is_random=is_random)

    def findings(self) -> Sequence[str]:
        """Say what is most valid, what choices cost, and what significance is worth."""
        return sentences.findings(self)

    def cautions(self) -> Sequence[str]:
        """Say what the truth can and cannot tell."""
        return sentences.cautions(self)

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


def _column(name: str) -> str:
    return name.replace(" ", "_").lower()


def _known(value: Known | None) -> Known:
    if value is None:
        raise InputError("judgements were not taken away: there are no curves of validity.")
    return value
