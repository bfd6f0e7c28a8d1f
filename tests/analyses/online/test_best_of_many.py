from dataclasses import replace
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata

from analyses.online.best_of_many import BestOfMany, best_of_many, scaled_ranks
from analyses.online.experiments import Experiment
from runs import InputError
from tests.analyses.online.examples import experiment, random_experiment

Floats = np.ndarray


def tied(rng: np.random.Generator, n_models: int = 5, name: str = "A") -> Experiment:
    """A dozen measures with ties, and rates with ties."""
    values = rng.integers(0, 4, (12, n_models))
    return experiment(values, rng.integers(0, 4, n_models), name=name, own=name)


def spearman(values: Floats, rates: Floats) -> Floats:
    ranks = [rankdata(each, axis=-1) for each in np.broadcast_arrays(values, rates)]
    x, y = (each - each.mean(axis=-1, keepdims=True) for each in ranks)
    with np.errstate(invalid="ignore"):
        return (x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))


def rhos_of_all_orders(one: Experiment) -> Floats:
    return spearman(one.values[:, None], np.array([*permutations(one.rates)]))


@pytest.mark.parametrize("seed", range(5))
def test_p_values_of_one_small_experiment_are_shares_of_all_orders(seed: int) -> None:
    one = tied(np.random.default_rng(seed))
    found, rhos = best_of_many([one], seed=1), rhos_of_all_orders(one)
    maxima, observed = np.sort(np.nanmax(rhos, axis=0)), spearman(one.values, one.rates)
    np.testing.assert_allclose(found.maxima, maxima, atol=1e-12)
    alone = (rhos >= observed[:, None] - 1e-10).mean(axis=1)
    adjusted = [(maxima >= rho - 1e-10).mean() for rho in observed]
    undefined = np.isnan(observed)
    np.testing.assert_allclose(found.p_alone, np.where(undefined, np.nan, alone))
    np.testing.assert_allclose(found.p_adjusted, np.where(undefined, np.nan, adjusted))
    assert found.is_exact


@pytest.mark.slow
def test_up_to_nine_models_all_orders_are_enumerated() -> None:
    """One measure orders all models as the rates do: of 9! orders, that one reaches rho = 1."""
    nine = best_of_many([experiment([range(9)], range(9))], permutations=99, seed=1)
    assert nine.is_exact
    assert len(nine.maxima) == 362_880
    assert nine.p_alone.tolist() == nine.p_adjusted.tolist() == [1 / 362_880]
    ten = best_of_many([experiment([range(10)], range(10))], permutations=99, seed=1)
    assert not ten.is_exact
    assert len(ten.maxima) == 99
    # No random order of ten is the one of 3,628,800; the observed one counts.
    assert ten.p_alone.tolist() == ten.p_adjusted.tolist() == [1 / 100]


@pytest.mark.parametrize("alpha", [1 / 24, 0.05, 0.1, 0.2, 0.5])
def test_over_all_orders_of_the_rates_the_test_holds_its_level_exactly(
    alpha: float, rng: np.random.Generator
) -> None:
    values = rng.random((3, 4))
    smallest = [
        best_of_many([experiment(values, order)], seed=1).p_adjusted.min()
        for order in permutations([1, 2, 3, 4])
    ]
    assert np.mean(np.array(smallest) <= alpha) <= alpha


@pytest.mark.validity
def test_random_orders_hold_the_level_which_the_best_alone_does_not() -> None:
    """300 pairs of experiments of six models without any relation to 40 measures."""
    rng = np.random.default_rng(7)
    smallest = []
    for _ in range(300):
        sets = [
            experiment(rng.random((40, 6)), rng.random(6), name=name, own=name) for name in "AB"
        ]
        found = best_of_many(sets, permutations=199, seed=1)
        smallest.append((found.p_alone.min(), found.p_adjusted.min()))
    alone, adjusted = (np.array(smallest) <= 0.05).mean(axis=0)
    assert adjusted < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert alone > 0.5


@pytest.mark.validity
def test_groups_that_share_models_hold_the_level_though_models_differ_in_quality() -> None:
    """Rates of three groups go together by model, as do values; the two are unrelated.

    Were each group permuted alone, about a third of such experiments would find something.
    """
    rng, rejected = np.random.default_rng(3), []
    for _ in range(200):
        quality, rates = rng.random((8, 10)), rng.random(10)
        groups = [
            experiment(quality + 0.1 * rng.random((8, 10)), rates + 0.1 * rng.random(10), name=name)
            for name in "ABC"
        ]
        rejected.append(best_of_many(groups, permutations=199, seed=1).p_adjusted.min() <= 0.05)
    # Of 200 tests of level .05, more than 18 reject with a probability of about .01.
    assert np.sum(rejected) <= 18


def test_the_same_rates_in_two_groups_are_permuted_as_one(rng: np.random.Generator) -> None:
    """The same users of five models twice are no more evidence than once, in whichever order."""
    values, rates, order = rng.random((4, 5)), rng.random(5), [3, 1, 4, 0, 2]
    once = experiment(values, rates)
    moved = Experiment(
        "B", tuple(once.models[n] for n in order), once.measures, values[:, order], rates[order]
    )
    one, both = best_of_many([once], seed=1), best_of_many([once, moved], seed=1)
    assert both.p_adjusted.tolist() == one.p_adjusted.tolist()


@pytest.mark.parametrize("chosen", [None, ["A", "C"]])
def test_experiments_are_permuted_independently_and_chosen_again_in_every_order(
    rng: np.random.Generator, chosen: list[str] | None
) -> None:
    sets = [tied(rng, 3, name) for name in "ABC"]
    found = best_of_many(sets, permutations=4000, seed=1, chosen=chosen)
    values = [rhos_of_all_orders(one) for one in sets]
    defined = ~np.isnan(found.statistics)
    subsets = [*combinations(range(3), 3 if chosen is None else 2)]
    maxima = np.array(
        [
            max(
                np.max(np.mean([values[n][defined, orders[n]] for n in some], axis=0))
                for some in subsets
            )
            for orders in product(range(6), repeat=3)
        ]
    )
    expected = [(maxima >= statistic - 1e-9).mean() for statistic in found.statistics[defined]]
    np.testing.assert_allclose(found.p_adjusted[defined], expected, atol=0.03)


def test_a_measure_that_is_undefined_anywhere_has_no_p() -> None:
    first = experiment([[1, 2, 3], [1, 1, 1]], [1, 2, 3])
    second = experiment([[1, 2, 3], [1, 2, 3]], [1, 2, 3], name="B")
    found = best_of_many([first, second], permutations=9, seed=1)
    assert np.isnan(found.p_adjusted).tolist() == [False, True]


def test_the_first_permutations_do_not_depend_on_how_many_follow(rng: np.random.Generator) -> None:
    one = random_experiment(rng, n_models=12)
    few, many = (best_of_many([one], permutations=n, seed=1).maxima for n in (50, 2000))
    assert set(few.round(12)) <= set(many.round(12))


def test_what_cannot_be_tested_is_refused() -> None:
    one = experiment([[1, 2, 3]], [1, 2, 3])
    with pytest.raises(InputError, match="no experiment is called 'B'; there are A"):
        best_of_many([one], seed=1, chosen=["B"])
    with pytest.raises(InputError, match="no measure has a rho"):
        best_of_many([experiment([[1, 2, 3]], [1, 1, 1])], seed=1)
    with pytest.raises(InputError, match="must have the same measures"):
        best_of_many([one, experiment([[1, 2, 3]], [1, 2, 3], measures=["x"], name="B")], seed=1)


def stated(**changes: Any) -> BestOfMany:
    """Three measures, of which the second is best."""
    facts: dict[str, Any] = {
        "measures": ("P@5", "AP@5", "RR"),
        "fewest_models": 8,
        "chosen": ("A", "B"),
        "statistics": np.array([0.3, 0.755, np.nan]),
        "p_alone": np.array([0.2, 0.012, np.nan]),
        "p_adjusted": np.array([0.5, 0.05, np.nan]),
        "maxima": np.arange(1200.0),
        "n_orderings": 2,
        "is_exact": False,
    }
    return BestOfMany(**facts | changes)


def test_the_finding_has_the_best_measure_with_both_p_values() -> None:
    assert stated().finding() == (
        "Of 3 measures, AP@5 agrees best with the click-through rates, with rho = .76 over 8 "
        "models (p = .05 with correction for choosing the best measure, p = .01 without); it is "
        "significant."
    )
    above = np.array([0.5, np.nextafter(0.05, 1), np.nan])
    assert stated(p_adjusted=above).finding().endswith("it is not significant.")


def test_of_fewer_than_eight_models_nothing_is_called_significant() -> None:
    sentence = stated(fewest_models=7).finding()
    assert sentence.endswith("too few models for a test, 20 or more are advised.")


def test_the_caption_counts_the_orders_and_the_orderings() -> None:
    assert "best of 3 measures, which order the models in 2 different ways" in stated().caption()
    assert "in 1,200 random orders of the rates. Data sets: A, B." in stated().caption()
    assert "in all 1,200 orders of the rates" in stated(is_exact=True).caption()


def test_by_default_ten_thousand_orders_are_drawn(rng: np.random.Generator) -> None:
    one = experiment(rng.random((1, 10)), rng.random(10))
    assert len(best_of_many([one], seed=1).maxima) == 10_000


def test_ranks_are_scaled_so_that_products_are_spearmans_rho() -> None:
    """Ties to 12 decimals share their mean rank."""
    values = np.array([[0.1, 0.3, 0.3 + 1e-14, 0.2], [4.0, 3, 2, 1], [1, 1, 1, 1]])
    found = scaled_ranks(values)
    np.testing.assert_allclose(found[0], np.array([-1.5, 1, 1, -0.5]) / np.sqrt(4.5))
    assert (found[1] @ found[1], found[1] @ found[1][::-1]) == pytest.approx((1, -1))
    assert np.isnan(found[2]).all()
    assert np.isnan(scaled_ranks(np.array([1.0, np.nan, 2.0]))).all()


def test_facts_are_of_the_first_experiment_and_the_fewest_models(rng: np.random.Generator) -> None:
    """Equal orderings of the models are counted once."""
    first = experiment(rng.random((3, 5)), rng.random(5), own="x")
    same = np.concatenate([first.values[:2], 2 * first.values[1:2]])
    second = experiment(rng.random((3, 4)), rng.random(4), name="B", own="y")
    doubled = np.concatenate([second.values[:2], second.values[1:2] + 1])
    found = best_of_many(
        [replace(first, values=same), replace(second, values=doubled)], permutations=20, seed=1
    )
    assert found.fewest_models == 4
    assert found.n_orderings == 2
    assert found.measures == ("M0", "M1", "M2")
    assert found.statistics[1] == found.statistics[2]
    expected = (spearman(same, first.rates) + spearman(doubled, second.rates)) / 2
    np.testing.assert_allclose(found.statistics, expected)
    alone = best_of_many([first, second], permutations=20, seed=1, chosen=["B"])
    assert alone.chosen == ("B",)
    np.testing.assert_allclose(alone.statistics, spearman(second.values, second.rates))


def test_experiments_with_other_models_are_not_enumerated(rng: np.random.Generator) -> None:
    """Both have the observed order among random ones: of 3 orders, p is (n + 1) / 4."""
    sets = [experiment(rng.random((2, 4)), rng.random(4), name=n, own=n) for n in "AB"]
    found = best_of_many(sets, permutations=3, seed=1)
    assert not found.is_exact
    assert len(found.maxima) == 3
    beyond = (found.maxima[:, None] >= found.statistics - 1e-9).sum(axis=0)
    np.testing.assert_allclose(found.p_adjusted, (beyond + 1) / 4)
    np.testing.assert_allclose(found.p_alone * 4, np.rint(found.p_alone * 4))
    assert (found.p_alone >= 1 / 4).all()


def test_an_experiment_occurs_once() -> None:
    one = experiment([[1, 2, 3]], [1, 2, 3])
    with pytest.raises(InputError, match="the experiment 'A' occurs twice"):
        best_of_many([one, one], seed=1)
