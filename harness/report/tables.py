"""The tables of a finished study, by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from analyses.shared.analysis import built_in_analyses
from analyses.shared.estimate import Estimate, Estimates
from analyses.shared.result import Result, TableFace, choices_of, measures_of, tables_of
from analyses.shared.table import Cell, Table
from harness.report.study_folder import FinishedStudy
from runs import InputError
from runs.shared.errors import nearest

AREAS = TableFace("areas", "robustness: areas under the curves, with intervals")
"""The table that several analyses share: it is made from their estimates."""


def titles(study: FinishedStudy) -> dict[str, str]:
    """Give the tables that a study has something for, by name, with what they show."""
    faces = [face for key, face in study.tables() if face.make(study.result(key)).rows]
    found = {
        face.name: study.worded(face.title) + (f" ({face.alias})" if face.alias else "")
        for face in faces
    }
    return found | ({AREAS.name: AREAS.title} if areas_of(study) else {})


def tabulate(study: FinishedStudy, name: str, **chosen: Any) -> Table:
    """Make a table by name."""
    chosen = {keyword: value for keyword, value in chosen.items() if value is not None}
    if name == AREAS.name:
        _check_choices(AREAS, {"cutoff": ()}, chosen)
        made = areas(study, **chosen)
    else:
        key, face = _find(study, name)
        result = study.result(key)
        _check_choices(face, choices_of(type(result), face), chosen)
        _check_cutoff(result, chosen)
        made = study.table(face, result, **chosen)
        made = replace(made, note=f"{made.note} {study.manifest['data']}")
    if not made.rows:
        place = f" at cut-off {chosen['cutoff']}" if "cutoff" in chosen else ""
        raise InputError(f"{study.folder}: the study has nothing for the table {name!r}{place}.")
    return made


def _find(study: FinishedStudy, name: str) -> tuple[str, TableFace]:
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
    names = [*_names(face for _, face in every), *([AREAS.name] if areas_of(study) else [])]
    elsewhere = _names(f for a in built_in_analyses().values() for f in tables_of(a.result))
    # What other studies have is no slip of the pen.
    hint = f"there are {', '.join(names)}." if name in elsewhere else nearest(name, names)
    raise InputError(f"{study.folder}: the study has no table called {name!r}; {hint}")


def _names(faces: Iterable[TableFace]) -> list[str]:
    return [name for face in faces for name in (face.name, face.alias) if name]


def _check_choices(
    face: TableFace, choices: Mapping[str, tuple[Any, ...]], chosen: Mapping[str, Any]
) -> None:
    for keyword, value in chosen.items():
        if keyword not in choices:
            raise InputError(f"the table {face.name!r} has no {_in_words(keyword)} to choose.")
        if choices[keyword] and value not in choices[keyword]:
            known = ", ".join(map(str, choices[keyword]))
            raise InputError(f"the table {face.name!r} has no {keyword} {value!r}; it has {known}.")


def _in_words(keyword: str) -> str:
    return "cut-off" if keyword == "cutoff" else keyword


def _check_cutoff(result: Result, chosen: Mapping[str, Any]) -> None:
    cutoff, cutoffs = chosen.get("cutoff"), measures_of(result).cutoffs
    if cutoff is not None and cutoff not in cutoffs:
        known = ", ".join(map(str, cutoffs))
        raise InputError(f"the study has no cut-off {cutoff}; there are {known}.")


def estimates_of(study: FinishedStudy) -> Iterator[tuple[str, Estimates]]:
    """Give the estimates of all results that have some, in the order of the report."""
    for key, result in study.results():
        estimates = result.estimates()
        if estimates is not None:
            yield key, estimates


def areas_of(study: FinishedStudy) -> dict[str, Estimates]:
    """Give the estimates that are areas under curves, by the key of their result."""
    return {key: each for key, each in estimates_of(study) if each.name.startswith("area")}


def areas(study: FinishedStudy, *, cutoff: int | None = None) -> Table:
    """Tabulate the areas under the curves of all analyses that have them, with intervals."""
    every = areas_of(study)
    compared = [each.measures.compared(cutoff) for each in every.values()]
    found = {key: each.of(some) for (key, each), some in zip(every.items(), compared, strict=True)}
    metrics = dict.fromkeys(metric for by_metric in found.values() for metric in by_metric)
    where = next((some.where for some in compared), "")
    unknown = Estimate(math.nan)
    rows: list[list[Cell]] = []
    for metric in metrics:
        known = [by_metric.get(metric, unknown) for by_metric in found.values()]
        rows.append([metric, *(cell for e in known for cell in (e.value, e.low, e.high))])
    headings = [heading for key in found for heading in (key, f"{key}, low", f"{key}, high")]
    return Table(
        name=AREAS.name,
        title=f"Robustness{where}: areas under the curves",
        note=study.caption(
            "An area is the mean of a curve over its range: 1 where the ordering of the systems "
            "never changes. Intervals (95 %) come from resampling."
        ),
        headings=["metric", *headings],
        rows=rows,
        best={1 + 3 * n: max for n in range(len(found))},
    )
