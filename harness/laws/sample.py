"""What is measured on a sample of longer lists: sensitivity to ties, and speed."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from harness.laws.items import catalogue
from harness.laws.law import SEED, Outcome, Verdict
from harness.laws.lists import Bench
from harness.metrics.shared.metric import Metric
from qrels import Judged
from qrels.catalogue import ItemsSeen
from runs import InputError

N_USERS, DEPTH, N_MISSED = 1000, 100, 10
REPEATS = 3
SHARES = "a quarter of the items relevant, a quarter judged non-relevant"


def ties(bench: Bench) -> Outcome:
    """Measure how far scores move when neighbours that may tie are swapped by chance."""
    statement = "How far do scores move when half of the neighbouring items tie and swap?"
    judged = sample(bench)
    try:
        scores = bench.metric(judged, cutoff=bench.cutoff)
        swapped = bench.metric(_swapped(judged), cutoff=bench.cutoff)
    except InputError as error:
        return Outcome("ties", statement, Verdict.NOT_APPLICABLE, str(error))
    change, mean = float(np.abs(swapped - scores).mean()), float(np.abs(scores).mean())
    share = f" ({change / mean:.0%} of the mean score)" if mean > 0 else ""
    sentence = f"By {change:.3f} on average{share}; {N_USERS:,} random lists, {SHARES}."
    return Outcome("ties", statement, Verdict.REPORT, sentence)


def speed(bench: Bench) -> Outcome:
    """Measure the time that scoring takes per user."""
    statement = f"How long does scoring take per user, at depth {DEPTH}?"
    try:
        microseconds = 1e6 * min(_seconds(bench) for _ in range(REPEATS)) / N_USERS
    except InputError as error:
        return Outcome("speed", statement, Verdict.NOT_APPLICABLE, str(error))
    sentence = (
        f"{microseconds:.3g} microseconds, of {N_USERS:,} users at once.{_slow(bench.metric)}"
    )
    return Outcome("speed", statement, Verdict.REPORT, sentence, is_measured=True)


def _slow(metric: Metric) -> str:
    return " It is written over one user's list, which is slower." if metric.per_user else ""


def _seconds(bench: Bench) -> float:
    judged = sample(bench)
    start = time.perf_counter()
    bench.metric(judged, cutoff=DEPTH)
    return time.perf_counter() - start


def sample(bench: Bench) -> Judged:
    """Draw long lists at random, always the same.

    Half of the items are unjudged; of the others half are relevant.
    """
    generator = np.random.default_rng(SEED)
    judgements = _grades(generator, bench, (N_USERS, DEPTH + N_MISSED))
    unjudged = generator.random((N_USERS, DEPTH)) < 1 / 2
    judgements[:, :DEPTH][unjudged] = np.nan
    judged = Judged(judgements[:, :DEPTH].copy(), judgements, relevance_level=bench.level)
    return judged.with_items(_items_seen)


def _items_seen() -> ItemsSeen:
    """Give every user the same items, in an order of the user's."""
    numbers = np.tile(np.arange(DEPTH + N_MISSED), (N_USERS, 1))
    items = np.random.default_rng([SEED, 2]).permuted(numbers, axis=1).T
    users = np.zeros(N_USERS, dtype=np.intp)
    return ItemsSeen(catalogue(DEPTH + N_MISSED), users, items[:DEPTH], items)


def _grades(
    generator: np.random.Generator, bench: Bench, shape: tuple[int, int]
) -> NDArray[np.float64]:
    relevant = generator.choice(bench.shape.relevant_grades, shape)
    others = generator.choice(bench.shape.nonrelevant_grades, shape)
    return np.where(generator.random(shape) < 1 / 2, relevant, others).astype(np.float64)


def _swapped(judged: Judged) -> Judged:
    """Swap each second pair of neighbours, by chance: ranks 1 and 2, 3 and 4, ..."""
    generator = np.random.default_rng([SEED, 1])
    firsts = 2 * np.arange(judged.depth // 2)
    swaps = generator.random((judged.n_users, len(firsts))) < 1 / 2
    columns = np.tile(np.arange(judged.depth), (judged.n_users, 1))
    columns[:, firsts] += swaps
    columns[:, firsts + 1] -= swaps
    grades = np.take_along_axis(judged.grades, columns, axis=1)
    items = np.take_along_axis(judged.items, columns, axis=1).T
    swapped = Judged(grades, judged.judgements, relevance_level=judged.relevance_level)
    return swapped.with_items(
        lambda: ItemsSeen(judged.catalogue, judged.users, items, judged.judged_items.T)
    )
