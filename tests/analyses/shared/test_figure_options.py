"""Options of figures: what is refused, and where a style file is looked for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from analyses.shared.drawing import SPREAD
from analyses.shared.figure_options import STYLE, FigureOptions, shipped_styles
from analyses.shared.measure import Measure, Measures
from runs import InputError, InputWarning


@pytest.mark.parametrize("option", ["width", "height", "font_size"])
@pytest.mark.parametrize("size", [0.0, -1.0, 101.0, 1e308, float("inf"), float("nan")])
def test_a_size_is_above_0_and_at_most_100(option: str, size: float) -> None:
    with pytest.raises(InputError, match=f"'{option}' must be"):
        FigureOptions.from_keywords({option: size})


@pytest.mark.parametrize("option", ["width", "height", "font_size"])
def test_a_size_of_100_is_taken(option: str) -> None:
    assert FigureOptions.from_keywords({option: 100}).set_options == {option: 100}


@pytest.mark.parametrize(
    ("style", "anchored"),
    [("mine", "FOLDER/mine"), ("mine.mplstyle", "FOLDER/mine.mplstyle"), ("ggplot", "ggplot")],
)
def test_a_style_file_counts_from_the_folder_of_the_study_with_and_without_a_suffix(
    style: str, anchored: str, tmp_path: Path
) -> None:
    for name in ("mine", "mine.mplstyle", "ggplot"):
        (tmp_path / name).touch()
    options: Any = FigureOptions(style=style).with_absolute_paths(lambda path: tmp_path / path)
    assert options.style == anchored.replace("FOLDER", str(tmp_path))


# What is read


def test_one_of_a_kind_may_stand_alone() -> None:
    given = {"metric": "nDCG", "cutoff": 10, "system": "a", "bands": None, "title": False}
    read = FigureOptions.from_keywords(given)
    assert read.set_options == {
        "measures": ("nDCG",),
        "cutoffs": (10,),
        "systems": ("a",),
        "title": False,
    }
    several = FigureOptions.from_keywords({"measures": ("P", "AP@5"), "cutoffs": (5, 10)})
    assert (several.measures, several.cutoffs) == (("P", "AP@5"), (5, 10))
    assert FigureOptions.from_keywords({}).set_options == {}
    assert FigureOptions(width=2.0).model_dump() == {"width": 2.0}


@pytest.mark.parametrize(
    ("width", "inches"), [("single", 3.33), ("double", 7.0), ("4.5", 4.5), (2, 2.0)]
)
def test_widths_are_those_of_acm_s_columns_or_inches(width: str | float, inches: float) -> None:
    assert FigureOptions.from_keywords({"width": width}).width == inches


def test_what_is_not_given_is_taken_from_usual_options() -> None:
    usual = FigureOptions(width=2.0, height=3.0, measures=("P",))
    both = FigureOptions(width=4.0, bands=False).with_defaults(usual)
    assert both.set_options == {"width": 4.0, "height": 3.0, "measures": ("P",), "bands": False}


@dataclass(frozen=True)
class Curves:
    """A result of measures in two roles, and of numbers."""

    measures: Measures
    references: Measures
    values: tuple[int, ...] = (1, 2)


MEASURES = Measures([Measure("P", 5), Measure("P", 10), Measure("AP", 10)])


def test_a_result_reports_what_is_to_be_shown() -> None:
    result = Curves(MEASURES, Measures(MEASURES))
    assert FigureOptions().select_measures(result, figure="fig1") is result
    of_metric = FigureOptions(measures=("P",)).select_measures(result, figure="fig1")
    for measures in (of_metric.measures, of_metric.references):
        assert [*map(str, measures.reported)] == ["P@10"]
    at_five = FigureOptions(cutoffs=(5,)).select_measures(result, figure="fig1")
    assert [*map(str, at_five.measures.reported)] == ["P@5"]
    assert at_five.values == (1, 2)
    with pytest.raises(InputError, match="no measure is called 'Q'"):
        FigureOptions(measures=("Q",)).select_measures(result, figure="fig1")


@pytest.mark.parametrize(
    ("options", "named"), [({"measures": ("P",)}, "measure"), ({"cutoffs": (5,)}, "cut-off")]
)
def test_a_figure_without_measures_has_none_to_choose(options: dict[str, Any], named: str) -> None:
    nothing = Curves(Measures([]), Measures([]))
    with pytest.raises(InputError, match=f"fig1 has no {named} to choose"):
        FigureOptions(**options).select_measures(nothing, figure="fig1")


# The look


def test_figures_have_8_points_no_frame_and_texts_that_are_searched() -> None:
    """Fonts in PDF are TrueType (42), texts in SVG are texts; titles stand on the axes."""
    with FigureOptions().style_context(STYLE):
        found = {key: mpl.rcParams[key] for key in STYLE}
        assert mpl.rcParams["font.size"] == 8
    assert found == {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": "medium",
        "figure.titlesize": "medium",
        "figure.labelsize": "medium",
        "legend.fontsize": "medium",
        "lines.linewidth": 1.0,
        "axes.titley": 1.0,
        "svg.hashsalt": "metric-robustness-harness",
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
    }
    assert mpl.rcParams["axes.spines.top"]


def test_without_a_base_a_readers_settings_stay() -> None:
    with mpl.rc_context({"font.size": 17}), FigureOptions().style_context():
        assert mpl.rcParams["font.size"] == 17
    with FigureOptions(font_size=6.5).style_context(STYLE):
        assert mpl.rcParams["font.size"] == 6.5


def test_names_are_no_formulas_and_no_commands() -> None:
    with mpl.rc_context({"text.parse_math": True, "text.usetex": True}):
        with FigureOptions().style_context():
            assert not mpl.rcParams["text.parse_math"]
            assert not mpl.rcParams["text.usetex"]
        assert mpl.rcParams["text.usetex"]


def colours_of(palette: str) -> tuple[list[Any], str]:
    with FigureOptions(palette=palette).style_context(STYLE):
        return mpl.rcParams["axes.prop_cycle"].by_key()["color"], mpl.rcParams["image.cmap"]


@pytest.mark.parametrize("palette", ["tab10", "tab20"])
def test_a_palette_of_up_to_20_colours_is_a_list_of_them(palette: str) -> None:
    colours, scale = colours_of(palette)
    assert colours == [*mpl.colormaps[palette].colors] * 2  # type: ignore[attr-defined]
    assert scale == mpl.rcParamsDefault["image.cmap"]


def test_of_a_scale_five_colours_are_taken() -> None:
    scale = mpl.colormaps["plasma"]
    colours, name = colours_of("plasma")
    assert colours == [scale(place) for place in (0.95, 0.2, 0.6, 0.4, 0.8)] * 2
    assert name == "plasma"


def test_a_palette_of_21_colours_is_a_scale() -> None:
    of_21 = ListedColormap(np.linspace(0, 1, 63).reshape(21, 3), name="of_21")
    mpl.colormaps.register(of_21)
    try:
        colours, name = colours_of("of_21")
    finally:
        mpl.colormaps.unregister("of_21")
    assert len(colours) == 10
    assert name == "of_21"


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        ({"palette": "tab11"}, "no colormap 'tab11'; did you mean 'tab10'"),
        ({"style": "gplot"}, "no style 'gplot'; did you mean 'ggplot'"),
    ],
)
def test_a_look_that_matplotlib_lacks_is_refused(options: dict[str, Any], finding: str) -> None:
    with pytest.raises(InputError, match=finding), FigureOptions(**options).style_context(STYLE):
        pass


def test_a_style_is_over_the_base() -> None:
    with FigureOptions(style="ggplot").style_context(STYLE):
        assert mpl.rcParams["axes.facecolor"] == "#E5E5E5"


def test_styles_that_matplotlib_ships_are_known() -> None:
    assert {"default", "ggplot", "grayscale"} <= shipped_styles()
    assert "mine" not in shipped_styles()


def test_a_folder_chooses_no_style_file(tmp_path: Path) -> None:
    for style in (None, "ggplot"):
        options = FigureOptions(style=style, width=2.0)
        assert options.without_style_file(found_in=tmp_path) == options
    with pytest.warns(InputWarning, match="'mine' is not one that matplotlib ships"):
        left = FigureOptions(style="mine", width=2.0).without_style_file(found_in=tmp_path)
    assert left.set_options == {"width": 2.0}


def test_a_style_of_a_users_library_stays_a_name(tmp_path: Path) -> None:
    for style in (None, "mine"):
        options = FigureOptions(style=style).with_absolute_paths(lambda path: tmp_path / path)
        assert options.style == style
    with_suffix = FigureOptions(style="mine.mplstyle").with_absolute_paths(
        lambda path: tmp_path / path
    )
    assert with_suffix.style == str(tmp_path / "mine.mplstyle")


@pytest.mark.parametrize(("bands", "n_bands"), [(None, 1), (True, 1), (False, 0)])
def test_bands_are_taken_from_a_panel_that_is_to_have_none(
    bands: bool | None, n_bands: int
) -> None:
    ax: Axes = Figure().subplots()
    ax.plot([0, 1], [0, 1], label="a")
    ax.fill_between([0, 1], [0, 1], [1, 2], label=f"{SPREAD}a")
    FigureOptions(bands=bands).apply_to(ax, figure="fig1")
    assert len(ax.collections) == n_bands
    assert len(ax.lines) == 1


def test_systems_that_are_not_to_be_shown_are_taken_from_a_panel() -> None:
    ax: Axes = Figure().subplots()
    for name in "ab":
        ax.plot([0, 1], [0, 1], label=name)
    FigureOptions().apply_to(ax, figure="fig1", systems=("a", "b"))
    assert len(ax.lines) == 2
    FigureOptions(systems=("b",)).apply_to(ax, figure="fig1", systems=("a", "b"))
    assert [line.get_label() for line in ax.lines] == ["b"]
