"""Mean ranks of systems and of measures over the data sets of several studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from math import comb
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from analyses.intervals.data_sets import DataSetRanks
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.drawing import explanations
from analyses.shared.estimate import Estimate
from analyses.shared.number_format import Cell, rounded
from analyses.shared.result import FigureDeclaration
from analyses.shared.sentences import MOST_LETTERS, letters_by_system, listed, plural
from analyses.shared.table import Table
from harness.report.critical_difference import draw_diagrams

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIN_DATA_SETS = 5
"""With fewer data sets there is a caution."""


@dataclass(frozen=True)
class MeanRanks:
    """Mean ranks over data sets: of systems under each measure, or of measures by each quantity.

    Parameters
    ----------
    noun
        What is ranked: "system" or "measure".
    rankings
        The ranks by each measure or quantity.
    excluded
        Names that are not ranked, as some data set lacks them.
    unacceptable
        By quantity: measures that do not pass its threshold in some data set, which no sentence
        calls the best.
    """

    noun: Literal["system", "measure"]
    rankings: Sequence[DataSetRanks]
    excluded: Sequence[str] = ()
    unacceptable: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def tables(self) -> Iterator[Table]:
        """Tabulate mean ranks, then tests and agreement of data sets with one another."""
        yield self._ranks_table()
        yield self._tests_table()

    @property
    def _criterion(self) -> str:
        """What ranks are by: a measure for systems, a quantity for measures."""
        return "measure" if self.noun == "system" else "quantity"

    def _ranks_table(self) -> Table:
        """Tabulate mean ranks, their intervals, letters of groups, and strengths.

        Intervals of strengths are a column only if one is defined.
        """
        rows: list[list[Cell]] = []
        for ranks in self.rankings:
            rows += _rows_of_ranks(ranks)
        excluded = ""
        if self.excluded:
            excluded = f" Not in all studies, and left out: {', '.join(self.excluded)}."
        note = (
            "Rank 1 is best; ties share their mean rank. 95 %: bootstrap over four or more data "
            "sets, as wide as Student's t; none where the rank is the same in all. Place: in the "
            "order of the mean ranks, likewise. Letters: two that share one do not differ "
            "significantly (Friedman's and Nemenyi's tests, family-wise error rate .05); none "
            f"where there would be more than {MOST_LETTERS}. Strength: Plackett-Luce model; the "
            "strengths add up to 1, and have intervals over five or more data sets (bootstrap). "
            f"Each study counts as an independent data set.{excluded}"
        )
        first_heading = f"{self._criterion}, {self.noun}"
        headings = [first_heading, "mean rank", "95 %", "place", "letters", "strength"]
        if any(row[-1] for row in rows):
            headings.append("strength, 95 %")
        rows = [row[: len(headings)] for row in rows]
        nouns = plural(self.noun)
        title = f"Mean ranks of the {nouns} over data sets"
        return Table(f"mean_ranks_{nouns}", title, note, headings, rows, decimals=2)

    def _tests_table(self) -> Table:
        """Tabulate p-values, critical differences, and tau-b of each data set with the others.

        A row for each measure or quantity; NaN for a data set that it does not have. The mean tau-b
        is over the data sets where it is not NaN.
        """
        data_sets: dict[str, None] = {}
        for ranks in self.rankings:
            data_sets |= dict.fromkeys(ranks.data_sets)
        rows: list[list[Cell]] = []
        for ranks in self.rankings:
            tau_by_data_set = dict(zip(ranks.data_sets, ranks.taus.tolist(), strict=True))
            taus = [tau_by_data_set.get(data_set, np.nan) for data_set in data_sets]
            mean_tau = float(mean_of_defined(ranks.taus))
            rows.append(
                [ranks.label, ranks.friedman_p_value, ranks.critical_difference, mean_tau, *taus]
            )
        note = (
            "p: Friedman's test that none differ, of two the sign test. Critical difference: of "
            "two mean ranks, by Nemenyi's test. tau-b: of the order in a data set with the mean "
            "ranks over all others."
        )
        headings = [self._criterion, "p", "critical difference", "mean tau-b", *data_sets]
        nouns = plural(self.noun)
        title = f"Order of the {nouns}: tests, and tau-b of each data set with the others"
        return Table(f"data_sets_{nouns}", title, note, headings, rows, decimals=3)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """List the rows of a tidy table: quantity, measure, study or "all", value, low, high.

        Limits are NaN for ranks and taus of one data set. ``ranks.ranks`` has the shape
        (n_data_sets, n_names), mean ranks and their limits (n_names,).
        """
        for ranks in self.rankings:
            low, high = ranks.rank_limits
            for number, name in enumerate(ranks.names):
                if self.noun == "measure":
                    subject = f"by {ranks.label}"
                    measure = name
                else:
                    subject = f"of {name}"
                    measure = ranks.label
                for data_set, rank in zip(ranks.data_sets, ranks.ranks[:, number], strict=True):
                    yield f"rank {subject}", measure, data_set, rank, np.nan, np.nan
                mean_rank = ranks.mean_ranks[number]
                yield f"mean rank {subject}", measure, "all", mean_rank, low[number], high[number]
            quantity = f"tau-b of {plural(self.noun)}, with other data sets"
            for data_set, tau in zip(ranks.data_sets, ranks.taus, strict=True):
                yield quantity, ranks.label, data_set, tau, np.nan, np.nan

    def findings(self) -> Iterator[str]:
        """Word what may be best, how many pairs differ, and how far data sets agree.

        Pairs differ by Nemenyi's test, in a family of the pairs of one measure or quantity.
        Agreement is the mean tau-b of each data set with the others. Cautions if there are fewer
        than `MIN_DATA_SETS` (5) data sets. There must be a ranking.
        """
        nouns = plural(self.noun)
        yield self._sentence_of_best()
        differing = []
        mean_taus = []
        for ranks in self.rankings:
            n_differing = int(np.triu(ranks.differs).sum())
            n_pairs = comb(len(ranks.names), 2)
            differing.append(f"{n_differing} of {n_pairs} ({ranks.label})")
            mean_tau = float(mean_of_defined(ranks.taus))
            mean_taus.append(f"{rounded(mean_tau, 2)} ({ranks.label})")
        yield f"Pairs of {nouns} whose mean ranks differ significantly: {listed(differing)}."
        yield (
            f"The order of {nouns} in a data set agrees with their mean ranks over the "
            f"others by a mean tau-b of {listed(mean_taus)}."
        )
        fewest = min(self.rankings, key=lambda ranks: len(ranks.data_sets))
        n_data_sets, n_names = fewest.scores.shape
        if n_data_sets < MIN_DATA_SETS:
            requirement = f"two {nouns} can differ significantly in six or more"
            if n_names > 2:
                requirement = (
                    f"mean ranks of {n_names} {nouns} must differ by "
                    f"{fewest.critical_difference:.1f} to be significant, and cannot differ by "
                    f"more than {n_names - 1}"
                )
            yield (
                f"{n_data_sets} data sets are few: {requirement}. That a difference is not "
                "significant does not show that there is none."
            )

    def _sentence_of_best(self) -> str:
        """Word which names do not differ significantly from the best mean rank, by criterion.

        A criterion is the measure or quantity of a ranking. The lowest mean rank is the best; which
        names differ is of shape (n_names, n_names). Measures that are unacceptable by a quantity
        are not named; criteria with the same names are joined.
        """
        criteria_by_best: dict[str, list[str]] = {}
        for ranks in self.rankings:
            is_unbeaten = ~ranks.differs[np.argmin(ranks.mean_ranks)]
            unacceptable = self.unacceptable.get(ranks.label, ())
            names = [
                name for name in compress(ranks.names, is_unbeaten) if name not in unacceptable
            ]
            if not names:
                names = [f"no acceptable {self.noun}"]
            best = listed(names, "or")
            if len(names) == len(ranks.names):
                best = f"any {self.noun}"
            criteria_by_best.setdefault(best, []).append(ranks.label)
        leaders = [f"{best} ({listed(criteria)})" for best, criteria in criteria_by_best.items()]
        return f"May have the best mean rank over data sets: {listed(leaders)}."

    def figure(self) -> tuple[FigureDeclaration, str, Figure]:
        """Draw the critical-difference diagrams, one column wide, after Demšar (2006).

        Returns the declaration of the figure, its caption, and the figure.
        """
        nouns = plural(self.noun)
        title = f"Mean ranks of the {nouns} over data sets"
        caption = (
            "Points: mean ranks, 1 is best. CD: critical difference by Friedman's and Nemenyi's "
            "tests (family-wise error rate .05)."
        )
        figure = draw_diagrams(self.rankings, nouns)
        sentences = [caption, *explanations(figure)]
        return FigureDeclaration(f"mean_ranks_{nouns}", title), " ".join(sentences), figure


def _rows_of_ranks(ranks: DataSetRanks) -> Iterator[list[Cell]]:
    """List the rows of the table of mean ranks, from the best; cells without an interval are "".

    Columns: measure or quantity with name, mean rank, its interval, place, letters, strength of the
    Plackett-Luce model, its interval. A place is a range if its limits, over resampled data sets,
    differ; "" if they are undefined. Ranks, strengths and limits have the shape (n_names,); two
    names that share a letter do not differ significantly.
    """
    order = np.argsort(ranks.mean_ranks, kind="stable")
    letters = letters_by_system(ranks.differs, order)
    low_rank, high_rank = ranks.rank_limits
    first_place, last_place = ranks.place_limits
    low_strength, high_strength = ranks.strength_limits
    for index in order:
        interval = ""
        if not np.isnan(low_rank[index]):
            interval = f"[{low_rank[index]:.1f}, {high_rank[index]:.1f}]"
        place = "" if np.isnan(first_place[index]) else f"{first_place[index]:.0f}"
        if first_place[index] < last_place[index]:
            place = f"{place}–{last_place[index]:.0f}"
        name = f"{ranks.label}, {ranks.names[index]}"
        mean_rank = float(ranks.mean_ranks[index])
        low = float(low_strength[index])
        high = float(high_strength[index])
        strength = Estimate(float(ranks.strengths[index]), low, high)
        yield [name, mean_rank, interval, place, letters[index], strength.value, strength.interval]
