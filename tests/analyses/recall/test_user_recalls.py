"""Recalls of single users."""

from typing import Any

import numpy as np
import pytest
from analyses.recall.hidden_parts import Validation
from analyses.recall.user_recalls import UserRecalls, errors_of_means, user_recalls
from hypothesis import assume, given
from hypothesis import strategies as st

from analyses.recall.recall import measure_recall
from analyses.recall.stratification import Stratification
from qrels.ranks.hidden_ranks import HiddenItems, HiddenRanks
from tests.hidden_example import TRAIN_COUNTS, events_of, golden_ranks, ranked_histories


def _together(blocks: list[UserRecalls]) -> UserRecalls:
    return UserRecalls(
        np.concatenate([block.users for block in blocks]),
        np.concatenate([block.shares for block in blocks]),
        np.concatenate([block.denominators for block in blocks]),
    )


@given(
    ranks=ranked_histories(),
    validation=st.sampled_from(["LOO", "LLOO"]),
    block_users=st.integers(1, 5),
)
def test_means_over_users_are_the_values(
    ranks: HiddenRanks, validation: Validation, block_users: int
) -> None:
    assume((np.bincount(ranks.hidden.user) > 1).any())
    users = _together(
        list(user_recalls(ranks, TRAIN_COUNTS, validation=validation, block_users=block_users))
    )
    stratified = Stratification(weights="stratified")
    uniform_grid = measure_recall(ranks, TRAIN_COUNTS, validations=[validation])
    grid = measure_recall(ranks, TRAIN_COUNTS, validations=[validation], stratification=stratified)
    weights = users.denominators / users.denominators.sum(axis=0)
    micro = (users.shares * weights[:, :, np.newaxis]).sum(axis=0)
    np.testing.assert_allclose(users.shares.mean(axis=0), uniform_grid.values[0], atol=1e-6)
    np.testing.assert_allclose(micro, grid.values[0], atol=1e-6)


def test_users_are_named_by_number() -> None:
    blocks = user_recalls(
        golden_ranks(),
        TRAIN_COUNTS,
        validation="LOO",
        betas=[0],
        cutoffs=[2],
        stratification=Stratification(min_items=3),
    )
    users = _together(list(blocks))
    assert users.users.tolist() == [0, 2]
    assert users.shares.ravel().tolist() == [1.0, 0.25]


def test_shares_take_four_bytes() -> None:
    block = next(user_recalls(golden_ranks(), TRAIN_COUNTS, validation="LOO"))
    assert block.shares.nbytes == 4 * 3 * 21 * 14


def test_weights_of_items_are_summed() -> None:
    block = next(user_recalls(golden_ranks(), TRAIN_COUNTS, validation="LOO", betas=[1]))
    assert block.denominators[0, 0] == pytest.approx(17 / 5 + 17 / 4 + 17 / 3)


def test_the_error_of_one_model_is_that_of_a_mean_over_users() -> None:
    asked = {"validation": "LOO", "betas": [0.0], "cutoffs": [2]}
    shares = _together(list(user_recalls(golden_ranks(), TRAIN_COUNTS, **asked))).shares[:, 0, 0]  # type: ignore[arg-type]
    found = errors_of_means({"one": golden_ranks()}, TRAIN_COUNTS, **asked)  # type: ignore[arg-type]
    expected = shares.astype(np.float64).std(ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(found, [[[expected]]])


def test_models_that_serve_every_user_alike_do_not_differ_by_chance() -> None:
    ranks = {"one": golden_ranks(), "other": golden_ranks()}
    assert errors_of_means(ranks, TRAIN_COUNTS, validation="LLOO").max() == 0.0


def test_errors_of_stratified_means_are_those_of_a_ratio(rng: np.random.Generator) -> None:
    """Leaving users out one by one (the jackknife) comes near to the delta method."""
    sizes = rng.integers(1, 6, 300)
    hidden = HiddenItems.of(events_of([rng.permutation(6)[:n].tolist() for n in sizes], n_items=6))
    first, last = rng.integers(1, 6, (2, len(hidden))).astype(np.uint16)
    ranks = HiddenRanks(hidden, first, last, deepest=50)
    asked: dict[str, Any] = {"validation": "LOO", "betas": [2.0], "cutoffs": [2]}
    how = Stratification(weights="stratified")
    found = errors_of_means({"one": ranks}, TRAIN_COUNTS, stratification=how, **asked).item()
    users = _together(list(user_recalls(ranks, TRAIN_COUNTS, stratification=how, **asked)))
    weights = users.denominators[:, 0]
    shares = weights * users.shares[:, 0, 0]
    left = (shares.sum() - shares) / (weights.sum() - weights)
    n = len(left)
    assert found == pytest.approx(np.sqrt((n - 1) ** 2 / n) * left.std(ddof=1), rel=0.02)
    plain = errors_of_means({"one": ranks}, TRAIN_COUNTS, **asked).item()
    assert abs(plain - found) > 0.05 * found
