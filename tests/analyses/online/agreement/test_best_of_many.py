from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from analyses.online.agreement import best_of_many as module
from analyses.online.agreement.best_of_many import BestOfMany, best_of_many
from analyses.online.tables.experiment import Experiment
from analyses.ordering import spearman
from analyses.shared.evidence import read_evidence, to_evidence
from runs import InputError
from tests.analyses.online.examples import experiment, random_experiment

Floats = np.ndarray


def tied(rng: np.random.Generator, n_models: int = 5, name: str = "A") -> Experiment:
    """A dozen measures with ties, and rates with ties."""
    values = rng.integers(0, 4, (12, n_models))
    return experiment(values, rng.integers(0, 4, n_models), name=name, own=name)


def brute_maxima(one: Experiment) -> Floats:
    """Largest rho of all measures for every order of the rates, rising."""
    orders = np.array(list(permutations(one.rates)))
    return np.sort(np.nanmax(spearman(one.values[:, None], orders), axis=0))


@pytest.fixture
def of_24_models(rng: np.random.Generator) -> BestOfMany:
    return best_of_many([random_experiment(rng, n_models=24)], permutations=500, seed=1)


@pytest.mark.parametrize("seed", range(5))
def test_the_null_of_one_small_experiment_is_that_of_all_orders(seed: int) -> None:
    one = tied(np.random.default_rng(seed))
    found = best_of_many([one], seed=1)
    np.testing.assert_allclose(found.maxima, brute_maxima(one), atol=1e-12)
    assert found.is_exact


@pytest.mark.parametrize("seed", range(5))
def test_adjusted_p_are_shares_of_all_orders(seed: int) -> None:
    one = tied(np.random.default_rng(seed))
    found = best_of_many([one], seed=1)
    maxima, rhos = brute_maxima(one), spearman(one.values, one.rates)
    expected = [(maxima >= rho - 1e-10).mean() for rho in rhos]
    np.testing.assert_allclose(found.p_adjusted, np.where(np.isnan(rhos), np.nan, expected))


def test_a_measure_alone_has_the_p_of_its_own_permutations(rng: np.random.Generator) -> None:
    one = tied(rng)
    orders = np.array(list(permutations(one.rates)))
    rhos, observed = spearman(one.values[:, None], orders), spearman(one.values, one.rates)
    expected = (rhos >= observed[:, None] - 1e-10).mean(axis=1)
    np.testing.assert_allclose(best_of_many([one], seed=1).p_alone, expected)


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


def test_two_experiments_are_permuted_independently(rng: np.random.Generator) -> None:
    sets = [tied(rng, 3, name) for name in "AB"]
    found = best_of_many(sets, permutations=4000, seed=1)
    values = [spearman(one.values[:, None], np.array([*permutations(one.rates)])) for one in sets]
    both = (values[0][:, :, None] + values[1][:, None, :]).reshape(12, -1) / 2
    defined = ~np.isnan(both).any(axis=1)
    statistics = found.statistics[defined]
    maxima = both[defined].max(axis=0)
    expected = [(maxima >= statistic - 1e-9).mean() for statistic in statistics]
    np.testing.assert_allclose(found.p_adjusted[defined], expected, atol=0.03)


def test_the_same_rates_in_two_groups_are_dealt_out_as_one(rng: np.random.Generator) -> None:
    """Twice the same users of five models say no more than once, in whichever order they stand."""
    values, rates, order = rng.random((4, 5)), rng.random(5), [3, 1, 4, 0, 2]
    once = experiment(values, rates)
    moved = Experiment(
        "B", tuple(once.models[n] for n in order), once.measures, values[:, order], rates[order]
    )
    one, both = best_of_many([once], seed=1), best_of_many([once, moved], seed=1)
    assert both.p_adjusted.tolist() == one.p_adjusted.tolist()
    assert both.is_joint
    assert "jointly in all data sets" in both.caption()


@pytest.mark.validity
def test_groups_that_share_models_hold_the_level_though_models_differ_in_quality() -> None:
    """Rates of three groups go together by model, as do values; neither has to do with the other.

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
    # Of 200 tests of level .05, more than 18 reject with a chance of about 1 in 100.
    assert np.sum(rejected) <= 18


def test_chosen_experiments_are_chosen_anew_in_every_order(rng: np.random.Generator) -> None:
    sets = [tied(rng, 3, name) for name in "ABC"]
    found = best_of_many(sets, permutations=4000, seed=1, chosen=["A", "C"])
    values = [spearman(one.values[:, None], np.array([*permutations(one.rates)])) for one in sets]
    defined = ~np.isnan(found.statistics)
    maxima = np.array(
        [
            max(
                np.max((values[i][defined, orders[i]] + values[j][defined, orders[j]]) / 2)
                for i, j in combinations(range(3), 2)
            )
            for orders in product(range(6), repeat=3)
        ]
    )
    expected = [(maxima >= statistic - 1e-9).mean() for statistic in found.statistics[defined]]
    np.testing.assert_allclose(found.p_adjusted[defined], expected, atol=0.03)


def test_choosing_experiments_makes_a_result_less_remarkable(rng: np.random.Generator) -> None:
    sets = [random_experiment(rng, name=name) for name in "ABC"]
    chosen = best_of_many(sets, permutations=200, seed=1, chosen=["A"])
    alone = best_of_many(sets[:1], seed=1)
    assert chosen.statistics.tolist() == alone.statistics.tolist()
    assert (chosen.p_adjusted >= alone.p_adjusted - 0.1).all()
    assert "chosen among 3 data sets after looking" in chosen.caption()


def test_monte_carlo_agrees_with_all_orders(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tied(rng, 6)
    exact = best_of_many([one], seed=1)
    monkeypatch.setattr(module, "MOST_ENUMERATED", 5)
    random = best_of_many([one], permutations=4000, seed=1)
    assert not random.is_exact
    np.testing.assert_allclose(random.p_adjusted, exact.p_adjusted, atol=0.03)


def test_no_p_of_random_orders_is_zero(rng: np.random.Generator) -> None:
    rates = rng.random(24)
    found = best_of_many([experiment([rates, -rates], rates)], permutations=99, seed=1)
    assert found.p_adjusted.tolist() == [0.01, 1.0]


def test_a_measure_that_is_undefined_anywhere_has_no_p() -> None:
    first = experiment([[1, 2, 3], [1, 1, 1]], [1, 2, 3])
    second = experiment([[1, 2, 3], [1, 2, 3]], [1, 2, 3], name="B")
    found = best_of_many([first, second], permutations=9, seed=1)
    assert np.isnan(found.p_adjusted).tolist() == [False, True]
    assert np.isnan(found.statistics).tolist() == [False, True]


def test_the_adjusted_p_is_never_below_that_alone(of_24_models: BestOfMany) -> None:
    assert (of_24_models.p_adjusted >= of_24_models.p_alone).all()


def test_the_first_permutations_do_not_depend_on_how_many_follow(rng: np.random.Generator) -> None:
    one = random_experiment(rng, n_models=12)
    few, many = (best_of_many([one], permutations=n, seed=1).maxima for n in (50, 2000))
    assert set(few.round(12)) <= set(many.round(12))


@pytest.mark.slow
def test_the_figure_shows_the_distribution_and_what_was_observed(of_24_models: BestOfMany) -> None:
    ax = of_24_models.plot(Figure().subplots())
    heights = [patch.get_height() for patch in ax.patches]  # type: ignore[attr-defined]
    assert sum(heights) == pytest.approx(1)
    assert ax.lines[1].get_xdata()[0] == np.max(of_24_models.statistics)  # type: ignore[index]


def test_the_result_can_be_kept(of_24_models: BestOfMany, tmp_path: Path) -> None:
    (tmp_path / "found.npz").write_bytes(to_evidence(of_24_models))
    back = read_evidence(tmp_path / "found.npz", BestOfMany)
    assert to_evidence(back) == to_evidence(of_24_models)
    assert back.conclusion() == of_24_models.conclusion()


def test_few_models_are_described(rng: np.random.Generator) -> None:
    found = best_of_many([random_experiment(rng)], seed=1)
    assert "signific" not in found.conclusion() + found.caption()
    assert "all 120 orders" in found.caption()


def test_many_models_are_judged(of_24_models: BestOfMany) -> None:
    assert "significant at the level .05" in of_24_models.conclusion()
    assert "500 random orders" in of_24_models.caption()


def test_what_cannot_be_tested_is_refused() -> None:
    one = experiment([[1, 2, 3]], [1, 2, 3])
    with pytest.raises(InputError, match="`permutations` must be at least 1, got 0"):
        best_of_many([one], permutations=0, seed=1)
    with pytest.raises(InputError, match="no experiment is called 'B'; there are A"):
        best_of_many([one], seed=1, chosen=["B"])
    with pytest.raises(InputError, match="at least one experiment must be chosen, got none"):
        best_of_many([one], seed=1, chosen=[])
    with pytest.raises(InputError, match="no measure has a rho"):
        best_of_many([experiment([[1, 2, 3]], [1, 1, 1])], seed=1)
