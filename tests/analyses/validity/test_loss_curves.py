from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.intervals.block_resampling import Resampling
from analyses.ordering import tau_b
from analyses.popularity import keep_items
from analyses.shared.judgement_samples import sample_judgements
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import SumSamples
from analyses.validity.comparison import Comparison
from analyses.validity.loss_curves import LossOfJudgements, TruthCurves
from qrels import Qrels, qrels_from_columns
from tests.analyses.made import JudgedWork

N_USERS, N_SYSTEMS, N_JUDGEMENTS = 12, 6, 60
MEASURES = Measures([Measure("nDCG", 10), Measure("ARP", 10)], lower_is_better_for=["ARP"])


class Gains:
    """What every judgement earns each system, by a rising measure and a falling one."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.users = np.arange(N_JUDGEMENTS) % N_USERS
        self.gains = rng.random((2, N_SYSTEMS, N_JUDGEMENTS))

    def __call__(self, kept: NDArray[np.bool_], *, blocks: NDArray[np.intp]) -> NDArray[np.float64]:
        earned = self.gains[..., np.newaxis] * kept
        inside = np.eye(blocks.max() + 1)[blocks[self.users]]
        return np.asarray(np.einsum("msjk,jb->mbsk", earned, inside))


def one_judgement_each(n_users: int) -> Qrels:
    return qrels_from_columns(
        np.arange(n_users),
        np.zeros(n_users, np.int32),
        np.ones(n_users, np.int32),
        n_users=n_users,
        relevance_level=1,
    )


@dataclass(frozen=True, eq=False)
class RecordedWork(JudgedWork):
    """Keeps how many samples were announced."""

    announced: list[int] = field(default_factory=list)

    def rescorer(self, n_samples: int) -> SumSamples:
        self.announced.append(n_samples)
        return self.sum_samples


@pytest.fixture
def gains(rng: np.random.Generator) -> Gains:
    return Gains(rng)


def loss_of(
    gains: SumSamples, true: NDArray[np.float64], *, qrels: Qrels, **facts: Any
) -> LossOfJudgements:
    """Compare with true scores, (n_truths, n_measures, n_systems, n_true_users)."""
    n_truths, systems = len(true), tuple(f"s{number}" for number in range(N_SYSTEMS))
    references = np.arange(2 * n_truths).reshape(n_truths, 2)
    work = RecordedWork(gains, qrels, MEASURES, N_SYSTEMS, seed=1, **facts)
    users = np.char.zfill(np.arange(N_USERS).astype(np.str_), 2)
    true_users = np.char.zfill(np.arange(true.shape[-1]).astype(np.str_), 2)
    names = Measures(Measure(f"m{number}", 10) for number in references.flat)
    comparison = Comparison(
        Scores(np.zeros((2, N_SYSTEMS, N_USERS)), MEASURES, systems, users),
        Scores(true.reshape(-1, N_SYSTEMS, true.shape[-1]), names, systems, true_users),
        references,
    )
    return LossOfJudgements(work, comparison, 6)


def curves(gains: Gains, true: NDArray[np.float64], kept: list[NDArray[np.bool_]]) -> TruthCurves:
    """Compare what is kept with true scores."""
    loss = loss_of(gains, true, qrels=one_judgement_each(N_JUDGEMENTS))
    return loss.curves(kept, tuple(float(masks.mean()) for masks in kept), gains)


def test_curves_are_those_of_every_sample_scored_on_its_own(
    gains: Gains, rng: np.random.Generator
) -> None:
    true = rng.random((3, 2, N_SYSTEMS, N_USERS))
    kept = [rng.random((N_JUDGEMENTS, 4)) < share for share in (0.8, 0.3)]
    found = curves(gains, true, kept)
    signs = np.array([1.0, -1.0])[:, None]
    full = signs * gains.gains.sum(axis=2)
    for level, masks in enumerate(kept):
        for measure in range(2):
            means = [(signs * gains.gains[:, :, mask].sum(axis=2))[measure] for mask in masks.T]
            itself = np.mean([tau_b(each, full[measure]) for each in means])
            assert found.itself[measure, level] == pytest.approx(itself)
            for truth in range(3):
                means_of_truth = true[truth, measure].sum(axis=1)
                taus = np.mean([tau_b(each, means_of_truth) for each in means])
                assert found.taus[truth, measure, level] == pytest.approx(taus)


def test_a_measure_that_is_the_truth_is_right_among_any_users(gains: Gains) -> None:
    """Replicates draw users with their measured and their true scores."""
    own = np.zeros((2, N_SYSTEMS, N_USERS))
    for user in range(N_USERS):
        own[..., user] = gains.gains[..., gains.users == user].sum(axis=-1)
    true = own * np.array([1.0, -1.0])[:, None, None]
    everything = np.ones((N_JUDGEMENTS, 1), dtype=np.bool_)
    found = curves(gains, true[np.newaxis], [everything])
    assert found.taus.min() == found.replicates.min() == 1.0
    # No judgements are lost: there is no area.
    assert np.isnan(found.robustness).all()


class Recorded:
    """Hands masks on, and keeps them."""

    def __init__(self, gains: Gains) -> None:
        self.gains = gains
        self.masks: list[NDArray[np.bool_]] = []

    def __call__(self, kept: NDArray[np.bool_], *, blocks: NDArray[np.intp]) -> NDArray[np.float64]:
        self.masks.append(kept)
        return self.gains(kept, blocks=blocks)


def test_random_shares_are_the_samples_of_sparsity_and_all_judgements_are_scored_once(
    gains: Gains, rng: np.random.Generator
) -> None:
    recorded = Recorded(gains)
    true = rng.random((1, 2, N_SYSTEMS, N_USERS))
    loss = loss_of(recorded, true, qrels=one_judgement_each(N_JUDGEMENTS))
    found = loss.curves_at_random((1.0, 0.5), n_samples=4)
    everything, whole, half = recorded.masks
    assert everything.all()
    assert whole.shape == everything.shape == (N_JUDGEMENTS, 1)
    assert whole.all()
    expected = sample_judgements(N_JUDGEMENTS, level=0.5, n_samples=4, seed=1)
    np.testing.assert_array_equal(half, expected)
    assert half.sum(axis=0).tolist() == [30] * 4
    assert loss.work.announced == [2 * 4]  # type: ignore[attr-defined]
    assert found.levels == (1.0, 0.5)
    assert found.itself[:, 0].tolist() == [1.0, 1.0]


def test_popular_items_are_lost_in_ten_random_orders(
    gains: Gains, rng: np.random.Generator
) -> None:
    """Of four items, two are the most popular: each of both goes first in some orders."""
    items = np.arange(N_JUDGEMENTS) % 4
    qrels = qrels_from_columns(
        np.arange(N_JUDGEMENTS),
        items,
        np.ones(N_JUDGEMENTS, np.int32),
        n_users=N_JUDGEMENTS,
        relevance_level=1,
    )
    recorded = Recorded(gains)
    counts = {"train": np.array([5, 1, 5, 2])}
    loss = loss_of(
        recorded, rng.random((1, 2, N_SYSTEMS, N_USERS)), qrels=qrels, popularity_counts=counts
    )
    loss.curves_without_popular((1.0, 0.75, 0.5))
    _, all_kept, three_kept, two_kept = recorded.masks
    assert all_kept.all()
    by_order = [tuple(np.unique(items[mask]).tolist()) for mask in three_kept.T]
    orders = Counter(by_order)
    assert {*orders} == {(1, 2, 3), (0, 1, 3)}
    assert orders.total() == 10
    np.testing.assert_array_equal(two_kept, np.repeat(np.isin(items, [1, 3])[:, None], 10, axis=1))
    assert loss.work.announced == [3 * 10]  # type: ignore[attr-defined]
    kept = keep_items(qrels, counts["train"], levels=[0.5])
    np.testing.assert_array_equal(two_kept[:, :1], kept)


def test_replicates_are_of_the_users_drawn_on_either_side(
    gains: Gains, rng: np.random.Generator
) -> None:
    true = rng.random((2, 2, N_SYSTEMS, N_USERS))
    masks = rng.random((N_JUDGEMENTS, 3)) < 0.6
    found = curves(gains, true, [masks, np.ones((N_JUDGEMENTS, 1), dtype=np.bool_)])
    resampling = Resampling.of(N_USERS, replicates=6, seed=1)
    assert found.replicates.shape == (2, 2, 2, 6)
    signs = np.array([1.0, -1.0])
    for replicate, weights in enumerate(resampling.weights):
        of_users = weights[resampling.blocks]
        for truth in range(2):
            for measure in range(2):
                true_means = true[truth, measure] @ of_users
                own = signs[measure] * gains.gains[measure] * of_users[gains.users]
                taus = [tau_b(own[:, mask].sum(axis=1), true_means) for mask in masks.T]
                of_level = found.replicates[truth, measure, 0, replicate]
                assert of_level == pytest.approx(np.mean(taus))


def test_a_truth_of_more_users_counts_as_if_it_had_the_users_of_the_study(
    gains: Gains, rng: np.random.Generator
) -> None:
    """Every user of the truth stands there twice: nothing changes but who is drawn."""
    true = rng.random((1, 2, N_SYSTEMS, N_USERS))
    doubled = np.concatenate([true, true], axis=-1)
    masks = [rng.random((N_JUDGEMENTS, 3)) < 0.6]
    once, twice = (curves(gains, each, masks) for each in (true, doubled))
    np.testing.assert_allclose(once.taus, twice.taus)


def test_curves_of_a_truth_are_those_of_its_number() -> None:
    taus = np.arange(12.0).reshape(2, 3, 2) / 20
    replicates = np.arange(24.0).reshape(2, 3, 2, 2) / 40
    measures = Measures([Measure("P", 5), Measure("AP", 5), Measure("RR", 5)])
    found = TruthCurves((1.0, 0.5), np.ones((3, 2)), taus, replicates).curves(1, measures)
    assert found.taus.tolist() == taus[1].tolist()
    assert found.replicates.tolist() == replicates[1].tolist()
    assert found.measures == measures
