"""Labels of frames, captions and figures: of whom ranks are, and how samples were drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from analyses.sampled.metrics import rank_metric
from qrels import FullRanks

if TYPE_CHECKING:
    import pandas as pd

HALF_WIDTH = 1.96
"""Of an interval of 95 %, in standard errors."""


@dataclass(frozen=True)
class Ranked:
    """Users, their relevant items, and the fewest and most candidates of a user."""

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


SHARED = {
    "items": ", the same items for all systems",
    "shared": ", by a random number of each user that the systems share",
    "independent": ", independently for each system",
    "": "",
}
"""What systems share in repeated samples, in words."""


def how_drawn(replacement: bool, draws: str = "") -> str:
    """Say whether negatives were drawn with replacement, and what systems share."""
    return f"{'with' if replacement else 'without'} replacement{SHARED[draws]}"


def coverage(off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Say how many of 100 intervals of 95 % hold what they are off by so many standard errors."""
    return np.asarray(100 * (ndtr(HALF_WIDTH - off) - ndtr(-HALF_WIDTH - off)))


def mean_of_users(values: NDArray[np.int64], ranks: FullRanks) -> float:
    """Average what the rows of each user have in common over the users."""
    return float(np.average(values, weights=1 / ranks.n_relevant))


def between(least: int, most: int) -> str:
    """Write a range, or the one number that it has."""
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def round_numbers(largest: int) -> tuple[int, ...]:
    """Give 1, 2, 5, 10, 20, 50, ... as far as they are not above the largest."""
    powers = [10**digits for digits in range(len(str(largest)))]
    numbers = [leading * power for power in powers for leading in (1, 2, 5)]
    return tuple(number for number in numbers if number <= largest)


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


def with_cutoffs(frame: pd.DataFrame) -> pd.DataFrame:
    """Take metrics such as ``Recall@10`` apart, into columns metric and cutoff."""
    import pandas as pd

    read = [*map(rank_metric, frame.pop("metric"))]
    frame.insert(0, "cutoff", pd.Series([metric.cutoff for metric in read], dtype="Int64"))
    frame.insert(0, "metric", [str(replace(metric, cutoff=None)) for metric in read])
    return frame
