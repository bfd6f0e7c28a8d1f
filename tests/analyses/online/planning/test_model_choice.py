"""The choice of models on made-up tables of trials."""

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.online.planning.model_choice import choose_models
from runs import InputError

NAN = np.nan


def _overlaps(n: int, **pairs: float) -> NDArray[np.float64]:
    """Give 0.5 for every pair but these, such as ``o02=0.1``."""
    table = np.full((n, n), 0.5)
    for name, value in pairs.items():
        one, other = int(name[1]), int(name[2])
        table[one, other] = table[other, one] = value
    return table


def test_the_best_comes_first_and_failed_trials_never() -> None:
    values = np.array([NAN, 0.2, 0.5, NAN, 0.35])
    assert choose_models(values, _overlaps(5), n_models=3, floor=0.4).chosen.tolist() == [2, 4, 1]


def test_of_models_near_a_step_the_least_overlapping_is_taken() -> None:
    """Steps at 1, .7, .4; 1 and 2 are near .7, and 1 is nearer but alike the best."""
    values = np.array([1.0, 0.7, 0.65, 0.4])
    overlaps = _overlaps(4, o01=0.9, o02=0.3)
    assert choose_models(values, overlaps, n_models=3, floor=0.4).chosen.tolist() == [0, 2, 3]


def test_overlap_counts_with_all_that_were_chosen() -> None:
    """Steps at 1, .5, 0: 3 is far from the best and near to 1, 2 in the middle of both."""
    values = np.array([1.0, 0.5, 0.1, 0.1])
    overlaps = _overlaps(4, o02=0.4, o12=0.4, o03=0.1, o13=0.9)
    assert choose_models(values, overlaps, n_models=3, floor=0.0).chosen.tolist() == [0, 1, 2]


def test_of_equal_overlaps_the_nearer_to_the_step_is_taken() -> None:
    values = np.array([1.0, 0.66, 0.7, 0.4])
    assert choose_models(values, _overlaps(4), n_models=3, floor=0.4).chosen.tolist() == [0, 2, 3]


def test_models_half_way_between_steps_are_passed_over() -> None:
    """Steps at 1, .6, .2: 1 is farther than a tenth from all, and unlike all others."""
    values = np.array([1.0, 0.75, 0.62, 0.2])
    overlaps = _overlaps(4, o01=0.0, o12=0.0, o13=0.0)
    assert choose_models(values, overlaps, n_models=3, floor=0.2).chosen.tolist() == [0, 2, 3]


def test_a_step_without_candidates_takes_the_nearest_and_is_counted() -> None:
    values = np.array([1.0, 0.95, 0.9])
    choice = choose_models(values, _overlaps(3), n_models=3, floor=0.4)
    assert (choice.chosen.tolist(), choice.n_missed) == ([0, 1, 2], 2)


def test_one_model_is_the_best() -> None:
    assert choose_models(np.array([0.1, 0.3]), _overlaps(2), n_models=1, floor=0.4).chosen == [1]


@pytest.mark.parametrize(
    ("values", "n_models", "floor", "sentence"),
    [
        ([0.5, NAN], 2, 0.4, "from 1 to the 1 candidates"),
        ([0.5, 0.4], 0, 0.4, "from 1 to the 2 candidates"),
        ([0.5, 0.4], 2, 1.0, "`floor` must be at least 0 and below 1"),
        ([0.0, 0.0], 2, 0.4, "no candidate has a value above 0"),
    ],
)
def test_choices_that_cannot_be_made_are_refused(
    values: list[float], n_models: int, floor: float, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        choose_models(np.array(values), _overlaps(2), n_models=n_models, floor=floor)
