"""Adjustments of p-values: the laws that all share, and what each is."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from analyses.significance.corrections import benjamini_hochberg, bonferroni, holm
from tests.analyses.corrections.references import Floats, families

Adjust = Callable[[Floats], Floats]
every_adjustment = pytest.mark.parametrize("adjust", [benjamini_hochberg, bonferroni, holm])


@every_adjustment
@given(p=families)
def test_adjusted_values_are_p_values_no_smaller_than_before(adjust: Adjust, p: Floats) -> None:
    adjusted = adjust(p)
    assert ((adjusted >= p) & (adjusted <= 1)).all()


@every_adjustment
@given(p=families)
def test_adjusting_keeps_the_order(adjust: Adjust, p: Floats) -> None:
    adjusted = np.take_along_axis(adjust(p), np.argsort(p, axis=-1), axis=-1)
    assert (np.diff(adjusted, axis=-1) >= 0).all()


@every_adjustment
@given(p=families)
def test_the_order_of_the_pairs_does_not_matter(adjust: Adjust, p: Floats) -> None:
    np.testing.assert_array_equal(adjust(p[..., ::-1]), adjust(p)[..., ::-1])


@every_adjustment
@given(p=families)
def test_every_measure_is_a_family_of_its_own(adjust: Adjust, p: Floats) -> None:
    together = adjust(np.stack([p, p / 2]))
    np.testing.assert_array_equal(together, np.stack([adjust(p), adjust(p / 2)]))


@every_adjustment
def test_a_single_pair_needs_no_adjustment(adjust: Adjust) -> None:
    assert adjust(np.array([0.03])) == 0.03


@given(p=families)
def test_holm_lies_between_benjamini_hochberg_and_bonferroni(p: Floats) -> None:
    slack = 1 + 1e-12
    assert (benjamini_hochberg(p) <= holm(p) * slack).all()
    assert (holm(p) <= bonferroni(p) * slack).all()


@given(families)
def test_bonferroni_rejects_what_is_below_a_share_of_the_level(p: Floats) -> None:
    level, n_pairs = 0.05, p.shape[-1]
    clear = np.abs(p * n_pairs - level) > 1e-12
    np.testing.assert_array_equal((bonferroni(p) < level)[clear], (p < level / n_pairs)[clear])


def rejected_by_holms_steps(p: Floats, level: float) -> list[bool]:
    """Holm's own words: go up from the smallest, and stop at the first that is not rejected."""
    rejected = [False] * len(p)
    for step, pair in enumerate(np.argsort(p)):
        if p[pair] * (len(p) - step) > level:
            break
        rejected[pair] = True
    return rejected


@pytest.mark.parametrize("level", [0.01, 0.1])
@given(p=families)
def test_holm_rejects_what_his_steps_reject(level: float, p: Floats) -> None:
    for row in np.atleast_2d(p):
        assert (holm(row) <= level).tolist() == rejected_by_holms_steps(row, level)


def test_holm_by_hand() -> None:
    """4 x .005, 3 x .011, 2 x .02, 1 x .04."""
    adjusted = holm(np.array([0.04, 0.005, 0.02, 0.011]))
    np.testing.assert_allclose(adjusted, [0.04, 0.02, 0.04, 0.033])


@given(families)
def test_benjamini_hochberg_gives_what_scipy_gives(p: Floats) -> None:
    expected = stats.false_discovery_control(p, axis=-1)
    np.testing.assert_allclose(benjamini_hochberg(p), expected, rtol=1e-12)
