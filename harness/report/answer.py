"""The answer of a study: the measures that its results confirm or rule out, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.shared.contested_pairs import LEAST_SYSTEMS, ContestedPairs
from analyses.shared.drawing import THICK, THIN, colours, draw_intervals, explain, panel_index
from analyses.shared.families import MIN_FAMILIES
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import Cell, rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import applicable, listed, not_compared_sentence
from analyses.shared.table import Table
from harness.report.answer_facts import Depth, Disagreement, Power, Robustness
from harness.report.verdicts import (
    CONFIRMED,
    FEWEST_PAIRS,
    OPEN,
    PAIRS_OF_MARGIN,
    RULED_OUT,
    Verdict,
    Verdicts,
    margin_of_pairs,
)
from runs.shared.arrays import Floats
from runs.shared.errors import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


TRUTH = "validity"
"""The analysis that compares measures with a truth: where it was made, it decides alone."""

TESTS = "discrimination"
"""The analysis that tests pairs of systems."""

WITHOUT_TRUTH = ("sparsity", "popularity", TESTS)
"""The analyses that decide where no truth is known, all of them together."""

LEAST_STABLE_RESPECTS = 2
"""A measure is stable if so many of the three analyses without a truth confirm it."""

RESPECTS_IN_WORDS = {
    "sparsity": "random loss of judgements",
    "popularity": "loss of popular items",
    TESTS: "discriminative power",
    TRUTH: "validity",
}
"""What measures are compared by."""

HEADINGS = {
    "sparsity": "kept under random loss",
    "popularity": "kept without popular items",
    TESTS: "told apart",
    TRUTH: "in the true order",
}
"""Headings of the matrix of verdicts: which pairs of systems its shares count, by analysis."""

MARKS: Mapping[Verdict, str] = {CONFIRMED: "●", OPEN: "○", RULED_OUT: "✕"}
"""Marks of verdicts, of different shapes."""

LEAST_USERS = 20
"""With fewer users for whom systems differ in score, nothing is said of measures."""

POOR_SHARES = {"sparsity": 0.75, "popularity": 0.75, TRUTH: 0.85}
"""Where the best measure gets a smaller share of the pairs within reach right, that comes first.

A share of .75 is a tau of .5. Of discriminative power there is none: pairs may truly be equal.
"""

NO_VERDICT_COLOUR = "0.5"
"""Grey, of measures on which there is no verdict."""

TITLE = 26
"""Characters in a line of a panel's title."""

Linked = tuple[str, str]
"""A sentence, and the section of the report that shows it."""


@dataclass(frozen=True, eq=False)
class Answer(Result):
    """Which report measures the results of a study confirm, and the numbers that decide.

    Parameters
    ----------
    keys, every
        The analyses that have a number for each measure, and these numbers, from the best.
    measures
        The report measures.
    share_keys, shares
        The analyses that say what measures do with the contested pairs of systems, and the shares
        of these pairs.
    shares_within_reach
        By analysis: the same of all pairs of systems within reach, (n_candidates,).
    pairs
        The contested pairs, and the candidate measures; None if no analysis has them.
    power, disagreement
        What the tests of pairs show; None where pairs were not tested.
    depths
        By metric: from which cut-off on it gets no better.
    robustness
        Agreement of measures with themselves when judgements are lost at random, and what that is
        read beside; None if it is not known.
    truth_sentence
        How often significant differences are wrong by the truth; "" without a truth.
    without_number
        Analyses that were made and have no number for any report measure, each with the reason.
    """

    keys: tuple[str, ...]
    every: tuple[Estimates, ...]
    measures: Measures
    share_keys: tuple[str, ...] = ()
    shares: tuple[Estimates, ...] = ()
    shares_within_reach: Mapping[str, Floats] = field(default_factory=dict)
    pairs: ContestedPairs | None = None
    power: Power | None = None
    disagreement: Disagreement | None = None
    depths: tuple[Depth, ...] = ()
    robustness: Robustness | None = None
    truth_sentence: str = ""
    without_number: Mapping[str, str] = field(default_factory=dict)

    @property
    def deciding_keys(self) -> tuple[str, ...]:
        """The analyses that decide: the truth, or without one three analyses."""
        return (TRUTH,) if TRUTH in self.keys else WITHOUT_TRUTH

    @property
    def shares_by_key(self) -> dict[str, Estimates]:
        """The shares of the contested pairs, by the analysis that has them."""
        return dict(zip(self.share_keys, self.shares, strict=True))

    @cached_property
    def verdicts(self) -> Verdicts | None:
        """The verdicts for these systems; None where the data cannot tell, or nothing is contested.

        Without a truth, all three analyses must have been made.
        """
        return self._verdicts(self.deciding_keys)

    @cached_property
    def verdicts_on_stability(self) -> Verdicts | None:
        """The verdicts by the three analyses that need no truth; None as for `verdicts`."""
        return self._verdicts(WITHOUT_TRUTH)

    def _verdicts(self, keys: Sequence[str], *, all_sources: bool = False) -> Verdicts | None:
        """Apply the rule to some analyses, by their keys; None if one of them has no shares.

        None, too, if there are too few data (`floor`), or fewer than `FEWEST_PAIRS` (10) pairs are
        contested. With ``all_sources``, verdicts are for other systems and settings, too.
        """
        by_key = self.shares_by_key
        has_all = all(key in by_key for key in keys)
        if not has_all or self.pairs is None or self.floor():
            return None
        if self.pairs.n_contested < FEWEST_PAIRS:
            return None
        respects = {key: by_key[key] for key in keys}
        margin = margin_of_pairs(self.pairs.n_contested)
        return Verdicts(respects, margin, all_sources)

    def floor(self) -> str:
        """Write why the data cannot tell anything of measures, and what to add; "" if they can.

        They need a candidate measure, `LEAST_SYSTEMS` (8) systems, and `LEAST_USERS` (20) users for
        whom systems differ in score. It is a clause, without a full stop.
        """
        if self.pairs is None:
            return ""
        n_systems = len(self.pairs.systems)
        if not self.pairs.measures:
            return "no report measure uses the judgements: add one that does, such as nDCG or P"
        if self.pairs.n_users == 0:
            return (
                f"all systems have the same scores for every {self.unit}: no judged item in their "
                "lists sets them apart. Check that ids of items match; judge items of the lists"
            )
        if n_systems < LEAST_SYSTEMS:
            return (
                f"{counted(n_systems, 'system')} give {counted(self.pairs.n_pairs, 'pair')}; at "
                f"least {LEAST_SYSTEMS} systems are needed, better 12 of {MIN_FAMILIES} or more "
                "kinds: add systems"
            )
        if self.pairs.n_users < LEAST_USERS:
            return (
                f"systems differ in score for {counted(self.pairs.n_users, self.unit)} only; at "
                f"least {LEAST_USERS} are needed: add {self.units} with a relevant item"
            )
        return ""

    def sentences(self) -> list[Linked]:
        """Write the answer in sentences, each with the section of the report that shows it.

        The decision is first, unless even the best measure is poor.
        """
        if not self.every:
            return []
        sentences = [(self.decision(), "answer")]
        if self.verdicts is not None:
            poor = self.poor_sentence()
            if poor is not None:
                sentences.insert(0, poor)
            ruled_out = self._ruled_out_sentence(self.verdicts)
            if ruled_out:
                sentences.append((ruled_out, "answer"))
        sentences += self.explanations()
        return sentences

    def decision(self) -> str:
        """Write the decision in one sentence, or the reason why there is none.

        There is none if the data are too few (`floor`), or an analysis that decides is missing or
        has no shares of the contested pairs; nothing is to be decided with a single candidate.
        """
        missing = [key for key in self.deciding_keys if key not in self.share_keys]
        floor = self.floor()
        if floor:
            return f"These data cannot tell which measure to report: {floor}."
        if missing or self.pairs is None:
            return f"No measure is recommended: {self._why_missing(missing)}."
        if len(self.pairs.measures) == 1:
            return (
                f"{self.pairs.measures[0]} is the only measure to choose from: name others in "
                "[metrics] to compare it with."
            )
        if self.verdicts is None:
            return self._agreement_sentence(self.pairs)
        return self._verdict_sentence(self.verdicts, self.pairs)

    def _why_missing(self, missing: Sequence[str]) -> str:
        """Write which analyses were not made, and why others that were made give no number.

        ``missing`` are keys of analyses without shares of the contested pairs. ``self.keys`` are
        those of the analyses that have a number for each measure; ``self.without_number`` has a
        reason for each that has none.
        """
        left_out = [key for key in missing if key not in self.keys + tuple(self.without_number)]
        reasons = []
        if left_out:
            noun = "analysis" if len(left_out) == 1 else "analyses"
            reasons.append(f"the study lacks the {noun} {listed(left_out)}")
        for key in missing:
            if key in self.without_number:
                reason = self.without_number[key]
                reasons.append(f"the analysis {key} was made, but gives no number, as {reason}")
            elif key in self.keys:
                reasons.append(f"the analysis {key} does not compare all pairs of systems")
        return "; ".join(reasons)

    def _agreement_sentence(self, pairs: ContestedPairs) -> str:
        """Write that too few pairs are contested to choose a measure by."""
        which = either(pairs.measures)
        return (
            f"Report {which}: the choice hardly matters here, as all measures find the same "
            f"significant order for all but {pairs.n_contested} of "
            f"{counted(pairs.n_pairs, 'pair of systems')}."
        )

    def _verdict_sentence(self, verdicts: Verdicts, pairs: ContestedPairs) -> str:
        """Write which measures are confirmed, or else ruled out, or which comes nearest.

        ``verdicts`` are over the contested pairs of ``pairs``; the margin is a share of these.
        """
        confirmed = verdicts.with_verdict(CONFIRMED)
        ruled_out = verdicts.with_verdict(RULED_OUT)
        undecided = verdicts.with_verdict(OPEN)
        contested = (
            f"the {pairs.n_contested} of {counted(pairs.n_pairs, 'pair of systems')} that the "
            "measures do not clearly agree on"
        )
        if confirmed:
            subject = "it is" if len(confirmed) == 1 else "each is"
            best = "the best measure in all three respects"
            if TRUTH in self.keys:
                best = "the measure that puts most of them in the true order"
            advice = f"Report {either(confirmed)}"
            if self.poor_sentence() is not None:
                advice = f"If you report one of them, report {either(confirmed)}"
            return (
                f"{advice}: on {contested}, {subject} within {margin_in_words(verdicts.margin)} of "
                f"{best}."
            )
        if ruled_out and undecided:
            rest = f"which of the other {len(undecided)} is best these data cannot tell"
            if len(undecided) == 1:
                rest = f"{undecided[0]} alone is left, and not confirmed"
            return f"Do not report {either(ruled_out)}; {rest}."
        if ruled_out:
            return (
                f"No measure is good in all three respects: on {contested}, each is far from the "
                "best in one of them."
            )
        nearest = nearest_measure(verdicts)
        return (
            f"These data cannot tell which of the {len(undecided)} measures is best: on "
            f"{contested}, none is shown to be within {margin_in_words(verdicts.margin)} of the "
            f"best; {nearest} comes nearest."
        )

    def poor_sentence(self) -> Linked | None:
        """Write that even the best measure is poor in a respect; None if there is no such one.

        It is poor if its share, of the pairs of systems within reach that it gets right, is below
        that in `POOR_SHARES`. Respects are those that decide; the first poor one counts. Returns
        the sentence and the key of its analysis.
        """
        if self.verdicts is None or self.pairs is None:
            return None
        n_within_reach = int(np.count_nonzero(self.pairs.is_within_reach))
        pairs = f"{counted(self.pairs.n_pairs, 'pair')} of {counted(n_within_reach, 'system')}"
        for key in self.deciding_keys:
            if key not in POOR_SHARES:
                continue
            shares = self.shares_within_reach[key]
            best = float(np.nanmax(shares))
            if best < POOR_SHARES[key]:
                measures = self.shares_by_key[key].measures
                name = measures[int(np.nanargmax(shares))]
                percent = round(100 * (1 - best))
                if key == TRUTH:
                    return (
                        f"No measure is close to the truth: of the {pairs}, even {name} puts "
                        f"{percent} % in the wrong order.",
                        key,
                    )
                loss = RESPECTS_IN_WORDS[key]
                return (
                    f"No measure is robust to {loss}: of the {pairs}, even {name} reverses "
                    f"{percent} % on average.",
                    key,
                )
        return None

    def explanations(self) -> list[Linked]:
        """Write what explains the decision, each sentence with the section of the report on it.

        The section is "" for none. What is not known is left out.
        """
        return [*self.leading_explanations(), *self.further_explanations()]

    def leading_explanations(self) -> list[Linked]:
        """Write the explanations that the first screen has: at most four.

        These are what the truth says, or else depth; whether the choice matters here; whether the
        users are enough; and what the verdicts do not cover.
        """
        explanations: list[Linked] = []
        if self.truth_sentence:
            stability = self._stability_sentence()
            explanations.append((f"{self.truth_sentence} {stability}".rstrip(), TRUTH))
        else:
            explanations += self._depth_explanations()
        if self.disagreement is not None:
            explanations.append((self.disagreement.sentence(), TESTS))
        chosen = self.chosen_measure()
        if self.power is not None and chosen is not None:
            explanations.append((self.power.sentence(chosen, self.unit), TESTS))
        explanations.append((self._scope_sentence(), ""))
        return explanations

    def further_explanations(self) -> list[Linked]:
        """Write the other explanations: what robustness is read beside, and depth with a truth."""
        explanations: list[Linked] = []
        chosen = self.chosen_measure()
        if chosen is not None and self.robustness is not None:
            sentence = self.robustness.sentence(chosen, self.unit)
            if sentence:
                explanations.append((sentence, "sparsity"))
        if self.truth_sentence:
            explanations += self._depth_explanations()
        return explanations

    def _depth_explanations(self) -> list[Linked]:
        """Write from which cut-off on the chosen measure gets no better, in one text at most.

        Where the candidates have different depths, that comes first.
        """
        chosen = self.chosen_measure()
        sentences = [self._unequal_depths_sentence()]
        for depth in self.depths:
            if chosen is not None and depth.metric == chosen.metric:
                sentences.append(depth.sentence())
        text = " ".join(filter(None, sentences))
        return [(text, "answer")] if text else []

    def chosen_measure(self) -> Measure | None:
        """Choose the measure that further sentences are about: confirmed, or else nearest to it.

        Without verdicts, the first candidate; None without candidates.
        """
        if self.pairs is None or not self.pairs.measures:
            return None
        if self.verdicts is None:
            return self.pairs.measures[0]
        return nearest_measure(self.verdicts)

    def _unequal_depths_sentence(self) -> str:
        """Write that the candidates have different depths; "" if they do not, or there is none."""
        if self.pairs is None:
            return ""
        depths = dict.fromkeys(measure.cutoff_label for measure in self.pairs.measures)
        if len(depths) < 2:
            return ""
        return (
            f"The measures have different depths ({listed(list(depths))}): what separates them may "
            "be the depth, not the metric."
        )

    def _stability_sentence(self) -> str:
        """Write which measures are stable, and right or wrong by the truth; "" if there are none.

        Stable is what two of the three analyses without a truth confirm, at least; right or wrong,
        what the truth confirms or rules out.
        """
        stability = self.verdicts_on_stability
        if stability is None or self.verdicts is None:
            return ""
        sentences = []
        words_by_verdict: dict[Verdict, str] = {
            RULED_OUT: "Stable, but wrong",
            CONFIRMED: "Stable, and among the nearest to the truth",
        }
        for verdict, words in words_by_verdict.items():
            stable_measures = []
            for measure in self.verdicts.with_verdict(verdict):
                n_confirmed = sum(
                    of_respect.get(measure) == CONFIRMED
                    for of_respect in stability.by_respect.values()
                )
                if n_confirmed >= LEAST_STABLE_RESPECTS:
                    stable_measures.append(str(measure))
            if stable_measures:
                sentences.append(f"{words}: {listed(stable_measures)}.")
        return " ".join(sentences)

    def _ruled_out_sentence(self, verdicts: Verdicts) -> str:
        """Write for each measure that is ruled out where it is farthest from the best; "" if none.

        Shares are pairs in 100 of the contested ones. `DEEDS` says what a measure does with a pair
        in a respect.
        """
        clauses = []
        for measure in verdicts.with_verdict(RULED_OUT):
            gaps = {}
            for key, of_respect in verdicts.by_respect.items():
                if of_respect[measure] == RULED_OUT:
                    gaps[key] = _best_share(verdicts, key) - _share(verdicts, key, measure)
            widest = max(gaps, key=lambda name: gaps[name])
            share = round(100 * _share(verdicts, widest, measure))
            best = round(100 * _best_share(verdicts, widest))
            clauses.append(f"{measure} ({DEEDS[widest]} {share} of 100 pairs, the best {best})")
        return f"Ruled out: {listed(clauses)}." if clauses else ""

    def _scope_sentence(self) -> str:
        """Write what verdicts are over, what they say of other systems, and what they leave out."""
        sentences = []
        if self.verdicts is None:
            sentences += self._not_compared()
        else:
            sentences.append(self._other_systems_sentence(self.verdicts))
        if TRUTH in self.without_number:
            reason = self.without_number[TRUTH]
            sentences.append(f"The analysis {TRUTH} was made, but gives no number, as {reason}.")
        elif TRUTH not in self.keys:
            sentences.append("No true ordering is known here: a stable measure need not be right.")
        sentences.append("Other splits or data sets may order the measures otherwise.")
        return " ".join(sentences)

    def _not_compared(self) -> list[str]:
        """Write which systems are out of reach, and which measures are no candidates.

        Sentences; none where all are compared, or pairs of systems are not known.
        """
        if self.pairs is None:
            return []
        sentences = []
        if self.pairs.out_of_reach:
            names = listed(self.pairs.out_of_reach)
            is_single = len(self.pairs.out_of_reach) == 1
            verb = "is" if is_single else "are"
            pronoun = "it" if is_single else "them"
            sentences.append(
                f"{names} {verb} not compared: most measures put {pronoun} clearly above or below "
                "the other systems."
            )
        if self.pairs.excluded:
            reasons = [f"{name} ({reason})" for name, reason in self.pairs.excluded.items()]
            sentences.append(f"Not candidates: {listed(reasons)}.")
        return sentences

    def _other_systems_sentence(self, verdicts: Verdicts) -> str:
        """Write which verdicts also hold with other systems of the same kinds.

        Further sources of chance are systems, or settings of the systems. Where an analysis does
        not know them, verdicts are said to be for these systems alone.
        """
        scope = f"Verdicts hold for {self.units} like these, and these systems"
        sources = {
            source for respect in verdicts.respects.values() for source in respect.further_sources
        }
        if not all(respect.has_further_sources for respect in verdicts.respects.values()):
            return f"{scope}."
        wider = self._verdicts(self.deciding_keys, all_sources=True)
        kept: dict[Verdict, list[str]] = {CONFIRMED: [], RULED_OUT: []}
        opened = []
        if wider is not None:
            for measure, verdict in wider.overall.items():
                if verdict in kept and verdict == verdicts.overall[measure]:
                    kept[verdict].append(str(measure))
                elif verdicts.overall[measure] == CONFIRMED:
                    opened.append(str(measure))
        remaining = []
        for verdict, names in kept.items():
            if names:
                verb = "stays" if len(names) == 1 else "stay"
                remaining.append(f"{listed(names)} {verb} {verdict}")
        others = listed(sorted(sources))
        if remaining and opened:
            verb = "is" if len(opened) == 1 else "are"
            remaining.append(f"{listed(opened)} {verb} open")
        rest = listed(remaining) if remaining else "all verdicts are open"
        return f"{scope}; with other {others} of these kinds, {rest}."

    def _verdicts_in(self, key: str) -> Mapping[Measure, Verdict]:
        """Look up the verdict on each candidate in one respect, by its analysis; empty if none."""
        for verdicts in (self.verdicts, self.verdicts_on_stability):
            if verdicts is not None and key in verdicts.by_respect:
                return verdicts.by_respect[key]
        return {}

    def findings(self) -> tuple[str, ...]:
        """Write the answer in sentences."""
        return tuple(sentence for sentence, _ in self.sentences())

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate the numbers of all analyses, and the verdicts.

        ``answer`` has a row per quantity and measure, from the best: columns quantity, metric,
        cutoff, value, low and high (95 %, over users). ``verdicts`` has a row per respect and
        candidate: columns respect, metric, cutoff, share (of the contested pairs, in the mean over
        resampled users), low, high, verdict, and overall, the verdict in all respects; it is
        missing without verdicts.
        """
        import pandas as pd

        frames: dict[str, pd.DataFrame] = {}
        if self.every:
            numbers = [_estimates_frame(estimates, "value") for estimates in self.every]
            frames["answer"] = pd.concat(numbers, ignore_index=True)
        if self.verdicts is not None:
            parts = []
            for key, respect in self.verdicts.respects.items():
                chosen = respect.select(self.verdicts.measures)
                part = _estimates_frame(chosen, "share").drop(columns="quantity")
                part.insert(0, "respect", key)
                part["verdict"] = list(self.verdicts.by_respect[key].values())
                part["overall"] = list(self.verdicts.overall.values())
                parts.append(part)
            frames["verdicts"] = pd.concat(parts, ignore_index=True)
        return frames

    @property
    def subjects(self) -> tuple[str, ...]:
        """What the quantities are about."""
        return tuple(estimates.subject for estimates in self.every)

    @property
    def shown(self) -> Answer | None:
        """What is shown: this, unless no measure has a number."""
        return self if self.every else None

    @property
    def rows(self) -> tuple[Measure, ...]:
        """The measures that are shown: report measures with a number by some analysis.

        They are in the order of the study, as in all figures.
        """
        with_number = {measure for estimates in self.every for measure in estimates.measures}
        return tuple(measure for measure in self.measures.reported if measure in with_number)

    @table("verdicts", "what the contested pairs of systems say of each measure")
    def matrix(self) -> Table:
        """Tabulate the verdicts: candidates down, respects across, each a share with its mark.

        Shares are of the contested pairs, from 0 to 1. Beside a truth stand the respects without
        one, if they have verdicts. Without verdicts, all report measures have "none", and the note
        says why.
        """
        verdicts = self.verdicts
        if verdicts is None:
            undecided: list[list[Cell]] = [[str(measure), "none"] for measure in self.rows]
            note = self.decision()
            return Table("verdicts", "Verdicts", note, ["measure", "verdict"], undecided)
        columns = dict.fromkeys(verdicts.respects, verdicts)
        stability = self.verdicts_on_stability
        if stability is not None:
            # With a truth, which decides alone, stability stands beside it.
            columns |= dict.fromkeys(stability.respects, stability)
        headings = ["measure", "verdict"]
        headings += [HEADINGS.get(key, key) for key in columns]
        rows: list[list[Cell]] = []
        for measure in self.rows:
            if measure not in verdicts.measures:
                continue
            overall = verdicts.overall[measure]
            row: list[Cell] = [str(measure), f"{MARKS[overall]} {overall}"]
            for key, of_column in columns.items():
                mark = MARKS[of_column.by_respect[key][measure]]
                row.append(f"{rounded(_share(of_column, key, measure), 2)} {mark}")
            rows.append(row)
        caption = self._matrix_caption(verdicts, list(columns))
        return Table("verdicts", "Verdicts", caption, headings, rows)

    def key_of_matrix(self) -> str:
        """Write what the numbers and marks of the matrix are; "" without verdicts."""
        if self.verdicts is None or self.pairs is None:
            return ""
        margin = margin_in_words(self.verdicts.margin)
        sentences = [
            f"Shares of the {self.pairs.n_contested} pairs of systems that the measures do not "
            "clearly agree on.",
            f"{MARKS[CONFIRMED]} {CONFIRMED}: within {margin} of the best, {MARKS[RULED_OUT]} "
            f"{RULED_OUT}: further from it, with 95 % confidence; {MARKS[OPEN]} {OPEN}: not known.",
        ]
        if TRUTH in self.keys and len(self.share_keys) > 1:
            sentences.append("The true order alone decides on the verdict.")
        n_out_of_reach = len(self.pairs.out_of_reach)
        if n_out_of_reach:
            left_out = counted(n_out_of_reach, "system")
            verb = "is" if n_out_of_reach == 1 else "are"
            sentences.append(f"{left_out} {verb} left out, clearly above or below the others.")
        return " ".join(sentences)

    def _matrix_caption(self, verdicts: Verdicts, keys: Sequence[str]) -> str:
        """Write what the matrix of verdicts shows, and how it is decided.

        ``keys`` are the analyses of its columns.
        """
        pairs = self.pairs
        n_contested = 0 if pairs is None else pairs.n_contested
        margin = margin_in_words(verdicts.margin)
        deeds = listed([f"{DEEDS[key]} ({RESPECTS_IN_WORDS[key]})" for key in keys], "or")
        sentences = [
            f"Shares of the {n_contested} contested pairs of systems that a measure {deeds}, in "
            f"the mean over resampled {self.units}.",
            f"{marks_in_words()}.",
            "Contested are pairs of systems within reach that not every candidate tells apart in "
            "the same direction (t-test, p < .001).",
            f"The margin is {margin}: a tenth, but at least {PAIRS_OF_MARGIN} pairs. A "
            "measure is confirmed in a respect if no other is better by more than the margin "
            f"(one-sided, 95 % confidence over {self.units}), and ruled out if another is (95 % "
            "confidence over all respects).",
        ]
        if TRUTH in keys and len(keys) > 1:
            sentences.append(
                "The truth decides alone; stability stands beside it. A measure is stable if it is "
                f"confirmed in {LEAST_STABLE_RESPECTS} of the other respects at least."
            )
        sentences += self._not_compared()
        return " ".join(sentences)

    @table("answer", "the numbers that compare report measures, with intervals")
    def table(self) -> Table:
        """Tabulate the numbers with their intervals: measures down, quantities across.

        Each quantity has a column of numbers and one of intervals; where a measure has no number,
        they are NaN and "".
        """
        headings = ["measure"]
        decimals: dict[int, int] = {}
        rows: list[list[Cell]] = [[str(measure)] for measure in self.rows]
        for estimates in self.every:
            labels = estimates.by_label(estimates.measures).values()
            by_measure = dict(zip(estimates.measures, labels, strict=True))
            if estimates.decimals is not None:
                decimals[len(headings)] = estimates.decimals
            headings += [estimates.name, "95 %"]
            for row, measure in zip(rows, self.rows, strict=True):
                if measure in by_measure:
                    estimate = by_measure[measure]
                    places = estimates.decimals
                    if places is None:
                        places = estimate.decimals
                    interval = estimate.bracketed(places, by_ratio=estimates.by_ratio)
                    row += [estimate.value, interval]
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
        """Draw a mark for each measure with its interval; marks are verdicts on contested pairs.

        A filled point is confirmed, an open point open, and a cross ruled out, as in the matrix;
        without a verdict on a quantity, points are grey. Intervals over users are thick; thin ones
        are over users and further sources, such as systems. ``subject`` chooses the quantity by
        what it is about; None takes the first. Draws into ``ax`` and returns it.
        """
        panel = panel_index(self.subjects, subject)
        estimates = self.every[panel]
        verdicts = self._verdicts_in(self.keys[panel])
        rows = {measure: row for row, measure in enumerate(self.rows)}
        low, high = estimates.limits_over_all_sources()
        shown = [index for index, measure in enumerate(estimates.measures) if measure in rows]
        places = np.array([rows[estimates.measures[index]] for index in shown])
        further_limits = [low[shown], high[shown]]
        user_limits = [estimates.low[shown], estimates.high[shown]]
        all_sources = listed([self.units, *estimates.further_sources])
        draw_intervals(ax, places, further_limits, THIN, over=all_sources)
        draw_intervals(ax, places, user_limits, THICK, over=self.units)
        for index, place in zip(shown, places, strict=True):
            verdict = verdicts.get(estimates.measures[index])
            _draw_verdict(ax, estimates.values[index], place, verdict)
        limits = [*estimates.values, *estimates.low, *estimates.high, *low, *high]
        least = min(float(np.nanmin(limits)), 0.0)
        most = max(float(np.nanmax(limits)), 1.0)
        margin = 0.03 * (most - least)
        ax.set_xlim(least - margin, most + margin)
        ax.locator_params(axis="x", nbins=3)
        ax.set_yticks(range(len(self.rows)), [str(measure) for measure in self.rows])
        ax.set_ylim(len(self.rows) - 0.5, -0.5)
        direction = " (lower is better)" if estimates.lower_is_better else ""
        ax.set_xlabel(f"{estimates.quantity}{direction}")
        ax.set_title(fill(estimates.subject, TITLE))
        return ax

    def caption(self) -> str:
        """Write what the figure shows."""
        subjects = [subject[:1].lower() + subject[1:] for subject in self.subjects]
        definitions = {
            "An area is the mean, over smaller and smaller parts of the judgements, of the tau-b "
            "between the orderings on all judgements and on the part; the parts differ between "
            "random loss and loss of popular items, so that their areas are not "
            "comparable.": any("area" in estimates.quantity for estimates in self.every),
            "Mid-p DP (discriminative power) is the sum of the mid-p-values of all pairs of "
            "systems: "
            "lower is more discriminative.": TESTS in self.keys,
        }
        ignoring = [] if self.pairs is None else self.pairs.ignoring_judgements
        parts = [
            f"The measures (metrics at a cut-off) by {listed(subjects)}, with 95 % intervals over "
            f"{self.units}.",
            *applicable(definitions),
            not_compared_sentence(ignoring),
        ]
        return " ".join(part for part in parts if part)


DEEDS = {
    "sparsity": "keeps in order when judgements are lost at random",
    "popularity": "keeps in order without popular items",
    TESTS: "tells apart at mid-p < .05",
    TRUTH: "puts in the true order",
}
"""What a measure does with a pair of systems in each respect."""


def _draw_verdict(ax: Axes, x: float, y: float, verdict: Verdict | None) -> None:
    """Draw the number of a measure at (x, y) with the mark of its verdict; grey without one."""
    if verdict is None:
        ax.plot(x, y, "o", color=NO_VERDICT_COLOUR, markersize=4.5)
        return
    is_ruled_out = verdict == RULED_OUT
    marker = "X" if is_ruled_out else "o"
    size = 9.0 if is_ruled_out else 4.5
    (point,) = ax.plot(x, y, marker, color=colours()[0], markersize=size)
    if verdict == OPEN:
        point.set_markerfacecolor("white")
    elif is_ruled_out:
        # The cross is told from the thick line below it by its edge.
        point.set_markeredgecolor("white")
    explain(
        point,
        "Marks are the verdicts on the contested pairs: filled points are confirmed, open points "
        "open, crosses ruled out.",
    )


def answer_of(results: Mapping[str, Result]) -> Answer:
    """Compute the answer from results by key, in the order of the report.

    Numbers are those of report measures, from the best; an analysis none of whose numbers is
    defined is listed with its reason. Pairs of systems are None if no result has contested ones.
    """
    by_key = dict(estimates_in(results))
    ordered = {key: estimates.in_order() for key, estimates in by_key.items()}
    defined = {key: estimates for key, estimates in ordered.items() if estimates.measures}
    undefined = {
        key: estimates.no_value for key, estimates in ordered.items() if not estimates.measures
    }
    shares: dict[str, Estimates] = {}
    within_reach: dict[str, Floats] = {}
    pairs: ContestedPairs | None = None
    for key in (TRUTH, *WITHOUT_TRUTH):
        result = results.get(key)
        if result is None:
            continue
        contested = result.contested_shares()
        estimates_of_pairs = result.contested_estimates()
        if contested is None or estimates_of_pairs is None:
            continue
        shares[key] = estimates_of_pairs
        within_reach[key] = contested.shares_within_reach
        pairs = contested.pairs
    defined = _of_measures_that_use_judgements(defined, pairs)
    names: dict[Measure, None] = {}
    for estimates in defined.values():
        names |= dict.fromkeys(estimates.measures)
    keys = tuple(defined)
    every = tuple(defined.values())
    measures = _in_order_of_study(names, results)
    share_keys = tuple(shares)
    power = _power(results)
    disagreement = _disagreement(results, pairs)
    depths = _depths(by_key)
    robustness = _robustness(results)
    truth_sentence = _truth_sentence(results)
    return Answer(
        keys=keys,
        every=every,
        measures=measures,
        share_keys=share_keys,
        shares=tuple(shares.values()),
        shares_within_reach=within_reach,
        pairs=pairs,
        power=power,
        disagreement=disagreement,
        depths=depths,
        robustness=robustness,
        truth_sentence=truth_sentence,
        without_number=undefined,
    )


def _of_measures_that_use_judgements(
    estimates_by_key: Mapping[str, Estimates], pairs: ContestedPairs | None
) -> dict[str, Estimates]:
    """Leave out the measures that do not use the judgements, which would look best.

    ``estimates_by_key`` has the numbers of the report measures by analysis, ``pairs`` the names of
    those that are left out; without these, or without another measure, all stay.
    """
    if pairs is None or not pairs.measures:
        return dict(estimates_by_key)
    selected = {}
    for key, estimates in estimates_by_key.items():
        measures = pairs.rewarding(estimates.measures)
        if measures:
            selected[key] = estimates.select(measures)
    return selected


def estimates_in(results: Mapping[str, Result]) -> Iterator[tuple[str, Estimates]]:
    """List the estimates of all results that have some, each with the key of its result.

    If the settings of the systems were repeated, they are over all settings.
    """
    for key, result in results.items():
        estimates = result.estimates()
        if estimates is not None:
            yield key, result.under_settings(estimates)


def _power(results: Mapping[str, Any]) -> Power | None:
    """Take what the tests of all pairs show; None where they were not tested."""
    discrimination = results.get(TESTS)
    return None if discrimination is None else Power.of(discrimination)


def _disagreement(results: Mapping[str, Any], pairs: ContestedPairs | None) -> Disagreement | None:
    """Compare what the candidates say of systems; None without several, or without all pairs.

    Not all pairs of systems are tested with a baseline.
    """
    discrimination = results.get(TESTS)
    if discrimination is None or discrimination.baseline:
        return None
    if pairs is None or len(pairs.measures) < 2:
        return None
    return Disagreement.of(discrimination, pairs.measures)


def _in_order_of_study(measures: Collection[Measure], results: Mapping[str, Any]) -> Measures:
    """Order measures as the results of the analyses have them; others come last."""
    in_order: dict[Measure, None] = {}
    for key in WITHOUT_TRUTH:
        measures_of_result = getattr(results.get(key), "measures", None)
        if isinstance(measures_of_result, Measures):
            in_order |= dict.fromkeys(measures_of_result.reported)
    in_order |= dict.fromkeys(measures)
    ordered = [measure for measure in in_order if measure in measures]
    return Measures(ordered, reported=ordered)


def _depths(by_key: Mapping[str, Estimates]) -> tuple[Depth, ...]:
    """Find for each metric with several cut-offs from which one on it gets no better."""
    respects = [by_key[key] for key in (*WITHOUT_TRUTH, TRUTH) if key in by_key]
    if not respects:
        return ()
    depths = [Depth.of(metric, respects) for metric in respects[0].measures.curves]
    return tuple(depth for depth in depths if depth is not None)


def _robustness(results: Mapping[str, Any]) -> Robustness | None:
    """Collect what agreement under random loss is read beside; None if it is not known.

    The reference is the truth, where judgements are lost with one, else the other report measures.
    """
    sparsity = results.get("sparsity")
    if sparsity is None or sparsity.yardsticks is None:
        return None
    measures = sparsity.measures.reported
    indices = sparsity.measures.indices(measures)
    reference = sparsity.yardsticks.with_others[indices]
    reference_in_words = "the other measures"
    validity = results.get(TRUTH)
    if validity is not None and validity.truth_under_loss is not None:
        by_measure = dict(zip(validity.measures, validity.truth_under_loss, strict=True))
        reference = np.array([by_measure.get(measure, nan) for measure in measures])
        reference_in_words = "the truth"
    return Robustness(
        measures=measures,
        itself=sparsity.estimates().values[indices],
        reference=reference,
        reference_in_words=reference_in_words,
        consistency=sparsity.yardsticks.consistency[indices],
    )


def _truth_sentence(results: Mapping[str, Any]) -> str:
    """Write how often significant differences have the wrong sign by the truth; "" without one."""
    validity = results.get(TRUTH)
    return "" if validity is None else str(validity.wrong_sign_sentence())


def nearest_measure(verdicts: Verdicts) -> Measure:
    """Choose the measure that is confirmed, or nearest to it: with the smallest largest gap.

    A gap is how many more of the contested pairs the best measure gets right, in a respect.
    """

    def largest_gap(measure: Measure) -> float:
        """Find the respect in which the best measure gets most more pairs right."""
        return max(
            _best_share(verdicts, key) - _share(verdicts, key, measure) for key in verdicts.respects
        )

    candidates = verdicts.with_verdict(CONFIRMED) or list(verdicts.measures)
    return min(candidates, key=largest_gap)


def _share(verdicts: Verdicts, key: str, measure: Measure) -> float:
    """Look up the share of the contested pairs that a measure gets right in a respect."""
    respect = verdicts.respects[key]
    return float(respect.values[respect.measures.index(measure)])


def _best_share(verdicts: Verdicts, key: str) -> float:
    """Look up the largest share of the candidates in a respect."""
    return max(_share(verdicts, key, measure) for measure in verdicts.measures)


def _estimates_frame(estimates: Estimates, heading: str) -> pd.DataFrame:
    """Tabulate estimates: columns quantity, metric, cutoff, the values, low and high."""
    import pandas as pd

    return pd.DataFrame(
        {
            "quantity": estimates.name,
            "metric": [measure.metric for measure in estimates.measures],
            "cutoff": estimates.measures.cutoff_column,
            heading: estimates.values,
            "low": estimates.low,
            "high": estimates.high,
        }
    )


def marks_in_words() -> str:
    """Write which mark stands for which verdict."""
    return listed([f"{mark} {verdict}" for verdict, mark in MARKS.items()])


def margin_in_words(margin: float) -> str:
    """Write a share of the pairs: "10 pairs in 100"."""
    return f"{round(100 * margin)} pairs in 100"


def either(measures: Sequence[Measure]) -> str:
    """Join measures by "or"."""
    return listed([str(measure) for measure in measures], "or")
