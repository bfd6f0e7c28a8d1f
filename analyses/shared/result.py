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
from analyses.shared.sentences import (
    USER,
    best_measures_sentence,
    depth_sentence,
    not_compared_sentence,
    plural,
)
from analyses.shared.table import Table, excerpt, overview
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import counted, suggestion, with_article

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.contested_shares import ContestedShares
    from analyses.shared.measure_estimates import Estimates

DeclarationParameters = ParamSpec("DeclarationParameters")
Method = TypeVar("Method", bound=Callable[..., Any])
DeclaredMethod = TypeVar("DeclaredMethod", bound=Callable[..., Any])

DECLARATIONS = "__shown__"
"""Attribute of a method of a result: the tables and figures that it makes."""

METRIC = "metric"
"""The keyword that names a panel in most figures of several panels."""

DEFAULT_SIZE = (5.0, 3.6)
"""Width and height in inches of a panel that is drawn on axes of its own, as in notebooks."""


@dataclass(frozen=True)
class TableDeclaration:
    """A table that a result has.

    Parameters
    ----------
    name
        Its name.
    title
        What it shows.
    alias
        Its number in a paper, such as ``table3``.
    method
        Name of the method that makes it; the keywords of the method are the reader's choices.
    """

    name: str
    title: str
    alias: str | None = None
    method: str = ""

    def make(self, result: Result, **choices: Any) -> Table:
        """Make the table of a result, by the method `method` of the result.

        Choices are keywords of that method; others have its defaults.
        """
        table: Table = getattr(result, self.method)(**choices)
        return table


@dataclass(frozen=True)
class FigureDeclaration:
    """A figure that a result has.

    Parameters
    ----------
    name
        Its name.
    title
        What it shows.
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
    on_page
        Whether the page of a report shows it; else it is drawn when it is asked for.
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
    on_page: bool = True
    method: str = ""

    @property
    def file_stem(self) -> str:
        """Name of its files, without their ending: "figure6_sparsity_metrics", or its name."""
        return self.name if self.number is None else f"figure{self.number}_{self.name}"

    @property
    def sort_key(self) -> float:
        """Its number, to sort by; infinite without one."""
        return float("inf") if self.number is None else self.number

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which a user may ask for it."""
        return self.short, self.name, self.file_stem

    @property
    def short(self) -> str:
        """What a user types to name it: "fig6", or its name without a number."""
        return self.name if self.number is None else f"fig{self.number}"

    def applies_to(self, result: Result) -> bool:
        """Tell whether a result has what the figure shows: curves, the part, and some panel."""
        if self.over_cutoffs and not measures_of(result).curves:
            return False
        if self.part is not None and getattr(result, self.part) is None:
            return False
        return self.panels is None or bool(self.panels_of(result))

    def panels_of(self, result: Result) -> tuple[str, ...]:
        """Name the panels: metrics, or the values of the result's plural of the keyword `panels`.

        For the keyword "label" these are ``result.labels``. Metrics are those of the report
        measures, or those with cut-offs in the grid, if curves run over cut-offs. Only for a figure
        that has such a keyword.
        """
        if self.panels != METRIC:
            return tuple(getattr(result, plural(str(self.panels))))
        measures = measures_of(result)
        if self.over_cutoffs:
            return tuple(metric for metric in measures.metrics if measures.curve(metric))
        return measures.reported.metrics

    def split_options(
        self, result: Result, chosen: Mapping[str, Any]
    ) -> tuple[FigureOptions, dict[str, Any]]:
        """Split a reader's choices into options of all figures, and keywords of this figure.

        A metric chooses a panel, or the curves over its cut-offs; several, or a measure with its
        cut-off, choose what is shown. Raises InputError for an unknown or invalid choice.
        """
        return _split_options(result, getattr(type(result), self.method), chosen, self.short)

    def first_panel(self, result: Result) -> dict[str, str]:
        """Choose the first panel, as a keyword of the method that draws, which may require one.

        The keyword is ``self.panels``, the value the name of the first panel: ``{"metric":
        "nDCG"}``. The result is empty if there is one panel, or the method has a default.
        """
        if self.panels is None:
            return {}
        parameter = signature(getattr(result, self.method)).parameters[self.panels]
        if parameter.default is not parameter.empty:
            return {}
        first, *_ = self.panels_of(result)
        return {self.panels: first}

    def caption(self, result: Result) -> str:
        """Describe in full sentences what it shows of a result, or of the result's part."""
        return result.caption() if self.part is None else result.caption_of(self.part)

    def draw(self, result: Result, ax: Axes | None, **choices: Any) -> Axes:
        """Draw a panel of a result, on new axes if none are given, and return the axes.

        Choices are keywords of the method that draws, and `FigureOptions`.
        """
        axes: Axes = getattr(result, self.method)(ax, **choices)
        return axes


def _missing_method(result: Result, name: str) -> InputError:
    """Make the error for a class of results that lacks a method; names its file."""
    result_class = type(result)
    return InputError(
        f"{sys.modules[result_class.__module__].__file__}: the class {result_class.__name__} has "
        f"no method `{name}`, which every result needs."
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
        """Tabulate all numbers as tidy data frames by name, unrounded; the main one is first."""
        raise _missing_method(self, "frames")

    def frame(self) -> pd.DataFrame:
        """Tabulate the main numbers: the first of `frames`."""
        first, *_ = self.frames().values()
        return first

    def caption(self) -> str:
        """Describe in full sentences what the tables and figures show."""
        raise _missing_method(self, "caption")

    def caption_of(self, part: str) -> str:
        """Describe a part, a field or property, by its own caption; see `FigureDeclaration`."""
        caption: str = getattr(self, part).caption()
        return caption

    def plot(self, *args: Any, **choices: Any) -> Axes:
        """Draw the main figure, the first one declared; see `draw`.

        Raises InputError if the result has no figure.
        """
        figures = figures_of(type(self))
        if not figures:
            raise InputError(f"{with_article(type(self).__name__)} has no figure.")
        return self.draw(figures[0].name, *args, **choices)

    def draw(self, name: str, ax: Axes | None = None, **choices: Any) -> Axes:
        """Draw a panel of a figure, the first one by default, and return its axes.

        The method that the figure's declaration names draws it.

        Parameters
        ----------
        name
            Name of the figure, such as "sparsity_metrics" or "fig6".
        ax
            Axes to draw on; by default new ones.
        choices
            Keywords of the figure's method, and `analyses.shared.figure_options.FigureOptions`.

        Raises
        ------
        InputError
            If no figure has the name, or it does not have what is chosen.
        """
        figures = figures_of(type(self))
        by_name = {alias: declaration for declaration in figures for alias in declaration.names}
        if name not in by_name:
            short_names = [declaration.short for declaration in figures]
            raise InputError(f"no figure is called {name!r}; {suggestion(name, short_names)}")
        declaration = by_name[name]
        panel = declaration.first_panel(self)
        return declaration.draw(self, ax, **(panel | choices))

    def publications(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate the numbers of published tables by the names of these, in a column value.

        The other columns are labels. By default there are none.
        """
        return {}

    def estimates(self) -> Estimates | None:
        """Compute the summary value of each measure with its interval; None if there is none."""
        return None

    def headline(self) -> Estimates | None:
        """Compute the values whose sources of chance are separated; by default the estimates."""
        return self.estimates()

    def contested_shares(self) -> ContestedShares | None:
        """Look up what each measure does with the contested pairs of systems; None if unknown.

        The answer of a report compares measures by these: `analyses.shared.contested_pairs`.
        """
        return None

    def contested_estimates(self) -> Estimates | None:
        """Compute the shares of the contested pairs, with intervals; None if they are unknown.

        They are about the same subject as `estimates`.
        """
        shares = self.contested_shares()
        estimates = self.estimates()
        if shares is None or estimates is None:
            return None
        return shares.estimates(estimates.subject, estimates.best)

    def under_settings(self, estimates: Estimates) -> Estimates:
        """Add to estimates their values under all settings of the systems, if these are known."""
        return replace(estimates, over_settings=self.over_settings)

    def findings(self) -> Sequence[str]:
        """Describe in sentences what was found; by default from the estimates.

        These are which measures may be the best by `estimates`, and whether the deepest cut-off
        differs from the shallowest. Empty without estimates. Report measures that do not use the
        judgements are never called best: they are named, and not compared.
        """
        estimates = self.estimates()
        if estimates is None:
            return ()
        contested = self.contested_shares()
        ignoring: list[str] = []
        compared = self.under_settings(estimates)
        if contested is not None and contested.pairs.ignoring_judgements:
            ignoring = contested.pairs.ignoring_judgements
            compared = compared.select(contested.pairs.rewarding(compared.measures.reported))
        sentences = [
            best_measures_sentence(compared, self.units),
            not_compared_sentence(ignoring),
            depth_sentence(estimates, self.units),
        ]
        return tuple(sentence for sentence in sentences if sentence)

    def conclusion(self) -> str:
        """Write the text that a command prints below its tables; by default the findings."""
        return "\n".join(f"{finding}\n" for finding in self.findings())

    def cautions(self) -> Sequence[str]:
        """Write warnings about the interpretation, in sentences; by default none."""
        return ()

    def __init_subclass__(cls) -> None:
        """Keep `__repr__`, in whose place a dataclass would print all its arrays."""
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Write the class with its summary, the sizes of the study, and the main data frame."""
        name = type(self).__name__
        summary = (type(self).__doc__ or "").partition("\n")[0]
        n_systems = getattr(self, "n_systems", 0) or len(getattr(self, "systems", ()))
        counts = {
            "measure": len(measures_of(self)),
            "system": n_systems,
            self.unit: getattr(self, "n_users", 0),
        }
        sizes = ", ".join(counted(count, noun) for noun, count in counts.items() if count)
        plot = ".plot(), " if figures_of(type(self)) else ""
        title = f"{name}: {summary}\n{sizes}".strip()
        return overview(title, self.frame(), f".frame(), {plot}.findings(), .caption()")

    def _repr_html_(self) -> str:
        return excerpt(self.caption(), self.frame(), [*self.findings(), *self.cautions()])


def title_of(declaration: TableDeclaration | FigureDeclaration, unit: str = USER) -> str:
    """Write the title of a table or figure: {units} and {Units} become the plural of the unit."""
    units = plural(unit)
    return declaration.title.replace("{units}", units).replace("{Units}", units.capitalize())


def measures_of(result: Result) -> Measures:
    """Look up the measures of a result; none, if it is about something else."""
    return getattr(result, "measures", Measures(()))


def _declaring_decorator(
    declaration_class: Callable[DeclarationParameters, TableDeclaration | FigureDeclaration],
    wrap: Callable[[Method], DeclaredMethod],
) -> Callable[DeclarationParameters, Callable[[Method], DeclaredMethod]]:
    """Make the decorator that declares a method of a result as one of its tables or figures.

    The decorator takes the parameters of ``declaration_class``. It replaces the method by what
    ``wrap`` makes of it, and keeps the declaration in the attribute `DECLARATIONS`, before others
    of the same method.
    """

    def decorator(
        *args: DeclarationParameters.args, **keywords: DeclarationParameters.kwargs
    ) -> Callable[[Method], DeclaredMethod]:
        """Take the parameters of a declaration, and return what declares a method with it."""

        def declare(method: Method) -> DeclaredMethod:
            """Wrap a method, and attach the declaration to what becomes of it."""
            earlier = getattr(method, DECLARATIONS, ())
            declared_method = wrap(method)
            declaration = declaration_class(*args, **keywords)
            setattr(declared_method, DECLARATIONS, (declaration, *earlier))
            return declared_method

        return declare

    return decorator


def _with_options(method: Callable[..., Any]) -> Callable[..., Axes]:
    """Wrap a method that draws on axes: the new one makes and returns them, and takes options.

    Options are those of `FigureOptions`, beside the keywords of the method. A method that is
    wrapped already (it has the attribute `DECLARATIONS`) stays as it is.
    """
    if hasattr(method, DECLARATIONS):
        return method

    @wraps(method)
    def plot(self: Result, ax: Axes | None = None, **choices: Any) -> Axes:
        """Split the choices into options and keywords, draw with both, and return the axes.

        The method draws the result with the chosen measures alone, on new axes if none are given.
        Raises InputError for a choice that the figure does not have.
        """
        from analyses.shared.drawing import keep_texts_unparsed
        from analyses.shared.log_numbers import write_plain_numbers

        name = method.__name__
        options, keywords = _split_options(self, method, choices, name)
        has_own_axes = ax is None
        with options.style_context(STYLE if has_own_axes else None):
            result = options.select_measures(self, figure=name)
            if ax is None:
                ax = _new_axes(options)
            method(result, ax, **keywords)
            options.apply_to(ax, figure=name, systems=getattr(self, "systems", ()))
            write_plain_numbers(ax)
            if has_own_axes:
                keep_texts_unparsed(ax)
        if options.title is False:
            ax.set_title("")
        return ax

    return plot


def _new_axes(options: FigureOptions) -> Axes:
    """Make axes in a new figure of pyplot's, which notebooks show, of the size in the options."""
    from matplotlib import pyplot

    width, height = DEFAULT_SIZE
    size = (options.width or width, options.height or height)
    return pyplot.figure(figsize=size, layout="constrained").subplots()


def _split_options(
    result: Result, method: Callable[..., Any], choices: Mapping[str, Any], name: str
) -> tuple[FigureOptions, dict[str, Any]]:
    """Split choices for a figure into options of all figures and keywords of its method.

    A choice that is both is a keyword, but a metric that the result does not have is an option: it
    may be a measure with its cut-off. A method that takes any keyword (``**choices``) gets all, and
    no option is set. ``name`` is that of the figure in errors: raises InputError for a choice that
    is neither, or an invalid option.
    """
    parameters = signature(method).parameters.values()
    if any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters):
        return FigureOptions(), dict(choices)
    keyword_names = _keywords(method)
    keywords = {key: value for key, value in choices.items() if key in keyword_names}
    if keywords.get(METRIC) not in (None, *measures_of(result).metrics):
        del keywords[METRIC]
    options = {key: value for key, value in choices.items() if key not in keywords}
    known_names = [*FigureOptions.model_fields, *keyword_names]
    for key in options:
        if key not in known_names and key not in PLURAL_OPTIONS:
            raise InputError(f"{name} has no {key!r} to choose; {suggestion(key, known_names)}")
    return FigureOptions.from_keywords(options), keywords


table = _declaring_decorator(TableDeclaration, lambda method: method)
"""Declare a method of a result as a table; see `TableDeclaration`."""

figure = _declaring_decorator(FigureDeclaration, _with_options)
"""Declare a method of a result as what draws a panel of a figure; see `FigureDeclaration`."""


def tables_of(result_class: type[Result]) -> list[TableDeclaration]:
    """List the tables that results of a class have, in the order in which they are declared."""
    declarations = _declarations(result_class)
    return [
        declaration for declaration in declarations if isinstance(declaration, TableDeclaration)
    ]


def figures_of(result_class: type[Result]) -> list[FigureDeclaration]:
    """List the figures that results of a class have, in the order in which they are declared."""
    declarations = _declarations(result_class)
    return [
        declaration for declaration in declarations if isinstance(declaration, FigureDeclaration)
    ]


def _declarations(
    result_class: type[Result],
) -> Iterator[TableDeclaration | FigureDeclaration]:
    """Go through the tables and figures that a class declares, each with its method's name."""
    for name, method in vars(result_class).items():
        for declaration in getattr(method, DECLARATIONS, ()):
            yield replace(declaration, method=name)


def choices_of(
    result_class: type[Result], declaration: TableDeclaration | FigureDeclaration
) -> dict[str, tuple[Any, ...]]:
    """Collect what a reader may choose in a table or figure: the keywords of its method.

    By the name of each keyword: the values that it may have, if its annotation is a Literal, else
    an empty tuple.
    """
    method = getattr(result_class, declaration.method)
    hints = get_type_hints(method, localns={"Axes": Any})
    return {name: _literals(hints.get(name)) for name in _keywords(method)}


def _keywords(method: Callable[..., Any]) -> list[str]:
    """List the keyword-only parameters of a method."""
    parameters = signature(method).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]


def _literals(hint: Any) -> tuple[Any, ...]:
    """Collect the values of a Literal in an annotation, also of one that may be None.

    The result is empty if the annotation has none.
    """
    arguments = get_args(hint)
    if getattr(hint, "__origin__", None) is Literal:
        return arguments
    return tuple(value for part in arguments for value in _literals(part))
