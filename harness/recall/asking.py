"""Recalls, as the command line asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from analyses.recall.stratification import Stratification
from harness.recall.measure import Measured, RecallQuestion, measure_model, measure_ranks
from harness.recall.models import ModelName
from runs import InputError
from runs.shared.progress import Progress

GRIDS = {"betas", "cutoffs"}


def question_of(**asked: Any) -> RecallQuestion:
    """Put a question together; None and empty are the defaults, and grids rise.

    Examples
    --------
    >>> question = question_of(betas=(1.0, 0.0), cutoffs=(), clip=None, min_items=3)
    >>> question.betas, question.stratification.min_items
    ((0.0, 1.0), 3)
    """
    given = {name: value for name, value in asked.items() if value not in (None, ())}
    for name in GRIDS & given.keys():
        given[name] = tuple(sorted(set(given[name])))
    of_weights = {part.name for part in fields(Stratification)} - {"weights"}
    chosen = {name: given.pop(name) for name in of_weights & given.keys()}
    return RecallQuestion(**given, stratification=Stratification(**chosen))


def measure(
    interactions: Path,
    question: RecallQuestion,
    *,
    rank_table: Path | None,
    model: ModelName,
    settings: Sequence[str],
    dask: str | None,
    n_jobs: int,
    progress: Progress,
) -> Measured:
    """Measure a model, or a table of ranks if there is one.

    Raises
    ------
    InputError
        If a file or what is asked breaks a rule.
    """
    if rank_table is None:
        return measure_model(
            interactions,
            question,
            model=model,
            settings=settings,
            dask=dask,
            n_jobs=n_jobs,
            progress=progress,
        )
    if settings or dask is not None:
        raise InputError("with --ranks nothing is trained or ranked; leave out --set and --dask.")
    return measure_ranks(interactions, rank_table, question, progress=progress)
