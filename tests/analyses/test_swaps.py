from collections.abc import Iterable

import numpy as np
import pytest

from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import ScoresWork
from analyses.swaps import Settings, Swaps, half_means, swaps
from runs import InputError


def study(
    values: np.ndarray, repeats: int = 50, measures: Iterable[Measure] | None = None
) -> Swaps:
    measures = Measures(measures or (Measure(f"m{number}", 5) for number in range(len(values))))
    systems = tuple(f"s{number}" for number in range(values.shape[1]))
    users = np.arange(values.shape[2]).astype(np.str_)
    scores = Scores(values, measures, systems, users)
    return swaps(ScoresWork(scores, seed=3), Settings(repeats=repeats))


def test_systems_on_which_all_users_agree_are_never_swapped() -> None:
    values = np.tile(np.arange(4.0)[:, None], (1, 1, 30)).reshape(1, 4, 30)
    assert study(values).rates.tolist() == [0.0]


def test_systems_of_equal_worth_are_swapped_half_of_the_time(rng: np.random.Generator) -> None:
    rates = study(rng.random((60, 8, 50)), repeats=40).rates
    # 60 measures of 28 pairs, of which 7 are independent: a standard error below .025.
    assert rates.mean() == pytest.approx(0.5, abs=0.075)


def test_ties_are_no_swaps() -> None:
    assert study(np.ones((1, 3, 10))).rates.tolist() == [0.0]


def test_halves_of_an_odd_number_of_users_are_as_large_and_have_no_user_in_common() -> None:
    # User u has the value 1 by system u alone, so that means are shares of users.
    values = np.eye(7)[None]
    for means in half_means(values, repeats=5, seed=1):
        assert sorted(np.rint(3 * means.sum(axis=(0, 1)))) == [0, 1, 1, 1, 1, 1, 1]


def test_one_user_has_no_halves() -> None:
    with pytest.raises(InputError, match="two systems and two users, got 2 and 1"):
        study(np.ones((1, 2, 1)))
