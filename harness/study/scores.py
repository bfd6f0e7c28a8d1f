"""Scores as files: every score in Parquet, means and coverage as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure, Scores
from harness.metrics.shared.metric import Metric
from harness.study.collection import Collection
from runs import Run

if TYPE_CHECKING:
    import pandas as pd


def scores_to_parquet(scores: Scores) -> bytes:
    """Write scores in long form: columns metric, cutoff, system, user, score.

    Rows run over users fastest, then systems, then measures.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    n_measures, n_systems, n_users = scores.values.shape
    names = list(dict.fromkeys(measure.metric for measure in scores.measures))
    metrics = np.array([names.index(measure.metric) for measure in scores.measures], dtype=np.int32)
    cutoffs = np.array([measure.cutoff for measure in scores.measures], dtype=np.int32)
    systems = np.tile(np.repeat(np.arange(n_systems, dtype=np.int32), n_users), n_measures)
    users = np.tile(np.arange(n_users, dtype=np.int32), n_measures * n_systems)
    measures = np.repeat(np.arange(n_measures, dtype=np.int32), n_systems * n_users)
    columns = {
        "metric": pa.DictionaryArray.from_arrays(metrics[measures], pa.array(names)),
        "cutoff": cutoffs[measures],
        "system": pa.DictionaryArray.from_arrays(systems, pa.array(scores.systems)),
        "user": pa.DictionaryArray.from_arrays(users, pa.array(scores.users.tolist())),
        "score": scores.values.ravel(),
    }
    stream = BytesIO()
    # Nobody skips row groups by their least and greatest score, and to find these takes as long as
    # the rest of the writing.
    parquet.write_table(pa.table(columns), stream, compression="zstd", write_statistics=False)
    return stream.getvalue()


def scores_from_parquet(content: bytes) -> Scores:
    """Read back what `scores_to_parquet` wrote, bit for bit."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = parquet.read_table(pa.BufferReader(content))
    n_users = len(table["user"].unique())
    n_systems = len(table["system"].unique())
    step = n_users * n_systems
    metrics = table["metric"].take(np.arange(0, len(table), step)).to_pylist()
    cutoffs = table["cutoff"].to_numpy()[::step].tolist()
    return Scores(
        values=table["score"].to_numpy().reshape(-1, n_systems, n_users),
        measures=tuple(Measure(*pair) for pair in zip(metrics, cutoffs, strict=True)),
        systems=tuple(table["system"].take(np.arange(0, step, n_users)).to_pylist()),
        users=np.array(table["user"].slice(0, n_users).to_pylist(), dtype=np.str_),
    )


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
