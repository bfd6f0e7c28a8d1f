"""Options of figures: the measures, cut-offs and systems that they show, their size and look."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema, model_serializer

from analyses.shared.measure import Measures
from runs import InputError
from runs.shared.errors import require_known, suggestion, warn
from runs.shared.settings import Cutoffs, Names, Section, check_settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from matplotlib.axes import Axes

    ResultT = TypeVar("ResultT", bound=DataclassInstance)

COLUMN_WIDTHS = {"single": 3.33, "double": 7.0}
"""Widths of one column and of both in inches, in ACM's double-column layout."""

FONT_SIZE = 8.0
"""Size of all text by default, in points."""

PLURAL_OPTIONS = {
    "metric": "measures",
    "measure": "measures",
    "cutoff": "cutoffs",
    "system": "systems",
}
"""Keywords for one thing to show, in Python: the option that lists several of the kind."""

MOST_COLOURS = 20
"""A colormap of no more colours is a list of them."""

COLOUR_POSITIONS = (0.95, 0.2, 0.6, 0.4, 0.8)
"""Positions, from 0 to 1, at which colours are taken from any other colormap."""

STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "figure.titlesize": "medium",
    "figure.labelsize": "medium",
    "legend.fontsize": "medium",
    "lines.linewidth": 1.0,
    # Where titles stand is not asked of the axes below them, which takes long.
    "axes.titley": 1.0,
    "svg.hashsalt": "metric-robustness-harness",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
"""Settings of matplotlib for all figures."""


def shipped_styles() -> set[str]:
    """Name the styles that matplotlib ships; a user's own are not among them."""
    from matplotlib import get_data_path

    files = Path(get_data_path(), "stylelib").glob("*.mplstyle")
    return {"default", *(file.stem for file in files)}


def _inches(width: Any) -> Any:
    """Turn a text into a width in inches: "single", "double" or a number; other values stay.

    Raises ValueError for another text.
    """
    if not isinstance(width, str):
        return width
    if width in COLUMN_WIDTHS:
        return COLUMN_WIDTHS[width]
    try:
        return float(width)
    except ValueError:
        raise ValueError(f"must be single, double or inches, got {width!r}") from None


LARGEST = 100
"""Largest side of a figure in inches, and largest text in points.

A page of 100 x 100 inches has 900 million pixels.
"""

Width = Annotated[
    float,
    Field(gt=0, le=LARGEST, allow_inf_nan=False),
    BeforeValidator(_inches),
    WithJsonSchema({"anyOf": [{"enum": [*COLUMN_WIDTHS]}, {"type": "number"}]}),
]


def _choose_backend() -> None:
    """Let pyplot choose its backend now, in a notebook.

    That of notebooks turns interactive mode on, so that figures are shown; at its end, `rc_context`
    would turn it off again if the backend were chosen within.
    """
    if "IPython" in sys.modules:
        from matplotlib import pyplot

        pyplot.switch_backend(pyplot.get_backend())


class FigureOptions(Section):
    """Which measures, cut-offs and systems figures show, and how they look."""

    measures: Names = Field((), description="Metric or measure to show, such as nDCG or nDCG@10.")
    cutoffs: Cutoffs = Field((), description="Cut-off to show.")
    systems: Names = Field((), description="System to show, in figures of single systems.")
    width: Width | None = Field(
        None,
        description="Width of the figure: single (3.33 in, one column of ACM's layout), double "
        "(7 in, both columns), or inches; default: by the number of panels.",
    )
    height: float | None = Field(
        None,
        gt=0,
        le=LARGEST,
        allow_inf_nan=False,
        description="Height in inches; default: by the number of rows of panels.",
    )
    palette: str | None = Field(
        None, description="Colormap of matplotlib; default: colours of Okabe & Ito."
    )
    style: str | None = Field(None, description="Style of matplotlib: its name, or a file.")
    font_size: float | None = Field(
        None,
        gt=0,
        le=LARGEST,
        allow_inf_nan=False,
        description=f"Size of all text in points; default: {FONT_SIZE:g}.",
    )
    bands: bool | None = Field(
        None,
        description="Whether intervals of curves are drawn. If true, a figure of three curves or "
        "more has a panel for each; default: one panel, with faint intervals.",
    )
    title: bool | None = Field(None, description="Whether a figure of one panel has a title.")

    @model_serializer
    def _as_given(self) -> dict[str, Any]:
        """Write the options that are set, and no others, as a dictionary."""
        return self.set_options

    @classmethod
    def from_keywords(cls, keywords: Mapping[str, Any]) -> Self:
        """Check options that are keywords in Python, and make the object.

        A single measure, cut-off or system may stand alone, also under its singular (``measure=``).
        An option that is None counts as not set. Raises InputError for an unknown option or an
        invalid value.
        """
        options: dict[str, Any] = {}
        for name, value in keywords.items():
            if value is None:
                continue
            option = PLURAL_OPTIONS.get(name, name)
            stands_alone = option in PLURAL_OPTIONS.values() and isinstance(value, str | int)
            options[option] = (value,) if stands_alone else value
        return check_settings("a figure", cls, options)

    @property
    def set_options(self) -> dict[str, Any]:
        """The options that are set, by name."""
        return {name: value for name, value in self if value not in (None, ())}

    def with_defaults(self, usual: FigureOptions) -> Self:
        """Take from usual options what is not set here."""
        return self.model_copy(update=usual.set_options | self.set_options)

    def without_style_file(self, *, found_in: Path) -> Self:
        """Copy the options without a style that matplotlib does not ship, with a warning.

        Options that were found in a folder may come from anybody, and a style may run programs.
        ``found_in`` is that folder or file, for the warning. Without such a style the object itself
        is the result.
        """
        if self.style is None or self.style in shipped_styles():
            return self
        warn(
            f"{found_in}: the style {self.style!r} is not one that matplotlib ships, and a study "
            "folder cannot choose another; `harness figure --style` can."
        )
        return self.model_copy(update={"style": None})

    def with_absolute_paths(self, to_absolute: Callable[[Path], Path]) -> Self:
        """Copy the options with the absolute path of a style file, which may have no suffix.

        ``to_absolute`` makes a path absolute. A style that is the name of one, shipped or of the
        user's own library, stays.
        """
        if self.style is None or self.style in shipped_styles():
            return self
        path = to_absolute(Path(self.style))
        if not Path(self.style).suffix and not path.is_file():
            # A style of the user's own library, or none.
            return self
        return self.model_copy(update={"style": str(path)})

    def select_measures(self, result: ResultT, *, figure: str) -> ResultT:
        """Let a result report the measures that are to be shown, and no others.

        The measures are those of the options ``measures`` and ``cutoffs``. In a copy, all fields of
        type `Measures` change. Without such options the result stays as it is.

        Raises
        ------
        InputError
            If the result has no measures, or not those that are to be shown; ``figure`` is the name
            of the figure in the sentence.
        """
        if not (self.measures or self.cutoffs):
            return result
        measures_of_fields = {}
        for field in fields(result):
            value = getattr(result, field.name)
            if isinstance(value, Measures):
                measures_of_fields[field.name] = value
        if not any(measures_of_fields.values()):
            kind = "measure" if self.measures else "cut-off"
            raise InputError(f"{figure} has no {kind} to choose.")
        main_measures, *_ = measures_of_fields.values()
        main_measures.require(self.measures, self.cutoffs)
        chosen = {
            name: measures.choose(self.measures, self.cutoffs)
            for name, measures in measures_of_fields.items()
        }
        return replace(result, **chosen)

    @contextmanager
    def style_context(self, base: Any = None) -> Iterator[None]:
        """Set matplotlib's style, colours and size of text within a ``with`` block.

        Texts are not parsed as formulas there. ``base`` are settings of matplotlib below these
        options, for figures of their own; None where axes of another figure are drawn on. Raises
        InputError for an unknown style or colormap.
        """
        from matplotlib import rc_context, rcParams

        _choose_backend()
        base_settings = {} if base is None else {"font.size": FONT_SIZE, **base}
        with rc_context(base_settings):
            self._use_style()
            # Names of systems and measures are no formulas, and no commands of LaTeX.
            rcParams.update({"text.parse_math": False, "text.usetex": False})
            if self.font_size is not None:
                rcParams["font.size"] = self.font_size
            self._use_palette()
            yield

    def _use_style(self) -> None:
        """Set matplotlib's current settings to those of the style, if one is set.

        Raises InputError if there is no such style.
        """
        from matplotlib import style

        if self.style is None:
            return
        try:
            style.use(self.style)
        except OSError:
            hint = suggestion(self.style, style.available)
            raise InputError(f"matplotlib has no style {self.style!r}; {hint}") from None

    def _use_palette(self) -> None:
        """Set matplotlib's current colours to those of the palette, a colormap, if one is set.

        A colormap of at most 20 colours (`MOST_COLOURS`) is a list of them for things without
        order. Of any other one, colours are taken at five positions (`COLOUR_POSITIONS`), and it is
        also the colormap of what has an order. Raises InputError if there is no such colormap.
        """
        from cycler import cycler
        from matplotlib import colormaps, rcParams

        if self.palette is None:
            return
        require_known("matplotlib has no colormap", [self.palette], list(colormaps))
        colormap = colormaps[self.palette]
        listed_colours = getattr(colormap, "colors", ())
        is_list = 0 < len(listed_colours) <= MOST_COLOURS
        if is_list:
            colours = list(listed_colours)
        else:
            colours = [colormap(position) for position in COLOUR_POSITIONS]
            rcParams["image.cmap"] = self.palette
        # Twice, so that it is never the same as matplotlib's own.
        rcParams["axes.prop_cycle"] = cycler(color=colours * 2)

    def apply_to(self, ax: Axes, *, figure: str, systems: tuple[str, ...] = ()) -> None:
        """Remove from a panel the bands and systems that are not to be shown.

        Bands go if the option ``bands`` is False, curves of systems if the option ``systems`` names
        others. The argument ``systems`` has the names of all systems, ``figure`` is the name of the
        figure for errors: raises InputError if systems are chosen and it does not show single
        systems, or for an unknown one.
        """
        from analyses.shared.drawing import keep_systems, spreads_of

        if self.bands is False:
            for band in spreads_of(ax):
                band.remove()
        if self.systems:
            keep_systems(ax, self.systems, systems, figure=figure)
