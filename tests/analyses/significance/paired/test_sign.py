import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from analyses.significance.paired_tests import sign_test
from analyses.significance.permutation import pair_indices
from tests.analyses.paired.references import Floats, pair_scores, tenths


@given(tenths)
def test_it_gives_what_scipy_gives(scores: Floats) -> None:
    first, second = pair_indices(3)
    signs = np.sign(np.rint(10 * scores[:, first]) - np.rint(10 * scores[:, second]))
    better, worse = (signs > 0).sum(axis=2), (signs < 0).sum(axis=2)
    expected = [
        [stats.binomtest(b, b + w).pvalue if b + w else 1.0 for b, w in zip(*rows, strict=True)]
        for rows in zip(better.tolist(), worse.tolist(), strict=True)
    ]
    np.testing.assert_allclose(sign_test(scores), expected, rtol=1e-9)


@pytest.mark.parametrize(("n_better", "n_worse"), [(520, 480), (3000, 3040), (1500, 1400)])
def test_many_users_are_counted_exactly(n_better: int, n_worse: int) -> None:
    p = sign_test(pair_scores([1.0] * n_better + [-1.0] * n_worse))
    np.testing.assert_allclose(p, stats.binomtest(n_better, n_better + n_worse).pvalue, rtol=1e-9)


def test_users_who_do_not_differ_do_not_count() -> None:
    assert sign_test(pair_scores([1.0, 2.0, 3.0, 0.0, 0.0])) == 0.25


def test_p_is_one_where_no_user_differs() -> None:
    assert sign_test(pair_scores([0.0, 0.0])) == 1.0


def test_noise_of_rounding_is_no_difference() -> None:
    assert sign_test(np.array([[[0.1 + 0.2, 0.5], [0.3, 0.5]]])) == 1.0


def test_a_p_value_that_underflows_is_not_zero() -> None:
    assert sign_test(pair_scores([1.0] * 2000)) > 0
