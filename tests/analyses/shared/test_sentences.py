"""Sentences about estimates, lists and numbers in sentences, and letters of groups."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, count, product
from typing import Any

import numpy as np
import pytest

from analyses.shared.families import SubsetValues
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.sentences import (
    applicable,
    best_measures_sentence,
    depth_sentence,
    format_p_value,
    join_pairs,
    letter_groups,
    letters_by_system,
    listed,
    plural,
    user_count,
)


def stated(
    values: dict[str, float], *, spread: float = 0.02, n: int = 400, **facts: Any
) -> Estimates:
    """Numbers by the names of their measures, with independent noise."""
    measures = []
    for name in values:
        metric, _, cutoff = name.partition("@")
        measures.append(Measure(metric, int(cutoff) if cutoff else None))
    levels = np.array([*values.values()])
    replicates = levels[:, None] + spread * np.random.default_rng(3).normal(size=(len(levels), n))
    limits = levels - 2 * spread, levels + 2 * spread
    named = "area", "area", "Robustness", "robust"
    found = Estimates(*named, Measures(measures), levels, *limits, replicates)
    return replace(found, **facts)


def of_systems(values: dict[str, float], *, spread: float) -> Estimates:
    """Numbers that vary over subsets of 12 families of systems, too."""
    noise = np.random.default_rng(9).normal(size=(len(values), 200)) * spread
    levels = np.array([*values.values()])
    return stated(values, systems=SubsetValues(12, levels[:, None] + noise))


# What is best


def without_numbers(sentence: str) -> str:
    """Leave out what stands in parentheses."""
    return re.sub(r" \([^)]*\)", "", sentence)


def test_the_best_is_named_over_users() -> None:
    sentence = best_measures_sentence(stated({"P@5": 0.9, "AP@5": 0.5}))
    assert without_numbers(sentence) == (
        "Over users, P@5 is most robust: with 95 % confidence, no other measure is better. With "
        "other systems, another may be the best, too."
    )
    assert "topics" in best_measures_sentence(stated({"P@5": 0.9, "AP@5": 0.5}), "topics")


def test_several_that_do_not_differ_are_named_together() -> None:
    sentence = best_measures_sentence(stated({"P@5": 0.9, "AP@5": 0.89, "RR@5": 0.5}))
    assert without_numbers(sentence).startswith(
        "Over users, P@5 and AP@5 are most robust: with 95 % confidence, the best is among them;"
    )


def test_where_all_may_be_best_none_is_named() -> None:
    sentence = best_measures_sentence(stated({"P@5": 0.9, "AP@5": 0.89}))
    assert without_numbers(sentence) == "No measure is significantly more robust than another."


def test_a_single_measure_is_not_compared() -> None:
    assert best_measures_sentence(stated({"P@5": 0.9})).startswith(
        "P@5 is robust, with area = .90 ["
    )


def test_without_replicates_significance_is_unknown() -> None:
    sentence = best_measures_sentence(stated({"P@5": 0.5, "AP@5": 0.9}, n=0))
    assert without_numbers(sentence) == (
        "AP@5 and P@5 in this order are robust; the significance is unknown."
    )


def test_what_does_not_reach_the_threshold_is_not_called_best() -> None:
    sentence = best_measures_sentence(stated({"P@5": 0.5, "AP@5": 0.6}, threshold=0.7))
    assert sentence.startswith(
        "No estimate reaches the threshold, .7: AP@5 comes closest with area = .60 ["
    )


def test_over_systems_the_best_is_named_if_it_leads_there_too() -> None:
    values = {"P@5": 0.9, "AP@5": 0.5, "RR@5": 0.1}
    sure = without_numbers(best_measures_sentence(of_systems(values, spread=0.01)))
    assert sure.startswith("Over users and systems, P@5 is most robust: ")
    assert "other systems" not in sure
    assert len(sure.split(". ")) == 1


def test_those_that_may_be_best_with_other_systems_are_named() -> None:
    values = {"P@5": 0.9, "AP@5": 0.75, "RR@5": 0.1}
    unsure = without_numbers(best_measures_sentence(of_systems(values, spread=0.04)))
    assert unsure.startswith("Over users, P@5 is most robust: ")
    assert unsure.endswith("With other systems, AP@5 may be the best, too.")
    none = without_numbers(best_measures_sentence(of_systems(values, spread=0.9)))
    assert none.endswith("With other systems, any measure may be the best.")


def test_other_settings_are_named_where_systems_were_varied() -> None:
    settings = np.array([[0.9, 0.2, 0.5], [0.5, 0.9, 0.1]])
    sentence = best_measures_sentence(stated({"P@5": 0.9, "AP@5": 0.5}, over_settings=settings))
    assert without_numbers(sentence).endswith("With other settings, any measure may be the best.")


def test_nothing_is_said_of_nothing() -> None:
    assert best_measures_sentence(stated({"P@5": np.nan})) == ""


# Deep and shallow cut-offs


def of_cutoffs(**shallow_and_deep: tuple[float, float]) -> dict[str, float]:
    return {
        f"{metric}@{cutoff}": value
        for metric, values in shallow_and_deep.items()
        for cutoff, value in zip((5, 20), values, strict=True)
    }


def test_metrics_are_more_or_less_robust_at_their_deepest_cut_off() -> None:
    found = stated(of_cutoffs(P=(0.1, 0.9), AP=(0.2, 0.8), RR=(0.9, 0.1), nDCG=(0.5, 0.5)))
    assert depth_sentence(found) == (
        "Over users, at cut-off 20, P and AP are significantly more robust and RR is "
        "significantly less robust than at cut-off 5, and the others do not differ significantly."
    )
    falling = replace(found, lower_is_better=True)
    assert "RR is significantly more robust" in depth_sentence(falling)


def test_all_metrics_are_counted() -> None:
    found = stated(of_cutoffs(P=(0.1, 0.9), AP=(0.2, 0.8)))
    assert depth_sentence(found) == (
        "Over users, at cut-off 20, all 2 metrics are significantly more robust than at cut-off 5."
    )


def test_cut_offs_that_do_not_differ_are_not_spoken_of() -> None:
    assert depth_sentence(stated(of_cutoffs(P=(0.5, 0.5)))) == ""
    assert depth_sentence(stated({"P@5": 0.5, "AP": 0.5})) == ""


def test_a_metric_that_lacks_the_deepest_cut_off_is_not_compared() -> None:
    values = {**of_cutoffs(P=(0.1, 0.9)), "AP@5": 0.1, "AP@10": 0.9, "RR@10": 0.1, "RR@20": 0.9}
    assert "cut-off 20, P is significantly more robust" in depth_sentence(stated(values))


@pytest.mark.parametrize(
    ("spreads", "ending"),
    [
        ([0.01, 0.01, 0.01, 0.01], "Over users and systems, at cut-off 20, all 2 metrics"),
        ([0.01, 0.01, 0.9, 0.9], "Over users and systems, that is true of P alone."),
        ([0.9, 0.9, 0.9, 0.9], "Over users and systems, that is true of none."),
    ],
)
def test_what_holds_over_systems_too_is_told(spreads: list[float], ending: str) -> None:
    values = of_cutoffs(P=(0.1, 0.9), AP=(0.2, 0.8))
    noise = np.random.default_rng(9).normal(size=(4, 200)) * np.array(spreads)[:, None]
    within = SubsetValues(12, np.array([*values.values()])[:, None] + noise)
    sentence = depth_sentence(stated(values, systems=within))
    assert ending in sentence
    assert sentence.count("Over users") == (2 if "true" in ending else 1)


# Lists and numbers


def test_names_are_joined_as_in_a_sentence() -> None:
    assert [listed(["a", "b", "c"][:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert listed(["a", "b"], "or") == "a or b"
    assert plural("user") == "users"
    assert applicable({"a": False, "b": True, "c": np.bool_(True)}) == ["b", "c"]


def test_five_pairs_are_named() -> None:
    pairs = [(f"a{number}", f"b{number}") for number in range(5)]
    named = "a0 and b0; a1 and b1; a2 and b2; a3 and b3; a4 and b4"
    assert join_pairs(pairs) == named
    assert join_pairs([*pairs, ("x", "y")]) == f"{named}; and 1 other pair"
    assert join_pairs([*pairs, *[("x", "y")] * 1234]) == f"{named}; and 1,234 other pairs"
    assert join_pairs([]) == ""


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "p < .001"),
        (0.00099, "p < .001"),
        (0.001, "p = .001"),
        (0.0094, "p = .009"),
        (0.01, "p = .01"),
        (0.034, "p = .03"),
        (1.0, "p = 1.00"),
        (np.nan, "p unknown"),
    ],
)
def test_p_values_have_two_decimals_or_three_below_1_per_cent(p: float, text: str) -> None:
    assert format_p_value(p) == text


@pytest.mark.parametrize(
    ("users", "text"), [(1234.4, "1,234"), (np.inf, "never"), (np.nan, "–"), (0.0, "0")]
)
def test_numbers_of_users_are_whole(users: float, text: str) -> None:
    assert user_count(users) == text


# Letters


def differing(n: int, *pairs: tuple[int, int]) -> Any:
    differs = np.zeros((n, n), dtype=np.bool_)
    for one, other in pairs:
        differs[one, other] = differs[other, one] = True
    return differs


def test_two_that_share_a_letter_do_not_differ() -> None:
    order = np.array([2, 0, 1])
    assert letters_by_system(differing(3, (2, 1)), order) == ("ab", "b", "a")
    assert letters_by_system(differing(3), order) == ("a", "a", "a")
    assert letters_by_system(differing(3, (0, 1), (0, 2), (1, 2)), order) == ("b", "c", "a")


def sharing(letters: Sequence[Any]) -> Any:
    """Mark which two texts or groups have a member in common, of shape (n, n)."""
    return np.array([[bool({*one} & {*other}) for other in letters] for one in letters])


def fewest_groups(differs: Any) -> int:
    """By brute force: the fewest sets without a difference that cover all pairs without one."""
    n = len(differs)
    alike = [
        {(one, other) for one in members for other in members}
        for size in range(1, n + 1)
        for members in combinations(range(n), size)
        if not differs[np.ix_(members, members)].any()
    ]
    largest = [pairs for pairs in alike if not any(pairs < others for others in alike)]
    all_pairs = {pair for pair in product(range(n), repeat=2) if not differs[pair]}
    for size in count(1):
        if any(set().union(*chosen) == all_pairs for chosen in combinations(largest, size)):
            return size
    raise AssertionError


@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_two_share_a_letter_only_if_they_do_not_differ(
    share: float, rng: np.random.Generator
) -> None:
    for n in (1, 2, 5, 8, 11):
        upper = np.triu(rng.random((n, n)) < share, 1)
        differs = upper | upper.T
        letters = letters_by_system(differs, rng.permutation(n))
        np.testing.assert_array_equal(sharing(letters), ~differs)


def test_hardly_more_letters_are_given_than_are_needed(rng: np.random.Generator) -> None:
    for _ in range(20):
        upper = np.triu(rng.random((6, 6)) < 0.4, 1)
        differs = upper | upper.T
        assert len(letter_groups(differs)) <= fewest_groups(differs) + 1


def test_no_group_is_redundant_and_none_can_be_larger(rng: np.random.Generator) -> None:
    for _ in range(30):
        upper = np.triu(rng.random((9, 9)) < 0.3, 1)
        differs = upper | upper.T
        groups = letter_groups(differs)
        assert groups
        for group in groups:
            others = set(range(9)) - {*group}
            assert all(differs[group, other].any() for other in others)
            is_shared = np.zeros((9, 9), dtype=np.bool_)
            for other_group in groups:
                if other_group != group:
                    is_shared[np.ix_(other_group, other_group)] = True
            assert not is_shared[np.ix_(group, group)].all()


def test_systems_of_a_scale_have_a_letter_for_each_largest_run() -> None:
    """Means a tenth apart, of which those differ that are .25 apart: each run of three."""
    n = 10
    places = np.arange(n)
    differs = np.abs(places[:, np.newaxis] - places) > 2
    assert letter_groups(differs) == [[first, first + 1, first + 2] for first in range(n - 2)]


@pytest.mark.parametrize(("n_alone", "n_letters"), [(12, 12), (13, 0), (200, 0)])
def test_more_than_twelve_letters_are_left_out(n_alone: int, n_letters: int) -> None:
    differs = ~np.eye(n_alone, dtype=np.bool_)
    letters = letters_by_system(differs, np.arange(n_alone))
    assert len({*letters} - {""}) == n_letters
    assert len(letter_groups(differs)) == n_letters


@pytest.mark.parametrize("n", [24, 200])
def test_systems_that_differ_from_one_other_take_few_steps(n: int) -> None:
    """There are 2^(n / 2) largest groups, of which few are needed."""
    differs = differing(n, *((2 * pair, 2 * pair + 1) for pair in range(n // 2)))
    letters = letters_by_system(differs, np.arange(n))
    if any(letters):
        np.testing.assert_array_equal(sharing(letters), ~differs)
    # 7 letters are the fewest for 24 systems (Gregory & Pullman 1982).
    assert n > 24 or any(letters)
