"""Figures: panels of a result on one page, as bytes that are equal between runs."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = (3.3, 2.7)
WIDE_PANEL = (5.4, 3.6)
RESOLUTION = 160
STYLE = {
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "svg.hashsalt": "metric-robustness-harness",
    "svg.fonttype": "none",
}


class Drawable(Protocol):
    """A result that draws one panel."""

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw the cut-offs of one metric, or the metrics at one cut-off."""


def panel_per_metric(result: Drawable, metrics: Sequence[str]) -> Figure:
    """Draw one panel for each metric."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    n_columns = min(len(metrics), 3)
    n_rows = ceil(len(metrics) / n_columns)
    with rc_context(STYLE):
        size = (PANEL[0] * n_columns, PANEL[1] * n_rows)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        for panel, metric in zip(panels, metrics, strict=False):
            result.plot(panel, metric=metric)
        for panel in panels[len(metrics) :]:
            panel.remove()
        _share_legend(figure, panels[: len(metrics)])
    return figure


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


def _share_legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """Where all panels have one legend, show it once, beside them."""
    legends = [panel.get_legend() for panel in panels]
    labels = {tuple(panel.get_legend_handles_labels()[1]) for panel in panels}
    if None in legends or len(labels) != 1:
        return
    for legend in legends:
        if legend is not None:
            legend.remove()
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", frameon=False, title="cut-off")
