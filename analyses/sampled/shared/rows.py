"""Rows of tables: names, and the numbers of an array beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.shared.table import Cell

if TYPE_CHECKING:
    import pandas as pd


def named_rows(names: Iterable[str], values: NDArray[np.float64]) -> list[list[Cell]]:
    """Put a name before all numbers of each element of the first axis.

    Examples
    --------
    >>> named_rows(["a", "b"], np.array([[[1.0], [2.0]], [[3.0], [4.0]]]))
    [['a', 1.0, 2.0], ['b', 3.0, 4.0]]
    """
    return [[name, *row.ravel().tolist()] for name, row in zip(names, values, strict=True)]


def tidy(axes: Mapping[str, Iterable[Any]], **columns: Any) -> pd.DataFrame:
    """Put labels of all axes of arrays before their numbers, a row for each.

    Examples
    --------
    >>> tidy({"m": [5, 9], "system": "XY"}, mean=np.array([[1.0, 2.0], [3.0, 4.0]]), bias=0)
       m system  mean  bias
    0  5      X   1.0     0
    1  5      Y   2.0     0
    2  9      X   3.0     0
    3  9      Y   4.0     0
    """
    import pandas as pd

    labels = {name: [*values] for name, values in axes.items()}
    frame = pd.DataFrame(product(*labels.values()), columns=[*labels])
    shape = tuple(map(len, labels.values()))
    return frame.assign(
        **{name: np.broadcast_to(values, shape).ravel() for name, values in columns.items()}
    )
