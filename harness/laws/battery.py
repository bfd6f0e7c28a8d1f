"""The laws of any metric, and the conventions that are reported: unjudged items, grades, ties."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from harness.laws import cases
from harness.laws.law import Breaks, Case, Counterexample, Evidence, Law
from harness.laws.lists import TOLERANCE, Bench, Shape, UserList
from harness.metrics.shared.ir_measures import metric_of_trec_eval
from harness.metrics.shared.metric import Metric
from qrels import Judged, judge, qrels_from_columns
from qrels.trec import format_qrels, read_qrels
from runs import InputError, Numbering, Run
from runs.formats import format_run, read_run
from runs.shared.ids import padded_ids

BEFORE_AND_AFTER = ("before", "after")
TWO_LISTS = ("one", "other")
"""Labels of the lists of a case."""


def _breaks_by_scores(labels: tuple[str, ...], is_broken: Callable[..., bool]) -> Breaks:
    """Make the check of a law from a function of the bench and the scores of a case's lists.

    The check takes a bench (a metric at a cut-off) and a case (one or two lists). It returns each
    list with its label and score, the counterexample, if the function is true, else None. It raises
    InputError if the metric cannot score a list.
    """

    def breaks(bench: Bench, case: Case) -> Counterexample:
        """Score the lists of a case; return them with labels and scores if the law is broken."""
        scores = [bench.score(user_list) for user_list in case]
        if not is_broken(bench, *scores):
            return None
        labelled = zip(labels, case, scores, strict=True)
        return tuple(Evidence(label, user_list, score) for label, user_list, score in labelled)

    return breaks


def _is_undefined(bench: Bench, case: Case) -> Counterexample:
    """Check that a list cannot be scored, or has another score the second time.

    Returns the list, with the error or "scores vary"; None if the score is the same both times. A
    score of NaN differs from itself.
    """
    (user_list,) = case
    try:
        first_score = bench.score(user_list)
        second_score = bench.score(user_list)
    except InputError as error:
        return (Evidence("list", user_list, str(error)),)
    if first_score == second_score:
        return None
    return (Evidence("list", user_list, "scores vary"),)


def _is_out_of_range(bench: Bench, score: float) -> bool:
    """Check that a score lies outside the range that the metric declares, rounding aside."""
    lowest = bench.metric.low - TOLERANCE
    highest = bench.metric.high + TOLERANCE
    return not lowest <= score <= highest


def _without_bounds(bench: Bench) -> str:
    """Write that the metric declares no bounds; empty if it declares one."""
    is_bounded = math.isfinite(bench.metric.low) or math.isfinite(bench.metric.high)
    return "" if is_bounded else "the metric declares no bounds."


def _best_value(bench: Bench) -> float:
    """Look up the best value that the metric declares; infinite if it declares none."""
    return bench.metric.high if bench.metric.higher_is_better else bench.metric.low


def _without_best_value(bench: Bench) -> str:
    """Write that the metric declares no best value; empty if it declares one."""
    return "" if math.isfinite(_best_value(bench)) else "the metric declares no best value."


def _is_below_best_value(bench: Bench, score: float) -> bool:
    return bench.is_better(_best_value(bench), score)


def _is_worse(bench: Bench, score: float, other_score: float) -> bool:
    return bench.is_better(other_score, score)


def _is_not_improved(bench: Bench, before: float, after: float) -> bool:
    return not bench.is_better(after, before)


def _differ(_: Bench, score: float, other_score: float) -> bool:
    """Check that two scores differ, rounding aside."""
    return abs(score - other_score) > TOLERANCE


def _without_cutoff(bench: Bench) -> str:
    """Write that there is no cut-off; empty if there is one."""
    return "there is no cut-off." if bench.cutoff is None else ""


def _lattice(bench: Bench) -> int | None:
    """Look up the factor by which all scores become whole; None without one or a cut-off."""
    return None if bench.cutoff is None else bench.metric.lattice(bench.cutoff)


def _without_lattice(bench: Bench) -> str:
    """Write that the metric declares no factor for whole scores; empty if it declares one."""
    return "the metric declares no such number." if _lattice(bench) is None else ""


def _is_off_the_lattice(bench: Bench, score: float) -> bool:
    """Check that a score times the metric's factor is not a whole number, rounding aside."""
    multiple = score * (_lattice(bench) or 1)
    return _differ(bench, multiple, round(multiple))


def _depends_on_others(bench: Bench, case: Case) -> Counterexample:
    """Check that one of two lists has another score alone than in one call with the other.

    Returns the first such list with both scores, and the other list; None if there is none. Raises
    InputError if the metric cannot score a list.
    """
    scores_together = bench.score_together(case)
    for position, user_list in enumerate(case):
        other = 1 - position
        score_alone = bench.score(user_list)
        score_together = scores_together[position]
        if _differ(bench, score_alone, score_together):
            return (
                Evidence("alone", user_list, score_alone),
                Evidence("together", user_list, score_together),
                Evidence("with", case[other], scores_together[other]),
            )
    return None


def _differs_in_a_file(bench: Bench, case: Case) -> Counterexample:
    """Check that a list has another score when it is written to TREC files and read again.

    Returns the list with both scores, or None. A list of a user without judgements cannot be in
    such files: it keeps the law, but InputError is raised if the metric cannot score it. A second
    list, of one relevant item, is scored with it both times.
    """
    (user_list,) = case
    other_list = UserList((bench.shape.level,))
    score_in_memory, _ = bench.score_together([user_list, other_list])
    if not user_list.judgements:
        return None
    judged = judged_in_files(user_list, bench.shape)
    # Without a warning of scores outside the range, which is another law.
    score_from_file, _ = bench.unbounded(judged, cutoff=bench.cutoff).tolist()
    if not _differ(bench, score_in_memory, score_from_file):
        return None
    in_memory = Evidence("memory", user_list, score_in_memory)
    return in_memory, Evidence("file", user_list, score_from_file)


@lru_cache(maxsize=1024)
def judged_in_files(user_list: UserList, shape: Shape) -> Judged:
    """Write a list as TREC run and qrels files, read them, and judge the one by the other.

    The result has two users, of whom the first has the list. The second has a relevant item, so
    that the qrels are never without one, and a list, so that the run is not empty. ``shape`` has
    the relevance level, the number of ranks and the items of lists. Files are temporary.
    """
    lists = (user_list, UserList((shape.level,)))
    ranked_items = np.full((len(lists), shape.depth), -1, dtype=np.int32)
    judgements = []
    for user, one_list in enumerate(lists):
        items_in_list, _ = shape.items(one_list)
        ranked_items[user, : len(items_in_list)] = items_in_list
        for item, grade in shape.judged_items(one_list):
            judgements.append((user, item, grade))
    users, judged_items, grades = np.array(judgements).T
    qrels = qrels_from_columns(
        users, judged_items, grades, n_users=len(lists), relevance_level=shape.level
    )
    topics = Numbering.of(["u0", "u1"])
    items = padded_ids("i", shape.catalogue.n_items)
    with TemporaryDirectory() as folder:
        run_path = Path(folder, "trial.run")
        run_path.write_bytes(format_run(Run("trial", ranked_items), topics, items))
        qrels_path = Path(folder, "trial.qrels")
        qrels_path.write_bytes(format_qrels(qrels, topics, items))
        run_file = read_run(run_path)
        qrels_file = read_qrels(qrels_path)
    run = run_file.to_run(qrels_file.users, items, depth=shape.depth)
    qrels = qrels_file.to_qrels(items, relevance_level=shape.level)
    return judge(run, qrels, shape.catalogue)


def agreement(name: str, label: str, other: Metric) -> Law:
    """Make the law that a metric scores every list as another metric does.

    ``name`` is that of the law, ``label`` that of the other metric. A counterexample is a list with
    both scores. Lists that one of the metrics cannot score, with InputError, do not count.
    """

    def differs(bench: Bench, case: Case) -> Counterexample:
        """Check that both metrics score a list differently, rounding aside."""
        (user_list,) = case
        score = bench.score(user_list)
        (other_score,) = other(bench.shape.judged([user_list]), cutoff=bench.cutoff).tolist()
        if not _differ(bench, score, other_score):
            return None
        evidence = Evidence(bench.metric.name, user_list, score)
        return evidence, Evidence(label, user_list, other_score)

    return Law(name, f"Every list has the score that {label} gives it.", cases.one_list, differs)


def laws_of(metric: Metric, against: Metric | None = None) -> tuple[Law, ...]:
    """List the laws for a metric: `LAWS`, and agreement with trec_eval's measure and another's.

    The former is for metrics without options that name a measure of trec_eval, the latter where
    another metric is given.

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


_BECOMES_WORSE = _breaks_by_scores(BEFORE_AND_AFTER, Bench.is_better)

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
        _breaks_by_scores(("list",), _is_out_of_range),
        _without_bounds,
    ),
    Law(
        "perfect",
        "No list scores better than the perfect one of its length: best grades first, then "
        "unjudged items.",
        cases.perfect_and_any_list,
        _breaks_by_scores(("perfect", "other"), _is_worse),
    ),
    Law(
        "top",
        "A perfect list that holds all relevant items of a user reaches the top of the range.",
        cases.ideal,
        _breaks_by_scores(("perfect",), _is_below_best_value),
        _without_best_value,
    ),
    Law(
        "empty",
        "No list scores worse than an empty one.",
        cases.empty_and_any_list,
        _breaks_by_scores(("empty", "other"), Bench.is_better),
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
        _breaks_by_scores(TWO_LISTS, _differ),
        _without_cutoff,
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
        _breaks_by_scores(("list",), _is_off_the_lattice),
        _without_lattice,
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
        _breaks_by_scores(TWO_LISTS, _differ),
        if_kept="Yes.",
        if_broken="No, it tells them apart.",
    ),
    Law(
        "grades",
        "Do all grades from the relevance level on count the same?",
        cases.graded_and_binary,
        _breaks_by_scores(TWO_LISTS, _differ),
        if_kept="Yes.",
        if_broken="No, higher grades count differently.",
    ),
    Law(
        "found",
        "Does every relevant item that is found above the cut-off improve the score?",
        cases.unjudged_replaced_above,
        _breaks_by_scores(BEFORE_AND_AFTER, _is_not_improved),
        if_kept="Yes.",
        if_broken="No.",
    ),
    Law(
        "ties",
        "Can the score change when two neighbours swap places, as where they tie?",
        cases.neighbours_swapped,
        _breaks_by_scores(BEFORE_AND_AFTER, _differ),
        if_kept="No.",
        if_broken="Yes.",
    ),
)
"""Conventions that are neither good nor bad."""
