"""Distributions of ranks that linear estimators average their bias over."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.mes import MaximumEntropy
from analyses.sampled.estimators.shared.em import maximum_likelihood
from analyses.sampled.estimators.shared.estimator import Estimator
from analyses.sampled.estimators.shared.tally import Tally
from runs import InputError

ITERATIONS = 100

PRIOR = re.compile(r"uniform|(pooled:)?(mle(@[1-9][0-9]*)?|mes)")


def canonical_prior(text: str) -> str:
    """Write a prior in full: iterations belong to its name.

    Raises
    ------
    InputError
        If there is no such prior.

    Examples
    --------
    >>> canonical_prior("pooled:mle")
    'pooled:mle@100'
    """
    if PRIOR.fullmatch(text) is None:
        raise InputError(
            "`prior` must be uniform, mle, mle@100 or mes, or one of these after pooled:, "
            f"got {text!r}."
        )
    return f"{text}@{ITERATIONS}" if text.endswith("mle") else text


class WithPrior(Estimator):
    """An estimator that averages its bias over a prior; `BiasVariance` says which there are."""

    prior: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", canonical_prior(self.prior))

    def learn(self, tally: Tally, *, first_only: bool = False) -> NDArray[np.float64] | None:
        """Learn the prior: (n_nodes, n_samples), (n_nodes, 1) if pooled, None if uniform."""
        return None if self.prior == "uniform" else learn_prior(self.prior, tally, first_only)


def learn_prior(prior: str, tally: Tally, first_only: bool) -> NDArray[np.float64]:
    """Learn a prior that is not uniform.

    A pooled prior is the mean of the estimates from all repeats, as in the released code of Li et
    al. (2023); who has one sample does not know it.

    Raises
    ------
    InputError
        If a pooled prior is asked of a single sample, or one of MES of several numbers of
        candidates.
    """
    name = prior.removeprefix("pooled:")
    pooled = name != prior
    if pooled and len(tally.n_users) == 1:
        raise InputError(f"the prior {prior} takes repeated samples: fit them with fit_repeats.")
    if name == "mes":
        estimator = MaximumEntropy()
        estimator.check(tally)
        masses = estimator.learn(tally, first_only=first_only)
    else:
        iterations = int(name.removeprefix("mle@"))
        masses = maximum_likelihood(tally, iterations=iterations, first_only=first_only)
    return masses.mean(axis=1, keepdims=True) if pooled else masses
