"""The files of a result in the study folder; what a user's analysis shows is kept whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.shared.estimates import Estimates
from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measures
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
from analyses.shared.table import Cell, Table, excerpt
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


MOST_DECIMALS = 20
"""Decimals that a table may have."""


@dataclass(frozen=True, eq=False)
class KeptTable:
    """A table as it was made, and its face."""

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
    def of(cls, result: Result, face: TableDeclaration) -> KeptTable:
        """Make a table of a result, to be kept."""
        made = face.make(result)
        rows = tuple(tuple(map(_plain, row)) for row in made.rows)
        facts = made.name, made.title, made.note, tuple(made.headings)
        of_columns = tuple(made.decimals_of_columns.items())
        return cls(face, *facts, rows, tuple(made.bold), made.decimals, of_columns)

    def made(self, _: Result) -> Table:
        """Give the table."""
        facts = self.name, self.title, self.note, self.headings
        of_columns = dict(self.decimals_of_columns)
        return Table(*facts, self.rows, self.bold, self.decimals, of_columns)


@dataclass(frozen=True, eq=False)
class KeptFigure:
    """The face of a figure, the names of its panels, and its caption."""

    face: FigureDeclaration
    panels: tuple[str, ...]
    caption: str

    def draw(self, result: Result, ax: Axes | None = None, **_: Any) -> Axes:
        """Refuse to draw: what does is in the user's file."""
        raise InputError(
            f"the figure {self.face.name!r} is drawn by a file of a user's, which is not run "
            "unasked: name it with --plugin, or take the one in figures/."
        )


@dataclass(frozen=True, eq=False)
class KeptResult(Result):
    """What a result showed: tables, figures' captions and sentences."""

    measures: Measures
    text: str
    told: tuple[str, ...]
    beware: tuple[str, ...]
    tables: tuple[KeptTable, ...]
    figures: tuple[KeptFigure, ...]
    numbers: Estimates | None

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Refuse: the tables in full are files of the study."""
        raise InputError("the result is of a user's analysis: its tables in full are in tables/.")

    def caption(self) -> str:
        """Give what the result said of itself."""
        return self.text

    def caption_of(self, part: str) -> str:
        """Give what it said of a figure."""
        return getattr(self, part).caption

    def findings(self) -> Sequence[str]:
        """Give what it found."""
        return self.told

    def cautions(self) -> Sequence[str]:
        """Give what it cautioned of."""
        return self.beware

    def estimates(self) -> Estimates | None:
        """Give its estimates."""
        return self.numbers

    def _repr_html_(self) -> str:
        return excerpt(self.text, None, [*self.told, *self.beware])


def keep_result(result: Result) -> bytes:
    """Write what a result shows; see `analyses.shared.evidence`."""
    kind = type(result)
    figures = [
        KeptFigure(face, tuple(face.panels_of(result)) if face.panels else (), face.caption(result))
        for face in figures_of(kind)
        if face.applies_to(result)
    ]
    return to_evidence(
        KeptResult(
            measures_of(result),
            result.caption(),
            tuple(result.findings()),
            tuple(result.cautions()),
            tuple(KeptTable.of(result, face) for face in tables_of(kind)),
            tuple(figures),
            result.estimates(),
            unit=result.unit,
        )
    )


def read_kept_result(path: Path) -> KeptResult:
    """Read what `keep_result` wrote: a result that declares the same tables and figures."""
    kept = read_evidence(path, KeptResult)
    for fault in filter(None, [*map(_fault_of_table, kept.tables), *map(_fault_of, kept.figures)]):
        raise InputError(f"{path}: not a result of this analysis, or damaged: {fault}.")
    members: dict[str, Any] = {}
    for made in kept.tables:
        face, name = made.face, f"table_{made.face.name}"
        members[name] = table(face.name, face.title, face.alias)(_method(name, made.made))
    for drawn in kept.figures:
        part, name = f"figure_{drawn.face.name}", f"draw_{drawn.face.name}"
        of, panels = drawn.face, drawn.face.panels
        declare = figure(of.name, of.title, number=of.number, panels=panels, part=part)
        members |= {part: drawn, name: declare(_method(name, drawn.draw))}
        if panels not in (None, METRIC):
            members[f"{panels}s"] = drawn.panels
    return type(KeptResult.__name__, (KeptResult,), members)(**vars(kept))


def _fault_of_table(kept: KeptTable) -> str:
    """Say what no table has; empty if it may be one."""
    widths = {len(row) for row in kept.rows} | ({len(kept.headings)} if kept.headings else set())
    if len(widths) > 1:
        return f"the rows of the table {kept.name!r} differ in length"
    for decimals in (kept.decimals, *dict(kept.decimals_of_columns).values()):
        if not 0 <= decimals <= MOST_DECIMALS:
            return f"the table {kept.name!r} has {decimals} decimals"
    return ""


def _fault_of(kept: KeptFigure) -> str:
    """Say what no figure has; empty if it may be one."""
    panels = kept.face.panels
    members = {*dir(KeptResult), *(field.name for field in fields(KeptResult))}
    if panels not in (None, METRIC) and (not panels.isidentifier() or f"{panels}s" in members):
        return f"the figure {kept.face.name!r} has panels called {panels!r}"
    return ""


def _method(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: KeptResult, *args: Any, **chosen: Any) -> Any:
        return call(self, *args, **chosen)

    method.__name__ = name
    return method


def _plain(cell: Any) -> Cell:
    """Give a cell as JSON can hold it."""
    return cell.item() if isinstance(cell, np.generic) else cell
