"""Recalls of a model, as numbers, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.recall.hidden_parts import Validation
from analyses.recall.parametrisations import Parametrisation
from analyses.recall.recall import RecallGrid
from analyses.recall.stratification import Weights
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Cell, Table
from qrels.ranks.hidden_ranks import HiddenRanks, hidden_to_parquet, ranks_to_parquet
from runs.shared.files import write_whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHOWN_BETAS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
SHOWN_CUTOFFS: Final = (1, 5, 10, 20, 50)
FEW: Final = 8
"""So many exponents or cut-offs are printed all."""


@dataclass(frozen=True, eq=False)
class MeasuredRecalls(Result):
    """Recalls of one model by the weights of the users, and how they came about.

    Of the hidden ranks any other grid derives; facts say what was left out.
    """

    model: str
    grids: Mapping[Weights, RecallGrid]
    ranks: HiddenRanks
    facts: Sequence[str]

    @property
    def validations(self) -> tuple[Validation, ...]:
        """Panels of the figures."""
        return next(iter(self.grids.values())).validations

    @property
    def uniform(self) -> RecallGrid | None:
        """Recalls where users count alike, if asked."""
        return self.grids.get("uniform")

    @property
    def stratified(self) -> RecallGrid | None:
        """Recalls where hidden items count alike, if asked."""
        return self.grids.get("stratified")

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``values``: column weights before those of `RecallGrid.to_frame`."""
        import pandas as pd

        frames = {weights: grid.to_frame() for weights, grid in self.grids.items()}
        joined = pd.concat(frames, names=["weights"])
        return {"values": joined.reset_index(level=0).reset_index(drop=True)}

    def caption(self) -> str:
        """Say what values are means of: the same whatever the weights."""
        return f"{self.model}. {next(iter(self.grids.values())).caption()}"

    def cautions(self) -> Sequence[str]:
        """Say what was left out."""
        return self.facts

    @table("recall_uniform", "recall of hidden items where users count alike")
    def uniform_table(self) -> Table:
        """Tabulate a few exponents and cut-offs, with ceilings and effective shares."""
        return _table("uniform", self.uniform, model=self.model)

    @table("recall_stratified", "recall of hidden items where hidden items count alike")
    def stratified_table(self) -> Table:
        """Tabulate the same with stratified weights."""
        return _table("stratified", self.stratified, model=self.model)

    @figure(
        "recall_uniform",
        "Recall over the exponent of popularity, users counting alike",
        panels="validation",
        of="uniform",
    )
    def plot_uniform(self, ax: Axes | None = None, *, validation: Validation) -> Axes:
        """Draw recall over the exponent; see `RecallGrid`."""
        return self.grids["uniform"].plot(ax, validation=validation)

    @figure(
        "recall_stratified",
        "Recall over the exponent of popularity, hidden items counting alike",
        panels="validation",
        of="stratified",
    )
    def plot_stratified(self, ax: Axes | None = None, *, validation: Validation) -> Axes:
        """Draw recall over the exponent; see `RecallGrid`."""
        return self.grids["stratified"].plot(ax, validation=validation)

    def write_ranks(self, folder: Path) -> None:
        """Write the hidden items, and their ranks."""
        write_whole(folder / "hidden.parquet", hidden_to_parquet(self.ranks.hidden))
        write_whole(folder / "ranks.parquet", ranks_to_parquet(self.ranks))


@dataclass(frozen=True, eq=False)
class RecallsOfModels(Result):
    """Recalls of several models on the same test users, who count alike.

    Grids are by model, errors of shape (n_models, n_validations, n_betas, n_cutoffs).
    """

    grids: Mapping[str, RecallGrid]
    errors: NDArray[np.float64]
    facts: Sequence[str]

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``values``: columns model, measure, value, error, as `harness online` reads them."""
        import pandas as pd

        first = next(iter(self.grids.values()))
        every = product(first.validations, first.betas, first.cutoffs)
        names = [str(Parametrisation(*each)) for each in every]
        values = np.concatenate([grid.values.ravel() for grid in self.grids.values()])
        columns = {"measure": names * len(self.grids), "value": values}
        models = np.repeat(list(self.grids), len(names))
        return {"values": pd.DataFrame({"model": models, **columns, "error": self.errors.ravel()})}

    def caption(self) -> str:
        """Say what values are means of."""
        grid = next(iter(self.grids.values()))
        return f"{len(self.grids)} models. {grid.caption()} Errors are of differences of models."

    def cautions(self) -> Sequence[str]:
        """Say what was left out."""
        return self.facts

    def findings(self) -> Sequence[str]:
        """Say what to do with the values."""
        return ["With rates of these models: harness online values.csv rates.csv"]

    @table("recall_models", "recall of hidden items by several models")
    def models_table(self) -> Table:
        """Tabulate a few measures, a column for each model."""
        first = next(iter(self.grids.values()))
        cutoff = min(first.cutoffs, key=lambda k: abs(k - 10))
        at = first.cutoffs.index(cutoff)
        rows: list[list[Cell]] = [
            [f"{validation}(beta={beta:g})@{cutoff}"]
            + [
                float(grid.values[side, first.betas.index(beta), at])
                for grid in self.grids.values()
            ]
            for side, validation in enumerate(first.validations)
            for beta in _shown(first.betas, SHOWN_BETAS)
        ]
        headings = ["", *self.grids]
        return Table("recall_models", "Recall of several models", self.caption(), headings, rows)


def _table(weights: Weights, grid: RecallGrid | None, *, model: str) -> Table:
    """Tabulate a few exponents and cut-offs of a grid; without rows if there is none."""
    if grid is None:
        return Table(f"recall_{weights}", "", "", [], [])
    betas, cutoffs = _shown(grid.betas, SHOWN_BETAS), _shown(grid.cutoffs, SHOWN_CUTOFFS)
    places = [grid.cutoffs.index(cutoff) for cutoff in cutoffs]
    rows: list[list[Cell]] = []
    for number, validation in enumerate(grid.validations):
        for beta in betas:
            place = grid.betas.index(beta)
            values = grid.values[number, place, places].tolist()
            ends = (grid.ceilings[number, place], grid.effective_shares[number, place])
            rows.append([f"{validation}, beta {beta:g}", *values, *map(float, ends)])
    if grid.coverage is not None:
        coverage = grid.coverage[places].tolist()
        rows.append(["coverage of items", *coverage, float("nan"), float("nan")])
    return Table(
        name=f"recall_{weights}",
        title=f"{grid.stratification.metric}, {weights} weights: {model}",
        note=grid.caption(),
        headings=["", *(f"@{cutoff}" for cutoff in cutoffs), "ceiling", "effective share"],
        rows=rows,
    )


def _shown(known: Sequence[float], wanted: Sequence[float]) -> list[float]:
    few = [value for value in known if value in wanted]
    return list(known) if len(known) <= FEW or not few else few
