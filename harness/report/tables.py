"""The tables of a finished study, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from analyses.shared.analysis import built_in_analyses
from analyses.shared.estimates import Estimates
from analyses.shared.result import Result, TableDeclaration, choices_of, measures_of, tables_of
from analyses.shared.table import Table
from harness.report.answer import Answer
from harness.report.study_folder import FinishedStudy
from runs import InputError
from runs.shared.errors import suggestion

TESTS = "discrimination"
"""The analysis that tests pairs of systems."""


def titles(study: FinishedStudy) -> dict[str, str]:
    """Give the tables of a study that are not empty, by name, with their titles."""
    faces = [face for key, face in study.tables() if face.make(study.result(key)).rows]
    return {face.name: study.title(face) + f" ({face.alias})" * bool(face.alias) for face in faces}


def tabulate(study: FinishedStudy, name: str, **chosen: Any) -> Table:
    """Make a table by name."""
    chosen = {keyword: value for keyword, value in chosen.items() if value is not None}
    key, face = _find(study, name)
    result = study.result(key)
    measures, known = measures_of(result), choices_of(type(result), face)
    own = {"cutoff": measures.cutoffs, "measure": tuple(map(str, measures.reported))}
    for keyword, value in chosen.items():
        what, values = keyword.replace("cutoff", "cut-off"), own.get(keyword, known.get(keyword))
        if keyword not in known or values is None:
            raise InputError(f"the table {face.name!r} has no {what} to choose.")
        if value not in values:
            listed = ", ".join(map(str, values))
            raise InputError(f"the table {face.name!r} has no {what} {value!r}; it has {listed}.")
    made = face.make(result, **chosen)
    if not made.rows:
        place = f" at cut-off {chosen['cutoff']}" if "cutoff" in chosen else ""
        raise InputError(f"{study.folder}: the table {name!r} is empty{place}.")
    return replace(made, note=f"{made.note} {study.manifest.data}")


def _find(study: FinishedStudy, name: str) -> tuple[str, TableDeclaration]:
    every = list(study.tables())
    for key, face in every:
        if name in (face.name, face.alias):
            return key, face
    # Tables of papers are called PAPER-table3: the last part is enough where it is unique.
    ended = [(key, face) for key, face in every if face.name.endswith(f"-{name}")]
    ended = [(key, face) for key, face in ended if face.make(study.result(key)).rows] or ended
    if len(ended) == 1:
        return ended[0]
    if ended:
        known = ", ".join(face.name for _, face in ended)
        raise InputError(f"{study.folder}: several tables are called {name!r}: {known}.")
    names = _names(face for _, face in every)
    elsewhere = _names(f for a in built_in_analyses().values() for f in tables_of(a.result))
    # What other studies have is no slip of the pen.
    hint = f"there are {', '.join(names)}." if name in elsewhere else suggestion(name, names)
    raise InputError(f"{study.folder}: the study has no table called {name!r}; {hint}")


def _names(faces: Iterable[TableDeclaration]) -> list[str]:
    return [name for face in faces for name in (face.name, face.alias) if name]


def answer_of(results: Mapping[str, Result]) -> Answer:
    """Make the answer from results, in the order of the report."""
    tested: Any = results.get(TESTS)
    return Answer.of(_estimates_in(results), tested)


def estimates_of(study: FinishedStudy) -> Iterator[tuple[str, Estimates]]:
    """List the estimates of all results of a study that have some, in the order of the report."""
    return _estimates_in(dict(study.results()))


def _estimates_in(results: Mapping[str, Result]) -> Iterator[tuple[str, Estimates]]:
    """List the estimates of all results that have some."""
    for key, result in results.items():
        estimates = result.estimates()
        if estimates is not None:
            yield key, result.under_settings(estimates)
