import numpy as np
from scipy.stats import kstest

from recommenders.uniform import RandomScorer
from runs import Numbering

USERS = Numbering.of(f"u{number}" for number in range(50))
ITEMS = Numbering.of(f"i{number}" for number in range(200))
ALL = np.arange(50, dtype=np.int32)


def test_the_numbers_are_uniform() -> None:
    scores = RandomScorer(USERS, ITEMS, seed=1).score_batch(ALL)
    assert kstest(scores.ravel(), "uniform").pvalue > 0.001


def test_users_are_independent() -> None:
    scores = RandomScorer(USERS, ITEMS, seed=1).score_batch(ALL)
    correlations = np.asarray(np.corrcoef(scores))[np.triu_indices(50, k=1)]
    assert abs(correlations.mean()) < 4 / np.sqrt(len(correlations) * len(ITEMS))


def test_a_number_stays_when_other_ids_leave() -> None:
    fewer = RandomScorer(Numbering.of(["u7"]), Numbering.of(["i3", "i42"]), seed=1).score_batch(
        np.array([0], dtype=np.int32)
    )
    scores = RandomScorer(USERS, ITEMS, seed=1).score_batch(USERS.numbers(["u7"]))
    np.testing.assert_array_equal(fewer, scores[:, ITEMS.numbers(["i3", "i42"])])


def test_a_user_and_an_item_of_one_name_do_not_cancel() -> None:
    same = Numbering.of(["1", "2"])
    scores = RandomScorer(same, same, seed=1).score_batch(np.array([0, 1], dtype=np.int32))
    assert len(np.unique(scores)) == 4
