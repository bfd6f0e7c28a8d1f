"""Scores from data frames, as notebooks have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from analyses.shared.measure import Scores
from harness.readers.scores import all_reported, measure_named
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd

LONG = ("measure", "system", "user", "score")

Framed: TypeAlias = "Scores | pd.DataFrame | Mapping[str, pd.DataFrame]"
"""Scores; a long frame of them; or a frame for each measure: topics down, systems across."""


def scores_of(data: Framed) -> Scores:
    """Make scores of what a notebook has.

    Parameters
    ----------
    data
        Scores, as they are. Or a frame for each measure by its name, such as "nDCG@10": a row for
        each topic, a column for each system. Or one long frame with the columns measure, system,
        user and score; what else it has does no harm. One frame of topics and systems alone is
        that of a measure called "score".

    Raises
    ------
    InputError
        If frames differ in topics or systems, or scores are missing, not finite or no numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"ease": [0.5, 1.0], "svd": [0.25, 0.75]}, index=["u1", "u2"])
    >>> scores_of({"nDCG@10": frame}).means()
    array([[0.75, 0.5 ]])
    """
    if isinstance(data, Scores):
        return data
    frames = data if isinstance(data, Mapping) else _by_measure(data)
    if not frames:
        raise InputError("there is no measure: give a frame for each, by its name.")
    first, *others = frames
    for name in others:
        _check_alike(first, frames[first], name, frames[name])
    try:
        values = np.array([frame.to_numpy(dtype=np.float64).T for frame in frames.values()])
    except (TypeError, ValueError) as error:
        raise InputError(f"scores must be numbers: {error}.") from None
    return Scores(
        values,
        all_reported(map(measure_named, frames)),
        tuple(map(str, frames[first].columns)),
        frames[first].index.astype(str).to_numpy(dtype=np.str_),
    )


def _by_measure(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Part a long frame by measure; one of topics and systems is a measure's."""
    if not set(LONG) <= set(frame.columns):
        return {"score": frame}
    parts = frame.groupby("measure", sort=False)
    return {
        str(name): part.pivot(index="user", columns="system", values="score")
        for name, part in parts
    }


def _check_alike(first: str, one: pd.DataFrame, second: str, other: pd.DataFrame) -> None:
    for what, own, others in (
        ("systems", one.columns, other.columns),
        ("topics", one.index, other.index),
    ):
        if not own.equals(others):
            raise InputError(f"{first!r} and {second!r} have different {what}, or another order.")
