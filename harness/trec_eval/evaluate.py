"""Evaluation of run files against a qrels file, as trec_eval does it; printed in four formats."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from analyses.shared.table import aligned
from harness.trec_eval.measures import RUN_ID, Column
from qrels import Judged, judge
from qrels.qrels import judgement_facts, warn_of_one_kind
from qrels.trec import read_qrels
from runs import Run
from runs.formats import read_run
from runs.run_file import Precision, common_items, require_known_users

Topics: TypeAlias = Literal["qrels", "run"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What every measure says of one run, whose file and tag are known.

    Values are of shape (n_measures, n_topics), of the topics that count, sorted: all in the qrels,
    or those that the run has, too. A topic that the run lacks has 0, and is counted.
    """

    path: Path | str
    system: str
    topics: tuple[str, ...]
    columns: tuple[Column, ...]
    values: NDArray[np.float64]
    n_missing: int

    @property
    def averages(self) -> NDArray[np.float64]:
        """One value for all topics: mean, sum or geometric mean, of shape (n_measures,)."""
        rows = zip(self.columns, self.values, strict=True)
        return np.array([column.average(row) for column, row in rows])


@dataclass(frozen=True, eq=False)
class Evaluations:
    """Run files evaluated against the same qrels; counts of topics and judgements."""

    runs: tuple[Evaluation, ...]
    facts: dict[str, int]
    topics: Topics = "qrels"

    def remarks(self) -> list[str]:
        """Say for how many topics the means hold little."""
        facts, all_count = self.facts, self.topics == "qrels"
        counted = "all count." if all_count else "those that a run has count."
        missing = "." if all_count else ", which do not count."
        return [
            f"{facts['users']} topics: {facts['users without relevant items']} without relevant "
            f"items, {facts['users without judged non-relevant items']} without judged "
            f"non-relevant items; {counted}",
            *(
                f"{run.path}: {run.n_missing} topics without recommendations{missing}"
                for run in self.runs
            ),
        ]


def evaluate_runs(
    qrels_path: Path,
    run_paths: Sequence[Path],
    columns: Sequence[Column],
    *,
    relevance_level: int = 1,
    depth: int | None = None,
    judged_only: bool = False,
    precision: Precision = "double",
    topics: Topics = "qrels",
) -> Evaluations:
    """Evaluate run files over the topics of a qrels file."""
    file = read_qrels(qrels_path)
    run_files = [read_run(path) for path in run_paths]
    items = common_items(run_files, file.items)
    qrels = file.to_qrels(items, relevance_level=relevance_level)
    evaluations = []
    for run_file in run_files:
        require_known_users(run_file, file.users)
        run = run_file.to_run(file.users, items, precision=precision)
        run = Run(run.system, run.items[:, :depth])
        counted = np.flatnonzero((run.lengths > 0) | (topics == "qrels"))
        judged = judge(run, qrels)
        judged = judged.condensed if judged_only else judged
        evaluations.append(
            Evaluation(
                path=run_file.path,
                system=run.system,
                topics=tuple(file.users.ids[counted].tolist()),
                columns=tuple(columns),
                values=_values(judged, columns)[:, counted],
                n_missing=int((run.lengths == 0).sum()),
            )
        )
    warn_of_one_kind(qrels)
    return Evaluations(tuple(evaluations), judgement_facts(qrels), topics)


def _values(judged: Judged, columns: Sequence[Column]) -> NDArray[np.float64]:
    values = [column.score(judged) for column in columns]
    return np.array(values).reshape(len(columns), judged.n_users)


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
