"""Evaluation of run files against a qrels file, as trec_eval does it, and how it is printed."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from analyses.shared.table import FORMATS, Table
from harness.metrics.shared.metric import name_users_in_errors
from harness.metrics.shared.names import VALUES_WITHOUT_NONRELEVANT
from harness.readers.rankings import judgements_of, read_run_files
from harness.readers.sense_check import SenseCheck, check_grades
from harness.scoring.tied_items import MIN_TIED_SHARE, orders_of_tied_lines, warn_of_ranges
from harness.trec_eval.measures import RUN_ID, Column
from qrels import Qrels, judge
from qrels.qrels import judgement_facts, warn_of_one_sided_judgements
from runs.run_file import Precision, RankedLists, common_items, require_known_users
from runs.shared.arrays import Floats, Integers, Numbers
from runs.shared.errors import counted
from runs.shared.fields import place_in_group
from runs.tables.roles import ColumnNames

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
    values: Floats
    n_missing: int

    @property
    def averages(self) -> Floats:
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
        which = "all count." if all_count else "those that a run has count."
        missing = "." if all_count else ", which do not count."
        return [
            f"{counted(facts['users'], 'topic')}: {facts['users without relevant items']} without "
            "relevant "
            f"items, {facts['users without judged non-relevant items']} without judged "
            f"non-relevant items; {which}",
            *(
                f"{run.path}: {counted(run.n_missing, 'topic')} without recommendations{missing}"
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
    run_columns: ColumnNames | None = None,
    qrels_columns: ColumnNames | None = None,
) -> Evaluations:
    """Evaluate run files over the topics of a qrels file.

    One file is held at a time, and a block of its topics is scored at a time: memory grows with the
    lines of the longest file, not with its topics times its longest list.
    """
    file = judgements_of(qrels_path, qrels_columns)
    sense = SenseCheck(file, str(qrels_path))
    evaluations = []
    for run_path in run_paths:
        # Each file has a numbering of its own items.
        for run_file in read_run_files([run_path], run_columns):
            items = common_items([run_file], file.items)
            require_known_users(run_file, file.users)
            sense.add(run_file)
            lists = run_file.ranked_lists(file.users, items, precision=precision)
            qrels = file.to_qrels(items, relevance_level=relevance_level)
            values = _score_topics(lists, qrels, columns, depth=depth, judged_only=judged_only)
            has_list = lists.lengths > 0
            counting = np.flatnonzero(has_list | (topics == "qrels"))
            _warn_of_ties(lists, qrels, columns, counting, depth=depth, judged_only=judged_only)
            evaluations.append(
                Evaluation(
                    path=run_file.path,
                    system=run_file.system,
                    topics=tuple(file.users.ids[counting].tolist()),
                    columns=tuple(columns),
                    values=values[:, counting],
                    n_missing=int(np.count_nonzero(~has_list)),
                )
            )
    sense.finish()
    qrels = file.to_qrels(file.items, relevance_level=relevance_level)
    check_grades(qrels, remedy="`-l {level}`")
    warn_of_one_sided_judgements(qrels, _collapsing(column.name for column in columns))
    return Evaluations(tuple(evaluations), judgement_facts(qrels), topics)


def _warn_of_ties(
    lists: RankedLists,
    qrels: Qrels,
    columns: Sequence[Column],
    topics: Numbers,
    *,
    depth: int | None,
    judged_only: bool,
) -> None:
    """Warn if many lists have items of equal score whose order matters for a mean.

    Parameters
    ----------
    lists
        The lists of a run.
    qrels
        The judgements.
    columns
        The measures.
    topics
        Numbers of the topics that count.
    depth, judged_only
        As for `evaluate_runs`.
    """
    topic_of_line = np.repeat(np.arange(qrels.n_users), lists.lengths)
    is_tied = lists.tied
    if depth is not None:
        is_tied = is_tied & (place_in_group(topic_of_line) <= depth)
    n_ties = np.bincount(topic_of_line[is_tied], minlength=qrels.n_users)
    share = float((n_ties[topics] > 0).mean()) if len(topics) else 0.0
    if share < MIN_TIED_SHARE:
        return
    orders = [lists, *orders_of_tied_lines(lists, qrels)]
    means = np.empty((len(columns), len(orders)))
    for number, order in enumerate(orders):
        values = _score_topics(order, qrels, columns, depth=depth, judged_only=judged_only)
        means[:, number] = values[:, topics].mean(axis=1)
    warn_of_ranges(lists.system, share, [column.name for column in columns], means)


CELLS_AT_ONCE = 1 << 20
"""Ranks, or judgements, of the topics that are scored together: 8 MB of grades."""


def _score_topics(
    lists: RankedLists,
    qrels: Qrels,
    columns: Sequence[Column],
    *,
    depth: int | None,
    judged_only: bool,
) -> Floats:
    """Score all topics of the qrels, of shape (n_columns, n_topics)."""
    values = np.empty((len(columns), qrels.n_users))
    longest = int(lists.lengths.max(initial=1))
    deepest = longest if depth is None else min(depth, longest)
    lengths = np.minimum(lists.lengths, deepest)
    for topics in _blocks(np.maximum(lengths, np.diff(qrels.offsets))):
        n_ranks = int(lengths[topics].max(initial=1))
        run = lists.to_run(topics, depth=n_ranks)
        judged = judge(run, qrels.select_users(topics)).as_deep_as(deepest)
        if judged_only:
            judged = judged.condensed
        with name_users_in_errors(lists.topics.ids[topics]):
            for number, column in enumerate(columns):
                values[number, topics] = column.score(judged)
    return values


def _blocks(widths: Integers) -> Iterator[Numbers]:
    """Divide topics into blocks, so that rows of equal width have few cells in each block.

    Widths are the number of items that each topic needs room for, of shape (n_topics,).
    """
    if len(widths) * widths.max(initial=0) <= CELLS_AT_ONCE:
        yield np.arange(len(widths))
        return
    order = np.argsort(widths, kind="stable")
    first = 0
    while first < len(order):
        n_cells = np.arange(1, len(order) - first + 1) * widths[order[first:]]
        n_topics = max(1, int(np.searchsorted(n_cells, CELLS_AT_ONCE, side="right")))
        yield np.sort(order[first : first + n_topics])
        first += n_topics


def _collapsing(names: Iterable[str]) -> list[str]:
    """Say what measures are for users without judged non-relevant items, where that is known."""
    bases = {name: name.partition("@")[0].partition("(")[0] for name in names}
    return [
        f"{name} {VALUES_WITHOUT_NONRELEVANT[base]}"
        for name, base in bases.items()
        if base in VALUES_WITHOUT_NONRELEVANT
    ]


ALL = "all"


def as_trec(evaluations: Evaluations, *, per_topic: bool) -> str:
    """Print as trec_eval does, run by run; every topic before the averages (``-q``) if asked.

    Of several runs, each begins with its tag.
    """
    lines = []
    for run in evaluations.runs:
        rows = [*_rows(run, per_topic=per_topic)]
        if len(evaluations.runs) > 1 and RUN_ID not in run.columns:
            rows.insert(0, (RUN_ID, None, run.system))
        for column, topic, value in rows:
            number = value if column is RUN_ID else f"{value:{'.0f' if column.whole else '6.4f'}}"
            lines.append(f"{column.name:<22}\t{topic or ALL}\t{number}\n")
    return "".join(lines)


def _as_csv(evaluations: Evaluations, *, per_topic: bool) -> str:
    """Print one value per line, in full precision: run, system, measure, topic, value."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["run", "system", "measure", "topic", "value"])
    for run in evaluations.runs:
        for measure, topic, number in _numbers(run, per_topic=per_topic):
            writer.writerow([run.path, run.system, measure, topic or ALL, number])
    return stream.getvalue()


def _as_json(evaluations: Evaluations, *, per_topic: bool) -> str:
    """Print one document, in full precision."""
    runs = []
    for run in evaluations.runs:
        values: dict[str | None, dict[str, int | float]] = defaultdict(dict)
        for measure, topic, number in _numbers(run, per_topic=per_topic):
            values[topic][measure] = number
        facts = {"run": str(run.path), "system": run.system}
        counts = {"topics without recommendations": run.n_missing, ALL: values.pop(None, {})}
        runs.append(facts | counts | ({"topics": values} if per_topic else {}))
    document = {"qrels": evaluations.facts, "runs": runs}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _as_table(evaluations: Evaluations, *, per_topic: bool) -> Table:
    """Give a row of values to every run, or to every topic of a run."""
    cells = {}
    n_runs = Counter(run.path for run in evaluations.runs)
    for run in evaluations.runs:
        name = f"{run.path}, {run.system}" if n_runs[run.path] > 1 else str(run.path)
        for measure, topic, number in _numbers(run, per_topic=per_topic):
            cells[name if topic is None else f"{name}, topic {topic}", measure] = number
    return Table.from_cells("evaluation", "Measures of the runs", "", "run", cells)


def printed(evaluations: Evaluations, format_: str, *, per_topic: bool) -> str:
    """Print in one of the formats: trec, or one of those of tables."""
    own: dict[str, Callable[..., str]] = {"trec": as_trec, "csv": _as_csv, "json": _as_json}
    if format_ in own:
        return own[format_](evaluations, per_topic=per_topic)
    return FORMATS[format_]([_as_table(evaluations, per_topic=per_topic)])


def _rows(run: Evaluation, *, per_topic: bool) -> Iterator[tuple[Column, str | None, Any]]:
    """Go through the values in trec_eval's order: topic by topic, then of all, without a topic."""
    if per_topic:
        for number, topic in enumerate(run.topics):
            for column, values in zip(run.columns, run.values, strict=True):
                if column.per_topic:
                    yield column, topic, values[number]
    for column, average in zip(run.columns, run.averages, strict=True):
        yield column, None, run.system if column is RUN_ID else average


def _numbers(run: Evaluation, *, per_topic: bool) -> Iterator[tuple[str, str | None, int | float]]:
    """Go through measure, topic and value, but for the tag of the run."""
    for column, topic, value in _rows(run, per_topic=per_topic):
        if column is not RUN_ID:
            yield column.name, topic, int(value) if column.whole else float(value)
