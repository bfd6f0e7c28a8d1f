"""The critical-difference diagram: mean ranks on an axis, names beside it, bars over cliques."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from analyses.intervals.data_sets import DataSetRanks
from analyses.shared.drawing import colours, explain
from analyses.shared.figure_formats import POINTS_PER_INCH, RESOLUTION
from analyses.shared.figure_layout import font_size
from analyses.shared.figure_options import COLUMN_WIDTHS, STYLE, FigureOptions
from analyses.shared.sentences import letter_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

LINE = 1.3
"""Height of a line of text, as a share of its size."""

TITLE_LINE = -4.6
DIFFERENCE_LABEL_LINE = -3.0
DIFFERENCE_LINE = -2.2
TICK_LABEL_LINE = -0.9
"""Where title, critical difference and numbers stand above the axis, in lines of text."""

TICK = 0.3
"""Length of a tick, in lines of text."""

FIRST_BAR = 0.7
BARS_APART = 0.45
"""Where the first bar over a clique is below the axis, and how far apart bars are, in lines."""

SPACE = 4.0
"""Space between names and the axis, in points."""

LEAST_AXIS_SHARE = 0.4
"""Names that leave the axis a smaller share of the width are set in smaller letters."""

SMALLEST_SIZE = 4.0
"""The smallest size of names, in points."""

MOST_TICKS = 8
TICK_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Numbers at the axis, at most, and how far apart they may be."""


def draw_diagrams(rankings: Sequence[DataSetRanks], nouns: str) -> Figure:
    """Draw a critical-difference diagram for each ranking, one below the other, a column wide.

    The best mean rank is on the left. The names of the better half stand on the left, the best on
    top, those of the others on the right, the worst on top. Bars join names of which no two differ
    significantly; there are none if it would take more than 12. ``nouns`` says what is ranked:
    "systems" or "measures". There must be a ranking.

    Demšar (2006), Statistical comparisons of classifiers over multiple data sets.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width = COLUMN_WIDTHS["single"]
    with FigureOptions().style_context(STYLE):
        figure = Figure(figsize=(width, 1.0), dpi=RESOLUTION)
        FigureCanvasAgg(figure)
        line_height = LINE * font_size() / POINTS_PER_INCH
        levels = [_bars_by_level(ranks) for ranks in rankings]
        n_lines = [_n_lines(ranks, bars) for ranks, bars in zip(rankings, levels, strict=True)]
        figure.set_size_inches(width, line_height * sum(n_lines))
        top = 1.0
        for ranks, bars, lines in zip(rankings, levels, n_lines, strict=True):
            height = lines / sum(n_lines)
            top -= height
            ax = figure.add_axes((0.0, top, 1.0, height))
            # One unit is a line of text, down from the axis of ranks.
            ax.set_ylim(TITLE_LINE - 1 + lines, TITLE_LINE - 1)
            ax.axis("off")
            _draw_names(ax, ranks, first_line=_first_name_line(bars))
            _draw_axis(ax, ranks)
            _draw_bars(ax, bars, nouns)
    return figure


def _bars_by_level(ranks: DataSetRanks) -> list[list[tuple[float, float]]]:
    """Choose bars over cliques, from the lowest to the highest mean rank, level by level.

    A clique is a largest group of names of which no two differ; one name alone has no bar. Bars of
    one level do not touch.
    """
    bars = []
    for group in letter_groups(ranks.differs):
        if len(group) > 1:
            mean_ranks = ranks.mean_ranks[group]
            bars.append((float(mean_ranks.min()), float(mean_ranks.max())))
    levels: list[list[tuple[float, float]]] = []
    for start, end in sorted(bars):
        # Bars are sorted by their starts: the last of a level ends farthest right.
        free = [level for level in levels if level[-1][1] < start]
        if free:
            free[0].append((start, end))
        else:
            levels.append([(start, end)])
    return levels


def _first_name_line(bars: Sequence[Sequence[tuple[float, float]]]) -> float:
    """Compute the line of the first names: below the last of the bars, by level."""
    return FIRST_BAR + BARS_APART * len(bars) + 0.8


def _n_lines(ranks: DataSetRanks, bars: Sequence[Sequence[tuple[float, float]]]) -> float:
    """Count the lines of text that a diagram takes, with the space around it."""
    n_rows = (len(ranks.names) + 1) // 2
    return 1 - TITLE_LINE + _first_name_line(bars) + n_rows


def _draw_axis(ax: Axes, ranks: DataSetRanks) -> None:
    """Draw the axis of ranks with its numbers, the title and the critical difference above it."""
    n_names = len(ranks.names)
    ax.plot([1, n_names], [0, 0], color="black", linewidth=1.0)
    for number in _tick_numbers(n_names):
        ax.plot([number, number], [0, -TICK], color="black", linewidth=0.8)
        ax.text(number, TICK_LABEL_LINE, str(number), ha="center", va="center")
    middle = (1 + n_names) / 2
    ax.text(middle, TITLE_LINE, f"{ranks.label}: mean rank", ha="center", va="center")
    reach = ranks.critical_difference
    ax.plot([1, 1 + reach], [DIFFERENCE_LINE] * 2, "|-", color="0.4", linewidth=1.0)
    ax.text(1, DIFFERENCE_LABEL_LINE, f"CD = {reach:.2f}", ha="left", va="center")


def _tick_numbers(n_names: int) -> list[int]:
    """Choose whole ranks for the axis: the first, the last, and round ones far enough from both.

    They are about 8 (`MOST_TICKS`) at most.
    """
    step = next(step for step in TICK_STEPS if n_names / step <= MOST_TICKS)
    between = range(step, n_names, step)
    return [
        1,
        *(number for number in between if number - 1 > step / 2 and n_names - number > step / 2),
        n_names,
    ]


def _draw_names(ax: Axes, ranks: DataSetRanks, *, first_line: float) -> None:
    """Write the names on both sides, each with a line to its mean rank on the axis.

    Sets the limits of ``ax`` so that all names are within it; long ones are written smaller.
    ``first_line`` is where the upper names stand, in lines of text below the axis.
    """
    n_names = len(ranks.names)
    order = np.argsort(ranks.mean_ranks, kind="stable")
    n_left = (n_names + 1) // 2
    texts: dict[str, list[Text]] = {"right": [], "left": []}
    for position, name_number in enumerate(order):
        is_left = position < n_left
        # The best and the worst are on top, so that no two lines cross.
        row = position if is_left else n_names - 1 - position
        side = 1 if is_left else n_names
        line = first_line + row
        rank = ranks.mean_ranks[name_number]
        ax.plot([rank, rank, side], [0, line, line], color="0.5", linewidth=0.6, zorder=1)
        alignment = "right" if is_left else "left"
        text = ax.annotate(
            ranks.names[name_number],
            (side, line),
            xytext=(-SPACE if is_left else SPACE, 0),
            textcoords="offset points",
            ha=alignment,
            va="center",
            annotation_clip=False,
        )
        texts[alignment].append(text)
    ax.plot(ranks.mean_ranks, np.zeros(n_names), "o", color=colours()[0], markersize=2.5)
    _fit_names(ax, texts["right"], texts["left"], n_names=n_names)


def _fit_names(
    ax: Axes, left_texts: Sequence[Text], right_texts: Sequence[Text], *, n_names: int
) -> None:
    """Set the limits of the ranks so that the names on both sides are within the figure.

    Makes names smaller, down to 4 points (`SMALLEST_SIZE`), if they leave the axis less than 40 %
    of the width (`LEAST_AXIS_SHARE`).
    """
    width = COLUMN_WIDTHS["single"] * POINTS_PER_INCH
    texts = [*left_texts, *right_texts]
    left, right = _widest(left_texts), _widest(right_texts)
    most_points = (1 - LEAST_AXIS_SHARE) * width - 4 * SPACE
    if left + right > most_points:
        factor = max(most_points / (left + right), SMALLEST_SIZE / font_size())
        for text in texts:
            text.set_fontsize(factor * font_size())
        left, right = _widest(left_texts), _widest(right_texts)
    axis_points = max(width - left - right - 4 * SPACE, SPACE)
    ranks_per_point = max(n_names - 1, 1) / axis_points
    lowest = 1 - (left + 2 * SPACE) * ranks_per_point
    highest = max(n_names, 2) + (right + 2 * SPACE) * ranks_per_point
    ax.set_xlim(lowest, highest)


def _widest(texts: Sequence[Text]) -> float:
    """Measure the widest of some texts in points; 0 without any."""
    widths = [text.get_window_extent().width for text in texts]
    return max(widths, default=0.0) * POINTS_PER_INCH / RESOLUTION


def _draw_bars(ax: Axes, bars: Sequence[Sequence[tuple[float, float]]], nouns: str) -> None:
    """Draw bars over cliques below the axis, level by level, each from a rank to a rank."""
    explanation = f"Bars connect {nouns} that do not differ significantly."
    for number, level in enumerate(bars):
        y = FIRST_BAR + BARS_APART * number
        for start, end in level:
            (bar,) = ax.plot([start, end], [y, y], color="black", linewidth=2.2)
            bar.set_solid_capstyle("round")
            explain(bar, explanation)
