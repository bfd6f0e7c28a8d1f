"""Which measures pass a threshold, which of them lead, and how their numbers are printed."""

import math
from dataclasses import replace
from itertools import compress

import numpy as np
import pytest

from analyses.shared.estimate import REACH, Estimate, Estimates, deviations, joint_reach
from analyses.shared.families import WithinSubsets, reach_of
from analyses.shared.measure import Measure, Measures
from analyses.shared.sentences import best_of, deeper_or_shallower
from tests.harness.results import discrimination_of, popularity_of, sparsity_of


def accepted(found: Estimates) -> list[str]:
    return [*map(str, compress(found.measures, found.acceptable()))]


def test_a_measure_passes_whose_number_reaches_the_threshold() -> None:
    found = sparsity_of({("P", 20): 0.85, ("AP", 20): 0.9, ("RR", 20): 0.7}).estimates()
    assert accepted(found) == ["P@20", "AP@20"]
    assert best_of(found).startswith("AP@20")


def test_where_no_number_passes_nothing_is_best() -> None:
    found = popularity_of({("P", 20): -0.2, ("nDCG", 20): -0.05, ("AP", 20): 0.0}).estimates()
    assert accepted(found) == []
    assert best_of(found).startswith("No estimate reaches the threshold")


def test_what_is_undefined_does_not_pass() -> None:
    found = popularity_of({("P", 20): 0.7, ("nDCG", 20): math.nan}).estimates()
    assert accepted(found) == ["P@20"]
    assert best_of(sparsity_of({("P", 20): math.nan}).estimates()) == ""


def test_power_passes_by_the_share_of_pairs_that_are_told_apart() -> None:
    few, many = [0.04, 0.2, 0.2], [0.04, 0.04, 0.6]
    found = discrimination_of({("P", 20): few, ("AP", 20): many})
    assert accepted(found.estimates()) == ["AP@20"]


def test_acceptable_measures_stand_out_that_may_be_best() -> None:
    areas = {("P", 20): 0.9, ("nDCG", 20): 0.89, ("AP", 20): 0.7}
    found = sparsity_of(areas, margin=0.05, apart=0.02).estimates()
    assert [*map(str, found.standing_out())] == ["P@20", "nDCG@20"]
    two = {("P", 20): 0.9, ("nDCG", 20): 0.89}
    assert sparsity_of(two, margin=0.05, apart=0.02).estimates().standing_out() == []
    poor = sparsity_of({m: a - 0.5 for m, a in areas.items()}, margin=0.05, apart=0.02)
    assert poor.estimates().standing_out() == []


def test_the_best_of_equal_measures_may_be_best_in_95_percent(rng: np.random.Generator) -> None:
    """Of 400 sets 95 % should have the first; fewer than 365 do with a chance below 1 in 1,000."""
    measures, nothing = Measures([Measure(f"m{n}") for n in range(8)]), np.full(8, np.nan)
    shared, replicates = rng.normal(size=(400, 1)), rng.normal(size=(8, 2000))
    observed = shared + rng.normal(size=(400, 8))
    found = Estimates("n", "q", "s", "good", measures, nothing, nothing, nothing, replicates)
    for falls in (False, True):
        studies = [replace(found, values=values, lower_is_better=falls) for values in observed]
        n_held = sum(study.may_be_best()[0] for study in studies)
        assert 365 <= n_held <= 394


def test_without_a_threshold_every_measure_passes() -> None:
    numbers = np.array([-0.5]), np.array([np.nan]), np.array([np.nan]), np.empty((1, 0))
    assert accepted(Estimates("n", "q", "s", "good", Measures([Measure("P")]), *numbers)) == ["P"]


def test_the_interaction_is_at_most_the_variance_over_users_but_in_differences(
    rng: np.random.Generator,
) -> None:
    """The second measure never varies, so that their difference is the first one, less .5."""
    measures, nothing = Measures([Measure("P"), Measure("AP")]), np.full(2, np.nan)
    every = np.zeros((3, 2, 400))
    every[:, 0] = [[0.01], [0.05], [0.02]] * rng.normal(size=(3, 400))
    replicates, within, crossed = 0.5 + every
    systems = WithinSubsets(8, within, crossed.reshape(2, 20, 20))
    numbers = np.full(2, 0.5), nothing, nothing, replicates
    found = Estimates("n", "q", "s", "good", measures, *numbers, systems=systems)
    users = deviations(replicates) ** 2
    over_systems, shared = systems.variances, systems.interaction
    assert users[0] < shared[0] < over_systems[0]
    (expected,) = reach_of([(users[:1], np.inf), (over_systems[:1] - users[:1], 7)])
    assert found.over_both()[1][0] == pytest.approx(0.5 + expected)
    (expected,) = reach_of([(users[:1], np.inf), (over_systems[:1] - shared[:1], 7)])
    expected *= joint_reach(replicates) / REACH
    assert found.differences()["both_high"][0] == pytest.approx(expected)


def test_no_limit_of_dp_is_above_the_number_of_pairs(rng: np.random.Generator) -> None:
    numbers = np.exp(rng.normal(0, 30, (1, 200)))
    limits = np.array([2.0]), np.array([1.0]), np.array([3.0])
    systems = WithinSubsets(8, numbers)
    found = Estimates(
        "DP", "q", "s", "good", Measures([Measure("P")]), *limits, numbers,
        systems=systems, by_ratio=True, most=45.0,
    )  # fmt: skip
    assert found.over_both()[1].tolist() == found.over_systems()[1].tolist() == [45.0]


def test_a_metric_without_a_number_is_not_compared_between_cutoffs() -> None:
    areas = {("P", 5): 0.3, ("AP", 5): math.nan, ("P", 20): 0.4, ("AP", 20): 0.2}
    assert "AP" not in deeper_or_shallower(sparsity_of(areas).estimates())


@pytest.mark.parametrize(
    ("estimate", "printed"),
    [
        (Estimate(0.6947, 0.6388, 0.7336), ".69 [.64, .73]"),
        (Estimate(3.893, 2.532, 5.986), "3.9 [2.5, 6.0]"),
        (Estimate(-0.00041, -0.0131, 0.0122), ".000 [-.013, .012]"),
        (Estimate(0.5), ".500"),
    ],
)
def test_a_number_has_the_digits_that_its_interval_supports(
    estimate: Estimate, printed: str
) -> None:
    assert str(estimate) == printed


@pytest.mark.slow
def test_intervals_of_measures_that_sentences_name_hold_for_all_at_once(
    rng: np.random.Generator,
) -> None:
    """Of seven equal measures, the best one's own interval holds in 84 % of 400 draws."""
    n_draws, truth = 400, 0.5
    measures = Measures([Measure(name, 5) for name in "abcdefg"])
    held = {"alone": 0, "at once": 0}
    for _ in range(n_draws):
        values = truth + 0.02 * rng.normal(size=7)
        replicates = values[:, None] + 0.02 * rng.normal(size=(7, 400))
        low, high = values - REACH * 0.02, values + REACH * 0.02
        found = Estimates("x", "x", "X", "x", measures, values, low, high, replicates)
        best = int(np.argmax(values))
        at_once = (found.joint_limits[0][best], found.joint_limits[1][best])
        held["alone"] += low[best] <= truth <= high[best]
        held["at once"] += at_once[0] <= truth <= at_once[1]
    # 95 % of 400, less three standard errors; the best of seven errs upwards alone.
    assert held["alone"] < 0.9 * n_draws
    assert held["at once"] >= 0.95 * n_draws - 13


def test_power_and_its_threshold_have_one_unit() -> None:
    p = {("P", 5): [0.01, 0.5, 0.5], ("AP", 5): [0.2, 0.5, 0.5]}
    sentence = best_of(discrimination_of(p).estimates())
    assert "threshold, 50 % of the pairs with p < .05" in sentence
    assert "; 33 % of the pairs with p < .05" in sentence
