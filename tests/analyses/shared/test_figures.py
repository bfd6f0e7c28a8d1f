from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.popularity import Popularity, Removal
from analyses.shared.families import Families, WithinSubsets
from analyses.shared.figures import WRITERS, as_svg, draw_figure
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, figures_of


def curves(
    metrics: list[str], cutoffs: list[int], levels: tuple[float, ...], replicates: int = 0
) -> Popularity:
    """A result whose curves fall."""
    measures = Measures(Measure(metric, cutoff) for metric in metrics for cutoff in cutoffs)
    return Popularity(
        measures=measures,
        levels=levels,
        orders=1,
        chosen=Removal(
            cut="items",
            removed="most popular",
            counted_in="test",
            taus=np.tile(np.linspace(1.0, 0.5, len(levels)), (len(measures), 1)),
            deviations=np.zeros((len(measures), len(levels))),
            coefficients={},
            replicates=np.full((len(measures), len(levels), replicates), 0.5),
            within=WithinSubsets(3, np.empty((len(measures), 0))),
            n_kept=np.arange(len(levels), dtype=np.float64),
        ),
        checks=(),
        n_items=9,
        families=Families(np.arange(3)),
        n_users=2,
    )


def by_metric(metrics: list[str], cutoffs: list[int], levels: tuple[float, ...]) -> Figure:
    per_metric, _ = sorted(figures_of(Popularity), key=lambda face: face.number or 0)
    return draw_figure(curves(metrics, cutoffs, levels), per_metric)


def shown(figure: Figure) -> list[str]:
    """Titles of the panels that are drawn."""
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


@pytest.mark.slow
@pytest.mark.parametrize("render", [as_svg, WRITERS["png"]])
def test_a_figure_drawn_twice_is_the_same_bytes(render: Callable[[Figure], bytes]) -> None:
    first, second = (by_metric(["P", "AP"], [5, 10], (1.0, 0.5)) for _ in range(2))
    assert render(first) == render(second)


@pytest.mark.slow
@pytest.mark.parametrize("n_metrics", [1, 7])
def test_every_metric_has_its_panel(n_metrics: int) -> None:
    metrics = ["P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP"][:n_metrics]
    assert shown(by_metric(metrics, [5, 10], (1.0, 0.5))) == metrics


class Labelled(Result):
    """A result whose panels have an x-axis each."""

    measures = Measures(Measure(metric, 5) for metric in ("P", "Recall", "AP", "nDCG"))
    kinds = ("observed", "by chance")

    def caption(self) -> str:
        return "Labels."

    @figure("labelled", "Labels", panels="metric")
    def plot(self, ax: Axes, *, metric: str | None = None) -> Axes:
        ax.set_xlabel(f"pairs by {metric}")
        return ax

    @figure("kinds", "Kinds", panels="kind")
    def plot_kind(self, ax: Axes, *, kind: str) -> Axes:
        ax.set_title(kind)
        return ax


def test_a_figure_may_have_a_panel_for_each_value_of_another_keyword() -> None:
    assert shown(draw_figure(Labelled(), figures_of(Labelled)[1])) == ["observed", "by chance"]
