from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import Truth
from analyses.significance.question import Question
from analyses.verdicts.world_aspects import WorldQuestion
from qrels import Qrels, qrels_from_columns
from tests.analyses.made import JudgedWork

NDCG, P = Measure("nDCG", 10), Measure("P", 10)
N_USERS, N_SYSTEMS = 40, 9
ASPECTS = ("itself", "nDCG@10", "ideal", "robustness", "power", "wrong")
ASKED = WorldQuestion(Question(test="t"), (0.5, 0.25), 4)


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

    @property
    def scores(self) -> Scores:
        return scores_of(self.values)


def scores_of(values: NDArray[np.float64]) -> Scores:
    systems = tuple(f"s{number}" for number in range(values.shape[1]))
    users = np.array([f"u{number:02}" for number in range(values.shape[2])])
    return Scores(values, Measures([NDCG, P]), systems, users)


def one_judgement_each() -> Qrels:
    users = np.arange(N_USERS)
    return qrels_from_columns(
        users,
        np.zeros(N_USERS, np.int32),
        np.ones(N_USERS, np.int32),
        n_users=N_USERS,
        relevance_level=1,
    )


def world_of(measured: NDArray[np.float64], true: NDArray[np.float64]) -> ScoredWork:
    return ScoredWork(
        partial(by_judgement, values=measured),
        one_judgement_each(),
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


def test_equal_questions_are_written_alike_and_others_are_not() -> None:
    assert repr(ASKED) == repr(WorldQuestion(Question(test="t"), (0.5, 0.25), 4))
    assert repr(ASKED) != repr(WorldQuestion(Question(test="t", alpha=0.1), (0.5, 0.25), 4))
