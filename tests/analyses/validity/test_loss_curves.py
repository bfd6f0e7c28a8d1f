import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.ordering import tau_b
from analyses.shared.measure import Measure, Measures, Scores
from analyses.validity.comparison import Comparison
from analyses.validity.loss_curves import LossOfJudgements, TruthCurves
from qrels import Qrels, qrels_from_columns
from tests.analyses.made import JudgedWork

N_USERS, N_SYSTEMS, N_JUDGEMENTS = 12, 6, 60
MEASURES = Measures([Measure("nDCG", 10), Measure("ARP", 10)], falling=["ARP"])


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


@pytest.fixture
def gains(rng: np.random.Generator) -> Gains:
    return Gains(rng)


def curves(gains: Gains, true: NDArray[np.float64], kept: list[NDArray[np.bool_]]) -> TruthCurves:
    """Compare with true scores, (n_truths, n_measures, n_systems, n_users)."""
    n_truths, systems = len(true), tuple(f"s{number}" for number in range(N_SYSTEMS))
    references = np.arange(2 * n_truths).reshape(n_truths, 2)
    work = JudgedWork(gains, one_judgement_each(N_JUDGEMENTS), MEASURES, N_SYSTEMS, seed=1)
    users = np.char.zfill(np.arange(N_USERS).astype(np.str_), 2)
    names = Measures(Measure(f"m{number}", 10) for number in references.flat)
    comparison = Comparison(
        Scores(np.zeros((2, N_SYSTEMS, N_USERS)), MEASURES, systems, users),
        Scores(true.reshape(-1, N_SYSTEMS, N_USERS), names, systems, users),
        references,
    )
    levels = tuple(float(masks.mean()) for masks in kept)
    return LossOfJudgements(work, comparison, 6).curves(kept, levels, gains)


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
    assert found.robustness.tolist() == [1.0, 1.0]
