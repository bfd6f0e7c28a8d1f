import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyses.shared.judgement_samples import Mode, Sampling, sample_judgements
from qrels import Qrels, qrels_from_columns


def judgements(n_judged: list[int], *, seed: int = 0) -> Qrels:
    """Users with so many judgements, of grades -1 (in the pool, not judged) to 5."""
    grades = np.random.default_rng(seed).integers(-1, 6, sum(n_judged))
    items = np.concatenate([np.arange(n) for n in n_judged])
    users = np.repeat(np.arange(len(n_judged)), n_judged)
    return qrels_from_columns(users, items, grades, n_users=len(n_judged), relevance_level=4)


users = st.lists(st.integers(0, 40), min_size=1, max_size=8).filter(any)
levels = st.floats(0.01, 1.0)


@given(st.integers(1, 60), st.floats(0.05, 1.0), st.integers(0, 99))
def test_a_sample_keeps_the_share_it_says(n_judgements: int, level: float, seed: int) -> None:
    kept = sample_judgements(n_judgements, level=level, n_samples=4, seed=seed)
    assert (kept.sum(axis=0) == max(1, round(level * n_judgements))).all()


def test_samples_over_all_judgements_are_those_of_earlier_versions() -> None:
    kept = sample_judgements(10, level=0.3, n_samples=3, seed=1)
    assert [np.flatnonzero(sample).tolist() for sample in kept.T] == [
        [0, 4, 6],
        [4, 7, 9],
        [3, 7, 9],
    ]


@given(users, levels, st.integers(0, 99))
def test_every_user_keeps_the_share_and_at_least_one(
    n_judged: list[int], level: float, seed: int
) -> None:
    sampling = Sampling("per-user")
    kept = sampling.draw(judgements(n_judged), level=level, n_samples=3, seed=seed)
    wanted = [min(n, max(1, round(level * n))) for n in n_judged]
    for sample in kept.T:
        assert judgements(n_judged).per_user(sample).tolist() == wanted


@given(users, levels, st.integers(0, 3), st.integers(0, 12))
def test_every_stratum_keeps_its_share_and_minimum(
    n_judged: list[int], level: float, least_relevant: int, least_nonrelevant: int
) -> None:
    qrels = judgements(n_judged)
    sampling = Sampling("stratified", least_relevant, least_nonrelevant)
    (sample,) = sampling.draw(qrels, level=level, n_samples=1, seed=1).T
    minima = {"relevant": least_relevant, "nonrelevant": least_nonrelevant}
    for stratum, least in minima.items():
        inside = getattr(qrels, stratum)
        before, after = qrels.per_user(inside), qrels.per_user(inside & sample)
        wanted = [min(n, max(least, round(level * n))) for n in before.tolist()]
        assert after.tolist() == wanted


@pytest.mark.parametrize("mode", ["all", "per-user", "stratified"])
def test_at_full_level_everything_is_kept(mode: Mode) -> None:
    qrels = judgements([5, 0, 30])
    assert Sampling(mode).draw(qrels, level=1.0, n_samples=2, seed=1).all()


@pytest.mark.parametrize("mode", ["all", "per-user", "stratified"])
def test_within_a_stratum_every_judgement_is_as_likely(mode: Mode) -> None:
    items = np.arange(20)
    qrels = qrels_from_columns(items // 10, items % 10, items * 0 + 5, n_users=2, relevance_level=4)
    kept = Sampling(mode).draw(qrels, level=0.4, n_samples=2000, seed=3)
    np.testing.assert_allclose(kept.mean(axis=1), 0.4, atol=5 * np.sqrt(0.24 / 2000))


@pytest.mark.parametrize("mode", ["all", "per-user", "stratified"])
def test_sample_k_does_not_depend_on_how_many_there_are(mode: Mode) -> None:
    def draw(n_samples: int) -> NDArray[np.bool_]:
        return Sampling(mode).draw(judgements([9, 30]), level=0.3, n_samples=n_samples, seed=1)

    np.testing.assert_array_equal(draw(5)[:, :2], draw(2))
