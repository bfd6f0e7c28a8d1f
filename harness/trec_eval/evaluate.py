"""Evaluation of run files against a qrels file, as trec_eval does it, and how it is printed."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from analyses.shared.table import FORMATS, Table
from harness.metrics.shared.metric import name_users_in_errors
from harness.metrics.shared.names import VALUES_WITHOUT_NONRELEVANT
from harness.readers.judgements import judgements_of
from harness.readers.rankings import read_run_files
from harness.readers.sense_check import SenseCheck, check_grades
from harness.scoring.tied_items import MIN_TIED_SHARE, orders_of_tied_lines, warn_of_ranges
from harness.trec_eval.measures import RUN_ID, Column
from qrels import Catalogue, Qrels, judge
from qrels.qrels import judgement_facts, warn_of_one_sided_judgements
from runs.run_file import Precision, RankedLists, require_known_users
from runs.shared.arrays import Floats, Integers, Ints, Numbers
from runs.shared.errors import counted
from runs.shared.fields import place_in_group

if TYPE_CHECKING:
    from runs.tables.options import TextOptions

Topics: TypeAlias = Literal["qrels", "run"]
"""Topics that count: all in the qrels, or only those that a run has, too."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The values of one run by every measure.

    Parameters
    ----------
    path, system
        Its file and its tag.
    topics
        Sorted ids of the topics that count: all in the qrels, or those that the run has, too.
    columns
        The measures.
    values
        Of shape (n_measures, n_topics); 0 for a topic that the run lacks.
    n_missing
        Number of topics of the qrels that the run lacks.
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
        by_column = zip(self.columns, self.values, strict=True)
        return np.array([column.average(values) for column, values in by_column])


@dataclass(frozen=True, eq=False)
class Evaluations:
    """Run files evaluated against the same qrels.

    Parameters
    ----------
    runs
        The values of each run.
    facts
        Counts of topics and judgements, by what is counted.
    topics
        Which topics count: all in the "qrels", or those of the "run".
    """

    runs: tuple[Evaluation, ...]
    facts: dict[str, int]
    topics: Topics = "qrels"

    def remarks(self) -> list[str]:
        """Write sentences on topics that need care: one for the qrels, then one for each run.

        The first counts the topics without relevant or judged non-relevant items; the others, the
        topics of the qrels that the run lacks. They also say whether such topics count.
        """
        counting = "all count."
        missing_ones = "."
        if self.topics == "run":
            counting = "those that a run has count."
            missing_ones = ", which do not count."
        n_topics = counted(self.facts["users"], "topic")
        without_relevant = self.facts["users without relevant items"]
        without_nonrelevant = self.facts["users without judged non-relevant items"]
        remarks = [
            f"{n_topics}: {without_relevant} without relevant items, {without_nonrelevant} without "
            f"judged non-relevant items; {counting}"
        ]
        for run in self.runs:
            n_missing = counted(run.n_missing, "topic")
            remarks.append(f"{run.path}: {n_missing} without recommendations{missing_ones}")
        return remarks


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
    run_options: TextOptions | None = None,
    qrels_options: TextOptions | None = None,
) -> Evaluations:
    """Evaluate run files over the topics of a qrels file.

    The judgements are sorted and numbered once. One file is held at a time, and a block of its
    topics is scored at a time: memory grows with the judgements and with the lines of the longest
    file, not with its topics times its longest list.

    Warns of ties that change a mean, and of what is suspicious in runs and judgements.

    Parameters
    ----------
    qrels_path, run_paths
        Files of the judgements and of the runs; a file may hold several runs.
    columns
        The measures.
    relevance_level
        Lowest relevant grade.
    depth
        Number of ranks that are read of every list; None for all.
    judged_only
        Whether to leave out what is not judged from the lists.
    precision
        Precision to which scores are compared for ties: see `RunFile.ranked_lists`.
    topics
        Which topics count: all of the "qrels", where one that a run lacks scores 0 by measures of
        quality, or those that the "run" has, too.
    run_options, qrels_options
        What a person says of the files: encoding, separator, and columns.

    Returns
    -------
    The values of each run, in the order of the files, and counts of topics and judgements.

    Raises
    ------
    InputError
        If a file cannot be read, or a run has no topic of the qrels.
    """
    qrels_file = judgements_of(qrels_path, qrels_options)
    qrels = qrels_file.to_qrels(qrels_file.items, relevance_level=relevance_level)
    all_topics = np.arange(qrels.n_users)
    sense_check = SenseCheck(qrels_file, str(qrels_path))
    evaluations = []
    for run_path in run_paths:
        for run_file in read_run_files([run_path], run_options):
            require_known_users(run_file, qrels_file.users)
            item_in_qrels = qrels_file.items.numbers(run_file.items.ids)
            sense_check.add(run_file, item_in_qrels)
            # Lists are ordered by the file's own items, and judged by the numbers of the qrels.
            own_lists = run_file.ranked_lists(qrels_file.users, run_file.items, precision=precision)
            item_numbers = _beyond_judged(item_in_qrels, len(qrels_file.items))
            lists = replace(own_lists, item=item_numbers[own_lists.item])
            values = _score_topics(
                lists, qrels, columns, all_topics, depth=depth, judged_only=judged_only
            )
            has_list = lists.lengths > 0
            is_counting = has_list | (topics == "qrels")
            counting = np.flatnonzero(is_counting)
            _warn_of_ties(
                lists, qrels, columns, counting, values, depth=depth, judged_only=judged_only
            )
            evaluation = Evaluation(
                path=run_file.path,
                system=run_file.system,
                topics=tuple(qrels_file.users.ids[counting].tolist()),
                columns=tuple(columns),
                values=values[:, counting],
                n_missing=int(np.count_nonzero(~has_list)),
            )
            evaluations.append(evaluation)
    sense_check.finish()
    check_grades(qrels, remedy="`-l {level}`")
    constant_values = _values_without_nonrelevant(column.name for column in columns)
    warn_of_one_sided_judgements(qrels, constant_values)
    return Evaluations(tuple(evaluations), judgement_facts(qrels), topics)


def _beyond_judged(item_in_qrels: Ints, n_judged_items: int) -> Ints:
    """Number the items that the qrels lack after all that they have.

    ``item_in_qrels`` are numbers in the qrels, -1 for items that are not there, of shape
    (n_items,). The result is int32 of the same shape.
    """
    further_numbers = n_judged_items + np.arange(len(item_in_qrels))
    return np.where(item_in_qrels >= 0, item_in_qrels, further_numbers).astype(np.int32)


def _warn_of_ties(
    lists: RankedLists,
    qrels: Qrels,
    columns: Sequence[Column],
    topics: Numbers,
    values: Floats,
    *,
    depth: int | None,
    judged_only: bool,
) -> None:
    """Warn if many lists have items of equal score whose order matters for a mean.

    Nothing happens if less than `MIN_TIED_SHARE` (5 %) of the topics that count have such items in
    the ranks that are read. Else topics whose items change places are scored with tied items in
    other orders, too, and the warning shows the range of each mean that differs.

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
    values
        Values of all topics of the qrels by all measures, as read, (n_columns, n_topics).
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
    means = [values[:, topics].mean(axis=1)]
    for order in orders_of_tied_lines(lists, qrels):
        values_of_order = values.copy()
        reordered_topics = np.unique(topic_of_line[order.item != lists.item])
        if len(reordered_topics) > 0:
            values_of_order[:, reordered_topics] = _score_topics(
                order, qrels, columns, reordered_topics, depth=depth, judged_only=judged_only
            )
        means.append(values_of_order[:, topics].mean(axis=1))
    warn_of_ranges(
        lists.system, share, [column.name for column in columns], np.stack(means, axis=1)
    )


NOTHING_KNOWN = Catalogue(0)
"""Properties of items, of which run files and qrels tell none."""

CELLS_AT_ONCE = 1 << 20
"""Ranks, or judgements, of the topics that are scored together: 8 MB of grades."""


def _score_topics(
    lists: RankedLists,
    qrels: Qrels,
    columns: Sequence[Column],
    topics: Numbers,
    *,
    depth: int | None,
    judged_only: bool,
) -> Floats:
    """Score some topics of the qrels by all measures: values of shape (n_columns, n_topics).

    ``topics`` are their numbers, rising, of shape (n_topics,). ``depth`` is the number of ranks
    that count, None for all; with ``judged_only``, items without a judgement are then left out of
    the lists. Errors of a measure name users by id.
    """
    values = np.empty((len(columns), len(topics)))
    longest = int(lists.lengths.max(initial=1))
    deepest = longest if depth is None else min(depth, longest)
    lengths = np.minimum(lists.lengths, deepest)
    judgement_counts = np.diff(qrels.offsets)
    widths = np.maximum(lengths, judgement_counts)
    for places in _blocks(widths[topics]):
        topics_of_block = topics[places]
        n_ranks = int(lengths[topics_of_block].max(initial=1))
        run = lists.to_run(topics_of_block, depth=n_ranks)
        qrels_of_block = qrels.select_users(topics_of_block)
        judged = judge(run, qrels_of_block, NOTHING_KNOWN).as_deep_as(deepest)
        if judged_only:
            judged = judged.condensed
        with name_users_in_errors(lists.topics.ids[topics_of_block]):
            for number, column in enumerate(columns):
                values[number, places] = column.score(judged)
    return values


def _blocks(widths: Integers) -> Iterator[Numbers]:
    """Divide topics into blocks that fit a table of at most `CELLS_AT_ONCE` cells.

    ``widths`` are the number of items that each topic needs room for, of shape (n_topics,); the
    table of a block has a row for each topic, as wide as its widest. A topic that is wider is a
    block of its own. Yields the rising numbers of the topics of each block; topics of similar width
    come together.
    """
    if len(widths) * widths.max(initial=0) <= CELLS_AT_ONCE:
        yield np.arange(len(widths))
        return
    order = np.argsort(widths, kind="stable")
    start = 0
    while start < len(order):
        remaining_widths = widths[order[start:]]
        # By number of topics: the widest, which comes last, sets the width of all.
        n_cells = np.arange(1, len(remaining_widths) + 1) * remaining_widths
        n_topics = max(1, int(np.searchsorted(n_cells, CELLS_AT_ONCE, side="right")))
        yield np.sort(order[start : start + n_topics])
        start += n_topics


def _values_without_nonrelevant(names: Iterable[str]) -> list[str]:
    """Describe what measures are for users without judged non-relevant items.

    ``names`` are of measures, such as "bpref@10". The result has a clause, which begins with the
    name, for each measure of which that is known.
    """
    clauses = []
    for name in dict.fromkeys(names):
        without_cutoff, _, _ = name.partition("@")
        metric, _, _ = without_cutoff.partition("(")
        if metric in VALUES_WITHOUT_NONRELEVANT:
            clauses.append(f"{name} {VALUES_WITHOUT_NONRELEVANT[metric]}")
    return clauses


ALL_TOPICS = "all"
"""What trec_eval prints in place of a topic."""


def as_trec(evaluations: Evaluations, *, per_topic: bool) -> str:
    """Print as trec_eval does, run by run; every topic before the averages (``-q``) if asked.

    Of several runs, each begins with its tag. Counts are printed without decimals, other values
    with four.
    """
    lines = []
    for run in evaluations.runs:
        rows = list(_rows(run, per_topic=per_topic))
        if len(evaluations.runs) > 1 and RUN_ID not in run.columns:
            rows.insert(0, (RUN_ID, None, run.system))
        for column, topic, value in rows:
            if column is RUN_ID:
                text = value
            elif column.is_count:
                text = f"{value:.0f}"
            else:
                text = f"{value:6.4f}"
            lines.append(f"{column.name:<22}\t{topic or ALL_TOPICS}\t{text}\n")
    return "".join(lines)


def _as_csv(evaluations: Evaluations, *, per_topic: bool) -> str:
    """Print one value per line, in full precision: run, system, measure, topic, value."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["run", "system", "measure", "topic", "value"])
    for run in evaluations.runs:
        for measure, topic, number in _numbers(run, per_topic=per_topic):
            writer.writerow([run.path, run.system, measure, topic or ALL_TOPICS, number])
    return stream.getvalue()


def _as_json(evaluations: Evaluations, *, per_topic: bool) -> str:
    """Print one JSON document, in full precision: counts of the qrels, and the values of each run.

    Values are by measure, of all topics and, if asked, by topic.
    """
    runs = []
    for run in evaluations.runs:
        values: dict[str | None, dict[str, int | float]] = defaultdict(dict)
        for measure, topic, number in _numbers(run, per_topic=per_topic):
            values[topic][measure] = number
        entry: dict[str, Any] = {"run": str(run.path), "system": run.system}
        entry["topics without recommendations"] = run.n_missing
        entry[ALL_TOPICS] = values.pop(None, {})
        if per_topic:
            entry["topics"] = values
        runs.append(entry)
    document = {"qrels": evaluations.facts, "runs": runs}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _as_table(evaluations: Evaluations, *, per_topic: bool) -> Table:
    """Tabulate the values by measure: a row for every run, and for its topics if asked.

    A run is named by its file, and by its tag if the file has several. A topic is added to the name
    of its run: "bm25.run, topic 3".
    """
    cells = {}
    n_runs_in_file = Counter(run.path for run in evaluations.runs)
    for run in evaluations.runs:
        name = f"{run.path}, {run.system}" if n_runs_in_file[run.path] > 1 else str(run.path)
        for measure, topic, number in _numbers(run, per_topic=per_topic):
            row = name if topic is None else f"{name}, topic {topic}"
            cells[row, measure] = number
    return Table.from_cells("evaluation", "Measures of the runs", "", "run", cells)


def print_evaluations(evaluations: Evaluations, format_: str, *, per_topic: bool) -> str:
    """Print in one of the formats: trec, csv, json, or another of those of tables.

    `FORMATS` print a list of tables, by the name of the format.
    """
    match format_:
        case "trec":
            return as_trec(evaluations, per_topic=per_topic)
        case "csv":
            return _as_csv(evaluations, per_topic=per_topic)
        case "json":
            return _as_json(evaluations, per_topic=per_topic)
    return FORMATS[format_]([_as_table(evaluations, per_topic=per_topic)])


def _rows(run: Evaluation, *, per_topic: bool) -> Iterator[tuple[Column, str | None, Any]]:
    """Yield measure, topic and value in trec_eval's order: topic by topic, then of all topics.

    Single topics come only if ``per_topic``, without the measures that trec_eval does not print for
    them. The topic of values of all topics is None. The value of `RUN_ID` is the tag of the run.
    """
    if per_topic:
        for number, topic in enumerate(run.topics):
            for column, values in zip(run.columns, run.values, strict=True):
                if column.per_topic:
                    yield column, topic, values[number]
    for column, average in zip(run.columns, run.averages, strict=True):
        yield column, None, run.system if column is RUN_ID else average


def _numbers(run: Evaluation, *, per_topic: bool) -> Iterator[tuple[str, str | None, int | float]]:
    """Yield the name of the measure, topic and value in the order of `_rows`, without the tag.

    Counts are whole numbers.
    """
    for column, topic, value in _rows(run, per_topic=per_topic):
        if column is not RUN_ID:
            number = int(value) if column.is_count else float(value)
            yield column.name, topic, number
