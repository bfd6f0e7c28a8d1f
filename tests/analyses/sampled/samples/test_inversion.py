"""Binomial and hypergeometric numbers from uniform ones."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from analyses.sampled.samples.inversion import negatives_above


def _draw(uniforms: np.ndarray, m: int, above: int, others: int, *, replace: bool) -> np.ndarray:
    negatives, some, all_of_them = (np.full(len(uniforms), k) for k in (m, above, others))
    return negatives_above(uniforms, negatives, some, all_of_them, replace)


@given(
    others=st.integers(1, 30_000),
    share=st.floats(0, 1),
    size=st.floats(0, 1),
    uniform=st.floats(1e-6, 1 - 1e-6),
    replace=st.booleans(),
)
@example(others=9897, share=0.9375, size=1.0, uniform=0.5, replace=False)
@example(others=9897, share=0.98, size=1.0, uniform=1e-6, replace=True)
@example(others=3200, share=0.98, size=0.97, uniform=0.5, replace=False)
def test_the_draw_is_the_inverse_of_the_distribution_function(
    others: int, share: float, size: float, uniform: float, replace: bool
) -> None:
    m, above = 1 + round(size * min(others - 1, 3199)), round(share * others)
    x = int(_draw(np.array([uniform]), m, above, others, replace=replace)[0])
    law = binom(m, above / others) if replace else hypergeom(others, above, m)
    # Within 1e-9, which is what the logarithms of scipy's functions allow.
    assert law.cdf(x - 1) <= uniform + 1e-9
    assert law.cdf(x) >= uniform - 1e-9


@pytest.mark.parametrize("replace", [True, False])
def test_a_larger_uniform_never_gives_less(replace: bool) -> None:
    drawn = _draw(np.linspace(0, 1, 1001)[:-1], 99, 700, 2000, replace=replace)
    assert (np.diff(drawn) >= 0).all()


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize(("above", "drawn"), [(0, 0), (50, 20)])
def test_none_or_all_above_leave_nothing_to_chance(above: int, drawn: int, replace: bool) -> None:
    assert _draw(np.array([0.0, 0.999]), 20, above, 50, replace=replace).tolist() == [drawn] * 2


def test_draws_keep_to_what_there_is() -> None:
    last = np.array([1 - 2.0**-53])
    assert _draw(last, 20, 5, 50, replace=False)[0] == 5
    assert _draw(np.array([0.0]), 20, 45, 50, replace=False)[0] == 15
