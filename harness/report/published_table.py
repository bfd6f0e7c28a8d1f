"""A table of published numbers: each as it is printed, and the size of its last digit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.readers.score_files import heading_and_rows
from harness.readers.scores import measure_at
from runs import InputError
from runs.shared.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

WHOLE_PART = r"[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]*"
"""Digits before the decimal point, perhaps with a comma before every three."""

NUMBER = re.compile(
    rf"(?P<number>[-+]?(?=\.?[0-9])(?:{WHOLE_PART})"
    r"(?:\.(?P<decimals>[0-9]*))?(?:[eE](?P<exponent>[-+]?[0-9]+))?)(?P<suffix>[km]?)"
)
"""A printed number, such as 0.216, 1,463, 2.8m or 3e-5."""

RANGE = re.compile(r"[0-9.,km]+ ?[-–] ?[0-9.,km]+")

FACTORS = {"": 1.0, "k": 1e3, "m": 1e6}
"""What the suffix of a number multiplies it by."""


def read_published(path: Path) -> tuple[pd.DataFrame, bool]:
    """Read a table of published numbers, a number a row, and whether they are ranks.

    The columns ``value`` (a number as it is printed, such as ``1,463`` or ``2.8m``), or ``rank``
    where only the order is known; labels, such as ``system`` and ``measure``; and, if published,
    ``sd``, ``repeats`` and ``unit``. Rows whose value is empty, or a range, are left out.

    Returns
    -------
    The texts of the columns, with ``measure`` taken apart into ``metric`` and ``cutoff``, and the
    columns published, step (size of the last printed digit), sd and repeats as numbers.

    Raises
    ------
    InputError
        If there is no column of values or ranks, or both, or no number in it; if a text is no
        number, or a rank is below 1.
    """
    import pandas as pd

    (heading_line, heading), rows = heading_and_rows(path)
    value_columns = [name for name in ("value", "rank") if name in heading]
    if len(value_columns) != 1:
        finding = f"one column `value` or `rank` expected, found {', '.join(heading)}."
        raise InputError.at_line(path, heading_line, finding)
    value_column = value_columns[0]
    lines = [line for line, _ in rows]
    frame = pd.DataFrame([row for _, row in rows], columns=heading)
    if "measure" in heading:
        measures = [
            measure_at(path, line, text) for line, text in zip(lines, frame["measure"], strict=True)
        ]
        frame = frame.drop(columns="measure").assign(
            metric=[measure.metric for measure in measures],
            cutoff=[str(measure.cutoff or "") for measure in measures],
        )
    frame["unit"] = frame.get("unit", "")
    # The step that stays is that of the last, which is what was published.
    for name in ("sd", "repeats", value_column):
        texts = frame.get(name, [""] * len(rows))
        numbers_and_steps = [
            _parse_number(path, line, name, text) for line, text in zip(lines, texts, strict=True)
        ]
        frame[name] = [number for number, _ in numbers_and_steps]
        frame["step"] = [step for _, step in numbers_and_steps]
    frame = frame.rename(columns={value_column: "published"})
    published = frame.dropna(subset="published").reset_index(drop=True)
    if published.empty:
        raise InputError.at_line(path, heading_line, f"the column {value_column} has no number.")
    are_ranks = value_column == "rank"
    if are_ranks:
        _require_ranks(path, lines, frame["published"].to_numpy())
    return published, are_ranks


def _require_ranks(path: Path, lines: Sequence[int], ranks: Floats) -> None:
    """Refuse ranks, (n_rows,), of which one is below 1; NaN is left out."""
    for line, rank in zip(lines, ranks.tolist(), strict=True):
        if rank < 1:
            raise InputError.at_line(path, line, f"a rank is 1 or more, got {rank:g}.")


def _parse_number(path: Path, line: int, column: str, text: str) -> tuple[float, float]:
    """Read a number, and the size of its last digit: 2.8m is 2,800,000 and 100,000.

    Both are NaN where nothing, or a range, is printed. Raises InputError for other texts, with
    path, line and column.
    """
    if not text or RANGE.fullmatch(text):
        return np.nan, np.nan
    match = NUMBER.fullmatch(text)
    if match is None:
        raise InputError.at_line(
            path,
            line,
            f"column {column!r}: a number expected, such as 0.216, 1,463 or 2.8m, found "
            f"{text!r}; % is written in a column `unit`.",
        )
    number = float(match["number"].replace(",", ""))
    n_decimals = len(match["decimals"] or "")
    exponent = int(match["exponent"] or 0)
    step = 10.0 ** (exponent - n_decimals)
    factor = FACTORS[match["suffix"]]
    return number * factor, step * factor
