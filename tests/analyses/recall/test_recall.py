"""The recall meter, against values found by hand, brute force and the printed formulas."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from matplotlib.figure import Figure
from numpy.typing import NDArray

from analyses.recall.parametrisations import RecallSettings, item_weights, name_recall
from analyses.recall.recall import draw_recalls, errors_of_means, measure_recall
from qrels.ranks.hidden_ranks import MISS, HiddenRanks
from runs import InputError
from tests.conftest import examples
from tests.drawn import curve
from tests.hidden_example import TRAIN_COUNTS, events_of, golden_ranks, ranked_histories

COUNTS = st.lists(st.integers(0, 9), min_size=6, max_size=6).map(np.array)
WEIGHTS = st.sampled_from(["uniform", "stratified"])


def _measure(
    ranks: HiddenRanks, counts: Any = TRAIN_COUNTS, *, weights: Any = "uniform", **grid: Any
) -> pd.DataFrame:
    """Measure where there is something to measure."""
    if (np.bincount(ranks.hidden.user) < 2).all():
        reject()
    return measure_recall(ranks, counts, RecallSettings(**grid), weights=weights)


@pytest.mark.parametrize(
    ("beta", "cutoff", "loo_uniform", "loo_stratified", "lloo_uniform", "lloo_stratified"),
    [
        (0, 2, 0.75, 0.6666666667, 0.3888888889, 0.3333333333),
        (0.5, 2, 0.7294573788, 0.6148251913, 0.4022204304, 0.3190462804),
        (1, 3, 0.9145299145, 0.8660714286, 0.4490816512, 0.3437500000),
        (2, 1, 0.3333333333, 0.1033880075, 0.2709146077, 0.0840279645),
    ],
)
def test_values_of_the_reference(
    beta: float,
    cutoff: int,
    loo_uniform: float,
    loo_stratified: float,
    lloo_uniform: float,
    lloo_stratified: float,
) -> None:
    found = [
        _measure(golden_ranks(), weights=weights, betas=[beta], cutoffs=[cutoff])["value"]
        for weights in ("uniform", "stratified")
    ]
    expected = [[loo_uniform, lloo_uniform], [loo_stratified, lloo_stratified]]
    np.testing.assert_allclose(found, expected, atol=5e-11)


def test_ceilings_and_effective_shares_of_the_reference() -> None:
    grid = _measure(golden_ranks(), betas=[0, 0.5, 1, 2], cutoffs=[1])
    expected = [0.6388888889, 0.6727630516, 0.7054919076, 0.7555110341]
    np.testing.assert_allclose(grid["ceiling"], [1.0] * 4 + expected, atol=5e-11)
    grid = _measure(golden_ranks(), weights="stratified", betas=[0, 0.5, 1], cutoffs=[1])
    expected = [1.0, 0.9310340191, 0.7495443817]
    np.testing.assert_allclose(grid["effective_share"], expected * 2, atol=5e-11)


def _by_definition(
    ranks: HiddenRanks, counts: NDArray[np.integer], beta: float, cutoff: int, *, lloo: bool = False
) -> list[tuple[float, float]]:
    """Give R_u and D_u of every user, one by one."""
    share = (counts + 1) / (counts + 1).sum()
    found = ranks.rank_lloo if lloo else ranks.rank_loo
    users = []
    for user in np.unique(ranks.hidden.user):
        mine = ranks.hidden.user == user
        if mine.sum() < 2:
            continue
        weights = share[ranks.hidden.item[mine]] ** -beta
        hits = found[mine] <= cutoff
        users.append(((weights * hits).sum() / weights.sum(), weights.sum()))
    return users


@examples(30)
@given(ranks=ranked_histories(), counts=COUNTS, beta=st.floats(0, 3), cutoff=st.integers(1, 50))
def test_weights_are_uniform_over_users_or_those_of_steck(
    ranks: HiddenRanks, counts: NDArray[np.int64], beta: float, cutoff: int
) -> None:
    grid = {"betas": [beta], "cutoffs": [cutoff]}
    uniform, stratified = (
        _measure(ranks, counts, weights=weights, **grid)["value"]
        for weights in ("uniform", "stratified")
    )
    for lloo in (False, True):
        shares, weights = np.array(_by_definition(ranks, counts, beta, cutoff, lloo=lloo)).T
        np.testing.assert_allclose(uniform[int(lloo)], shares.mean(), atol=1e-12)
        expected = (shares * weights).sum() / weights.sum()
        np.testing.assert_allclose(stratified[int(lloo)], expected, atol=1e-12)


@examples(30)
@given(ranks=ranked_histories(), counts=COUNTS, gamma=st.floats(-1, 3))
def test_uniform_weights_are_the_estimator_of_yang(
    ranks: HiddenRanks, counts: NDArray[np.int64], gamma: float
) -> None:
    """Mean over users of sum(hit / P) / sum(1 / P), items never seen left out."""
    propensity = counts ** ((gamma + 1) / 2.0)
    per_user = []
    for user in np.unique(ranks.hidden.user):
        enough = np.count_nonzero(ranks.hidden.user == user) > 1
        mine = (ranks.hidden.user == user) & (counts > 0)[ranks.hidden.item]
        if enough and mine.any():
            inverse = 1 / propensity[ranks.hidden.item[mine]]
            hits = ranks.rank_loo[mine] <= 10
            per_user.append((hits * inverse).sum() / inverse.sum())
    assume(per_user)
    grid = _measure(ranks, counts, betas=[(gamma + 1) / 2], cutoffs=[10], smoothing="drop")
    assert grid["value"][0] == pytest.approx(np.mean(per_user), abs=1e-12)


@examples(30)
@given(ranks=ranked_histories(), counts=COUNTS, weights=WEIGHTS)
def test_values_rise_with_the_cutoff_from_0_to_the_ceiling(
    ranks: HiddenRanks, counts: NDArray[np.int64], weights: str
) -> None:
    grid = _measure(ranks, counts, weights=weights)
    assert (grid.groupby(["validation", "beta"])["value"].diff().fillna(0) >= 0).all()
    assert ((grid["value"] >= 0) & (grid["value"] <= grid["ceiling"] + 1e-12)).all()


@examples(30)
@given(ranks=ranked_histories(), weights=WEIGHTS, scale=st.integers(2, 1000))
def test_popularity_has_no_unit(ranks: HiddenRanks, weights: str, scale: int) -> None:
    counts = np.array([1, 2, 3, 5, 8, 13])
    one, other = (
        _measure(ranks, c, weights=weights, smoothing="drop") for c in (counts, counts * scale)
    )
    np.testing.assert_allclose(one["value"], other["value"], atol=1e-12)


def test_first_items_may_be_left_out_with_their_whole_group() -> None:
    skipping = {"first_item": "skip", "betas": [0], "cutoffs": [2, 3]}
    grid = _measure(golden_ranks(), **skipping).query("validation == 'LLOO'")
    np.testing.assert_allclose(grid["value"], [2 / 3, (1 + 1 + 1 / 3) / 3])
    assert grid["ceiling"].tolist() == [1.0, 1.0]
    hidden = events_of([(0, 1, 2), (3, 4)], n_items=6, times=[(5, 5, 6), (7, 7)])
    ranks = HiddenRanks(hidden, np.ones(5, np.uint16), np.ones(5, np.uint16), deepest=50)
    last = _measure(ranks, **skipping).iloc[-1]
    assert (last["users"], last["hidden_items"]) == (1, 1)


def test_hidden_items_without_a_training_event_may_be_dropped() -> None:
    grid = _measure(golden_ranks(), smoothing="drop")
    assert (grid["hidden_items"] == 8).all()


def test_users_with_few_items_are_dropped() -> None:
    grid = measure_recall(golden_ranks(), TRAIN_COUNTS, min_items=3)
    assert (grid["users"] == 2).all()


def test_the_only_item_of_a_user_cannot_be_found() -> None:
    found = np.array([1, 1, MISS], dtype=np.uint16)
    ranks = HiddenRanks(events_of([(0, 1), (2,)], n_items=6), found, found, deepest=50)
    assert measure_recall(ranks, TRAIN_COUNTS, min_items=1)["ceiling"][0] == 0.5


def test_repeated_events_count_again_when_the_last_is_left_out_only() -> None:
    loo, lloo = np.array([[1, 9, 1], [MISS, 9, 1]], dtype=np.uint16)
    ranks = HiddenRanks(events_of([(0, 1, 0)], n_items=6), loo, lloo, deepest=50)
    np.testing.assert_allclose(_measure(ranks, betas=[0], cutoffs=[1])["value"], [1 / 2, 1 / 3])


@pytest.mark.parametrize("choices", [{"cutoffs": [0]}, {"cutoffs": []}, {"betas": [-1]}])
def test_impossible_grids_are_refused(choices: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"greater than|at least 1"):
        RecallSettings(**choices)


@pytest.mark.parametrize(
    ("choices", "min_items", "message"),
    [
        ({"cutoffs": [51]}, 2, "ranks are known up to 50"),
        ({"betas": [500]}, 2, "weights of rare items are too large"),
        ({}, 9, "users with at least 9 items"),
    ],
)
def test_grids_without_an_answer_are_refused(
    choices: dict[str, Any], min_items: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        measure_recall(golden_ranks(), TRAIN_COUNTS, RecallSettings(**choices), min_items=min_items)


def test_an_item_weighs_one_over_its_popularity_to_the_power_of_beta() -> None:
    weights = item_weights(np.array([4, 3, 2, 1, 1, 0]), beta=1)
    np.testing.assert_allclose(weights, 17 / np.array([5, 4, 3, 2, 2, 1]))
    weights = item_weights(np.array([3, 1, 0]), beta=1, smoothing="drop")
    np.testing.assert_allclose(weights, [4 / 3, 4, 0])


def _random_ranks(rng: np.random.Generator) -> HiddenRanks:
    sizes = rng.integers(2, 6, 300)
    hidden = events_of([rng.permutation(6)[:n].tolist() for n in sizes], n_items=6)
    first, last = rng.integers(1, 6, (2, len(hidden))).astype(np.uint16)
    return HiddenRanks(hidden, first, last, deepest=50)


def test_errors_of_differences_leave_out_what_moves_all_models(rng: np.random.Generator) -> None:
    one = _random_ranks(rng)
    other = HiddenRanks(one.hidden, one.rank_loo[::-1].copy(), one.rank_lloo, deepest=50)
    grid = RecallSettings(betas=(0.7,), cutoffs=(2,))
    shares = np.array([_by_definition(r, TRAIN_COUNTS, 0.7, 2) for r in (one, other)])[..., 0]
    found = errors_of_means([one, other], TRAIN_COUNTS, grid)[:, 0]
    apart = shares - shares.mean(axis=0)
    np.testing.assert_allclose(found, apart.std(axis=1, ddof=1) / np.sqrt(300), rtol=1e-6)
    alone = errors_of_means([one], TRAIN_COUNTS, grid)[0, 0]
    assert alone == pytest.approx(shares[0].std(ddof=1) / np.sqrt(300))
    assert errors_of_means([one, one], TRAIN_COUNTS, grid).max() == 0.0


def test_errors_of_stratified_means_are_those_of_a_ratio(rng: np.random.Generator) -> None:
    """Leaving users out one by one (the jackknife) comes near to the delta method."""
    ranks = _random_ranks(rng)
    grid = RecallSettings(betas=(2.0,), cutoffs=(2,))
    found = errors_of_means([ranks], TRAIN_COUNTS, grid, weights="stratified")[0, 0]
    shares, weights = np.array(_by_definition(ranks, TRAIN_COUNTS, 2.0, 2)).T
    left = ((weights * shares).sum() - weights * shares) / (weights.sum() - weights)
    n = len(left)
    assert found == pytest.approx(np.sqrt((n - 1) ** 2 / n) * left.std(ddof=1), rel=0.02)


# Numbers that are stated by hand


def test_the_grid_is_that_of_the_thesis() -> None:
    """21 exponents from 0 to 1 and 14 cut-offs: 588 recalls of two validations."""
    settings = RecallSettings()
    np.testing.assert_allclose(settings.betas, np.linspace(0, 1, 21))
    assert settings.cutoffs == (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 25, 50)
    assert (settings.first_item, settings.smoothing) == ("miss", "add-one")
    found = measure_recall(golden_ranks(), TRAIN_COUNTS)
    assert len(found) == 588
    assert found.index.tolist() == [*range(588)]


def test_exponents_and_cutoffs_rise_and_are_once_each() -> None:
    settings = RecallSettings(betas=(1.0, 0.0, 1.0), cutoffs=(5, 1, 5))
    assert (settings.betas, settings.cutoffs) == ((0.0, 1.0), (1, 5))
    assert RecallSettings(cutoffs=(65534,)).cutoffs == (65534,)
    for refused in ({"cutoffs": (65535,)}, {"betas": ()}, {"betas": (np.inf,)}):
        with pytest.raises(ValueError, match=r"less than|at least 1|finite"):
            RecallSettings.model_validate(refused)


def test_a_recall_is_named_by_validation_exponent_weights_and_cutoff() -> None:
    assert name_recall("LLOO", 0.35, 5) == "LLOO(beta=0.35)@5"
    assert name_recall("LOO", 1, 10, "stratified") == "LOO(beta=1,weights='stratified')@10"
    assert name_recall("LOO", 10.0, 1) == "LOO(beta=10)@1"


def test_weights_may_be_as_large_as_a_square_that_is_finite() -> None:
    counts = np.array([0, 10**6])
    assert np.isfinite(item_weights(counts, beta=20)).all()
    with pytest.raises(InputError, match="with beta = 30 the weights of rare items are too large"):
        item_weights(counts, beta=30)
    # Nothing was seen: all items are as popular.
    assert item_weights(np.zeros(2, dtype=np.int64), beta=1, smoothing="drop").tolist() == [0, 0]
    assert item_weights(np.zeros(2, dtype=np.int64), beta=1).tolist() == [2, 2]


def test_every_column_of_a_case_by_hand() -> None:
    """Two users hide two items each; of user 0 both are found at 1 and 3, of user 1 one at 2."""
    hidden = events_of([(0, 1), (0, 2)], n_items=3)
    loo, lloo = np.array([[1, 3, 2, MISS], [MISS, 2, MISS, 1]], dtype=np.uint16)
    ranks = HiddenRanks(hidden, loo, lloo, deepest=50)
    # With one event added to 3, 1 and 0, items have shares of 4/7, 2/7 and 1/7.
    counts = np.array([3, 1, 0])
    found = measure_recall(ranks, counts, RecallSettings(betas=(1,), cutoffs=(1, 2, 3)))
    first, second = [7 / 4, 7 / 2], [7 / 4, 7]
    whole = sum(first), sum(second)
    of_loo = found[found.validation == "LOO"]
    found_first, found_second = first[0] / whole[0] / 2, second[0] / whole[1] / 2
    assert of_loo["value"].tolist() == pytest.approx(
        [found_first, found_first + found_second, 0.5 + found_second]
    )
    assert of_loo["ceiling"].tolist() == pytest.approx([1, 1, 1])
    weights = np.array([*(w / whole[0] / 2 for w in first), *(w / whole[1] / 2 for w in second)])
    assert of_loo["effective_share"].tolist() == pytest.approx([1 / (4 * (weights**2).sum())] * 3)
    assert {*of_loo["users"]} == {2}
    assert {*of_loo["hidden_items"]} == {4}
    of_lloo = found[found.validation == "LLOO"]
    expected = [weights[3], weights[3] + weights[1], weights[3] + weights[1]]
    assert of_lloo["value"].tolist() == pytest.approx(expected)
    assert of_lloo["ceiling"].tolist() == pytest.approx([weights[1] + weights[3]] * 3)
    # LOO is known as deep as is asked for.
    deep = RecallSettings(betas=(1,), cutoffs=(50,))
    assert len(measure_recall(ranks, counts, deep)) == 2


def test_errors_of_one_user_are_not_known_and_of_two_are() -> None:
    hidden = events_of([(0, 1)], n_items=3)
    loo, lloo = np.array([[1, 3], [MISS, 2]], dtype=np.uint16)
    grid = RecallSettings(betas=(0,), cutoffs=(1, 3))
    one = HiddenRanks(hidden, loo, lloo, deepest=50)
    assert np.isnan(errors_of_means([one], np.ones(3, np.int64), grid)).all()
    assert errors_of_means([one], np.ones(3, np.int64), grid).shape == (1, 4)
    both = events_of([(0, 1), (0, 2)], n_items=3)
    loo, lloo = np.array([[1, 3, 2, MISS], [MISS, 2, MISS, 1]], dtype=np.uint16)
    two = HiddenRanks(both, loo, lloo, deepest=50)
    # LOO at 1: .5 and 0; at 3: 1 and .5. LLOO at 1: 0 and .5; at 3: .5 and .5.
    errors = errors_of_means([two], np.ones(3, np.int64), grid)[0]
    assert errors.tolist() == pytest.approx([0.25, 0.25, 0.25, 0.0])


def test_users_with_the_least_number_of_items_count() -> None:
    found = errors_of_means([golden_ranks()], TRAIN_COUNTS, min_items=3)
    fewer = measure_recall(golden_ranks(), TRAIN_COUNTS, min_items=3)
    assert found.shape == (1, 588)
    assert (fewer["users"] == 2).all()
    assert (measure_recall(golden_ranks(), TRAIN_COUNTS, min_items=2)["users"] == 3).all()
    with pytest.raises(InputError, match="LOO recall needs users with at least 5 items"):
        measure_recall(golden_ranks(), TRAIN_COUNTS, min_items=5)
    assert (measure_recall(golden_ranks(), TRAIN_COUNTS, min_items=4)["users"] == 1).all()


def test_recalls_are_drawn_over_beta_with_their_effective_share() -> None:
    """Of nine exponents, five have their share on the axis above."""
    betas = np.linspace(0, 0.8, 9)
    recalls = pd.DataFrame(
        {
            "beta": np.repeat(betas, 2),
            "cutoff": [5, 20] * 9,
            "value": np.arange(18) / 20,
            "effective_share": np.repeat(1 - betas / 2, 2),
        }
    )
    figure = Figure()
    ax = figure.subplots()
    draw_recalls(ax, recalls, title="A, LOO")
    np.testing.assert_allclose(curve(ax, "@5"), np.stack([betas, np.arange(0, 18, 2) / 20], 1))
    np.testing.assert_allclose(curve(ax, "@20"), np.stack([betas, np.arange(1, 18, 2) / 20], 1))
    # The deepest is the first in the legend.
    assert [line.get_label() for line in ax.lines] == ["@20", "@5"]
    (above,) = ax.child_axes
    assert [text.get_text() for text in above.get_xticklabels()] == ["100", "90", "80", "70", "60"]
    np.testing.assert_allclose(above.get_xticks(), [0, 0.2, 0.4, 0.6, 0.8])
    assert ax.get_legend() is not None
    assert ax.get_title() == "A, LOO"
