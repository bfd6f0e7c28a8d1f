from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from analyses.online.agreement.best_of_many import best_of_many
from analyses.online.planning.arms_for_best import ArmsForBest, arms_for_best
from analyses.online.planning.arms_needed import random_models
from analyses.shared.evidence import read_evidence, to_evidence
from runs import InputError
from tests.analyses.online.examples import experiment


@pytest.fixture
def found(rng: np.random.Generator) -> ArmsForBest:
    """One of six measures of 16 models follows the rates."""
    values = rng.random((6, 16))
    rates = values[2] + 0.1 * rng.normal(size=(20, 16))
    return arms_for_best(values, rates=rates, sizes=[3, 5, 12], subsets=60, seed=1)


def test_three_models_show_nothing_and_many_show_the_best(found: ArmsForBest) -> None:
    assert found.shown[0] == 0
    assert found.shown[2] > 0.9


@pytest.mark.validity
def test_without_any_relation_the_level_holds(rng: np.random.Generator) -> None:
    rates = rng.random((300, 12))
    null = arms_for_best(
        rng.random((30, 12)), rates=rates, sizes=[6], subsets=300, permutations=99, seed=1
    )
    assert null.shown[0] < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_a_subset_is_tested_as_an_experiment_of_its_own(rng: np.random.Generator) -> None:
    values, rates = rng.random((4, 8)), rng.random((1, 8))
    found = arms_for_best(values, rates=rates, sizes=[5], subsets=3, seed=7)
    drawn = random_models(3, 8, 7)[2, :5]
    alone = best_of_many([experiment(values[:, drawn], rates[0, drawn])], seed=1)
    assert found.p_adjusted[0, 2] == np.nanmin(alone.p_adjusted)


def test_the_table_has_a_row_for_each_number_of_arms(found: ArmsForBest) -> None:
    frame = found.to_frame()
    assert frame["arms"].tolist() == [3, 5, 12]
    assert frame["shown"].tolist() == found.shown.tolist()


def test_the_figure_shows_each_number_of_arms(found: ArmsForBest) -> None:
    ax = found.plot(Figure().subplots())
    assert ax.lines[0].get_ydata() == pytest.approx(found.shown)


def test_the_words_describe(found: ArmsForBest) -> None:
    assert "60 random subsets of 16 models" in found.caption()
    assert "signific" not in found.caption()


def test_the_result_can_be_kept(found: ArmsForBest, tmp_path: Path) -> None:
    (tmp_path / "found.npz").write_bytes(to_evidence(found))
    back = read_evidence(tmp_path / "found.npz", ArmsForBest)
    assert to_evidence(back) == to_evidence(found)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match=r"shape \(n_observations, 4\), got \(1, 3\)"):
        arms_for_best(np.ones((1, 4)), rates=np.ones((1, 3)), seed=1)
    with pytest.raises(InputError, match=r"`sizes` must be from 3 to 4, got \(9,\)"):
        arms_for_best(np.ones((1, 4)), rates=np.ones((1, 4)), sizes=[9], seed=1)
