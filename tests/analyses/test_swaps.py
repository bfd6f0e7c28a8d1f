from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import ScoresWork
from analyses.swaps import Settings, Swaps, half_means, swap_rates, swaps
from runs import InputError
from tests.drawn import points


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


def test_the_swapped_pairs_are_counted_by_measure() -> None:
    """Of three pairs the halves turn one round by the first measure, and all by the second."""
    first, second = [[1, 2, 3], [1, 2, 3]], [[1, 3, 2], [3, 2, 1]]
    assert swap_rates(np.array([first, second], dtype=float)).tolist() == [1 / 3, 1]


@pytest.mark.parametrize("gap", [0.0, 4e-13])
def test_a_pair_that_ties_on_a_half_is_not_swapped(gap: float) -> None:
    halves = np.array([[[0.3, 0.3 + gap]], [[0.5, 0.1]]])
    assert swap_rates(halves).tolist() == [0.0]
    halves[0, 0, 1] = 0.3 + 2e-12
    assert swap_rates(halves).tolist() == [1.0]


def test_two_users_who_disagree_are_swapped_in_every_draw() -> None:
    """Each is a half; of the three pairs they agree on one."""
    values = np.array([[[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]])
    found = study(values, repeats=3)
    assert found.rates.tolist() == [1 / 3]
    assert (found.n_systems, found.n_users, found.repeats) == (3, 2, 3)
    assert found.frame()["swap_rate"].tolist() == [1 / 3]


def test_a_rate_is_the_mean_over_the_draws() -> None:
    values = np.random.default_rng(1).random((2, 4, 9))
    of_draws = [swap_rates(means) for means in half_means(values, repeats=7, seed=3)]
    np.testing.assert_allclose(study(values, repeats=7).rates, np.mean(of_draws, axis=0))


def test_a_draw_depends_on_its_number_alone() -> None:
    values = np.random.default_rng(1).random((2, 4, 9))
    few, many = ([*half_means(values, repeats=n, seed=3)] for n in (2, 5))
    np.testing.assert_array_equal(few, many[:2])
    assert not np.array_equal(many[0], many[1])


def test_rates_are_drawn_over_the_cutoffs_and_tabulated_by_metric() -> None:
    measures = [Measure(metric, cutoff) for metric in ("P", "AP") for cutoff in (5, 10)]
    found = replace(
        study(np.zeros((4, 3, 2)), measures=measures), rates=np.array([0.1, 0.2, 0.3, 0.4])
    )
    lines = {str(line.get_label()): points(line).tolist() for line in found.plot().lines}
    assert found.plot().get_ylim()[0] == 0
    assert lines["P"] == [[5, 0.1], [10, 0.2]]
    assert lines["AP"] == [[5, 0.3], [10, 0.4]]
    assert [[*row] for row in found.table().rows] == [["P", 0.1, 0.2], ["AP", 0.3, 0.4]]


def test_settings_have_their_default_and_bound() -> None:
    assert Settings().repeats == 200
    assert Settings(repeats=1).repeats == 1
    with pytest.raises(ValidationError):
        Settings(repeats=0)


def test_the_caption_has_the_systems_the_users_and_the_splits() -> None:
    caption = study(np.ones((1, 3, 10)), repeats=3).caption()
    assert "of the pairs of 3 systems" in caption
    assert "halves of the 10 users order differently, mean of 3 random splits" in caption
