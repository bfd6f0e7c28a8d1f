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

    ``scores.values`` has the shape (n_measures, n_systems, n_users): rows run over users fastest,
    then systems, then measures. A cut-off is missing where whole lists are scored. What is known of
    the measures is metadata of the file: which are reported, make curves (the grid of cut-offs),
    and fall (lower is better).
    """
    import pyarrow as pa
    from pyarrow import parquet

    _, n_systems, n_users = scores.values.shape
    measures = scores.measures
    values = scores.values.ravel()
    metrics = [measure.metric for measure in measures]
    metric_names = list(dict.fromkeys(metrics))
    metric_of_measure = np.array([metric_names.index(metric) for metric in metrics])
    text = pa.string()
    integer = pa.int32()
    cutoffs = pa.array([measure.cutoff for measure in measures], integer)
    labels = {
        "metric": pa.array(metric_names, text),
        "system": pa.array(scores.systems, text),
        "user": pa.array(scores.users.tolist(), text),
    }
    label_type = pa.dictionary(integer, text)
    types = {
        "metric": label_type,
        "cutoff": integer,
        "system": label_type,
        "user": label_type,
        "score": pa.float64(),
    }
    metadata = json.dumps(_facts_of_measures(scores))
    schema = pa.schema(types, {MEASURES: metadata})
    stream = BytesIO()
    # Nobody skips row groups by their least and greatest score, and to find these takes as long as
    # the rest of the writing.
    with parquet.ParquetWriter(stream, schema, compression="zstd", write_statistics=False) as file:
        # Without scores, one empty table is written.
        n_rows = max(len(values), 1)
        for first in range(0, n_rows, ROWS_AT_ONCE):
            score = values[first : first + ROWS_AT_ONCE]
            row = np.arange(first, first + len(score))
            list_of_row, user = np.divmod(row, n_users)
            measure, system = np.divmod(list_of_row, n_systems)
            numbers = {"metric": metric_of_measure[measure], "system": system, "user": user}
            columns: dict[str, Any] = {"cutoff": cutoffs.take(measure), "score": score}
            for name, number in numbers.items():
                indices = number.astype(np.int32)
                columns[name] = pa.DictionaryArray.from_arrays(indices, labels[name])
            file.write_table(pa.table(columns, schema))
    return stream.getvalue()


def _facts_of_measures(scores: Scores) -> dict[str, Any]:
    """List what the columns do not hold: numbers of measures, metrics that fall, and the unit."""
    measures = scores.measures
    return {
        "reported": measures.indices(measures.reported),
        "grid": measures.indices(measures.grid),
        "falling": sorted(measures.lower_is_better_for),
        "unit": scores.unit,
    }


def scores_from_parquet(content: bytes) -> Scores:
    """Read back what `scores_to_parquet` wrote, bit for bit.

    Without metadata, as in a file of another program, scores are of users, and nothing is known of
    the roles of measures. Raises KeyError or ValueError if columns are missing or do not fit.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    file = parquet.ParquetFile(pa.BufferReader(content))

    def column(name: str) -> Any:
        """Read one column as an Arrow array."""
        return file.read(columns=[name])[name]

    users = column("user").unique().to_pylist()
    systems = column("system").unique().to_pylist()
    n_rows = file.metadata.num_rows
    n_rows_of_measure = len(users) * len(systems)
    first_rows = np.arange(0, n_rows, n_rows_of_measure)
    metrics = column("metric").take(first_rows).to_pylist()
    cutoffs = column("cutoff").take(first_rows).to_pylist()
    measures = [Measure(metric, cutoff) for metric, cutoff in zip(metrics, cutoffs, strict=True)]
    # The file of another program says nothing more of its measures.
    metadata = file.schema_arrow.metadata or {}
    facts = json.loads(metadata.get(MEASURES.encode(), b"{}"))
    reported: list[Measure] | None = None
    grid: list[Measure] | None = None
    if facts:
        reported = [measures[number] for number in facts["reported"]]
        grid = [measures[number] for number in facts["grid"]]
    falling = facts.get("falling", ())
    measures_with_roles = Measures(
        measures, lower_is_better_for=falling, reported=reported, grid=grid
    )
    values = column("score").to_numpy()
    scores = Scores(
        values=values.reshape(-1, len(systems), len(users)),
        measures=measures_with_roles,
        systems=tuple(systems),
        users=np.array(users, dtype=np.str_),
        unit=facts.get("unit", USER),
    )
    # Arrow would keep what columns took: gigabytes, where users are many.
    pa.default_memory_pool().release_unused()
    return scores
