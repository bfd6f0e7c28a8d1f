"""Comparison of systems: means, what is significantly different, and the ranks that remain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from analyses.discrimination import CORRECTIONS_IN_WORDS
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.drawing import colours, explain, panel_index
from analyses.shared.families import CONFIDENCE
from analyses.shared.measure import Measures, tidy
from analyses.shared.number_format import Cell, rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import MOST_LETTERS, letter_groups, letters_by_system, listed
from analyses.shared.table import Table
from analyses.significance.effects import mean_limits
from analyses.significance.permutation import pair_differences, pair_indices
from analyses.significance.question import JOINT_TESTS, Simultaneous, by_user_id
from analyses.significance.scoring_users import count_scoring_users, few_user_cautions
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.errors import counted
from runs.shared.settings import Permutations

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

TITLE = "Comparison of the systems"

Details = Literal["letters", "intervals", "ranks", "all"]
"""What stands beside means and letters in a table: nothing, 95 % intervals, ranks, or both."""

WITH_INTERVALS = ("intervals", "all")
WITH_RANKS = ("ranks", "all")
"""Details that have these columns."""

MEAN = "mean"
LETTERS = "letters"
"""Headings of columns."""

SHORTEST_RANGE = 4
"""So many letters that follow one another are written as a range."""

BARS_FROM = 1.02
BARS_APART = 0.02
"""Where bars over groups stand beside the panel, and how far apart, as shares of its width."""


class Settings(AnalysisSettings):
    """Simultaneous tests between all pairs of systems."""

    correction: Simultaneous = Field(
        "max-t",
        description="Simultaneous test of all pairs of systems: max-t, the step-down max-T "
        "bootstrap test (null hypothesis: means are equal); max-t-sign-flip, the same by sign "
        "flips, or tukey, the randomised Tukey HSD test (null hypothesis of both: a user's scores "
        "are exchangeable).",
    )
    alpha: float = Field(
        0.05,
        ge=1e-4,
        lt=1,
        description="Chance of at least one wrong difference among all pairs of a measure.",
    )
    permutations: Permutations = Field(
        10_000, ge=99, description="Number of bootstrap replicates or random permutations."
    )


@analysis(
    "systems",
    source="Carterette (2012); Piepho (2004); Al Mohamad et al. (2021)",
    question="Which systems differ, and which ranks may each of them have?",
)
def systems(work: Work, settings: Settings) -> Systems:
    """Compare the systems under each report measure, all pairs at once.

    The test is the one that settings name as their correction. Intervals of means are 95 %, by
    Student's t (Welch's with several runs of a system). Raises InputError if there are fewer than
    two systems.
    """
    scores = work.scores.select(work.scores.measures.reported)
    scores.require("a comparison")
    test_pairs = JOINT_TESTS[settings.correction]
    with work.progress("Comparing systems", settings.permutations) as bar:
        p_adjusted = test_pairs(
            by_user_id(scores),
            permutations=settings.permutations,
            seed=work.seed,
            n_jobs=work.n_jobs,
            advance=bar.advance,
        )
    low, high = mean_limits(scores.weighted_values, level=CONFIDENCE, runs=scores.runs)
    return Systems(
        measures=scores.measures,
        systems=scores.systems,
        means=scores.mean_values(),
        low=low,
        high=high,
        p_adjusted=p_adjusted,
        n_scoring_users=count_scoring_users(scores.weighted_values),
        n_users=len(scores.users),
        seed=work.seed,
        **settings.model_dump(),
    )


@dataclass(frozen=True, eq=False)
class Systems(Result):
    """Means of the systems, simultaneous tests of all pairs, and rank intervals.

    Parameters
    ----------
    measures, systems
        Labels of the axes: the report measures and the systems.
    means, low, high
        Mean score with its 95 % confidence interval over users, of shape (n_measures, n_systems).
        For a measure that is averaged geometrically, of the logarithms.
    p_adjusted
        Adjusted p-values of all pairs i < j, first by i, then by j, of shape (n_measures, n_pairs).
    n_scoring_users
        Number of users whose score is not the most common score of the system under the measure,
        which often is 0: of shape (n_measures, n_systems).
    n_users
        Number of users (topics).
    correction, alpha, permutations, seed
        See `Settings`.
    """

    measures: Measures
    systems: tuple[str, ...]
    means: Floats
    low: Floats
    high: Floats
    p_adjusted: Floats
    n_scoring_users: Numbers
    n_users: int
    correction: str
    alpha: float
    permutations: int
    seed: int

    @property
    def reported_indices(self) -> list[int]:
        """Positions of the measures that are shown."""
        return self.measures.indices(self.measures.reported)

    def better(self) -> Masks:
        """Mark which systems are significantly better than which.

        Of shape (n_measures, n_systems, n_systems): whether the first is better than the second.
        It is if their adjusted p-value, in ``self.p_adjusted``, (n_measures, n_pairs), is at most
        alpha, and its mean, in ``self.means``, (n_measures, n_systems), is better: lower, for
        measures of which lower values are better.
        """
        n_systems = len(self.systems)
        first, second = pair_indices(n_systems)
        signs = self.measures.signs[:, np.newaxis]
        gains = signs * pair_differences(self.means)
        is_significant = self.p_adjusted <= self.alpha
        shape = (len(self.measures), n_systems, n_systems)
        is_better = np.zeros(shape, dtype=np.bool_)
        first_is_better = gains > 0
        second_is_better = gains < 0
        is_better[:, first, second] = is_significant & first_is_better
        is_better[:, second, first] = is_significant & second_is_better
        return is_better

    def rank_intervals(self) -> tuple[Numbers, Numbers]:
        """Count the lowest and the highest rank of systems, each of shape (n_measures, n_systems).

        From 1 + the number of systems that are significantly better to n_systems - the number that
        are significantly worse; rank 1 is the best. Under each measure, all hold at once with a
        chance of 1 - alpha.

        Al Mohamad, Goeman & van Zwet (2021), Simultaneous confidence intervals for ranks with
        application to ranking institutions.
        """
        is_better = self.better()
        n_better = is_better.sum(axis=1)
        n_worse = is_better.sum(axis=2)
        return 1 + n_better, len(self.systems) - n_worse

    def order(self, number: int) -> Numbers:
        """Sort the numbers of the systems from the best mean under one measure: (n_systems,).

        ``number`` is the position of the measure. Systems that tie stay in their order.
        """
        sign = self.measures.signs[number]
        worth = sign * self.means[number]
        return np.argsort(-worth, kind="stable")

    def letters(self, number: int) -> tuple[str, ...]:
        """Assign letters to the systems under a measure: two that share one do not differ.

        ``number`` is the position of the measure. The result has a text such as "ab" for each
        system; letters begin with the systems of the best means. All texts are empty if there would
        be more than 12 letters.

        Piepho (2004), An algorithm for a letter-based representation of all-pairwise comparisons.
        """
        better = self.better()[number]
        return letters_by_system(better | better.T, self.order(number))

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``systems``: a row for each measure and system, from the best.

        Columns metric, cutoff, system, mean, its 95 % interval low and high, groups (letters),
        rank_low and rank_high.
        """
        rank_low, rank_high = self.rank_intervals()
        numbers = range(len(self.measures))
        frame = tidy(
            self.measures,
            {"system": self.systems},
            mean=self.means,
            low=self.low,
            high=self.high,
            groups=[self.letters(number) for number in numbers],
            rank_low=rank_low,
            rank_high=rank_high,
        )
        n_systems = len(self.systems)
        rows = []
        for number in numbers:
            first_row = number * n_systems
            rows.append(first_row + self.order(number))
        ordered = frame.iloc[np.concatenate(rows)]
        return {"systems": ordered.reset_index(drop=True)}

    def caption(self) -> str:
        """Write what stands in a cell."""
        return self._note(self.reported_indices)

    def _letters_sentences(self, numbers: Sequence[int]) -> list[str]:
        """Write how letters are shortened, and where there are none; empty for neither.

        ``numbers`` are positions of the measures that are shown.
        """
        sentences = []
        without_letters = []
        has_ranges = False
        for number in numbers:
            letters = self.letters(number)
            if not any(letters):
                without_letters.append(str(self.measures[number]))
            has_ranges |= any(shortened_letters(text) != text for text in letters)
        if has_ranges:
            sentences.append("A range such as a–d stands for all letters from a to d.")
        if without_letters:
            sentences.append(
                f"Under {listed(without_letters)}, letters are left out, as there would be more "
                f"than {MOST_LETTERS}."
            )
        return sentences

    def caption_of(self, part: str) -> str:
        """Write what the diagram shows."""
        test = self._test_in_words()
        return (
            f"Points: ranks of the systems by their mean over {counted(self.n_users, self.unit)}. "
            "Lines: possible ranks by one simultaneous test of all pairs per measure "
            f"({test}; family-wise error rate {self.alpha:g}; seed {self.seed})."
        )

    def _test_in_words(self) -> str:
        """Name the simultaneous test, and the number of its replicates or permutations."""
        name = CORRECTIONS_IN_WORDS[self.correction]
        draws = "bootstrap replicates" if self.correction == "max-t" else "permutations"
        return f"{name}, {self.permutations:,} {draws}"

    def findings(self) -> Sequence[str]:
        """Write how many systems may be the best under each measure: their lowest rank is 1.

        Lowest ranks are of shape (n_measures, n_systems).
        """
        low, _ = self.rank_intervals()
        may_lead = (low == 1).sum(axis=1)
        counts = []
        for index in self.reported_indices:
            n_leading = may_lead[index]
            counts.append(f"{n_leading:,} under {self.measures[index]}")
        n_systems = len(self.systems)
        return (f"Systems that may rank first, of {n_systems:,}: {listed(counts)}.",)

    def conclusion(self) -> str:
        """Write what the cells of the table hold, then the findings: the text of a command."""
        error_rate = rounded(self.alpha, 2)
        cells = (
            f"Means over {self.units}, letters, possible ranks, and 95 % intervals of the means. "
            "Systems that share a letter do not differ significantly; letters and ranks are of "
            f"{self._test_in_words()} (family-wise error rate {error_rate}).\n"
        )
        return cells + super().conclusion()

    def cautions(self) -> Sequence[str]:
        """Write that too few users differ for the bootstrap; nothing for other corrections."""
        if self.correction != "max-t":
            return []
        return few_user_cautions(
            self.n_scoring_users[self.reported_indices],
            measures=[str(self.measures[index]) for index in self.reported_indices],
            systems=self.systems,
            n_users=self.n_users,
            unit=self.unit,
        )

    @table("systems", "means of the systems with intervals, letters and ranks")
    def tabulate(self, *, measure: str | None = None, details: Details | None = None) -> Table:
        """Tabulate the systems from the best under the first measure, or under one measure.

        Without a measure, each report measure has a column, whose cells hold mean, letters, ranks
        and interval in two lines; LaTeX prints means and letters alone, in one. ``details`` has
        chosen columns in place of that, in every format. ``measure`` is the label of a report
        measure, of which mean, letters, interval and ranks have a column each, if details do not
        choose among them, as they have if there is one report measure alone; InputError if there is
        none of this label. Letters are left out where there would be more than 12.
        """
        if measure is not None or len(self.labels) == 1:
            number = self.reported_indices[panel_index(self.labels, measure)]
            return self._columns_table([number], details or "all")
        if details is not None:
            return self._columns_table(self.reported_indices, details)
        first = self.reported_indices[0]
        columns = [self._joined_cells(number) for number in self.reported_indices]
        rows: list[list[Cell]] = []
        for system in self.order(first):
            cells = [column[system] for column in columns]
            rows.append([self.systems[system], *cells])
        headings = ["system", *self.labels]
        in_print = self._columns_table(self.reported_indices, "letters")
        return Table("systems", TITLE, self.caption(), headings, rows, in_print=in_print)

    def _columns_table(self, numbers: Sequence[int], details: Details) -> Table:
        """Tabulate systems in one line each: mean, letters and details have columns of their own.

        ``numbers`` are positions of measures; systems are in the order of the first. Headings begin
        with the measure if there are several.
        """
        headings = ["system"]
        superscripts = []
        columns: list[Sequence[Cell]] = [self.systems]
        for number in numbers:
            label = str(self.measures[number])
            for quantity, texts in self._columns(number, details).items():
                if quantity == LETTERS:
                    superscripts.append(len(headings))
                if len(numbers) == 1:
                    headings.append(quantity)
                elif quantity == MEAN:
                    headings.append(label)
                else:
                    headings.append(f"{label}, {quantity}")
                columns.append(texts)
        rows: list[list[Cell]] = []
        for system in self.order(numbers[0]):
            rows.append([column[system] for column in columns])
        title = TITLE
        if len(numbers) == 1:
            title = f"{TITLE} under {self.measures[numbers[0]]}"
        note = self._note(numbers, details)
        return Table("systems", title, note, headings, rows, superscripts=superscripts)

    def _columns(self, number: int, details: Details) -> dict[str, Sequence[str]]:
        """Write the columns of a measure by their headings, from the mean: a text for each system.

        ``number`` is the position of the measure. Letters are missing if there would be too many.
        """
        means, intervals, letters, ranks = zip(*self._cells(number), strict=True)
        columns: dict[str, Sequence[str]] = {MEAN: means}
        if any(letters):
            columns[LETTERS] = letters
        if details in WITH_INTERVALS:
            columns["95 %"] = intervals
        if details in WITH_RANKS:
            columns["ranks"] = ranks
        return columns

    def _note(self, numbers: Sequence[int], details: Details = "all") -> str:
        """Write what stands in a cell, beginning with what a caption must have.

        ``numbers`` are positions of the measures that are shown.
        """
        has_intervals = details in WITH_INTERVALS
        has_ranks = details in WITH_RANKS
        error_rate = rounded(self.alpha, 2)
        contents = [f"mean over {counted(self.n_users, self.unit)}", "letters"]
        if has_ranks:
            contents.append("possible ranks")
        if has_intervals:
            contents.append("95 % confidence interval of the mean (Student's t)")
        sentences = [
            f"Cells: {listed(contents)}.",
            "Systems that share a letter do not differ significantly.",
        ]
        if has_ranks:
            sentences.append(
                "Possible ranks: from 1, plus the number of systems that are significantly better, "
                f"to {len(self.systems)}, less the number of those that are significantly worse."
            )
        subject = "Letters and ranks are" if has_ranks else "Letters are"
        sentences.append(
            f"{subject} of one test of all pairs at once for each measure "
            f"({self._test_in_words()}; family-wise error rate {error_rate}; seed {self.seed})."
        )
        if has_intervals:
            sentences.append(
                f"The test compares systems {self.unit} by {self.unit}: the intervals of single "
                "means do not show which systems differ, and a system with a lower mean may have "
                "fewer possible ranks."
            )
        if len(numbers) > 1:
            sentences.append(f"Systems are ordered by {self.measures[numbers[0]]}.")
        sentences += self._letters_sentences(numbers)
        return " ".join(sentences)

    def _joined_cells(self, number: int) -> list[str]:
        """Write the values of `_cells` under a measure, in a cell of two lines for each system."""
        joined_cells = []
        for mean, interval, letters, ranks in self._cells(number):
            values = f"{mean} {letters} {ranks}" if letters else f"{mean} {ranks}"
            joined_cells.append(f"{values}\n{interval}")
        return joined_cells

    def _cells(self, number: int) -> list[tuple[str, str, str, str]]:
        """Write mean, 95 % interval, letters and ranks of every system under a measure.

        ``number`` is the position of the measure; systems are in the order of ``self.systems``.
        Ranks are the lowest and the highest that a system may have, "2–5", or one if they are the
        same.
        """
        rank_low, rank_high = self.rank_intervals()
        letters = self.letters(number)
        cells = []
        for system in range(len(self.systems)):
            mean = rounded(self.means[number, system])
            low = rounded(self.low[number, system])
            high = rounded(self.high[number, system])
            best_rank = rank_low[number, system]
            worst_rank = rank_high[number, system]
            ranks = f"{best_rank}" if best_rank == worst_rank else f"{best_rank}–{worst_rank}"
            interval = f"[{low}, {high}]"
            cells.append((mean, interval, shortened_letters(letters[system]), ranks))
        return cells

    def to_latex(self, *, measure: str | None = None, details: Details | None = None) -> str:
        """Write the table of the systems for the LaTeX package booktabs; see `tabulate`."""
        return self.tabulate(measure=measure, details=details).to_latex()

    @figure(
        "systems",
        "Ranks that each system may have, by measure",
        number=30,
        panels="label",
        comparable=False,
        wide=True,
        part="means",
    )
    def plot(self, ax: Axes, *, label: str | None = None) -> None:
        """Draw the rank of every system with its interval; bars join what does not differ.

        Systems stand from the best mean, at rank 1, under the measure with this label, by default
        the first; InputError if there is none. After the critical-difference diagram of Demsar
        (2006), Statistical comparisons of classifiers over multiple data sets; the tests are those
        of the letters.
        """
        number = self.reported_indices[panel_index(self.labels, label)]
        order = self.order(number)
        names = [self.systems[system] for system in order]
        ranks = np.arange(1.0, len(order) + 1)
        is_better = self.better()[number]
        is_better = is_better[np.ix_(order, order)]
        low, high = self.rank_intervals()
        limits = (low[number, order], high[number, order])
        draw_ranks(ax, names, ranks, limits, is_better | is_better.T)
        ax.set(xlabel="rank", title=str(self.measures[number]))


def shortened_letters(letters: str) -> str:
    """Write four letters or more that follow one another as a range: "abcd" as "a–d".

    Other texts stay, such as "", "abc" and "abcef".
    """
    if len(letters) < SHORTEST_RANGE:
        return letters
    follow = "".join(chr(ord(letters[0]) + step) for step in range(len(letters)))
    return f"{letters[0]}–{letters[-1]}" if letters == follow else letters


def draw_ranks(
    ax: Axes,
    names: Sequence[str],
    ranks: Floats,
    limits: tuple[Floats | Numbers, Floats | Numbers],
    differs: Masks,
) -> None:
    """Draw ranks with their limits, from the top; bars join names of which no two differ.

    There are no bars if it would take more than 12 groups of names. `explain` attaches the sentence
    for the caption to a bar.

    Parameters
    ----------
    ax
        The axes.
    names
        What is ranked, from the top.
    ranks
        Of shape (n_names,).
    limits
        The lowest and the highest ranks, each of shape (n_names,).
    differs
        Whether two of the names differ, of shape (n_names, n_names), symmetric.
    """
    colour = colours()[0]
    rows = np.arange(1, len(names) + 1)
    low, high = limits
    ax.hlines(rows, low, high, colour, linewidth=1.2)
    ax.plot(ranks, rows, "o", color=colour, markersize=4)
    explanation = "Grey bars, on the right, connect systems that do not differ significantly."
    # Positions of names of which no two differ.
    groups = [group for group in letter_groups(differs) if len(group) > 1]
    for column, group in enumerate(groups):
        member_rows = [member + 1 for member in group]
        x = BARS_FROM + BARS_APART * column
        positions = [x] * len(group)
        (bar,) = ax.plot(positions, member_rows, ".-", color="0.4", markersize=3)
        # Bars stand beside the panel: x is a share of its width, y a row.
        bar.set(transform=ax.get_yaxis_transform(), clip_on=False)
        explain(bar, explanation)
    ax.set_yticks(rows, names)
    ax.invert_yaxis()
