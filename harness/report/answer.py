"""The answer of a study: the measures that its results support, in words, a figure and a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from math import floor, log10, nan
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from analyses.shared.drawing import THICK, THIN, colours, draw_intervals, explain, panel_index
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import Cell, rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import (
    applicable,
    compared_with_threshold,
    listed,
    threshold_in_words,
    values_in_words,
)
from analyses.shared.table import Table
from runs.shared.arrays import Floats
from runs.shared.errors import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.discrimination import Discrimination


TRUTH = "validity"
"""The analysis that compares measures with a truth: where it was made, it decides alone."""

WITHOUT_TRUTH = ("sparsity", "popularity", "discrimination")
"""The analyses that decide where no truth is known, all of them together."""

TITLE = 26
"""Characters in a line of a panel's title."""

Linked = tuple[str, str]
"""A sentence, and the section of the report that shows it."""


@dataclass(frozen=True, eq=False)
class Power:
    """Significant and detectable differences between systems, for each report measure.

    Parameters
    ----------
    measures
        The measures.
    apart
        Number of pairs of systems with a mid-p-value below .05, of shape (n_measures,).
    detectable
        The difference in means that is found with power .8 in the median pair, likewise.
    n_pairs, n_users
        Numbers of pairs and users.
    test
        How pairs were tested.
    """

    measures: Measures
    apart: Floats
    detectable: Floats
    n_pairs: int
    n_users: int
    test: str

    @classmethod
    def of(cls, found: Discrimination) -> Power:
        """Take the report measures."""
        measures = found.measures.reported
        chosen = found.measures.indices(measures)
        apart = (found.mid_p[chosen] < 0.05).sum(axis=1).astype(np.float64)
        detectable, test = found.detectable()[chosen], found.test_in_words()
        return cls(measures, apart, detectable, found.p.shape[1], found.n_users, test)

    def sentence(self, measure: Measure | None, unit: str) -> str:
        """Say whether the users are enough, for a measure or the most discriminative one."""
        number = int(self.apart.argmax()) if measure is None else self.measures.index(measure)
        name, others = self.measures[number], np.delete(self.apart, number)
        found = float(self.detectable[number])
        decimals = max(3, 1 - floor(log10(found))) if 0 < found < 1 else 3
        under = ""
        if others.size:
            fewest, most = (f"{limit:.0f}" for limit in (others.min(), others.max()))
            span = fewest if fewest == most else f"{fewest} to {most}"
            under = f", and {span} under the other measures"
        return (
            f"Under {name}, {self.apart[number]:.0f} of {counted(self.n_pairs, 'pair of systems')} "
            f"{'differs' if self.apart[number] == 1 else 'differ'} significantly{under} "
            f"({self.test}; mid-p < .05, not corrected). With "
            f"{counted(self.n_users, unit)}, this test finds a difference of "
            f"{rounded(found, decimals)} in mean {name} "
            "with power .8 (median over the pairs)."
        )


@dataclass(frozen=True, eq=False)
class Answer(Result):
    """Which report measures the results of a study support, and the numbers that decide.

    Parameters
    ----------
    keys, every
        The analyses that have a number for each measure, and these numbers, from the best.
    without_number
        Analyses that were made and have no number for any report measure, each with the reason.
    measures
        The report measures.
    power
        Significant and detectable differences; None where pairs of systems were not tested.
    """

    keys: tuple[str, ...]
    every: tuple[Estimates, ...]
    measures: Measures
    power: Power | None = None
    without_number: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, estimates: Iterable[tuple[str, Estimates]], tested: Discrimination | None = None
    ) -> Answer:
        """Gather the numbers of the report measures by analysis, and what pairs of systems show."""
        ordered = {key: each.in_order() for key, each in estimates}
        found = {key: each for key, each in ordered.items() if each.measures}
        undefined = {key: each.no_value for key, each in ordered.items() if not each.measures}
        power = None if tested is None else Power.of(tested)
        names = dict.fromkeys(m for each in found.values() for m in each.measures)
        measures = Measures(names, reported=names)
        return cls(tuple(found), tuple(found.values()), measures, power, undefined)

    @property
    def deciding(self) -> Mapping[str, Estimates]:
        """The numbers that decide, by analysis: of the truth, or without one of three analyses."""
        by_key = dict(zip(self.keys, self.every, strict=True))
        wanted = (TRUTH,) if TRUTH in by_key else WITHOUT_TRUTH
        return {key: by_key[key] for key in wanted if key in by_key}

    @property
    def is_over_more(self) -> bool:
        """Whether the numbers that decide have intervals over systems or their settings too."""
        return all(each.has_further_sources for each in self.deciding.values())

    @property
    def sources(self) -> list[str]:
        """What the intervals of differences are over, beside users."""
        every = self.deciding.values()
        families = (each.systems.n_families for each in every if each.systems is not None)
        held = {
            counted(max(families, default=0), "family of related systems"): all(
                each.has_system_intervals for each in every
            ),
            "settings of the systems": all(each.over_settings is not None for each in every),
        }
        return [source for source, holds in held.items() if every and holds]

    def supported(self, *, systems: bool | None = None) -> tuple[Measure, ...]:
        """Give the measures that are acceptable and unbeaten by all numbers that decide.

        Unbeaten: no other measure is significantly better, over users and systems where that is
        known, or as asked. None is supported without a truth unless all three analyses were made.
        """
        over = self.is_over_more if systems is None else systems
        deciding = self.deciding
        if not deciding or (TRUTH not in deciding and len(deciding) < len(WITHOUT_TRUTH)):
            return ()
        passed = [
            set(compress(each.measures, each.may_be_best(all_sources=over) & each.acceptable()))
            for each in deciding.values()
        ]
        first = next(iter(deciding.values()))
        return tuple(measure for measure in first.measures if all(measure in p for p in passed))

    def sentences(self) -> list[Linked]:
        """Answer in sentences, each with the section of the report that shows it."""
        if not self.every:
            return []
        supported = self.supported()
        answer = self._by_truth(supported) if TRUTH in self.keys else self._stable(supported)
        if self.power is not None:
            near = list(self.deciding[TRUTH].measures) if TRUTH in self.keys else []
            measure = next(iter([*supported, *near]), None)
            answer.append((self.power.sentence(measure, self.unit), "discrimination"))
        of_users = self.supported(systems=False)
        if of_users and of_users != supported:
            sentence = (
                f"Over these {self.units} alone, {both(of_users)} would remain; other systems may "
                "order the measures otherwise."
            )
            answer.append((sentence, "answer"))
        others = "" if self.is_over_more else "systems, "
        scope = (
            "Each measure is compared with all others at once (one-sided, 95 % confidence), over "
            f"{self._chance}. Intervals in brackets are over {self.units}, and hold for all "
            f"measures at once. Other {others}splits or data sets may order the measures otherwise."
        )
        if TRUTH in self.without_number:
            reason = self.without_number[TRUTH]
            scope += f" The analysis {TRUTH} was made, but gives no number, as {reason}."
        elif TRUTH not in self.keys:
            scope += " No true ordering is known here: a stable measure need not be right."
        return [*answer, (scope, "")]

    @property
    def _chance(self) -> str:
        """What the intervals of differences are over."""
        sources = listed([self.units, *self.sources])
        return sources if self.sources else f"{sources} alone"

    def findings(self) -> tuple[str, ...]:
        """Answer in sentences."""
        return tuple(sentence for sentence, _ in self.sentences())

    def _by_truth(self, supported: Sequence[Measure]) -> list[Linked]:
        """Name the measures whose order of the systems is closest to the true one."""
        found = self.deciding[TRUTH]
        if not supported:
            best = found.may_be_best(all_sources=self.is_over_more)
            first, *level = compress(found.measures, best)
            also = ""
            if level:
                rest = "the others" if len(level) == len(found.measures) - 1 else both(level)
                also = (
                    f" It is not significantly more valid than {rest} "
                    f"({values_in_words(found, level)})."
                )
            sentence = (
                f"No estimate reaches the threshold of validity, {threshold_in_words(found)} (a "
                f"convention). {first} comes closest "
                f"({compared_with_threshold(found, [first])}).{also}"
            )
            return [(f"{sentence} {self._undecided(found)}".rstrip(), TRUTH)]
        others = [measure for measure in found.measures if measure not in supported]
        which = either(supported) if others else f"any of the {len(supported)} measures"
        other = "other measure" if others else "measure"
        closest = f"no {other} orders the systems significantly closer to the truth"
        answer = [(f"Report {which}: {closest} ({values_in_words(found, supported)}).", TRUTH)]
        if others:
            why = f"significantly less valid, or below the threshold of {threshold_in_words(found)}"
            sentence = (
                f"Do not rely on {both(others)}: {why} ({compared_with_threshold(found, others)})."
            )
            answer.append((sentence, TRUTH))
        return answer

    def _undecided(self, found: Estimates) -> str:
        """Name the measures whose intervals include the threshold."""
        limits = {self.units: found.high}
        if found.has_further_sources:
            limits[self._chance] = found.limits_over_all_sources()[1]
        parts = []
        for over, high in limits.items():
            some = [*compress(found.measures, high >= (found.threshold or np.inf))]
            if some:
                is_part = len(some) < len(found.measures)
                which = both(some) if is_part else f"all {counted(len(some), 'measure')}"
                parts.append(f"of {which} (over {over})")
        return f"The threshold lies in the intervals {', and '.join(parts)}." if parts else ""

    def _stable(self, supported: Sequence[Measure]) -> list[Linked]:
        """Name the measures that are stable and discriminative, or say what speaks against each."""
        deciding = self.deciding
        missing = [key for key in WITHOUT_TRUTH if key not in deciding]
        sentence = "No measure is stable and discriminative in all three respects."
        if missing:
            sentence = f"No measure is recommended: {self._why_missing(missing)}."
        elif supported:
            sentence = (
                f"Report {either(supported)}: stable and discriminative. No other measure is "
                "significantly better in robustness to random loss of judgements, in robustness to "
                "loss of popular items, or in discriminative power."
            )
        over = self.is_over_more
        respects = [(respect(each, systems=over), key) for key, each in deciding.items()]
        return [(sentence, "answer"), *respects]

    def _why_missing(self, missing: Sequence[str]) -> str:
        """Say which analyses were not made, and why others that were made give no number."""
        left_out = [key for key in missing if key not in self.without_number]
        reasons = []
        if left_out:
            noun = "analysis" if len(left_out) == 1 else "analyses"
            reasons.append(f"the study lacks the {noun} {listed(left_out)}")
        for key in missing:
            if key in self.without_number:
                reason = self.without_number[key]
                reasons.append(f"the analysis {key} was made, but gives no number, as {reason}")
        return "; ".join(reasons)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``answer``.

        Returns
        -------
        One row per quantity and measure, from the best: columns quantity, metric, cutoff, value,
        low, high (95 %, over users), acceptable, unbeaten (no other measure is significantly
        better, over users and, where known, systems and settings) and supported.
        """
        import pandas as pd

        found = [self._frame(each) for each in self.every]
        return {"answer": pd.concat(found, ignore_index=True)} if found else {}

    def _frame(self, found: Estimates) -> pd.DataFrame:
        import pandas as pd

        supported = self.supported()
        return pd.DataFrame(
            {
                "quantity": found.name,
                "metric": [measure.metric for measure in found.measures],
                "cutoff": found.measures.cutoff_column,
                "value": found.values,
                "low": found.low,
                "high": found.high,
                "acceptable": found.acceptable(),
                "unbeaten": found.may_be_best(all_sources=found.has_further_sources),
                "supported": [measure in supported for measure in found.measures],
            }
        )

    @property
    def subjects(self) -> tuple[str, ...]:
        """What the quantities are about."""
        return tuple(each.subject for each in self.every)

    @property
    def shown(self) -> Answer | None:
        """What is shown: this, unless no measure has a number."""
        return self if self.every else None

    @property
    def rows(self) -> tuple[Measure, ...]:
        """The measures that are shown, in one order: by the numbers that decide, from the best."""
        first = [*self.deciding.values(), *self.every]
        every = dict.fromkeys(measure for each in first for measure in each.measures)
        return tuple(measure for measure in every if measure in self.measures.reported)

    @table("answer", "the numbers that compare report measures, with intervals")
    def table(self) -> Table:
        """Tabulate the numbers with their intervals: measures down, quantities across."""
        headings, decimals = ["measure"], dict[int, int]()
        rows: list[list[Cell]] = [[str(measure)] for measure in self.rows]
        for each in self.every:
            by_measure = dict(
                zip(each.measures, each.by_label(each.measures).values(), strict=True)
            )
            if each.decimals is not None:
                decimals[len(headings)] = each.decimals
            headings += [each.name, "95 %"]
            for row, measure in zip(rows, self.rows, strict=True):
                if measure in by_measure:
                    estimate = by_measure[measure]
                    places = estimate.decimals if each.decimals is None else each.decimals
                    row += [estimate.value, estimate.bracketed(places, by_ratio=each.by_ratio)]
                else:
                    row += [nan, ""]
        return Table(
            "answer",
            "Report measures",
            self.caption(),
            headings,
            rows,
            decimals=3,
            decimals_of_columns=decimals,
        )

    @figure(
        "answer",
        "Summary of the measures",
        number=0,
        panels="subject",
        comparable=False,
        part="shown",
    )
    def plot(self, ax: Axes, *, subject: str | None = None) -> Axes:
        """Draw a point a measure with its interval; filled points are unbeaten."""
        number = panel_index(self.subjects, subject)
        found, colour = self.every[number], colours()[0]
        rows = {measure: row for row, measure in enumerate(self.rows)}
        best = found.may_be_best(all_sources=found.has_further_sources)
        low, high = found.limits_over_all_sources()
        shown = [number for number, measure in enumerate(found.measures) if measure in rows]
        places = np.array([rows[found.measures[number]] for number in shown])
        draw_intervals(ax, places, [low[shown], high[shown]], THIN, over=self._chance)
        draw_intervals(ax, places, [found.low[shown], found.high[shown]], THICK, over=self.units)
        for number, place in zip(shown, places, strict=True):
            (point,) = ax.plot(found.values[number], place, "o", color=colour, markersize=4.5)
            if best[number]:
                explain(point, "Filled points: no other measure is significantly better.")
            else:
                point.set_markerfacecolor("white")
                explain(point, "Open points: another measure is significantly better.")
        if found.threshold is not None and found.shares is None:
            line = ax.axvline(found.threshold, color="0.6", linewidth=1, linestyle=":", zorder=0)
            explain(line, f"Dotted lines: thresholds ({self._thresholds}), which are conventions.")
        ends = np.array([*found.values, *found.low, *found.high, *low, *high])
        least, most = np.nanmin(ends), np.nanmax(ends)
        room = 0.03 * (max(most, 1.0) - min(least, 0.0))
        ax.set_xlim(min(least, 0.0) - room, max(most, 1.0) + room)
        ax.locator_params(axis="x", nbins=3)
        ax.set_yticks(range(len(self.rows)), [*map(str, self.rows)])
        ax.set_ylim(len(self.rows) - 0.5, -0.5)
        ax.set_xlabel(f"{found.quantity}{' (lower is better)' * found.lower_is_better}")
        ax.set_title(fill(found.subject, TITLE))
        return ax

    def caption(self) -> str:
        """Say what the figure shows."""
        first = next(iter(self.deciding.values()), None)
        order = "" if first is None else f", ordered by {first.subject.lower()}"
        subjects = [subject[:1].lower() + subject[1:] for subject in self.subjects]
        definitions = {
            "An area is the mean, over smaller and smaller parts of the judgements, of the tau-b "
            "between the orderings on all judgements and on the part; the parts differ between "
            "random loss and loss of popular items, so that their areas are not "
            "comparable.": any("area" in each.quantity for each in self.every),
            "mid-p DP (discriminative power) is the sum of the mid-p-values of all pairs of "
            "systems: lower is more discriminative.": "discrimination" in self.keys,
        }
        parts = [
            f"The measures (metrics at a cut-off) by {listed(subjects)}{order}, with 95 % "
            f"intervals over {self.units}.",
            *applicable(definitions),
        ]
        return " ".join(parts)

    @property
    def _thresholds(self) -> str:
        """The thresholds that the panels show, each once."""
        shown = [each for each in self.every if each.threshold and each.shares is None]
        return listed([*dict.fromkeys(threshold_in_words(each) for each in shown)])


def respect(found: Estimates, *, systems: bool) -> str:
    """Say which measures are acceptable and unbeaten in one respect."""
    good = found.acceptable()
    best = [*compress(found.measures, found.may_be_best(all_sources=systems) & good)]
    if not best:
        first = found.measures[0]
        nearest = f"{first} ({compared_with_threshold(found, [first])})"
        if not good.any():
            return (
                f"{found.subject}: no estimate reaches the threshold of "
                f"{threshold_in_words(found)}; {nearest} comes closest."
            )
        return (
            f"{found.subject}: every measure that reaches the threshold of "
            f"{threshold_in_words(found)} is significantly worse than another. The best is "
            f"{nearest}."
        )
    others = "another" if len(best) == len(found.measures) else either(best)
    better = f"no measure is significantly better than {others}"
    return f"{found.subject}: {better} ({values_in_words(found, best)})."


def both(some: Iterable[Measure]) -> str:
    """Join measures by "and"."""
    return listed([*map(str, some)])


def either(some: Iterable[Measure]) -> str:
    """Join measures by "or"."""
    return listed([*map(str, some)], "or")
