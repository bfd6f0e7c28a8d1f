"""Evaluating TREC runs of 50 topics x 1,000 documents, from files to means, beside pytrec_eval.

Run with ``pytest tests/benchmarks/test_evaluation_speed.py -s --benchmark-only``. Runs rank a
shared pool, a part of which is judged, and other documents; ids are as those of TREC's collections.
"""

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import pytrec_eval

from harness.metrics.shared.register import built_in_metrics
from harness.trec_eval.evaluate import evaluate_runs
from harness.trec_eval.measures import read_measures
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.table import report

N_RUNS, N_TOPICS, DEPTH = 12, 50, 1000
N_DOCUMENTS, N_POOLED, N_JUDGED = 500_000, 4000, 1500
KINDS = ("distinct scores", "tied scores")
NAMES = ["map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P", "num_rel_ret"]
COLUMNS = read_measures(NAMES, built_in_metrics())
ROUNDS = 3

Means: TypeAlias = list[dict[str, float]]


def write_collection(folder: Path, *, kind: str, n_runs: int = N_RUNS) -> tuple[Path, list[Path]]:
    """Write qrels, and runs; scores fall by an eighth, or have four decimals and ties."""
    generator = np.random.default_rng(0)
    ids = np.array(
        [f"FR{number:06d}-{number % 4}-{number % 997:05d}" for number in range(N_DOCUMENTS)]
    )
    pools = [generator.choice(N_DOCUMENTS, N_POOLED, replace=False) for _ in range(N_TOPICS)]
    qrels = folder / "qrels"
    with qrels.open("w") as stream:
        for topic, pool in enumerate(pools, start=301):
            grades = generator.choice(3, N_JUDGED, p=[0.93, 0.05, 0.02]).tolist()
            for name, grade in zip(ids[pool[:N_JUDGED]].tolist(), grades, strict=True):
                stream.write(f"{topic} 0 {name} {grade}\n")
    paths = []
    for run in range(n_runs):
        path = folder / f"{run:03d}.run"
        with path.open("w") as stream:
            for topic, pool in enumerate(pools, start=301):
                scores = np.linspace(1.5, 0, N_POOLED) + generator.normal(size=N_POOLED)
                order = np.argsort(-scores)[:DEPTH]
                if kind == "distinct scores":
                    written_scores = np.arange(DEPTH, 0, -1) / 8
                else:
                    written_scores = scores[order]
                ranked = zip(ids[pool[order]].tolist(), written_scores.tolist(), strict=True)
                for rank, (name, score) in enumerate(ranked, start=1):
                    stream.write(f"{topic} Q0 {name} {rank} {score:.4f} run{run}\n")
        paths.append(path)
    return qrels, paths


def ours(qrels: Path, paths: list[Path]) -> Means:
    """Means of each run, by the names of trec_eval."""
    names = [column.name for column in COLUMNS]
    evaluations = evaluate_runs(qrels, paths, COLUMNS)
    return [dict(zip(names, run.averages.tolist(), strict=True)) for run in evaluations.runs]


def theirs(qrels: Path, paths: list[Path]) -> Means:
    """The same in one call of pytrec_eval for each run."""
    with qrels.open() as stream:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(stream), set(NAMES))
    means = []
    for path in paths:
        with path.open() as stream:
            by_topic = evaluator.evaluate(pytrec_eval.parse_run(stream))
        values = [by_topic[topic] for topic in sorted(by_topic)]
        names = list(values[0])
        averages = [
            pytrec_eval.compute_aggregated_measure(name, [scores[name] for scores in values])
            for name in names
        ]
        means.append(dict(zip(names, averages, strict=True)))
    return means


@pytest.mark.filterwarnings("ignore::runs.InputWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_evaluating_runs(benchmark: Any, tmp_path: Path, kind: str) -> None:
    qrels, paths = write_collection(tmp_path, kind=kind)
    for our_means, their_means in zip(ours(qrels, paths), theirs(qrels, paths), strict=True):
        assert our_means == pytest.approx(their_means, rel=0, abs=1e-12)
    our_seconds = []
    their_seconds = []
    for _ in range(ROUNDS):
        our_seconds.append(cpu_seconds(lambda: ours(qrels, paths)))
        their_seconds.append(cpu_seconds(lambda: theirs(qrels, paths)))
    seconds = min(our_seconds)
    ratio = min(their_seconds) / seconds
    report(
        benchmark,
        f"files of {N_RUNS} runs of {N_TOPICS} x {DEPTH:,} evaluated, {kind}",
        seconds,
        beside=f"pytrec_eval takes {ratio:.2f} times that",
    )
    benchmark.pedantic(ours, args=(qrels, paths), rounds=1)
