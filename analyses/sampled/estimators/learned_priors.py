"""Distributions of ranks that linear estimators average their bias over."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.mes import MaximumEntropy
from analyses.sampled.estimators.shared.cells import Cells
from analyses.sampled.estimators.shared.estimator import Estimator
from runs import InputError

PRIOR = re.compile(r"uniform|(pooled:)?(mle(@[1-9][0-9]*)?|mes)")


def canonical_prior(text: str) -> str:
    """Write a prior in full: iterations belong to its name.

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
    return f"{text}@100" if text.endswith("mle") else text


class WithPrior(Estimator):
    """An estimator that averages its bias over a prior; `BiasVariance` says which there are."""

    prior: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", canonical_prior(self.prior))

    def with_prior(self, prior: str) -> Self:
        """Give the same with another prior."""
        options: dict[str, Any] = {"prior": prior}
        return replace(self, **options)

    def learn(self, cells: Cells) -> NDArray[np.float64] | None:
        """Learn the prior: (n_nodes, n_samples), (n_nodes, 1) if pooled, None if uniform.

        A pooled prior is the mean of the estimates from all repeats, as in the released code of Li
        et al. (2023); who has one sample does not know it.
        """
        name = self.prior.removeprefix("pooled:")
        pooled = name != self.prior
        if pooled and cells.counts.shape[1] == 1:
            raise InputError(
                f"the prior {self.prior} takes repeated samples: fit them with fit_repeats."
            )
        if name == "uniform":
            return None
        if name == "mes":
            MaximumEntropy().check(cells)
            masses = MaximumEntropy().learn(cells)
        else:
            masses = cells.most_likely(int(name.removeprefix("mle@")))
        return masses.mean(axis=1, keepdims=True) if pooled else masses
