"""Scores in Parquet, bit for bit: ``scores.parquet`` of a study."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from analyses.shared.measure import Measure, Measures, Scores

MEASURES = "measures"
"""The key of the metadata."""


def scores_to_parquet(scores: Scores) -> bytes:
    """Write scores in long form: columns metric, cutoff, system, user, score.

    Rows run over users fastest, then systems, then measures. What is known of the measures is
    metadata of the file: which are reported, make curves, and fall.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    n_measures, n_systems, n_users = scores.values.shape
    names = list(dict.fromkeys(measure.metric for measure in scores.measures))
    metrics = np.array([names.index(measure.metric) for measure in scores.measures], dtype=np.int32)
    cutoffs = pa.array([measure.cutoff for measure in scores.measures], pa.int32())
    systems = np.tile(np.repeat(np.arange(n_systems, dtype=np.int32), n_users), n_measures)
    users = np.tile(np.arange(n_users, dtype=np.int32), n_measures * n_systems)
    measures = np.repeat(np.arange(n_measures, dtype=np.int32), n_systems * n_users)
    columns = {
        "metric": pa.DictionaryArray.from_arrays(metrics[measures], pa.array(names)),
        "cutoff": cutoffs.take(measures),
        "system": pa.DictionaryArray.from_arrays(systems, pa.array(scores.systems)),
        "user": pa.DictionaryArray.from_arrays(users, pa.array(scores.users.tolist())),
        "score": scores.values.ravel(),
    }
    stream = BytesIO()
    # Nobody skips row groups by their least and greatest score, and to find these takes as long as
    # the rest of the writing.
    table = pa.table(columns).replace_schema_metadata(
        {MEASURES: json.dumps(_known(scores.measures))}
    )
    parquet.write_table(table, stream, compression="zstd", write_statistics=False)
    return stream.getvalue()


def _known(measures: Measures) -> dict[str, Any]:
    """Say what is known of measures, by their numbers."""
    return {
        "reported": measures.numbers(measures.reported),
        "grid": measures.numbers(measures.grid),
        "falling": sorted(measures.falling),
    }


def _measures(every: Sequence[Measure], metadata: Mapping[bytes, bytes]) -> Measures:
    """Say of measures what `_known` wrote; nothing, if the file is another's."""
    known = json.loads(metadata.get(MEASURES.encode(), b"{}"))
    some = {key: [every[n] for n in known[key]] for key in ("reported", "grid") if known}
    return Measures(every, falling=known.get("falling", ()), **some)


def scores_from_parquet(content: bytes) -> Scores:
    """Read back what `scores_to_parquet` wrote, bit for bit."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = parquet.read_table(pa.BufferReader(content))
    n_users = len(table["user"].unique())
    n_systems = len(table["system"].unique())
    step = n_users * n_systems
    metrics = table["metric"].take(np.arange(0, len(table), step)).to_pylist()
    cutoffs = table["cutoff"].take(np.arange(0, len(table), step)).to_pylist()
    return Scores(
        values=table["score"].to_numpy().reshape(-1, n_systems, n_users),
        measures=_measures(list(map(Measure, metrics, cutoffs)), table.schema.metadata or {}),
        systems=tuple(table["system"].take(np.arange(0, step, n_users)).to_pylist()),
        users=np.array(table["user"].slice(0, n_users).to_pylist(), dtype=np.str_),
    )
