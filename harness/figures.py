"""Figures: panels of a result on one page, as bytes that are equal between runs."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol

from analyses.measure import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_COLUMNS = 3
PANEL = (3.3, 2.7)
WIDE_PANEL = (5.4, 3.6)
RESOLUTION = 160
STYLE: Any = {
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "svg.hashsalt": "metric-robustness-harness",
    "svg.fonttype": "none",
}


class Drawable(Protocol):
    """A result that draws one panel."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What was measured."""

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw the cut-offs of one metric, or the metrics at one cut-off."""


def panel_per_metric(result: Drawable, metrics: Sequence[str]) -> Figure:
    """Draw one panel for each metric; on common scales where all have the same cut-offs."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    n_columns = min(len(metrics), N_COLUMNS)
    n_rows = ceil(len(metrics) / n_columns)
    with rc_context(STYLE):
        size = (PANEL[0] * n_columns, PANEL[1] * n_rows)
        figure = Figure(figsize=size, layout="constrained")
        alike = _have_the_same_cutoffs(result, metrics)
        grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=alike, sharey=alike)
        panels, spare = list(grid.flat[: len(metrics)]), list(grid.flat[len(metrics) :])
        for panel, metric in zip(panels, metrics, strict=True):
            result.plot(panel, metric=metric)
        if alike:
            _label_outer(panels, n_columns)
        for panel in spare:
            panel.axis("off")
        _share_legend(figure, panels, spare)
    return figure


def _have_the_same_cutoffs(result: Drawable, metrics: Sequence[str]) -> bool:
    measured = [[m.cutoff for m in result.measures if m.metric == metric] for metric in metrics]
    return all(cutoffs == measured[0] for cutoffs in measured)


def _label_outer(panels: Sequence[Axes], n_columns: int) -> None:
    """Label the first panel of each row and the last of each column."""
    labels = [panel.get_xlabel() for panel in panels]
    for panel in panels:
        panel.label_outer()
    for panel, label in list(zip(panels, labels, strict=True))[-n_columns:]:
        panel.tick_params(labelbottom=True)
        panel.set_xlabel(label)


def panel_at(result: Drawable, cutoff: int) -> Figure:
    """Draw one panel for a cut-off."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=WIDE_PANEL, layout="constrained")
        result.plot(figure.subplots(), cutoff=cutoff)
    return figure


def as_svg(figure: Figure) -> bytes:
    """Render as SVG, the same bytes every time."""
    return _render(figure, "svg", {"Date": None})


def as_png(figure: Figure) -> bytes:
    """Render as PNG."""
    return _render(figure, "png", {"Software": None})


def _render(figure: Figure, kind: str, metadata: dict[str, None]) -> bytes:
    from matplotlib import rc_context

    stream = BytesIO()
    with rc_context(STYLE):
        figure.savefig(stream, format=kind, dpi=RESOLUTION, metadata=metadata)
    return stream.getvalue()


def _share_legend(figure: Figure, panels: Sequence[Axes], spare: Sequence[Axes]) -> None:
    """Where all panels have the same legend, show it once: in a spare place, or beside them."""
    legends = [legend for panel in panels if (legend := panel.get_legend()) is not None]
    labels = {tuple(panel.get_legend_handles_labels()[1]) for panel in panels}
    if len(legends) < len(panels) or len(labels) != 1:
        return
    for legend in legends:
        legend.remove()
    handles, names = panels[0].get_legend_handles_labels()
    if spare:
        spare[0].legend(handles, names, loc="center", ncols=2, frameon=False, title="cut-off")
    else:
        figure.legend(handles, names, loc="outside right upper", frameon=False, title="cut-off")
