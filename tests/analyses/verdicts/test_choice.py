import numpy as np
import pytest

from analyses.verdicts.choice import as_share, put_first, regret


def test_choosing_the_truly_best_system_loses_nothing() -> None:
    assert regret(np.array([1.0, 3.0, 2.0]), np.array([0.1, 0.9, 0.5])) == 0


def test_regret_is_what_the_best_system_has_more() -> None:
    assert regret(np.array([3.0, 1.0, 2.0]), np.array([0.1, 0.9, 0.5])) == pytest.approx(0.8)


def test_of_systems_that_tie_as_first_the_mean_counts() -> None:
    assert regret(np.array([3.0, 3.0, 2.0]), np.array([0.1, 0.9, 0.5])) == pytest.approx(0.4)


def test_a_difference_below_the_last_decimal_is_a_tie() -> None:
    assert put_first(np.array([0.3, 0.1 + 0.2])).all()


def test_regret_of_an_undefined_score_is_undefined() -> None:
    assert np.isnan(regret(np.array([np.nan, 1.0]), np.array([0.5, 1.0])))
    assert np.isnan(regret(np.array([2.0, 1.0]), np.array([np.nan, 1.0])))


def test_of_systems_that_are_worth_the_same_no_share_is_lost() -> None:
    assert np.isnan(as_share(np.array(0.0), np.array([0.4, 0.4])))
