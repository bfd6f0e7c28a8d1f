"""Scores in Parquet, bit for bit: ``scores.parquet`` of a study."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO

import numpy as np

from analyses.shared.measure import Measure, Measures, Scores


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


def scores_from_parquet(content: bytes, *, falling: Iterable[str] = ()) -> Scores:
    """Read back what `scores_to_parquet` wrote, bit for bit.

    The file does not say of which metrics less is better; these are falling.
    """
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
        measures=Measures(map(Measure, metrics, cutoffs), falling=falling),
        systems=tuple(table["system"].take(np.arange(0, step, n_users)).to_pylist()),
        users=np.array(table["user"].slice(0, n_users).to_pylist(), dtype=np.str_),
    )
