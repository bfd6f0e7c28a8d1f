"""The figures that a study has: each shows one result, under a name and a number of the paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from analyses.online.agreement.agreement_figures import draw_bins, draw_null, draw_rhos
from analyses.shared.figures import Drawable, panel_at, panel_of, panel_per_metric
from analyses.shared.measure import rising_cutoffs
from runs import InputError
from runs.shared.errors import nearest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from matplotlib.figure import Figure

    from analyses.users import Users

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
    """Draw the metrics at the deepest cut-off, or of whole lists if there is none."""
    cutoffs = rising_cutoffs(result.measures)
    return panel_at(result, cutoffs[-1] if cutoffs else None)


def power_of_users(result: Result) -> Figure:
    """Draw how discriminative power falls as users are added."""
    return panel_of(cast("Users", result).plot_power)


def by_sampled_metric(result: Drawable) -> Figure:
    """Draw a panel for each metric, on scales of their own."""
    names = [measure.metric for measure in result.measures]
    return panel_per_metric(result, names, comparable=False)


def in_one_panel(result: Drawable) -> Figure:
    """Draw all that there is in one panel."""
    return panel_of(result.plot)


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
    "figure9_users_tau": Drawing(
        "users", "Users: agreement of subsets of the users with all of them", by_metric, single=True
    ),
    "figure10_users_dp": Drawing(
        "users", "Users: discriminative power of subsets of the users", power_of_users, single=True
    ),
    "figure11_sampled_estimates": Drawing(
        "sampled", "Sampled negatives: estimates against exact metrics", by_sampled_metric
    ),
    "figure12_sampled_ranks": Drawing(
        "sampled_ranks", "Ranks of the relevant items among all candidates", by_sampled_metric
    ),
    "figure13_sampled_sizes": Drawing(
        "sampled_sizes", "Sampled negatives: expected metrics by their number", by_sampled_metric
    ),
    "figure14_sampled_cost": Drawing(
        "sampled_cost", "Sampled negatives: error against cost", by_sampled_metric
    ),
    "figure15_sampled_adaptive": Drawing(
        "sampled_adaptive", "Adaptive samples: what larger ones cost", in_one_panel, single=True
    ),
    "figure16_sampled_iterations": Drawing(
        "sampled_iterations", "Sampled negatives: error by iterations of EM", by_sampled_metric
    ),
    "figure17_sampled_priors": Drawing(
        "sampled_priors",
        "Sampled negatives: error by the prior of the correction",
        by_sampled_metric,
    ),
    "figure18_online_rhos": Drawing(
        "online", "Agreement of offline measures with click-through rates", draw_rhos
    ),
    "figure19_online_bins": Drawing(
        "online",
        "Offline measures by their agreement with click-through rates",
        draw_bins,
        single=True,
    ),
    "figure20_online_best": Drawing(
        "online_best", "The best of all offline measures by chance", draw_null, single=True
    ),
}
"""Figures by name, in the order of the report; 1 to 8 are those of Valcarce et al. (2018)."""


def figures_of(analysis: str) -> dict[str, Drawing]:
    """Give the figures that show the result of an analysis."""
    return {name: drawing for name, drawing in FIGURES.items() if drawing.analysis == analysis}


def number_of(name: str) -> int:
    """Give the number of a figure.

    Examples
    --------
    >>> number_of("figure6_sparsity_metrics")
    6
    """
    return int(re.findall(r"[0-9]+", name)[0])


def find_figure(text: str) -> str:
    """Give the full name of a figure.

    Raises
    ------
    InputError
        If there is no such figure; the sentence says which there are.

    Examples
    --------
    >>> find_figure("fig6"), find_figure("figure6"), find_figure("6")
    ('figure6_sparsity_metrics', 'figure6_sparsity_metrics', 'figure6_sparsity_metrics')
    """
    named = re.fullmatch(r"(?:fig(?:ure)?[ .]*)?([0-9]+)", text.strip(), re.IGNORECASE)
    for name in FIGURES:
        if text == name or (named and int(named[1]) == number_of(name)):
            return name
    known = [f"fig{number_of(name)}" for name in FIGURES]
    raise InputError(f"no figure is called {text!r}; {nearest(text, known)}")
