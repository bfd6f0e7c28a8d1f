"""The files of a result in the study folder; what a user's analysis shows is kept whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import Cell
from analyses.shared.result import (
    METRIC,
    FigureDeclaration,
    Result,
    TableDeclaration,
    figure,
    figures_of,
    measures_of,
    table,
    tables_of,
)
from analyses.shared.table import Table, excerpt
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


MAX_DECIMALS = 20
"""Largest number of decimals that a table may have."""


@dataclass(frozen=True, eq=False)
class KeptTable:
    """A table as it was made, and its declaration (``face``)."""

    face: TableDeclaration
    name: str
    title: str
    note: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    bold: tuple[tuple[int, int], ...]
    decimals: int
    decimals_of_columns: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, result: Result, declaration: TableDeclaration) -> KeptTable:
        """Make a table of a result, and keep its cells."""
        made_table = declaration.make(result)
        rows = tuple(tuple(_plain(cell) for cell in row) for row in made_table.rows)
        return cls(
            face=declaration,
            name=made_table.name,
            title=made_table.title,
            note=made_table.note,
            headings=tuple(made_table.headings),
            rows=rows,
            bold=tuple(made_table.bold),
            decimals=made_table.decimals,
            decimals_of_columns=tuple(made_table.decimals_of_columns.items()),
        )

    def to_table(self, _: Result) -> Table:
        """Make the table from the cells that are kept."""
        return Table(
            name=self.name,
            title=self.title,
            note=self.note,
            headings=self.headings,
            rows=self.rows,
            bold=self.bold,
            decimals=self.decimals,
            decimals_of_columns=dict(self.decimals_of_columns),
        )


@dataclass(frozen=True, eq=False)
class KeptFigure:
    """The declaration of a figure (``face``), the names of its panels, and its caption."""

    face: FigureDeclaration
    panels: tuple[str, ...]
    caption: str

    def draw(self, result: Result, ax: Axes | None = None, **_: Any) -> Axes:
        """Refuse to draw with InputError: the code that draws is in the user's file."""
        raise InputError(
            f"the figure {self.face.name!r} is drawn by a file of a user's, which is not run "
            "unasked: name it with --plugin, or take the one in figures/."
        )


@dataclass(frozen=True, eq=False)
class KeptResult(Result):
    """What a result showed: tables, figures' captions and sentences.

    Parameters
    ----------
    measures
        The measures of the result.
    text
        Its caption.
    told, beware
        Its findings and cautions.
    tables, figures
        Its tables, and its figures without their drawing code.
    numbers
        Its estimates; None if it has none.
    """

    measures: Measures
    text: str
    told: tuple[str, ...]
    beware: tuple[str, ...]
    tables: tuple[KeptTable, ...]
    figures: tuple[KeptFigure, ...]
    numbers: Estimates | None

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Refuse with InputError: the tables in full are files of the study."""
        raise InputError("the result is of a user's analysis: its tables in full are in tables/.")

    def caption(self) -> str:
        """Return the caption that the result had."""
        return self.text

    def caption_of(self, part: str) -> str:
        """Return the caption of a figure; ``part`` is the attribute that keeps the figure."""
        return getattr(self, part).caption

    def findings(self) -> Sequence[str]:
        """Return the findings of the result."""
        return self.told

    def cautions(self) -> Sequence[str]:
        """Return the cautions of the result."""
        return self.beware

    def estimates(self) -> Estimates | None:
        """Return the estimates of the result; None if it has none."""
        return self.numbers

    def _repr_html_(self) -> str:
        return excerpt(self.text, None, [*self.told, *self.beware])


def keep_result(result: Result) -> bytes:
    """Write what a result shows as the content of an evidence file, for `read_kept_result`.

    That are its tables, the captions of its figures (those that apply to it), its sentences and its
    estimates.
    """
    result_class = type(result)
    figures = []
    for declaration in figures_of(result_class):
        if declaration.applies_to(result):
            panels = tuple(declaration.panels_of(result)) if declaration.panels else ()
            figures.append(KeptFigure(declaration, panels, declaration.caption(result)))
    tables = [KeptTable.of(result, declaration) for declaration in tables_of(result_class)]
    kept_result = KeptResult(
        measures=measures_of(result),
        text=result.caption(),
        told=tuple(result.findings()),
        beware=tuple(result.cautions()),
        tables=tuple(tables),
        figures=tuple(figures),
        numbers=result.estimates(),
        unit=result.unit,
    )
    return to_evidence(kept_result)


def read_kept_result(path: Path) -> KeptResult:
    """Read what `keep_result` wrote, as a result of a class of its own.

    The class declares the same tables and figures as that of the user's analysis. Its figures
    refuse to be drawn. Raises InputError if the file cannot be read, or a table or figure could not
    have been made by a result.
    """
    kept_result = read_evidence(path, KeptResult)
    faults = [_fault_of_table(kept_table) for kept_table in kept_result.tables]
    faults += [_fault_of_figure(kept_figure) for kept_figure in kept_result.figures]
    for fault in faults:
        if fault:
            raise InputError(f"{path}: not a result of this analysis, or damaged: {fault}.")
    members: dict[str, Any] = {}
    for kept_table in kept_result.tables:
        members |= _members_of_table(kept_table)
    for kept_figure in kept_result.figures:
        members |= _members_of_figure(kept_figure)
    result_class = type(KeptResult.__name__, (KeptResult,), members)
    field_values = {field.name: getattr(kept_result, field.name) for field in fields(kept_result)}
    return result_class(**field_values)


def _members_of_table(kept_table: KeptTable) -> dict[str, Any]:
    """Make the member of a class of results that declares a kept table: its method, by name."""
    declaration = kept_table.face
    name = f"table_{declaration.name}"
    declare = table(declaration.name, declaration.title, declaration.alias)
    return {name: declare(_method(name, kept_table.to_table))}


def _members_of_figure(kept_figure: KeptFigure) -> dict[str, Any]:
    """Make the members of a class of results that declare a kept figure, by name.

    These are the figure itself, a method that refuses to draw it, and the names of its panels if
    they are not of metrics.
    """
    declaration = kept_figure.face
    panels = declaration.panels
    part = f"figure_{declaration.name}"
    method_name = f"draw_{declaration.name}"
    declare = figure(
        declaration.name, declaration.title, number=declaration.number, panels=panels, part=part
    )
    members = {part: kept_figure, method_name: declare(_method(method_name, kept_figure.draw))}
    if panels not in (None, METRIC):
        members[f"{panels}s"] = kept_figure.panels
    return members


def _fault_of_table(kept_table: KeptTable) -> str:
    """Word what no table can have: rows of several lengths, too many decimals; "" without fault.

    Rows must be as long as the headings, if there are some. Decimals go from 0 to `MAX_DECIMALS`.
    """
    widths = {len(row) for row in kept_table.rows}
    if kept_table.headings:
        widths.add(len(kept_table.headings))
    if len(widths) > 1:
        return f"the rows of the table {kept_table.name!r} differ in length"
    decimals_of_columns = dict(kept_table.decimals_of_columns)
    for decimals in (kept_table.decimals, *decimals_of_columns.values()):
        if not 0 <= decimals <= MAX_DECIMALS:
            return f"the table {kept_table.name!r} has {decimals} decimals"
    return ""


def _fault_of_figure(kept_figure: KeptFigure) -> str:
    """Word that the panels of a figure cannot be an attribute of a result; "" without fault.

    Their name in the plural becomes an attribute that lists them: it must be an identifier, and no
    attribute that results have already.
    """
    panels = kept_figure.face.panels
    if panels in (None, METRIC):
        return ""
    members = {*dir(KeptResult), *(field.name for field in fields(KeptResult))}
    if not panels.isidentifier() or f"{panels}s" in members:
        return f"the figure {kept_figure.face.name!r} has panels called {panels!r}"
    return ""


def _method(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method of a class of results that passes its arguments, the result first, on."""

    def method(self: KeptResult, *args: Any, **options: Any) -> Any:
        return call(self, *args, **options)

    method.__name__ = name
    return method


def _plain(cell: Any) -> Cell:
    """Convert a number of numpy to one of Python, which JSON can hold."""
    return cell.item() if isinstance(cell, np.generic) else cell
