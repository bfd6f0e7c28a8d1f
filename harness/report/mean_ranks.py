"""Mean ranks of systems and of measures over the data sets of several studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.intervals.data_sets import DataSetRanks
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.drawing import explanations
from analyses.shared.estimate import Estimate
from analyses.shared.figures import draw_panels
from analyses.shared.number_format import Cell, rounded
from analyses.shared.result import FigureDeclaration
from analyses.shared.sentences import letters_by_system, listed, plural
from analyses.shared.table import Table
from analyses.systems import draw_ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 5
"""With fewer data sets there is a caution."""


@dataclass(frozen=True)
class MeanRanks:
    """Mean ranks over data sets: of systems under each measure, or of measures by each quantity.

    Parameters
    ----------
    kind
        What is ranked: "system" or "measure".
    every
        The ranks by each measure or quantity.
    left_out
        Names that are not ranked, as some data set lacks them.
    poor
        By quantity: measures that do not pass its threshold in some data set, which no sentence
        calls the best.
    """

    kind: str
    every: Sequence[DataSetRanks]
    left_out: Sequence[str] = ()
    poor: Mapping[str, Sequence[str]] | None = None

    def tables(self) -> Iterator[Table]:
        """Tabulate mean ranks, then tests and agreement of data sets with one another."""
        kinds, by = plural(self.kind), {"system": "measure", "measure": "quantity"}[self.kind]
        rows: list[list[Cell]] = []
        tests: list[list[Cell]] = []
        data_sets = list(dict.fromkeys(name for ranks in self.every for name in ranks.data_sets))
        for ranks in self.every:
            order = np.argsort(ranks.means, kind="stable")
            letters = letters_by_system(ranks.differs, order)
            (low, high), (first, last) = ranks.limits
            strengths = ranks.strengths, *ranks.strength_limits
            for n in order:
                interval = "" if np.isnan(low[n]) else f"[{low[n]:.1f}, {high[n]:.1f}]"
                place = f"{first[n]:.0f}".replace("nan", "")
                place += f"–{last[n]:.0f}" * bool(first[n] < last[n])
                own: list[Cell] = [float(ranks.means[n]), interval, place, letters[n]]
                strength = Estimate(*(float(each[n]) for each in strengths))
                own += [strength.value, strength.interval]
                rows.append([f"{ranks.label}, {ranks.names[n]}", *own])
            taus = dict(zip(ranks.data_sets, ranks.taus.tolist(), strict=True))
            found = (ranks.friedman, ranks.critical_difference, float(mean_of_defined(ranks.taus)))
            tests.append([ranks.label, *found, *(taus.get(name, np.nan) for name in data_sets)])
        lacking = f" Not in all studies, and left out: {', '.join(self.left_out)}."
        note = (
            "Rank 1 is best; ties share their mean rank. 95 %: bootstrap over four or more data "
            "sets, as wide as Student's t; none where the rank is the same in all. Place: in the "
            "order of the mean ranks, likewise. Letters: two that share one do not differ "
            "significantly (Friedman's and Nemenyi's tests, family-wise error rate .05). Strength: "
            "Plackett-Luce model; the strengths add up to 1, and have intervals over five or more "
            "data sets (bootstrap). Each study counts as an independent "
            f"data set.{lacking * bool(self.left_out)}"
        )
        headings = [f"{by}, {self.kind}", "mean rank", "95 %", "place", "letters", "strength"]
        if any(row[-1] for row in rows):
            headings.append("strength, 95 %")
        rows = [row[: len(headings)] for row in rows]
        title = f"Mean ranks of the {kinds} over data sets"
        yield Table(f"mean_ranks_{kinds}", title, note, headings, rows, decimals=2)
        note = (
            "p: Friedman's test that none differ, of two the sign test. Critical difference: of "
            "two mean ranks, by Nemenyi's test. tau-b: of the order in a data set with the mean "
            "ranks over all others."
        )
        headings = [by, "p", "critical difference", "mean tau-b", *data_sets]
        title = f"Order of the {kinds}: tests, and tau-b of each data set with the others"
        yield Table(f"data_sets_{kinds}", title, note, headings, tests, decimals=3)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Give rows of a tidy table: quantity, measure, study or "all", value, low, high."""
        nothing = (np.nan, np.nan)
        for ranks in self.every:
            (low, high), _ = ranks.limits
            for n, name in enumerate(ranks.names):
                of, measure = f"of {name}", ranks.label
                if self.kind == "measure":
                    of, measure = f"by {ranks.label}", name
                own = zip(ranks.data_sets, ranks.ranks[:, n], strict=True)
                yield from ((f"rank {of}", measure, where, rank, *nothing) for where, rank in own)
                yield f"mean rank {of}", measure, "all", ranks.means[n], low[n], high[n]
            for where, tau in zip(ranks.data_sets, ranks.taus, strict=True):
                quantity = f"tau-b of {plural(self.kind)}, with other data sets"
                yield quantity, ranks.label, where, tau, *nothing

    def findings(self) -> Iterator[str]:
        """Say what may be best, how many pairs differ, and whether it would hold anew."""
        best: dict[str, list[str]] = {}
        for ranks in self.every:
            poor = (self.poor or {}).get(ranks.label, ())
            first = [*compress(ranks.names, ~ranks.differs[np.argmin(ranks.means)])]
            fit = [name for name in first if name not in poor] or [f"no acceptable {self.kind}"]
            named = f"any {self.kind}" if len(fit) == len(ranks.names) else listed(fit, "or")
            best.setdefault(named, []).append(ranks.label)
        leaders = [f"{name} ({listed(labels)})" for name, labels in best.items()]
        yield f"May have the best mean rank over data sets: {listed(leaders)}."
        pairs = [
            f"{int(np.triu(r.differs).sum())} of {len(r.names) * (len(r.names) - 1) // 2} "
            f"({r.label})"
            for r in self.every
        ]
        kinds = plural(self.kind)
        yield f"Pairs of {kinds} whose mean ranks differ significantly: {listed(pairs)}."
        taus = [f"{rounded(float(mean_of_defined(r.taus)), 2)} ({r.label})" for r in self.every]
        yield (
            f"The order of {kinds} in a data set agrees with their mean ranks over the "
            f"others by a mean tau-b of {listed(taus)}."
        )
        least = min(self.every, key=lambda ranks: len(ranks.data_sets))
        if len(least.data_sets) < FEW:
            n_data_sets, n_names = least.scores.shape
            needed = (
                f"mean ranks of {n_names} {kinds} must differ by {least.critical_difference:.1f} "
                f"to be significant, and cannot differ by more than {n_names - 1}"
                if n_names > 2
                else f"two {kinds} can differ significantly in six or more"
            )
            yield (
                f"{n_data_sets} data sets are few: {needed}. That a difference is not significant "
                "does not show that there is none."
            )

    def figure(self) -> tuple[FigureDeclaration, str, Figure]:
        """Draw the critical-difference diagrams, after Demšar (2006)."""
        kinds = plural(self.kind)
        face = FigureDeclaration(f"mean_ranks_{kinds}", f"Mean ranks of the {kinds} over data sets")
        caption = (
            "Points: mean ranks, 1 is best. Lines: 95 % intervals by the bootstrap over data sets "
            "(four or more; none where all agree). "
            "CD: critical difference by Friedman's and Nemenyi's tests (family-wise error rate "
            ".05)."
        )
        panels = {ranks.label: partial(_draw, ranks, kinds) for ranks in self.every}
        figure = draw_panels(panels, roomy=True, alike=False)
        return face, " ".join([caption, *explanations(figure)]), figure


def _draw(ranks: DataSetRanks, kinds: str, ax: Axes) -> Axes:
    order = np.argsort(ranks.means, kind="stable")
    names, ((low, high), _) = [ranks.names[n] for n in order], ranks.limits
    limits = low[order], high[order]
    differs = ranks.differs[np.ix_(order, order)]
    draw_ranks(ax, names, ranks.means[order], limits, differs, kind=kinds)
    ax.plot([1, 1 + ranks.critical_difference], [0, 0], "|-", color="0.4")
    ax.set_yticks(range(len(names) + 1), ["CD", *names])
    ax.set_xlabel("mean rank")
    ax.set_title(ranks.label)
    return ax
