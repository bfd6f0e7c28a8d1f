"""The layout of figures: texts that fit, a legend and a colour bar for all panels, ticks."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any

from analyses.shared.drawing import label_curves, remove_curve_names
from runs import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

CHARACTER_WIDTH = 0.0078
"""Mean width of a character, in inches for each point of its size."""

HANDLE_WIDTH = 0.062
"""Width of a line in a legend with the space around it, likewise."""

LINE_HEIGHT = 0.021
"""Height of a line of text, likewise."""

TICK_GAP = 4.0
"""Least distance of two labels of ticks on an x-axis, in pixels."""

CELL_TEXT_WIDTH = 2.0
"""Width of a number in a cell, in units of its size."""

LEAST_TEXT_SIZE = 5.0
"""The least size of a number in a cell that is printed, in points."""

MOST_NAME_WIDTH = 0.45
"""Share of the width of a panel that the names of its rows may take."""

COLLAPSED = "constrained_layout not applied"
"""How matplotlib's warning begins that texts leave no room for axes."""

MOST_BREAKS = 4
"""Times that texts beyond the canvas are broken into more lines, each after a new layout."""

NUMBER = re.compile(r"[\d.,]+")


def font_size() -> float:
    """Look up the size of text in matplotlib's current settings, in points."""
    from matplotlib import rcParams

    return float(rcParams["font.size"])


def row_names(panel: Axes) -> list[str]:
    """List the names of the rows of a panel, from the labels of its y-axis.

    The result is empty if the axis has no fixed ticks, or numbers beside them.
    """
    from matplotlib.ticker import FixedLocator

    has_rows = isinstance(panel.yaxis.get_major_locator(), FixedLocator)
    if not has_rows:
        return []
    labels = [text.get_text() for text in panel.get_yticklabels()]
    return [label for label in labels if not NUMBER.fullmatch(label)]


def shorten_row_names(panels: Sequence[Axes], panel_width: float) -> float:
    """Leave the middle out of names of rows that would take more than `MOST_NAME_WIDTH` of a panel.

    ``panel_width`` is in inches. Names that differ stay different, and may be wider for it: the
    share of a panel's width that the longest takes is returned.
    """
    n_in_panel = _characters_in(panel_width)
    n_fitting = int(MOST_NAME_WIDTH * n_in_panel)
    longest = 0
    for panel in panels:
        if not row_names(panel):
            continue
        names = [text.get_text() for text in panel.get_yticklabels()]
        shortened = shortened_names(names, n_fitting)
        panel.set_yticks(panel.get_yticks(), shortened)
        longest = max(longest, *map(len, shortened))
    return longest / n_in_panel


def shortened_names(names: Sequence[str], n_characters: int) -> list[str]:
    """Shorten names to so many characters, or as many as they need to differ: "run-of-…-2.txt"."""
    shortened = [_without_middle(name, n_characters) for name in names]
    while len(set(shortened)) < len(set(names)):
        n_characters += 1
        shortened = [_without_middle(name, n_characters) for name in names]
    return shortened


def _without_middle(name: str, n_characters: int) -> str:
    """Leave the middle of a longer name out, so that it has so many characters: three at least."""
    n_characters = max(n_characters, 3)
    if len(name) <= n_characters:
        return name
    n_kept = n_characters - 1
    n_at_end = n_kept // 2
    n_at_start = n_kept - n_at_end
    return f"{name[:n_at_start]}…{name[-n_at_end:]}"


def label_outer(panels: Sequence[Axes], n_columns: int) -> None:
    """Label the ticks of the first panel of each row and the last of each column alone.

    Panels are in rows of ``n_columns``, of which the last may be shorter.
    """
    # Matplotlib removes labels of panels above places without a panel.
    x_labels = [panel.get_xlabel() for panel in panels]
    for panel in panels:
        panel.label_outer()
    for panel, x_label in zip(panels[-n_columns:], x_labels[-n_columns:], strict=True):
        panel.tick_params(labelbottom=True)
        panel.set_xlabel(x_label)


def fit_texts(
    figure: Figure,
    panels: Sequence[Axes],
    panel_size: tuple[float, float],
    *,
    title: str,
    has_title: bool,
) -> None:
    """Break titles and labels into lines that fit; a label that all panels have stands once.

    A single panel of a figure without a title loses its own.

    Parameters
    ----------
    figure, panels
        The figure, and its panels.
    panel_size
        Width and height of a panel, in inches.
    title
        Title of the figure, above all panels; "" for none.
    has_title
        Whether the figure, or its only panel, has a title; those of several panels name them, and
        stay.
    """
    panel_width, panel_height = panel_size
    figure_width, figure_height = figure.get_size_inches()
    n_across_figure = _characters_in(figure_width)
    n_up_figure = _characters_in(figure_height)
    if title and has_title:
        figure.suptitle(fill(title, int(0.9 * n_across_figure)))
    n_across = int(_characters_in(0.85 * panel_width))
    n_up = int(_characters_in(0.85 * panel_height))
    for panel in panels:
        panel_title = ""
        if has_title or len(panels) > 1:
            panel_title = fill(panel.get_title(), n_across)
        panel.title.set_text(panel_title)
    x_labels = [panel.get_xlabel() for panel in panels]
    y_labels = [panel.get_ylabel() for panel in panels]
    shared_x_label = _shared_label(x_labels)
    shared_y_label = _shared_label(y_labels)
    if shared_x_label:
        figure.supxlabel(fill(shared_x_label, int(0.85 * n_across_figure)))
    if shared_y_label:
        figure.supylabel(fill(shared_y_label, int(0.85 * n_up_figure)))
    for panel, x_label, y_label in zip(panels, x_labels, y_labels, strict=True):
        panel.set_xlabel("" if shared_x_label else fill(x_label, n_across))
        panel.set_ylabel("" if shared_y_label else fill(y_label, n_up))


def _characters_in(inches: float) -> float:
    """Estimate how many characters of the current size a length has room for."""
    return inches / (CHARACTER_WIDTH * font_size())


def _shared_label(labels: Sequence[str]) -> str:
    """Look up the label that all of several panels have; panels without a label do not count.

    The result is empty for one panel, without labels, or if labels differ.
    """
    different = {label for label in labels if label}
    if len(labels) == 1 or len(different) != 1:
        return ""
    return different.pop()


def share_legend(figure: Figure, panels: Sequence[Axes], width: float, title: str | None) -> int:
    """Move the legend that all panels share to the top of the figure; return its number of lines.

    The panels share it if the entries of each are the first ones of the longest legend. Else each
    keeps a legend of its own, and the result is 0; likewise where nothing is named, or the names of
    a single panel stand at its curves. ``width`` is that of the figure in inches; ``title`` stands
    above the legend.
    """
    has_names_at_curves = len(panels) == 1 and panels[0].get_legend() is None
    if has_names_at_curves:
        return 0
    had_names = [remove_curve_names(panel) for panel in panels]
    if not any(had_names):
        return 0
    legends = [panel.get_legend_handles_labels() for panel in panels]
    handles, names = max(legends, key=lambda legend: len(legend[1]))
    are_shared = all(
        names[: len(names_of_panel)] == names_of_panel for _, names_of_panel in legends
    )
    if not are_shared:
        for panel in panels:
            label_curves(panel, ordered=True)
        return 0
    longest_name = max(len(name) for name in names)
    entry_width = (HANDLE_WIDTH + CHARACTER_WIDTH * longest_name) * font_size()
    n_columns = min(len(names), max(1, int(width / entry_width)))
    order = _order_along_rows(len(names), n_columns)
    figure.legend(
        [handles[index] for index in order],
        [names[index] for index in order],
        loc="outside upper center",
        ncols=n_columns,
        frameon=False,
        title=title,
        columnspacing=1.0,
        handlelength=2.2,
    )
    n_title_lines = 0 if title is None else 1
    return ceil(len(names) / n_columns) + n_title_lines


def _order_along_rows(n_entries: int, n_columns: int) -> list[int]:
    """Order the entries of a legend so that they are read along its rows.

    Matplotlib fills the columns of a legend one after the other. The result: positions of the
    entries, from 0, in the order in which matplotlib needs them.
    """
    order: list[int] = []
    for column in range(n_columns):
        order += range(column, n_entries, n_columns)
    return order


def add_colour_bar(figure: Figure, panels: Sequence[Axes]) -> None:
    """Show what the colours of cells mean, in a colour bar for all panels; nothing without cells.

    Its label is that of the first image.
    """
    images = [panel.images[0] for panel in panels if panel.images]
    if not images:
        return
    first_image = images[0]
    bar = figure.colorbar(first_image, ax=list(panels), aspect=30, fraction=0.05, pad=0.02)
    bar.outline.set_visible(False)
    _, figure_height = figure.get_size_inches()
    n_characters = int(_characters_in(0.7 * figure_height))
    bar.set_label(fill(str(first_image.get_label()), n_characters))


def lay_out(figure: Figure) -> None:
    """Find the places of axes and texts once for all kinds of files, and fix them in the figure.

    Titles and labels that are too long are broken into lines, at most 4 times (`MOST_BREAKS`), with
    a new layout after each; labels of ticks that would overlap,
    and numbers in cells that would be too small, are hidden. Raises InputError if the texts leave
    no room for the panels.
    """
    all_axes: list[Any] = list(figure.axes)
    for axes in figure.axes:
        all_axes += axes.child_axes
    for axes in all_axes:
        # Else the number of ticks depends on settings when the figure is drawn.
        axes.tick_params(labelsize=font_size())
    _find_places(figure)
    for _ in range(MOST_BREAKS):
        has_changed = _break_long_texts(figure, all_axes)
        if not has_changed:
            break
        _find_places(figure)
    figure.set_layout_engine("none")
    for axes in all_axes:
        _thin_out(axes.xaxis, gap=TICK_GAP)
        _thin_out(axes.yaxis, gap=0.0)
        _fit_cell_texts(axes, figure.dpi)


def _fit_cell_texts(axes: Axes, dpi: float) -> None:
    """Make the numbers in the cells of an image as small as these; hide them if that is too small.

    Too small is less than 5 points (`LEAST_TEXT_SIZE`); numbers are not larger than other texts.
    All texts in the axes are taken to be such numbers. Axes without an image stay as they are.
    ``dpi`` are pixels for each inch.
    """
    cells = axes.images[0].get_array() if axes.images else None
    if cells is None:
        return
    n_rows, n_columns, *_ = cells.shape
    # In points, of which an inch has 72.
    width, height = (72 * pixels / dpi for pixels in axes.bbox.size)
    fitting_width = width / n_columns / CELL_TEXT_WIDTH
    fitting_height = height / n_rows / 1.3
    size = min(fitting_width, fitting_height, font_size())
    for text in axes.texts:
        text.set(fontsize=size, visible=size >= LEAST_TEXT_SIZE)


def _find_places(figure: Figure) -> None:
    """Let matplotlib find the places of axes; nothing if the figure has no layout engine.

    Raises InputError for a figure without room for its texts.
    """
    layout = figure.get_layout_engine()
    if layout is None:
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=COLLAPSED, category=UserWarning)
        try:
            layout.execute(figure)
        except UserWarning:
            width, height = figure.get_size_inches()
            raise InputError(
                f"a figure {width:g} inches wide and {height:g} inches high has no room for its "
                "panels beside their texts: choose a larger width or height, a smaller font size, "
                "or fewer measures."
            ) from None


def _break_long_texts(figure: Figure, all_axes: Sequence[Axes]) -> bool:
    """Break titles and labels that leave the canvas into more lines; tell whether any changed.

    ``all_axes`` are those of the figure, with axes beside them. Axes are lower than the panel that
    labels were broken for: they share it with a title.
    """
    texts = list(figure.texts)
    for axes in all_axes:
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label]
    has_changed = False
    for text in texts:
        has_changed |= _break_if_long(text, figure)
    return has_changed


def _break_if_long(text: Text, figure: Figure) -> bool:
    """Break a text that leaves the canvas of a figure into more lines; tell whether it changed.

    A text is upright (turned by 90 degrees) or level. Words are not broken. An empty or hidden text
    stays.
    """
    words = " ".join(text.get_text().split())
    if not words or not text.get_visible():
        return False
    box = text.get_window_extent()
    is_upright = text.get_rotation() == 90
    if is_upright:
        start, end = box.y0, box.y1
        canvas = figure.bbox.height
    else:
        start, end = box.x0, box.x1
        canvas = figure.bbox.width
    # Labels are centred at their axes: what is beyond one end is taken from both.
    beyond = max(-start, end - canvas)
    if beyond <= 0:
        return False
    longest_line = max(len(line) for line in text.get_text().split("\n"))
    remaining_share = max(1 - 2 * beyond / (end - start), 0.0)
    n_characters = max(int(longest_line * remaining_share), 1)
    broken = fill(words, n_characters, break_long_words=False)
    has_changed = broken != text.get_text()
    text.set_text(broken)
    return has_changed


def _thin_out(axis: Axis, *, gap: float) -> None:
    """Hide labels of ticks so that the others are evenly spaced and do not overlap.

    ``gap`` is the least distance of two labels in pixels. Every n-th label within the view stays,
    from the first, with the smallest n of which none overlap.
    """
    low, high = sorted(axis.get_view_interval())
    ticks = zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=False)
    labels = []
    for label, location in ticks:
        is_within = low <= location <= high
        if is_within and label.get_visible() and label.get_text():
            labels.append(label)
    boxes = [label.get_window_extent() for label in labels]
    step = 1
    while any(box.padded(gap).overlaps(next_box) for box, next_box in pairwise(boxes[::step])):
        step += 1
    for number, label in enumerate(labels):
        label.set_visible(number % step == 0)
