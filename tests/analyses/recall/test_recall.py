"""The recall meter, against values found by hand, brute force and the printed formulas."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyses.recall.parametrisations import BETAS, CUTOFFS
from analyses.recall.recall import RecallGrid, errors_of_means, measure_recall
from analyses.recall.stratification import Stratification
from qrels.ranks.hidden_ranks import MISS, HiddenItems, HiddenRanks
from runs import InputError
from tests.hidden_example import TRAIN_COUNTS, events_of, golden_ranks, ranked_histories

STRATIFIED = Stratification(weights="stratified")
UNIFORM = Stratification()

COUNTS = st.lists(st.integers(0, 9), min_size=6, max_size=6).map(np.array)
SCHEMES = st.sampled_from([UNIFORM, STRATIFIED])


def _measure(ranks: HiddenRanks, counts: NDArray[np.integer], **choices: Any) -> RecallGrid:
    """Measure where there is something to measure."""
    assume((np.bincount(ranks.hidden.user) > 1).any())
    return measure_recall(ranks, counts, **choices)


def _one(name: str, beta: float, cutoff: int, stratification: Stratification) -> float:
    grid = measure_recall(
        golden_ranks(),
        TRAIN_COUNTS,
        validations=[name],  # type: ignore[list-item]
        betas=[beta],
        cutoffs=[cutoff],
        stratification=stratification,
    )
    return float(grid.values.item())


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
        _one(name, beta, cutoff, scheme)
        for name in ("LOO", "LLOO")
        for scheme in (UNIFORM, STRATIFIED)
    ]
    expected = [loo_uniform, loo_stratified, lloo_uniform, lloo_stratified]
    np.testing.assert_allclose(found, expected, atol=5e-11)


def test_ceilings_of_the_reference() -> None:
    grid = measure_recall(golden_ranks(), TRAIN_COUNTS, betas=[0, 0.5, 1, 2])
    expected = [0.6388888889, 0.6727630516, 0.7054919076, 0.7555110341]
    np.testing.assert_allclose(grid.ceilings, [[1.0, 1.0, 1.0, 1.0], expected], atol=5e-11)


def test_effective_shares_of_the_reference() -> None:
    grid = measure_recall(
        golden_ranks(), TRAIN_COUNTS, betas=[0, 0.5, 1], stratification=STRATIFIED
    )
    expected = [1.0, 0.9310340191, 0.7495443817]
    np.testing.assert_allclose(grid.effective_shares, [expected, expected], atol=5e-11)


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


@given(ranks=ranked_histories(), counts=COUNTS, beta=st.floats(0, 3), cutoff=st.integers(1, 50))
def test_uniform_weights_average_over_users(
    ranks: HiddenRanks, counts: NDArray[np.int64], beta: float, cutoff: int
) -> None:
    values = _measure(ranks, counts, betas=[beta], cutoffs=[cutoff]).values
    for lloo in (False, True):
        users = _by_definition(ranks, counts, beta, cutoff, lloo=lloo)
        expected = np.mean([share for share, _ in users])
        np.testing.assert_allclose(values[int(lloo)], expected, atol=1e-12)


@given(ranks=ranked_histories(), counts=COUNTS, beta=st.floats(0, 3), cutoff=st.integers(1, 50))
def test_stratified_weights_are_those_of_steck(
    ranks: HiddenRanks, counts: NDArray[np.int64], beta: float, cutoff: int
) -> None:
    values = _measure(
        ranks, counts, betas=[beta], cutoffs=[cutoff], stratification=STRATIFIED
    ).values
    for lloo in (False, True):
        users = np.array(_by_definition(ranks, counts, beta, cutoff, lloo=lloo))
        micro = (users[:, 0] * users[:, 1]).sum() / users[:, 1].sum()
        np.testing.assert_allclose(values[int(lloo)], micro, atol=1e-12)


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
    grid = measure_recall(
        ranks,
        counts,
        validations=["LOO"],
        betas=[(gamma + 1) / 2],
        cutoffs=[10],
        stratification=Stratification(smoothing="drop"),
    )
    assert grid.values.item() == pytest.approx(np.mean(per_user), abs=1e-12)


@given(ranks=ranked_histories(), counts=COUNTS, scheme=SCHEMES)
def test_values_rise_with_the_cutoff_from_0_to_the_ceiling(
    ranks: HiddenRanks, counts: NDArray[np.int64], scheme: Stratification
) -> None:
    grid = _measure(ranks, counts, stratification=scheme)
    assert (np.diff(grid.values, axis=2) >= 0).all()
    assert (grid.values >= 0).all()
    assert (grid.values <= grid.ceilings[:, :, np.newaxis] + 1e-12).all()


@given(ranks=ranked_histories(), scheme=SCHEMES, scale=st.integers(2, 1000))
def test_popularity_has_no_unit(ranks: HiddenRanks, scheme: Stratification, scale: int) -> None:
    counts = np.array([1, 2, 3, 5, 8, 13])
    dropping = Stratification(weights=scheme.weights, smoothing="drop")
    grids = [_measure(ranks, c, stratification=dropping) for c in (counts, counts * scale)]
    np.testing.assert_allclose(grids[0].values, grids[1].values, atol=1e-12)


@given(size=st.integers(2, 6), data=st.data())
def test_all_weights_agree_where_users_and_items_are_alike(size: int, data: st.DataObject) -> None:
    profiles = [list(range(size))] * 3
    hidden = HiddenItems.of(events_of(profiles, n_items=6))
    drawn = st.lists(st.integers(1, 60), min_size=3 * size, max_size=3 * size)
    found = np.array(data.draw(drawn), dtype=np.uint16)
    ranks = HiddenRanks(hidden, found, np.where(hidden.has_past, found, MISS), deepest=50)
    grids = [
        measure_recall(ranks, np.full(6, 7), stratification=scheme)
        for scheme in (UNIFORM, STRATIFIED)
    ]
    np.testing.assert_allclose(grids[0].values, grids[1].values, atol=1e-12)
    np.testing.assert_allclose(grids[0].values, grids[0].values[:, :1].repeat(21, 1), atol=1e-12)


def test_all_is_found_with_a_cutoff_as_large_as_the_catalogue() -> None:
    hidden = HiddenItems.of(events_of([(0, 1, 2), (3, 4)], n_items=6))
    found = np.array([6, 1, 3, 6, 2], dtype=np.uint16)
    ranks = HiddenRanks(hidden, found, found, deepest=2)
    grid = measure_recall(ranks, TRAIN_COUNTS, validations=["LOO"], cutoffs=[6])
    np.testing.assert_allclose(grid.values, 1.0, atol=1e-12)


def test_first_items_may_be_left_out() -> None:
    grid = measure_recall(
        golden_ranks(),
        TRAIN_COUNTS,
        validations=["LLOO"],
        betas=[0],
        cutoffs=[2, 3],
        stratification=Stratification(first_item="skip"),
    )
    np.testing.assert_allclose(grid.values[0, 0], [2 / 3, (1 + 1 + 1 / 3) / 3])
    assert grid.ceilings.tolist() == [[1.0]]


def test_a_first_group_of_one_time_is_left_out_whole() -> None:
    hidden = HiddenItems.of(events_of([(0, 1, 2), (3, 4)], n_items=6, times=[(5, 5, 6), (7, 7)]))
    ranks = HiddenRanks(
        hidden,
        np.ones(5, dtype=np.uint16),
        np.array([MISS, MISS, 1, MISS, MISS], dtype=np.uint16),
        deepest=50,
    )
    skipping = Stratification(first_item="skip")
    grid = measure_recall(
        ranks, TRAIN_COUNTS, validations=["LLOO"], betas=[0], stratification=skipping
    )
    assert (grid.n_users.tolist(), grid.n_hidden.tolist(), grid.n_emptied.tolist()) == (
        [1],
        [1],
        [1],
    )


def test_hidden_items_without_a_training_event_are_dropped_and_counted() -> None:
    dropping = Stratification(smoothing="drop")
    grid = measure_recall(golden_ranks(), TRAIN_COUNTS, stratification=dropping)
    assert (grid.n_hidden.tolist(), grid.n_unpopular.tolist()) == ([8, 8], [1, 1])


def test_users_with_few_items_are_dropped_and_counted() -> None:
    grid = measure_recall(golden_ranks(), TRAIN_COUNTS, stratification=Stratification(min_items=3))
    assert (grid.n_users.tolist(), grid.n_short) == ([2, 2], 1)


def test_the_only_item_of_a_user_cannot_be_found() -> None:
    hidden = HiddenItems.of(events_of([(0, 1), (2,)], n_items=6))
    found = np.array([1, 1, MISS], dtype=np.uint16)
    ranks = HiddenRanks(hidden, found, found, deepest=50)
    keeping = Stratification(min_items=1)
    grid = measure_recall(
        ranks, TRAIN_COUNTS, validations=["LOO"], betas=[0], stratification=keeping
    )
    assert grid.ceilings.tolist() == [[0.5]]


def test_repeated_events_count_again_when_the_last_is_left_out_only() -> None:
    hidden = HiddenItems.of(events_of([(0, 1, 0)], n_items=6), repeats=True)
    ranks = HiddenRanks(
        hidden,
        np.array([1, 9, 1], dtype=np.uint16),
        np.array([MISS, 9, 1], dtype=np.uint16),
        deepest=50,
    )
    grid = measure_recall(ranks, TRAIN_COUNTS, betas=[0], cutoffs=[1])
    np.testing.assert_allclose(grid.values.ravel(), [1 / 2, 1 / 3])


def test_clipping_makes_rare_items_weigh_alike() -> None:
    clipped = measure_recall(
        golden_ranks(), TRAIN_COUNTS, betas=[1], stratification=Stratification(clip=1.0)
    )
    plain = measure_recall(golden_ranks(), TRAIN_COUNTS, betas=[0])
    np.testing.assert_allclose(clipped.values, plain.values, atol=1e-12)


@pytest.mark.parametrize(("metric", "gain"), [("RR", 1 / 2), ("nDCG", 1 / np.log2(3))])
def test_other_metrics_discount_by_rank(metric: Any, gain: float) -> None:
    grid = measure_recall(
        golden_ranks(),
        TRAIN_COUNTS,
        validations=["LOO"],
        betas=[0],
        cutoffs=[1, 2],
        stratification=Stratification(weights="stratified", metric=metric),
    )
    np.testing.assert_allclose(grid.values[0, 0], [3 / 9, (3 + 3 * gain) / 9])


def test_a_frame_has_a_row_for_every_value() -> None:
    grid = measure_recall(golden_ranks(), TRAIN_COUNTS)
    frame = grid.to_frame()
    row = frame.query("validation == 'LLOO' and beta == 0.5 and cutoff == 3").iloc[0]
    assert len(frame) == 588
    assert row["value"] == grid.values[1, BETAS.index(0.5), CUTOFFS.index(3)]
    assert row["ceiling"] == grid.ceilings[1, BETAS.index(0.5)]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"cutoffs": [51]}, "cut-off 51 is deeper than ranks are known, 50"),
        ({"cutoffs": [3, 2]}, "cut-offs must rise"),
        ({"cutoffs": [0]}, "cut-offs must rise, from 1"),
        ({"cutoffs": []}, "at least one"),
        ({"betas": [-1]}, r"exponents \(beta\) must be finite and at least 0, got -1"),
        ({"betas": [np.inf]}, "must be finite"),
        ({"betas": [500]}, "too large to be added up"),
        ({"validations": ["loo"]}, "`validation` must be LOO or LLOO, got 'loo'"),
        ({"stratification": Stratification(min_items=9)}, "no user with at least 9 items"),
    ],
)
def test_grids_without_an_answer_are_refused(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        measure_recall(golden_ranks(), TRAIN_COUNTS, **choices)


@pytest.mark.parametrize(
    ("counts", "message"), [(np.ones(5, int), "6 items"), (-TRAIN_COUNTS, "must not be negative")]
)
def test_counts_of_other_items_are_refused(counts: NDArray[np.int64], message: str) -> None:
    with pytest.raises(InputError, match=message):
        measure_recall(golden_ranks(), counts)


def _random_ranks(rng: np.random.Generator) -> HiddenRanks:
    sizes = rng.integers(2, 6, 300)
    hidden = HiddenItems.of(events_of([rng.permutation(6)[:n].tolist() for n in sizes], n_items=6))
    first, last = rng.integers(1, 6, (2, len(hidden))).astype(np.uint16)
    return HiddenRanks(hidden, first, last, deepest=50)


def test_errors_of_differences_leave_out_what_moves_all_models(rng: np.random.Generator) -> None:
    one = _random_ranks(rng)
    other = HiddenRanks(one.hidden, one.rank_loo[::-1].copy(), one.rank_lloo, deepest=50)
    asked: dict[str, Any] = {"validation": "LOO", "betas": [0.7], "cutoffs": [2]}
    shares = np.array([_by_definition(r, TRAIN_COUNTS, 0.7, 2) for r in (one, other)])[..., 0]
    found = errors_of_means({"one": one, "other": other}, TRAIN_COUNTS, **asked)
    apart = shares - shares.mean(axis=0)
    np.testing.assert_allclose(found[:, 0, 0], apart.std(axis=1, ddof=1) / np.sqrt(300), rtol=1e-6)
    alone = errors_of_means({"one": one}, TRAIN_COUNTS, **asked)
    assert alone.item() == pytest.approx(shares[0].std(ddof=1) / np.sqrt(300))
    assert errors_of_means({"a": one, "b": one}, TRAIN_COUNTS, **asked).max() == 0.0


def test_errors_of_stratified_means_are_those_of_a_ratio(rng: np.random.Generator) -> None:
    """Leaving users out one by one (the jackknife) comes near to the delta method."""
    ranks = _random_ranks(rng)
    asked: dict[str, Any] = {"validation": "LOO", "betas": [2.0], "cutoffs": [2]}
    found = errors_of_means({"m": ranks}, TRAIN_COUNTS, stratification=STRATIFIED, **asked).item()
    shares, weights = np.array(_by_definition(ranks, TRAIN_COUNTS, 2.0, 2)).T
    left = ((weights * shares).sum() - weights * shares) / (weights.sum() - weights)
    n = len(left)
    assert found == pytest.approx(np.sqrt((n - 1) ** 2 / n) * left.std(ddof=1), rel=0.02)
