import numpy as np
import pytest
from scipy.stats import ttest_1samp

from analyses.significance.effects import equivalence_test


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
