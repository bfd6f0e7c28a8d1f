from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from analyses.shared.contested_pairs import (
    IGNORES_JUDGEMENTS,
    _t_tests_of_pairs,
    contested_pairs,
    systems_within_reach,
)
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores

Floats = NDArray[np.float64]

P, RR, LENGTH = Measure("P", 10), Measure("RR", 10), Measure("length")


def scores_of(values: Floats, measures: list[Measure], lower: tuple[str, ...] = ()) -> Scores:
    """Scores with systems a, b, c, ..., all measures of which are reported."""
    labelled = Measures(measures, reported=measures, lower_is_better_for=lower)
    systems = tuple("abcdefghijklmnopqrst"[: values.shape[1]])
    users = np.char.zfill(np.arange(values.shape[2]).astype(np.str_), 4)
    return Scores(values, labelled, systems, users)


def noisy(means: list[float], *, n_users: int = 40, seed: int = 1) -> Floats:
    """Scores of one measure with these means: (n_systems, n_users), with deviation 1."""
    noise = np.random.default_rng(seed).normal(size=(len(means), n_users))
    noise -= noise.mean(axis=1, keepdims=True)
    return np.asarray(noise + np.array(means)[:, np.newaxis])


def pair_names(marks: NDArray[np.bool_], systems: tuple[str, ...]) -> list[str]:
    pairs = combinations(systems, 2)
    return ["".join(pair) for pair, is_marked in zip(pairs, marks, strict=True) if is_marked]


def test_a_pair_is_contested_unless_all_measures_tell_it_apart_in_one_direction() -> None:
    # P and RR agree on c, far below, and d, far above; P does not tell a and b apart.
    precision = noisy([0.0, 0.1, -5.0, 5.0])
    reciprocal_rank = noisy([0.0, 3.0, -5.0, 5.0], seed=2)
    scores = scores_of(np.stack([precision, reciprocal_rank]), [P, RR])
    contested = contested_pairs(scores, uses_judgements=lambda _: True)
    assert pair_names(contested.is_contested, contested.systems) == ["ab"]
    assert (contested.n_contested, contested.n_pairs) == (1, 6)


def test_measures_that_tell_a_pair_apart_in_opposite_directions_contest_it() -> None:
    values = np.stack([noisy([0.0, 3.0]), noisy([3.0, 0.0], seed=2)])
    contested = contested_pairs(scores_of(values, [P, RR]), uses_judgements=lambda _: True)
    assert contested.n_contested == 1


def test_lower_values_are_better_by_measures_that_say_so() -> None:
    values = np.stack([noisy([0.0, 3.0]), noisy([3.0, 0.0], seed=2)])
    scores = scores_of(values, [P, RR], lower=("RR",))
    assert contested_pairs(scores, uses_judgements=lambda _: True).n_contested == 0


def test_measures_without_judgements_and_multiples_are_no_candidates() -> None:
    precision = noisy([0.0, 0.1])
    values = np.stack([precision, 0.5 * precision, noisy([9.0, 0.0])])
    contested = contested_pairs(
        scores_of(values, [P, RR, LENGTH]), uses_judgements=lambda measure: measure != LENGTH
    )
    assert contested.measures == (P,)
    assert contested.excluded == {
        "RR@10": "compares systems exactly as P@10 does",
        "length": IGNORES_JUDGEMENTS,
    }


def test_systems_with_equal_scores_are_no_contested_pair() -> None:
    # b is a copy of a; c has the same means, with the scores of other users.
    precision = noisy([0.0])
    values = np.concatenate([precision, precision, precision[:, ::-1]])[np.newaxis]
    contested = contested_pairs(scores_of(values, [P]), uses_judgements=lambda _: True)
    assert pair_names(contested.is_contested, contested.systems) == ["ac", "bc"]


def test_without_a_candidate_nothing_is_contested() -> None:
    scores = scores_of(noisy([0.0, 0.1])[np.newaxis], [LENGTH])
    contested = contested_pairs(scores, uses_judgements=lambda _: False)
    assert contested.n_contested == 0
    assert contested.is_within_reach.all()


def test_two_equal_baselines_far_below_are_out_of_reach() -> None:
    means = [0.2 * number for number in range(8)]
    values = np.stack([noisy([*means, -9.0, -9.0], seed=seed) for seed in range(3)])
    scores = scores_of(values, [P, RR, Measure("AP", 10)])
    contested = contested_pairs(scores, uses_judgements=lambda _: True)
    assert contested.out_of_reach == ("i", "j")
    # No pair with one of them is contested, not even their own.
    assert contested.n_pairs == 28


@pytest.mark.parametrize("n_systems", [2, 7])
def test_with_fewer_than_eight_systems_all_are_within_reach(n_systems: int) -> None:
    values = noisy([9.0 * number for number in range(n_systems)])[np.newaxis]
    contested = contested_pairs(scores_of(values, [P]), uses_judgements=lambda _: True)
    assert contested.is_within_reach.all()


def test_the_group_is_the_largest_at_the_highest_level_that_suffices() -> None:
    # Ten systems in a chain: neighbours are told apart at 1e-5, all others at 1e-20.
    pairs = list(combinations(range(10), 2))
    p_values = np.array([[1e-5 if j == i + 1 else 1e-20 for i, j in pairs]])
    directions = np.ones((1, len(pairs)))
    assert systems_within_reach(p_values, directions, n_systems=10).all()
    # Cut between the eighth and the ninth system.
    p_values[0, pairs.index((7, 8))] = 1e-14
    is_within = systems_within_reach(p_values, directions, n_systems=10)
    assert is_within.tolist() == [True] * 8 + [False] * 2


def test_one_measure_that_speaks_against_it_keeps_a_pair_together() -> None:
    pairs = list(combinations(range(9), 2))
    with_last = np.array([j == 8 for _, j in pairs])
    p_values = np.where(with_last, 1e-20, 0.5)[np.newaxis].repeat(3, axis=0)
    directions = np.ones((3, len(pairs)))
    assert not systems_within_reach(p_values, directions, n_systems=9)[8]
    directions[2, with_last] = -1.0
    p_values[2, with_last] = 0.04
    assert systems_within_reach(p_values, directions, n_systems=9)[8]


def test_contested_pairs_of_a_subset_have_both_systems_in_it() -> None:
    contested = contested_pairs(
        scores_of(noisy([0.0, 0.1, 0.2])[np.newaxis], [P]), uses_judgements=lambda _: True
    )
    within = contested.within(np.array([[True, True, False], [True, True, True]]))
    assert [pair_names(marks, contested.systems) for marks in within] == [
        ["ab"],
        ["ab", "ac", "bc"],
    ]


def test_p_values_are_those_of_paired_t_tests() -> None:
    values = np.random.default_rng(5).normal(size=(2, 4, 30))
    values[0, 1] = values[0, 0]
    values[1, 3] = values[1, 2] + 0.5
    p_values, differences = _t_tests_of_pairs(values)
    for measure, (number, (i, j)) in product(range(2), enumerate(combinations(range(4), 2))):
        difference = values[measure, i] - values[measure, j]
        assert differences[measure, number] == pytest.approx(difference.mean(), abs=1e-12)
        if np.ptp(difference) > 1e-9:
            expected = ttest_rel(values[measure, i], values[measure, j]).pvalue
            assert p_values[measure, number] == pytest.approx(expected)
    # Equal systems, and a difference that is the same for all users.
    assert p_values[0, 0] == 1
    assert p_values[1, 5] == 0
