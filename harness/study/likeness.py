"""How like real ratings a world is: their distributions, systems and conclusions side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analyses.ordering import tau_b
from analyses.shared.measure import Measure
from analyses.shared.table import Cell, Table
from harness.report.comparison import Comparison
from harness.report.study_folder import FinishedStudy
from harness.study.run import run_study
from harness.study.study import Study
from qrels import Ratings, describe
from qrels.ratings.datasets.rating_tables import format_rating_lines
from qrels.ratings.world.like_world import FittedWorld
from runs.shared.files import write_whole
from runs.shared.progress import Progress

REAL, WORLD = "real", "world"
SYSTEMS = (
    "random",
    "popularity",
    "svd",
    "item-knn",
    "puresvd",
    "wrmf",
    "als-knn",
    "uir-item",
    "nncosngbr-ib",
    "nncosngbr-ub",
)
"""Cheap systems of different kinds."""

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
CUTOFFS = (10, 100)
LEVELS = (Measure("nDCG", 10), Measure("Recall", 100))
ANALYSES = {
    "names": ["sparsity", "popularity", "discrimination"],
    "sparsity": {"samples": 10, "replicates": 100},
    "popularity": {"replicates": 100},
    "discrimination": {"test": "t", "replicates": 100},
}


def distributions(real: Ratings, world: Ratings) -> Table:
    """Set counts, popularity, activity and histogram side by side."""
    return Table(
        name="distributions",
        title="Distributions",
        note="Quantiles are of the ratings of a user, and of an item.",
        headings=["", REAL, WORLD],
        rows=[
            [name, one, other]
            for (name, one), (_, other) in zip(_facts(real, real), _facts(world, real), strict=True)
        ],
    )


def _facts(ratings: Ratings, real: Ratings) -> Iterator[tuple[str, Cell]]:
    found = describe(ratings)
    yield from (("users", found.users), ("items", found.items), ("ratings", found.ratings))
    yield from (("density", found.density), ("Gini of items", found.gini))
    for kind, counts in (("user", ratings.user_counts()), ("item", ratings.item_counts())):
        values = np.quantile(counts[counts > 0], QUANTILES)
        for share, value in zip(QUANTILES, values.tolist(), strict=True):
            yield f"ratings of {'a' if kind == 'user' else 'an'} {kind}, {100 * share:g} %", value
    for value in np.unique(real.rating).tolist():
        yield f"share rated {value:g}", float((ratings.rating == value).mean())


def fitted_moments(fitted: FittedWorld) -> Table:
    """Set what was fitted beside what it was fitted to."""
    return Table(
        name="moments",
        title="What was fitted",
        note="Each strength is fitted by its moment; ratings are in standard deviations.",
        headings=["moment", REAL, WORLD, "strength"],
        rows=[
            [name, *(getattr(part, name) for part in (fitted.wanted, fitted.reached)), strength]
            for name, strength in vars(fitted.strengths).items()
        ],
    )


@dataclass(frozen=True)
class Likeness:
    """The same study of real ratings and of a world."""

    comparison: Comparison

    @classmethod
    def of(
        cls,
        ratings: tuple[Ratings, Ratings],
        folder: Path,
        *,
        systems: Sequence[str],
        threshold: float,
        seed: int,
        n_jobs: int,
        progress: Progress,
    ) -> Likeness:
        """Study both in a folder."""
        finished = []
        for name, some in zip((REAL, WORLD), ratings, strict=True):
            path = folder / f"{name}.csv"
            write_whole(path, format_rating_lines(some))
            study = Study.model_validate(
                {
                    "name": name,
                    "seed": seed,
                    "output": folder / name,
                    "ratings": {"path": path, "threshold": threshold},
                    "systems": {"names": tuple(systems)},
                    "metrics": {"cutoffs": CUTOFFS},
                    "analyses": ANALYSES,
                }
            )
            run_study(study, n_jobs=n_jobs, progress=progress)
            finished.append(FinishedStudy.at(folder / name))
        return cls(Comparison.of(finished))

    def levels(self) -> Table:
        """Set the systems' mean scores side by side."""
        headings = [f"{measure} {kind}" for measure in LEVELS for kind in (REAL, WORLD)]
        columns = [means for measure in LEVELS for means in self._means(measure)]
        rows: list[list[Cell]] = [
            [system, *(float(means[n]) for means in columns)]
            for n, system in enumerate(self._real.means.systems)
        ]
        return Table("levels", "The systems' levels", "", ["system", *headings], rows)

    def orderings(self) -> Table:
        """Say how far the two order the systems alike, by each measure."""
        rows: list[list[Cell]] = [
            [str(measure), float(tau_b(*self._means(measure)))]
            for measure in self._real.means.measures
        ]
        title = f"Kendall's tau-b between the orderings of {len(self._real.means.systems)} systems"
        return Table("orderings", title, "", ["measure", "tau"], rows)

    def tables(self) -> Iterator[Table]:
        """Give levels and orderings, and each analysis' numbers side by side."""
        yield from (self.levels(), self.orderings(), *self.comparison.quantity_tables())

    @property
    def _real(self) -> FinishedStudy:
        return self.comparison.studies[REAL]

    def _means(self, measure: Measure) -> list[NDArray[np.float64]]:
        """Give the mean scores of the systems, real and of the world."""
        found = [self.comparison.studies[name].means for name in (REAL, WORLD)]
        return [means.values[means.measures.index(measure)] for means in found]
