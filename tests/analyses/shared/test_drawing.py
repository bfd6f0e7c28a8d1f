"""The look of figures: colours, names of curves, bands, cells and rows."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from analyses.shared.drawing import (
    COLOURS,
    DASHES,
    MARKERS,
    OTHERS,
    THICK,
    THIN,
    category_styles,
    colours,
    contrast,
    crowded_spreads,
    curve_styles,
    draw_band,
    draw_intervals,
    draw_matrix,
    draw_rows,
    draw_whiskers,
    explain,
    explanations,
    gradation_styles,
    highlight_curve,
    keep_systems,
    label_curves,
    ordered_colormap,
    panel_index,
    readable_ink,
    remove_curve_names,
    set_log_scale,
    spreads_of,
)
from analyses.shared.end_labels import EndLabels, right_end, spread_heights
from analyses.shared.log_numbers import write_plain_numbers
from analyses.shared.measure import Measure, Measures
from runs import InputError
from tests.drawn import corners_of, points_of, segments_of


@pytest.fixture
def ax() -> Axes:
    """Axes of 400 x 300 pixels, of which one is a point."""
    figure = Figure(figsize=(400 / 72, 300 / 72), dpi=72)
    axes: Axes = figure.add_axes((0, 0, 1, 1))
    return axes


def figure_of(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def canvas_of(ax: Axes) -> Any:
    return FigureCanvasAgg(figure_of(ax))


# Explanations


def test_what_is_shown_is_explained_once_panel_by_panel() -> None:
    figure = Figure()
    first, second = figure.subplots(1, 2)
    for axes, sentences in ((first, ("b", "a")), (second, ("c", "a"))):
        for number, sentence in enumerate(sentences):
            explain(axes.plot([0], [number])[0], sentence)
    explain(first, "axes")
    hidden, removed = first.plot([0], [0])[0], first.plot([0], [0])[0]
    for line in (hidden, removed):
        explain(line, "gone")
    hidden.set_visible(False)
    removed.remove()
    assert explanations(figure) == ["axes", "b", "a", "c"]


def test_the_first_panel_is_chosen_by_default() -> None:
    assert [panel_index(["a", "b", "c"], name) for name in (None, "a", "c")] == [0, 0, 2]
    with pytest.raises(InputError, match="there are a, b to draw, got d"):
        panel_index(["a", "b"], "d")


# Colours


def test_labels_without_an_order_have_colours_markers_and_dashes_of_their_own() -> None:
    styles = [style for _, style in category_styles(range(12))]
    assert [style["color"] for style in styles] == [*COLOURS, *COLOURS[:5]]
    assert [style["marker"] for style in styles] == [*MARKERS, MARKERS[0]]
    assert [style["linestyle"] for style in styles] == [*DASHES * 3]
    assert [label for label, _ in category_styles(["P", 5])] == ["P", "5"]


def test_ordered_labels_run_from_a_tenth_of_the_colours_to_the_last() -> None:
    scale = mpl.colormaps["viridis_r"]
    found = dict(gradation_styles([5, 10, 20]))
    assert [style["color"] for style in found.values()] == [scale(0.1), scale(0.55), scale(1.0)]
    assert [*found] == ["5", "10", "20"]
    ((_, alone),) = gradation_styles([5])
    assert alone["color"] == scale(0.1)
    dashes = [style["linestyle"] for _, style in gradation_styles(range(6))]
    assert dashes == ["-", "--", "-.", ":", "-", "--"]


def test_a_readers_colours_take_the_place_of_the_usual_ones() -> None:
    assert colours() == [*COLOURS]
    assert ordered_colormap("Blues").name == "Blues"
    with mpl.rc_context({"axes.prop_cycle": cycler(color=["red", "#123456"])}):
        assert colours() == ["#ff0000", "#123456"]
    with mpl.rc_context({"image.cmap": "plasma"}):
        assert ordered_colormap("Blues").name == "plasma"


MEASURES = Measures(
    [Measure("P", 5), Measure("P", 10), Measure("AP", 10), Measure("bpref")],
    reported=[Measure("AP", 10), Measure("P", 10)],
)


def test_curves_are_cut_offs_of_a_metric_or_report_measures() -> None:
    of_metric = curve_styles(MEASURES, metric="P")
    assert [(number, label) for number, label, _ in of_metric] == [(0, "@5"), (1, "@10")]
    of_all = curve_styles(MEASURES)
    assert [(number, label) for number, label, _ in of_all] == [(2, "AP@10"), (1, "P@10")]
    assert of_all[1][2]["color"] == COLOURS[1]
    with pytest.raises(InputError, match="nothing to draw of bpref"):
        curve_styles(MEASURES, metric="bpref")
    with pytest.raises(InputError, match="nothing to draw of these measures"):
        curve_styles(Measures([]))


# Names of curves


def draw_curves(ax: Axes, names: Sequence[str], *, last: float = 1.0) -> list[Line2D]:
    """Draw curves from 0 to 1, but for the last, which may end before."""
    ends = [1.0] * (len(names) - 1) + [last]
    lines = [
        ax.plot([0, end], [0, number], label=name)[0]
        for number, (name, end) in enumerate(zip(names, ends, strict=True))
    ]
    ax.set_xlim(0, 1)
    return lines


def has_legend(ax: Axes) -> bool:
    """Whether names are in a legend; else they stand where curves end."""
    at_ends = [artist for artist in ax.artists if isinstance(artist, EndLabels)]
    assert len(at_ends) == (ax.get_legend() is None)
    return not at_ends


@pytest.mark.parametrize(
    ("names", "last", "ordered", "is_legend"),
    [
        ("abcdefghijklmnopqrst", 1.0, False, False),
        ("abcdefghijklmnopqrstu", 1.0, False, True),
        ("abc", 1.0, True, True),
        ("abc", 0.86, False, False),
        ("abc", 0.84, False, True),
        (["a", "b" * 24], 1.0, False, False),
        (["a", "b" * 25], 1.0, False, True),
        ("a", 1.0, False, False),
    ],
)
def test_twenty_curves_of_short_names_are_named_where_they_end_at_the_right(
    ax: Axes, names: Sequence[str], last: float, ordered: bool, is_legend: bool
) -> None:
    draw_curves(ax, names, last=last)
    label_curves(ax, ordered=ordered)
    assert has_legend(ax) == is_legend


def test_what_is_no_curve_is_named_in_a_legend(ax: Axes) -> None:
    draw_curves(ax, "ab")
    ax.plot([1], [1], "o", label="point")
    label_curves(ax)
    assert has_legend(ax)
    bar = Figure().subplots()
    bar.bar([1], [1], label="bar")
    label_curves(bar)
    assert has_legend(bar)


def test_axes_without_names_get_none(ax: Axes) -> None:
    ax.plot([0, 1], [0, 1])
    label_curves(ax)
    assert not remove_curve_names(ax)
    assert ax.get_legend() is None


def test_a_legend_stands_right_of_the_axes(ax: Axes) -> None:
    draw_curves(ax, "ab")
    label_curves(ax, ordered=True)
    legend = ax.get_legend()
    assert legend is not None
    figure_of(ax).canvas = canvas_of(ax)
    box = legend.get_window_extent()
    assert 400 < box.x0 < 420
    assert box.y1 == pytest.approx(300, abs=10)
    assert not legend.get_frame_on()
    assert remove_curve_names(ax)
    assert ax.get_legend() is None


def test_names_at_ends_can_be_removed(ax: Axes) -> None:
    draw_curves(ax, "ab")
    label_curves(ax)
    assert remove_curve_names(ax)
    assert not remove_curve_names(ax)


def banded(ax: Axes, names: Sequence[str]) -> None:
    limits = np.zeros(2), np.ones(2)
    for name in names:
        (line,) = ax.plot([0, 1], [0, 1], label=name)
        style = {"color": line.get_color()}
        draw_band(
            ax, np.array([0.0, 1.0]), limits, style, label=name, explanation=f"Bands: of {name}."
        )
    label_curves(ax)


def opacities(ax: Axes) -> list[float]:
    return [float(np.asarray(band.get_facecolor())[0, 3]) for band in spreads_of(ax)]


def test_bands_of_more_than_two_curves_are_faint(ax: Axes) -> None:
    banded(ax, "ab")
    assert crowded_spreads(ax) == []
    usual, _ = opacities(ax)
    other: Axes = Figure().subplots()
    banded(other, "abc")
    assert crowded_spreads(other) == ["a", "b", "c"]
    # Named again, they do not fade further.
    label_curves(other)
    assert opacities(other) == pytest.approx([0.4 * usual] * 3)
    assert explanations(figure_of(other)) == ["Bands: of a.", "Bands: of b.", "Bands: of c."]


def test_one_curve_is_singled_out_before_the_others_in_grey(ax: Axes) -> None:
    banded(ax, "abc")
    (line,) = ax.plot([0, 1], [0, 0], label="_unnamed", linewidth=3)
    faint, *_ = opacities(ax)
    highlight_curve(ax, "b")
    assert [band.get_visible() for band in spreads_of(ax)] == [False, True, False]
    assert opacities(ax)[1] > faint
    by_place = [(curve.get_color() == OTHERS, curve.get_label()) for curve in ax.lines]
    assert by_place == [(True, "_"), (False, "b"), (True, "_"), (False, "_unnamed")]
    assert line.get_linewidth() == 3
    first, second, *_ = ax.lines
    assert first.get_zorder() < second.get_zorder()
    assert first.get_linewidth() < second.get_linewidth()
    assert ax.get_title() == "b"
    assert "Grey: the curves of the other panels." in explanations(figure_of(ax))
    assert not remove_curve_names(ax)


def test_curves_of_other_systems_are_removed(ax: Axes) -> None:
    banded(ax, ["a", "b", "b, all users"])
    ax.axhline(0.5, label="chance")
    keep_systems(ax, ["b"], ["a", "b"], figure="fig")
    assert [line.get_label() for line in ax.lines] == ["b", "b, all users", "chance"]
    assert [band.get_label() for band in spreads_of(ax)] == [
        "_spread of b",
        "_spread of b, all users",
    ]
    (names,) = [artist for artist in ax.artists if isinstance(artist, EndLabels)]
    assert [str(curve.get_label()) for curve in names.curves] == ["b", "b, all users", "chance"]
    with pytest.raises(InputError, match="no system is called 'c'"):
        keep_systems(ax, ["c"], ["a", "b"], figure="fig")
    with pytest.raises(InputError, match="fig does not show single systems"):
        keep_systems(ax, ["c"], ["c"], figure="fig")


# Axes


@pytest.mark.parametrize(
    ("high", "labels"), [(99, ["1", "2", "5", "10", "20", "50"]), (100, ["1", "10", "100"])]
)
@pytest.mark.parametrize("along", ["x", "y"])
def test_less_than_a_hundredfold_is_labelled_at_1_2_and_5(
    ax: Axes, high: float, labels: list[str], along: Any
) -> None:
    ax.plot([1, high], [1, high])
    ax.set(xlim=(1, high), ylim=(1, high))
    set_log_scale(ax, along=along)
    axis, other = (ax.xaxis, ax.yaxis) if along == "x" else (ax.yaxis, ax.xaxis)
    low, top = axis.get_view_interval()
    places = [place for place in axis.get_majorticklocs() if low <= place <= top]
    assert [axis.get_major_formatter()(place, 0) for place in places] == labels
    assert [text.get_text() for text in axis.get_ticklabels(minor=True)] == [""] * len(
        axis.get_ticklabels(minor=True)
    )
    assert (axis.get_scale(), other.get_scale()) == ("log", "linear")


def test_axes_without_anything_drawn_stay_as_they_are(ax: Axes) -> None:
    set_log_scale(ax, along="x")
    assert ax.get_xscale() == "linear"


def test_powers_are_plain_on_any_base(ax: Axes) -> None:
    ax.set_xscale("log", base=2)
    ax.set(xlim=(0.5, 9), yscale="log", ylim=(2, 8))
    write_plain_numbers(ax)
    assert {"0.5", "1", "2", "4", "8"} <= {text.get_text() for text in ax.get_xticklabels()}
    minor = {text.get_text() for text in ax.get_yticklabels(minor=True)}
    assert {"2", "3", "4", "6"} <= minor


# Cells, bands and rows


def test_cells_print_their_values_and_are_grey_for_a_name_with_itself(ax: Axes) -> None:
    values = np.array([[1.0, 0.19, 0.21], [0.19, 1.0, -0.456], [np.nan, 1.0, 1.0]])
    draw_matrix(ax, values, ["a", "b", "c"], label="tau", lowest=-1.0)
    printed = {text.get_position(): (text.get_text(), text.get_color()) for text in ax.texts}
    assert printed == {
        (0, 0): ("1", "black"),
        (1, 0): (".19", "black"),
        (2, 0): (".21", "black"),
        (0, 1): (".19", "black"),
        (1, 1): ("1", "black"),
        (2, 1): ("-.46", "black"),
        (0, 2): ("–", "black"),
        (1, 2): ("1", "black"),
        (2, 2): ("1", "black"),
    }
    (image,) = ax.images
    assert image.get_clim() == (-1, 1)
    assert str(image.get_label()) == "tau"
    shown: NDArray[np.float64] = np.ma.filled(np.ma.asarray(image.get_array()), np.nan)
    assert np.isnan(shown).tolist() == [
        [True, False, False],
        [False, True, False],
        [True, False, True],
    ]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b", "c"]
    assert ax.get_yticks().tolist() == [0, 1, 2]
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90}


def inverted(colour: Any) -> NDArray[np.float64]:
    """A colour as the page shows it in the dark: `invert(.92) hue-rotate(180deg)` of CSS."""
    mixed = 0.92 - 0.84 * np.array(to_rgb(colour))
    luma = mixed @ (0.213, 0.715, 0.072)
    return np.clip(2 * luma - mixed, 0, 1)


@pytest.mark.parametrize("palette", [None, "viridis", "plasma", "Greys", "RdBu"])
def test_numbers_in_cells_have_a_contrast_of_four_and_a_half(ax: Axes, palette: str | None) -> None:
    """With the usual colours also in the dark; black on white has 21, the same colour 1."""
    assert contrast("black", "white") == pytest.approx(21)
    assert contrast("#777777", "white") == pytest.approx(4.48, abs=0.005)
    values = np.linspace(0, 1, 100).reshape(10, 10)
    with mpl.rc_context({} if palette is None else {"image.cmap": palette}):
        draw_matrix(ax, values, list("abcdefghij"), label="", lowest=0.0)
    (image,) = ax.images
    cells = image.to_rgba(np.ma.masked_invalid(np.asarray(image.get_array(), dtype=float)))
    for text in ax.texts:
        column, row = map(int, text.get_position())
        cell = cells[row, column]
        assert contrast(text.get_color(), cell) >= 4.5
        if palette is None:
            assert contrast(inverted(text.get_color()), inverted(cell)) >= 4.5


def test_ink_is_what_differs_more_from_the_background() -> None:
    assert [readable_ink(grey) for grey in ("0", "0.4", "0.5", "1")] == [
        *("white", "white", "black", "black")
    ]


@pytest.mark.parametrize(("undefined", "is_named"), [(False, False), (True, True)])
def test_undefined_cells_are_explained_where_there_are_some(
    ax: Axes, undefined: bool, is_named: bool
) -> None:
    values = np.array([[np.nan, 0.5], [np.nan if undefined else 0.5, np.nan]])
    draw_matrix(ax, values, ["a", "b"], label="tau", lowest=0.0)
    (sentence,) = explanations(figure_of(ax))
    assert ("undefined" in sentence) == is_named


@pytest.mark.parametrize(("n_names", "size"), [(8, 8), (9, 6)])
def test_numbers_in_cells_have_8_points_up_to_8_names(ax: Axes, n_names: int, size: float) -> None:
    values = np.zeros((n_names, n_names))
    draw_matrix(ax, values, [f"n{n}" for n in range(n_names)], label="", lowest=0.0)
    assert {text.get_fontsize() for text in ax.texts} == {size}
    assert not any(text.get_in_layout() for text in ax.texts)


def test_a_band_lies_below_its_curve_without_an_edge(ax: Axes) -> None:
    (line,) = ax.plot([0, 1], [1, 2])
    places, limits = np.array([0.0, 1.0]), (np.array([0.5, 1.0]), np.array([1.5, 3.0]))
    for is_across in (False, True):
        draw_band(
            ax, places, limits, {"color": "red"}, label="a", explanation="b", across=is_across
        )
    up, across = ax.collections
    expected = {(0, 0.5), (1, 1), (1, 3), (0, 1.5)}
    assert corners_of(up) == expected
    assert corners_of(across) == {(x, y) for y, x in expected}
    for band in (up, across):
        assert band.get_zorder() < line.get_zorder()
        assert band.get_linewidth() == [0]
        assert band.get_label() == "_spread of a"
        assert to_hex(np.asarray(band.get_facecolor())[0]) == "#ff0000"
        assert 0 < float(np.asarray(band.get_facecolor())[0, 3]) < 0.5


def test_whiskers_reach_from_the_lower_to_the_upper_limit(ax: Axes) -> None:
    limits = np.array([0.5, 1.5]), np.array([1.5, 2.5])
    style = {"color": "red", "linestyle": "-"}
    places, values = np.array([0.0, 1.0]), np.array([1.0, 2.0])
    draw_whiskers(ax, places, values, limits, style, label="a", explanation="Lines.")
    assert points_of(ax.lines[0]) == [(0, 1), (1, 2)]
    assert segments_of(ax) == [((0, 0.5), (0, 1.5)), ((1, 1.5), (1, 2.5))]
    (whiskers,) = spreads_of(ax)
    assert whiskers.get_zorder() < ax.lines[0].get_zorder()
    assert explanations(figure_of(ax)) == ["Lines."]


def test_whiskers_without_a_length_are_not_explained_and_points_have_no_spread(ax: Axes) -> None:
    values = np.array([1.0, 2.0])
    style = {"color": "red", "linestyle": "None", "marker": "o"}
    draw_whiskers(ax, values, values, (values, values), style, label="a", explanation="Lines.")
    assert explanations(figure_of(ax)) == []
    assert spreads_of(ax) == []


def test_rows_rise_from_the_lowest_value(ax: Axes) -> None:
    values = np.array([0.5, 0.9, 0.1])
    draw_rows(ax, ["a", "b", "c"], values, (values - 0.1, values + 0.2), explanation="Rows.")
    (line,) = ax.lines
    assert points_of(line) == [(0.1, 0), (0.5, 1), (0.9, 2)]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["c", "a", "b"]
    np.testing.assert_allclose(
        segments_of(ax), [((v - 0.1, row), (v + 0.2, row)) for row, v in enumerate([0.1, 0.5, 0.9])]
    )
    assert explanations(figure_of(ax)) == ["Rows."]
    assert str(line.get_color()) == to_hex(COLOURS[0]).upper()


@pytest.mark.parametrize(("width", "name"), [(THICK, "Thick"), (THIN, "Thin")])
def test_intervals_are_explained_by_their_width(ax: Axes, width: float, name: str) -> None:
    rows, limits = np.array([0, 1]), [np.array([0.1, 0.2]), np.array([0.1, 0.4])]
    draw_intervals(ax, rows, limits, width, over="users")
    assert explanations(figure_of(ax)) == [f"{name} lines: 95 % intervals over users."]
    assert segments_of(ax) == [((0.1, 0), (0.1, 0)), ((0.2, 1), (0.4, 1))]
    none: Axes = Figure().subplots()
    draw_intervals(none, rows, [limits[0]] * 2, width, over="users")
    assert explanations(figure_of(none)) == []


def test_the_thick_interval_is_wider_than_the_thin_one(ax: Axes) -> None:
    rows, limits = np.array([0]), [np.array([0.1]), np.array([0.2])]
    for width in (THICK, THIN):
        draw_intervals(ax, rows, limits, width, over="users")
    thick, thin = (float(np.ravel(lines.get_linewidth())[0]) for lines in ax.collections)
    assert thick > 2 * thin > 1


# Names beside axes


def test_a_curve_ends_at_its_rightmost_point_within_the_axes(ax: Axes) -> None:
    """Axes are 400 pixels wide and 300 high, from 0 to 1."""
    ax.set(xlim=(0, 1), ylim=(0, 1))
    box = ax.bbox
    for xs, ys, expected in (
        ([0.0, 0.75, 0.5], [0.1, 0.5, 0.9], (300, 150)),
        ([0.0, 2.0], [0.0, 0.5], (400, 150)),
        ([0.0, 1.0], [0.0, 2.0], (400, 300)),
        ([0.0, 1.0], [0.0, -2.0], (400, 0)),
        ([0.5, 1.0], [0.25, np.nan], (200, 75)),
        ([np.nan], [np.nan], (400, 0)),
    ):
        (line,) = ax.plot(xs, ys, scalex=False, scaley=False)
        assert right_end(line, box) == pytest.approx(expected)


def test_names_stand_11_points_right_of_the_axes_with_their_marks(ax: Axes) -> None:
    """And 3 points right of the marks; here, a point is a pixel."""
    figure_of(ax).canvas = canvas_of(ax)
    lines = draw_curves(ax, "ab")
    lines[0].set(marker="s", markersize=5)
    ax.set_ylim(0, 1)
    label_curves(ax)
    (names,) = [artist for artist in ax.artists if isinstance(artist, EndLabels)]
    names.draw(figure_of(ax).canvas.get_renderer())  # type: ignore[attr-defined]
    first, second = names.names
    assert [name.get_text() for name in names.names] == ["a", "b"]
    assert first.get_position() == pytest.approx((414, 0))
    assert second.get_position() == pytest.approx((414, 300))
    np.testing.assert_allclose(points_of(names.leaders[1]), [(400, 300), (411, 300)])
    assert (names.leaders[0].get_marker(), names.leaders[0].get_markersize()) == ("s", 5)
    assert names.leaders[0].get_markevery() == [1]
    assert to_rgba(names.leaders[1].get_color()) == to_rgba(lines[1].get_color())
    room = names.get_window_extent()
    assert room.x0 == pytest.approx(414, abs=1)
    assert room.y0 < 0 < 300 < room.y1


def test_names_of_curves_that_end_together_are_1_2_sizes_apart(ax: Axes) -> None:
    figure_of(ax).canvas = canvas_of(ax)
    for name in "ab":
        ax.plot([0, 1], [0, 0.5], label=name)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    label_curves(ax)
    (names,) = [artist for artist in ax.artists if isinstance(artist, EndLabels)]
    for text, size in zip(names.names, (10, 20), strict=True):
        text.set_fontsize(size)
    names.draw(figure_of(ax).canvas.get_renderer())  # type: ignore[attr-defined]
    heights = [name.get_position()[1] for name in names.names]
    assert heights == pytest.approx([162, 138])


@pytest.mark.parametrize(
    ("wanted", "limits", "found"),
    [
        ([0, 10, 20], (0, 100), [0, 10, 20]),
        ([50, 50], (0, 100), [55, 45]),
        ([50, 52, 90], (0, 100), [46, 56, 90]),
        ([1, 2], (0, 100), [0, 10]),
        ([99, 100], (0, 100), [90, 100]),
        ([5, 5, 5], (0, 12), [20, 10, 0]),
    ],
)
def test_heights_move_as_little_as_may_be(
    wanted: list[float], limits: tuple[float, float], found: list[float]
) -> None:
    """None is nearer to another than 10, if there is room; equal ones fall."""
    assert spread_heights(np.array(wanted, dtype=np.float64), 10.0, limits).tolist() == found


def test_room_is_found_without_a_renderer(ax: Axes) -> None:
    figure_of(ax).canvas = canvas_of(ax)
    draw_curves(ax, ["long name"])
    label_curves(ax)
    (names,) = [artist for artist in ax.artists if isinstance(artist, EndLabels)]
    room = names.get_window_extent(None)
    assert isinstance(room, Bbox)
    assert room.width > 20
