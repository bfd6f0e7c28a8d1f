"""A finished study beside published numbers: levels, orderings, what agrees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import interval, percentiles, resample_means
from analyses.intervals.systems import over_systems
from analyses.ordering import tau_b
from analyses.shared.estimate import Estimate
from analyses.shared.result import FigureFace
from analyses.shared.sentences import listed, paired
from analyses.shared.table import Cell, Table, shown
from harness.readers.means_table import Published, read_published
from harness.readers.scores import SCORES_FILE, read_score_tables
from harness.report.study_folder import FinishedStudy
from harness.report.tables import estimates_of
from runs import InputError
from runs.shared.errors import nearest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


REPLICATES = 1000
MOST_NAMED = 5
"""So many numbers that are missing are named."""


@dataclass(frozen=True)
class Publication:
    """A finished study beside published numbers, as far as both have them."""

    study: FinishedStudy
    published: Published

    @classmethod
    def of(cls, studies: Sequence[FinishedStudy], tables: Sequence[Path]) -> Publication:
        """Read a table of published numbers, to stand beside a study."""
        if len(studies) != 1 or len(tables) != 1:
            given = f"{len(studies)} studies and {len(tables)} table{'s' * (len(tables) > 1)}"
            raise InputError(
                f"a table of published numbers is compared with one study, got {given}."
            )
        made = cls(studies[0], read_published(tables[0]))
        if not made.columns:
            raise InputError(made._nothing_shared())
        return made

    def _nothing_shared(self) -> str:
        """Say of the first published number what the study has in its place."""
        (subject, measure), *_ = self.published.numbers
        measures, subjects = self._known
        unknown, known = (measure, measures) if measure not in measures else (subject, subjects)
        return (
            f"{self.published.path}: {self.study.folder} has none of these numbers, no "
            f"{unknown!r} for one; {nearest(unknown, known)}"
        )

    @property
    def title(self) -> str:
        """What stands beside what."""
        return f"{self.study.name} – {self.published.path.name}"

    lead = "How near does the study come to numbers that were published?"

    @property
    def data(self) -> list[str]:
        """What the study is of."""
        return [self.study.manifest["data"]]

    @cached_property
    def columns(self) -> list[PublishedColumn]:
        """Systems by each measure, or measures by each quantity."""
        given = self._of_systems if self.published.subject == "system" else self._of_quantities
        return list(given())

    @property
    def missing(self) -> list[str]:
        """What is published and the study does not have."""
        found = {(c.name, name) for c in self.columns for name in c.names}
        keys = self.published.numbers
        are_systems = self.published.subject == "system"
        return [f"{m} of {s}" for s, m in keys if ((m, s) if are_systems else (s, m)) not in found]

    @property
    def _known(self) -> tuple[list[str], list[str]]:
        """Measures of the study, and its systems or quantities."""
        measures = [str(measure) for measure in self.study.means.measures]
        if self.published.subject == "system":
            return measures, [*self.study.means.systems]
        return measures, [estimates.name for _, estimates in estimates_of(self.study)]

    def _of_systems(self) -> Iterator[PublishedColumn]:
        means, published = self.study.means, self.published.numbers
        for measure, values in zip(means.measures, means.values, strict=True):
            places = [n for n, s in enumerate(means.systems) if (s, str(measure)) in published]
            if places:
                names = tuple(means.systems[place] for place in places)
                replicates = self._resampled(means.measures.index(measure), places)
                low, high = percentiles(replicates)
                yield PublishedColumn(
                    name=str(measure),
                    names=names,
                    ours=values[places],
                    theirs=np.array([published[name, str(measure)] for name in names]),
                    low=low,
                    high=high,
                    replicates=replicates,
                    are_ranks=self.published.are_ranks,
                    are_systems=True,
                    lower_is_better=measure.metric in means.measures.falling,
                    seed=self._seed,
                )

    def _of_quantities(self) -> Iterator[PublishedColumn]:
        published = self.published.numbers
        for _, estimates in estimates_of(self.study):
            known = estimates.of(estimates.measures)
            places = [
                n
                for n, measure in enumerate(estimates.measures)
                if (estimates.name, str(measure)) in published and str(measure) in known
            ]
            if places:
                names = tuple(str(estimates.measures[place]) for place in places)
                yield PublishedColumn(
                    name=estimates.name,
                    names=names,
                    ours=estimates.values[places],
                    theirs=np.array([published[estimates.name, name] for name in names]),
                    low=estimates.low[places],
                    high=estimates.high[places],
                    replicates=estimates.moved[places],
                    are_ranks=self.published.are_ranks,
                    are_systems=False,
                    lower_is_better=estimates.lower_is_better,
                    seed=self._seed,
                )

    @property
    def _seed(self) -> int:
        return int(self.study.manifest["seed"])

    def _resampled(self, measure: int, systems: Sequence[int]) -> NDArray[np.float64]:
        """Resample the users behind means; NaN if these are no plain means over users."""
        scores, means = self._scores[measure], self.study.means.values[measure]
        if not np.allclose(scores.mean(axis=-1), means, atol=1e-9):
            return np.full((len(systems), 1), np.nan)
        return resample_means(scores[systems], replicates=REPLICATES, seed=self._seed)

    @cached_property
    def _scores(self) -> NDArray[np.float64]:
        return read_score_tables([self.study.folder / SCORES_FILE]).values

    def tables(self) -> Iterator[Table]:
        """Tabulate levels, a row for each number, and the agreement of the orderings."""
        yield self._levels()
        yield self._orderings()

    def _levels(self) -> Table:
        are_ranks = self.published.are_ranks
        rows: list[list[Cell]] = [
            [
                f"{column.name}, {name}",
                ours.value,
                ours.interval,
                *([f"{printed:g}"] if are_ranks else [printed, ratio]),
            ]
            for column in self.columns
            for name, ours, printed, ratio in column.rows()
        ]
        theirs = ["published rank"] if are_ranks else ["published", "ours / published"]
        headings = ["", "ours", "95 %", *theirs]
        return Table("levels", "Levels", "Intervals are over users.", headings, rows)

    def _orderings(self) -> Table:
        rows: list[list[Cell]] = [
            [
                column.name,
                len(column.names),
                column.agreement.value,
                column.agreement.interval,
                column.agreement_over_systems.interval,
                len(column.turned),
            ]
            for column in self.columns
        ]
        return Table(
            name="orderings",
            title="Orderings: Kendall's tau-b with the published ones",
            note="Turned: pairs that are the other way round beyond noise of users, at 95 % each.",
            headings=["", "number", "tau-b", "95 %, users", "95 %, systems", "turned"],
            rows=rows,
        )

    def frame(self) -> pd.DataFrame:
        """Give the levels as a tidy table: of, name, ours, low, high, published, ratio."""
        import pandas as pd

        rows = [
            (column.name, name, ours.value, ours.low, ours.high, printed, ratio)
            for column in self.columns
            for name, ours, printed, ratio in column.rows()
        ]
        columns = ["of", "name", "ours", "low", "high", "published", "ratio"]
        return pd.DataFrame(rows, columns=columns)

    def findings(self) -> Iterator[str]:
        """Say for each column what agrees, and what could not be compared."""
        for column in self.columns:
            yield column.finding()
        if self.missing:
            n_more = len(self.missing) - MOST_NAMED
            named = [*self.missing[:MOST_NAMED], *([f"{n_more} more"] if n_more > 0 else [])]
            yield f"Published, and not in the study: {listed(named)}."

    def figures(self) -> Iterator[tuple[FigureFace, str, Figure]]:
        """Draw nothing: what was published are numbers."""
        return iter(())


NEAR = 0.1
"""Levels that differ by less of what is published are called near."""


@dataclass(frozen=True, eq=False)
class PublishedColumn:
    """What is ordered in one column of a published table: systems, or measures by a quantity.

    Ours, with limits of 95 %, and theirs are of shape (n_names,); replicates of ours, over
    resampled users, of (n_names, n_replicates). Both are NaN where users are not resampled.
    """

    name: str
    names: tuple[str, ...]
    ours: NDArray[np.float64]
    theirs: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    replicates: NDArray[np.float64]
    are_ranks: bool
    are_systems: bool
    lower_is_better: bool
    seed: int

    @property
    def _places(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Ours, theirs and the replicates, such that more is better."""
        sign = -1.0 if self.lower_is_better else 1.0
        theirs = -self.theirs if self.are_ranks else sign * self.theirs
        return sign * self.ours, theirs, sign * self.replicates

    @property
    def ratios(self) -> NDArray[np.float64]:
        """Ours as shares of theirs; NaN where theirs is 0 or a rank."""
        ratios = np.full(len(self.names), np.nan)
        if not self.are_ranks:
            np.divide(self.ours, self.theirs, out=ratios, where=self.theirs != 0)
        return ratios

    def rows(self) -> Iterator[tuple[str, Estimate, float, float]]:
        """Give name, our number, the published one, and ours as a share of it."""
        for name, *numbers in zip(
            self.names, self.ours, self.low, self.high, self.theirs, self.ratios, strict=True
        ):
            value, low, high, printed, ratio = map(float, numbers)
            yield name, Estimate(value, low, high), printed, ratio

    @cached_property
    def agreement(self) -> Estimate:
        """Tau-b of the two orderings, with an interval over users."""
        ours, theirs, replicates = self._places
        observed = tau_b(ours, theirs)
        taus = tau_b(replicates.T, theirs)
        limits = interval(observed, taus, limits=(-1, 1))
        return Estimate(float(observed), *(float(limit) for limit in limits))

    @property
    def agreement_over_systems(self) -> Estimate:
        """Tau-b with an interval over systems, where these are 8 or more."""
        ours, theirs, _ = self._places
        observed = self.agreement.value
        if not self.are_systems:
            return Estimate(observed)
        limits = over_systems(
            lambda some: tau_b(ours[some], theirs[some]),
            len(self.names),
            seed=self.seed,
            limits=(-1, 1),
        )
        return Estimate(observed, *(float(limit) for limit in limits))

    @cached_property
    def turned(self) -> list[tuple[str, str]]:
        """Pairs that we order otherwise, beyond noise, the one first that is better with us."""
        ours, theirs, replicates = self._places
        first, second = np.triu_indices(len(self.names), 1)
        low, high = percentiles(replicates[first] - replicates[second])
        printed = np.sign(theirs[first] - theirs[second])
        pairs = zip(first, second, np.sign(ours[first] - ours[second]), strict=True)
        is_turned = ((low > 0) & (printed < 0)) | ((high < 0) & (printed > 0))
        return [
            (self.names[a if sign > 0 else b], self.names[b if sign > 0 else a])
            for (a, b, sign), turned in zip(pairs, is_turned, strict=True)
            if turned
        ]

    def finding(self) -> str:
        """Say in words how near the levels are, and how alike the orderings."""
        return " ".join([f"{self.name}:", *self._of_levels(), *self._of_order()])

    def _of_levels(self) -> Iterator[str]:
        known = ~np.isnan(self.ratios)
        if not known.any():
            return
        ratios, names = self.ratios[known], np.array(self.names)[known]
        near = int((abs(ratios - 1) <= NEAR).sum())
        far = int(abs(ratios - 1).argmax())
        yield (
            f"{near} of {len(ratios)} levels are within {100 * NEAR:.0f} % of the published ones; "
            f"furthest off is {names[far]}, {shown(float(ratios[far]), decimals=2)} of it."
        )

    def _of_order(self) -> Iterator[str]:
        if np.isnan(self.agreement.value):
            return
        yield f"Orderings agree with tau-b {self.agreement};"
        n_pairs = len(self.names) * (len(self.names) - 1) // 2
        if self.agreement.has_interval:
            named = f" ({paired(self.turned)}; ours first)" if self.turned else ""
            turned = f"{len(self.turned)} of {n_pairs} pairs"
            yield f"{turned} are the other way round beyond noise{named}."
        else:
            yield f"which of {n_pairs} pairs differ by noise alone is not known."
