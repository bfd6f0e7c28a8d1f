"""Figures: panels of a result on one page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

from analyses.shared.drawing import (
    MOST_WITH_BANDS,
    count_named_curves,
    crowded_spreads,
    explanations,
    highlight_curve,
)
from analyses.shared.figure_formats import POINTS_PER_INCH, RESOLUTION
from analyses.shared.figure_layout import (
    LINE_HEIGHT,
    add_colour_bar,
    fit_texts,
    font_size,
    label_outer,
    lay_out,
    row_names,
    share_legend,
    shorten_row_names,
)
from analyses.shared.figure_options import COLUMN_WIDTHS, STYLE, FigureOptions
from analyses.shared.result import METRIC, FigureDeclaration, Result, measures_of
from runs import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_WIDTH = 1.6
WIDE_PANEL_WIDTH = 2.2
"""Least widths of a panel among others, in inches."""

RATIO = 0.78
"""Height of a panel as a share of its width."""

LEAST_HEIGHT = 1.3
MOST_HEIGHT = 2.8
"""Least and largest height of a panel by default, in inches."""

LEAST_PLOT_HEIGHT = 0.7
"""Least height of axes without rows, in inches."""

SECOND_AXIS_LINES = 3
"""Lines of text that a second axis above takes."""

ROW_HEIGHT = 0.018
"""Height of a row with a name, in inches for each point of its size."""

NO_OPTIONS = FigureOptions()
"""Options of figures, of which none is set."""


def draw_figure(
    result: Result,
    declaration: FigureDeclaration,
    options: FigureOptions = NO_OPTIONS,
    *,
    usual: FigureOptions = NO_OPTIONS,
    chosen: Mapping[str, Any] | None = None,
) -> Figure:
    """Draw a figure of a result: one panel, or panels of equal size on a grid.

    Curves have a panel each, with the others in grey, if their bands are asked for (the option
    ``bands``) and would cover each other. The label of the figure is its caption: what the result
    is, and what all marks that are drawn are.

    Parameters
    ----------
    result
        The result.
    declaration
        Which of its figures is drawn.
    options
        What is shown, and how it looks.
    usual
        Options of all figures, for what is not set in ``options``. What they select (measures,
        cut-offs, systems) is left out if ``options`` select something; and with their height, if
        the figure cannot have it.
    chosen
        Keywords of the method that draws a panel; that of the panels chooses one.

    Raises
    ------
    InputError
        If the figure cannot vary what is asked for.
    """
    chosen = chosen or {}
    selection = {"measures", "cutoffs", "systems"}
    nothing_selected = dict.fromkeys(selection, ())
    # Without what they select, and without the height.
    look_alone = usual.model_copy(update={**nothing_selected, "height": None})
    if selection & options.set_options.keys():
        usual = usual.model_copy(update=nothing_selected)
    if (selection | {"height"}) & usual.set_options.keys():
        try:
            return _draw(result, declaration, options.with_defaults(usual), chosen)
        except InputError:
            # What all figures are to show, and their height, do not fit this one.
            usual = look_alone
    return _draw(result, declaration, options.with_defaults(usual), chosen)


def _draw(
    result: Result,
    declaration: FigureDeclaration,
    options: FigureOptions,
    chosen: Mapping[str, Any],
) -> Figure:
    """Draw a figure of a result, with the measures of the options alone, and label it.

    ``chosen`` are keywords of the method that draws. The label is the caption. Raises InputError if
    the figure does not have what is chosen.
    """
    selected = options.select_measures(result, figure=declaration.short)
    figure = _draw_selected(selected, declaration, options, chosen)
    figure.set_label(figure_caption(figure, declaration, selected))
    return figure


def figure_caption(figure: Figure, declaration: FigureDeclaration, result: Result) -> str:
    """Describe a figure of a result: what it is of, and what the marks are that are drawn."""
    return " ".join([declaration.caption(result), *explanations(figure)])


def _draw_selected(
    result: Result,
    declaration: FigureDeclaration,
    options: FigureOptions,
    chosen: Mapping[str, Any],
) -> Figure:
    """Draw one panel, or a panel for each value of the keyword of the panels.

    The result reports the measures to be shown alone; ``chosen`` are keywords of the method that
    draws. Panels of metrics share their scales only if their cut-offs are the same.
    """

    def draw(panel: Mapping[str, str], ax: Axes) -> Axes:
        """Draw the panel of a keyword's value, ``{"metric": "nDCG"}``, or of none, on axes."""
        axes = declaration.draw(result, ax, **{**chosen, **panel})
        systems = getattr(result, "systems", ())
        options.apply_to(axes, figure=declaration.short, systems=systems)
        return axes

    keyword = declaration.panels
    if keyword is None or keyword in chosen:
        return _draw_one_panel(partial(draw, {}), options)
    names = declaration.panels_of(result)
    share_scales = declaration.comparable
    legend_title = None
    if keyword == METRIC:
        curves = [measures_of(result).curve(name).cutoffs for name in names]
        share_scales = share_scales and all(curve == curves[0] for curve in curves)
        legend_title = "cut-off" if declaration.comparable else None
    return draw_panels(
        {name: partial(draw, {keyword: name}) for name in names},
        options,
        wide=declaration.wide,
        share_scales=share_scales,
        legend_title=legend_title,
    )


def _draw_one_panel(draw: Callable[[Axes], Axes], options: FigureOptions) -> Figure:
    """Draw one panel; but if the options ask for the bands of many curves, a panel for each curve.

    ``draw`` draws the panel on axes, and returns them. In the panel of a curve, the others are
    grey.
    """
    figure = draw_panels({"": draw}, options)
    (panel, *_) = figure.axes
    names = crowded_spreads(panel)
    if not names or not options.bands:
        return figure
    draws = {name: partial(_draw_highlighted, draw, name) for name in names}
    return draw_panels(draws, options, title=panel.get_title())


def has_faint_bands(figure: Figure) -> bool:
    """Tell whether a figure is one panel with the bands of so many curves that they are faint."""
    return len(figure.axes) == 1 and bool(crowded_spreads(figure.axes[0]))


def _draw_highlighted(draw: Callable[[Axes], Axes], name: str, ax: Axes) -> Axes:
    """Draw a panel, and show the curve of a name before all others."""
    highlight_curve(draw(ax), name)
    return ax


MOST_OF_PANEL = 0.6
"""Share of the width of a panel above which names of its rows need fewer columns of panels."""


def draw_panels(
    draws: Mapping[str, Callable[[Axes], Axes]],
    options: FigureOptions = NO_OPTIONS,
    *,
    most_columns: int | None = None,
    wide: bool = False,
    share_scales: bool = True,
    title: str = "",
    legend_title: str | None = None,
) -> Figure:
    """Draw panels of equal size on a grid.

    What all panels say stands once: labels of the axes, a legend above, and a colour bar.

    Parameters
    ----------
    draws
        By the name of a panel: what draws it on axes.
    options
        Size and look.
    most_columns
        Largest number of columns; by default as many as fit.
    wide
        Whether panels are wide, for long names or many cells.
    share_scales
        Whether all panels have the same scales.
    title
        Title above all panels.
    legend_title
        Title of the legend.

    Raises
    ------
    InputError
        If the texts leave no room for the panels.
    """
    n_panels = len(draws)
    grid_width = options.width or COLUMN_WIDTHS["double"]
    n_rows, n_columns = _grid_shape(n_panels, grid_width, most_columns=most_columns, wide=wide)
    with options.style_context(STYLE):
        figure, panels = _make_panels(n_panels, (n_rows, n_columns), share_scales=share_scales)
        for panel, draw in zip(panels, draws.values(), strict=True):
            draw(panel)
        width = options.width or _usual_width(panels)
        default_height = min(max(RATIO * width / n_columns, LEAST_HEIGHT), MOST_HEIGHT)
        height = options.height or n_rows * default_height
        panel_height = height / n_rows
        figure.set_size_inches(width, height)
        name_share = shorten_row_names(panels, width / n_columns)
        if name_share > MOST_OF_PANEL and n_columns > 1:
            return draw_panels(
                draws,
                options,
                most_columns=n_columns - 1,
                wide=wide,
                share_scales=share_scales,
                title=title,
                legend_title=legend_title,
            )
        n_legend_lines = share_legend(figure, panels, width, legend_title)
        names_of_rows = [row_names(panel) for panel in panels]
        if share_scales:
            label_outer(panels, n_columns)
        else:
            _share_row_names(panels, names_of_rows, n_columns)
        has_title = options.title is not False
        panel_size = (width / n_columns, panel_height)
        fit_texts(figure, panels, panel_size, title=title, has_title=has_title)
        if options.height is None:
            height = n_rows * _height_with_texts(panels, names_of_rows, panel_height)
            height += n_legend_lines * LINE_HEIGHT * font_size()
            figure.set_size_inches(width, height)
        add_colour_bar(figure, panels)
        lay_out(figure)
    return figure


def _make_panels(
    n_panels: int, grid_shape: tuple[int, int], *, share_scales: bool
) -> tuple[Figure, list[Axes]]:
    """Make a figure with empty panels on a grid of so many rows and columns, row by row.

    With ``share_scales`` all panels have the same scales.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n_rows, n_columns = grid_shape
    figure = Figure(layout="constrained", dpi=RESOLUTION)
    FigureCanvasAgg(figure)  # Without it, a renderer is made for each text that is measured.
    grid = figure.subplots(
        n_rows, n_columns, squeeze=False, sharex=share_scales, sharey=share_scales
    )
    for unused_panel in grid.flat[n_panels:]:
        unused_panel.remove()
    return figure, list(grid.flat[:n_panels])


def _usual_width(panels: Sequence[Axes]) -> float:
    """Choose the width of a figure, in inches: both columns, or one if it has little to show.

    That is a single panel with at most 2 named curves.
    """
    is_small = len(panels) == 1 and count_named_curves(panels[0]) <= MOST_WITH_BANDS
    return COLUMN_WIDTHS["single" if is_small else "double"]


def _grid_shape(
    n_panels: int, width: float, *, most_columns: int | None, wide: bool
) -> tuple[int, int]:
    """Choose the numbers of rows and columns of panels in a figure of a width, in inches.

    There are as many columns as fit, or at most ``most_columns`` if that is given, but two at least
    for more than three panels; rows are then filled evenly. Panels have a least width, which is
    larger if they are ``wide``.
    """
    panel_width = WIDE_PANEL_WIDTH if wide else PANEL_WIDTH
    least_columns = 2 if n_panels > 3 else 1
    n_fitting = most_columns or max(int(width / panel_width), least_columns)
    n_rows = ceil(n_panels / min(n_panels, n_fitting))
    n_columns = ceil(n_panels / n_rows)
    return n_rows, n_columns


def _share_row_names(
    panels: Sequence[Axes], names_of_rows: Sequence[list[str]], n_columns: int
) -> None:
    """Print the names of rows beside the first column of panels alone, if all have the same.

    Panels are in rows of ``n_columns``. ``names_of_rows`` has the names of the rows of each panel,
    which may be none. Else every panel keeps its names.
    """
    names_in_first = names_of_rows[0]
    are_shared = all(names == names_in_first for names in names_of_rows)
    if names_in_first and are_shared:
        for number, panel in enumerate(panels):
            is_first_in_row = number % n_columns == 0
            panel.tick_params(labelleft=is_first_in_row)


def _height_with_texts(
    panels: Sequence[Axes], names_of_rows: Sequence[list[str]], usual_height: float
) -> float:
    """Compute the height in inches at which panels have room for their rows, names and texts.

    It is at least ``usual_height``; for panels with names of rows and without cells (images), at
    least 1.3 inches (`LEAST_HEIGHT`). ``names_of_rows`` has the names of the rows of each panel,
    which may be none.
    """
    from analyses.shared.end_labels import LINE_HEIGHT as NAME_HEIGHT

    n_rows = max(len(names) for names in names_of_rows)
    rows_height = n_rows * ROW_HEIGHT * font_size() if n_rows else LEAST_PLOT_HEIGHT
    n_names_at_ends = max(_count_names_at_ends(panel) for panel in panels)
    names_height = n_names_at_ends * NAME_HEIGHT * font_size() / POINTS_PER_INCH
    plot_height = max(rows_height, names_height)
    texts = [f"{panel.get_title()}\n{panel.get_xlabel()}" for panel in panels]
    # Four lines for ticks and space, and those of title and label.
    n_lines = 4 + max(text.count("\n") for text in texts)
    if any(panel.child_axes for panel in panels):
        n_lines += SECOND_AXIS_LINES
    needed_height = plot_height + n_lines * LINE_HEIGHT * font_size()
    has_rows_without_cells = bool(names_of_rows[0]) and not panels[0].images
    least_height = LEAST_HEIGHT if has_rows_without_cells else usual_height
    return max(least_height, needed_height)


def _count_names_at_ends(panel: Axes) -> int:
    """Count the names that stand where curves end, one below the other."""
    from analyses.shared.end_labels import EndLabels

    return sum(len(artist.names) for artist in panel.artists if isinstance(artist, EndLabels))
