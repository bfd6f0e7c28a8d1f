from collections.abc import Iterable

import numpy as np
import pytest

from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.result import figures_of
from analyses.shared.work import ScoresWork
from analyses.swaps import Settings, Swaps, swaps
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


def test_a_noisier_measure_swaps_more(rng: np.random.Generator) -> None:
    noise = rng.normal(size=(2, 6, 60)) * np.array([0.5, 3.0])[:, None, None]
    rates = study(noise + 0.2 * np.arange(6)[:, None]).rates
    assert rates[0] < rates[1]


def test_ties_are_no_swaps() -> None:
    assert study(np.ones((1, 3, 10))).rates.tolist() == [0.0]


def test_one_user_has_no_halves() -> None:
    with pytest.raises(InputError, match="two systems and two users, got 2 and 1"):
        study(np.ones((1, 2, 1)))


def test_the_table_and_the_figure_have_every_measure(rng: np.random.Generator) -> None:
    measures = [Measure(metric, cutoff) for metric in ("m0", "m1") for cutoff in (5, 10)]
    found = study(rng.random((4, 3, 10)), measures=measures)
    assert [row[0] for row in found.table().rows] == ["m0", "m1"]
    assert [line.get_label() for line in found.plot().lines] == ["m0", "m1"]


def test_measures_of_several_depths_are_a_list_without_a_curve(rng: np.random.Generator) -> None:
    found = study(rng.random((2, 3, 10)), measures=[Measure("m0", 5), Measure("m1")])
    assert [row[0] for row in found.table().rows] == ["m0@5", "m1"]
    assert [face for face in figures_of(Swaps) if face.is_of(found)] == []
