"""The runs of a study that were made elsewhere, read and checked."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from harness.study.replicate_tags import numbered, systems_of
from harness.study.study import Study
from qrels import Split
from runs import InputError, InputWarning, Numbering, Run
from runs.formats import read_run
from runs.run_file import RunFile, require_known_users

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LONGEST_TAG = 150


def read_runs(paths: Sequence[Path], study: Study) -> tuple[list[RunFile], tuple[str, ...]]:
    """Read the runs of a study, and which systems they are of, if several may be of one."""
    files = [read_run(path) for path in paths]
    pattern = None if study.runs is None else study.runs.replicates
    if pattern is None:
        return files, ()
    with study.errors_at("runs", "replicates"):
        return numbered(files, pattern), systems_of(files, pattern)


def beside_trained(
    run_files: Sequence[RunFile],
    study: Study,
    split: Split,
    carried: tuple[Numbering, Numbering],
    systems: Sequence[str],
) -> tuple[Run, ...]:
    """Check the runs that stand beside the trained systems."""
    topics, items = carried
    check_tags(run_files, systems, others=tuple(study.systems.labels))
    for file in run_files:
        require_known_users(file, topics)
        unknown = file.items.ids[items.numbers(file.items.ids) < 0].tolist()
        if unknown:
            raise InputError(
                f"{file.path}: the item {unknown[0]!r} has no rating; a run that stands beside "
                "trained systems may only rank items of their catalogue."
            )
    runs = tuple(file.to_run(topics, items) for file in run_files)
    warn_of_gaps(systems, runs)
    if runs:
        rated = split.train.matrix()[split.test_users]
        for file, run in zip(run_files, runs, strict=True):
            _warn_of_training_items(file.path, run, rated)
    return runs


def _warn_of_training_items(path: Path | str, run: Run, rated: csr_array[Any]) -> None:
    """Warn of recommendations that the user has rated already: they fill ranks in vain.

    Parameters
    ----------
    path, run
        A run file, and what it holds.
    rated
        Training ratings of the users of the run, of shape (n_users, n_items).
    """
    topic, column = np.nonzero(run.items >= 0)
    known = rated[topic, run.items[topic, column]]
    if known.any():
        finding = (
            f"{path}: {np.count_nonzero(known):,} of its recommendations are items that the user "
            "rated in training; they count as unjudged."
        )
        warnings.warn(finding, InputWarning, stacklevel=2)


def warn_of_gaps(systems: Sequence[str], runs: Sequence[Run]) -> None:
    """Warn where some users have lists in fewer runs of a system than others have."""
    for system in dict.fromkeys(systems):
        own = [run for run, name in zip(runs, systems, strict=True) if name == system]
        counts = np.sum([run.lengths > 0 for run in own], axis=0)
        few = np.count_nonzero((counts > 0) & (counts < counts.max()))
        if few:
            finding = (
                f"the {len(own)} runs of {system!r} do not rank for the same users; the scores of "
                f"{few:,} are means over fewer runs than those of others."
            )
            warnings.warn(finding, InputWarning, stacklevel=3)


def check_tags(
    files: Sequence[RunFile], systems: Sequence[str], *, others: Sequence[str] = ()
) -> None:
    """Refuse fewer than two systems, long tags, and those that name two systems."""
    names = systems or [file.system for file in files]
    n_systems = len(set(systems) if systems else files) + len(others)
    if n_systems < 2:
        raise InputError(f"a study compares at least two systems, got {n_systems}.")
    first: dict[str, RunFile] = {}
    for file, name in zip(files, names, strict=True):
        if {file.system, name} & {*others}:
            raise InputError(
                f"{file.path}: the tag {file.system!r} is the name of a trained system too; "
                "tags name the systems and must differ."
            )
        if len(quote(file.system)) > LONGEST_TAG:
            raise InputError(
                f"{file.path}: the tag names the system's files and must have at most "
                f"{LONGEST_TAG} characters, got {len(file.system)}."
            )
        folded = file.system.casefold()
        if folded in first:
            raise InputError(
                f"{file.path}: the tag {file.system!r} is that of {first[folded].path} too; tags "
                "name the systems and their files, and must differ by more than case."
            )
        first[folded] = file
