"""The laws of any metric, and the conventions that are reported: unjudged items, grades, ties."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from harness.laws import cases
from harness.laws.law import SEED, Case, Evidence, Found, Law, Outcome, Verdict, drawn
from harness.laws.lists import TOLERANCE, Bench, Shape, UserList, catalogue
from qrels import Judged, Qrels, judge, qrels_from_columns
from qrels.catalogue import ItemsSeen
from qrels.trec import format_qrels, read_qrels
from runs import InputError, Numbering, Run
from runs.formats import format_run, read_run

ORDER = ("before", "after")
PAIR = ("one", "other")

N_USERS, DEPTH, N_MISSED = 1000, 100, 10
"""Size of the random lists on which ties are tried."""


def _scores(labels: tuple[str, ...], is_broken: Callable[..., bool]) -> Callable[..., Found]:
    """Score the lists of a case; they are the evidence if the scores break the law."""

    def breaks(bench: Bench, case: Case) -> Found:
        scores = [bench.score(listed) for listed in case]
        if not is_broken(bench, *scores):
            return None
        return tuple(map(Evidence, labels, case, scores))

    return breaks


def _is_undefined(bench: Bench, case: Case) -> Found:
    (listed,) = case
    try:
        scores = [bench.score(listed) for _ in range(2)]
    except InputError as error:
        return (Evidence("list", listed, str(error)),)
    return None if scores[0] == scores[1] else (Evidence("list", listed, "scores vary"),)


def _leaves_the_range(bench: Bench, score: float) -> bool:
    low, high = bench.metric.low - TOLERANCE, bench.metric.high + TOLERANCE
    return not low <= score <= high


def _has_no_bounds(bench: Bench) -> str:
    bounded = math.isfinite(bench.metric.low) or math.isfinite(bench.metric.high)
    return "" if bounded else "the metric declares no bounds."


def _top(bench: Bench) -> float:
    """Best value that the metric declares."""
    return bench.metric.high if bench.metric.higher_is_better else bench.metric.low


def _has_no_top(bench: Bench) -> str:
    return "" if math.isfinite(_top(bench)) else "the metric declares no best value."


def _second_is_better(bench: Bench, first: float, second: float) -> bool:
    return bench.is_better(second, first)


def _first_is_better(bench: Bench, first: float, second: float) -> bool:
    return bench.is_better(first, second)


def _are_apart(bench: Bench, one: float, other: float) -> bool:
    return abs(one - other) > TOLERANCE


def _is_off_the_lattice(bench: Bench, score: float) -> bool:
    whole = score * (bench.metric.lattice(bench.cutoff) or 1)
    return _are_apart(bench, whole, round(whole))


def _has_no_lattice(bench: Bench) -> str:
    known = bench.metric.lattice(bench.cutoff) is not None
    return "" if known else "the metric declares no such number."


def _depends_on_others(bench: Bench, case: Case) -> Found:
    together = bench.score_together(case)
    for number, (listed, score) in enumerate(zip(case, together, strict=True)):
        alone = bench.score(listed)
        if _are_apart(bench, alone, score):
            return (
                Evidence("alone", listed, alone),
                Evidence("together", listed, score),
                Evidence("with", case[1 - number], together[1 - number]),
            )
    return None


def _differs_in_a_file(bench: Bench, case: Case) -> Found:
    (listed,) = case
    if not listed.judgements:
        return None
    in_memory = bench.score_together([listed, UserList((bench.level,))])[0]
    from_file = float(bench.metric(judged_in_files(listed, bench.shape), cutoff=bench.cutoff)[0])
    if not _are_apart(bench, in_memory, from_file):
        return None
    return Evidence("memory", listed, in_memory), Evidence("file", listed, from_file)


@lru_cache(maxsize=1024)
def judged_in_files(listed: UserList, shape: Shape) -> Judged:
    """Write a list as TREC run and qrels files, read them, and judge the one by the other.

    A second user has a relevant item, so that the qrels are never without one, and a list, so
    that the run is not empty.
    """
    run, qrels = _as_run_and_qrels((listed, UserList((shape.level,))), shape)
    topics, items = Numbering.of(["u0", "u1"]), _item_ids(shape.catalogue.n_items)
    with TemporaryDirectory() as folder:
        run_path, qrels_path = Path(folder, "trial.run"), Path(folder, "trial.qrels")
        run_path.write_bytes(format_run(run, topics, items))
        qrels_path.write_bytes(format_qrels(qrels, topics, items))
        run_file, qrels_file = read_run(run_path), read_qrels(qrels_path)
    return judge(
        run_file.to_run(qrels_file.users, items, depth=shape.depth),
        qrels_file.to_qrels(items, relevance_level=shape.level),
        shape.catalogue,
    )


def _as_run_and_qrels(lists: tuple[UserList, ...], shape: Shape) -> tuple[Run, Qrels]:
    items = np.full((len(lists), shape.depth), -1, dtype=np.int32)
    judgements = []
    for user, listed in enumerate(lists):
        items[user, : len(listed.ranked)] = shape.items(listed)[0]
        judgements += [(user, item, grade) for item, grade in shape.judged_items(listed)]
    columns = np.array(judgements).T
    qrels = qrels_from_columns(*columns, n_users=len(lists), relevance_level=shape.level)
    return Run("trial", items), qrels


@lru_cache(maxsize=16)
def _item_ids(n_items: int) -> Numbering:
    return Numbering.of([f"i{number:06}" for number in range(n_items)])


_BECOMES_WORSE = _scores(ORDER, _first_is_better)

LAWS = (
    Law(
        "score",
        "Every list has one finite score, the same each time.",
        cases.one_list,
        _is_undefined,
    ),
    Law(
        "range",
        "No score lies outside the declared range.",
        cases.one_list,
        _scores(("list",), _leaves_the_range),
        _has_no_bounds,
    ),
    Law(
        "perfect",
        "No list scores better than the perfect one of its length: best grades first, then "
        "unjudged items.",
        cases.beside_the_perfect,
        _scores(("perfect", "other"), _second_is_better),
    ),
    Law(
        "top",
        "A perfect list that holds all relevant items of a user reaches the top of the range.",
        cases.ideal,
        _scores(("perfect",), lambda bench, score: bench.is_better(_top(bench), score)),
        _has_no_top,
    ),
    Law(
        "empty",
        "No list scores worse than an empty one.",
        cases.beside_the_empty,
        _scores(("empty", "other"), _first_is_better),
    ),
    Law(
        "promotion",
        "Swapping a relevant item with a non-relevant or unjudged one above it never makes the "
        "score worse.",
        cases.promotion,
        _BECOMES_WORSE,
    ),
    Law(
        "find, unjudged",
        "Putting a missed relevant item in the place of an unjudged one never makes the score "
        "worse.",
        cases.unjudged_replaced,
        _BECOMES_WORSE,
    ),
    Law(
        "find, judged",
        "Putting a missed relevant item in the place of a judged non-relevant one never makes "
        "the score worse.",
        cases.nonrelevant_replaced,
        _BECOMES_WORSE,
    ),
    Law(
        "cut-off",
        "Ranks below the cut-off do not matter.",
        cases.changed_below,
        _scores(PAIR, _are_apart),
    ),
    Law(
        "users",
        "Permuting users permutes their scores: no score depends on the other users.",
        cases.two_users,
        _depends_on_others,
    ),
    Law(
        "lattice",
        "Every score becomes whole when multiplied with the number that the metric declares.",
        cases.one_list,
        _scores(("list",), _is_off_the_lattice),
        _has_no_lattice,
    ),
    Law(
        "files",
        "A list scores the same from TREC files as from memory.",
        cases.one_list,
        _differs_in_a_file,
    ),
)
"""Laws that a metric keeps or breaks."""

CONVENTIONS = (
    Law(
        "unjudged",
        "Is an unjudged item treated like a judged non-relevant one?",
        cases.judgement_withheld,
        _scores(PAIR, _are_apart),
        if_kept="Yes.",
        if_broken="No, it tells them apart.",
    ),
    Law(
        "grades",
        "Do all grades from the relevance level on count the same?",
        cases.beside_the_ungraded,
        _scores(PAIR, _are_apart),
        if_kept="Yes.",
        if_broken="No, higher grades count differently.",
    ),
)
"""Conventions that are neither good nor bad."""

IMPROVEMENTS = (cases.promotion, cases.unjudged_replaced, cases.nonrelevant_replaced)
"""Changes after which a list is better: a relevant item rises, or is found."""


def direction(bench: Bench) -> tuple[Outcome, ...]:
    """Give a hint if what makes lists better never makes the score better, but worse."""
    n_better, n_worse = _moves(bench)
    if n_better or not n_worse:
        return ()
    if bench.metric.higher_is_better:
        moved, better, setting = "falls", "less", "declare it with `higher_is_better=False`"
    else:
        moved, better, setting = "rises", "more", "leave `higher_is_better=False` out"
    sentence = (
        f"When a relevant item is found or promoted, the score {moved} ({n_worse} times) or stays, "
        f"and it never moves the other way: if {better} of the metric is better, {setting}."
    )
    statement = "Is the better way the one that the metric declares?"
    return (Outcome("direction", statement, Verdict.REPORT, sentence),)


def _moves(bench: Bench) -> tuple[int, int]:
    """Count the changes that make the score better, and those that make it worse."""
    n_better = n_worse = 0
    for kind in IMPROVEMENTS:
        for before, after in drawn(kind, bench.shape, bench.tries):
            try:
                old, new = bench.score(before), bench.score(after)
            except InputError:
                continue
            n_better += bench.is_better(new, old)
            n_worse += bench.is_better(old, new)
    return n_better, n_worse


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
    sentence = (
        f"By {change:.3f} on average{share}; {N_USERS:,} random lists, a quarter of the items "
        "relevant, a quarter judged non-relevant."
    )
    return Outcome("ties", statement, Verdict.REPORT, sentence)


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
