from itertools import product

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from analyses.significance.paired_tests import MOST_USERS, signed_ranks, wilcoxon_test
from analyses.significance.permutation import pair_indices
from tests.analyses.paired.references import Floats, pair_scores, some_scores, tenths


def p_by_all_signs(differences: Floats) -> float:
    """Rank with scipy, write down all sign assignments."""
    kept = np.rint(10 * differences)
    kept = kept[kept != 0]
    ranks = stats.rankdata(np.abs(kept))
    signs = np.array(list(product([-1.0, 1.0], repeat=len(kept))))
    return float((np.abs(signs @ ranks) >= abs(np.sign(kept) @ ranks)).mean())


@given(tenths)
def test_few_users_with_ties_and_zeros_are_counted_exactly(scores: Floats) -> None:
    first, second = pair_indices(3)
    differences = scores[:, first] - scores[:, second]
    expected = [[p_by_all_signs(row) for row in rows] for rows in differences]
    np.testing.assert_allclose(wilcoxon_test(scores), expected, rtol=1e-12)


@pytest.mark.parametrize("n_users", [5, 25, MOST_USERS])
def test_without_ties_it_gives_what_scipy_computes_exactly(
    n_users: int, rng: np.random.Generator
) -> None:
    differences = rng.normal(0.2, 1.0, size=n_users)
    expected = stats.wilcoxon(differences, method="exact").pvalue
    np.testing.assert_allclose(wilcoxon_test(pair_scores(differences.tolist())), expected)


@pytest.mark.parametrize("measure", [0, 1], ids=["continuous", "tied"])
def test_many_users_get_scipys_normal_approximation(measure: int, rng: np.random.Generator) -> None:
    scores = some_scores(rng, n_users=400)[measure]
    rounded = np.round(scores[0] - scores[1], 12)
    expected = stats.wilcoxon(rounded, method="approx").pvalue
    np.testing.assert_allclose(wilcoxon_test(scores[np.newaxis, :2]), expected, rtol=1e-9)


def test_the_approximation_begins_beyond_fifty_differing_users() -> None:
    same = [0.0] * 100
    fifty, more = ([k - 20.25 for k in range(1, n + 1)] for n in (50, 51))
    found = [wilcoxon_test(pair_scores(same + some)).item() for some in (fifty, more)]
    exact = stats.wilcoxon(fifty, method="exact").pvalue
    normal = stats.wilcoxon(more, method="approx").pvalue
    np.testing.assert_allclose(found, [exact, normal], rtol=1e-12)


def test_differences_that_only_rounding_parts_share_a_rank() -> None:
    assert 0.3 - 0.2 != 0.1
    np.testing.assert_array_equal(signed_ranks(np.array([[0.3 - 0.2, 0.1]])), [[3.0, 3.0]])


def test_ranks_are_those_of_scipy(rng: np.random.Generator) -> None:
    differences = rng.integers(-8, 9, size=(5, 40)) / 16
    for row, ranks in zip(differences, signed_ranks(differences), strict=True):
        kept = row[row != 0]
        expected = 2 * np.sign(kept) * stats.rankdata(np.abs(kept))
        np.testing.assert_array_equal(np.sort(ranks[ranks != 0]), np.sort(expected))


def test_p_is_one_where_no_user_differs() -> None:
    assert wilcoxon_test(pair_scores([0.0, 0.0])) == 1.0
