"""Results of validity: agreement with the truth, regret, and right and wrong differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.discrimination import CORRECTIONS_IN_WORDS, TESTS_IN_WORDS
from analyses.shared.drawing import (
    THICK,
    THIN,
    category_styles,
    colours,
    draw_intervals,
    explain,
    label_curves,
    panel_index,
)
from analyses.shared.families import Families, SubsetValues
from analyses.shared.limits import Limits, variance_stabilised
from analyses.shared.measure import Measures, tidy
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import Cell, common_decimals, rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import applicable, best_measures_sentence, listed
from analyses.shared.table import Table
from analyses.significance.question import Correction, Test
from analyses.validity.comparison import RATES, VERDICTS, PairVerdicts, put_first, regret_share
from analyses.validity.loss_curves import TruthCurves
from analyses.validity.truth_agreement import ITSELF, Uncertain, written_interval
from runs import InputError
from runs.shared.arrays import Floats, Numbers
from runs.shared.errors import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


Known = TypeVar("Known")


WITH_TRUTH = "tau-b with the true ordering"

LEAST_TAU = 0.7
"""Measures that agree less with the truth are not valid; see docs/methods/thresholds.md."""

PAIR = "pair of systems"

FEW_PAIRS = 10
"""With fewer pairs that truly differ, shares of them are not reliable."""

VERDICTS_IN_WORDS = (
    "Right: significant with the true sign. Wrong: significant with the other sign (type III "
    "error). False positive: significant, but the true difference is not. Missed: not "
    "significant, but the true difference is."
)
RATES_IN_WORDS = (
    "Power: of the pairs whose true scores differ significantly, the share that the measure finds "
    "significant with the same sign. Type III: of the pairs that the measure finds significant, "
    "the share with the wrong sign. Inverted: of the pairs whose true scores differ significantly, "
    "the share that the measure orders the other way, significantly or not."
)
REGRET = (
    "Regret: true score of the best system less that of the system that the measure ranks first; "
    "also as a share of the range of the true scores."
)


BOTH = "95 %, users and families of systems"
"""Heading of intervals over users and systems."""


@dataclass(frozen=True, eq=False)
class Validity(Result):
    """Agreement of every measure with the truth. All scores are such that more is better.

    Axes: n_truths is the same measure on the truth (itself) and the references, named in `truths`;
    pairs of systems are i < j, first by i, then by j; replicates are resamples of the users.

    Parameters
    ----------
    measured, true
        Mean scores, (n_measures, n_systems), and true ones, (n_truths, n_measures, n_systems).
    tau, tau_aps, regret
        Kendall's tau-b, tau_AP with the truth as reference, and the truth lost by choosing the
        system that the measure puts first; of shape (n_truths, n_measures).
    tau_replicates
        tau-b with resampled users, of shape (n_truths, n_measures, n_replicates).
    within
        tau-b within random subsets of the systems, of shape (n_truths, n_measures).
    rates
        Power, type III and inverted, of shape (n_rates, n_truths, n_measures): see `PairVerdicts`.
        Limits over users are of the report measures alone.
    p, true_p
        p-values of measured and true differences, corrected if that is asked for; of shapes
        (n_measures, n_pairs) and (n_truths, n_measures, n_pairs).
    attainable
        tau that is expected of a measure that is right, but for chance over users; of shape
        (n_truths, n_measures).
    kept, popular
        Curves over the share of judgements, and over that of items, that are kept; None where
        judgements are not known.
    n_users, n_true_users, n_shared
        Users of the study, of the truth, and of both.
    unmeasured, notes
        Measures that have no value on the truth; what the truth cannot show, in sentences.
    """

    measures: Measures
    systems: tuple[str, ...]
    families: Families
    truths: tuple[str, ...]
    measured: Floats
    true: Floats
    tau: Uncertain
    tau_aps: Floats
    regret: Uncertain
    tau_replicates: Floats
    within: SubsetValues
    rates: Uncertain
    p: Floats
    true_p: Floats
    attainable: Floats
    kept: TruthCurves | None
    popular: TruthCurves | None
    n_users: int
    n_true_users: int
    n_shared: int
    unmeasured: tuple[str, ...]
    notes: tuple[str, ...]
    test: Test
    correction: Correction
    alpha: float
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
        return panel_index(self.truths, truth or self.main)

    def title(self, truth: str | None) -> str:
        """Name a truth, for titles."""
        return f"true {name}" if (name := truth or self.main) != ITSELF else "itself on the truth"

    def numbers(self, some: Measures) -> Numbers:
        """Number some measures."""
        return np.array(self.measures.indices(some), dtype=np.intp)

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
        place, quantity = self.place(), f"{WITH_TRUTH} by {self.main}"
        values, low, high = (x[place] for x in (self.tau.values, *self.tau.users))
        return Estimates(
            name=quantity,
            quantity=quantity,
            subject="Validity",
            best="valid",
            measures=self.measures,
            values=values,
            low=low,
            high=high,
            replicates=variance_stabilised(values, self.tau_replicates[place]),
            systems=self.within.transformed(lambda numbers: numbers[place]),
            threshold=LEAST_TAU,
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give one frame: a row per truth and measure, and per level of what is kept.

        Columns truth, metric, cutoff; kept ("all", "judgements" or "items") and level, the share
        that is kept; tau with its 95 % limits over users (low, high), over systems and over both;
        tau_ap; attainable (tau within noise); true_differences (pairs beyond noise) and inversions
        among them; regret with its limits over users, regret_share of the true range; the shares of
        pairs by verdict; power, type_iii and inverted with the same limits as tau; chosen (the
        systems put first). Where less is kept: tau, its band, and itself, tau with
        the measure on all judgements.
        """
        import pandas as pd

        shares, (regret_low, regret_high) = self.verdicts.shares(), self.regret.users
        columns = {
            **self.tau.columns("tau"),
            "tau_ap": self.tau_aps,
            "attainable": self.attainable,
            "true_differences": self.verdicts.sure.sum(axis=-1),
            "inversions": self.verdicts.inverted.sum(axis=-1),
            "regret": self.regret.values,
            "regret_low": regret_low,
            "regret_high": regret_high,
            "regret_share": regret_share(self.regret.values, self.true),
            **{name.replace(" ", "_"): shares[..., n] for n, name in enumerate(VERDICTS)},
        }
        for name in RATES:
            column = name.replace(" ", "_").lower()
            columns |= self.rate(name).columns(column, f"{column}_")
        columns["chosen"] = np.array([*map(self.chosen, range(len(self.measures)))], dtype=object)
        everything = {name: own[..., np.newaxis, np.newaxis] for name, own in columns.items()}
        parts = [self._rows("all", [1.0], **everything)]
        for name, lost in (("judgements", self.kept), ("items", self.popular)):
            if lost is not None:
                bands = [lost.curves(n, self.measures).band for n in range(len(self.truths))]
                low, high = map(np.stack, zip(*bands, strict=True))
                curves = {"tau": lost.taus, "low": low, "high": high, "itself": lost.itself}
                by_level = {name: own[..., np.newaxis, :] for name, own in curves.items()}
                parts.append(self._rows(name, lost.levels, **by_level))
        return {"validity": pd.concat(parts, ignore_index=True)}

    def _rows(self, kept: str, levels: Sequence[float], **columns: NDArray[Any]) -> pd.DataFrame:
        axes = {"truth": self.truths}, self.measures, {"kept": [kept]}, {"level": levels}
        return tidy(*axes, **columns).astype({"cutoff": "Int64"})

    @table("validity", "agreement of each measure with the true ordering of the systems")
    def agreement(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate tau-b with its intervals, tau_AP, and the attainable tau-b; the best first."""
        place, best = (
            self.place(truth),
            self.best_first(self.measures.reported_or_at(cutoff), truth),
        )
        taus, (low, high) = self.tau.values[place, best], self.tau.users
        decimals = common_decimals(low[place, best], high[place, best])
        columns: dict[str, Any] = {
            "measure": [str(self.measures[n]) for n in best],
            "tau-b": taus,
            "95 %": [written_interval(self.tau.users, place, n, decimals=decimals) for n in best],
            BOTH: [written_interval(self.tau.both, place, n, decimals=decimals) for n in best],
            "tau_AP": self.tau_aps[place, best],
            "attainable": self.attainable[place, best],
            "tau-b, same measure": self.tau.values[0, best],
        }
        title = f"Agreement with {self.title(truth)}"
        return Table.from_columns("validity", title, self.caption(), columns, decimals=decimals)

    @table("choices", "true score lost by choosing the system that a measure ranks first")
    def choices(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate the system that each measure ranks first, and its regret."""
        place, some = self.place(truth), self.measures.reported_or_at(cutoff)
        numbers = self.numbers(some)
        columns = {
            "measure": map(str, some),
            "chosen": map(self.chosen, numbers),
            "regret": self.regret.values[place, numbers],
            "95 %": [written_interval(self.regret.users, place, n) for n in numbers],
            "of range": regret_share(self.regret.values, self.true)[place, numbers],
        }
        title = f"Regret by {self.title(truth)}"
        return Table.from_columns("choices", title, REGRET, columns, decimals=3)

    @table("verdicts", "power, type III errors and inversions")
    def pairs(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate power, type III errors and inversions, with intervals."""
        place, rows = self.place(truth), list[list[Cell]]()
        for n in self.measures.indices(self.measures.reported_or_at(cutoff)):
            row: list[Cell] = [str(self.measures[n])]
            for rate in map(self.rate, RATES):
                # Over users and systems where both are known, else over users.
                both, users = (written_interval(x, place, n) for x in (rate.both, rate.users))
                row += [float(rate.values[place, n]), both or users]
            rows.append(row)
        headings = ["measure", "power", BOTH, "type III", BOTH, "inverted", BOTH]
        title = f"Pairs of systems, by {self.title(truth)}"
        caption = f"{self._tested()} {RATES_IN_WORDS}"
        return Table("verdicts", title, caption, headings, rows, decimals=2)

    @figure("validity", "Validity: agreement with the true ordering", number=21, panels="truth")
    def plot(self, ax: Axes, *, truth: str | None = None) -> None:
        """Draw tau-b of the report measures with its intervals, over users and over both."""
        numbers = self.best_first(self.measures.reported)
        at = self.place(truth), numbers
        names = dict(zip(self._reported.tolist(), self._labels, strict=True))
        rows = np.arange(len(numbers))[::-1]
        both = f"{self.units} and families of systems"
        draw_intervals(ax, rows, [end[at] for end in self.tau.both], THIN, over=both)
        draw_intervals(ax, rows, [end[at] for end in self.tau.users], THICK, over=self.units)
        ax.plot(self.tau.values[at], rows, "o", color=colours()[0], markersize=4, label="tau-b")
        (ideal,) = ax.plot(
            self.attainable[at], rows, "|", color="0.4", markersize=9, label="attainable"
        )
        explain(ideal, f"Vertical ticks: {self._attainable}")
        ax.set_yticks(rows, [names[n] for n in numbers])
        ax.set(xlabel=WITH_TRUTH, title=self.title(truth))
        label_curves(ax)

    @figure(
        "validity_robustness",
        "Robustness and validity",
        number=22,
        panels="truth",
        part="robustness",
    )
    def plot_robustness(self, ax: Axes, *, truth: str | None = None) -> None:
        """Draw one point a measure: mean tau with itself under loss, and tau with the truth."""
        place, numbers = self.place(truth), self._reported
        taus, low, high = (x[place, numbers] for x in (self.tau.values, *self.tau.users))
        robustness = _known(self.robustness)[numbers]
        draw_robustness(ax, self._labels, robustness, taus, (low, high), over=self.units)
        ax.set_title(self.title(truth))

    @figure(
        "validity_pairs",
        "Right and wrong significant differences",
        number=23,
        panels="truth",
        part="verdicts",
    )
    def plot_pairs(self, ax: Axes, *, truth: str | None = None) -> None:
        """Stack the shares of pairs by verdict, a bar for each report measure."""
        rows = np.arange(len(self._labels))[::-1]
        percent = 100 * self.verdicts.shares()[self.place(truth), self._reported]
        starts = np.cumsum(percent, axis=1) - percent
        right, wrong, _, _, false, *_ = colours() * 5
        each = zip(VERDICTS, (right, wrong, false, "0.6", "0.9"), strict=True)
        for n, (name, colour) in enumerate(each):
            ax.barh(rows, percent[:, n], left=starts[:, n], color=colour, label=name)
        ax.set_yticks(rows, self._labels)
        ax.set(xlim=(0, 100), xlabel="pairs of systems (%)", title=self.title(truth))
        label_curves(ax)

    @figure(
        "validity_judgements",
        "Validity when judgements are lost at random",
        number=24,
        panels="truth",
        part="kept",
    )
    def plot_judgements(self, ax: Axes, *, truth: str | None = None) -> None:
        """Draw tau-b with the truth against the share of judgements kept."""
        self._plot_loss(ax, _known(self.kept), truth, "judgements kept (%)")

    @figure(
        "validity_popularity",
        "Validity when the judgements of popular items are lost",
        number=25,
        panels="truth",
        part="popular",
    )
    def plot_popularity(self, ax: Axes, *, truth: str | None = None) -> None:
        """Draw tau-b with the truth against the share of items kept, the least popular."""
        self._plot_loss(ax, _known(self.popular), truth, "least popular items kept (%)")

    def _plot_loss(self, ax: Axes, curves: TruthCurves, truth: str | None, label: str) -> None:
        drawn = curves.curves(self.place(truth), self.measures)
        drawn.plot(ax, metric=None, over=self.units)
        ax.set(xlabel=label, ylabel=WITH_TRUTH, title=self.title(truth))

    @property
    def _reported(self) -> Numbers:
        return self.numbers(self.measures.reported)

    @property
    def _labels(self) -> tuple[str, ...]:
        return self.measures.reported.labels

    def caption(self) -> str:
        """Say what is compared with what."""
        users = f"{counted(self.n_true_users, self.unit)} ({self.n_shared:,} in both)"
        if self.n_users == self.n_true_users == self.n_shared:
            users = f"the same {self.units}"
        return (
            f"Kendall's tau-b between the ordering of {len(self.systems)} systems by each measure "
            f"over {counted(self.n_users, self.unit)} and their true ordering over {users} "
            f"{self.origin}; higher is better. True orderings are by "
            f"{listed(self.truths[1:], 'or')}, which say how good the top of the lists really is, "
            "or by the same measure with the true preferences (itself). tau_AP weights the top of "
            f"the ordering more. Attainable: {self._attainable} Intervals are those of samples of "
            f"as many {self.units}; tau-b rises with the number of {self.units}. No limit is above "
            "1."
        )

    @property
    def _attainable(self) -> str:
        """What tau-b is attainable, in words."""
        return (
            "the expected tau-b of a measure that orders the systems as the truth does but for "
            f"chance over {self.units}."
        )

    def _tested(self) -> str:
        """Say how pairs were tested."""
        adjusted = CORRECTIONS_IN_WORDS.get(self.correction, "no correction")
        return (
            f"{counted(self.p.shape[1], 'pair')} of {counted(len(self.systems), 'system')} over "
            f"{counted(self.n_users, self.unit)}, by {TESTS_IN_WORDS[self.test]} (alpha = "
            f"{self.alpha:g}, {adjusted}), "
            f"which is repeated over resampled {self.units}."
        )

    def caption_of(self, part: str) -> str:
        """Say what the figure of a part shows."""
        if part == "verdicts":
            return f"{self._tested()} {VERDICTS_IN_WORDS}"
        over = f"{counted(len(self.systems), 'system')} over {counted(self.n_users, self.unit)}"
        if part == "robustness":
            return (
                f"Robustness and validity of each measure, for {over}. Robustness is the mean "
                "tau-b with the ordering by the same measure on all judgements when judgements are "
                "lost at random; validity is tau-b with the true ordering. Higher is better for "
                "both."
            )
        how = "Judgements are removed at random."
        if part != "kept":
            how = "The judgements of the most popular items are removed first."
        return (
            f"Kendall's tau-b between the ordering of {over} on the judgements that are kept and "
            f"their true ordering. {how} Higher is better."
        )

    def findings(self) -> Sequence[str]:
        """Say what is most valid, what choices cost, and what significance is worth."""
        reported = self.measures.reported
        numbers, place, n = self.numbers(reported), self.place(), len(reported)
        high, ideal = self.tau.users[1][0, numbers], self.attainable[0, numbers]
        below = [str(m) for m, is_below in zip(reported, high < ideal, strict=True) if is_below]
        truly = put_first(self.true[place, numbers[0]])
        regrets = self.regret.values[place, numbers]
        n_right = int(np.count_nonzero(regrets == 0))
        marks = self.verdicts.wrong, self.verdicts.significant
        wrong, significant = (each[place, numbers].sum(axis=-1) for each in marks)
        counts = zip(reported, wrong, significant, strict=True)
        test = TESTS_IN_WORDS[self.test].removeprefix("the ")
        many = f"{len(below)} of {counted(n, 'measure')}"
        if len(below) == n > 1:
            many = f"All {counted(n, 'measure')}"
        named = f" ({listed(below)})" if 0 < len(below) < n else ""
        sentences = [
            best_measures_sentence(self.under_settings(self.estimates()), self.units),
            f"{many}{named} {'disagrees' if len(below) == 1 else 'disagree'} with the ordering by "
            "the same measure with the true "
            f"preferences ({spread_of(self.tau.values[0, numbers])}) by more than chance over "
            f"{self.units} explains (attainable: {spread_of(ideal)}).",
            f"{n_right} of {counted(n, 'measure')} {'ranks' if n_right == 1 else 'rank'} "
            f"{listed(np.array(self.systems)[truly].tolist(), 'or')} first, which is truly best by "
            f"{self.main}; the first system of the others is worse by at most "
            f"{rounded(float(np.max(regrets)))}.",
            f"Of the pairs of systems that differ significantly by a measure ({test}), the sign is "
            f"wrong by true {self.main} in "
            f"{listed([f'{k} of {among} ({measure})' for measure, k, among in counts])}.",
        ]
        return [sentence for sentence in sentences if sentence]

    def cautions(self) -> Sequence[str]:
        """Say what the truth cannot show."""
        n_sure = int(self.verdicts.sure[self.place(), 0].sum())
        sentences = {
            f"The validity of {listed(self.unmeasured)} is unknown: the truth has no "
            "scores by them.": bool(self.unmeasured),
            f"Only {n_sure} of {counted(self.p.shape[1], PAIR)} "
            f"{'has' if n_sure == 1 else 'have'} a "
            f"significant true difference by {self.main}: power and inversions are shares of few "
            "pairs.": n_sure < FEW_PAIRS,
        }
        return [*self.notes, *applicable(sentences), *self.families.cautions()]


def spread_of(taus: Floats) -> str:
    """Print the range of some taus."""
    low, high = (rounded(float(limit.reduce(taus)), 2) for limit in (np.fmin, np.fmax))
    return f"tau-b = {low}" if low == high else f"tau-b from {low} to {high}"


def draw_robustness(
    ax: Axes, labels: Sequence[str], robustness: Floats, taus: Floats, limits: Limits, *, over: str
) -> None:
    """Draw a point a measure, with the interval of its validity; both axes have one range."""
    by_measure = zip(category_styles(labels), robustness, taus, *limits, strict=True)
    for (label, style), robust, valid, low, high in by_measure:
        ax.plot([robust], [valid], label=label, **{**style, "linestyle": "none"})
        line = ax.vlines([robust], low, high, color=style["color"], linewidth=0.9)
        if high > low:
            explain(line, f"Vertical lines: 95 % intervals of validity over {over}.")
    # Panels that share their axes share the range of all of them.
    drawn = np.array([*robustness, *taus, *limits[0], *limits[1]])
    if np.isfinite(drawn).any():
        corners = (np.nanmin(drawn), np.nanmax(drawn))
        ax.update_datalim([(corner, corner) for corner in corners])
    diagonal = ax.axline((1.0, 1.0), slope=1, color="0.8", linewidth=0.8, zorder=0)
    explain(diagonal, "Diagonal: robustness and validity are equal.")
    ax.set(xlabel="robustness (mean tau-b)", ylabel="validity (tau-b)")
    label_curves(ax)


def _known(value: Known | None) -> Known:
    if value is None:
        raise InputError(
            "there are no curves of validity: `judgements` is false in [analyses.validity]."
        )
    return value
