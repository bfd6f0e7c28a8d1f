"""The figures that a study has: each shows one result, under a name and a number of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from analyses.measure import rising_cutoffs
from harness.figures import Drawable, panel_at, panel_per_metric

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from matplotlib.figure import Figure

    class Result(Drawable, DataclassInstance, Protocol):
        """A result with curves, that can be kept."""

        def caption(self) -> str:
            """Say in full sentences what the figures show."""


@dataclass(frozen=True)
class Drawing:
    """A figure of the catalogue.

    Parameters
    ----------
    analysis
        The analysis whose result it shows.
    title
        What it shows.
    draw
        Draws the result.
    single
        Whether it is one panel.
    """

    analysis: str
    title: str
    draw: Callable[[Result], Figure]
    single: bool = False


def by_cutoff(result: Drawable) -> Figure:
    """Draw the cut-offs of every metric, a panel for each."""
    return panel_per_metric(result, tuple(dict.fromkeys(m.metric for m in result.measures)))


def by_metric(result: Drawable) -> Figure:
    """Draw the metrics at the deepest cut-off."""
    return panel_at(result, rising_cutoffs(result.measures)[-1])


FIGURES: Mapping[str, Drawing] = {
    "figure1_correlation_cutoffs": Drawing(
        "correlation", "Agreement among the cut-offs of each metric", by_cutoff
    ),
    "figure2_sparsity_cutoffs": Drawing(
        "sparsity", "Sparsity: loss of judgements, by cut-off", by_cutoff
    ),
    "figure3_popularity_cutoffs": Drawing(
        "popularity", "Popularity: loss of the judgements of popular items, by cut-off", by_cutoff
    ),
    "figure4_pvalues_cutoffs": Drawing(
        "discrimination", "p-values of all pairs of systems, by cut-off", by_cutoff
    ),
    "figure5_correlation_metrics": Drawing(
        "correlation", "Agreement among metrics", by_metric, single=True
    ),
    "figure6_sparsity_metrics": Drawing(
        "sparsity", "Sparsity: loss of judgements, by metric", by_metric, single=True
    ),
    "figure7_popularity_metrics": Drawing(
        "popularity",
        "Popularity: loss of the judgements of popular items, by metric",
        by_metric,
        single=True,
    ),
    "figure8_pvalues_metrics": Drawing(
        "discrimination", "p-values of all pairs of systems, by metric", by_metric, single=True
    ),
}
"""Figures by name; those with a number have it in Valcarce et al. (2018)."""


def figures_of(analysis: str) -> dict[str, Drawing]:
    """Give the figures that show the result of an analysis."""
    return {name: drawing for name, drawing in FIGURES.items() if drawing.analysis == analysis}
