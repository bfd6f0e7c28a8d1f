"""Runs as people have them: files, dictionaries, data frames, objects of other packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.readers.triples import (
    Form,
    column_of,
    has_columns_of_trec,
    is_frame,
    is_single,
    read_triples,
)
from runs import InputError
from runs.formats import N_FIELDS, SCORE_FIELD, TAG_FIELD, find_run_files, read_run
from runs.run_file import RunFile

if TYPE_CHECKING:
    import pandas as pd

FORMS = (
    "a path, a dictionary {topic: {item: score}}, a data frame, ScoredDocs of ir_measures or a Run "
    "of ranx"
)
SCORE_NAMES = ("score", "sim")
SYSTEM_NAMES = ("system", "run_id", "run", "tag", "model")

Runs: TypeAlias = "str | PathLike[str] | Sequence[Any] | Mapping[str, Any] | pd.DataFrame"
"""Run files, or runs by the names of their systems; see `runs_of`."""


def replicates_of(given: Runs) -> tuple[list[RunFile], tuple[str, ...]]:
    """Read runs of which several may be of one system.

    Parameters
    ----------
    given
        As for `runs_of`; in a dictionary by the names of the systems, a list of runs stands for
        several of a system, from other seeds or folds, which are called "ease-1", "ease-2", ...

    Returns
    -------
    What the runs say, and the name of the system of each; no names if each is of its own.

    Examples
    --------
    >>> one, other = {"t1": {"d1": 1.0}}, {"t1": {"d2": 1.0}}
    >>> found, systems = replicates_of({"ease": [one, other], "svd": one})
    >>> [run.system for run in found], systems
    (['ease-1', 'ease-2', 'svd'], ('ease', 'ease', 'svd'))
    """
    if is_frame(given) or not isinstance(given, Mapping) or is_single(given):
        return runs_of(given), ()
    if not any(map(_are_runs, given.values())):
        return runs_of(given), ()
    found: list[RunFile] = []
    systems: list[str] = []
    for name, value in given.items():
        runs = value if _are_runs(value) else [value]
        for place, run in enumerate(runs, start=1):
            found.append(_named(f"{name}-{place}" if _are_runs(value) else str(name), run))
            systems.append(str(name))
    return found, tuple(systems)


def _are_runs(given: Any) -> bool:
    """Tell a list of runs from a list of records, which is one run."""
    is_list = isinstance(given, list | tuple) and len(given) > 0
    return is_list and all(isinstance(each, str | PathLike) or is_single(each) for each in given)


def runs_of(given: Runs) -> list[RunFile]:
    """Read runs, each with the name of its system.

    Parameters
    ----------
    given
        Run files: a path, a pattern such as ``"runs/*.run"``, or several. Runs by the names of
        their systems: ``{"bm25": run, "ease": run}``, where a run is a path, a dictionary
        ``{topic: {item: score}}``, a data frame with columns such as query_id, doc_id and score, or
        of TREC's six columns without names, an iterable of ir_measures' ScoredDoc, or a Run of
        ranx. One data frame of several runs, whose column system, run_id or tag tells them apart.
        Or a list of Runs of ranx that have names.

    Returns
    -------
    What the runs say, as if it had been read from files.

    Raises
    ------
    InputError
        If a file breaks a rule, a run has no name, or it cannot be read as a run.

    Examples
    --------
    >>> (run,) = runs_of({"ease": {"t1": {"d1": 0.5, "d2": 0.75}}})
    >>> run.system, run.users.ids.tolist(), run.score.tolist()
    ('ease', ['t1'], [0.5, 0.75])
    """
    if is_frame(given):
        return [_named(name, run) for name, run in _parts(given)]
    if isinstance(given, str | PathLike):
        return [*map(read_run, find_run_files([str(given)]))]
    if is_single(given):
        return [_own(given)]
    if isinstance(given, Mapping):
        return [_named(str(name), run) for name, run in given.items()]
    if not isinstance(given, Sequence):
        raise _nameless(given)
    return [run for one in given for run in _of_several(one)]


def _of_several(one: Any) -> list[RunFile]:
    return runs_of(one) if isinstance(one, str | PathLike) else [_own(one)]


def _own(run: Any) -> RunFile:
    """Read a run that knows its name, as those of ranx do."""
    name = getattr(run, "name", None)
    if not isinstance(name, str) or not name:
        raise _nameless(run)
    return _named(name, run)


def _nameless(given: Any) -> InputError:
    return InputError(
        f"a run needs the name of its system, and {type(given).__name__} has none: give "
        f"{{name: run}}, where a run is {FORMS}."
    )


def _named(name: str, run: Any) -> RunFile:
    if isinstance(run, str | PathLike):
        return replace(read_run(Path(run)), system=name)
    form = Form(f"the run {name!r}", FORMS, SCORE_NAMES, number=SCORE_FIELD, width=N_FIELDS)
    found = read_triples(run, form)
    return RunFile(form.what, name, *found.pairs(), found.numbers)


def _parts(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Part a frame by the systems of its rows."""
    is_of_trec = has_columns_of_trec(frame, width=N_FIELDS)
    column = frame.columns[TAG_FIELD] if is_of_trec else column_of(frame, SYSTEM_NAMES)
    if column is None:
        raise InputError(
            f"no column of the runs holds the systems; it is called {' or '.join(SYSTEM_NAMES)}. "
            "Frames of one run each are given by name: {name: frame}."
        )
    return ((str(name), part) for name, part in frame.groupby(column, sort=False))
