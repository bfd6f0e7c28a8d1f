"""Results of validity: agreement with the truth, regret, and right and wrong differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.discrimination import CORRECTIONS_IN_WORDS, TESTS_IN_WORDS
from analyses.intervals.areas import area
from analyses.ordering.agreement import ratio_or_nan
from analyses.shared.contested_shares import ContestedShares
from analyses.shared.drawing import (
    THICK,
    THIN,
    colours,
    draw_intervals,
    explain,
    label_curves,
    panel_index,
)
from analyses.shared.families import Families, SubsetValues
from analyses.shared.limits import variance_stabilised
from analyses.shared.measure import Measures, pair_labels, tidy
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import Cell, common_decimals
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import best_measures_sentence, listed
from analyses.shared.table import Table
from analyses.significance.question import Correction, Test
from analyses.validity.comparison import mark_best_systems, regret_share
from analyses.validity.loss_curves import TruthCurves
from analyses.validity.pair_verdicts import RATES, VERDICTS, PairVerdicts
from analyses.validity.prediction_powered import PredictionPowered
from analyses.validity.robustness_figure import draw_robustness
from analyses.validity.truth_agreement import ITSELF, Uncertain, written_interval
from analyses.validity.validity_sentences import (
    FEW_PAIRS,
    PAIR,
    RATES_IN_WORDS,
    REGRET_IN_WORDS,
    VERDICTS_IN_WORDS,
    attainable_in_words,
    choices_sentence,
    disagreement_sentence,
    powered_in_words,
    powered_sentence,
    sign_sentence,
)
from runs import InputError
from runs.shared.arrays import Floats, Numbers
from runs.shared.errors import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


Value = TypeVar("Value")

WITH_TRUTH = "tau-b with the true ordering"

LEAST_TAU = 0.7
"""Measures that agree less with the truth are not valid; see docs/methods/thresholds.md."""

FIRST_REFERENCE = 1
"""Position among the truths of the first reference, by which tables and sentences compare."""

OVER_USERS_AND_SYSTEMS = "95 %, users and families of systems"
"""Heading of intervals over users and systems."""


@dataclass(frozen=True, eq=False)
class Validity(Result):
    """Agreement of every measure with the truth. All scores are such that more is better.

    Axes: n_truths is the same measure on the truth (itself) and the references, named in `truths`;
    pairs of systems are i < j, first by i, then by j; replicates are resamples of the users.

    Parameters
    ----------
    measures, systems, families
        Labels of the axes, and the families of the systems.
    truths
        Names of the truths: itself, then the references.
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
    contested
        Shares of the contested pairs of systems that are in the true order by the first reference;
        None if no candidate measure has a value on the truth.
    p, true_p
        p-values of measured and true differences, corrected if that is asked for; of shapes
        (n_measures, n_pairs) and (n_truths, n_measures, n_pairs).
    attainable
        tau that is expected of a measure that is right, but for chance over users; of shape
        (n_truths, n_measures).
    kept, popular
        Curves over the share of judgements, and over that of items, that are kept; None where
        judgements are not known.
    powered
        True means and differences by prediction-powered inference; None if all users of the study
        have true scores, or fewer than 20 have both.
    n_users, n_true_users, n_shared
        Users of the study, of the truth, and of both.
    unmeasured, notes
        Measures that have no value on the truth; what the truth cannot show, in sentences.
    test, correction, alpha
        How pairs of systems are tested.
    origin
        Where the truth is from, a clause for captions.
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
    contested: ContestedShares | None
    p: Floats
    true_p: Floats
    attainable: Floats
    kept: TruthCurves | None
    popular: TruthCurves | None
    powered: PredictionPowered | None
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
    def truth_under_loss(self) -> Floats | None:
        """Mean tau-b with the first reference when judgements are lost at random, (n_measures,).

        None where judgements cannot be removed.
        """
        if self.kept is None:
            return None
        return area(self.kept.levels, self.kept.taus[FIRST_REFERENCE])

    @property
    def main(self) -> str:
        """The truth of tables and sentences that take one: the first reference."""
        return self.truths[FIRST_REFERENCE]

    def rate(self, name: str) -> Uncertain:
        """Select power, type III or inverted by its name, of shape (n_truths, n_measures)."""
        return self.rates.part(RATES.index(name))

    def place(self, truth: str | None = None) -> int:
        """Look up the position of a truth by name; by default that of the first reference."""
        return panel_index(self.truths, truth or self.main)

    def title(self, truth: str | None) -> str:
        """Write the name of a truth for titles; by default the first reference."""
        name = truth or self.main
        return "itself on the truth" if name == ITSELF else f"true {name}"

    def numbers(self, measures: Measures) -> Numbers:
        """Look up the positions of measures among all: (n_measures,)."""
        numbers = self.measures.indices(measures)
        return np.array(numbers, dtype=np.intp)

    def best_first(self, measures: Measures, truth: str | None = None) -> list[int]:
        """Sort the positions of measures by decreasing tau with a truth; undefined ones last."""
        numbers = self.numbers(measures)
        place = self.place(truth)
        taus = self.tau.values[place, numbers]
        order = np.argsort(-taus, kind="stable")
        return [int(number) for number in numbers[order]]

    def chosen(self, number: int) -> str:
        """Name the system that a measure, given by its position, ranks first; several, if they tie.

        Systems that tie are joined by " = ".
        """
        is_best = mark_best_systems(self.measured[number])
        systems = np.array(self.systems)
        return " = ".join(systems[is_best])

    def estimates(self) -> Estimates:
        """Collect every measure's tau-b with the first reference of the truth.

        With the values, (n_measures,), go their 95 % limits over users, replicates over users
        (n_measures, n_replicates), and the values in random subsets of the systems.
        """
        place = self.place()
        quantity = f"{WITH_TRUTH} by {self.main}"
        tau = self.tau.part(place)
        low, high = tau.users
        tau_replicates = self.tau_replicates[place]
        replicates = variance_stabilised(tau.values, tau_replicates)
        in_subsets = self.within.transformed(lambda numbers: numbers[place])
        return Estimates(
            name=quantity,
            quantity=quantity,
            subject="Validity",
            best="valid",
            measures=self.measures,
            values=tau.values,
            low=low,
            high=high,
            replicates=replicates,
            systems=in_subsets,
            threshold=LEAST_TAU,
        )

    def contested_shares(self) -> ContestedShares | None:
        """Look up the shares of the contested pairs in the true order; None without a candidate."""
        return self.contested

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``validity``: a row per truth and measure, and per level of what is kept.

        Columns truth, metric, cutoff; kept ("all", "judgements" or "items") and level, the share
        that is kept; tau with its 95 % limits over users (low, high), over systems and over both;
        tau_ap; attainable (tau within noise); true_differences (pairs beyond noise) and inversions
        among them; regret with its limits over users, regret_share of the true range; the shares of
        pairs by verdict; power, type_iii and inverted with the same limits as tau; chosen (the
        systems put first). Where less is kept: tau, its band, and itself, tau with
        the measure on all judgements.

        Where users of the study have no true scores, ``true_means`` and ``true_differences``: a row
        for each measure and system, or pair (system_a, system_b). Columns true, the mean true score
        or difference, with its 95 % limits (low, high), by the users of the truth alone; powered,
        powered_low and powered_high, the same by prediction-powered inference; and its lambda.
        """
        import pandas as pd

        columns_of_all = {}
        for name, values in self._columns().items():
            columns_of_all[name] = values[..., np.newaxis, np.newaxis]
        rows_of_all = self._rows("all", [1.0], columns_of_all)
        parts = [rows_of_all]
        if self.kept is not None:
            rows = self._curve_rows("judgements", self.kept)
            parts.append(rows)
        if self.popular is not None:
            rows = self._curve_rows("items", self.popular)
            parts.append(rows)
        frames = {"validity": pd.concat(parts, ignore_index=True)}
        if self.powered is not None:
            systems = {"system": self.systems}
            pairs = pair_labels(self.systems, "system_a", "system_b")
            measures = self.powered.measures
            frames["true_means"] = tidy(measures, systems, **self.powered.means.columns())
            frames["true_differences"] = tidy(measures, pairs, **self.powered.differences.columns())
        return frames

    def _columns(self) -> dict[str, NDArray[Any]]:
        """Collect the columns of rows with all judgements: arrays of (n_truths, n_measures).

        Their meaning is stated at `frames`. ``chosen``, the system that a measure ranks first, has
        the shape (n_measures,).
        """
        verdicts = self.verdicts
        tau_columns = self.tau.columns("tau")
        columns: dict[str, NDArray[Any]] = {**tau_columns}
        columns["tau_ap"] = self.tau_aps
        columns["attainable"] = self.attainable
        columns["true_differences"] = verdicts.truly_significant.sum(axis=-1)
        columns["inversions"] = verdicts.inverted.sum(axis=-1)
        columns["regret"] = self.regret.values
        columns["regret_low"], columns["regret_high"] = self.regret.users
        columns["regret_share"] = regret_share(self.regret.values, self.true)
        shares = verdicts.shares()
        for number, verdict in enumerate(VERDICTS):
            column = verdict.replace(" ", "_")
            columns[column] = shares[..., number]
        for name in RATES:
            column = name.replace(" ", "_").lower()
            rate = self.rate(name)
            columns |= rate.columns(column, f"{column}_")
        chosen = [self.chosen(number) for number in range(len(self.measures))]
        columns["chosen"] = np.array(chosen, dtype=object)
        return columns

    def _curve_rows(self, removed_from: str, curves: TruthCurves) -> pd.DataFrame:
        """Tabulate tau, its band, and tau with itself, at each level of loss, for every truth.

        ``removed_from`` is "judgements" or "items", the entry of the column kept.
        """
        lows = []
        highs = []
        for truth in range(len(self.truths)):
            curves_of_truth = curves.curves(truth, self.measures)
            low, high = curves_of_truth.band
            lows.append(low)
            highs.append(high)
        low_limits = np.stack(lows)
        high_limits = np.stack(highs)
        columns = {
            "tau": curves.taus,
            "low": low_limits,
            "high": high_limits,
            "itself": curves.itself,
        }
        # A third axis for the column kept, which has one entry.
        by_level = {name: values[..., np.newaxis, :] for name, values in columns.items()}
        return self._rows(removed_from, curves.levels, by_level)

    def _rows(
        self, removed_from: str, levels: Sequence[float], columns: Mapping[str, NDArray[Any]]
    ) -> pd.DataFrame:
        """Tabulate columns by truth, measure and level, with ``removed_from`` in the column kept.

        Columns broadcast to (n_truths, n_measures, 1, n_levels).
        """
        frame = tidy(
            {"truth": self.truths},
            self.measures,
            {"kept": [removed_from]},
            {"level": levels},
            **columns,
        )
        return frame.astype({"cutoff": "Int64"})

    @table("validity", "agreement of each measure with the true ordering of the systems")
    def agreement(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate tau-b with its intervals, tau_AP, and the attainable tau-b; the best first.

        ``truth``: a name, by default the first reference. Measures are those at a cut-off, or the
        report measures. An interval is "" if it is not known.
        """
        place = self.place(truth)
        measures = self.measures.reported_or_at(cutoff)
        best = self.best_first(measures, truth)
        tau = self.tau.part(place)
        low, high = tau.users
        decimals = common_decimals(low[best], high[best])
        over_users = [written_interval(tau.users, n, decimals=decimals) for n in best]
        over_both = [written_interval(tau.both, n, decimals=decimals) for n in best]
        labels = [str(self.measures[n]) for n in best]
        columns: dict[str, Any] = {"measure": labels}
        columns["tau-b"] = tau.values[best]
        columns["95 %"] = over_users
        columns[OVER_USERS_AND_SYSTEMS] = over_both
        columns["tau_AP"] = self.tau_aps[place, best]
        columns["attainable"] = self.attainable[place, best]
        columns["tau-b, same measure"] = self.tau.values[0, best]
        title = f"Agreement with {self.title(truth)}"
        caption = self.caption()
        return Table.from_columns("validity", title, caption, columns, decimals=decimals)

    @table("choices", "true score lost by choosing the system that a measure ranks first")
    def choices(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate the system that each measure ranks first, and its regret with 95 % limits.

        ``truth``: a name, by default the first reference. Measures are those at a cut-off, or the
        report measures. "of range" is the regret as a share of the range of true scores, NaN where
        that is 0.
        """
        place = self.place(truth)
        measures = self.measures.reported_or_at(cutoff)
        numbers = self.numbers(measures)
        regret = self.regret.part(place)
        regret_shares = regret_share(regret.values, self.true[place])
        labels = [str(measure) for measure in measures]
        columns: dict[str, Any] = {"measure": labels}
        columns["chosen"] = [self.chosen(n) for n in numbers]
        columns["regret"] = regret.values[numbers]
        columns["95 %"] = [written_interval(regret.users, n) for n in numbers]
        columns["of range"] = regret_shares[numbers]
        title = f"Regret by {self.title(truth)}"
        return Table.from_columns("choices", title, REGRET_IN_WORDS, columns, decimals=3)

    @table("verdicts", "power, type III errors and inversions")
    def pairs(self, *, truth: str | None = None, cutoff: int | None = None) -> Table:
        """Tabulate power, type III errors and inversions of the report measures, or at a cut-off.

        ``truth``: a name, by default the first reference. Intervals are over users and systems
        where these are known, else over users, else "".
        """
        place = self.place(truth)
        rates = [self.rate(name).part(place) for name in RATES]
        measures = self.measures.reported_or_at(cutoff)
        rows: list[list[Cell]] = []
        for n in self.measures.indices(measures):
            label = str(self.measures[n])
            row: list[Cell] = [label]
            for rate in rates:
                value = float(rate.values[n])
                over_both = written_interval(rate.both, n)
                over_users = written_interval(rate.users, n)
                row.append(value)
                row.append(over_both or over_users)
            rows.append(row)
        headings = ["measure"]
        for name in RATES:
            headings += [name, OVER_USERS_AND_SYSTEMS]
        title = f"Pairs of systems, by {self.title(truth)}"
        caption = f"{self._significance_sentence()} {RATES_IN_WORDS}"
        return Table("verdicts", title, caption, headings, rows, decimals=2)

    @table("true_means", "true means of the systems, prediction-powered and by the truth alone")
    def true_means(self, *, measure: str | None = None) -> Table:
        """Tabulate the systems' true means with 95 % limits, the best first, and lambda.

        By the users of the truth alone, and with the help of the other users of the study.
        ``measure`` is the label of a report measure, or of a reference that is measured; by default
        the first such reference, else the first report measure. No rows if all users of the study
        have true scores, or too few have both.
        """
        headings = ["system", "truth alone", "95 %", "prediction-powered", "95 %", "lambda"]
        rows: list[list[Cell]] = []
        if self.powered is None:
            return Table("true_means", "True means", "", headings, rows)
        means = self.powered.means
        labels = [str(measure) for measure in self.powered.measures]
        number = panel_index(labels, measure)
        limits = (means.low[number], means.high[number])
        powered_limits = (means.powered_low[number], means.powered_high[number])
        decimals = common_decimals(*powered_limits)
        order = np.argsort(-means.powered[number], kind="stable")
        for system in order.tolist():
            rows.append(
                [
                    self.systems[system],
                    float(means.values[number, system]),
                    written_interval(limits, system, decimals=decimals),
                    float(means.powered[number, system]),
                    written_interval(powered_limits, system, decimals=decimals),
                    float(means.lambdas[number, system]),
                ]
            )
        caption = powered_in_words(
            labels[number],
            n_true_users=self.n_true_users,
            n_shared=self.n_shared,
            n_unjudged=self.powered.n_unjudged,
            unit=self.unit,
        )
        title = f"True means by {labels[number]}"
        return Table("true_means", title, caption, headings, rows, decimals=decimals)

    @figure("validity", "Validity: agreement with the true ordering", number=21, panels="truth")
    def plot(self, ax: Axes, *, truth: str | None = None) -> None:
        """Draw tau-b of the report measures with its intervals, over users and over both.

        A row a measure with the attainable tau-b; ``truth``: a name, by default the first
        reference. `explain` attaches a sentence for the caption to the ticks.
        """
        numbers = self._reported
        place = self.place(truth)
        tau = self.tau.part(place)
        # The first measure stands on top.
        rows = np.arange(len(numbers))[::-1]
        limits_over_both = [limits[numbers] for limits in tau.both]
        limits_over_users = [limits[numbers] for limits in tau.users]
        over_both = f"{self.units} and families of systems"
        draw_intervals(ax, rows, limits_over_both, THIN, over=over_both)
        draw_intervals(ax, rows, limits_over_users, THICK, over=self.units)
        taus = tau.values[numbers]
        first_colour = colours()[0]
        ax.plot(taus, rows, "o", color=first_colour, markersize=4, label="tau-b")
        attainable = self.attainable[place, numbers]
        (ideal,) = ax.plot(attainable, rows, "|", color="0.4", markersize=9, label="attainable")
        explain(ideal, f"Vertical ticks: {attainable_in_words(self.units)}")
        ax.set_yticks(rows, self._labels)
        ax.set(xlabel=WITH_TRUTH, title=self.title(truth))
        label_curves(ax)

    @figure(
        "validity_robustness",
        "Robustness and validity",
        number=22,
        panels="truth",
        part="robustness",
        on_page=False,
    )
    def plot_robustness(self, ax: Axes, *, truth: str | None = None) -> None:
        """Draw one point a report measure: mean tau with itself under loss, and with the truth.

        The intervals of tau with the truth are over users. Raises InputError if validity was not
        computed with lost judgements.
        """
        numbers = self._reported
        place = self.place(truth)
        tau = self.tau.part(place)
        low, high = tau.users
        limits = (low[numbers], high[numbers])
        robustness_of_all = _require_curves(self.robustness)
        robustness = robustness_of_all[numbers]
        taus = tau.values[numbers]
        draw_robustness(ax, self._labels, robustness, taus, limits, over=self.units)
        title = self.title(truth)
        ax.set_title(title)

    @figure(
        "validity_pairs",
        "Right and wrong significant differences",
        number=23,
        panels="truth",
        part="verdicts",
    )
    def plot_pairs(self, ax: Axes, *, truth: str | None = None) -> None:
        """Stack the shares of pairs (%) by verdict, a bar for each report measure.

        Verdicts compare the measure with one truth, given by name; by default the first reference.
        """
        # The first measure stands on top.
        rows = np.arange(len(self._labels))[::-1]
        shares_by_truth = self.verdicts.shares()
        place = self.place(truth)
        shares = shares_by_truth[place, self._reported]
        percent = 100 * shares
        ends = np.cumsum(percent, axis=1)
        starts = ends - percent
        # Every theme has a colour for each, however few.
        palette = colours() * 5
        verdict_colours = (palette[0], palette[1], palette[4], "0.6", "0.9")
        bars = zip(VERDICTS, verdict_colours, percent.T, starts.T, strict=True)
        for verdict, colour, widths, lefts in bars:
            ax.barh(rows, widths, left=lefts, color=colour, label=verdict)
        ax.set_yticks(rows, self._labels)
        title = self.title(truth)
        ax.set(xlim=(0, 100), xlabel="pairs of systems (%)", title=title)
        label_curves(ax)

    @figure(
        "validity_judgements",
        "Validity when judgements are lost at random",
        number=24,
        panels="truth",
        part="kept",
        on_page=False,
    )
    def plot_judgements(self, ax: Axes, *, truth: str | None = None) -> None:
        """Draw tau-b with the truth against the share of judgements kept."""
        curves = _require_curves(self.kept)
        self._plot_loss(ax, curves, truth, "judgements kept (%)")

    @figure(
        "validity_popularity",
        "Validity when the judgements of popular items are lost",
        number=25,
        panels="truth",
        part="popular",
        on_page=False,
    )
    def plot_popularity(self, ax: Axes, *, truth: str | None = None) -> None:
        """Draw tau-b with the truth against the share of items kept, the least popular."""
        curves = _require_curves(self.popular)
        self._plot_loss(ax, curves, truth, "least popular items kept (%)")

    def _plot_loss(self, ax: Axes, curves: TruthCurves, truth: str | None, label: str) -> None:
        """Draw the curves of tau-b with one truth; ``label`` is that of the horizontal axis.

        ``truth`` is its name; None is the first reference.
        """
        place = self.place(truth)
        curves_of_truth = curves.curves(place, self.measures)
        curves_of_truth.plot(ax, metric=None, over=self.units)
        title = self.title(truth)
        ax.set(xlabel=label, ylabel=WITH_TRUTH, title=title)

    @property
    def _reported(self) -> Numbers:
        """Positions of the report measures."""
        return self.numbers(self.measures.reported)

    @property
    def _labels(self) -> tuple[str, ...]:
        """Labels of the report measures in figures."""
        return tuple(map(str, self.measures.reported))

    def caption(self) -> str:
        """Describe what is compared with what, and how to read the table."""
        n_true_users = counted(self.n_true_users, self.unit)
        true_users = f"{n_true_users} ({self.n_shared:,} in both)"
        if self.n_users == self.n_true_users == self.n_shared:
            true_users = f"the same {self.units}"
        references = listed(self.truths[1:], "or")
        attainable = attainable_in_words(self.units)
        users = counted(self.n_users, self.unit)
        return (
            f"Kendall's tau-b between the ordering of {len(self.systems)} systems by each measure "
            f"over {users} and their true ordering over {true_users} "
            f"{self.origin}; higher is better. True orderings are by "
            f"{references}, which say how good the top of the lists really is, "
            "or by the same measure with the true preferences (itself). tau_AP weights the top of "
            f"the ordering more. Attainable: {attainable} Intervals are those of samples of "
            f"as many {self.units}; tau-b rises with the number of {self.units}. No limit is above "
            "1."
        )

    def _significance_sentence(self) -> str:
        """Describe how pairs of systems were tested, as a sentence."""
        correction = CORRECTIONS_IN_WORDS.get(self.correction, "no correction")
        pairs = counted(self.p.shape[1], "pair")
        systems = counted(len(self.systems), "system")
        users = counted(self.n_users, self.unit)
        test = TESTS_IN_WORDS[self.test]
        return (
            f"{pairs} of {systems} over {users}, by {test} (alpha = {self.alpha:g}, {correction}), "
            f"which is repeated over resampled {self.units}."
        )

    def caption_of(self, part: str) -> str:
        """Describe what the figure of a part shows: verdicts, robustness, kept or popular."""
        if part == "verdicts":
            return f"{self._significance_sentence()} {VERDICTS_IN_WORDS}"
        systems = counted(len(self.systems), "system")
        users = counted(self.n_users, self.unit)
        over = f"{systems} over {users}"
        if part == "robustness":
            return (
                f"Robustness and validity of each measure, for {over}. Robustness is the mean "
                "tau-b with the ordering by the same measure on all judgements when judgements are "
                "lost at random; validity is tau-b with the true ordering. Higher is better for "
                "both."
            )
        removal = "Judgements are removed at random."
        if part != "kept":
            removal = "The judgements of the most popular items are removed first."
        return (
            f"Kendall's tau-b between the ordering of {over} on the judgements that are kept and "
            f"their true ordering. {removal} Higher is better."
        )

    def findings(self) -> Sequence[str]:
        """State which measures are most valid, what choices cost, and what significance is worth.

        All sentences are about the report measures, and the truth is the first reference; the
        sentence on disagreement alone takes the same measure on the truth, the truth at position 0.
        Empty sentences are left out.
        """
        estimates = self.under_settings(self.estimates())
        reported = self.measures.reported
        numbers = self._reported
        place = self.place()
        with_itself = self.tau.part(0)
        _, high = with_itself.users
        best_measures = best_measures_sentence(estimates, self.units)
        disagreement = disagreement_sentence(
            reported,
            taus=with_itself.values[numbers],
            high=high[numbers],
            attainable=self.attainable[0, numbers],
            units=self.units,
        )
        # By a reference, all measures have the same true scores.
        true_scores = self.true[place, numbers[0]]
        is_best = mark_best_systems(true_scores)
        systems = np.array(self.systems)
        best_systems = systems[is_best].tolist()
        regrets = self.regret.values[place, numbers]
        choices = choices_sentence(regrets, best_systems, reference=self.main)
        is_wrong = self.verdicts.wrong[place, numbers]
        is_significant = self.verdicts.significant[place, numbers]
        signs = sign_sentence(
            reported,
            n_wrong=is_wrong.sum(axis=-1),
            n_significant=is_significant.sum(axis=-1),
            test=self.test,
            reference=self.main,
        )
        sentences = [best_measures, disagreement, choices, signs]
        if self.powered is not None:
            sentences.append(powered_sentence(self.powered, unit=self.unit))
        return [sentence for sentence in sentences if sentence]

    def wrong_sign_sentence(self) -> str:
        """State how many of the significant differences are wrong by the first reference.

        Over the report measures: "Of the pairs that differ significantly, 8 to 14 % are in the
        wrong order by true nDCG@10." The sentence says so if no pair differs significantly.
        """
        place = self.place()
        numbers = self._reported
        n_wrong = self.verdicts.wrong[place, numbers].sum(axis=-1)
        n_significant = self.verdicts.significant[place, numbers].sum(axis=-1)
        shares = ratio_or_nan(n_wrong, n_significant)
        if np.isnan(shares).all():
            return "By no measure does a pair of systems differ significantly."
        least = round(100 * float(np.nanmin(shares)))
        most = round(100 * float(np.nanmax(shares)))
        share = f"{least} %" if least == most else f"{least} to {most} %"
        return (
            f"Of the pairs of systems that differ significantly by a measure, {share} are in the "
            f"wrong order by true {self.main}."
        )

    def cautions(self) -> Sequence[str]:
        """State what the truth cannot show, its own notes first.

        A caution warns of fewer than 10 pairs (`FEW_PAIRS`) that truly differ by the first
        reference.
        """
        cautions = [*self.notes]
        if self.unmeasured:
            names = listed(self.unmeasured)
            cautions.append(f"The validity of {names} is unknown: the truth has no scores by them.")
        all_pairs = counted(self.p.shape[1], PAIR)
        place = self.place()
        # By a reference, true differences are the same for all measures.
        is_truly_different = self.verdicts.truly_significant[place, 0]
        n_truly_different = np.count_nonzero(is_truly_different)
        if n_truly_different < FEW_PAIRS:
            verb = "has" if n_truly_different == 1 else "have"
            cautions.append(
                f"Only {n_truly_different} of {all_pairs} {verb} a significant true difference by "
                f"{self.main}: power and inversions are shares of few pairs."
            )
        return [*cautions, *self.families.cautions()]


def _require_curves(value: Value | None) -> Value:
    """Return curves, or what is computed from them; raise InputError if there are none (None)."""
    if value is None:
        raise InputError(
            "there are no curves of validity: `judgements` is false in [analyses.validity]."
        )
    return value
