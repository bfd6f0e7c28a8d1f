"""What captions say of ranks and samples: of whom, among how many, and how they were drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from analyses.shared.drawing import categories
from analyses.shared.table import Best, Cell, Table
from qrels import FullRanks

if TYPE_CHECKING:
    import pandas as pd


HALF_WIDTH = 1.96
"""Of an interval of 95 %, in standard errors."""


@dataclass(frozen=True)
class Ranked:
    """Users, their relevant items, and the fewest and most candidates of a user.

    Examples
    --------
    >>> ranked = Ranked.of(FullRanks.of([5, 2, 1], n_candidates=[9, 9, 1200], user=[0, 0, 1]))
    >>> print(ranked, "among", ranked.n)
    3 relevant items of 2 users among 9 to 1,200
    """

    n_users: int
    n_relevant: int
    candidates: tuple[int, int]

    @classmethod
    def of(cls, ranks: FullRanks) -> Ranked:
        """Count."""
        candidates = (int(ranks.n_candidates.min()), int(ranks.n_candidates.max()))
        return cls(len(np.unique(ranks.user)), len(ranks), candidates)

    def __str__(self) -> str:
        return f"{self.n_relevant:,} relevant items of {self.n_users:,} users"

    @property
    def n(self) -> str:
        """The numbers of candidates in words."""
        return between(*self.candidates)


@dataclass(frozen=True)
class Drawn:
    """How samples were drawn, and the seed.

    Of repeated samples, systems share "items" or what is "shared", a random number, or they are
    "independent"; one sample is nothing of that.
    """

    replace: bool
    seed: int
    draws: str = ""

    @property
    def how(self) -> str:
        """Whether with or without replacement, and what systems share, in words."""
        shared = {
            "items": ", the same items for all systems",
            "shared": ", by a random number of each user that the systems share",
            "independent": ", independently for each system",
        }
        return f"{'with' if self.replace else 'without'} replacement{shared.get(self.draws, '')}"


def coverage(off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Say how many of 100 intervals of 95 % hold what they are off by so many standard errors.

    Examples
    --------
    >>> coverage(np.array([0.0, 0.5, 2.0])).round(1)
    array([95. , 92.1, 48.4])
    """
    return np.asarray(100 * (ndtr(HALF_WIDTH - off) - ndtr(-HALF_WIDTH - off)))


def mean_of_users(values: NDArray[np.int64], ranks: FullRanks) -> float:
    """Average what the rows of each user have in common over the users.

    Examples
    --------
    >>> ranks = FullRanks.of([5, 2, 1], n_candidates=[9, 9, 12], user=[0, 0, 1])
    >>> mean_of_users(ranks.n_candidates, ranks)
    10.5
    """
    return float(np.average(values, weights=1 / ranks.n_relevant))


def between(least: int, most: int) -> str:
    """Write a range, or the one number that it has."""
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


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


def crossed(
    frame: pd.DataFrame,
    rows: list[str],
    columns: list[str],
    values: str,
    *,
    best: Best | None = None,
    **facts: str,
) -> Table:
    """Average numbers of a frame by what stands in rows and columns, each in order of appearance.

    The facts are name, title and note of the table.
    """
    keys = [*rows, *columns]
    places = {name: {key: n for n, key in enumerate(frame[name].unique())} for name in keys}
    means = frame.groupby(keys, sort=False)[values].mean().reset_index()
    means = means.sort_values(keys, key=lambda column: column.map(places[str(column.name)]))
    cells = {
        (", ".join(map(str, key[: len(rows)])), ", ".join(map(str, key[len(rows) :]))): value
        for *key, value in means.itertuples(index=False)
    }
    corner = ", ".join(rows)
    return Table.crossed(corner=corner, cells=cells, best=lambda _: best, **facts)


def text_rows(frame: pd.DataFrame) -> list[list[Cell]]:
    """Give the rows of a frame as cells."""
    return [[*row] for row in frame.itertuples(index=False)]


def best_in_colour(
    names: Sequence[str], order: Sequence[int], *, most: int
) -> Iterator[tuple[int, str | None, dict[str, Any]]]:
    """Give the first of an order a colour, and all others below them one thin grey.

    With the place of each name and its style there is the label, which one of the others has.
    """
    best, others = sorted(order[:most]), sorted(order[most:])
    grey = {"color": "0.8", "marker": "", "linewidth": 0.5, "linestyle": "-", "zorder": 1}
    for place in others:
        yield place, f"{len(others)} others" if place == others[0] else None, grey
    for place, (label, style) in zip(best, categories([names[n] for n in best]), strict=True):
        yield place, label, style
