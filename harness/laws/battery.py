"""The laws of any metric, and the conventions that are reported: unjudged items, grades, ties."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from harness.laws import cases
from harness.laws.law import Case, Evidence, Found, Law
from harness.laws.lists import TOLERANCE, Bench, Shape, UserList
from harness.metrics.shared.ir_measures import metric_of_trec_eval
from harness.metrics.shared.metric import Metric
from qrels import Judged, judge, qrels_from_columns
from qrels.trec import format_qrels, read_qrels
from runs import InputError, Numbering, Run
from runs.formats import format_run, read_run
from runs.shared.ids import padded_ids

ORDER = ("before", "after")
PAIR = ("one", "other")


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
    return not bench.metric.low - TOLERANCE <= score <= bench.metric.high + TOLERANCE


def _has_no_bounds(bench: Bench) -> str:
    bounded = math.isfinite(bench.metric.low) or math.isfinite(bench.metric.high)
    return "" if bounded else "the metric declares no bounds."


def _top(bench: Bench) -> float:
    """Best value that the metric declares."""
    return bench.metric.high if bench.metric.higher_is_better else bench.metric.low


def _are_apart(bench: Bench, one: float, other: float) -> bool:
    return abs(one - other) > TOLERANCE


def _lattice(bench: Bench) -> int | None:
    return None if bench.cutoff is None else bench.metric.lattice(bench.cutoff)


def _is_off_the_lattice(bench: Bench, score: float) -> bool:
    whole = score * (_lattice(bench) or 1)
    return _are_apart(bench, whole, round(whole))


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
    in_memory = bench.score_together([listed, UserList((bench.shape.level,))])[0]
    if not listed.judgements:
        return None
    from_file = float(bench.unbounded(judged_in_files(listed, bench.shape), cutoff=bench.cutoff)[0])
    if not _are_apart(bench, in_memory, from_file):
        return None
    return Evidence("memory", listed, in_memory), Evidence("file", listed, from_file)


@lru_cache(maxsize=1024)
def judged_in_files(listed: UserList, shape: Shape) -> Judged:
    """Write a list as TREC run and qrels files, read them, and judge the one by the other.

    A second user has a relevant item, so that the qrels are never without one, and a list, so
    that the run is not empty.
    """
    lists = (listed, UserList((shape.level,)))
    ranked = np.full((len(lists), shape.depth), -1, dtype=np.int32)
    for user, one in enumerate(lists):
        ranked[user, : len(one.ranked)] = shape.items(one)[0]
    rows = [(user, *judgement) for user in (0, 1) for judgement in shape.judged_items(lists[user])]
    qrels = qrels_from_columns(*np.array(rows).T, n_users=2, relevance_level=shape.level)
    topics, items = Numbering.of(["u0", "u1"]), padded_ids("i", shape.catalogue.n_items)
    with TemporaryDirectory() as folder:
        run_path, qrels_path = Path(folder, "trial.run"), Path(folder, "trial.qrels")
        run_path.write_bytes(format_run(Run("trial", ranked), topics, items))
        qrels_path.write_bytes(format_qrels(qrels, topics, items))
        run_file, qrels_file = read_run(run_path), read_qrels(qrels_path)
    return judge(
        run_file.to_run(qrels_file.users, items, depth=shape.depth),
        qrels_file.to_qrels(items, relevance_level=shape.level),
        shape.catalogue,
    )


def agreement(name: str, label: str, other: Metric) -> Law:
    """Make the law that a metric scores every list as another metric, of this label, does."""

    def differs(bench: Bench, case: Case) -> Found:
        (listed,) = case
        score = bench.score(listed)
        others = float(other(bench.shape.judged([listed]), cutoff=bench.cutoff)[0])
        if not _are_apart(bench, score, others):
            return None
        return Evidence(bench.metric.name, listed, score), Evidence(label, listed, others)

    return Law(name, f"Every list has the score that {label} gives it.", cases.one_list, differs)


def laws_of(metric: Metric, against: Metric | None = None) -> tuple[Law, ...]:
    """Give the laws for a metric: `LAWS`, and agreement with trec_eval's measure and another's.

    Raises
    ------
    InputError
        If trec_eval has no measure of the name that the metric declares.
    """
    laws = list(LAWS)
    if metric.trec_eval and not metric.option_values:
        measure = metric_of_trec_eval(metric)
        laws.append(agreement("trec_eval", measure.name, measure))
    if against is not None:
        laws.append(agreement("against", str(against), against))
    return tuple(laws)


_BECOMES_WORSE = _scores(ORDER, Bench.is_better)

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
        _scores(("perfect", "other"), lambda bench, one, other: bench.is_better(other, one)),
    ),
    Law(
        "top",
        "A perfect list that holds all relevant items of a user reaches the top of the range.",
        cases.ideal,
        _scores(("perfect",), lambda bench, score: bench.is_better(_top(bench), score)),
        lambda bench: "the metric declares no best value." * (not math.isfinite(_top(bench))),
    ),
    Law(
        "empty",
        "No list scores worse than an empty one.",
        cases.beside_the_empty,
        _scores(("empty", "other"), Bench.is_better),
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
        lambda bench: "there is no cut-off." * (bench.cutoff is None),
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
        lambda bench: "the metric declares no such number." * (_lattice(bench) is None),
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
    Law(
        "found",
        "Does every relevant item that is found above the cut-off improve the score?",
        cases.unjudged_replaced_above,
        _scores(ORDER, lambda bench, before, after: not bench.is_better(after, before)),
        if_kept="Yes.",
        if_broken="No.",
    ),
    Law(
        "ties",
        "Can the score change when two neighbours swap places, as where they tie?",
        cases.neighbours_swapped,
        _scores(ORDER, _are_apart),
        if_kept="No.",
        if_broken="Yes.",
    ),
)
"""Conventions that are neither good nor bad."""
