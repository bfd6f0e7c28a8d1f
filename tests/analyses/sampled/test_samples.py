"""Ranks among sampled negatives."""

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from analyses.sampled.samples import SampleDesign, SampledRanks, negatives_above
from qrels import FullRanks
from runs import InputError

ONE = FullRanks.of(np.random.default_rng(1).integers(1, 301, 400), n_candidates=300)


@pytest.mark.parametrize("replace", [True, False])
def test_numbers_above_are_the_quantiles_of_their_distribution(replace: bool) -> None:
    rng = np.random.default_rng(2)
    n, m = rng.integers(60, 4000, 500), rng.integers(1, 60, 500)
    above, uniforms = rng.integers(0, n + 1), rng.random(500)
    expected = (
        binom.ppf(uniforms, m, above / n) if replace else hypergeom.ppf(uniforms, n, above, m)
    )
    assert (negatives_above(uniforms, m, above, n, replace) == expected).all()


@pytest.mark.parametrize("replace", [True, False])
def test_several_items_have_the_joint_moments_of_a_multivariate_draw(replace: bool) -> None:
    ranks = FullRanks.of(np.tile([6, 20], 4000), n_candidates=42, user=np.repeat(range(4000), 2))
    above = SampleDesign((10,), replace).draw(ranks, seed=1).above.reshape(-1, 2)
    shares, n, m = np.array([5, 18]) / 40, 40, 10
    factor = m if replace else m * (n - m) / (n - 1)
    covariance = factor * np.array(
        [[shares[0] * (1 - shares[0]), shares[0] * (1 - shares[1])],
         [shares[0] * (1 - shares[1]), shares[1] * (1 - shares[1])]]
    )  # fmt: skip
    np.testing.assert_allclose(above.mean(axis=0), m * shares, rtol=0.03)
    np.testing.assert_allclose(np.cov(above.T), covariance, rtol=0.1)


def test_a_sample_does_not_depend_on_the_other_users() -> None:
    some = FullRanks.of(ONE.rank[:7], n_candidates=300)
    for design in (SampleDesign((20,)), SampleDesign.growing(5, 40)):
        every = design.draw(ONE, seed=1, repeat=3)
        assert (design.draw(some, seed=1, repeat=3).rank == every.rank[:7]).all()


def test_adaptive_samples_end_where_something_is_above_and_have_the_expected_size() -> None:
    ranks = FullRanks.of(np.full(20_000, 30), n_candidates=300)
    sample = SampleDesign.growing(10, 80).draw(ranks, seed=1)
    sizes, below = sample.n_negatives + 1, 1 - 29 / 299
    assert set(sizes) == {10, 20, 40, 80}
    assert (sample.above[sizes < 80] > 0).all()
    expected = 10 + sum(size * below ** (size - 1) for size in (10, 20, 40))
    assert sizes.mean() == pytest.approx(expected, rel=0.02)
    # Below the first size, what was drawn is binomial of the negatives drawn last.
    second = sample.above[sizes == 20]
    chances = binom.pmf(np.arange(1, 11), 10, 29 / 299)
    assert second.mean() == pytest.approx(
        (np.arange(1, 11) * chances).sum() / chances.sum(), rel=0.05
    )


@pytest.mark.parametrize(
    ("rank", "m", "sentence"),
    [
        ([1, 4], 2, "got 2 negatives and rank 4 in row 1"),
        ([1], 9, "irrelevant candidates, .* got 9 negatives"),
        ([1], 0, "got 0 negatives"),
    ],
)
def test_impossible_samples_are_refused(rank: list[int], m: int, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        SampledRanks.of(rank, n_negatives=m, n_candidates=9)
