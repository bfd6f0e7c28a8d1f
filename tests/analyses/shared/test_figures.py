import re
from collections.abc import Callable
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.pyplot import subplots

from analyses.popularity import Popularity, Removal
from analyses.shared.drawing import SPREAD, draw_band, explain, label_curves
from analyses.shared.end_labels import EndLabels
from analyses.shared.families import Families, SubsetValues
from analyses.shared.figure_formats import (
    WRITERS,
    as_svg,
    figure_writer,
    values_of,
    write_texts_for_latex,
)
from analyses.shared.figure_options import FigureOptions
from analyses.shared.figures import draw_figure, draw_panels
from analyses.shared.log_numbers import write_plain_numbers
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, figures_of
from runs import InputError


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
            within=SubsetValues(3, np.empty((len(measures), 0))),
            contested=None,
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
def test_a_curve_without_points_can_be_drawn() -> None:
    figure = Figure()
    figure.add_subplot().plot([], [], marker="o", label="empty")
    assert as_svg(figure).startswith(b"<?xml")


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


FORMULAS = (r"$\frac{$", "$x_2$", r"a\_$5")
"""Names from data, of which the first is no formula that can be parsed."""


class Named(Result):
    """A result whose names stand wherever a figure has text."""

    names = FORMULAS

    def caption(self) -> str:
        return "Names."

    @figure("names", "Names", panels="name", wide=True)
    def plot_names(self, ax: Axes, *, name: str) -> Axes:
        for place, label in enumerate(FORMULAS):
            ax.plot([1, 2, 300], [place, place + 1, place], label=label)
        label_curves(ax)
        ax.set_xscale("log")
        ax.set_yticks(range(3), FORMULAS)
        ax.set(title=name, xlabel=name, ylabel=name)
        ax.annotate(name, (1, 1))
        return ax


def texts_of(svg: bytes) -> list[str]:
    return [unescape(text) for text in re.findall(r">([^<>]+)</text>", svg.decode())]


@pytest.mark.slow
def test_names_from_data_are_not_parsed_as_formulas() -> None:
    (face,) = figures_of(Named)
    texts = texts_of(as_svg(draw_figure(Named(), face)))
    assert {*FORMULAS, "100"} <= {*texts}


@pytest.mark.slow
def test_no_style_has_text_set_by_latex(tmp_path: Path) -> None:
    style = tmp_path / "latex.mplstyle"
    style.write_text("text.usetex: True\n")
    (face,) = figures_of(Named)
    drawn = draw_figure(Named(), face, FigureOptions(style=str(style)))
    assert {*FORMULAS} <= {*texts_of(as_svg(drawn))}


@pytest.mark.slow
def test_names_in_a_figure_of_a_notebook_are_not_parsed_and_a_readers_formula_is() -> None:
    ax = Named().plot_names(name=FORMULAS[0])
    figure = ax.get_figure(root=True)
    assert figure is not None
    texts = texts_of(as_svg(figure))
    assert {*FORMULAS} <= {*texts}
    later = Named().plot_names(name="usual")
    later.set_xlabel(r"$\tau$")
    figure = later.get_figure(root=True)
    assert figure is not None
    assert r"$\tau$" not in texts_of(as_svg(figure))


def test_powers_beside_a_logarithmic_axis_are_plain_numbers() -> None:
    _, ax = subplots()
    ax.set(xscale="log", yscale="log", xlim=(1e-6, 1e6), ylim=(2, 8))
    write_plain_numbers(ax)
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert {"1e-06", "1", "10000"} <= {*labels}
    minor = [text.get_text() for text in ax.get_yticklabels(minor=True)]
    assert {"2", "3", "4", "6"} <= {*minor}
    assert not any("$" in label for label in (*labels, *minor))


class Commands(Result):
    """A result whose names would be commands of LaTeX."""

    def caption(self) -> str:
        return "Commands."

    @figure("commands", "Commands")
    def plot_commands(self, ax: Axes) -> Axes:
        command = "\\input{x}%"
        ax.plot([0, 1], [0, 1], label=command)
        label_curves(ax)
        ax.set_yticks([0, 1], [command, "a_b"])
        ax.set(title=command, xlabel=command, ylabel=command)
        ax.annotate(command, (0, 0))
        return ax


@pytest.mark.slow
def test_names_are_no_commands_in_files_whose_text_latex_sets() -> None:
    (face,) = figures_of(Commands)
    drawn = draw_figure(Commands(), face)
    write_texts_for_latex(drawn)
    texts = {*texts_of(as_svg(drawn))}
    assert {r"\textbackslash{}input\{x\}\%", r"a\_b"} <= texts
    assert not any("\\input" in text for text in texts)


# Sizes, in inches


@pytest.fixture
def without_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave axes where they are: finding places is most of what drawing costs."""
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda *_: None)


def drawn(
    n_panels: int,
    draw: Callable[[Axes], object] = lambda ax: ax,
    *,
    options: FigureOptions | None = None,
    **facts: Any,
) -> Figure:
    """Draw so many panels that are alike."""

    def panel(ax: Axes) -> Axes:
        draw(ax)
        return ax

    panels = {f"panel {number}": panel for number in range(n_panels)}
    return draw_panels(panels, options or FigureOptions(), **facts)


def size_of(figure: Figure) -> Any:
    return pytest.approx(tuple(figure.get_size_inches().tolist()), rel=1e-9)


def grid_of(figure: Figure) -> tuple[int, int]:
    """Rows and columns of the panels."""
    specification = figure.axes[0].get_subplotspec()
    assert specification is not None
    n_rows, n_columns = specification.get_gridspec().get_geometry()
    return n_rows, n_columns


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
@pytest.mark.parametrize(
    ("n_panels", "width", "roomy", "grid", "size"),
    [
        (1, None, False, (1, 1), (3.33, 0.78 * 3.33)),
        (1, 7.0, False, (1, 1), (7, 2.8)),
        (1, 1.0, False, (1, 1), (1, 0.7 + 5 * 0.021 * 8)),
        (1, 1.75, False, (1, 1), (1.75, 0.7 + 5 * 0.021 * 8)),
        (2, None, False, (1, 2), (7, 0.78 * 3.5)),
        (3, None, False, (1, 3), (7, 0.78 * 7 / 3)),
        (4, None, False, (1, 4), (7, 0.7 + 5 * 0.021 * 8)),
        (4, 8.0, False, (1, 4), (8, 0.78 * 2)),
        (5, None, False, (2, 3), (7, 2 * 0.78 * 7 / 3)),
        (5, 8.0, False, (1, 5), (8, 0.7 + 5 * 0.021 * 8)),
        (4, None, True, (2, 2), (7, 2 * 0.78 * 3.5)),
        (3, 6.63, True, (1, 3), (6.63, 0.78 * 2.21)),
        (3, 6.59, True, (2, 2), (6.59, 2 * 0.78 * 6.59 / 2)),
        (3, 1.5, False, (3, 1), (1.5, 3 * (0.7 + 5 * 0.021 * 8))),
        (4, 1.5, False, (2, 2), (1.5, 2 * (0.7 + 5 * 0.021 * 8))),
    ],
)
def test_panels_are_as_wide_as_fits_and_three_quarters_as_high(
    n_panels: int,
    width: float | None,
    roomy: bool,
    grid: tuple[int, int],
    size: tuple[float, float],
) -> None:
    """Panels are 1.6 inches wide at least, roomy ones 2.2; their heights .78 of that, up to 2.8.

    Axes are .7 high at least, beside 5 lines of text of .021 inches for each of its 8 points.
    """
    options = FigureOptions() if width is None else FigureOptions(width=width)
    figure = drawn(n_panels, options=options, wide=roomy)
    assert len(figure.axes) == n_panels
    assert grid_of(figure) == grid
    assert size == size_of(figure)


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
def test_a_reader_may_choose_height_and_columns() -> None:
    chosen = drawn(2, options=FigureOptions(height=1.0))
    assert size_of(chosen) == (7, 1)
    in_a_column = drawn(2, most_columns=1)
    assert grid_of(in_a_column) == (2, 1)
    assert size_of(in_a_column) == (7, 5.6)


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
@pytest.mark.parametrize(
    ("n_rows", "has_image", "height"),
    [(2, False, 1.3), (20, False, 20 * 0.018 * 8 + 0.84), (4, True, 2.8), (0, False, 2.8)],
)
def test_rows_with_names_make_a_figure_as_high_as_they_need(
    n_rows: int, has_image: bool, height: float
) -> None:
    """Each takes .018 inches for each of 8 points; few rows have 1.3 inches, cells the usual."""

    def draw(ax: Axes) -> None:
        if has_image:
            ax.imshow(np.zeros((n_rows, 1)), aspect="auto")
        if n_rows:
            ax.set_yticks(range(n_rows), [f"row {number}" for number in range(n_rows)])

    figure = drawn(1, draw, options=FigureOptions(width=7.0))
    assert figure.get_size_inches()[1] == pytest.approx(height)


@pytest.mark.usefixtures("without_places")
def test_numbers_at_fixed_places_are_no_names_of_rows() -> None:
    figure = drawn(1, lambda ax: ax.set_yticks(range(20), [f"{n:,}.5" for n in range(20)]))
    assert figure.get_size_inches()[1] == pytest.approx(0.78 * 3.33)


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
def test_a_second_axis_and_broken_titles_take_lines() -> None:
    """Beside .7 inches: 5 lines, 3 for an axis above, and one for each break in a title."""
    line = 0.021 * 8
    options = FigureOptions(width=1.75)

    def second_axis(ax: Axes) -> None:
        ax.secondary_xaxis("top")

    assert size_of(drawn(1, second_axis, options=options)) == (1.75, 0.7 + 8 * line)
    # A panel of 1.75 inches has titles of .85 x 1.75 / (.0078 x 8) = 23.8 characters.
    for n_characters, n_breaks in ((23, 0), (24, 1)):
        title = "a" * (n_characters - 2) + " b"

        def titled(ax: Axes, title: str = title) -> None:
            ax.set_title(title)

        figure = drawn(1, titled, options=options)
        assert figure.axes[0].get_title().count("\n") == n_breaks
        assert size_of(figure) == (1.75, 0.7 + (5 + n_breaks) * line)


# Texts


@pytest.mark.usefixtures("without_places")
def test_labels_are_broken_into_lines_that_fit() -> None:
    """Across, 7 inches have .85 x 7 / .0624 = 95 characters; up, 2.8 inches have 38."""
    words = " ".join(["abcd"] * 20)

    def labelled(ax: Axes) -> None:
        ax.set(xlabel=words, ylabel=words)

    (ax,) = drawn(1, labelled, options=FigureOptions(width=7.0)).axes
    assert [*map(len, ax.get_xlabel().split("\n"))] == [94, 4]
    assert [*map(len, ax.get_ylabel().split("\n"))] == [34, 34, 29]


@pytest.mark.usefixtures("without_places")
@pytest.mark.parametrize(("n_characters", "n_lines"), [(100, 1), (101, 2)])
def test_the_title_of_a_figure_has_nine_tenths_of_its_width(
    n_characters: int, n_lines: int
) -> None:
    """Of 7 inches, .9 x 7 / .0624 = 100.96 characters."""
    title = "a" * (n_characters - 2) + " b"
    figure = drawn(1, options=FigureOptions(width=7.0), title=title)
    assert len(figure.get_suptitle().split("\n")) == n_lines


@pytest.mark.usefixtures("without_places")
def test_what_all_panels_say_stands_once() -> None:
    """The label of two panels of 3.5 inches has the room of 7: .85² x 7 / .0624."""

    def labelled(ax: Axes) -> None:
        ax.set(xlabel="shared", ylabel=" ".join(["abcd"] * 20), title="title")

    figure = drawn(2, labelled)
    assert figure.get_supxlabel() == "shared"
    # Of .78 x 3.5 = 2.73 inches, .85 are 37 characters for a panel's own, and as many for all.
    assert [*map(len, figure.get_supylabel().split("\n"))] == [34, 34, 29]
    for ax in figure.axes:
        assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("", "", "title")


@pytest.mark.usefixtures("without_places")
def test_labels_that_differ_stay_at_their_panels() -> None:
    names = iter("ab")
    figure = drawn(2, lambda ax: ax.set_xlabel(next(names)), share_scales=False)
    assert [ax.get_xlabel() for ax in figure.axes] == ["a", "b"]
    assert figure.get_supxlabel() == ""
    (alone,) = drawn(1, lambda ax: ax.set_xlabel("a")).axes
    assert alone.get_xlabel() == "a"


@pytest.mark.usefixtures("without_places")
@pytest.mark.parametrize(
    ("n_panels", "title", "titles", "above"),
    [
        (1, None, ["t"], "all"),
        (1, True, ["t"], "all"),
        (1, False, [""], ""),
        (2, False, ["t", "t"], ""),
    ],
)
def test_a_single_panel_may_have_no_title(
    n_panels: int, title: bool | None, titles: list[str], above: str
) -> None:
    options = FigureOptions(title=title)
    figure = drawn(n_panels, lambda ax: ax.set_title("t"), options=options, title="all")
    assert [ax.get_title() for ax in figure.axes] == titles
    assert figure.get_suptitle() == above


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
def test_panels_that_are_alike_are_labelled_outside() -> None:
    """Numbers stand left of each row, and below the last panel of each column."""

    def ticks(figure: Figure) -> list[tuple[bool, bool]]:
        return [
            (
                any(label.get_visible() for label in ax.get_yticklabels()),
                any(label.get_visible() for label in ax.get_xticklabels()),
            )
            for ax in figure.axes
        ]

    def draw(ax: Axes) -> None:
        ax.plot([0, 1], [0, 1])

    assert ticks(drawn(5, draw)) == [
        *((True, False), (False, False), (False, True)),
        *((True, True), (False, True)),
    ]
    assert ticks(drawn(2, draw, share_scales=False)) == [(True, True)] * 2


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
@pytest.mark.parametrize("alike", [False, True])
def test_panels_that_are_alike_share_their_scales(alike: bool) -> None:
    highest = iter([1, 2])
    figure = drawn(2, lambda ax: ax.plot([0, 1], [0, next(highest)]), share_scales=alike)
    first, second = (ax.get_ylim()[1] for ax in figure.axes)
    assert (first == second) == alike
    assert second > 2


@pytest.mark.usefixtures("without_places")
@pytest.mark.parametrize(("names", "are_shared"), [(["aa", "aa"], True), (["aa", "bb"], False)])
def test_names_of_rows_that_panels_share_stand_left_of_the_first(
    names: list[str], are_shared: bool
) -> None:
    each = iter(names)

    def draw(ax: Axes) -> None:
        ax.set_yticks([0, 1], [next(each), "z"])

    figure = drawn(2, draw, share_scales=False)
    visible = [any(label.get_visible() for label in ax.get_yticklabels()) for ax in figure.axes]
    assert visible == [True, not are_shared]


# Legends


def legend_of(figure: Figure) -> tuple[list[str], int, str]:
    """Names as they are read along rows, number of columns and title of the legend of a figure."""
    (legend,) = figure.legends
    own: Any = legend
    figure.canvas.draw()
    texts = sorted(legend.get_texts(), key=lambda text: (-_place(text)[1], _place(text)[0]))
    names = [text.get_text() for text in texts]
    return names, own._ncols, legend.get_title().get_text()


def _place(text: Any) -> tuple[int, int]:
    box = text.get_window_extent()
    # Letters differ in height by less than half a line.
    return round(box.x0), round((box.y0 + box.y1) / 2 / 10)


@pytest.mark.usefixtures("without_places")
@pytest.mark.parametrize(
    ("n_names", "title", "n_columns", "n_lines"),
    [(3, None, 3, 1), (11, None, 11, 1), (12, None, 11, 2), (12, "cut-off", 11, 3)],
)
def test_a_legend_that_all_panels_have_stands_once_above(
    n_names: int, title: str | None, n_columns: int, n_lines: int
) -> None:
    """A name of 2 characters takes (.062 + 2 x .0078) x 8 = .62 inches, of 7: there are 11."""
    names = [f"{number:02}" for number in range(n_names)]

    def draw(ax: Axes) -> None:
        for name in names:
            ax.plot([0, 1], [0, 1], label=name)
        label_curves(ax, ordered=True)

    figure = drawn(2, draw, legend_title=title)
    assert legend_of(figure) == (names, n_columns, title or "")
    assert size_of(figure) == (7, 0.78 * 3.5 + n_lines * 0.021 * 8)
    assert [ax.get_legend() for ax in figure.axes] == [None, None]


@pytest.mark.usefixtures("without_places")
def test_a_legend_has_the_names_of_the_panel_with_most() -> None:
    names = iter([["a", "b"], ["a", "b", "c"]])

    def draw(ax: Axes) -> None:
        for name in next(names):
            ax.plot([0, 1], [0, 1], label=name)
        label_curves(ax, ordered=True)

    assert legend_of(drawn(2, draw))[0] == ["a", "b", "c"]


@pytest.mark.usefixtures("without_places")
def test_panels_of_other_curves_have_legends_of_their_own() -> None:
    names = iter(["ab", "ac"])

    def draw(ax: Axes) -> None:
        for name in next(names):
            ax.plot([0, 1], [0, 1], label=name)
        label_curves(ax)

    figure = drawn(2, draw, share_scales=False)
    assert figure.legends == []
    legends = [ax.get_legend() for ax in figure.axes]
    assert [[text.get_text() for text in legend.get_texts()] for legend in legends if legend] == [
        ["a", "b"],
        ["a", "c"],
    ]
    assert size_of(figure) == (7, 0.78 * 3.5)


@pytest.mark.usefixtures("without_places")
def test_curves_of_a_single_panel_are_named_where_they_end() -> None:
    def draw(ax: Axes) -> None:
        ax.plot([0, 1], [0, 1], label="a")
        label_curves(ax)

    figure = drawn(1, draw)
    assert figure.legends == []
    assert figure.axes[0].get_legend() is None


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
def test_a_legend_of_long_names_has_a_column_at_least() -> None:
    def draw(ax: Axes) -> None:
        for name in "ab":
            ax.plot([0, 1], [0, 1], label=name * 200)
        label_curves(ax, ordered=True)

    assert legend_of(drawn(2, draw))[1] == 1


# What fits


@pytest.mark.slow
def test_a_bar_says_what_the_colours_of_cells_mean() -> None:
    """The label has .7 of the height: .7 x 2.73 / .0624 = 30 characters."""

    def draw(ax: Axes) -> None:
        image = ax.imshow([[0.0, 1.0]], aspect="auto")
        image.set_label(" ".join(["abcd"] * 8))

    figure = drawn(2, draw, share_scales=False)
    assert len(figure.axes) == 3
    assert [*map(len, figure.axes[2].get_ylabel().split("\n"))] == [29, 9]
    assert len(drawn(2).axes) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("n_names", "is_printed"), [(10, True), (40, False)])
def test_numbers_in_cells_are_as_large_as_fits_or_left_out(n_names: int, is_printed: bool) -> None:
    """A number is twice as wide as its letters are high, 1.3 times as high, and has 5 points."""

    def draw(ax: Axes) -> None:
        ax.imshow(np.zeros((n_names, n_names)), aspect="auto")
        for place in range(n_names):
            ax.text(place, place, ".50")

    figure = drawn(1, draw, options=FigureOptions(height=2.0))
    (ax, _) = figure.axes
    wide, high = (72 * side / 160 / n_names for side in ax.bbox.size)
    assert {text.get_visible() for text in ax.texts} == {is_printed}
    (size,) = {float(text.get_fontsize()) for text in ax.texts}
    assert size == pytest.approx(min(wide / 2, high / 1.3, 8))


@pytest.mark.slow
def test_numbers_beside_an_axis_do_not_overlap() -> None:
    def draw(ax: Axes) -> None:
        ax.set_xticks(range(25), [f"n {number}" for number in range(25)])
        ax.set_xlim(-0.5, 24.5)

    (ax,) = drawn(1, draw).axes
    labels = ax.get_xticklabels()
    numbers = [int(label.get_text().removeprefix("n ")) for label in labels]
    step = numbers[1]
    assert step > 1
    assert numbers == [*range(0, 25, step)]
    boxes = [label.get_window_extent() for label in labels]
    # They are 8 pixels apart, 4 to each side, and would not be with a smaller step.
    assert min(other.x0 - one.x1 for one, other in pairwise(boxes)) >= 8
    distance = (boxes[1].x0 - boxes[0].x0) / step
    assert (step - 1) * distance - max(box.width for box in boxes) < 8


@pytest.mark.slow
def test_texts_beyond_the_canvas_are_broken() -> None:
    """A low figure has axes that are lower than the label beside them was broken for."""

    def draw(ax: Axes) -> None:
        ax.set_ylabel(" ".join(["abcd"] * 6))
        ax.set_title(" ".join(["word"] * 12))

    figure = drawn(1, draw, options=FigureOptions(height=1.2))
    (ax,) = figure.axes
    box = ax.yaxis.label.get_window_extent()
    assert box.y0 >= -1
    assert box.y1 <= figure.bbox.height + 1
    assert ax.get_ylabel().count("\n") >= 1


def test_a_figure_without_room_is_refused_with_its_size() -> None:
    with pytest.raises(InputError, match=r"3\.33 inches wide and 0\.1 inches high"):
        drawn(1, lambda ax: ax.set(title="t", xlabel="x"), options=FigureOptions(height=0.1))


# What is shown


class Shown(Result):
    """A result of two measures, with bands of three curves."""

    measures = Measures([Measure("P", 5), Measure("P", 10), Measure("AP", 10)])
    systems = ("a", "b", "c")

    def caption(self) -> str:
        return "Curves."

    @figure("curves", "Curves")
    def plot(self, ax: Axes) -> Axes:
        for name in self.systems:
            ax.plot([0, 1], [0, 1], label=name)
            band = ax.fill_between([0, 1], [0, 1], [1, 2], label=f"{SPREAD}{name}")
            explain(band, "Bands: limits.")
        label_curves(ax)
        ax.set_title("all")
        return ax

    @figure("cutoffs", "Cut-offs", panels="metric", over_cutoffs=True)
    def plot_cutoffs(self, ax: Axes, *, metric: str) -> Axes:
        ax.set_title(metric)
        return ax


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
def test_bands_that_would_cover_each_other_have_a_panel_each_if_they_are_asked_for() -> None:
    face, _ = figures_of(Shown)
    usual = draw_figure(Shown(), face)
    assert shown(usual) == ["all"]
    assert usual.get_label() == "Curves. Bands: limits."
    assert usual.get_size_inches()[0] == 7
    apart = draw_figure(Shown(), face, FigureOptions(bands=True))
    assert shown(apart) == ["a", "b", "c"]
    assert apart.get_suptitle() == "all"
    assert apart.get_label() == ("Curves. Bands: limits. Grey: the curves of the other panels.")
    together = draw_figure(Shown(), face, FigureOptions(bands=False))
    assert shown(together) == ["all"]
    assert together.get_label() == "Curves."
    two = draw_figure(Shown(), face, FigureOptions(systems=("a", "b"), bands=True))
    assert shown(two) == ["all"]


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
def test_a_panel_is_chosen_by_its_keyword() -> None:
    _, face = figures_of(Shown)
    assert shown(draw_figure(Shown(), face)) == ["P", "AP"]
    labelled, kinds = figures_of(Labelled)
    assert shown(draw_figure(Labelled(), kinds, chosen={"kind": "by chance"})) == ["by chance"]
    assert len(draw_figure(Labelled(), labelled).axes) == 4


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
def test_usual_options_that_do_not_fit_a_figure_are_left() -> None:
    """Systems that a figure does not show, and a height without room; the width stays."""
    _, kinds = figures_of(Labelled)
    usual = FigureOptions(systems=("a",), height=3.0, width=5.0)
    figure_ = draw_figure(Labelled(), kinds, usual=usual)
    assert size_of(figure_) == (5, 0.78 * 2.5)
    fitting = draw_figure(Labelled(), kinds, usual=FigureOptions(height=3.0, width=5.0))
    assert size_of(fitting) == (5, 3)
    with pytest.raises(InputError, match="does not show single systems"):
        draw_figure(Labelled(), kinds, FigureOptions(systems=("a",)))


@pytest.mark.usefixtures("without_places")
def test_what_is_asked_for_takes_the_place_of_all_that_is_usually_shown() -> None:
    face, _ = figures_of(Shown)
    usual = FigureOptions(systems=("a",), width=5.0)
    alone = draw_figure(Shown(), face, FigureOptions(), usual=usual)
    assert [line.get_label() for line in alone.axes[0].lines] == ["a"]
    asked = draw_figure(Shown(), face, FigureOptions(systems=("b",), bands=False), usual=usual)
    assert [line.get_label() for line in asked.axes[0].lines] == ["b"]
    assert asked.get_size_inches()[0] == 5


# Names at the ends of curves


@pytest.mark.slow
@pytest.mark.parametrize("n_curves", [3, 20])
def test_names_at_ends_do_not_touch_and_the_figure_is_as_high_as_they_need(n_curves: int) -> None:
    """Twenty curves that all end at the same point have as many lines of text, below the top."""

    def draw(ax: Axes) -> None:
        for number in range(n_curves):
            ax.plot([0, 1], [number, 0], label=f"nDCG@{number} (DP 1.23)")
        label_curves(ax)

    figure = drawn(1, draw)
    assert figure.get_size_inches()[0] == 7
    (names,) = [artist for artist in figure.axes[0].artists if isinstance(artist, EndLabels)]
    names.get_window_extent()
    boxes = sorted((name.get_window_extent() for name in names.names), key=lambda box: box.y0)
    assert len(boxes) == n_curves
    assert all(lower.y1 < upper.y0 for lower, upper in pairwise(boxes))
    assert boxes[0].y0 >= 0
    assert boxes[-1].y1 <= figure.bbox.height
    assert max(box.x1 for box in boxes) <= figure.bbox.width


# Files


@pytest.mark.usefixtures("without_places")
def test_marked_points_tell_their_values() -> None:
    def draw(ax: Axes) -> None:
        ax.plot([1, 2, 3], [0.123456, np.nan, 3], "o-", label="<a>")
        ax.plot([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], "s", label="b", markevery=2)
        ax.plot([1], [1], label="plain")
        ax.plot([1], [1], "o", label="_hidden")

    figure = drawn(1, draw)
    curves_drawn = figure.axes[0].lines
    assert values_of(curves_drawn[0]) == ["<a>, 1: 0.1235", "<a>, 3: 3"]
    assert values_of(curves_drawn[1]) == ["b, 1: 1", "b, 3: 3", "b, 5: 5"]
    svg = as_svg(figure).decode()
    titles = [unescape(title) for title in re.findall("<title>([^<]*)</title>", svg)]
    assert titles == ["<a>, 1: 0.1235", "<a>, 3: 3", "b, 1: 1", "b, 3: 3", "b, 5: 5"]


@pytest.mark.usefixtures("without_places")
@pytest.mark.parametrize("across", [False, True])
def test_points_with_a_band_tell_their_intervals(across: bool) -> None:
    """The position stands first; of limits along the x-axis it is y."""
    limits = (np.array([0.25, 0.5]), np.array([0.35, 0.7]))

    def draw(ax: Axes) -> None:
        positions = np.array([50.0, 100.0])
        values = [0.3, 0.6]
        x, y = (values, positions) if across else (positions, values)
        draw_band(ax, positions, limits, {"color": "k"}, label="a", explanation="", across=across)
        ax.plot(x, y, "o-", label="a")

    (curve,) = drawn(1, draw).axes[0].lines
    assert values_of(curve) == ["a, 50: .30 [.25, .35]", "a, 100: .60 [.50, .70]"]


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_files_have_no_date_and_their_size_in_inches(kind: str) -> None:
    content = WRITERS[kind](drawn(1))
    assert b"Date" not in content
    if kind == "svg":
        assert f'width="{3.33 * 72:g}'.encode() in content
    if kind == "png":
        # 160 dots an inch.
        width = int.from_bytes(content[16:20], "big")
        assert width == int(3.33 * 160)


@pytest.mark.parametrize(("name", "kind"), [("a.svg", "svg"), ("a.PDF", "pdf"), ("a.png", "png")])
def test_the_end_of_a_name_says_what_kind_a_file_is_of(name: str, kind: str) -> None:
    assert figure_writer(Path(name)) is WRITERS[kind]


def test_other_kinds_are_written_by_matplotlib_and_unknown_ones_refused() -> None:
    write = figure_writer(Path("a.jpg"))
    content = write(drawn(1))
    assert content.startswith(b"\xff\xd8")
    with pytest.raises(InputError, match=r"a: the name must end in one of \..*\.pdf"):
        figure_writer(Path("a"))
