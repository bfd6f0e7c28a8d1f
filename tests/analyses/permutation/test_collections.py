"""Per-topic scores of real TREC systems: 34 to 129 systems, about 50 topics, 4 or 5 decimals."""

from pathlib import Path

import numpy as np
import pytest

from analyses.significance.permutation import (
    Method,
    exact_test,
    monte_carlo_test,
    pair_indices,
)
from tests.analyses.permutation.references import Floats, p_by_scipy

SHARED = Path(__file__).parents[3].parent / "shared" / "data" / "trec-per-topic"
FILES = ("adhoc5_ap", "adhoc7_p10", "adhoc8_rr", "web2010_err20", "web2013_ndcg20")


def scores_of(name: str) -> Floats:
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent")
    return np.loadtxt(SHARED / f"{name}.csv", delimiter=",", skiprows=1).T


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_few_topics_agree_with_full_enumeration(name: str) -> None:
    scores = scores_of(name)[:6, :13]
    first, second = pair_indices(6)
    expected = [p_by_scipy(scores[i] - scores[j]) for i, j in zip(first, second, strict=True)]
    np.testing.assert_allclose(exact_test(scores).p, expected, atol=1e-12)


@pytest.mark.parametrize("name", FILES)
def test_all_topics_agree_with_monte_carlo_within_its_error(name: str) -> None:
    scores, draws = scores_of(name)[:12], 5000
    exact = exact_test(scores)
    assert set(exact.methods) <= {Method.CONVOLUTION, Method.EQUAL_MEANS}
    drawn = monte_carlo_test(scores[np.newaxis], permutations=draws, seed=1)[0]
    error = np.sqrt(np.maximum(exact.p * (1 - exact.p), 1 / draws) / draws)
    assert np.abs((drawn - exact.p) / error).max() < 5


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_significant_pairs_differ_by_what_is_required(name: str) -> None:
    scores = scores_of(name)[:12]
    result = exact_test(scores, alpha=0.05)
    first, second = pair_indices(12)
    differences = np.abs(scores[first].mean(axis=1) - scores[second].mean(axis=1))
    large = differences >= result.required * (1 - 1e-12)
    np.testing.assert_array_equal(large, result.p <= 0.05)
