"""Estimators by name."""

import pytest

from analyses.sampled.estimators import (
    ESTIMATORS,
    Estimator,
    bv,
    cls,
    find_estimator,
    ht_plugin,
    ls,
    mes,
    mle,
    mn,
    rank_estimate,
    uncorrected,
)
from runs import InputError

SOME = [
    uncorrected(),
    rank_estimate(mode="linear", denominator="m+1"),
    ls(rcond=1e-8),
    cls(nonnegative=True),
    bv(0.01, prior="pooled:mle"),
    mn(prior="mle@30"),
    mle(iters=300),
    mes(eta=0.001, scale=1.0),
    mes(weights="uniform"),
    ht_plugin(),
]


@pytest.mark.parametrize("estimator", SOME, ids=str)
def test_the_printed_form_can_be_read(estimator: Estimator) -> None:
    assert find_estimator(str(estimator)) == estimator


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "bv"])
def test_options_have_defaults(name: str) -> None:
    assert find_estimator(name) == ESTIMATORS[name]()


def test_iterations_are_part_of_a_prior_s_name() -> None:
    assert str(bv(0.1, prior="mle")) == "BV(gamma=0.1,prior=mle@100)"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("bw(gamma=0.1)", "no estimator is called 'bw'; did you mean 'bv'"),
        ("bv", "bv needs the option `gamma`"),
        ("bv(gama=0.1)", "BV has no option 'gama'; its options: gamma, prior"),
        ("bv(gamma=high)", "the option `gamma` must be a number, got 'high'"),
        ("mle(iters=1.5)", "the option `iters` must be a whole number, got '1.5'"),
        ("cls(nonnegative=1)", "the option `nonnegative` must be true or false, got '1'"),
        ("mn(prior=normal)", "`prior` must be uniform, mle"),
        ("mes(eta=0)", "`eta` must be above 0, got 0"),
        ("mes(scale=m)", "`scale` must be m\\+1 or a number above 0, got 'm'"),
        ("mes(weights=none)", "`weights` must be empirical or uniform"),
        ("rank-estimate(mode=up)", "`mode` must be floor, round or linear"),
        ("rank-estimate(denominator=n)", "`denominator` must be m or m\\+1"),
        ("ls(rcond=2)", "`rcond` must lie between 0 and 1, got 2"),
        ("bv(gamma=0.1", "is no estimator: it is written"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        find_estimator(text)
