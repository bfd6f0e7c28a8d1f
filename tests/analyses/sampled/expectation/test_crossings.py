"""Orderings of systems by expected sampled metrics."""

import numpy as np
import pytest

from analyses.sampled.example import LISTS, N_CANDIDATES
from analyses.sampled.expectation.crossings import consistency_crossings, print_ordering
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.references import expected_of_users

WITH = {
    "AP": [("ACB", 1), ("ABC", 73), ("ACB", 281), ("CAB", 438), ("CBA", 954)],
    "nDCG": [("ACB", 1), ("CAB", 692)],
    "nDCG@10": [("ACB", 1), ("ABC", 122), ("ACB", 712), ("CAB", 899), ("CBA", 941)],
    "Recall@10": [
        ("A=B=C", 1),
        ("ACB", 10),
        ("ABC", 228),
        ("BAC", 1061),
        ("BCA", 1263),
        ("CBA", 2479),
    ],
}
WITHOUT = {
    "AP": [("ACB", 1), ("ABC", 73), ("ACB", 277), ("CAB", 434), ("CBA", 1108)],
    "nDCG": [("ACB", 1), ("CAB", 685)],
    "Recall@10": [
        ("A=B=C", 1),
        ("ACB", 10),
        ("ABC", 228),
        ("BAC", 1052),
        ("BCA", 1241),
        ("CBA", 2458),
    ],
}


def _found(metric: str, *, replace: bool, negatives: int | None = None) -> list[tuple[str, int]]:
    found = consistency_crossings(LISTS, metric, replace=replace, negatives=negatives)
    return [
        (print_ordering(ordering).replace(" > ", "").replace(" ", ""), start)
        for start, ordering in found.orderings
    ]


@pytest.mark.slow
@pytest.mark.parametrize("metric", WITH)
def test_orders_change_where_figure_2_says(metric: str) -> None:
    assert _found(metric, replace=True) == WITH[metric]


@pytest.mark.slow
@pytest.mark.parametrize("metric", WITHOUT)
def test_orders_change_nearby_without_replacement(metric: str) -> None:
    # From m = 7,603 on A and B have nothing in the first ten, to 12 decimals, and tie.
    assert _found(metric, replace=False, negatives=7000) == WITHOUT[metric]


def test_auc_has_one_order() -> None:
    assert _found("AUC", replace=False) == [("ACB", 1)]


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("metric", ["AP", "nDCG", "nDCG@10", "Recall@10", "P@5", "RR"])
def test_the_scan_agrees_with_each_expectation(metric: str, replace: bool) -> None:
    found = consistency_crossings(LISTS, metric, replace=replace, negatives=1500)
    for m in (1, 4, 99, 1500):
        expected = [
            expected_of_users(metric, ranks, m=m, replace=replace).mean()
            for ranks in LISTS.values()
        ]
        np.testing.assert_allclose(found.values[:, m - 1], expected, atol=2e-11)


@pytest.mark.parametrize("metric", ["AP@3", "nDCG", "RR", "AUC", "Recall@4"])
def test_the_scan_knows_several_relevant_items(metric: str) -> None:
    ranks = FullRanks.of([2, 5, 9, 4], n_candidates=20, user=[0, 0, 0, 1])
    found = consistency_crossings({"a": ranks}, metric, replace=False)
    for m in (1, 6, 17):
        expected = expected_of_users(metric, ranks, m=m, replace=False).mean()
        np.testing.assert_allclose(found.values[0, m - 1], expected, atol=1e-11)


@pytest.mark.slow
def test_all_negatives_show_the_exact_order() -> None:
    found = consistency_crossings(LISTS, "AP", replace=False)
    assert (found.settled, found.orderings[-1][1]) == (1108, found.exact_ordering)


def test_an_order_that_never_comes_is_never_settled() -> None:
    assert consistency_crossings(LISTS, "AP", negatives=900).settled is None


def test_the_caption_names_the_orders() -> None:
    caption = consistency_crossings(LISTS, "nDCG", negatives=800).caption()
    assert "A > C > B from m = 1; C > A > B from m = 692" in caption


@pytest.mark.parametrize("negatives", [0, N_CANDIDATES])
def test_impossible_numbers_of_negatives_are_refused(negatives: int) -> None:
    with pytest.raises(InputError, match=rf"irrelevant candidates, 9999, got {negatives}\."):
        consistency_crossings(LISTS, "AP", negatives=negatives)


def test_systems_have_the_same_users() -> None:
    other = FullRanks.of([1, 2], n_candidates=N_CANDIDATES)
    with pytest.raises(InputError, match="systems 'A' and 'D' have different users"):
        consistency_crossings({"A": LISTS["A"], "D": other}, "AP")


def test_there_is_a_system() -> None:
    with pytest.raises(InputError, match="at least one system"):
        consistency_crossings({}, "AP")


def test_precision_of_whole_lists_orders_nothing() -> None:
    with pytest.raises(InputError, match="the same for all systems"):
        consistency_crossings(LISTS, "P")
