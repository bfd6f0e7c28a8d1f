"""Evaluation of run files against a qrels file, as trec_eval does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.trec_eval.measures import Column
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
    """Evaluate run files over the topics of a qrels file.

    Parameters
    ----------
    qrels_path, run_paths
        TREC files, plain or gzipped.
    columns
        What to measure, from `harness.trec_eval.measures.read_measures`.
    relevance_level
        Lowest relevant grade (trec_eval's ``-l``).
    depth
        Ranks kept before all else (``-M``); all by default.
    judged_only
        Whether unjudged items are taken out of the lists and the others move up (``-J``).
    precision
        In which scores are compared: "double", as in trec_eval 10, or "single", as in 9.
    topics
        Those that count: all in the qrels (``-c``), or those of them that the run has.

    Raises
    ------
    InputError
        If a file breaks a rule, or a run has no topic of the qrels.
    """
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
