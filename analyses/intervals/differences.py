"""Which measures differ by more than noise: paired differences of one number per measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure

if TYPE_CHECKING:
    import pandas as pd

Numbers = NDArray[np.intp]
Limits = tuple[NDArray[np.float64], NDArray[np.float64]]


def paired_differences(
    measures: Sequence[Measure],
    values: NDArray[np.float64],
    limits: Callable[[Numbers, Numbers], Limits],
    *,
    cutoff: int | None = None,
) -> pd.DataFrame:
    """Compare every two metrics at a cut-off, and every two cut-offs of a metric.

    No correction is made for the number of comparisons: of twenty pairs that do not differ,
    expect one that seems to.

    Parameters
    ----------
    measures
        Label of the values.
    values
        One number for each measure.
    limits
        Gives the 95 % intervals of the differences of the measures with these numbers.
    cutoff
        Only the metrics at this cut-off.

    Returns
    -------
    Columns metric_a, cutoff_a, metric_b, cutoff_b, difference (a less b), low, high (95 %) and
    beyond_noise: whether the interval excludes 0.
    """
    import pandas as pd

    pairs = [
        (a, b)
        for a, b in combinations(range(len(measures)), 2)
        if are_comparable(measures[a], measures[b], cutoff)
    ]
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    low, high = limits(first, second)
    metrics = np.array([measure.metric for measure in measures], dtype=object)
    cutoffs = np.array([measure.cutoff for measure in measures], dtype=object)
    return pd.DataFrame(
        {
            "metric_a": metrics[first],
            "cutoff_a": cutoffs[first],
            "metric_b": metrics[second],
            "cutoff_b": cutoffs[second],
            "difference": values[first] - values[second],
            "low": low,
            "high": high,
            "beyond_noise": (low > 0) | (high < 0),
        }
    )


def are_comparable(first: Measure, second: Measure, cutoff: int | None = None) -> bool:
    """Tell whether two measures share a cut-off (the one that is asked for) or a metric."""
    if first.cutoff == second.cutoff:
        return cutoff is None or first.cutoff == cutoff
    return cutoff is None and first.metric == second.metric
