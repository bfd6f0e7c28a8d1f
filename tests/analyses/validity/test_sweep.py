from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.shared.analysis import SettingError, StudyFacts
from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import OtherWorld, StudyWorld, Truth, WorkInMemory
from analyses.significance.question import Question
from analyses.validity.sweep import (
    Settings,
    ValiditySweep,
    WorldAspects,
    WorldQuestion,
    validity_sweep,
)
from tests.analyses.made import JudgedWork
from tests.analyses.validity.test_loss_curves import one_judgement_each

MEASURES = Measures([Measure("nDCG", 10), Measure("bpref", 10)])
ASPECTS = ("itself", "nDCG@10", "ideal", "robustness", "power", "wrong")
STRENGTHS = (0.0, 1.0, 2.0)
NDCG, P = Measure("nDCG", 10), Measure("P", 10)
N_USERS, N_SYSTEMS = 40, 9
ASKED = WorldQuestion(Question(test="t"), (0.5, 0.25), 4)

# By strength: tau with true nDCG@10 of nDCG, which falls, and of bpref, which does not.
VALIDITY = {0.0: (0.9, 0.6), 1.0: (0.6, 0.6), 2.0: (0.3, 0.6)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Worlds(WorkInMemory):
    """Worlds in which validity is as stated, with noise of the world's own."""

    name = "worlds"
    noise: float = 0.01

    def in_worlds(self, worlds: Sequence[OtherWorld], study: StudyWorld) -> Iterator[Any]:
        return (WorldAspects(MEASURES, ASPECTS, self.values(world)) for world in worlds)

    def values(self, world: OtherWorld) -> NDArray[np.float64]:
        rng = np.random.default_rng(world.seed)
        valid = np.array(VALIDITY[world.strength]) * world.density
        rows = [valid, valid, [0.97, 0.97], [0.95, 0.9], [0.8, 0.7], [0.02 * world.strength, 0.0]]
        return np.clip(np.array(rows) + self.noise * rng.normal(size=(6, 2)), -1, 1)


def swept(**settings: Any) -> ValiditySweep:
    return validity_sweep(Worlds(seed=3), Settings(strengths=STRENGTHS, worlds=5, **settings))


@pytest.fixture(scope="module")
def found() -> ValiditySweep:
    return swept()


def test_values_are_by_strength_density_and_world() -> None:
    found = swept(densities=(1.0, 0.5))
    assert found.values.shape == (6, 2, 3, 2, 5)
    assert found.densities == (0.5, 1.0)
    expected = np.array([[0.45, 0.9], [0.3, 0.6], [0.15, 0.3]])
    assert found.means[1, 0] == pytest.approx(expected, abs=0.03)


def test_a_world_does_not_depend_on_the_others_that_are_asked_for() -> None:
    few, many = (
        Settings(strengths=strengths, densities=densities, worlds=n).other_worlds(7)
        for strengths, densities, n in (((1.0,), (1.0,), 3), ((0.0, 1.0), (0.5, 1.0), 5))
    )
    assert set(few) < set(many)


def test_measures_that_change_places_beyond_noise_are_named(found: ValiditySweep) -> None:
    assert found.turned == [("nDCG@10", "bpref@10")]


def test_the_frame_has_every_mean_with_its_limits(found: ValiditySweep) -> None:
    frame = found.frame()
    assert len(frame) == 6 * 2 * 3
    row = frame[(frame.aspect == "power") & (frame.metric == "bpref") & (frame.strength == 2)]
    values = found.values[4, 1, 2, 0]
    assert row["mean"].item() == pytest.approx(values.mean())
    assert row.sd.item() == pytest.approx(values.std(ddof=1))
    assert row.low.item() < row["mean"].item() < row.high.item()
    assert row.worlds.item() == 5


def test_a_study_without_a_world_is_refused() -> None:
    given = StudyFacts(systems=("a", "b"), measures=MEASURES, has_training=True, has_truth=True)
    with pytest.raises(SettingError, match="begins with a simulated world"):
        Settings().check(given)


def by_judgement(
    kept: NDArray[np.bool_], *, blocks: NDArray[np.intp], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give every user, who has one judgement, the score it gives where it is kept."""
    sums = np.zeros((len(values), blocks.max() + 1, values.shape[1], kept.shape[1]))
    for user, block in enumerate(blocks):
        sums[:, block] += values[:, :, user, np.newaxis] * kept[user]
    return sums


@dataclass(frozen=True, eq=False)
class ScoredWork(JudgedWork):
    """Work on users who have a judgement each, and the scores that it gives."""

    values: Any = None

    @cached_property
    def scores(self) -> Scores:
        return scores_of(self.values)


def scores_of(values: NDArray[np.float64]) -> Scores:
    systems = tuple(f"s{number}" for number in range(values.shape[1]))
    users = np.array([f"u{number:02}" for number in range(values.shape[2])])
    return Scores(values, Measures([NDCG, P]), systems, users)


def world_of(measured: NDArray[np.float64], true: NDArray[np.float64]) -> ScoredWork:
    return ScoredWork(
        partial(by_judgement, values=measured),
        one_judgement_each(N_USERS),
        Measures([NDCG, P]),
        N_SYSTEMS,
        known_truth=Truth(scores_of(true), (NDCG,), "of a made world"),
        values=measured,
    )


@pytest.fixture
def true(rng: np.random.Generator) -> NDArray[np.float64]:
    """Systems that differ so much that half the judgements order them alike."""
    return np.arange(N_SYSTEMS)[:, None] / 10 + 0.01 * rng.random((2, N_SYSTEMS, N_USERS))


def test_a_measure_that_is_the_truth_is_valid_robust_powerful_and_never_wrong(
    true: NDArray[np.float64],
) -> None:
    found = ASKED(world_of(true, true))
    assert found.aspects == ASPECTS
    assert found.values == pytest.approx(np.array([[1.0, 1.0]] * 5 + [[0.0, 0.0]]), abs=0.01)


def test_a_measure_may_be_robust_and_powerful_and_wrong_everywhere(
    true: NDArray[np.float64],
) -> None:
    found = ASKED(world_of(1 - true, true))
    expected = np.array([[-1.0, -1.0]] * 2 + [[1.0, 1.0]] * 4)
    assert found.values == pytest.approx(expected, abs=0.01)


def test_pairs_are_wrong_by_the_first_reference(true: NDArray[np.float64]) -> None:
    """Both measures are right by themselves; P orders the systems against the true nDCG."""
    both = np.stack([true[0], 1 - true[1]])
    found = ASKED(world_of(both, both)).values[[ASPECTS.index("itself"), ASPECTS.index("wrong")]]
    assert found == pytest.approx(np.array([[1.0, 1.0], [0.0, 1.0]]), abs=0.01)
