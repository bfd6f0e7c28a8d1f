"""Scoring 77 measures of 6,040 users x 100 items, 32 judged of each, against other evaluators.

Run with ``make bench``, or ``pytest tests/benchmarks/test_scoring_speed.py -s --benchmark-only``.
Users judge and systems list what is popular and to the users' taste, so that one rank in ten is
judged, as on MovieLens 1M. Times are CPU time of one thread, the best of several; that the values
are equal is checked first. ``pip install .[bench]`` adds ranx.
"""

import importlib.util
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property, partial
from importlib.metadata import version
from multiprocessing import get_context
from threading import Event, Thread
from typing import Any

import ir_measures
import numpy as np
import psutil
import pytest
import pytrec_eval
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from analyses.shared.judgement_samples import sample_judgements
from analyses.shared.measure import Measure, Measures
from analyses.sparsity import Settings, sparsity
from harness.metrics.shared.metric import Metric, ratio
from harness.metrics.shared.register import built_in_metrics
from harness.scoring.blocks import divide
from harness.scoring.kernel import FUSED, find_hits
from harness.scoring.score import SampleScorer, score
from qrels import Judged, Qrels, qrels_from_columns
from runs import Run, top_items
from tests.analyses.made import JudgedWork
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.table import report, shown
from tests.lists import means_on, pooled, qrels_as_dicts, run_as_dicts, users_on

CUTOFFS = (5, *range(10, 101, 10))
N_SYSTEMS, N_USERS, N_ITEMS, DEPTH = 21, 6040, 3706, 100
MANY_USERS = 33_388
TRUE_USERS = 1000
MOST_MEMORY = 200e6
"""Bytes that a study of sparsity may take beyond runs and qrels; measured: 60e6."""

LEVELS, SAMPLES = tuple(round(1 - 0.05 * step, 2) for step in range(20)), 50
METRICS = built_in_metrics()
MEASURES = [Measure(name, cutoff) for name in FUSED for cutoff in CUTOFFS]
CUT = {"P": "P", "Recall": "recall", "AP": "map_cut", "nDCG": "ndcg_cut"}
UNCUT = {"RR": "recip_rank", "bpref": "bpref", "infAP": "infAP"}

Floats = NDArray[np.float64]
Collection = tuple[list[Run], Qrels]


def simulate(n_users: int, *, n_systems: int) -> Collection:
    """Systems rank by popularity and taste, each with more noise than the one before."""
    generator = np.random.default_rng(0)
    popularity = generator.normal(0, 1.7, N_ITEMS)
    kinds = generator.normal(0, 0.5, (8, N_ITEMS))
    n_judged = np.clip(generator.lognormal(3.0, 0.95, n_users), 4, 400).astype(int)
    judged, lists = [], []
    for users in np.array_split(np.arange(n_users), n_users // 500):
        appeal = popularity + generator.normal(size=(len(users), 8)) @ kinds
        order = np.argsort(-appeal - generator.gumbel(size=appeal.shape), axis=1)
        judged += [row[:n] for row, n in zip(order, n_judged[users], strict=True)]
        noises = 0.3 + 0.13 * np.arange(n_systems)
        noisy = (appeal + noise * generator.normal(size=appeal.shape) for noise in noises)
        lists.append([top_items(scores, depth=DEPTH) for scores in noisy])
    qrels = qrels_from_columns(
        np.repeat(np.arange(n_users), n_judged),
        np.concatenate(judged),
        1 + generator.choice(5, n_judged.sum(), p=[0.06, 0.11, 0.26, 0.35, 0.22]),
        n_users=n_users,
        relevance_level=4,
    )
    items = [np.concatenate(parts) for parts in zip(*lists, strict=True)]
    return [Run(f"s{number}", ranked) for number, ranked in enumerate(items)], qrels


def repeated(collection: Collection, *, n_users: int) -> Collection:
    """As many users as wanted, by taking them again from the first on."""
    runs, qrels = collection
    users = np.arange(n_users) % qrels.n_users
    rows = [np.arange(*qrels.offsets[[user, user + 1]]) for user in users]
    places = np.concatenate(rows)
    more = qrels_from_columns(
        np.repeat(np.arange(n_users), [len(row) for row in rows]),
        qrels.items[places],
        qrels.grades[places],
        n_users=n_users,
        relevance_level=qrels.relevance_level,
    )
    return [Run(run.system, run.items[users]) for run in runs], more


class PytrecEval:
    """The values of one run that it has: 47 of the 77 in one call; all 77 to check ours by.

    The others (RR, bpref and infAP at cut-offs) are those of eleven runs that are cut before. Its
    dictionaries and evaluators are made once, and are not timed.
    """

    def __init__(self, run: Run, qrels: Qrels) -> None:
        self._run, self._qrels = run, qrels
        self._lists = {cutoff: run_as_dicts(run, cutoff=cutoff) for cutoff in CUTOFFS}
        cut = {f"{name}.{','.join(map(str, CUTOFFS))}" for name in CUT.values()}
        self._cut = self._evaluator(qrels_as_dicts(qrels), cut)
        self._uncut = self._evaluator(qrels_as_dicts(qrels), set(UNCUT.values()))
        self._all = self._evaluator(qrels_as_dicts(qrels), cut | set(UNCUT.values()))

    def _evaluator(self, judgements: Any, names: set[str]) -> Any:
        level = self._qrels.relevance_level
        return pytrec_eval.RelevanceEvaluator(judgements, names, relevance_level=level)

    def __call__(self) -> None:
        """Score 47 values of every user: the work that is timed."""
        self._all.evaluate(self._lists[DEPTH])

    @cached_property
    def seconds(self) -> float:
        """CPU time of a run."""
        return best(self, rounds=3)

    def scores(self) -> Floats:
        """Scores of shape (77, n_users); infAP with unjudged items pooled, as the study has it."""
        in_pool = self._evaluator(pooled(self._qrels, self._run), {"infAP"})
        by_name = self._cut.evaluate(self._lists[DEPTH])
        values = []
        for measure in MEASURES:
            if measure.metric in CUT:
                name, scored = f"{CUT[measure.metric]}_{measure.cutoff}", by_name
            else:
                name = UNCUT[measure.metric]
                evaluator = in_pool if name == "infAP" else self._uncut
                scored = evaluator.evaluate(self._lists[measure.cutoff])
            values.append([scored[f"u{user}"][name] for user in range(self._run.n_users)])
        return np.array(values)


@pytest.fixture(scope="module")
def collection() -> Collection:
    return simulate(N_USERS, n_systems=N_SYSTEMS)


@pytest.fixture(scope="module")
def peer(collection: Collection) -> PytrecEval:
    runs, qrels = collection
    return PytrecEval(runs[N_SYSTEMS // 2], qrels)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def best(work: Callable[[], object], *, rounds: int = 5) -> float:
    """CPU time of the best of several calls."""
    return min(cpu_seconds(work) for _ in range(rounds))


def for_47_values(seconds: float, peer: float) -> str:
    """Say how long pytrec_eval takes for those of the 77 values that one call gives."""
    return f"pytrec_eval takes {shown(peer / seconds)} times that for 47 of them"


def study(scorer: SampleScorer, qrels: Qrels) -> object:
    work = JudgedWork(scorer, qrels, Measures(MEASURES), n_systems=N_SYSTEMS)
    return sparsity(work, Settings(levels=LEVELS, samples=SAMPLES, replicates=0))


def test_one_run_by_the_readable_definitions(
    benchmark: Any, collection: Collection, peer: PytrecEval
) -> None:
    qrels, run = collection[1], collection[0][N_SYSTEMS // 2]
    users = np.arange(N_USERS).astype(np.str_)

    def by_definition() -> Floats:
        return score([run], qrels, Measures(MEASURES), METRICS, users=users).values[:, 0]

    np.testing.assert_allclose(by_definition(), peer.scores(), rtol=0, atol=1e-12)
    seconds, preparing = best(by_definition), best(lambda: list(divide([run], qrels, depth=DEPTH)))
    scoring = seconds - preparing
    report(
        benchmark,
        "77 values of each user of a run by the readable definitions, run and qrels matched first",
        seconds,
        beside=for_47_values(seconds, peer.seconds),
    )
    report(
        benchmark,
        "... of which: scoring alone",
        scoring,
        beside=for_47_values(scoring, peer.seconds),
    )
    benchmark.pedantic(by_definition)


def test_one_run_by_the_kernel(benchmark: Any, collection: Collection, peer: PytrecEval) -> None:
    qrels, run = collection[1], collection[0][N_SYSTEMS // 2]
    scorer = SampleScorer([run], qrels, MEASURES, METRICS)
    scores = users_on(scorer, qrels)[:, 0, :, 0]
    np.testing.assert_allclose(scores, peer.scores(), rtol=0, atol=1e-12)
    finding = best(lambda: find_hits([run], qrels, depth=DEPTH))
    report(benchmark, "the hits of a run found, for the fused kernel", finding)
    means = best(lambda: means_on(scorer, qrels))
    report(
        benchmark,
        "... 77 means of the run by the fused kernel, hits found before",
        means,
        beside=for_47_values(means, peer.seconds),
    )
    per_user = best(lambda: users_on(scorer, qrels))
    report(
        benchmark,
        "... 77 values of each user by the fused kernel, hits found before",
        per_user,
        beside=for_47_values(per_user, peer.seconds),
    )
    benchmark.pedantic(means_on, args=(scorer, qrels))


def test_the_sparsity_study(benchmark: Any, collection: Collection, peer: PytrecEval) -> None:
    runs, qrels = collection
    scorer = SampleScorer(runs, qrels, MEASURES, METRICS)

    means = means_on(scorer, qrels)[:, N_SYSTEMS // 2, 0]
    np.testing.assert_allclose(means, peer.scores().mean(axis=1), rtol=0, atol=1e-12)
    n_samples = len(LEVELS) * SAMPLES
    masks = [
        sample_judgements(len(qrels.items), level=level, n_samples=SAMPLES, seed=0)
        for level in LEVELS
    ]
    theirs = peer.seconds * N_SYSTEMS * n_samples
    scoring = best(lambda: [means_on(scorer, qrels, kept) for kept in masks], rounds=2)
    report(
        benchmark,
        f"77 means of {N_SYSTEMS} systems on {n_samples:,} samples of the judgements",
        scoring,
        beside=for_47_values(scoring, theirs) + " (extrapolated from one run and sample)",
    )
    whole = best(lambda: study(scorer, qrels), rounds=2)
    report(benchmark, "... drawn, scored and compared: sparsity", whole)
    benchmark.pedantic(study, args=(scorer, qrels))


def simulate_truth(n_users: int) -> Qrels:
    """Every user has judged nearly all items, as in the truth of a simulated world."""
    generator = np.random.default_rng(0)
    is_judged = generator.random((n_users, N_ITEMS)) > 0.05
    users, items = np.nonzero(is_judged)
    grades = generator.choice(6, len(items), p=[0.1, 0.1, 0.2, 0.3, 0.2, 0.1])
    return qrels_from_columns(users, items, grades, n_users=n_users, relevance_level=4)


def test_scoring_by_the_truth(benchmark: Any, collection: Collection) -> None:
    runs = [Run(run.system, run.items[:TRUE_USERS]) for run in collection[0]]
    truth = simulate_truth(TRUE_USERS)
    users = np.arange(TRUE_USERS).astype(np.str_)

    def by_truth(some_runs: list[Run]) -> Floats:
        return score(some_runs, truth, Measures(MEASURES), METRICS, users=users).values

    of_single_runs = [by_truth([run]) for run in runs]
    assert by_truth(runs).tobytes() == np.concatenate(of_single_runs, axis=1).tobytes()
    together = best(lambda: by_truth(runs), rounds=3)
    one_by_one = best(lambda: [by_truth([run]) for run in runs], rounds=3)
    report(
        benchmark,
        f"{N_SYSTEMS} runs scored by a truth of {len(truth.items):,} judgements",
        together,
        beside=f"one run after the other takes {one_by_one / together:.1f} times that",
    )
    benchmark.pedantic(by_truth, args=(runs,))


def test_growth_with_users(benchmark: Any, collection: Collection) -> None:
    few, many = collection, repeated(collection, n_users=MANY_USERS)
    for runs, qrels in (few, many):
        scorer = SampleScorer(runs, qrels, MEASURES, METRICS)
        kept = sample_judgements(len(qrels.items), level=0.5, n_samples=SAMPLES, seed=0)
        n_hits = len(find_hits(runs, qrels, depth=DEPTH).ranks)
        seconds = best(partial(means_on, scorer, qrels, kept), rounds=3)
        report(
            benchmark,
            f"77 means of {N_SYSTEMS} systems on {SAMPLES} samples, {qrels.n_users:,} users",
            seconds,
            beside=f"{seconds / n_hits / SAMPLES * 1e9:.2f} ns a hit and sample",
        )
    benchmark.pedantic(means_on, args=(scorer, qrels, kept))


def test_memory(benchmark: Any, collection: Collection) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        grown = fresh.submit(memory_of_study, *collection).result()
    assert grown < MOST_MEMORY
    benchmark.pedantic(lambda: None)


def memory_of_study(runs: list[Run], qrels: Qrels) -> int:
    """Bytes by which the resident memory of a process grows, looked at every 2 ms."""
    means_on(SampleScorer(runs[:1], qrels, MEASURES, METRICS), qrels)
    process, done = psutil.Process(), Event()
    before = process.memory_info().rss
    seen = [before]

    def watch() -> None:
        while not done.wait(0.002):
            seen.append(process.memory_info().rss)

    watcher = Thread(target=watch)
    watcher.start()
    study(SampleScorer(runs, qrels, MEASURES, METRICS), qrels)
    done.set()
    watcher.join()
    return max(seen) - before


def r_weighted_at_once(judged: Judged, *, cutoff: int | None = None) -> Floats:
    """The example of the README in one function: what cut-offs share is worked out for each."""
    relevant = judged.relevant[:, :cutoff]
    ranks = np.arange(1, relevant.shape[1] + 1)
    return ratio((relevant / np.sqrt(ranks)).sum(axis=1), judged.n_relevant)


def r_weighted(judged: Judged, *, cutoff: int | None = None) -> Floats:
    """The example of the README."""
    return ratio(judged.total(discounted, cutoff=cutoff), judged.n_relevant)


def discounted(judged: Judged) -> Floats:
    """What each rank earns."""
    return judged.relevant / np.sqrt(judged.ranks)


OWN: dict[str, Any] = {"own": r_weighted, "own, by columns": r_weighted_at_once}
OUTSIDE = {name: Metric(name, function, source="the guide") for name, function in OWN.items()}


def test_ir_measures(benchmark: Any, collection: Collection, peer: PytrecEval) -> None:
    qrels, run = collection[1], collection[0][N_SYSTEMS // 2]
    theirs = {"P": "P(rel=4)", "Recall": "R(rel=4)", "AP": "AP(rel=4)", "RR": "RR(rel=4)"}
    names = {**theirs, "nDCG": "nDCG"}
    measures = {
        m: ir_measures.parse_measure(f"{names[m.metric]}@{m.cutoff}")
        for m in MEASURES
        if m.metric in names
    }
    evaluator = ir_measures.evaluator(list(measures.values()), qrels_as_dicts(qrels))
    lists = run_as_dicts(run)
    found = evaluator.calc_aggregate(lists)
    ours = means_on(SampleScorer([run], qrels, MEASURES, METRICS), qrels)[:, 0, 0]
    for number, measure in enumerate(MEASURES):
        if measure in measures:
            assert abs(found[measures[measure]] - ours[number]) < 1e-12, measure
    seconds = best(lambda: evaluator.calc_aggregate(lists), rounds=2)
    report(
        benchmark,
        f"{len(measures)} means of a run by ir_measures",
        seconds,
        beside=f"{seconds / peer.seconds:.1f} times what pytrec_eval takes for 47 values",
    )
    benchmark.pedantic(evaluator.calc_aggregate, args=(lists,))


@pytest.mark.skipif(not importlib.util.find_spec("ranx"), reason="needs ranx: pip install .[bench]")
@pytest.mark.filterwarnings("ignore")
def test_ranx(benchmark: Any, collection: Collection, peer: PytrecEval) -> None:
    import ranx  # type: ignore[import-not-found]

    qrels, run = collection[1], collection[0][N_SYSTEMS // 2]
    names = {"P": "precision", "Recall": "recall", "AP": "map", "RR": "mrr"}
    wanted = [m for m in MEASURES if m.metric in names]
    theirs = [f"{names[m.metric]}@{m.cutoff}-l4" for m in wanted]
    judgements, lists = ranx.Qrels(qrels_as_dicts(qrels)), ranx.Run(run_as_dicts(run))

    def evaluate() -> Any:
        return ranx.evaluate(judgements, lists, theirs, make_comparable=False, threads=1)

    found = evaluate()
    ours = means_on(SampleScorer([run], qrels, MEASURES, METRICS), qrels)[:, 0, 0]
    gaps = [abs(found[n] - ours[MEASURES.index(m)]) for n, m in zip(theirs, wanted, strict=True)]
    seconds = best(evaluate, rounds=2)
    report(
        benchmark,
        f"{len(wanted)} means of a run by ranx {version('ranx')}",
        seconds,
        beside=f"{seconds / peer.seconds:.1f} times what pytrec_eval takes for 47 values; largest "
        f"difference from ours {max(gaps):.1e}",
    )
    benchmark.pedantic(evaluate)
