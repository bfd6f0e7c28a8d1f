import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.intervals.bands import Resampling
from analyses.ordering import tau_b
from analyses.verdicts.truth_curves import LossOfJudgements

N_USERS, N_SYSTEMS, N_JUDGEMENTS = 12, 6, 60


class Gains:
    """What every judgement earns each system, by a rising measure and a falling one."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.users = np.arange(N_JUDGEMENTS) % N_USERS
        self.gains = rng.random((2, N_SYSTEMS, N_JUDGEMENTS))

    def __call__(self, kept: NDArray[np.bool_], *, blocks: NDArray[np.intp]) -> NDArray[np.float64]:
        earned = self.gains[..., np.newaxis] * kept
        inside = np.eye(blocks.max() + 1)[blocks[self.users]]
        return np.asarray(np.einsum("msjk,jb->mbsk", earned, inside))


@pytest.fixture
def gains(rng: np.random.Generator) -> Gains:
    return Gains(rng)


def loss(gains: Gains, true: NDArray[np.float64]) -> LossOfJudgements:
    """Compare with true scores, (n_truths, n_measures, n_systems, n_users)."""
    resampling = Resampling.of(N_USERS, replicates=6, seed=1)
    blocks = [true[..., resampling.blocks == n].sum(axis=-1) for n in range(N_USERS)]
    everything = np.ones((N_JUDGEMENTS, 1), dtype=np.bool_)
    signs = np.array([1.0, -1.0])
    return LossOfJudgements(
        gains, np.arange(len(signs)), resampling, np.stack(blocks, axis=2), signs, everything, None
    )


def test_curves_are_those_of_every_sample_scored_on_its_own(
    gains: Gains, rng: np.random.Generator
) -> None:
    true = rng.random((3, 2, N_SYSTEMS, N_USERS))
    kept = [rng.random((N_JUDGEMENTS, 4)) < share for share in (0.8, 0.3)]
    found = loss(gains, true).curves(kept, (0.8, 0.3))
    signs = np.array([1.0, -1.0])[:, None]
    full = signs * gains.gains.sum(axis=2)
    for level, masks in enumerate(kept):
        for measure in range(2):
            means = [(signs * gains.gains[:, :, mask].sum(axis=2))[measure] for mask in masks.T]
            itself = np.mean([tau_b(each, full[measure]) for each in means])
            assert found.itself[measure, level] == pytest.approx(itself)
            for truth in range(3):
                worth = true[truth, measure].sum(axis=1)
                taus = np.mean([tau_b(each, worth) for each in means])
                assert found.taus[truth, measure, level] == pytest.approx(taus)


def test_a_measure_that_is_the_truth_is_right_among_any_users(gains: Gains) -> None:
    """Replicates draw users with their measured and their true scores."""
    own = np.zeros((2, N_SYSTEMS, N_USERS))
    for user in range(N_USERS):
        own[..., user] = gains.gains[..., gains.users == user].sum(axis=-1)
    true = own * np.array([1.0, -1.0])[:, None, None]
    everything = np.ones((N_JUDGEMENTS, 1), dtype=np.bool_)
    found = loss(gains, true[np.newaxis]).curves([everything], (1.0,))
    assert found.taus.min() == found.replicates.min() == 1.0
    assert found.robustness.tolist() == [1.0, 1.0]
