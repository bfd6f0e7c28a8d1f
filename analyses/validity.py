"""Validity: whether a measure orders the systems as the truth does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.discrimination import CORRECTIONS_IN_WORDS, TESTS_IN_WORDS
from analyses.intervals.resampling import interval, percentiles
from analyses.intervals.systems import LEAST_SYSTEMS, over_systems
from analyses.ordering import tau_ap_a, tau_b
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.analysis import Given, SettingError, analysis
from analyses.shared.drawing import axes_or_new, chosen_panel
from analyses.shared.estimate import Estimate, Estimates, Limits
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import best_of, listed
from analyses.shared.table import Best, Cell, Table, shown
from analyses.significance.permutation import pair_indices
from analyses.significance.question import Correction, Question, Test
from analyses.verdicts.choice import as_share, put_first, regret
from analyses.verdicts.drawn import (
    SUBSETS,
    WITH_TRUTH,
    draw_robustness,
    draw_sizes,
    draw_taus,
    draw_verdicts,
)
from analyses.verdicts.joint_users import n_shared, resample_jointly
from analyses.verdicts.losing import validity_of_shares, validity_of_unpopular
from analyses.verdicts.pair_verdicts import VERDICTS, PairVerdicts, pairs_within, ratio_of
from analyses.verdicts.reliability import reliability, tau_within_noise
from analyses.verdicts.rulers import (
    check_truth,
    oriented,
    over_sizes,
    p_values_of,
    rulers_of,
)
from analyses.verdicts.said import (
    REGRET_SAID,
    VERDICTS_SAID,
    beyond_chance,
    of_choices,
    of_errors,
    robust_or_right,
)
from analyses.verdicts.truth_curves import TruthCurves
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

FEW_PAIRS = 10
"""With fewer pairs whose true difference is beyond noise, shares of them say little."""

TESTED_ANEW = "the paired permutation test of the difference in means"


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

    Raises
    ------
    InputError
        If there are fewer than two systems, or the truth is of other systems or lacks a measure.

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
    >>> found.taus, found.regrets.round(3)
    (array([[-1.],
           [-1.]]), array([[0.4],
           [0.4]]))
    """
    scores, truth = work.scores, work.truth
    check_truth(scores, truth.scores)
    rulers = rulers_of(scores.measures, truth)
    measured, true = oriented(scores), oriented(truth.scores)
    n_steps = 3 + 2 * settings.judgements
    with work.progress("Comparing with the truth", n_steps) as bar:
        means, worth = measured.means(), true.means()[rulers]
        first, second = resample_jointly(
            measured, true, replicates=settings.replicates, seed=work.seed
        )
        drawn, drawn_worth = np.moveaxis(first, -1, 1), np.moveaxis(second, -1, 1)[rulers]
        bar.advance()
        p, true_p = (p_values_of(each, work, settings) for each in (scores, truth.scores))
        bar.advance()
        sizes, user_taus = over_sizes(measured, worth, seed=work.seed, repeats=settings.repeats)
        bar.advance()
        kept = popular = None
        if settings.judgements:
            few = settings.replicates // 2
            kept = validity_of_shares(
                work, rulers, settings.levels, n_samples=settings.samples, replicates=few
            )
            bar.advance()
            popular = validity_of_unpopular(work, rulers, settings.popular_levels, replicates=few)
            bar.advance()
    alone = reliability(truth.scores.values)
    return Validity(
        measures=scores.measures,
        systems=scores.systems,
        truths=(ITSELF, *map(str, truth.references)),
        measured=means,
        true=worth,
        taus=tau_b(np.broadcast_to(means, worth.shape), worth),
        tau_aps=tau_ap_a(np.broadcast_to(means, worth.shape), worth),
        regrets=regret(means, worth),
        tau_replicates=tau_b(np.broadcast_to(drawn, drawn_worth.shape), drawn_worth),
        regret_replicates=regret(drawn, drawn_worth),
        same_choice=(put_first(drawn) & put_first(means)[:, np.newaxis]).any(axis=2).mean(axis=1)
        if settings.replicates
        else np.full(len(means), np.nan),
        p=p,
        true_p=true_p[rulers],
        attainable=tau_within_noise(reliability(scores.values), alone[rulers]),
        sizes=sizes,
        user_taus=user_taus,
        kept=kept,
        popular=popular,
        n_users=len(scores.users),
        n_true_users=len(truth.scores.users),
        n_shared=n_shared(scores, truth.scores),
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
    taus, tau_aps, regrets
        Kendall's tau-b, tau_AP with the truth as reference, and the truth lost by choosing the
        system that the measure puts first; of shape (n_truths, n_measures).
    tau_replicates, regret_replicates
        The same with resampled users, of shape (n_truths, n_measures, n_replicates).
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
    test, correction, alpha, seed, origin
        What was asked, and where the truth is from.
    """

    measures: Measures
    systems: tuple[str, ...]
    truths: tuple[str, ...]
    measured: Floats
    true: Floats
    taus: Floats
    tau_aps: Floats
    regrets: Floats
    tau_replicates: Floats
    regret_replicates: Floats
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
    test: Test
    correction: Correction
    alpha: float
    seed: int
    origin: str

    @cached_property
    def verdicts(self) -> PairVerdicts:
        """What each measure says of every pair, marks of shape (n_truths, n_measures, n_pairs)."""
        first, second = pair_indices(len(self.systems))
        return PairVerdicts.of(
            self.measured[:, first] - self.measured[:, second],
            self.p,
            self.true[..., first] - self.true[..., second],
            self.true_p,
            alpha=self.alpha,
        )

    @property
    def robustness(self) -> Floats | None:
        """Mean tau-b with itself when judgements are lost, of shape (n_measures,)."""
        return None if self.kept is None else self.kept.robustness

    @cached_property
    def over_users(self) -> tuple[Floats, Floats]:
        """95 % limits of the taus, over users."""
        return _limits(self.taus, self.tau_replicates, (-1.0, 1.0))

    @cached_property
    def over_systems(self) -> tuple[Floats, Floats]:
        """95 % limits of the taus, over systems; NaN for fewer than 8."""
        return over_systems(self._taus_of, len(self.systems), seed=self.seed, limits=(-1.0, 1.0))

    @cached_property
    def over_both(self) -> tuple[Floats, Floats]:
        """95 % limits of the taus, over users and systems: both variances are added."""
        reaches = (
            np.maximum(high - self.taus, self.taus - low)
            for low, high in (self.over_users, self.over_systems)
        )
        reach = np.hypot(*reaches)
        return np.clip(self.taus - reach, -1, 1), np.clip(self.taus + reach, -1, 1)

    def _taus_of(self, some: NDArray[np.intp]) -> Floats:
        measured = np.moveaxis(self.measured[:, some], 0, -2)[..., np.newaxis, :, :]
        true = np.moveaxis(self.true[..., some], (0, 1), (-3, -2))
        return tau_b(np.broadcast_to(measured, true.shape), true)

    @property
    def power(self) -> Floats:
        """Share of the true differences that are found, of shape (n_truths, n_measures)."""
        return ratio_of(self.verdicts.right, self.verdicts.sure)

    @property
    def type_iii(self) -> Floats:
        """Share of the significant differences that truly are the other way round."""
        return ratio_of(self.verdicts.wrong, self.verdicts.significant)

    @cached_property
    def power_over_systems(self) -> tuple[Floats, Floats]:
        """95 % limits of the power, over systems."""
        right, sure = self.verdicts.right, self.verdicts.sure

        def power(some: NDArray[np.intp]) -> Floats:
            weights = None if some.ndim == 1 else pairs_within(some, len(self.systems))
            return ratio_of(right, sure, weights)

        return over_systems(power, len(self.systems), seed=self.seed, limits=(0.0, 1.0))

    @property
    def main(self) -> str:
        """The truth that is told of where one is: the first reference."""
        return self.truths[1]

    def estimates(self) -> Estimates:
        """tau-b with the first reference, with intervals over users."""
        place = self.truths.index(self.main)
        values, replicates = self.taus[place], self.tau_replicates[place]
        low, high = (limits[place] for limits in self.over_users)

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
            "validity_curves": self._curves_frame(),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per truth and measure.

        Returns
        -------
        Columns truth, metric, cutoff; tau with its 95 % limits over users (low, high), over systems
        and over both; tau_ap; attainable (tau within noise); true_differences (pairs beyond noise)
        and inversions among them; regret with its limits over users, regret_share of the true
        range; the shares of pairs by verdict; power with its limits over systems; type_iii; chosen
        (the systems put first) and same_choice.
        """
        import pandas as pd

        verdicts, shares = self.verdicts, self.verdicts.shares()
        low, high = self._regret_limits
        columns = {
            "tau": self.taus,
            "low": self.over_users[0],
            "high": self.over_users[1],
            "systems_low": self.over_systems[0],
            "systems_high": self.over_systems[1],
            "both_low": self.over_both[0],
            "both_high": self.over_both[1],
            "tau_ap": self.tau_aps,
            "attainable": self.attainable,
            "true_differences": verdicts.sure.sum(axis=-1),
            "inversions": verdicts.inverted.sum(axis=-1),
            "regret": self.regrets,
            "regret_low": low,
            "regret_high": high,
            "regret_share": as_share(self.regrets, self.true),
            **{name.replace(" ", "_"): shares[..., n] for n, name in enumerate(VERDICTS)},
            "power": self.power,
            "power_low": self.power_over_systems[0],
            "power_high": self.power_over_systems[1],
            "type_iii": self.type_iii,
        }
        n_truths, n_measures = self.taus.shape
        frame = pd.DataFrame(
            {
                "truth": np.repeat(self.truths, n_measures),
                "metric": [measure.metric for measure in self.measures] * n_truths,
                "cutoff": np.tile(self.measures.column, n_truths),
                **{name: values.ravel() for name, values in columns.items()},
            }
        )
        chosen = [self._chosen(number) for number in range(n_measures)]
        choices = {"chosen": chosen * n_truths, "same_choice": np.tile(self.same_choice, n_truths)}
        return frame.assign(**choices)

    @property
    def _regret_limits(self) -> tuple[Floats, Floats]:
        return _limits(self.regrets, self.regret_replicates, (0.0, np.inf))

    def _chosen(self, number: int) -> str:
        return " = ".join(np.array(self.systems)[put_first(self.measured[number])])

    def _curves_frame(self) -> pd.DataFrame:
        import pandas as pd

        low, high = percentiles(self.user_taus, confidence=SUBSETS)
        parts = [self._curve_frame("users", self.sizes, mean_of_defined(self.user_taus), low, high)]
        for name, curves in (("judgements", self.kept), ("items", self.popular)):
            if curves is not None:
                bands = [curves.curves(n, self.measures).band() for n in range(len(self.truths))]
                limits = (np.stack(side) for side in zip(*bands, strict=True))
                part = self._curve_frame(name, curves.levels, curves.taus, *limits)
                parts.append(part.assign(itself=np.tile(curves.itself.ravel(), len(self.truths))))
        return pd.concat(parts, ignore_index=True)

    def _curve_frame(
        self, kept: str, levels: Sequence[float], taus: Floats, low: Floats, high: Floats
    ) -> pd.DataFrame:
        import pandas as pd

        labels = product(self.truths, self.measures, levels)
        rows = [(t, m.metric, m.cutoff, kept, level) for t, m, level in labels]
        frame = pd.DataFrame(rows, columns=["truth", "metric", "cutoff", "kept", "level"])
        frame["cutoff"] = frame["cutoff"].astype("Int64")
        return frame.assign(tau=taus.ravel(), low=low.ravel(), high=high.ravel())

    def _place(self, truth: str | None) -> int:
        return chosen_panel(self.truths, truth or self.main)

    def _title(self, truth: str | None) -> str:
        return f"true {name}" if (name := truth or self.main) != ITSELF else "itself on the truth"

    @property
    def _labels(self) -> list[str]:
        return [str(measure) for measure in self.measures.reported]

    def _reported(self, truth: str | None) -> tuple[list[int], Floats]:
        """Give the numbers of the report measures, and their taus."""
        numbers = self.measures.numbers(self.measures.reported)
        return numbers, self.taus[self._place(truth), numbers]

    @table("validity", "how each measure orders the systems, against the truth")
    def agreement(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate tau-b with its intervals, tau_AP, and what noise allows; the best first."""
        place, compared = self._place(truth), self.measures.compared(cutoff)
        best = self._best_first(place, compared)
        rows: list[list[Cell]] = [
            [
                str(self.measures[n]),
                float(self.taus[place, n]),
                _between(self.over_users, place, n),
                _between(self.over_both, place, n),
                float(self.tau_aps[place, n]),
                shown(float(self.attainable[place, n]), decimals=2),
                self._behind(place, n, best[0]),
            ]
            for n in best
        ]
        headings = ["measure", "tau-b", "users", "& systems", "tau_AP", "ideal", "behind first"]
        title = f"Agreement with {self._title(truth)}"
        return Table("validity", title, self.caption(), headings, rows, {1: max, 4: max})

    def _best_first(self, place: int, compared: Measures) -> list[int]:
        """Sort measures by tau, falling; undefined ones last."""
        numbers = np.array(compared and self.measures.numbers(compared), dtype=np.intp)
        order = np.argsort(-self.taus[place, numbers], kind="stable")
        return [int(number) for number in numbers[order]]

    def _behind(self, place: int, number: int, best: int) -> str:
        """Say how far one is behind another, with the interval over users; paired."""
        if number == best:
            return ""
        difference = self.taus[place, number] - self.taus[place, best]
        drawn = self.tau_replicates[place, number] - self.tau_replicates[place, best]
        low, high = _limits(np.array(difference), drawn)
        told = f"{shown(float(difference), decimals=2)} ["
        return f"{told}{shown(float(low), decimals=2)},{shown(float(high), decimals=2)}]"

    @table("validity_grid", "tau-b with the truth by metric and cut-off")
    def grid(self, *, truth: str | None = None) -> Table:
        """Tabulate tau-b by metric and cut-off."""
        cells = self.measures.crossed(self.taus[self._place(truth)], heading="tau-b")
        title = f"tau-b with {self._title(truth)}"
        return Table.crossed(
            "validity_grid", title, self.caption(), "metric", cells, best=lambda _: max
        )

    @table("choices", "what is lost by choosing the system that a measure puts first")
    def choices(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate the system chosen, regret, and how sure the choice is."""
        place, compared = self._place(truth), self.measures.compared(cutoff)
        shares = as_share(self.regrets, self.true)
        rows: list[list[Cell]] = [
            [
                str(self.measures[n]),
                self._chosen(n),
                float(self.same_choice[n]),
                float(self.regrets[place, n]),
                _between(self._regret_limits, place, n, decimals=4),
                float(shares[place, n]),
            ]
            for n in self.measures.numbers(compared)
        ]
        headings = ["measure", "chosen", "again", "regret", "95 %", "of range"]
        title = f"Regret by {self._title(truth)}"
        return Table("choices", title, REGRET_SAID, headings, rows, {3: min, 5: min})

    @table("verdicts", "measured differences between systems that are right, wrong, and missed")
    def pairs(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate pairs of systems by verdict, power, type III errors and inversions."""
        place, compared = self._place(truth), self.measures.compared(cutoff)
        shares, inverted = self.verdicts.shares(), self.verdicts.inverted.sum(axis=-1)
        rows: list[list[Cell]] = [
            [
                str(self.measures[n]),
                *(float(share) for share in shares[place, n, :-1]),
                float(self.power[place, n]),
                _between(self.power_over_systems, place, n),
                float(self.type_iii[place, n]),
                int(inverted[place, n]),
            ]
            for n in self.measures.numbers(compared)
        ]
        headings = ["measure", *VERDICTS[:-1], "power", "95 %", "type III", "inverted"]
        title = f"Pairs of systems, by {self._title(truth)}"
        best: dict[int, Best] = {5: max, 7: min, 8: min}
        return Table("verdicts", title, self.caption_of("verdicts"), headings, rows, best)

    @figure("validity", "Validity: agreement with the truth", number=21, panels="truth")
    def plot(self, ax: Axes | None = None, *, truth: str | None = None) -> Axes:
        """Draw tau-b of the report measures with its intervals, over users and over both."""
        place, ax = self._place(truth), axes_or_new(ax)
        numbers = self._best_first(self._place(None), self.measures.reported)
        limits = [
            (low[place, numbers], high[place, numbers])
            for low, high in (self.over_both, self.over_users)
        ]
        taus, ideal = self.taus[place, numbers], self.attainable[place, numbers]
        draw_taus(ax, [str(self.measures[n]) for n in numbers], taus, ideal, limits)
        ax.set_title(self._title(truth))
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
        ax, numbers, taus = axes_or_new(ax), *self._reported(truth)
        low, high = (limit[self._place(truth), numbers] for limit in self.over_users)
        robustness = _known(self.robustness)[numbers]
        draw_robustness(ax, self._labels, robustness, taus, (low, high))
        ax.set_title(self._title(truth))
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
        ax, numbers, _ = axes_or_new(ax), *self._reported(truth)
        draw_verdicts(ax, self._labels, self.verdicts.shares()[self._place(truth), numbers])
        ax.set_title(self._title(truth))
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
        drawn = curves.curves(self._place(truth), self.measures)
        ax = drawn.plot(ax, metric=None, cutoff=None)
        ax.set(xlabel=along, ylabel=WITH_TRUTH, title=self._title(truth))
        return ax

    @figure(
        "validity_users",
        "Validity with fewer users, by metric",
        number=26,
        panels="truth",
    )
    def plot_users(self, ax: Axes | None = None, *, truth: str | None = None) -> Axes:
        """Draw mean tau-b with the truth against the number of users, with 90 % of the subsets."""
        ax, numbers, _ = axes_or_new(ax), *self._reported(truth)
        draw_sizes(ax, self._labels, self.sizes, self.user_taus[self._place(truth), numbers])
        ax.set_title(self._title(truth))
        return ax

    def caption(self) -> str:
        """Say what is compared with what."""
        n_replicates = self.tau_replicates.shape[-1]
        same = self.n_shared == self.n_users == self.n_true_users
        together = f", {self.n_shared:,} of them the study's" if self.n_shared else ""
        truly = "the same users" if same else f"{self.n_true_users:,} users{together}"
        intervals = (
            f" Intervals (95 %) over users: {n_replicates:,} resamples (seed {self.seed}), "
            "measured and true scores together where users are the same. Over systems: delete-d "
            f"jackknife, with at least {LEAST_SYSTEMS} systems."
            if n_replicates
            else ""
        )
        return (
            f"Kendall's tau-b between the ordering of {len(self.systems)} systems by each measure, "
            f"over {self.n_users:,} users, and their true ordering, {self.origin}, over "
            f"{truly}: by {listed(self.truths[1:])} on the truth, or "
            "by the same measure on the truth (itself). tau_AP: errors at the top count more. "
            "Ideal: tau that is expected of a measure which is right, but for chance over users "
            f"(from the reliabilities of both).{intervals}"
        )

    def caption_of(self, part: str) -> str:
        """Say what the figure of a part shows."""
        if part == "verdicts":
            return self._verdicts_in_words()
        if part == "robustness":
            return (
                "Robustness: mean tau-b of a measure with itself on all judgements, over the "
                f"shares of them that are kept ({_range_of(_known(self.kept))}). Validity: tau-b "
                "with the truth, 95 % over users. On the line a measure is as valid as robust."
            )
        how = "at random" if part == "kept" else "of the most popular items first"
        curves = _known(self.kept if part == "kept" else self.popular)
        return (
            f"Kendall's tau-b between the true ordering of {len(self.systems)} systems and that on "
            f"what is left when judgements are lost {how} ({_range_of(curves)} kept). Bands: 95 % "
            "over users, in random blocks, centred on the curve."
        )

    def _verdicts_in_words(self) -> str:
        test = TESTS_IN_WORDS.get(self.test, TESTED_ANEW)
        adjusted = CORRECTIONS_IN_WORDS.get(self.correction)
        also = "not corrected" if adjusted is None else f"with {adjusted}"
        return (
            f"Pairs of {len(self.systems)} systems. Significant, and true beyond noise: {test}, "
            f"{also}, at {self.alpha:g}, of measured and of true scores. {VERDICTS_SAID}"
        )

    def findings(self) -> Sequence[str]:
        """Say what is most valid, what choices cost, and what significance is worth."""
        compared, (numbers, taus) = self.measures.reported, self._reported(None)
        itself, high, ideal = (
            array[0, numbers] for array in (self.taus, self.over_users[1], self.attainable)
        )
        said = [
            best_of(self.estimates()),
            beyond_chance(compared, itself, high, ideal),
            self._choices_in_words(),
            self._errors_in_words(),
        ]
        if self.robustness is not None:
            said.append(robust_or_right(compared, self.robustness[numbers], taus))
        return [each for each in said if each]

    def _choices_in_words(self) -> str:
        place, (numbers, _) = self._place(None), self._reported(None)
        best = np.array(self.systems)[put_first(self.true[place, numbers[0]])]
        by_system: dict[str, list[str]] = {}
        lost: dict[str, str] = {}
        shares = as_share(self.regrets, self.true)[place]
        for n in numbers:
            by_system.setdefault(self._chosen(n), []).append(str(self.measures[n]))
            if self.regrets[place, n] > 0:
                share = f"{100 * shares[n]:.0f} % of the range"
                lost[self._chosen(n)] = f"{shown(float(self.regrets[place, n]))} ({share})"
        return of_choices(listed(best.tolist()), self.main, by_system, lost)

    def _errors_in_words(self) -> str:
        place, (numbers, _) = self._place(None), self._reported(None)
        counts = self.verdicts.wrong, self.verdicts.significant, self.verdicts.sure
        wrong, significant, sure = (marks[place, numbers].sum(axis=-1) for marks in counts)
        return of_errors(
            self.measures.reported,
            self.main,
            n_pairs=self.p.shape[1],
            n_sure=int(sure[0]),
            wrong=wrong,
            significant=significant,
        )

    def cautions(self) -> Sequence[str]:
        """Say what the truth can and cannot tell."""
        told = [
            "Truth is what its threshold and its candidates make of it. Where systems rank only "
            "items that are truly judged (condensed lists), bpref and other measures of condensed "
            "lists resemble the truth by construction."
        ]
        n_systems = len(self.systems)
        if n_systems < LEAST_SYSTEMS:
            told.append(
                f"{n_systems} systems are too few for an interval over systems: other systems may "
                "turn every comparison of measures round."
            )
        n_sure = int(self.verdicts.sure[self._place(None), 0].sum())
        if n_sure < FEW_PAIRS:
            told.append(
                f"Only {n_sure} of {self.p.shape[1]:,} pairs of systems truly differ beyond noise "
                f"by {self.main}: inversions and power are shares of few."
            )
        return told

    def about(self, measure: Measure) -> Mapping[str, str]:
        """Give agreement with each truth, regret, and what significance is worth."""
        n, place = self.measures.index(measure), self._place(None)
        low, high = self.over_users
        taus = {
            f"tau with {'the same on the truth' if name == ITSELF else f'true {name}'}": str(
                Estimate(float(self.taus[t, n]), float(low[t, n]), float(high[t, n]))
            )
            for t, name in enumerate(self.truths)
        }
        return taus | {
            f"regret by true {self.main}": shown(float(self.regrets[place, n])),
            "true differences found": shown(float(self.power[place, n])),
            "significant, but wrong": shown(float(self.type_iii[place, n])),
        }


def _limits(
    observed: Floats, replicates: Floats, limits: tuple[float, float] = (-np.inf, np.inf)
) -> Limits:
    """Give the interval of what has replicates, else NaN."""
    if replicates.size == 0:
        return np.full(observed.shape, np.nan), np.full(observed.shape, np.nan)
    return interval(observed, replicates, limits=limits)


def _between(limits: tuple[Floats, Floats], place: int, number: int, *, decimals: int = 2) -> str:
    """Write an interval; empty if it is not known."""
    low, high = (float(limit[place, number]) for limit in limits)
    if np.isnan(low + high):
        return ""
    return f"{shown(low, decimals=decimals)} to {shown(high, decimals=decimals)}"


def _known(value: Known | None) -> Known:
    if value is None:
        raise InputError("judgements were not taken away: there are no curves of validity.")
    return value


def _range_of(curves: TruthCurves) -> str:
    return f"{100 * max(curves.levels):.0f} to {100 * min(curves.levels):.0f} %"
