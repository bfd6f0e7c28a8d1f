import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.shared.measure import Measure, Measures, Scores
from analyses.verdicts.joint_users import JointUsers, block_sums, n_shared

P = Measures([Measure("P", 5)])


def scores(values: np.ndarray, users: list[str]) -> Scores:
    systems = tuple(f"s{number}" for number in range(values.shape[0]))
    return Scores(values[np.newaxis], P, systems, np.array(users))


def resample_jointly(
    first: Scores, second: Scores, *, replicates: int, seed: int
) -> tuple[NDArray[np.float64], ...]:
    drawn = JointUsers.of(first, second, replicates=replicates, seed=seed)
    return tuple(drawn.means(scores.values, scores.users) for scores in (first, second))


def test_the_same_users_in_another_order_are_drawn_together(rng: np.random.Generator) -> None:
    values, users = rng.random((3, 20)), [f"u{number}" for number in range(20)]
    order = rng.permutation(20)
    there = scores(values[:, order], [users[n] for n in order])
    first, second = resample_jointly(scores(values, users), there, replicates=50, seed=1)
    assert first.tolist() == second.tolist()


def test_users_of_one_alone_are_drawn_on_their_own(rng: np.random.Generator) -> None:
    values = rng.random((1, 200))
    first, second = resample_jointly(
        scores(values, [f"a{n}" for n in range(200)]),
        scores(values, [f"b{n}" for n in range(200)]),
        replicates=400,
        seed=1,
    )
    # The standard error of a correlation of nothing is 1 / sqrt 400.
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] == pytest.approx(0.0, abs=0.2)
    for means in (first, second):
        assert means.std() == pytest.approx(values.std() / np.sqrt(200), rel=0.15)


def test_a_truth_of_which_no_user_is_drawn_is_undefined() -> None:
    many = scores(np.ones((1, 9)), [f"a{number}" for number in range(9)])
    one = scores(np.ones((1, 1)), ["b"])
    _, second = resample_jointly(many, one, replicates=60, seed=1)
    # One user of ten is missed in (1 - 1/10)^10, a third, of the draws.
    assert 5 < np.isnan(second).sum() < 40
    assert np.nanmin(second) == np.nanmax(second) == 1.0


def test_blocks_hold_the_same_users_on_both_sides(rng: np.random.Generator) -> None:
    users = [f"u{number}" for number in range(12)]
    values, blocks, order = rng.random((2, 12)), np.arange(12) % 3, rng.permutation(12)
    there = scores(values[:, order], [users[n] for n in order])
    sums = block_sums(there, np.array(users), blocks, seed=1)
    for block in range(3):
        assert sums[0, block] == pytest.approx(values[:, blocks == block].sum(axis=1))


def test_users_that_only_the_truth_knows_are_in_some_block(rng: np.random.Generator) -> None:
    there = scores(rng.random((2, 9)), [f"t{number}" for number in range(9)])
    sums = block_sums(there, np.array(["u0", "u1", "u2"]), np.arange(3), seed=1)
    assert sums.sum(axis=1) == pytest.approx(there.values.sum(axis=2))


def test_who_has_the_same_id_is_shared() -> None:
    first, second = (scores(np.ones((1, 2)), list(ids)) for ids in ("ab", "bc"))
    assert n_shared(first, second) == 1
