"""Laws that all adjustments of p-values share."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

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
