"""What all results of studies of samples have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.shared.curve_points import mean_of_known
from analyses.sampled.shared.facts import Drawn, Ranked
from analyses.sampled.shared.rows import named_rows
from analyses.shared.drawing import axes_or_new, chosen_panel
from analyses.shared.measure import Measures
from analyses.shared.result import Result, tables_of
from analyses.shared.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankResult(Result):
    """What is found of full ranks.

    Parameters
    ----------
    systems
        Label of an axis.
    ranked
        Of whom the ranks are.
    """

    systems: tuple[str, ...]
    ranked: Ranked

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the one table, called as the first that is printed; see `to_frame`."""
        return {tables_of(type(self))[0].name: self.to_frame()}

    def to_frame(self) -> pd.DataFrame:
        """Give all numbers as a tidy table."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class SampledResult(RankResult):
    """What is found of systems from samples of negatives.

    Parameters
    ----------
    measures
        Label of an axis.
    drawn
        How samples were drawn.
    """

    measures: Measures
    drawn: Drawn

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return self.measures.metrics

    def panel(self, ax: Axes | None, metric: str | None) -> tuple[Axes, int]:
        """Give axes with the name of a metric, by default the first, and its number."""
        number = chosen_panel(self.measures.metrics, metric)
        ax = axes_or_new(ax)
        ax.set_title(self.measures.metrics[number])
        return ax, number


@dataclass(frozen=True, eq=False)
class RepeatedResult(SampledResult):
    """What is found from samples that are drawn again and again.

    Parameters
    ----------
    errors
        Relative error of the metric's curve at cut-offs 1 to 50, in per cent, of shape (...,
        n_metrics, n_systems, n_repeats); NaN where the truth is 0 everywhere.
    """

    errors: Floats

    @property
    def repeated(self) -> Floats:
        """What is averaged over the repeats, the last axis."""
        return self.errors

    @property
    def n_repeats(self) -> int:
        """Samples of each system."""
        return self.errors.shape[-1]

    @property
    def mean(self) -> Floats:
        """Mean over the repeats."""
        return np.asarray(self.repeated.mean(axis=-1))

    @property
    def sd(self) -> Floats:
        """Standard deviation over the repeats: the noise of sampling, not that of users."""
        return np.asarray(self.repeated.std(axis=-1, ddof=1))

    def errors_by(
        self, corner: str, names: Iterable[str], others: Iterable[str], **facts: str
    ) -> Table:
        """Tabulate mean errors: the names, labels of the second axis, down; others, of the first.

        They stand across, by metric. The facts are name and title of the table.
        """
        means = np.moveaxis(mean_of_known(self.mean), 0, 2)
        return Table(
            **facts,
            note=self.caption(),
            headings=[corner, *map(", ".join, product(self.metrics, others))],
            rows=named_rows(names, means),
            best=dict.fromkeys(range(1, means[0].size + 1), min),
        )
