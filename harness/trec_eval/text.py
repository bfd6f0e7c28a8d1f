"""Evaluations as text: trec_eval's lines, CSV, JSON, a table."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from analyses.shared.table import aligned
from harness.trec_eval.evaluate import Evaluation, Evaluations
from harness.trec_eval.measures import RUN_ID, Column

ALL = "all"


def as_trec(evaluations: Evaluations, *, per_topic: bool) -> str:
    """Print as trec_eval does, run by run; every topic before the averages (``-q``) if asked."""
    return "".join(
        f"{column.name:<22}\t{topic}\t{_four_decimals(column, value)}\n"
        for run in evaluations.runs
        for column, topic, value in _rows(run, per_topic=per_topic)
    )


def as_csv(evaluations: Evaluations, *, per_topic: bool) -> str:
    """Print one value per line, in full precision: run, system, measure, topic, value."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["run", "system", "measure", "topic", "value"])
    for run in evaluations.runs:
        for column, topic, value in _rows(run, per_topic=per_topic):
            if column is not RUN_ID:
                writer.writerow([run.path, run.system, column.name, topic, _number(column, value)])
    return stream.getvalue()


def as_json(evaluations: Evaluations, *, per_topic: bool) -> str:
    """Print one document, in full precision."""
    runs = [_as_mapping(run, per_topic=per_topic) for run in evaluations.runs]
    document = {"qrels": evaluations.facts, "runs": runs}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_table(evaluations: Evaluations, *, per_topic: bool) -> str:
    """Print measures down, systems across, with four decimals."""
    cells: list[list[str]] = []
    per_run = [list(_rows(run, per_topic=per_topic)) for run in evaluations.runs]
    for rows in zip(*per_run, strict=True):
        column, topic, _ = rows[0]
        if column is not RUN_ID:
            cells.append([column.name, topic, *(_four_decimals(column, row[2]) for row in rows)])
    return aligned([["measure", "topic", *_headings(evaluations)], *cells], n_names=2)


FORMATS: dict[str, Callable[..., str]] = {
    "trec": as_trec,
    "csv": as_csv,
    "json": as_json,
    "table": as_table,
}


def _rows(run: Evaluation, *, per_topic: bool) -> Iterator[tuple[Column, str, Any]]:
    """Go through the values in trec_eval's order: topic by topic, then all."""
    if per_topic:
        for number, topic in enumerate(run.topics):
            for column, values in zip(run.columns, run.values, strict=True):
                if column.per_topic:
                    yield column, topic, values[number]
    for column, average in zip(run.columns, run.averages, strict=True):
        yield column, ALL, run.system if column is RUN_ID else average


def _four_decimals(column: Column, value: Any) -> str:
    if column is RUN_ID:
        return str(value)
    return f"{value:.0f}" if column.whole else f"{value:6.4f}"


def _number(column: Column, value: Any) -> int | float:
    return int(value) if column.whole else float(value)


def _as_mapping(run: Evaluation, *, per_topic: bool) -> dict[str, Any]:
    values: dict[str, dict[str, int | float]] = {}
    averages: dict[str, int | float] = {}
    by_topic = run.values.T if per_topic else ()
    for topic, row in zip(run.topics, by_topic, strict=False):
        pairs = zip(run.columns, row, strict=True)
        values[topic] = {c.name: _number(c, value) for c, value in pairs if c.per_topic}
    for column, average in zip(run.columns, run.averages, strict=True):
        if column is not RUN_ID:
            averages[column.name] = _number(column, average)
    facts = {"run": str(run.path), "system": run.system}
    counts = {"topics without recommendations": run.n_missing}
    return {**facts, **counts, ALL: averages} | ({"topics": values} if per_topic else {})


def _headings(evaluations: Evaluations) -> list[str]:
    """Name the columns by the tags of the runs, or by their files where tags coincide."""
    tags = Counter(run.system for run in evaluations.runs)
    return [run.system if tags[run.system] == 1 else str(run.path) for run in evaluations.runs]
