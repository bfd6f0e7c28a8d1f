"""The laws, and the properties that are reported, of any metric."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from harness.laws import cases
from harness.laws.law import Case, Evidence, Found, Law
from harness.laws.lists import TOLERANCE, Bench, Shape, UserList
from qrels import Judged, Qrels, judge, qrels_from_columns
from qrels.trec import format_qrels, read_qrels
from runs import InputError, Numbering, Run
from runs.formats import format_run, read_run


def _scored(bench: Bench, labels: tuple[str, ...], case: Case) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(label, listed, bench.score(listed))
        for label, listed in zip(labels, case, strict=True)
    )


def _is_undefined(bench: Bench, case: Case) -> Found:
    (listed,) = case
    try:
        scores = [bench.score(listed) for _ in range(2)]
    except InputError as error:
        return (Evidence("list", listed, str(error)),)
    return None if scores[0] == scores[1] else (Evidence("list", listed, "scores vary"),)


ORDER = ("before", "after")


def _leaves_the_range(bench: Bench, case: Case) -> Found:
    found = _scored(bench, ("list",), case)
    score = float(found[0].score)
    metric = bench.metric
    within = metric.low - TOLERANCE <= score <= metric.high + TOLERANCE
    return None if within else found


def _has_no_bounds(bench: Bench) -> str:
    bounded = math.isfinite(bench.metric.low) or math.isfinite(bench.metric.high)
    return "" if bounded else "the metric declares no bounds."


def _beats_the_perfect_list(bench: Bench, case: Case) -> Found:
    (listed,) = case
    pair = (cases.perfected(listed, len(listed.ranked)), listed)
    return _worse_first(bench, ("perfect", "other"), pair)


def _misses_the_top(bench: Bench, case: Case) -> Found:
    found = _scored(bench, ("perfect",), case)
    return found if bench.is_better(_top(bench), float(found[0].score)) else None


def _top(bench: Bench) -> float:
    """Best value that the metric declares."""
    return bench.metric.high if bench.metric.higher_is_better else bench.metric.low


def _has_no_top(bench: Bench) -> str:
    return "" if math.isfinite(_top(bench)) else "the metric declares no best value."


def _is_below_an_empty_list(bench: Bench, case: Case) -> Found:
    (listed,) = case
    return _better_first(bench, ("empty", "other"), (cases.emptied(listed), listed))


def _becomes_worse(bench: Bench, case: Case) -> Found:
    return _better_first(bench, ORDER, case)


def _becomes_no_better(bench: Bench, case: Case) -> Found:
    before, after = case
    if before.ranked[bench.cutoff :] != after.ranked[bench.cutoff :]:
        return None
    found = _scored(bench, ORDER, case)
    return None if bench.is_better(float(found[1].score), float(found[0].score)) else found


def _has_one_rank(bench: Bench) -> str:
    return "there is one rank only." if bench.cutoff == 1 else ""


def _better_first(bench: Bench, labels: tuple[str, str], case: Case) -> Found:
    first, second = found = _scored(bench, labels, case)
    return found if bench.is_better(float(first.score), float(second.score)) else None


def _worse_first(bench: Bench, labels: tuple[str, str], case: Case) -> Found:
    first, second = found = _scored(bench, labels, case)
    return found if bench.is_better(float(second.score), float(first.score)) else None


def _differ(bench: Bench, case: Case) -> Found:
    one, other = found = _scored(bench, ("one", "other"), case)
    return found if _are_apart(float(one.score), float(other.score)) else None


def _depends_on_others(bench: Bench, case: Case) -> Found:
    together = bench.score_together(case)
    for number, (listed, score) in enumerate(zip(case, together, strict=True)):
        alone = bench.score(listed)
        if _are_apart(alone, score):
            other = case[1 - number]
            return (
                Evidence("alone", listed, alone),
                Evidence("together", listed, score),
                Evidence("with", other, together[1 - number]),
            )
    return None


def _is_off_the_lattice(bench: Bench, case: Case) -> Found:
    found = _scored(bench, ("list",), case)
    whole = float(found[0].score) * (bench.metric.lattice(bench.cutoff) or 1)
    return found if _are_apart(whole, round(whole)) else None


def _has_no_lattice(bench: Bench) -> str:
    known = bench.metric.lattice(bench.cutoff) is not None
    return "" if known else "the metric declares no such number."


def _differs_in_a_file(bench: Bench, case: Case) -> Found:
    (listed,) = case
    if not listed.judgements:
        return None
    in_memory = bench.score_together([listed, _companion(bench.shape)])[0]
    from_file = float(bench.metric(judged_in_files(listed, bench.shape), cutoff=bench.cutoff)[0])
    if not _are_apart(in_memory, from_file):
        return None
    return Evidence("memory", listed, in_memory), Evidence("file", listed, from_file)


@lru_cache(maxsize=1024)
def judged_in_files(listed: UserList, shape: Shape) -> Judged:
    """Write a list as TREC run and qrels files, read them, and judge the one by the other.

    A second user has a relevant item, so that the qrels are never without one, and a list, so
    that the run is not empty.
    """
    run, qrels = _as_run_and_qrels((listed, _companion(shape)), shape)
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


def _companion(shape: Shape) -> UserList:
    return UserList((shape.level,))


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


def _needs_the_nonrelevant(bench: Bench, case: Case) -> Found:
    (listed,) = case
    return _differ(bench, (listed, cases.relevant_only(listed, level=bench.level)))


def _are_apart(one: float, other: float) -> bool:
    return abs(one - other) > TOLERANCE


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
        _leaves_the_range,
        _has_no_bounds,
    ),
    Law(
        "perfect",
        "No list scores better than the perfect one of its length: best grades first, then "
        "unjudged items.",
        cases.one_list,
        _beats_the_perfect_list,
    ),
    Law(
        "top",
        "A perfect list that holds all relevant items of a user reaches the top of the range.",
        cases.ideal,
        _misses_the_top,
        _has_no_top,
    ),
    Law(
        "empty",
        "No list scores worse than an empty one.",
        cases.one_list,
        _is_below_an_empty_list,
    ),
    Law(
        "promotion",
        "Swapping a relevant item with a non-relevant or unjudged one above it never makes the "
        "score worse.",
        cases.promotion,
        _becomes_worse,
    ),
    Law(
        "find, unjudged",
        "Putting a missed relevant item in the place of an unjudged one never makes the score "
        "worse.",
        cases.unjudged_replaced,
        _becomes_worse,
    ),
    Law(
        "find, judged",
        "Putting a missed relevant item in the place of a judged non-relevant one never makes "
        "the score worse.",
        cases.nonrelevant_replaced,
        _becomes_worse,
    ),
    Law(
        "cut-off",
        "Ranks below the cut-off do not matter.",
        cases.changed_below,
        _differ,
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
        _is_off_the_lattice,
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

PROPERTIES = (
    Law(
        "strict",
        "Does promoting a relevant item within the cut-off always make the score better?",
        cases.promotion,
        _becomes_no_better,
        _has_one_rank,
        if_kept="Yes.",
        if_broken="No, not every time.",
    ),
    Law(
        "unjudged",
        "Is an unjudged item treated like a judged non-relevant one?",
        cases.judgement_withheld,
        _differ,
        if_kept="Yes.",
        if_broken="No, it tells them apart.",
    ),
    Law(
        "positive-only",
        "Is the score the same when judged non-relevant items are taken out of the qrels?",
        cases.one_list,
        _needs_the_nonrelevant,
        if_kept="Yes.",
        if_broken="No, it makes use of them.",
    ),
)
"""Properties that are neither good nor bad."""
