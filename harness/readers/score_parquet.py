"""Scores of a study as a Parquet file, and back."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import numpy as np

from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import USER, Scores

SCORES_FILE = "scores.parquet"

MEASURES = "measures"
"""The key of the metadata."""

ROWS_AT_ONCE = 1 << 20
"""Rows that are written together: as many as a row group has."""


def scores_to_parquet(scores: Scores) -> bytes:
    """Write scores in long form: columns metric, cutoff, system, user, score.

    Rows run over users fastest, then systems, then measures. What is known of the measures is
    metadata of the file: which are reported, make curves, and fall.
    """
    import pyarrow as pa
    from pyarrow import parquet

    _, n_systems, n_users = scores.values.shape
    measures = scores.measures
    values = scores.values.ravel()
    metric_names = list(dict.fromkeys(measure.metric for measure in measures))
    metric_of_measure = np.array([metric_names.index(measure.metric) for measure in measures])
    cutoffs = pa.array([measure.cutoff for measure in measures], pa.int32())
    texts = {
        "metric": pa.array(metric_names, pa.string()),
        "system": pa.array(scores.systems, pa.string()),
        "user": pa.array(scores.users.tolist(), pa.string()),
    }
    metadata = {
        "reported": measures.indices(measures.reported),
        "grid": measures.indices(measures.grid),
        "falling": sorted(measures.lower_is_better_for),
        "unit": scores.unit,
    }
    text_type = pa.dictionary(pa.int32(), pa.string())
    types = {
        "metric": text_type,
        "cutoff": pa.int32(),
        "system": text_type,
        "user": text_type,
        "score": pa.float64(),
    }
    schema = pa.schema(types, {MEASURES: json.dumps(metadata)})
    stream = BytesIO()
    # Nobody skips row groups by their least and greatest score, and to find these takes as long as
    # the rest of the writing.
    with parquet.ParquetWriter(stream, schema, compression="zstd", write_statistics=False) as file:
        for first in range(0, max(len(values), 1), ROWS_AT_ONCE):
            score = values[first : first + ROWS_AT_ONCE]
            list_of_row, user = np.divmod(np.arange(first, first + len(score)), n_users)
            measure, system = np.divmod(list_of_row, n_systems)
            numbers = {"metric": metric_of_measure[measure], "system": system, "user": user}
            columns: dict[str, Any] = {
                name: pa.DictionaryArray.from_arrays(number.astype(np.int32), texts[name])
                for name, number in numbers.items()
            }
            columns["cutoff"] = cutoffs.take(measure)
            columns["score"] = score
            file.write_table(pa.table(columns, schema))
    return stream.getvalue()


def scores_from_parquet(content: bytes) -> Scores:
    """Read back what `scores_to_parquet` wrote, bit for bit."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    file = parquet.ParquetFile(pa.BufferReader(content))

    def column(name: str) -> Any:
        """Read one column as an Arrow array."""
        return file.read(columns=[name])[name]

    users = column("user").unique().to_pylist()
    systems = column("system").unique().to_pylist()
    first_rows = np.arange(0, file.metadata.num_rows, len(users) * len(systems))
    metrics = column("metric").take(first_rows).to_pylist()
    cutoffs = column("cutoff").take(first_rows).to_pylist()
    measures = [Measure(*label) for label in zip(metrics, cutoffs, strict=True)]
    # The file of another program says nothing more of its measures.
    metadata = json.loads((file.schema_arrow.metadata or {}).get(MEASURES.encode(), b"{}"))
    roles = {
        key: [measures[number] for number in metadata[key]]
        for key in ("reported", "grid")
        if metadata
    }
    scores = Scores(
        values=column("score").to_numpy().reshape(-1, len(systems), len(users)),
        measures=Measures(measures, lower_is_better_for=metadata.get("falling", ()), **roles),
        systems=tuple(systems),
        users=np.array(users, dtype=np.str_),
        unit=metadata.get("unit", USER),
    )
    # Arrow would keep what columns took: gigabytes, where users are many.
    pa.default_memory_pool().release_unused()
    return scores
