import numpy as np
import pytest
from scipy.stats import ttest_1samp

from analyses.significance.equivalence import equivalence_test, signed_rank_posterior


def test_the_test_of_equivalence_is_the_worse_of_two_one_sided_t_tests(
    rng: np.random.Generator,
) -> None:
    d = rng.normal(0.1, 1, size=40)
    above = ttest_1samp(d, -0.5, alternative="greater").pvalue
    below = ttest_1samp(d, 0.5, alternative="less").pvalue
    found = equivalence_test(d.mean(), d.std(ddof=1), np.array(0.5), n_users=40)
    assert found == pytest.approx(max(above, below))


def test_systems_without_any_difference_are_equivalent() -> None:
    means = np.array([0.0, 0.2, 0.1])
    found = equivalence_test(means, np.zeros(3), np.array(0.1), n_users=9)
    assert found.tolist() == [0.0, 1.0, 1.0]


# What baycomp 1.0.3 gives with 50,000 draws: SignedRankTest.probs(0, d, rope).
BAYCOMP = {
    (15, 0.3, 0.2): (0.0, 0.49924, 0.50076),
    (40, 0.1, 0.1): (0.73738, 0.00282, 0.2598),
    (100, 0.02, 0.05): (0.92476, 0.0, 0.07524),
}


@pytest.mark.slow
def test_posteriors_are_those_of_baycomp() -> None:
    rng = np.random.default_rng(7)
    sizes = ((15, 0.3, 0.2), (40, 0.1, 0.1), (40, 0.25, 0.1), (100, 0.02, 0.05))
    for n_users, shift, bound in sizes:
        d = rng.normal(size=n_users).round(2) * 0.5 + shift
        if (n_users, shift, bound) in BAYCOMP:
            found = signed_rank_posterior(d[None], np.array([bound]), draws=5000, seed=3)[0]
            expected = BAYCOMP[n_users, shift, bound]
            assert found == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 5000))


def test_the_order_of_a_pair_mirrors_its_posterior(rng: np.random.Generator) -> None:
    d = rng.normal(0.1, 1, size=(1, 30))
    one, other = (signed_rank_posterior(s * d, np.array([0.3]), draws=200, seed=1) for s in (1, -1))
    assert one[0].tolist() == other[0, ::-1].tolist()


def test_a_wide_region_holds_everything() -> None:
    d = np.linspace(-0.1, 0.1, 20)[None]
    assert signed_rank_posterior(d, np.array([0.5]), draws=50, seed=0).tolist() == [[0, 1, 0]]
