"""What laws are tried on, and the small lists, items and cards behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.laws import battery, cases
from harness.laws.battery import CONVENTIONS, LAWS, judged_in_files, laws_of
from harness.laws.cards import (
    CUTOFFS,
    LEGEND,
    Card,
    check_metric,
    evidence_lines,
    metrics_to_check,
    worst_outcome,
)
from harness.laws.law import Case, Evidence, Law, Outcome, Verdict, draw_cases
from harness.laws.lists import Bench, Shape, UserList, catalogue
from harness.laws.resolution import _random_lists, resolution
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import built_in_metrics
from runs import InputError

METRICS = built_in_metrics()
SHAPE = Shape(cutoff=3, level=2)
GRADES = {None, 0, 1, 2, 3}


def tried(of: Callable[..., Any], shape: Shape = SHAPE, tries: int = 60) -> tuple[Case, ...]:
    found = draw_cases(of, shape, tries)
    assert 10 < len(found) <= tries
    return found


def grades_of(listed: UserList) -> Counter[int | None]:
    return Counter([*listed.ranked, *listed.missed])


def changed(before: UserList, after: UserList) -> list[tuple[int, int | None, int | None]]:
    pairs = zip(before.ranked, after.ranked, strict=True)
    return [(place, one, other) for place, (one, other) in enumerate(pairs) if one != other]


def is_relevant(grade: int | None) -> bool:
    return grade is not None and grade >= SHAPE.level


@pytest.mark.slow
def test_lists_have_up_to_two_items_below_the_cut_off_and_miss_up_to_three() -> None:
    lists = [listed for (listed,) in tried(cases.one_list, tries=200)]
    assert {len(listed.ranked) for listed in lists} == set(range(6))
    assert {len(listed.missed) for listed in lists} == set(range(4))
    assert {grade for listed in lists for grade in listed.ranked} == GRADES
    assert {grade for listed in lists for grade in listed.missed} == GRADES - {None}


@pytest.mark.slow
def test_a_promotion_swaps_a_relevant_item_with_one_above_it() -> None:
    found = tried(cases.promotion, tries=600)
    for before, after in found:
        (upper, worse, good), (lower, again, other) = changed(before, after)
        assert upper < lower
        assert (good, other) == (again, worse)
        assert is_relevant(good)
        assert not is_relevant(worse)
        assert before.missed == after.missed
    uppers = {changed(before, after)[0][0] for before, after in found}
    lowers = {changed(before, after)[1][0] for before, after in found}
    assert (uppers, lowers) == ({0, 1, 2, 3}, {1, 2, 3, 4})


@pytest.mark.slow
def test_neighbours_swap_places_and_nothing_else_changes() -> None:
    found = tried(cases.neighbours_swapped, tries=100)
    places = set()
    for before, after in found:
        assert (before.missed, grades_of(before)) == (after.missed, grades_of(after))
        differing = [place for place, _, _ in changed(before, after)]
        assert differing in ([], [differing[0], differing[0] + 1] if differing else [])
        places |= {*differing}
    assert places == {0, 1, 2, 3, 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "taken_out", "places"),
    [
        (cases.unjudged_replaced, {None}, {0, 1, 2, 3, 4}),
        (cases.unjudged_replaced_above, {None}, {0, 1, 2}),
        (cases.nonrelevant_replaced, {0, 1}, {0, 1, 2, 3, 4}),
    ],
)
def test_a_missed_relevant_item_takes_a_place(
    of: Callable[..., Any], taken_out: set[int | None], places: set[int]
) -> None:
    found = tried(of, tries=150)
    changes = [changed(*case)[0] for case in found]
    assert {place for place, _, _ in changes} == places
    assert {old for _, old, _ in changes} == taken_out
    assert {new for _, _, new in changes} == {2, 3}
    for before, after in found:
        ((_, old, new),) = changed(before, after)
        assert new in before.missed
        # The judgements of the user are the same.
        assert before.judgements == after.judgements
        assert (old in after.missed) or old is None


@pytest.mark.slow
def test_below_the_cut_off_items_change_places_or_get_lost() -> None:
    found = tried(cases.changed_below, tries=100)
    for one, other in found:
        assert one.ranked[:3] == other.ranked[:3]
        assert one.judgements == other.judgements
        assert 3 <= len(other.ranked) <= len(one.ranked)
    assert {len(one.ranked) for one, _ in found} == {4, 5}
    assert {len(other.ranked) for _, other in found} == {3, 4, 5}


@pytest.mark.slow
def test_a_withheld_judgement_leaves_the_item_and_is_missed() -> None:
    found = tried(cases.judgement_withheld, tries=100)
    for judged, without in found:
        ((_, old, new),) = changed(judged, without)
        assert (old in (0, 1), new) == (True, None)
        assert judged.judgements == without.judgements
    assert {changed(*case)[0][0] for case in found} == {0, 1, 2, 3, 4}


@pytest.mark.slow
def test_an_ideal_list_holds_all_items_best_first_at_least_down_to_the_cut_off() -> None:
    found = [listed for (listed,) in tried(cases.ideal, tries=100)]
    for listed in found:
        graded = [grade for grade in listed.ranked if grade is not None]
        assert graded == sorted(graded, reverse=True)
        assert listed.missed == ()
        assert is_relevant(graded[0])
        assert listed.ranked == (*graded, *[None] * (len(listed.ranked) - len(graded)))
        assert len(listed.ranked) == max(3, len(graded))
    assert max(len(listed.ranked) for listed in found) == 8


@pytest.mark.slow
def test_perfect_empty_and_ungraded_lists_are_of_the_same_user() -> None:
    for perfect, other in tried(cases.perfect_and_any_list):
        assert len(perfect.ranked) == len(other.ranked)
        assert perfect.judgements == other.judgements
        assert perfect == cases.perfect_list(other, len(other.ranked))
    for empty, other in tried(cases.empty_and_any_list):
        assert empty == UserList((), other.judgements)
    for graded, plain in tried(cases.graded_and_binary):
        fewer = [None if grade is None else min(grade, 2) for grade in graded.ranked]
        assert (plain.ranked, plain.missed) == (
            tuple(fewer),
            tuple(min(grade, 2) for grade in graded.missed),
        )
    listed = UserList((None, 1, 3), (2, 0))
    assert cases.perfect_list(listed, 2) == UserList((3, 2), (1, 0))
    assert cases.perfect_list(listed, 6) == UserList((3, 2, 1, 0, None, None))


def test_marks_show_the_grade_where_it_is_not_the_plainest() -> None:
    assert UserList((2, 3, None, 0, 1, -1)).marks(level=2) == "R R3 – N N1 N-1"
    assert UserList((1, 2, 0)).marks(level=1) == "R R2 N"
    assert UserList(()).marks(level=1) == "(empty)"


@pytest.mark.parametrize(
    ("level", "relevant", "others"), [(1, (1, 2), (0,)), (2, (2, 3), (0, 1)), (4, (4, 5), (0, 3))]
)
def test_two_grades_are_relevant_and_two_are_not(
    level: int, relevant: tuple[int, ...], others: tuple[int, ...]
) -> None:
    shape = Shape(5, level)
    assert (shape.relevant_grades, shape.nonrelevant_grades) == (relevant, others)
    assert (shape.depth, shape.catalogue.n_items) == (7, 3 * (7 + 3 + 1))


def test_the_nth_item_of_a_grade_is_always_the_same() -> None:
    last = SHAPE.catalogue.n_items - 1  # Very relevant, relevant and other items in turn.
    assert last == 3 * (5 + 3 + 1) - 1
    assert SHAPE.items(UserList((3, 2, None, 3, 0), (1, 2))) == (
        [last, last - 1, last - 2, last - 3, last - 5],
        [last - 8, last - 4],
    )
    assert SHAPE.judged_items(UserList((None, 2, 3), (0,))) == [
        (last, 3),
        (last - 1, 2),
        (last - 5, 0),
    ]


def test_lists_are_judged_with_their_items() -> None:
    lists = [UserList((2, None, 0), (3,)), UserList(())]
    judged = SHAPE.judged(lists)
    nan = np.nan
    np.testing.assert_array_equal(judged.grades, [[2, nan, 0, nan, nan], [nan] * 5])
    np.testing.assert_array_equal(judged.judgements, [[3, 2, 0], [nan] * 3])
    assert (judged.relevance_level, judged.n_retrieved.tolist()) == (2, [3, 0])
    last = SHAPE.catalogue.n_items - 1
    assert judged.items.tolist() == [[last - 1, last - 2, last - 5, -1, -1], [-1] * 5]
    assert judged.judged_items.tolist() == [[last, last - 1, last - 5], [-1] * 3]
    assert judged.users.tolist() == [0, 0]


def test_the_catalogue_says_all_that_metrics_may_ask() -> None:
    known = catalogue(300)
    popularity = known.require("popularity")
    assert (popularity.min(), popularity.max(), known.require("n_raters")) == (1, 40, 40)
    np.testing.assert_allclose(known.require("propensities"), popularity / 40)
    features, profiles = known.require("features"), known.require("profiles").toarray()
    assert features.shape == (300, 4)
    assert features.mean() == pytest.approx(0.4, abs=0.05)
    assert profiles.shape == (2, 300)
    assert profiles.mean() == pytest.approx(0.4, abs=0.08)
    assert (profiles[0] == profiles[1]).all()


def bench(function: Any, cutoff: int | None = 3, **facts: Any) -> Bench:
    return Bench(Metric("toy", function, source="here", **facts), cutoff, tries=20)


def test_a_bench_has_the_level_of_the_name_and_lists_of_twenty_without_a_cut_off() -> None:
    assert Bench(METRICS["P"], 5).shape == Shape(5, 2)
    assert Bench(METRICS["P"](rel=4), 5).shape == Shape(5, 4)
    assert Bench(METRICS["P"], None).shape == Shape(20, 2)
    assert Bench(METRICS["P"], 5).tries == 100


def test_scores_are_better_where_they_differ_by_more_than_rounding() -> None:
    more, less = Bench(METRICS["P"], 5), Bench(METRICS["ARP"], 5)
    assert more.is_better(0.5 + 2e-9, 0.5)
    assert not more.is_better(0.5 + 5e-10, 0.5)
    assert not more.is_better(0.4, 0.5)
    assert less.is_better(0.4, 0.5)
    assert not less.is_better(0.5, 0.5)
    assert Bench(METRICS["P"], 2).score(UserList((2, None, 2))) == 0.5
    assert Bench(METRICS["P"], 2).score_together([UserList((3, 2)), UserList(())]) == [1, 0]


def apply(name: str, case: Case, of: Bench) -> Any:
    (law,) = (law for law in (*LAWS, *CONVENTIONS) if law.name == name)
    return law.breaks(of, case)


ONE = (UserList((2,)),)


@pytest.mark.parametrize(
    ("score", "breaks"),
    [(1 + 5e-10, False), (1 + 2e-9, True), (-5e-10, False), (-2e-9, True), (0.5, False)],
)
def test_a_score_may_leave_the_range_by_rounding(score: float, breaks: bool) -> None:
    of = bench(lambda judged, *, cutoff=None: np.full(judged.n_users, score))
    assert (apply("range", ONE, of) is not None) == breaks


@pytest.mark.parametrize(
    ("score", "cutoff", "breaks"),
    [(1 / 3, 3, False), (0.5, 3, True), (0.5, None, True), (1, 3, False)],
)
def test_a_score_is_a_multiple_of_one_over_the_lattice(
    score: float, cutoff: int | None, breaks: bool
) -> None:
    of = bench(
        lambda judged, *, cutoff=None: np.full(judged.n_users, score),
        cutoff,
        lattice=lambda cutoff: cutoff,
    )
    assert (apply("lattice", ONE, of) is not None) == breaks


def test_laws_do_not_apply_where_the_metric_declares_nothing() -> None:
    reasons = {law.name: law.reason_against for law in LAWS}
    free = bench(lambda judged, *, cutoff=None: 0, None, low=-np.inf, high=np.inf)
    half = bench(lambda judged, *, cutoff=None: 0, low=-np.inf)
    whole = bench(lambda judged, *, cutoff=None: 0, lattice=lambda cutoff: cutoff)
    for name in ("range", "top", "cut-off", "lattice"):
        assert reasons[name](free)
        assert not reasons[name](whole)
    assert not reasons["range"](half)
    assert not reasons["top"](half)
    assert reasons["top"](replace(half, metric=replace(half.metric, higher_is_better=False)))
    for name in ("score", "perfect", "empty", "promotion", "users", "files"):
        assert reasons[name](free) == ""


def test_a_file_holds_the_list_its_judgements_and_a_second_user() -> None:
    listed = UserList((2, None, 0), (3, 1))
    from_file, in_memory = judged_in_files(listed, SHAPE), SHAPE.judged([listed])
    np.testing.assert_array_equal(from_file.grades[0], in_memory.grades[0])
    assert sorted(from_file.judgements[0].tolist()) == [0, 1, 2, 3]
    assert (from_file.n_users, from_file.relevance_level) == (2, 2)
    assert from_file.n_retrieved.tolist() == [3, 1]
    assert from_file.grades[1, 0] == 2


def test_agreement_is_with_trec_evals_measure_and_with_another_metric() -> None:
    assert [law.name for law in laws_of(METRICS["RBP"])] == [law.name for law in LAWS]
    assert [law.name for law in laws_of(METRICS["P"])][len(LAWS) :] == ["trec_eval"]
    assert len(laws_of(METRICS["P"](rel=3))) == len(LAWS)
    both = laws_of(METRICS["P"], METRICS["AP"])
    assert [law.name for law in both][len(LAWS) :] == ["trec_eval", "against"]
    assert both[-1].breaks(Bench(METRICS["P"], 2), ONE) == (
        Evidence("P", ONE[0], 0.5),
        Evidence("AP", ONE[0], 1.0),
    )
    assert battery.agreement("x", "AP", METRICS["AP"]).breaks(Bench(METRICS["P"], 1), ONE) is None


LAW = Law(
    "odd",
    "No list has three items.",
    cases.one_list,
    lambda of, case: (Evidence("list", case[0], 3.0),) if len(case[0].ranked) == 3 else None,
)


def test_the_smallest_case_is_the_evidence_and_properties_are_reported() -> None:
    of = bench(lambda judged, *, cutoff=None: 0)
    broken = LAW.apply(of)
    assert (broken.verdict, broken.sentence) == (Verdict.FAIL, "")
    assert broken.evidence == (Evidence("list", UserList((None, None, None)), 3.0),)
    kept = replace(LAW, breaks=lambda of, case: None)
    assert kept.apply(of) == Outcome("odd", LAW.statement, Verdict.PASS)
    told: dict[str, Any] = {"if_kept": "Yes.", "if_broken": "No."}
    reported = replace(LAW, **told).apply(of)
    assert (reported.verdict, reported.sentence, len(reported.evidence)) == (
        Verdict.REPORT,
        "No.",
        1,
    )
    assert replace(kept, **told).apply(of).sentence == "Yes."
    against = replace(LAW, reason_against=lambda of: "why not.").apply(of)
    assert (against.verdict, against.sentence) == (Verdict.NOT_APPLICABLE, "why not.")


def test_a_law_without_a_list_to_score_does_not_apply() -> None:
    def fails(of: Bench, case: Case) -> Any:
        raise InputError("no score")

    outcome = replace(LAW, breaks=fails).apply(bench(lambda judged, *, cutoff=None: 0))
    assert (outcome.verdict, outcome.sentence) == (
        Verdict.NOT_APPLICABLE,
        "no list could be scored.",
    )


def test_the_first_cut_off_with_a_counterexample_is_told() -> None:
    benches = [bench(lambda judged, *, cutoff=None: 0, cutoff) for cutoff in (1, 5, None)]
    broken = replace(
        LAW, breaks=lambda of, case: (Evidence("list", case[0], 1.0),) if of.cutoff != 1 else None
    )
    assert worst_outcome(broken, benches).sentence == "At cut-off 5."
    assert worst_outcome(broken, benches[2:]).sentence == ""
    assert worst_outcome(broken, [benches[0], benches[2]]).sentence == "Without a cut-off."
    assert worst_outcome(broken, benches[:1]).verdict is Verdict.PASS
    deep = replace(
        LAW, breaks=lambda of, case: None, reason_against=lambda of: "x" * (of.cutoff == 1)
    )
    assert worst_outcome(deep, benches).verdict is Verdict.PASS
    assert worst_outcome(deep, benches[:1]).verdict is Verdict.NOT_APPLICABLE


def card(*outcomes: tuple[str, Verdict], cutoffs: tuple[int | None, ...] = (5,)) -> Card:
    made = tuple(Outcome(law, f"{law} holds.", verdict) for law, verdict in outcomes)
    return Card(METRICS["P"](rel=3), cutoffs, 3, 30, made)


def test_broken_laws_are_surprises_unless_they_are_expected() -> None:
    found = card(("a", Verdict.FAIL), ("b", Verdict.PASS), ("c", Verdict.REPORT))
    assert [outcome.law for outcome in found.broken] == ["a"]
    assert found.surprises(["a"]) == []
    assert found.surprises([]) == ["P(rel=3)@5 breaks 'a'."]
    assert found.surprises(["b"]) == ["P(rel=3)@5 breaks 'a'.", "P(rel=3)@5 does not break 'b'."]
    with pytest.raises(InputError, match="no law is called 'c'"):
        found.surprises(["c"])


def test_a_card_is_labelled_with_its_cut_off_if_it_has_one_alone() -> None:
    assert card().label == "P(rel=3)@5"
    assert card(cutoffs=(5, None)).label == "P(rel=3)"
    assert card(cutoffs=(5, 20, None)).depths == "5, 20, none"


def test_a_card_is_printed_in_lines_of_at_most_80_columns() -> None:
    outcome = Outcome(
        "odd",
        "No list has three items; " + "and so on " * 9,
        Verdict.FAIL,
        "At cut-off 5.",
        (Evidence("list", UserList((2, None), (0, 3)), 1 / 3), Evidence("x", UserList(()), "none")),
    )
    text = replace(card(), outcomes=(outcome,)).text()
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "P(rel=3)@5"
    assert any(line.startswith("  FAIL  odd: No list has three items;") for line in lines)
    assert "        At cut-off 5." in lines
    assert "        list:  N2 –     R = 1, N = 2  scores 0.333333" in lines
    assert "        x:     (empty)  R = 0, N = 0  none" in lines
    assert "30 cases were tried for each law at each of the cut-offs 5." in lines
    assert text.endswith("\n")
    told = " ".join(lines)
    assert " ".join(LEGEND.format(level=3).split()) in told
    for verdict, short in zip(Verdict, ("pass", "FAIL", "n/a ", "note"), strict=True):
        assert f"  {short}  a: a holds." in card(("a", verdict)).text()


def test_counts_are_of_all_judgements() -> None:
    outcome = Outcome(
        "odd", "", Verdict.FAIL, "", (Evidence("list", UserList((3, 1), (2, 0)), 2.0),)
    )
    assert evidence_lines(outcome, 2) == ["list:  R3 N1  R = 2, N = 2  scores 2"]


def test_a_card_is_plain_data() -> None:
    found = card(("a", Verdict.FAIL), ("b", Verdict.NOT_APPLICABLE), cutoffs=(5, None)).to_dict()
    assert found["metric"] == "P(rel=3)"
    assert found["cutoffs"] == [5, None]
    assert (found["relevance level"], found["cases per law"], found["broken"]) == (3, 30, ["a"])
    assert [each["verdict"] for each in found["outcomes"]] == ["fail", "not applicable"]
    assert found["resolution"] is None
    table = resolution(METRICS["P"], 5)
    with_table = replace(card(), resolution=table).to_dict()
    assert [*with_table["resolution"][0]] == [
        "metric",
        "tied pairs",
        "distinct scores",
        "mean score",
    ]


@pytest.mark.parametrize(
    ("subject", "cutoff", "label", "cutoffs"),
    [
        ("P", None, "P", CUTOFFS),
        ("P@7", None, "P", (7,)),
        ("P", 7, "P", (7,)),
        ("P(rel=2)@7", 7, "P(rel=2)", (7,)),
    ],
)
def test_a_metric_is_checked_at_its_cut_off_or_at_three_depths(
    subject: str, cutoff: int | None, label: str, cutoffs: tuple[int | None, ...]
) -> None:
    assert CUTOFFS == (5, 20, None)
    assert [(str(metric), at) for metric, at in metrics_to_check(subject, cutoff)] == [
        (label, cutoffs)
    ]


def test_random_lists_have_unjudged_bad_and_relevant_items_in_these_shares() -> None:
    judged = _random_lists(SHAPE)
    assert judged.grades.shape == (500, 5)
    assert np.isnan(judged.grades).mean() == pytest.approx(0.5, abs=0.03)
    for grade, share in ((0, 0.15), (1, 0.15), (2, 0.1), (3, 0.1)):
        assert (judged.grades == grade).mean() == pytest.approx(share, abs=0.02)
    assert (
        (~np.isnan(judged.judgements)).sum(axis=1) - (judged.grades >= 0).sum(axis=1)
    ).max() == 3


def test_resolution_counts_ties_of_rounded_scores_beside_two_known_metrics() -> None:
    def nearly(judged: Any, *, cutoff: int | None = None) -> Any:
        return 0.5 + 1e-12 * np.arange(judged.n_users)

    def apart(judged: Any, *, cutoff: int | None = None) -> Any:
        return 1e-9 * np.arange(judged.n_users)

    cases: list[tuple[Any, int, int]] = [(nearly, 1, 1), (apart, 0, 500)]
    for function, tied, distinct in cases:
        table = resolution(Metric("toy", function, source="here"), 3)
        assert table is not None
        assert [row[0] for row in table.rows] == ["toy", "nDCG", "P"]
        assert table.rows[0][1:3] == (tied, distinct)
        assert table.note == "Resolution at cut-off 3: the scores of 500 users with random lists."
        assert table.decimals == 3
    whole = resolution(METRICS["P"], None)
    assert whole is not None
    assert [row[0] for row in whole.rows] == ["P", "nDCG"]
    assert whole.note.startswith("Resolution without a cut-off:")


def test_cards_show_the_resolution_at_the_deepest_cut_off() -> None:
    found = check_metric(METRICS["P"], cutoffs=[5, 2], tries=1)
    assert found.resolution is not None
    assert found.resolution.note.startswith("Resolution at cut-off 5:")
