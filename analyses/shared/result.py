"""What an analysis finds, and the tables and figures in which it is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, get_args, get_type_hints

from analyses.shared.evidence import FIELD_KEY
from analyses.shared.figure_options import PLURAL_OPTIONS, STYLE, FigureOptions
from analyses.shared.measure import Measures
from analyses.shared.sentences import USER, best_measures_sentence, depth_sentence, plural
from analyses.shared.table import Table, excerpt, overview
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import counted, suggestion, with_article

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.estimates import Estimates

Facts = ParamSpec("Facts")
Method = TypeVar("Method", bound=Callable[..., Any])
Shown = TypeVar("Shown", bound=Callable[..., Any])
MARK = "__shown__"

METRIC = "metric"
"""The keyword that names a panel in most figures of several panels."""


@dataclass(frozen=True)
class TableDeclaration:
    """A table of a result.

    Parameters
    ----------
    name, title
        Its name, and what it shows.
    alias
        Its number in a paper, such as ``table3``.
    method
        Name of the method that makes it; the keywords of the method are the reader's choices.
    """

    name: str
    title: str
    alias: str | None = None
    method: str = ""

    def make(self, result: Result, **chosen: Any) -> Table:
        """Make the table, with the defaults of the result for what is not chosen."""
        made: Table = getattr(result, self.method)(**chosen)
        return made


@dataclass(frozen=True)
class FigureDeclaration:
    """A figure that a result has.

    Parameters
    ----------
    name, title
        What it is called, and what it shows.
    number
        Its place in the report, and in a paper; None comes last.
    panels
        The keyword of the method that names a panel, with one panel for each value: "metric", or
        another of which the result has a plural; None for one panel.
    comparable
        Whether panels share their axes where they can.
    part
        The part of the result that it shows, a field or property: where that is None there is no
        figure, else the caption is the part's. By default it shows the whole result.
    over_cutoffs
        Whether curves run over cut-offs, or are of several of one metric: where no metric has
        several in the grid there is no figure.
    wide
        Whether panels are wide, for long names or many cells.
    method
        Name of the method that draws a panel on given axes.
    """

    name: str
    title: str
    number: int | None = None
    panels: str | None = None
    comparable: bool = True
    part: str | None = field(default=None, metadata={FIELD_KEY: "of"})
    over_cutoffs: bool = False
    wide: bool = field(default=False, metadata={FIELD_KEY: "roomy"})
    method: str = ""

    @property
    def file_stem(self) -> str:
        """Name of its files, without their ending."""
        return self.name if self.number is None else f"figure{self.number}_{self.name}"

    @property
    def sort_key(self) -> float:
        """Its number, to sort by; infinite without one."""
        return float("inf") if self.number is None else self.number

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called."""
        return self.short, self.name, self.file_stem

    @property
    def short(self) -> str:
        """What a user types to name it."""
        return self.name if self.number is None else f"fig{self.number}"

    def applies_to(self, result: Result) -> bool:
        """Tell whether a result has what it shows."""
        if self.over_cutoffs and not measures_of(result).curves:
            return False
        return self.part is None or getattr(result, self.part) is not None

    def panels_of(self, result: Result) -> tuple[str, ...]:
        """Name the panels: the metrics, or what the result has of another kind."""
        if self.panels != METRIC:
            return tuple(getattr(result, plural(str(self.panels))))
        measures = measures_of(result)
        if self.over_cutoffs:
            return tuple(metric for metric in measures.metrics if measures.curve(metric))
        return measures.reported.metrics

    def is_single(self, result: Result) -> bool:
        """Say whether it is one panel of usual size; of metrics there are small ones."""
        return self.panels is None or (self.panels != METRIC and len(self.panels_of(result)) == 1)

    def split_options(
        self, result: Result, chosen: Mapping[str, Any]
    ) -> tuple[FigureOptions, dict[str, Any]]:
        """Tell the options of all figures from what this one lets a reader choose, and check them.

        A metric chooses a panel, or the curves over its cut-offs; several, or a measure with its
        cut-off, choose what is shown.
        """
        return _options_in(result, getattr(type(result), self.method), chosen, self.short)

    def first_panel(self, result: Result) -> dict[str, str]:
        """Choose the first panel, where the method that draws must be told of one."""
        if self.panels is None:
            return {}
        told = signature(getattr(result, self.method)).parameters[self.panels]
        return {self.panels: self.panels_of(result)[0]} if told.default is told.empty else {}

    def caption(self, result: Result) -> str:
        """Say in full sentences what it shows of a result."""
        return result.caption() if self.part is None else result.caption_of(self.part)

    def draw(self, result: Result, ax: Axes | None, **chosen: Any) -> Axes:
        """Draw a panel, on new axes if none are given."""
        drawn: Axes = getattr(result, self.method)(ax, **chosen)
        return drawn


def _undefined(result: Result, name: str) -> InputError:
    kind = type(result)
    return InputError(
        f"{sys.modules[kind.__module__].__file__}: the class {kind.__name__} has no method "
        f"`{name}`, which every result needs."
    )


@dataclass(frozen=True, eq=False)
class Result:
    """The result of an analysis: a frozen dataclass of arrays and labels.

    ``frame()`` gives its numbers, ``plot()`` its main figure, ``findings()`` what they mean. The
    arrays are attributes. Methods declared with `table` and `figure` make its tables and figures.

    Parameters
    ----------
    unit
        What a score belongs to: "user" or "topic".
    over_settings
        The numbers of `estimates` under several settings of the systems, of shape (n_measures,
        n_settings), where the study was repeated so.
    """

    unit: str = field(default=USER, kw_only=True)
    over_settings: Floats | None = field(default=None, kw_only=True)

    @property
    def units(self) -> str:
        """Plural of the unit."""
        return plural(self.unit)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the measures that are reported."""
        return tuple(map(str, measures_of(self).reported))

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all numbers as tidy data frames by name, unrounded."""
        raise _undefined(self, "frames")

    def frame(self) -> pd.DataFrame:
        """Give the main data frame: the first of `frames`."""
        return next(iter(self.frames().values()))

    def caption(self) -> str:
        """Describe in full sentences what the tables and figures show."""
        raise _undefined(self, "caption")

    def caption_of(self, part: str) -> str:
        """Describe a part that has a caption of its own; see `FigureDeclaration`."""
        caption: str = getattr(self, part).caption()
        return caption

    def plot(self, *args: Any, **chosen: Any) -> Axes:
        """Draw the main figure; see `draw`."""
        faces = figures_of(type(self))
        if not faces:
            raise InputError(f"{with_article(type(self).__name__)} has no figure.")
        return self.draw(faces[0].name, *args, **chosen)

    def draw(self, name: str, ax: Axes | None = None, **chosen: Any) -> Axes:
        """Draw a panel of a figure; see `analyses.shared.figure_options` for what may be chosen."""
        faces = {known: face for face in figures_of(type(self)) for known in face.names}
        if name not in faces:
            known = [face.short for face in figures_of(type(self))]
            raise InputError(f"no figure is called {name!r}; {suggestion(name, known)}")
        face = faces[name]
        return face.draw(self, ax, **(face.first_panel(self) | chosen))

    def publications(self) -> Mapping[str, pd.DataFrame]:
        """Give the numbers of published tables by their names, in a column value, with labels."""
        return {}

    def estimates(self) -> Estimates | None:
        """Give the summary value of each measure with its interval; None if there is none."""
        return None

    def headline(self) -> Estimates | None:
        """Give the values whose sources of chance are separated; by default the estimates."""
        return self.estimates()

    def under_settings(self, found: Estimates) -> Estimates:
        """Give estimates what they are under all settings of the systems, if these are known."""
        return replace(found, over_settings=self.over_settings)

    def findings(self) -> Sequence[str]:
        """Describe in sentences what was found; by default from the estimates."""
        found = self.estimates()
        if found is None:
            return ()
        best = best_measures_sentence(self.under_settings(found), self.units)
        return tuple(filter(None, (best, depth_sentence(found, self.units))))

    def conclusion(self) -> str:
        """Give the text that a command prints below its tables; by default the findings."""
        return "\n".join(f"{finding}\n" for finding in self.findings())

    def cautions(self) -> Sequence[str]:
        """Give warnings about the interpretation, in sentences."""
        return ()

    def __init_subclass__(cls) -> None:
        """Keep `__repr__`, in whose place a dataclass would print all its arrays."""
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        about = (type(self).__doc__ or "").partition("\n")[0]
        counts = {
            "measure": len(measures_of(self)),
            "system": getattr(self, "n_systems", 0) or len(getattr(self, "systems", ())),
            self.unit: getattr(self, "n_users", 0),
        }
        sizes = ", ".join(counted(count, noun) for noun, count in counts.items() if count)
        drawn = ".plot(), " if figures_of(type(self)) else ""
        calls = f".frame(), {drawn}.findings(), .caption()"
        return overview(f"{type(self).__name__}: {about}\n{sizes}".strip(), self.frame(), calls)

    def _repr_html_(self) -> str:
        return excerpt(self.caption(), self.frame(), [*self.findings(), *self.cautions()])


def title_of(face: TableDeclaration | FigureDeclaration, unit: str = USER) -> str:
    """Give the title of a face, in which {units} or {Units} may stand for what scores are of."""
    units = plural(unit)
    return face.title.replace("{units}", units).replace("{Units}", units.capitalize())


def measures_of(result: Result) -> Measures:
    """Give the measures of a result; none, if it is about something else."""
    return getattr(result, "measures", Measures(()))


def _declaring(
    kind: Callable[Facts, TableDeclaration | FigureDeclaration], made: Callable[[Method], Shown]
) -> Callable[Facts, Callable[[Method], Shown]]:
    """Give the decorator of methods of a result that keeps what it is told as a face of a kind."""

    def decorator(*args: Facts.args, **facts: Facts.kwargs) -> Callable[[Method], Shown]:
        def declare(method: Method) -> Shown:
            shown = made(method)
            setattr(shown, MARK, (kind(*args, **facts), *getattr(method, MARK, ())))
            return shown

        return declare

    return decorator


def _with_options(method: Callable[..., Any]) -> Callable[..., Axes]:
    """Let a method that draws on axes make and give them, and take the options of all figures."""
    if hasattr(method, MARK):
        return method

    @wraps(method)
    def plot(self: Result, ax: Axes | None = None, **chosen: Any) -> Axes:
        from analyses.shared.drawing import keep_texts_unparsed, write_plain_numbers

        name = method.__name__
        options, own = _options_in(self, method, chosen, name)
        is_new = ax is None
        with options.style_context(STYLE if ax is None else None):
            shown = options.select_measures(self, figure=name)
            if ax is None:
                from matplotlib import pyplot

                # Notebooks show figures of pyplot's.
                size = options.width or 5.0, options.height or 3.6
                ax = pyplot.figure(figsize=size, layout="constrained").subplots()
            method(shown, ax, **own)
            options.apply_to(ax, figure=name, systems=getattr(self, "systems", ()))
            write_plain_numbers(ax)
            if is_new:
                keep_texts_unparsed(ax)
        if options.title is False:
            ax.set_title("")
        return ax

    return plot


def _options_in(
    result: Result, method: Callable[..., Any], chosen: Mapping[str, Any], name: str
) -> tuple[FigureOptions, dict[str, Any]]:
    if any(p.kind == p.VAR_KEYWORD for p in signature(method).parameters.values()):
        return FigureOptions(), dict(chosen)
    known = _keywords(method)
    own = {key: value for key, value in chosen.items() if key in known}
    if own.get(METRIC) not in (None, *measures_of(result).metrics):
        del own[METRIC]
    others = {key: value for key, value in chosen.items() if key not in own}
    options = [*FigureOptions.model_fields, *known]
    for key in others:
        if key not in (*options, *PLURAL_OPTIONS):
            raise InputError(f"{name} has no {key!r} to choose; {suggestion(key, options)}")
    return FigureOptions.from_keywords(others), own


table = _declaring(TableDeclaration, lambda method: method)
"""Declare a method of a result as a table; see `TableDeclaration`."""

figure = _declaring(FigureDeclaration, _with_options)
"""Declare a method of a result as what draws a panel of a figure; see `FigureDeclaration`."""


def tables_of(kind: type[Result]) -> list[TableDeclaration]:
    """List the tables that results of a class have, in the order in which they are declared."""
    return [face for face in _faces(kind) if isinstance(face, TableDeclaration)]


def figures_of(kind: type[Result]) -> list[FigureDeclaration]:
    """List the figures that results of a class have, in the order in which they are declared."""
    return [face for face in _faces(kind) if isinstance(face, FigureDeclaration)]


def _faces(kind: type[Result]) -> Iterator[TableDeclaration | FigureDeclaration]:
    for name, method in vars(kind).items():
        for face in getattr(method, MARK, ()):
            yield replace(face, method=name)


def choices_of(
    kind: type[Result], face: TableDeclaration | FigureDeclaration
) -> dict[str, tuple[Any, ...]]:
    """Say what a reader may choose: the keywords of the method, with their values if few."""
    method = getattr(kind, face.method)
    hints = get_type_hints(method, localns={"Axes": Any})
    return {name: _literals(hints.get(name)) for name in _keywords(method)}


def _keywords(method: Callable[..., Any]) -> list[str]:
    return [p.name for p in signature(method).parameters.values() if p.kind == p.KEYWORD_ONLY]


def _literals(hint: Any) -> tuple[Any, ...]:
    """Give the values of a Literal, also where it may be None."""
    values = get_args(hint)
    if getattr(hint, "__origin__", None) is Literal:
        return values
    return tuple(value for part in values for value in _literals(part))
