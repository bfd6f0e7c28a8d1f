from collections.abc import Callable

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.popularity import Popularity
from analyses.shared.figures import as_png, as_svg, panel_at, panel_per_metric
from analyses.shared.measure import Measure

PNG = b"\x89PNG\r\n\x1a\n"


def curves(metrics: list[str], cutoffs: list[int], levels: tuple[float, ...]) -> Popularity:
    """A result whose curves fall."""
    measures = tuple(Measure(metric, cutoff) for metric in metrics for cutoff in cutoffs)
    return Popularity(
        measures=measures,
        levels=levels,
        taus=np.tile(np.linspace(1.0, 0.5, len(levels)), (len(measures), 1)),
        coefficients={},
        replicates=np.empty((len(measures), len(levels), 0)),
        n_kept=np.arange(len(levels)),
        cut="items",
        removed="most popular",
        counted_in="test",
        n_items=9,
        n_systems=3,
        n_users=2,
        seed=0,
    )


def by_metric(metrics: list[str], cutoffs: list[int], levels: tuple[float, ...]) -> Figure:
    return panel_per_metric(curves(metrics, cutoffs, levels), metrics)


def shown(figure: Figure) -> list[str]:
    """Titles of the panels that are drawn."""
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


@pytest.mark.slow
@pytest.mark.parametrize("render", [as_svg, as_png])
def test_a_figure_drawn_twice_is_the_same_bytes(render: Callable[[Figure], bytes]) -> None:
    first, second = (by_metric(["P", "AP"], [5, 10], (1.0, 0.5)) for _ in range(2))
    assert render(first) == render(second)


@pytest.mark.slow
def test_rendering_leaves_matplotlib_as_it_was() -> None:
    before = dict(mpl.rcParams)
    as_svg(by_metric(["P"], [5], (1.0, 0.5)))
    assert dict(mpl.rcParams) == before


@pytest.mark.slow
def test_svg_text_stays_text() -> None:
    assert b"nDCG" in as_svg(by_metric(["P", "nDCG"], [5], (1.0, 0.5)))


@pytest.mark.slow
def test_svg_has_no_date() -> None:
    assert b"<dc:date>" not in as_svg(by_metric(["P"], [5], (1.0, 0.5)))


@pytest.mark.slow
def test_png_is_a_png() -> None:
    assert as_png(by_metric(["P"], [5], (1.0, 0.5))).startswith(PNG)


@pytest.mark.slow
@pytest.mark.parametrize("n_metrics", [1, 2, 3, 4, 7])
def test_every_metric_has_its_panel(n_metrics: int) -> None:
    metrics = ["P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP"][:n_metrics]
    assert shown(by_metric(metrics, [5, 10], (1.0, 0.5))) == metrics


@pytest.mark.slow
@pytest.mark.parametrize("n_metrics", [1, 2, 3, 4, 7])
def test_a_legend_that_all_panels_share_is_shown_once(n_metrics: int) -> None:
    metrics = ["P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP"][:n_metrics]
    figure = by_metric(metrics, [5, 10], (1.0, 0.5))
    in_panels = [axes.get_legend() for axes in figure.axes if axes.get_legend() is not None]
    assert len(in_panels) + len(figure.legends) == 1


def test_the_metrics_at_a_cutoff_share_a_panel() -> None:
    figure = panel_at(curves(["P", "AP"], [5, 10], (1.0, 0.5)), 10)
    _, labels = figure.axes[0].get_legend_handles_labels()
    assert labels == ["P", "AP"]


@pytest.mark.slow
def test_a_single_level_is_drawn_without_a_warning() -> None:
    figure = panel_at(curves(["P"], [5], (0.5,)), 5)
    assert as_svg(figure).startswith(b"<?xml")


class Labelled:
    """A result whose panels have an x-axis each."""

    measures = tuple(Measure(metric, 5) for metric in ("P", "Recall", "AP", "nDCG"))

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        axes = ax or Figure().subplots()
        axes.set_xlabel(f"pairs by {metric}")
        return axes


def test_the_lowest_panel_of_each_column_keeps_its_own_label() -> None:
    figure = panel_per_metric(Labelled(), ["P", "Recall", "AP", "nDCG"])
    labels = [axes.get_xlabel() for axes in figure.axes[:4]]
    assert labels == ["", "pairs by Recall", "pairs by AP", "pairs by nDCG"]


def test_levels_run_from_all_to_least() -> None:
    figure = panel_at(curves(["P"], [5], (0.5, 1.0)), 5)
    assert figure.axes[0].get_xlim() == (100.0, 50.0)
