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

PLURAL_OPTIONS = {
    "metric": "measures",
    "measure": "measures",
    "cutoff": "cutoffs",
    "system": "systems",
}
"""What a figure shows, when Python is given one of a kind: the option of all of the kind."""

MOST_COLOURS = 20
"""A colormap of no more colours is a list of them."""

PLACES = (0.95, 0.2, 0.6, 0.4, 0.8)
"""Where colours are taken from any other, one after the other."""

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


def shipped_styles() -> set[str]:
    """Name the styles that matplotlib ships; a user's own are not among them."""
    from matplotlib import get_data_path

    files = Path(get_data_path(), "stylelib").glob("*.mplstyle")
    return {"default", *(file.stem for file in files)}


def _inches(width: Any) -> Any:
    if isinstance(width, str) and width not in COLUMN_WIDTHS:
        try:
            return float(width)
        except ValueError:
            raise ValueError(f"must be single, double or inches, got {width!r}") from None
    return COLUMN_WIDTHS[width] if isinstance(width, str) else width


LARGEST = 100
"""Inches of a figure, and points of its text: a page of 100 x 100 inches has 900 million pixels."""

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
        description="Whether intervals of curves are drawn; then figures of three curves or more "
        "have a panel for each.",
    )
    title: bool | None = Field(None, description="Whether a figure of one panel has a title.")

    @model_serializer
    def _as_given(self) -> dict[str, Any]:
        """Leave out what is not given."""
        return self.set_options

    @classmethod
    def from_keywords(cls, keywords: Mapping[str, Any]) -> Self:
        """Check options as Python gives them: one measure, cut-off or system may stand alone."""
        options: dict[str, Any] = {}
        for name, value in keywords.items():
            option = PLURAL_OPTIONS.get(name, name)
            is_one = option in PLURAL_OPTIONS.values() and isinstance(value, str | int)
            if value is not None:
                options[option] = (value,) if is_one else value
        return check_settings("a figure", cls, options)

    @property
    def set_options(self) -> dict[str, Any]:
        """The options that are given."""
        return {name: value for name, value in self if value not in (None, ())}

    def with_defaults(self, usual: FigureOptions) -> Self:
        """Take from usual options what is not given here."""
        return self.model_copy(update=usual.set_options | self.set_options)

    def without_style_file(self, *, found_in: Path) -> Self:
        """Leave out a style that is not one of matplotlib's, with a warning.

        Options that were found in a folder may come from anybody, and a style may run programs.
        """
        if self.style is None or self.style in shipped_styles():
            return self
        warn(
            f"{found_in}: the style {self.style!r} is not one that matplotlib ships, and a study "
            "folder cannot choose another; `harness figure --style` can."
        )
        return self.model_copy(update={"style": None})

    def with_absolute_paths(self, anchor: Callable[[Path], Path]) -> Self:
        """Make the path of a style file absolute; its name may have no suffix."""
        if self.style is None or self.style in shipped_styles():
            return self
        path = anchor(Path(self.style))
        if not Path(self.style).suffix and not path.is_file():
            # A style of the user's own library, or none.
            return self
        return self.model_copy(update={"style": str(path)})

    def select_measures(self, result: ResultT, *, figure: str) -> ResultT:
        """Let a result report the measures that are to be shown, and no others."""
        if not (self.measures or self.cutoffs):
            return result
        every = {f.name: getattr(result, f.name) for f in fields(result)}
        every = {name: value for name, value in every.items() if isinstance(value, Measures)}
        if not any(every.values()):
            named = "measure" if self.measures else "cut-off"
            raise InputError(f"{figure} has no {named} to choose.")
        next(iter(every.values())).require(self.measures, self.cutoffs)
        chosen = {n: each.choose(self.measures, self.cutoffs) for n, each in every.items()}
        return replace(result, **chosen)

    @contextmanager
    def style_context(self, base: Any = None) -> Iterator[None]:
        """Draw what is drawn within in a style, colours and size of text, over those of a base."""
        from cycler import cycler
        from matplotlib import colormaps, rc_context, rcParams, style

        _choose_backend()
        with rc_context({} if base is None else {"font.size": FONT_SIZE, **base}):
            if self.style is not None:
                try:
                    style.use(self.style)
                except OSError:
                    hint = suggestion(self.style, style.available)
                    raise InputError(f"matplotlib has no style {self.style!r}; {hint}") from None
            # Names of systems and measures are no formulas, and no commands of LaTeX.
            rcParams.update({"text.parse_math": False, "text.usetex": False})
            if self.font_size is not None:
                rcParams["font.size"] = self.font_size
            if self.palette is not None:
                require_known("matplotlib has no colormap", [self.palette], list(colormaps))
                found = colormaps[self.palette]
                own = getattr(found, "colors", ())
                is_list = 0 < len(own) <= MOST_COLOURS
                colours = own if is_list else [found(place) for place in PLACES]
                # Twice, so that it is never the same as matplotlib's own.
                rcParams["axes.prop_cycle"] = cycler(color=[*colours] * 2)
                if not is_list:
                    rcParams["image.cmap"] = self.palette
            yield

    def apply_to(self, ax: Axes, *, figure: str, systems: tuple[str, ...] = ()) -> None:
        """Take from a panel the bands and systems that are not to be shown."""
        from analyses.shared.drawing import keep_systems, spreads_of

        if self.bands is False:
            for band in spreads_of(ax):
                band.remove()
        if self.systems:
            keep_systems(ax, self.systems, systems, figure=figure)
