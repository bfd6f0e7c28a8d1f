"""The tables of a finished study, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from analyses.shared.analysis import built_in_analyses
from analyses.shared.measure_estimates import Estimates
from analyses.shared.result import TableDeclaration, choices_of, measures_of, tables_of
from analyses.shared.table import Table
from harness.report.answer import estimates_in
from harness.report.study_folder import FinishedStudy
from runs import InputError
from runs.shared.errors import suggestion

TESTS_OF_PAIRS = "discrimination"
"""Key of the analysis that tests pairs of systems."""


def table_titles(study: FinishedStudy) -> dict[str, str]:
    """List the titles of the tables of a study that are not empty, by name."""
    titles_by_name = {}
    for key, declaration in study.tables():
        if declaration.make(study.result(key)).rows:
            alias = f" ({declaration.alias})" if declaration.alias else ""
            titles_by_name[declaration.name] = f"{study.title(declaration)}{alias}"
    return titles_by_name


def tabulate(study: FinishedStudy, name: str, **choices: Any) -> Table:
    """Make a table of a study by name, with the data in its note.

    Parameters
    ----------
    name
        Its name, its alias, or the end of its name that no other table has.
    choices
        Keywords of the table, such as ``cutoff``; None for one that is not chosen. A table says
        which it has, and the values of those that are its own; cut-offs and measures are those of
        the result.

    Raises
    ------
    InputError
        If there is no such table, it has no such choice, or it is empty.
    """
    choices = {keyword: value for keyword, value in choices.items() if value is not None}
    key, declaration = _find_table(study, name)
    result = study.result(key)
    measures = measures_of(result)
    choices_of_table = choices_of(type(result), declaration)
    values_by_keyword: dict[str, Sequence[Any] | None] = {
        **choices_of_table,
        "cutoff": measures.cutoffs,
        "measure": [str(measure) for measure in measures.reported],
    }
    for keyword, value in choices.items():
        noun = keyword.replace("cutoff", "cut-off")
        values = values_by_keyword.get(keyword)
        if keyword not in choices_of_table or values is None:
            raise InputError(f"the table {declaration.name!r} has no {noun} to choose.")
        if value not in values:
            listed = ", ".join(map(str, values))
            raise InputError(
                f"the table {declaration.name!r} has no {noun} {value!r}; it has {listed}."
            )
    made_table = declaration.make(result, **choices)
    if not made_table.rows:
        place = f" at cut-off {choices['cutoff']}" if "cutoff" in choices else ""
        raise InputError(f"{study.folder}: the table {name!r} is empty{place}.")
    return made_table.with_note(study.manifest.data)


def _find_table(study: FinishedStudy, name: str) -> tuple[str, TableDeclaration]:
    """Find a table by its name, its alias, or the end of its name; with the key of its result.

    Tables of papers are called PAPER-table3: "table3" is enough where it is unique, empty tables
    aside. An exact name comes first. Raises InputError if there is none, or more than one.
    """
    tables = list(study.tables())
    for key, declaration in tables:
        if name in (declaration.name, declaration.alias):
            return key, declaration
    candidates = [
        (key, declaration) for key, declaration in tables if declaration.name.endswith(f"-{name}")
    ]
    not_empty = [
        (key, declaration)
        for key, declaration in candidates
        if declaration.make(study.result(key)).rows
    ]
    candidates = not_empty or candidates
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names_of_candidates = ", ".join(declaration.name for _, declaration in candidates)
        raise InputError(
            f"{study.folder}: several tables are called {name!r}: {names_of_candidates}."
        )
    names = _names_of(declaration for _, declaration in tables)
    names_in_other_studies: list[str] = []
    for analysis in built_in_analyses().values():
        names_in_other_studies += _names_of(tables_of(analysis.result))
    # A table that other studies have is no spelling error.
    hint = suggestion(name, names)
    if name in names_in_other_studies:
        hint = f"there are {', '.join(names)}."
    raise InputError(f"{study.folder}: the study has no table called {name!r}; {hint}")


def _names_of(declarations: Iterable[TableDeclaration]) -> list[str]:
    """List the names and aliases of tables."""
    names = []
    for declaration in declarations:
        names += [name for name in (declaration.name, declaration.alias) if name]
    return names


def estimates_of(study: FinishedStudy) -> Iterator[tuple[str, Estimates]]:
    """List the estimates of all results of a study that have some, in the order of the report."""
    return estimates_in(dict(study.results()))
