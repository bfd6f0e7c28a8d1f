"""What systems score on average, and whom they serve, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Scores
from harness.metrics.shared.metric import Metric
from harness.study.collection import Collection
from runs import Run

if TYPE_CHECKING:
    import pandas as pd


def means_table(scores: Scores, metrics: Mapping[str, Metric]) -> pd.DataFrame:
    """Columns system, metric, cutoff, mean (the one that the metric asks for), sd, users."""
    import pandas as pd

    deviations = _deviations(scores)
    means = [
        metrics[measure.metric].average(values)
        for measure, values in zip(scores.measures, scores.values, strict=True)
    ]
    rows = [
        (
            system,
            measure.metric,
            measure.cutoff,
            means[i][j],
            deviations[i, j],
            len(scores.users),
        )
        for j, system in enumerate(scores.systems)
        for i, measure in enumerate(scores.measures)
    ]
    columns = ["system", "metric", "cutoff", "mean", "sd", "users"]
    return pd.DataFrame(rows, columns=columns)


def _deviations(scores: Scores) -> NDArray[np.float64]:
    """Standard deviations over users, of shape (n_measures, n_systems); NaN for a single user."""
    if len(scores.users) < 2:
        return np.full(scores.values.shape[:2], np.nan)
    return np.asarray(scores.values.std(axis=2, ddof=1))


def coverage_table(runs: Sequence[Run], collection: Collection) -> pd.DataFrame:
    """Whom and what each system serves.

    Columns system, users, users_without_recommendations, users_with_short_lists,
    items_recommended, judged_share (of the recommended items).
    """
    import pandas as pd

    from qrels import match

    rows = [
        (
            run.system,
            run.n_users,
            int((run.lengths == 0).sum()),
            int((run.lengths < run.depth).sum()),
            len(np.unique(run.items[run.items >= 0])),
            (match(run, collection.qrels) >= 0).sum() / max(run.lengths.sum(), 1),
        )
        for run in runs
    ]
    columns = ["system", "users", "users_without_recommendations", "users_with_short_lists"]
    return pd.DataFrame(rows, columns=[*columns, "items_recommended", "judged_share"])
