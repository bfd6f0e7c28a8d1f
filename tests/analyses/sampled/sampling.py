"""Samples of plain ranks in one call."""

from typing import Any

from numpy.typing import ArrayLike

from analyses.sampled.samples import SampleDesign, SampledRanks
from qrels import FullRanks


def sample_ranks(
    ranks: ArrayLike,
    *,
    n_candidates: ArrayLike,
    m: int,
    replace: bool = True,
    user: ArrayLike | None = None,
    **key: Any,
) -> SampledRanks:
    full = FullRanks.of(ranks, n_candidates=n_candidates, user=user)
    return SampleDesign((m,), replace).draw(full, **key)


def sample_ranks_adaptive(
    ranks: ArrayLike,
    *,
    n_candidates: ArrayLike,
    n0: int = 100,
    n_max: int = 3200,
    user: ArrayLike | None = None,
    **key: Any,
) -> SampledRanks:
    full = FullRanks.of(ranks, n_candidates=n_candidates, user=user)
    return SampleDesign.growing(n0, n_max).draw(full, **key)
